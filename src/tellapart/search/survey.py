"""A survey of designs by one estimator that knows them all: many cheap estimates, most of them where they promise most.

All designs face the same random numbers, so that their differences are more certain than each of them. A Gaussian
process through the estimates, whose noise is known, says where the next ones go: each goes to the design that is best
in a random reading of what is known (Thompson sampling).
"""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..information.estimate import InformationEstimate
from ..tasks.base import DesignSpace, Floats, Task
from ..threads import available_cores
from ..workers import Workers
from .process import InformationProcess

if TYPE_CHECKING:
    from ..estimators.base import Estimator

WAVES = 3
"""How often a survey turns to where the process promises most."""


@dataclass(frozen=True, eq=False)
class Survey:
    """What a survey found, best first.

    Arguments:
        designs: (D, B, V), canonical.
        nats: The process's posterior mean of their information, (D,).
        sd: Its posterior standard deviation, (D,).
        space: Where they live.
    """

    designs: Floats
    nats: Floats
    sd: Floats
    space: DesignSpace

    def best(self, n: int, apart: float = 0.05) -> Floats:
        """The best `n` designs of which no two are nearer than `apart`, a share of the range, in every value, (n, B, V)."""
        places = self.space.to_unit(self.designs)
        chosen: list[int] = []
        for i, place in enumerate(places):
            if all(np.abs(place - places[other]).max() > apart for other in chosen):
                chosen.append(i)
            if len(chosen) == n:
                break
        return self.designs[chosen]

    def to_json(self, n: int = 64) -> dict[str, Any]:
        """The best `n`."""
        return {"designs": self.designs[:n].tolist(), "nats": self.nats[:n].tolist(), "sd": self.sd[:n].tolist()}


def information_at(estimator: Estimator, design: Floats, n: int, seed: tuple[int, ...], size: int = 4096) -> InformationEstimate:
    """The estimate of one design from `n` fresh simulations, in pieces, so that memory does not grow with `n`."""
    from ..estimators.base import combine

    models, pieces = len(estimator.goal.models), math.ceil(n / size)
    count = max(2, round(n / pieces / models)) * models
    parts = []
    for piece in range(pieces):
        batch = estimator.simulate(design, count, np.random.default_rng([*seed, piece]))
        parts.append(estimator.estimate(batch, seed=piece))
    return combine(parts)


def informations(estimator: Estimator, designs: Floats, n: int, seed: tuple[int, ...], workers: Workers) -> list[InformationEstimate]:
    """The estimates of several designs, each from the same random numbers."""
    if workers.count > 1:
        return list(workers.map(information_at, [(estimator, design, n, seed) for design in designs]))
    with ThreadPoolExecutor(available_cores()) as pool:
        return list(pool.map(lambda design: information_at(estimator, design, n, seed), designs))


def survey(estimator: Estimator, count: int, n: int, seed: tuple[int, ...], workers: Workers) -> Survey:
    """Estimate `count` designs from `n` simulations each: half of them anywhere, then more where information is high."""
    task, rng = estimator.goal.task, np.random.default_rng([*seed, 0])
    space, half = task.design_space, count // 2
    designs = space.canonical(np.concatenate([space.spread(half - half // 4, rng), task.baseline(half // 4, rng)]))
    estimates = informations(estimator, designs, n, (*seed, 1), workers)
    for wave in np.array_split(np.arange(count - half), WAVES):
        process = _process(task, designs, estimates)
        candidates = _candidates(task, designs[np.argsort(-process.mean())[:16]], 2000, rng)
        designs_here = process.thompson(candidates, len(wave), rng)
        designs = np.concatenate([designs, designs_here])
        estimates += informations(estimator, designs_here, n, (*seed, 1), workers)
    process = _process(task, designs, estimates)
    order = np.argsort(-process.mean(), kind="stable")
    return Survey(designs[order], process.mean()[order], process.sd()[order], space)


def _process(task: Task, designs: Floats, estimates: list[InformationEstimate]) -> InformationProcess:
    return InformationProcess(task.design_space, designs, [e.nats for e in estimates], [e.se for e in estimates])


def _candidates(task: Task, best: Floats, n: int, rng: np.random.Generator) -> Floats:
    """A quarter anywhere, the others around the best designs so far, some values moved to an edge; canonical, (n, B, V)."""
    space = task.design_space
    centre = space.to_unit(best[rng.integers(0, len(best), n - n // 4)])
    width = rng.choice([0.02, 0.07, 0.2], (len(centre), 1, 1))
    moved = centre + width * rng.standard_normal(centre.shape) * (rng.random(centre.shape) < 0.7)
    edge = np.where(rng.random(centre.shape) < 0.5, 0.0, 1.0)
    moved = np.where(rng.random(centre.shape) < 0.1, edge, moved)
    return space.canonical(np.concatenate([space.spread(n // 4, rng), space.from_unit(moved)]))
