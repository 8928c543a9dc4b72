"""What each participant was run at: design variables in columns of the data, or in a table of their own."""

from __future__ import annotations

from pathlib import Path
from typing import Sequence

import numpy as np
from numpy.typing import NDArray

from ..tasks.base import Task
from .collect import collect
from .names import BLOCK, PARTICIPANT
from .problems import Findings, some
from .raw import RawTable, Texts, number, people_of, plain

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]

PREFIXES = ("", "p", "prob", "probability", "rewardprob", "rewardprobability", "preward", "mu", "arm", "design", "d")
"""What stands before the number of a design variable in a column's name."""


def design_columns(task: Task, columns: Sequence[str]) -> list[str] | None:
    """The columns that are named like the design variables, in their order, or None."""
    names = {plain(name): name for name in columns}
    variables = [plain(variable.name) for variable in task.design_space.variables]
    customary = [[f"{prefix}{i + start}" for i in range(len(variables))] for start in (0, 1) for prefix in PREFIXES if prefix]
    for wanted in (variables, [f"design{name}" for name in variables], *customary):
        if all(name in names for name in wanted):
            return [names[name] for name in wanted]
    return None


def designs_in_data(
    task: Task, table: RawTable, people: Indices, block: Indices, n: int, recorded: NDArray[np.bool_], findings: Findings
) -> Floats | None:
    """Designs (N, B, V) from columns of the data, if there are such columns and they hold designs.

    Arguments:
        people, block: Whose row each is, and of which block, (R,).
        recorded: Rows with a response, (R,); in others the design may be empty.
    """
    columns = design_columns(task, list(table.columns))
    if columns is None:
        return None
    values, listed = _values(task, table, columns), ", ".join(columns)
    known = np.isfinite(values).all(1)
    designs = np.full((n, task.blocks, len(columns)), np.nan)
    designs[people[known], block[known]] = values[known]
    why = ""
    if not known.any():
        why = "no numbers"
    elif not np.array_equal(designs[people[known], block[known]], values[known]):
        why = "different within a block"
    elif _outside(task, values[known]).any():
        why = "outside of its range"
    if why:
        findings.understood("no design", listed, f"named like the design, but {why}: not used")
        return None
    without = np.flatnonzero(recorded & np.isnan(designs[people, block]).any(-1))
    if len(without):
        fix = "fill in what these blocks were run at, or --designs FILE"
        findings.mend("The design is not known in blocks with responses.", fix, some([table.place(int(row)) for row in without]))
        return None
    findings.understood("design", listed, "one for each participant and block")
    return _completed(designs)


def _completed(designs: Floats) -> Floats:
    """Designs (N, B, V) in which a block that somebody did not begin is as it was for whoever had the most similar other blocks.

    Nothing was recorded in it, so that it tells nothing. But a design that nobody had would look like one more condition.
    """
    known, whole = np.asarray(~np.isnan(designs).any(-1)), designs.copy()
    for n, b in np.argwhere(~known):
        others = np.flatnonzero(known[:, b])
        if len(others):
            apart = np.nansum(np.abs(designs[others] - designs[n]), axis=(1, 2))
            shared = (known[others] & known[n]).sum(1)
            whole[n, b] = designs[others[np.lexsort((apart, -shared))[0]], b]
        else:
            whole[n, b] = designs[np.nonzero(known)][0]
    return whole


def designs_in_table(task: Task, path: str | Path, participants: Texts, findings: Findings) -> Floats | None:
    """Designs (N, B, V) from a table with columns participant (if they differ), block (if there are several) and the design variables."""
    table = collect([path], findings)
    columns = design_columns(task, list(table.columns))
    if columns is None:
        wanted = ", ".join(variable.name for variable in task.design_space.variables)
        findings.mend(
            "The table of designs lacks design variables.", f"columns {wanted}; there are {some(list(table.columns), 12)}", str(path)
        )
        return None
    person, block = (next((name for name in table.columns if plain(name) in names), None) for names in (PARTICIPANT, BLOCK))
    values, blocks = _values(task, table, columns), np.zeros(len(table)) if block is None else _numbers(table[block])
    blocks = blocks - (block is not None and not (blocks == 0).any())
    wrong, outside = np.isnan(values).any(1) | ~np.isin(blocks, np.arange(task.blocks)), _outside(task, values)
    if wrong.any():
        fix = f"a number for each of {', '.join(columns)}" + (f", and a block from 1 to {task.blocks}" if block else "")
        findings.mend(f"{int(wrong.sum())} rows of the table of designs cannot be understood.", fix, _rows(table, wrong, path))
    for v in np.flatnonzero(outside.any(0)):
        fix = f"{task.design_space.variables[v].allowed}, not {some([f'{value:g}' for value in np.unique(values[outside[:, v], v])], 3)}"
        findings.mend(f"The design variable '{columns[v]}' is outside of its range.", fix, _rows(table, outside[:, v], path))
    if wrong.any() or outside.any():
        return None
    designs, twice = np.full((len(participants), task.blocks, len(columns)), np.nan), []
    whose = people_of(table[person]) if person else None
    for row in range(len(table)):
        who = participants == whose[row] if whose is not None else np.ones(len(participants), bool)
        at = slice(None) if block is None else int(blocks[row])
        twice += [f"row {table.rows[row]}"] if (np.isfinite(designs[who, at]) & (designs[who, at] != values[row])).any() else []
        designs[who, at] = values[row]
    if twice:
        findings.mend("A block has two designs.", "delete one of them", f"{some(twice)} of {path}, and earlier")
    without = [str(label) for label, design in zip(participants, designs, strict=True) if np.isnan(design).any()]
    if without:
        findings.mend("Some participants have no design.", f"one row for each participant and block in {path}", some(without))
    if twice or without:
        return None
    findings.understood("design", str(path), "one for each participant and block")
    return designs


def _outside(task: Task, values: Floats) -> NDArray[np.bool_]:
    """Which numbers a design variable cannot take, (R, V); what is no number is not among them."""
    allowed = [variable.allows(values[:, v]) for v, variable in enumerate(task.design_space.variables)]
    return np.isfinite(values) & ~np.stack(allowed, axis=1)


def _rows(table: RawTable, which: NDArray[np.bool_], path: str | Path) -> str:
    """Rows of a table, in words."""
    return f"{some([f'row {table.rows[row]}' for row in np.flatnonzero(which)])} of {path}"


def _values(task: Task, table: RawTable, columns: Sequence[str]) -> Floats:
    """Columns of design variables as numbers, (R, V); a category also by its name."""
    variables = zip(task.design_space.variables, columns, strict=True)
    return np.stack([_numbers(table[column], variable.categories) for variable, column in variables], axis=1)


def _numbers(texts: Texts, categories: Sequence[str] = ()) -> Floats:
    """Texts as numbers, (R,), names as the numbers of their categories; NaN where there is none."""
    known = {name.casefold(): float(i) for i, name in enumerate(categories)}
    values = (known.get(text.strip().casefold()) if (value := number(text)) is None else value for text in texts)
    return np.array([np.nan if value is None else value for value in values], np.float64)
