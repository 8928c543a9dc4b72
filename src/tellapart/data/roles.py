"""Which column is what: by the names that people give to participants, blocks, trials, responses and outcomes (`names.py`).

A column that the user named counts; then one whose name is the very word; then one with a customary name; then one whose name has such
a name after its last dot, as what was nested in JSON has. Where two columns could be meant and do not say the same, it is asked.
"""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Iterable, Sequence

from .collect import FILE_PERSON
from .problems import Findings, some
from .raw import RawTable, Texts, number, plain
from .settings import TableSettings

MANY = 10
"""So many columns that differ by a number only are trials, not something else."""


def find_column(
    table: RawTable, what: str, names: Sequence[str], settings: TableSettings, findings: Findings, taken: Iterable[str] = ()
) -> str | None:
    """The column that holds `what`, or None; where it cannot be told which, that is asked."""
    if what in settings.columns:
        return _named(table, what, settings.columns[what], findings)
    free = [column for column in table.columns if column not in taken and column != FILE_PERSON]
    candidates = [column for name in names for column in free if plain(column) == name]
    candidates = candidates or [column for name in names for column in free if plain(column.rsplit(".", 1)[-1]) == name]
    filled = [column for column in candidates if any(table[column])] or candidates
    filled = [column for column in filled if plain(column) == names[0]] or filled
    if len(filled) > 1 and not all(_alike(table[filled[0]], table[other], what != "participant") for other in filled[1:]):
        answers = [(f"'{column}' (values {_values(table[column])})", f"--columns {what}={_quoted(column)}") for column in filled]
        findings.ask(f"Which column holds {what}?", *answers)
    return filled[0] if filled else None


def ask_for_column(table: RawTable, what: str, holds: str, taken: Iterable[str], findings: Findings) -> None:
    """There is no column with a customary name: say so, with what there is."""
    free = [column for column in table.columns if column not in taken and column != FILE_PERSON and any(table[column])]
    have = f"The columns not yet understood: {some(free, 12)}." if free else "All columns are taken."
    name = '"NAME"' if any(" " in column for column in free) else "NAME"
    wide = _numbered(free, plain(what))
    renamed = f"--columns {what}={name}, or rename the column to '{what}'"
    fix = f"one row for each trial: turn {some(wide, 3)} into rows" if wide else renamed
    findings.mend(f"No column is named like {what} ({holds}). {have}", fix)


def _numbered(columns: Sequence[str], what: str) -> list[str]:
    """Columns that are trials side by side: `what` with a number twice or more, or anything else with a number ten times or more."""
    stems: dict[str, list[str]] = {}
    for column in columns:
        if match := re.fullmatch(r"(.*?)\d+", plain(column)):
            stems.setdefault(match.group(1), []).append(column)
    return max((alike for stem, alike in stems.items() if len(alike) >= (2 if stem == what else MANY)), key=len, default=[])


def _named(table: RawTable, what: str, column: str, findings: Findings) -> str | None:
    """The column that the user named for `what`."""
    if column.lower() == "none":
        return None
    exact = [name for name in table.columns if name == column] or [name for name in table.columns if plain(name) == plain(column)]
    if exact:
        return exact[0]
    fix = f"--columns {what}=NAME, with one of: {some(list(table.columns), 20)}"
    findings.mend(f"There is no column '{column}', which is to hold {what}.", fix)
    return None


def _alike(one: Texts, other: Texts, ordered: bool) -> bool:
    """Do two columns sort rows in the same way, and into the same order if it matters? Of words nobody knows the order."""
    pairs = set(zip(one.tolist(), other.tolist(), strict=True))
    numbers = sorted((a, b) for a, b in ((number(a), number(b)) for a, b in pairs) if a is not None and b is not None)
    turned = ordered and any(b > later for (_, b), (_, later) in pairwise(numbers))
    return len(pairs) == len(set(one.tolist())) == len(set(other.tolist())) and not turned


def _values(values: Texts) -> str:
    return some(sorted({text for text in values.tolist() if text}), 4) or "none"


def _quoted(name: str) -> str:
    return f'"{name}"' if " " in name else name
