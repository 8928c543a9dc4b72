"""Columns that sort people into groups, and columns that sort their blocks into conditions."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .names import GROUP
from .problems import Findings, some
from .raw import RawTable, Texts, plain

Indices = NDArray[np.intp]


OURS = "group."
"""What `import` writes before the name of a column that sorts people or blocks, if its name does not show it."""


def is_usual(column: str) -> bool:
    """Does the name of a column show that it sorts people or blocks?"""
    return plain(column) in GROUP or column.startswith(OURS)


def named(column: str) -> str:
    """What a column is called by."""
    return column.removeprefix(OURS)


def groups_and_conditions(
    table: RawTable, taken: set[str], people: Indices, block: Indices, shape: tuple[int, int], findings: Findings, said: str | None = None
) -> tuple[dict[str, Texts], dict[str, Texts]]:
    """Column name to the group of each participant, (N,), and column name to the condition of each block, (N, B).

    Arguments:
        taken: Columns that are something else.
        people, block: Whose row each is, and of which block, (R,).
        shape: N and B.
        said: A column that is one for sure, beside those with customary names; "none" if there is none at all.
    """
    groups: dict[str, Texts] = {}
    conditions: dict[str, Texts] = {}
    for column in table.columns:
        texts = table[column]
        usual = is_usual(column) and column not in taken and len(set(texts.tolist())) > 1
        if said == "none" or not (usual or column == said):
            continue
        of_people, of_blocks = np.full(shape[0], "", object), np.full(shape, "", object)
        of_people[people], of_blocks[people, block] = texts, texts
        if (of_people[people] == texts).all():
            groups[named(column)] = of_people
            findings.understood("group", column, f"of people: {some(sorted(set(of_people.tolist())))}")
        elif (of_blocks[people, block] == texts).all():
            conditions[named(column)] = of_blocks
            findings.understood("condition", column, f"of blocks: {some(sorted(set(texts.tolist())))}")
        elif column == said:
            findings.mend(
                f"The column '{column}' sorts neither people nor their blocks: it changes within a block.", "--columns group=NAME"
            )
    return groups, conditions
