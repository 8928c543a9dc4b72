"""In which order each participant played the blocks, where a column says it beside the block of the design."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .names import POSITION
from .problems import Findings
from .raw import RawTable, number, plain

Indices = NDArray[np.intp]


def positions_of_blocks(
    table: RawTable, taken: set[str], people: Indices, block: Indices, shape: tuple[int, int], missed: NDArray[np.bool_], findings: Findings
) -> Indices | None:
    """When each participant played each block of the design, counted from 0, -1 for blocks that were not begun, (N, B).

    None if no column says it: it has one number in a block, another one in each block of a participant.

    Arguments:
        taken: Columns that are something else.
        people, block: Whose row each is, and of which block, (R,).
        shape: N and B.
        missed: Rows without a response, (R,): those of a block that was not begun are empty.
    """
    column = next((name for name in table.columns if plain(name) in POSITION and name not in taken), None)
    if column is None:
        return None
    values = np.array([np.nan if (value := number(str(text))) is None else value for text in table[column]], np.float64)
    known, when = np.isfinite(values), np.full(shape, np.inf)
    when[people[known], block[known]] = values[known]
    ranks = np.argsort(np.argsort(when, axis=1, kind="stable"), axis=1, kind="stable")
    begun = np.isfinite(when)
    distinct = all(len(set(row[some])) == int(some.sum()) for row, some in zip(when, begun, strict=True))
    if not (known | missed).all() or not distinct or not np.array_equal(when[people[known], block[known]], values[known]):
        return None
    findings.understood("order of play", column, "of blocks")
    return np.asarray(np.where(begun, ranks, -1), np.intp)
