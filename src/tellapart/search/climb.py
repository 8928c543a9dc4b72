"""Climbing: from a good design to a better one, a block at a time.

The classic way to optimise experiments is exchange: leave all blocks but one as they are, try other settings of that one, keep the best,
go on to the next block, and again until nothing is gained (Fedorov 1972; Meyer & Nachtsheim 1995). Here the value of a design is an
estimate from simulations. All designs face the same random numbers, so that the difference of two designs is far more certain than
either. Many alternatives are looked at with few participants; the few that promise most then race the present design with
many participants, and the winner stays. What many small gains amount to is more certain than each of them; where a whole pass gains no
more than its standard error, twice in a row, the climb ends.

References:
    Meyer & Nachtsheim (1995), The coordinate-exchange algorithm for constructing exact optimal experimental designs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Callable, Sequence

import numpy as np

from ..information.estimate import Floats, Pointwise
from ..tasks.scaling import from_unit, to_unit
from ..tasks.space import DesignSpace

Estimate = Callable[[Floats, int], list[Pointwise]]
"""What participants contribute at designs (D, B, V), so many participants at each, the same ones at all."""

TRIED = 64
"""Alternatives of a block that are looked at."""
RACING = 3
"""How many of them race the present design."""


@dataclass(frozen=True, eq=False)
class Climb:
    """Where a climb ended.

    Arguments:
        design: (B, V).
        tried: How many designs were looked at.
        gains: What each pass over the blocks gained, in nats, as the race saw it.
    """

    design: Floats
    tried: int
    gains: tuple[float, ...]


def climb(estimate: Estimate, space: DesignSpace, start: Floats, rng: np.random.Generator, passes: int, few: int, many: int) -> Climb:
    """Improve a design (B, V) by exchanging blocks, in so many passes at most; the second pass in a row without a clear gain is the last.

    Arguments:
        few: Participants of a look at an alternative.
        many: Participants of a race.
    """
    design, tried, gains, idle = space.canonical(start), 0, list[float](), 0
    present = estimate(design[None], many)[0]
    for number in range(passes):
        before = present
        for block in rng.permutation(space.blocks):
            others = alternatives(space, design, int(block), 0.25 * 0.6**number, rng)
            tried += len(others)
            looks = [points.estimate().nats for points in estimate(others, few)]
            best = others[np.argsort(looks)[::-1][:RACING]]
            for other, points in zip(best, estimate(best, many), strict=True):
                if points.minus(present).nats > 0:
                    design, present = other, points
        gained = present.minus(before)
        gains.append(gained.nats)
        idle = idle + 1 if gained.nats <= gained.se else 0
        if idle == 2:
            break
    return Climb(design, tried, tuple(gains))


def alternatives(space: DesignSpace, design: Floats, block: int, width: float, rng: np.random.Generator) -> Floats:
    """Designs that differ from (B, V) in one block, (D, B, V): moved a little, one value moved, anywhere, or like another block."""
    unit = np.repeat(to_unit(space, design)[None], TRIED, axis=0)
    row, size = unit[:, block], unit.shape[2]
    moved = row + width * rng.standard_normal(row.shape)
    one = np.where(
        np.arange(size) == rng.integers(0, size, (TRIED, 1)), np.where(rng.random((TRIED, 1)) < 0.3, _edges(row, rng), moved), row
    )
    anywhere = np.where(rng.random(row.shape) < 0.25, _edges(row, rng), rng.random(row.shape))
    alike = unit[np.arange(TRIED), rng.integers(0, space.blocks, TRIED)] + 0.3 * width * rng.standard_normal(row.shape)
    kind = (np.arange(TRIED) % 8)[:, None]
    unit[:, block] = np.select([kind < 3, kind < 5, kind < 7], [one, moved, anywhere], alike)
    designs = space.canonical(from_unit(space, unit))
    different = ~(designs == design).all((1, 2))
    return np.unique(designs[different], axis=0) if different.any() else designs[:1]


def _edges(like: Floats, rng: np.random.Generator) -> Floats:
    return np.where(rng.random(like.shape) < 0.5, 0.0, 1.0)


def apart(space: DesignSpace, designs: Sequence[Floats] | Floats, least: float = 0.05) -> list[int]:
    """Which of designs (D, B, V), in their order, are further from all before them than `least`, a share of the range, in some value."""
    places = to_unit(space, np.asarray(designs))
    chosen: list[int] = []
    for i, place in enumerate(places):
        if all(np.abs(place - places[other]).max() > least for other in chosen):
            chosen.append(i)
    return chosen
