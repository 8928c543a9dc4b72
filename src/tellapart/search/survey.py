"""A survey of designs by one estimator that knows them all: a look at designs everywhere, then climbs from the best of them.

All designs face the same random numbers, so that their differences are more certain than each of them. A Gaussian process through the
estimates, whose noise is known, says where to look next: each look goes to the design that is best in a random reading of what is known
(Thompson sampling). It knows well a space of a few numbers. Where designs have many, climbing (`climb.py`) goes further.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..information.estimate import Floats, InformationEstimate, Pointwise
from ..models.failures import Failure
from ..tasks.sampling import spread
from ..tasks.scaling import from_unit, to_unit
from ..tasks.space import DesignSpace
from ..workers import Workers
from .climb import RACING, TRIED, apart, climb
from .surrogate import Surrogate

if TYPE_CHECKING:
    from ..estimators.base import Estimator

WAVES = 3
"""How often a survey turns to where the process promises most."""

CHOICE, LARGEST_CHOICE = 80, 2000
"""Designs that the process chooses from, for each that a survey looks at, and at most: a joint draw is cubic in their number."""


Ranked = tuple[Floats, Floats]
"""Designs, best first, (D, B, V), canonical, no two alike; and their information, as the process or the race saw it, (D,): the best of many
is best by luck too."""


def _sizes(n: int) -> tuple[int, int]:
    """Participants of a look in a climb, and of a race, where a look at a design has `n`."""
    return max(50, n // 8), 2 * n


def passes_of(space: DesignSpace, n: int, participants: int, keep: int) -> int:
    """How many passes over the blocks so many participants are enough for."""
    few, many = _sizes(n)
    return int((participants - keep * many) // (space.blocks * (TRIED * few + RACING * many)))


class Surveyor:
    """Looks for good designs, and knows how many were `tried` and the `failures`: who could not be simulated.

    Arguments:
        n: Participants of a look at a design; a look in a climb has an eighth of them, a race twice as many.
    """

    def __init__(self, estimator: Estimator, space: DesignSpace, n: int, seed: tuple[int, ...], workers: Workers) -> None:
        self.estimator, self.space, self.n, self.seed, self.workers = estimator, space, n, seed, workers
        self.rng = np.random.default_rng([*seed, 0])
        self.failures: list[Failure] = []
        self.tried = 0

    def look(self, count: int, good: Floats | None, keep: int) -> Ranked:
        """The best of `count` designs: half of them anywhere and those known to be good, then more where information is high."""
        task, half = self.estimator.task, max(2, count // 2)
        anywhere = [spread(self.space, half - half // 4, self.rng), *([task.baseline(half // 4, self.rng)] if half > 3 else [])]
        designs = self.space.canonical(np.concatenate([*([] if good is None else [good]), *anywhere]))
        estimates = self._estimates(designs)
        waves = [wave for wave in np.array_split(np.arange(max(0, count - half)), WAVES) if len(wave)]
        for number, wave in enumerate(waves):
            surrogate = self._surrogate(designs, estimates)
            candidates = self._candidates(designs[np.argsort(-surrogate.mean())[:16]], min(CHOICE * count, LARGEST_CHOICE))
            chosen = surrogate.thompson(candidates, len(wave), seed=number)
            designs, estimates = np.concatenate([designs, chosen]), estimates + self._estimates(chosen)
        mean = self._surrogate(designs, estimates).mean()
        order = np.argsort(-mean, kind="stable")
        best = order[apart(self.space, designs[order[: 16 * keep]])[:keep]]
        return designs[best], mean[best]

    def climb(self, ranked: Ranked, participants: int, keep: int) -> Ranked:
        """Climbs from designs, best first, as far as so many participants lead; the designs come back too."""
        (few, many), starts, ends = _sizes(self.n), ranked[0], list[Floats]()
        passes = passes_of(self.space, self.n, participants, keep)
        if passes < 1:
            return ranked
        climbs = max(1, min(3, len(starts), passes // 4))
        for start, share in zip(starts, np.array_split(np.arange(passes), climbs), strict=False):
            top = climb(self._points, self.space, start, self.rng, len(share), few, many)
            self.tried += top.tried
            ends.append(top.design)
        pool = np.stack([*ends, *starts])[:keep]
        nats = np.array([points.estimate().nats for points in self._points(pool, many)])
        order = np.argsort(-nats, kind="stable")
        chosen = order[apart(self.space, pool[order], 0.02)]
        return pool[chosen], nats[chosen]

    def _points(self, designs: Floats, n: int) -> list[Pointwise]:
        from ..estimators.fresh import pointwise_at_each

        points, failed = pointwise_at_each(self.estimator, designs, n, (*self.seed, 1), self.workers, accuracy=False)
        self.failures.extend(failed)
        return points

    def _estimates(self, designs: Floats) -> list[InformationEstimate]:
        self.tried += len(designs)
        return [points.estimate() for points in self._points(designs, self.n)]

    def _surrogate(self, designs: Floats, estimates: list[InformationEstimate]) -> Surrogate:
        return Surrogate(self.space, designs, [e.nats for e in estimates], [e.se for e in estimates])

    def _candidates(self, best: Floats, n: int) -> Floats:
        """A quarter anywhere, the others around the best designs so far, some values moved to an edge; canonical, (n, B, V)."""
        rng, space = self.rng, self.space
        centre = to_unit(space, best[rng.integers(0, len(best), n - n // 4)])
        width = rng.choice([0.02, 0.07, 0.2], (len(centre), 1, 1))
        moved = centre + width * rng.standard_normal(centre.shape) * (rng.random(centre.shape) < 0.7)
        edge = np.where(rng.random(centre.shape) < 0.5, 0.0, 1.0)
        moved = np.where(rng.random(centre.shape) < 0.1, edge, moved)
        return space.canonical(np.concatenate([spread(space, n // 4, rng), from_unit(space, moved)]))
