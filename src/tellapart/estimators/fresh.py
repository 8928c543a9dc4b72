"""Estimates of designs on fresh simulations: no training, common random numbers, memory that does not grow."""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor
from typing import Sequence

import numpy as np

from ..information.estimate import Floats, Pointwise
from ..models.failures import Failure
from ..threads import available_cores
from ..workers import Workers
from .base import Estimator

PIECE = 4096
"""Participants simulated at once."""


def pointwise_at(
    estimator: Estimator, design: Floats, n: int, seed: tuple[int, ...], accuracy: bool = True
) -> tuple[Pointwise, tuple[Failure, ...]]:
    """What each of about `n` fresh participants at a design (B, V) contributes to its estimate, and who could not be simulated."""
    pieces, models = math.ceil(n / PIECE), len(estimator.question.models)
    size = max(2, math.ceil(n / pieces / models)) * models
    parts, failures = [], list[Failure]()
    for piece in range(pieces):
        simulations = estimator.question.simulate(estimator.task, design, size, np.random.default_rng([*seed, piece]))
        parts.append(estimator.pointwise(estimator.prepare(simulations), seed=piece, accuracy=accuracy))
        failures += simulations.failures
    return Pointwise.concatenate(parts), tuple(failures)


def pointwise_at_each(
    estimator: Estimator, designs: Sequence[Floats] | Floats, n: int, seed: tuple[int, ...], workers: Workers, *, accuracy: bool = True
) -> tuple[list[Pointwise], list[Failure]]:
    """The same for several designs, each from the same random numbers."""
    if workers.count > 1:
        found = list(workers.map(pointwise_at, [(estimator, design, n, seed, accuracy) for design in designs]))
    else:
        with ThreadPoolExecutor(available_cores()) as pool:
            found = list(pool.map(lambda design: pointwise_at(estimator, design, n, seed, accuracy), designs))
    return [one for one, _ in found], [failure for _, failures in found for failure in failures]
