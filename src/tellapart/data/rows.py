"""Which rows are trials: instructions, practice and other screens are left out, and how many is said.

A marker is a column like jsPsych's `trial_type` or a `phase`. Rows are no trials if a marker says so in a word that everybody uses
(`names.NO_TRIAL`), or if nobody ever responds in rows with that mark. If then more than one mark is left and there are more rows than the
task has trials, it is asked which of them are trials.
"""

from __future__ import annotations

from typing import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from .names import MARKER, NO_TRIAL
from .problems import Findings, some
from .raw import RawTable, Texts, number, plain
from .settings import TableSettings

TRUE, FALSE = frozenset({"true", "1", "yes"}), frozenset({"false", "0", "no"})


def trial_rows(
    table: RawTable,
    people: Texts | None,
    answered: NDArray[np.bool_],
    most: int,
    taken: Iterable[str],
    settings: TableSettings,
    findings: Findings,
) -> NDArray[np.bool_]:
    """Which rows are trials, (R,).

    Arguments:
        people: Whose row each is.
        answered: Rows with a response, (R,).
        most: Trials that a participant can have.
    """
    keep = np.ones(len(table), bool)
    for column, texts in settings.rows.items():
        keep &= _chosen(table, column, texts, findings)
    markers = [
        column
        for name in MARKER
        for column in table.columns
        if plain(column) == name and column not in taken and column not in settings.rows
    ]
    for column in markers:
        keep &= _unmarked(table, column, keep, answered, findings)
    _ask_which(table, people, keep, markers, most, findings)
    return keep


def _chosen(table: RawTable, column: str, texts: tuple[str, ...], findings: Findings) -> NDArray[np.bool_]:
    """Rows that the user chose by a column's text."""
    found = next((name for name in table.columns if plain(name) == plain(column)), None)
    if found is None:
        findings.mend(
            f"There is no column '{column}', by which trials are to be chosen.",
            f"--rows NAME=TEXT, with one of: {some(list(table.columns), 20)}",
        )
        return np.ones(len(table), bool)
    keep = np.isin(table[found].astype(str), texts)
    if not keep.any():
        values = some(sorted(set(table[found].tolist())), 8)
        findings.mend(f"No row has '{', '.join(texts)}' in the column '{found}'.", f"--rows {found}=TEXT, with one of: {values}")
    findings.understood("trials", found, f"rows with {' or '.join(texts)}: {int(keep.sum())} of {len(table)}")
    return np.asarray(keep)


def _unmarked(table: RawTable, column: str, among: NDArray[np.bool_], answered: NDArray[np.bool_], findings: Findings) -> NDArray[np.bool_]:
    """Rows that a marker does not say to be something else than trials."""
    keep, texts = np.ones(len(table), bool), table[column]
    left_out: list[str] = []
    for text in dict.fromkeys(texts[among].tolist()):
        rows = among & (texts == text)
        if _says_no_trial(column, text) or (not answered[rows].any() and answered[among].any()):
            keep &= ~rows
            left_out.append(f"{text or 'empty'} ({int(rows.sum())})")
    if left_out:
        findings.understood("no trials", column, f"rows left out: {some(left_out, 6)}")
    return keep


def _says_no_trial(column: str, text: str) -> bool:
    flag = plain(column) in ("practice", "ispractice", "practise", "training", "istraining")
    words = {plain(word) for word in text.replace("-", " ").replace("_", " ").split()} | {plain(text)}
    return text.lower() in TRUE if flag and text.lower() in TRUE | FALSE else bool(words & set(NO_TRIAL))


def _ask_which(
    table: RawTable, people: Texts | None, keep: NDArray[np.bool_], markers: Sequence[str], most: int, findings: Findings
) -> None:
    """Ask which rows are trials, if there are too many for somebody and a marker tells rows apart."""
    if people is None or not keep.any():
        return
    counts = dict(zip(*np.unique(people[keep].astype(str), return_counts=True), strict=True))
    if max(counts.values()) <= most:
        return
    for column in markers:
        marks = [text for text in dict.fromkeys(table[column][keep].tolist()) if number(text) is None or len(text) < 3]
        if len(marks) > 1:
            answers = [
                (f"those with '{text}' ({int((keep & (table[column] == text)).sum())} rows)", f"--rows {column}={text}") for text in marks
            ]
            findings.ask(
                f"Which rows are trials? A participant has {max(counts.values())} rows where the task has {most} trials.", *answers
            )
            return
