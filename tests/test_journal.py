"""The journal: what is put stays, whatever happens afterwards."""

import math

import pytest

from tellapart import RunError
from tellapart.journal import FILE, Journal


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
