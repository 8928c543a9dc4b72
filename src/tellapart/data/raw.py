"""A table as it was found: everything is text, so that 007 stays 007, and empty cells are the empty text."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Iterable

import numpy as np
from numpy.typing import NDArray

Texts = NDArray[np.object_]

MISSING = frozenset(
    {"", "na", "n/a", "nan", "null", "none", "undefined", "missing", ".", "-", "timeout", "no response", "noresponse", "missed", "miss"}
)
"""Texts that stand for nothing, whatever their case."""
NOBODY = frozenset({"na", "n/a", "nan", "null"})
"""Those of them that are no label of a person either."""


@dataclass(frozen=True, eq=False)
class RawTable:
    """Columns of text of one length.

    Arguments:
        columns: Name to texts, (R,), stripped of spaces around them.
        rows: Where each row is: the row of its file, as a spreadsheet counts it, (R,).
        files: The file of each row, (R,).
        source: What to call the table in messages.
    """

    columns: dict[str, Texts]
    rows: NDArray[np.intp]
    files: Texts
    source: str

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, name: str) -> Texts:
        return self.columns[name]

    def kept(self, which: NDArray[np.bool_]) -> RawTable:
        """Some of the rows."""
        return RawTable({name: values[which] for name, values in self.columns.items()}, self.rows[which], self.files[which], self.source)

    def place(self, row: int) -> str:
        """Where row number `row` of this table is found."""
        several = len(set(self.files.tolist())) > 1
        return f"row {self.rows[row]}" + (f" of {self.files[row]}" if several else "")


def plain(name: str) -> str:
    """A column's name without case, spaces and signs: "PROLIFIC_PID" is "prolificpid"."""
    return re.sub(r"[^a-z0-9]", "", name.lower())


def people_of(texts: Texts) -> Texts:
    """Labels of people, empty where a program wrote that there is none; where all are whole numbers, 1.0 is 1, as programs write either."""
    texts = np.array(["" if text.lower() in NOBODY else text for text in texts], object)
    if not all(re.fullmatch(r"\d*|\d+\.0*", text) for text in set(texts.tolist())):
        return texts
    return np.array([text.partition(".")[0] for text in texts], object)


def is_missing(values: Texts, also: frozenset[str] = frozenset()) -> NDArray[np.bool_]:
    """Which texts stand for nothing."""
    return np.array([text.lower() in MISSING or text in also for text in values], bool)


def number(text: str) -> float | None:
    """A text as a finite number, or None; a comma may be the decimal sign."""
    try:
        value = float(text.replace(",", ".") if re.fullmatch(r"[+-]?\d+,\d+", text) else text)
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def same(text: str) -> str:
    """A text as codings compare it: numbers by value, words without case and the brackets and quotes that lists of keys leave."""
    value = number(text)
    return f"{value:.15g}" if value is not None else bare(text)


def bare(text: str) -> str:
    """A word without case, and without the brackets and quotes that lists of keys leave around it."""
    return re.sub(r"[\[\]'\"]", "", text).strip().lower()


def endings(words: Iterable[str]) -> dict[str, float] | None:
    """The numbers of words that differ by the number at their end alone, as arm_1 and arm_2; None if they do not."""
    ends = {word: re.fullmatch(r"(.*?)[ _-]?(\d+)", word) for word in words}
    found = {word: match for word, match in ends.items() if match}
    if len(found) < len(ends) or len({match.group(1).lower() for match in found.values()}) != 1:
        return None
    return {word: float(match.group(2)) for word, match in found.items()}
