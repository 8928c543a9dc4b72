"""The journal: what is put stays, whatever happens afterwards."""

import math

import pytest

from tellapart import RunError
from tellapart.journal import FILE, Journal
from tellapart.models.failures import Failure


def test_what_is_put_is_there_for_whoever_opens_the_folder_next(tmp_path):
    journal = Journal(tmp_path / "new" / "run")
    assert journal.get("a") is None
    value = {"design": [[0.1, 1 / 3]], "se": 5e-324, "text": "Größe", "none": None}
    journal.put("b/00002", 2)
    journal.put("b/00001", value)
    journal.put("b%", 3)
    other = Journal(tmp_path / "new" / "run")
    assert other.get("b/00001") == value
    assert list(other.items("b/")) == [("b/00001", value), ("b/00002", 2)]
    assert [key for key, _ in other.items()] == ["b%", "b/00001", "b/00002"]
    other.put("b/00002", [1.5])
    assert journal.get("b/00002") == [1.5]


def test_what_json_cannot_hold_is_not_kept(tmp_path):
    with pytest.raises(ValueError, match="JSON"):
        Journal(tmp_path).put("a", math.nan)


def test_a_damaged_journal_is_said_to_be_one(tmp_path):
    (tmp_path / FILE).write_bytes(b"not a database" * 100)
    with pytest.raises(RunError, match="--fresh"):
        Journal(tmp_path)


def test_a_failure_is_kept_once_however_often_it_is_met(tmp_path):
    """In an order that does not depend on when each was met, so that a resumed run writes the same file."""
    failures = [Failure("aeg", {"phi": number / 7}, [[0.5, 1 / 3]], number, "no such luck") for number in range(5)]
    one, other = Journal(tmp_path / "one"), Journal(tmp_path / "other")
    one.put_failures(failures)
    other.put_failures(failures[3:])
    other.put_failures(failures[::-1])
    assert list(one.items("failure/")) == list(other.items("failure/"))
    assert sorted(entry["seed"] for _, entry in one.items("failure/")) == [0, 1, 2, 3, 4]
    assert {entry["parameters"]["phi"] for _, entry in one.items("failure/")} == {number / 7 for number in range(5)}
