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
from .raw import RawTable, Texts, number, plain

Floats = NDArray[np.float64]

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
    task: Task, table: RawTable, people: NDArray[np.intp], block: NDArray[np.intp], n: int, findings: Findings
) -> Floats | None:
    """Designs (N, B, V) from columns of the data, if there are such columns and they hold designs."""
    columns = design_columns(task, list(table.columns))
    if columns is None:
        return None
    values = np.array([[np.nan if (value := number(text)) is None else value for text in table[name]] for name in columns]).T
    designs = np.full((n, task.blocks, len(columns)), np.nan)
    designs[people, block] = values
    listed = ", ".join(columns)
    if not np.array_equal(designs[people, block], values, equal_nan=True):
        findings.understood("no design", listed, "named like the design, but different within a block: not used")
        return None
    if not all(variable.allows(values[:, v]).all() for v, variable in enumerate(task.design_space.variables)):
        findings.understood("no design", listed, "named like the design, but outside of its range: not used")
        return None
    unknown = np.isnan(designs).any(-1)
    if unknown.any():  # blocks that nobody began: any value will do, for nothing was recorded
        designs[unknown] = np.nanmean(values, axis=0)
    findings.understood("design", listed, "one for each participant and block")
    return designs


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
    designs = np.full((len(participants), task.blocks, len(columns)), np.nan)
    start = 1 if block and not any(number(text) == 0 for text in table[block]) else 0
    for row in range(len(table)):
        who = participants == table[person][row] if person else np.ones(len(participants), bool)
        at = int(number(table[block][row]) or 0) - start if block else slice(None)
        designs[who, at] = [number(table[name][row]) for name in columns]
    without = [str(label) for label, design in zip(participants, designs, strict=True) if np.isnan(design).any()]
    if without:
        findings.mend("Some participants have no design.", f"one row for each participant and block in {path}", some(without))
        return None
    findings.understood("design", str(path), "one for each participant and block")
    return designs
