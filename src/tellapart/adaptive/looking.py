"""The search for the most informative next block: a look everywhere, then around the best, then a race of the best few.

All rows face the same draws (common random numbers), so that they differ by what they tell and not by luck. The winner of a race had luck
too: where what people do next is simulated, what it is said to tell comes from draws that had no part in the choice. Where the answers are
few, what it tells is summed over all of them, by the points of the prior that are there for every row.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from ..information.estimate import Difference
from ..tasks.space import Floats
from .candidates import Candidates
from .gain import Gains


class Prospects(Protocol):
    """What next blocks are expected to tell of one participant."""

    def everywhere(self) -> tuple[Floats, Floats]:
        """Rows over the whole space (C, V), and about how much they would tell, (C,)."""
        ...

    def gains(self, rows: Floats, last: bool) -> Gains:
        """What rows (C, V) would tell; the last word on them, or a quicker one."""
        ...

    def afresh(self, rows: Floats) -> Gains:
        """The same for rows that were chosen, without the luck by which they were."""
        ...


@dataclass(frozen=True)
class Effort:
    """How much is looked at.

    Arguments:
        kept: The best rows, around which is looked again.
        each: Rows around each of them.
        widths: How far around, as shares of the ranges, one look after the other.
        finalists: Rows of the last race.
        along: The share of `each` that lies along the differences of the best rows.
        again: Of the rows that were run last, around how many is looked too.
    """

    kept: int = 12
    each: int = 12
    widths: tuple[float, ...] = (0.15, 0.06, 0.025, 0.01)
    finalists: int = 6
    along: float = 0.5
    again: int = 4


@dataclass(frozen=True, eq=False)
class Best:
    """The best row (V,), what it is expected to tell, what the planned row is, and by how much more it tells than that."""

    row: Floats
    gain: Difference
    planned: Difference
    over_planned: Difference


def best_row(prospects: Prospects, candidates: Candidates, planned: Floats, effort: Effort, rng: np.random.Generator) -> Best:
    """The most informative row for the next block; that of the fixed plan, `planned` (V,), is a candidate too."""
    best = chosen_row(prospects, candidates, planned, effort, rng)
    gains = prospects.afresh(np.stack([best, planned]))
    return Best(best, gains.of(0), gains.of(1), gains.minus(0, 1))


def chosen_row(prospects: Prospects, candidates: Candidates, planned: Floats, effort: Effort, rng: np.random.Generator) -> Floats:
    """The same row alone, (V,), without what it is expected to tell, which takes more draws."""
    return winner(prospects, np.concatenate([planned[None], finalists(prospects, candidates, effort, rng)]))


def finalists(prospects: Prospects, candidates: Candidates, effort: Effort, rng: np.random.Generator) -> Floats:
    """The best rows of a look everywhere and then around the best, (C, V)."""
    rows, glance = prospects.everywhere()
    rows = np.concatenate([rows[np.argsort(-glance, kind="stable")[: effort.kept]], candidates.again(effort.again)])
    nats = prospects.gains(rows, False).nats
    for width in effort.widths:
        along = int(effort.along * effort.each)
        beside = candidates.around(np.repeat(rows, effort.each - along, axis=0), width, rng)
        more = np.concatenate([beside, candidates.along(rows, along, rng)])
        rows, nats = np.concatenate([rows, more]), np.concatenate([nats, prospects.gains(more, False).nats])
        top = np.argsort(-nats, kind="stable")[: effort.kept]
        rows, nats = rows[top], nats[top]
    return rows[: effort.finalists]


def winner(prospects: Prospects, rows: Floats) -> Floats:
    """The row that tells most, by the last word on them, (V,)."""
    return np.asarray(rows[int(np.argmax(prospects.gains(rows, True).nats))])
