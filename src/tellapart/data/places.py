"""Where in the experiment each row belongs: which block, which trial of it.

Blocks and trials may be counted from 0 or from 1; trials may run on over blocks; there may be no column for either, and then the order of
rows says it. What was assumed is told.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from .collect import FILE_PERSON
from .problems import Findings, some
from .raw import RawTable, endings, number, same

Indices = NDArray[np.intp]


@dataclass(frozen=True)
class Places:
    """The block and trial of each row, (R,), counted from 0."""

    block: Indices
    trial: Indices


@dataclass(frozen=True)
class Start:
    """What is said of the numbers or names of blocks.

    Arguments:
        given: The texts for the first block, the second, … if the user said so.
        first: The number of the first block, if the table says so.
    """

    given: tuple[str, ...] | None = None
    first: int | None = None


def find_places(
    table: RawTable, people: Indices, block: str | None, trial: str | None, blocks: int, trials: int, start: Start, findings: Findings
) -> Places | None:
    """Blocks and trials of rows, or None if there is a problem.

    Arguments:
        people: Whose row each is, (R,).
        block, trial: Their columns, if there are any.
        blocks, trials: B and T.
        start: What is said of blocks.
    """
    before = len(findings.problems)
    counted = _numbers(table, trial, findings) if trial else None
    if block:
        b = _labelled_blocks(table, block, blocks, start, findings)
    else:
        b = _implied_blocks(table, people, counted, blocks, trials, trial, findings)
    if len(findings.problems) > before or b is None:
        return None
    if trial and counted is not None:
        _twice(table, people, b, counted, trial, findings)
    t = _trials(people, b, counted, trials, trial, findings)
    if len(findings.problems) == before:
        _too_many(table, people, b, t, trials, findings)
    return Places(b, t) if len(findings.problems) == before else None


def _numbers(table: RawTable, column: str, findings: Findings) -> NDArray[np.float64] | None:
    values = [number(text) for text in table[column]]
    wrong = [row for row, value in enumerate(values) if value is None or value != int(value)]
    if wrong:
        where = some([f"{table.place(row)}: {table[column][row] or 'empty'}" for row in wrong])
        findings.mend(
            f"The column '{column}' is no count of trials.", "mend these rows, or --columns trial=none to go by the order of rows", where
        )
        return None
    return np.array(values, np.float64)


def _labelled_blocks(table: RawTable, column: str, blocks: int, start: Start, findings: Findings) -> Indices | None:
    """Blocks by a column of numbers or names."""
    texts = table[column].astype(str)
    empty = np.flatnonzero(texts == "")
    if len(empty):
        findings.mend(f"The column '{column}' is empty in {len(empty)} rows.", "fill it in", some([table.place(int(row)) for row in empty]))
        return None
    values = {text: number(text) for text in dict.fromkeys(texts.tolist())}
    if {*values.values()} == {None}:  # block1, block2, …
        values |= endings(values) or {}
    names = {text: text if value is None else f"{value:.15g}" for text, value in values.items()}  # 3 and 3.0 are one block
    if start.given:
        return _given_blocks(column, texts, names, start.given, blocks, findings)
    labels = list(dict.fromkeys(names.values()))
    if all(value is not None for value in values.values()):
        labels = sorted(labels, key=float)
        found = {value or 0.0 for value in values.values()}
        from_0, from_1 = found <= set(range(blocks)), found <= set(range(1, blocks + 1))
        if from_0 and from_1 and start.first is None:
            answers = [(f"from {i}", "--codes block=" + ",".join(str(i + b) for b in range(blocks))) for i in (0, 1)]
            findings.ask(f"Do the values of '{column}' ({some(labels)}) count from 0 or from 1?", *answers)
            return None
        if from_0 or from_1:
            first = 0 if not from_1 else 1 if not from_0 else start.first or 0
            findings.understood("block", column, f"counted from {first}")
            return np.array([int(values[text] or 0) - first for text in texts], np.intp)
    if len(labels) > blocks:
        fix = "--rows COLUMN=TEXT for the rows that are trials, or mend 'blocks' of the task"
        findings.mend(f"The column '{column}' has {len(labels)} blocks, and the task {blocks}.", fix, some(labels, 8))
        return None
    findings.understood("block", column, f"in this order: {some(labels)}")
    return np.array([labels.index(names[text]) for text in texts], np.intp)


def _given_blocks(
    column: str, texts: NDArray[np.str_], names: dict[str, str], given: tuple[str, ...], blocks: int, findings: Findings
) -> Indices | None:
    """Blocks by the texts that the user gave for them, or by the numbers at the end of these.

    Arguments:
        names: Text to the number at its end, or to itself.
    """
    wanted = [same(text) for text in given]
    place_of = {text: next((wanted.index(name) for name in (same(text), names[text]) if name in wanted), -1) for text in names}
    other = [text for text, place in place_of.items() if place < 0]
    if other or len(wanted) > blocks or len(set(wanted)) < len(wanted):
        where = f"also in the column: {some(other)}" if other else f"{some(given, 8)} for {blocks} blocks"
        fix = "--codes block=" + ",".join(f"TEXT{b}" for b in range(blocks)) + "; --rows COLUMN=TEXT for the rows that are trials"
        findings.mend(f"The codes given for block do not fit the column '{column}'.", fix, where)
        return None
    findings.understood("block", column, f"as you said: {some(given, 8)}")
    return np.array([place_of[text] for text in texts], np.intp)


def _implied_blocks(
    table: RawTable, people: Indices, counted: NDArray[np.float64] | None, blocks: int, trials: int, trial: str | None, findings: Findings
) -> Indices | None:
    """Blocks where no column says them."""
    if blocks == 1:
        return np.zeros(len(people), np.intp)
    if counted is not None:
        restarts = _restarts(people, counted)
        start = 0 if (counted == 0).any() else 1
        runs_on = trials < counted.max(initial=0) - start + 1 <= blocks * trials
        longest = int(np.bincount(_pairs(people, restarts)).max(initial=0))
        if restarts.max(initial=0) > 0 and not (runs_on and longest > trials):  # else people are there twice, which is said later
            if restarts.max() >= blocks:
                fix = "give people labels of their own, add a column for the block, or --rows COLUMN=TEXT for the rows that are trials"
                what = f"No column is the block, and '{trial}' begins anew {int(restarts.max())} times, in a task of {blocks} blocks."
                beyond = np.flatnonzero(restarts >= blocks)
                findings.mend(what, fix, some([table.place(int(row)) for row in beyond], 3))
                return None
            findings.understood("block", "", f"a new one where '{trial}' begins anew")
            return restarts
        if runs_on:
            findings.understood("block", "", f"{trials} trials each, by '{trial}'")
            return ((counted - start) // trials).astype(np.intp)
    order = _order(people)
    most = int(order.max(initial=0)) + 1
    if most <= trials:
        findings.understood("block", "", "no column: all trials are of the first block")
        return np.zeros(len(people), np.intp)
    if most == blocks * trials and (np.bincount(people) == most).all():
        findings.understood("block", "", f"no column: {trials} rows each, in the order of rows")
        return (order // trials).astype(np.intp)
    what = f"There is no column for the block, and participants have up to {most} rows, in a task of {blocks} blocks of {trials} trials."
    findings.mend(what, "--columns block=NAME, or add a column 'block'; --rows COLUMN=TEXT if some rows are no trials")
    return None


def _trials(
    people: Indices, block: Indices, counted: NDArray[np.float64] | None, trials: int, column: str | None, findings: Findings
) -> Indices:
    """The trial of each row within its block."""
    if counted is None:
        findings.understood("trial", "", "no column: in the order of rows")
        return _order(_pairs(people, block))
    start = 0 if (counted == 0).any() else 1
    within = counted - start
    if (within >= 0).all() and within.max(initial=0) < trials:
        findings.understood("trial", column or "", f"counted from {start}")
        return within.astype(np.intp)
    on = within - block * trials
    if (on >= 0).all() and on.max(initial=0) < trials:
        findings.understood("trial", column or "", f"counted from {start}, running on over blocks")
        return on.astype(np.intp)
    findings.understood("trial", column or "", "only its order is used, since its numbers count other things too")
    return _ranks(_pairs(people, block), counted)


def _too_many(table: RawTable, people: Indices, block: Indices, trial: Indices, trials: int, findings: Findings) -> None:
    """More trials than the task has."""
    over = np.flatnonzero(trial >= trials)
    if len(over):
        counts = np.bincount(_pairs(people, block))
        fix = "--rows COLUMN=TEXT for the rows that are trials, or mend 'trials' of the task"
        where = some([table.place(int(row)) for row in over], 3)
        findings.mend(
            f"A participant has {int(counts.max())} rows in a block, and the task has {trials} trials.", fix, f"the first beyond: {where}"
        )


def _twice(table: RawTable, people: Indices, block: Indices, counted: NDArray[np.float64], column: str, findings: Findings) -> None:
    """Two rows for one trial."""
    places = np.stack([_pairs(people, block), counted], axis=1)
    _, first, inverse = np.unique(places, axis=0, return_index=True, return_inverse=True)
    earlier = first[inverse.reshape(-1)]
    repeated = np.flatnonzero(earlier != np.arange(len(places)))
    if len(repeated):
        pairs = [f"{table.place(int(earlier[row]))} and {table.place(int(row))}" for row in repeated]
        said = [texts for name, texts in table.columns.items() if name != FILE_PERSON]  # a file that is given twice has the same rows
        same = all((texts[repeated] == texts[earlier[repeated]]).all() for texts in said)
        if same:
            fix = "delete the duplicates"
        else:  # perhaps a column that counts blocks was taken for the trial
            fix = "these rows differ: give people who share a label labels of their own"
            fix += f"; if '{column}' does not count trials, --columns trial=NAME, and --columns block=NAME if there is a block"
        fix += ", or --columns trial=none to go by the order of rows"
        rows = "1 row is" if len(repeated) == 1 else f"{len(repeated):,} rows are"
        findings.mend(f"{rows} about a trial that another row is about too.", fix, some(pairs, 3))


def _pairs(people: Indices, block: Indices) -> Indices:
    return np.asarray(people * (int(block.max(initial=0)) + 1) + block, np.intp)


def _order(groups: Indices) -> Indices:
    """The place of each row among those of its group, in the order of rows."""
    return np.asarray(pd.Series(groups).groupby(groups).cumcount(), np.intp)


def _ranks(groups: Indices, values: NDArray[np.float64]) -> Indices:
    """The place of each row among those of its group, in ascending order of values."""
    return np.asarray(pd.Series(values).groupby(groups).rank("first") - 1, np.intp)


def _restarts(people: Indices, counted: NDArray[np.float64]) -> Indices:
    """How often the count of trials has begun anew before each row of a participant.

    It begins anew where it falls, and that number or the next one was counted before; else rows have only changed places.
    """
    restarts = np.zeros(len(people), np.intp)
    for person in range(int(people.max(initial=-1)) + 1):
        rows = np.flatnonzero(people == person)
        numbers, anew, seen = counted[rows].tolist(), 0, set[float]()
        for i, row in enumerate(rows):
            if i > 0 and numbers[i] < numbers[i - 1] and not seen.isdisjoint(numbers[i : i + 2]):
                anew, seen = anew + 1, set()
            seen.add(numbers[i])
            restarts[row] = anew
    return restarts
