"""A survey of designs by one estimator that knows them all: a look at designs everywhere, then climbs from the best of them.

Everything is paid for in participants: a third of them for the look, the others for climbs, one start after another, until all are
spent. All designs face the same random numbers, so that their differences are more certain than each of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..information.estimate import Floats
from ..models.failures import Failure
from ..tasks.sampling import spread
from ..tasks.space import DesignSpace
from ..workers import Workers
from .climb import RACING, TRIED, Estimate, apart, climb

if TYPE_CHECKING:
    from ..estimators.base import Estimator


@dataclass(frozen=True, eq=False)
class Survey:
    """What a survey found, best first.

    Arguments:
        designs: (D, B, V), canonical, no two alike.
        nats: Their information as the race saw it, (D,): the best of many is best by luck too.
        tried: How many designs were looked at.
        failures: Who could not be simulated.
    """

    designs: Floats
    nats: Floats
    tried: int
    failures: tuple[Failure, ...] = ()

    def to_json(self) -> dict[str, Any]:
        return {"designs": self.designs.tolist(), "nats": self.nats.tolist(), "tried": self.tried}


def survey(
    estimator: Estimator,
    space: DesignSpace,
    participants: int,
    few: int,
    many: int,
    seed: tuple[int, ...],
    workers: Workers,
    good: Floats | None = None,
    keep: int = 8,
) -> Survey:
    """Look for good designs.

    Arguments:
        space: Where they are looked for.
        participants: How many may be simulated, about.
        few: Participants of a look at a design.
        many: Participants of a race between designs.
        good: Designs that are known to be good, (G, B, V).
        keep: How many designs to come back with.
    """
    from ..estimators.fresh import pointwise_at_each

    rng, failures, spent = np.random.default_rng([*seed, 0]), list[Failure](), 0

    def estimate(designs: Floats, n: int) -> Any:
        nonlocal spent
        spent += len(designs) * n
        points, failed = pointwise_at_each(estimator, designs, n, (*seed, 1), workers)
        failures.extend(failed)
        return points

    designs = _anywhere(estimator, space, max(keep, participants // (3 * few)), rng, good)
    looks = np.array([points.estimate().nats for points in estimate(designs, few)])
    designs = designs[np.argsort(-looks, kind="stable")]
    best = designs[apart(space, designs[: 4 * keep])][:keep]
    ends, tried = _climbs(estimate, space, best, participants, few, many, rng, lambda: spent)
    pool = np.concatenate([*ends, best])
    pool = pool[: max(keep, len(ends))]
    nats = np.array([points.estimate().nats for points in estimate(pool, many)])
    pool, nats = pool[np.argsort(-nats, kind="stable")], np.sort(nats)[::-1]
    chosen = apart(space, pool)
    return Survey(pool[chosen], nats[chosen], len(designs) + tried, tuple(failures))


def _anywhere(estimator: Estimator, space: DesignSpace, count: int, rng: np.random.Generator, good: Floats | None) -> Floats:
    """Designs over the whole space, a quarter of them baseline designs, and those known to be good; canonical."""
    drawn = [spread(space, count - count // 4, rng), estimator.task.baseline(count // 4, rng)] if count > 3 else [spread(space, count, rng)]
    return space.canonical(np.concatenate([*([] if good is None else [good]), *drawn]))


def _climbs(
    estimate: Estimate, space: DesignSpace, starts: Floats, participants: int, few: int, many: int, rng: np.random.Generator, spent: Any
) -> tuple[list[Floats], int]:
    """Where climbs from the starts end, (1, B, V) each, as many as the participants pay for; and how many designs they looked at."""
    ends, tried, each = list[Floats](), 0, space.blocks * (TRIED * few + RACING * many)
    for start in starts:
        passes = (participants - spent() - len(starts) * many) // each
        if passes < 1:
            break
        top = climb(estimate, space, start, rng, int(min(passes, 12)), few, many)
        ends.append(top.design[None])
        tried += top.tried
    return ends, tried
