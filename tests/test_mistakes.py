"""Every row of the table of mistakes in the documentation."""

from pathlib import Path

import pytest
from mistakes import MISTAKES, answer_of, page

ROWS = [pytest.param(row, id=f"{heading}: {row.made}") for heading, rows in MISTAKES.items() for row in rows]


@pytest.mark.parametrize("row", ROWS)
def test_the_answer_is_the_one_in_the_table(row, monkeypatch):
    monkeypatch.setattr("tellapart.testing.models.SECONDS", 0.1)  # a mistake of the table is seen in few people too
    code, text = answer_of(row)
    message = " ".join(text.split())
    assert code == 2, message
    assert "Traceback" not in message
    for words in row.answer:
        assert words in message, message


def test_there_are_enough_rows():
    assert len(ROWS) >= 40


def test_the_page_is_the_table():
    assert (Path(__file__).parents[1] / "docs" / "reference" / "mistakes.md").read_text() == page()
