"""The information curve: how many trials do I need?

One network serves experiments of every length. So the same simulated participants, at the recommended design, are read
up to a number of blocks and of trials per block, and each reading gives an estimate. Differences along the curve are more
certain than its height, since all points share their participants. Where a model may carry memory from block to block, participants who
did fewer trials in one would have done something else in the next: there blocks are read whole.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .errors import StudyError, counted
from .estimators.base import Estimator
from .information.estimate import InformationEstimate
from .progress import Progress, unheard


@dataclass(frozen=True)
class CurvePoint:
    """Information after so many blocks of so many trials."""

    blocks: int
    trials: int
    information: InformationEstimate

    def to_json(self) -> dict[str, Any]:
        return {"blocks": self.blocks, "trials": self.trials, **self.information.to_json()}


def information_curve(
    estimator: Estimator, design: ArrayLike, *, n: int = 4000, points: int = 10, seed: int = 0, progress: Progress = unheard
) -> list[CurvePoint]:
    """Information as a function of the trials in each block, for every number of blocks.

    Arguments:
        estimator: One that takes experiments of any length.
        design: (B, V); with fewer blocks, the first rows of it.
        n: Simulated participants.
        points: How many numbers of trials, from few to all.
    """
    if not reads_any_length(estimator):
        raise StudyError(
            "This estimator knows experiments of one length only.",
            expected='the encoder "history" or "sequence"',
            got=estimator.encoder.name,
            fix='choose search method "amortized"',
        )
    batch = estimator.simulate(design, n, np.random.default_rng([seed, 10]))
    _, blocks, trials, _ = batch.inputs.shape
    shortest = trials if estimator.in_order else max(1, trials / points)
    lengths = np.unique(np.linspace(shortest, trials, points).round().astype(int))
    curve = []
    for b in range(1, blocks + 1):
        for t in lengths:
            part = replace(batch, inputs=batch.inputs[:, :b, :t].contiguous())
            curve.append(CurvePoint(b, int(t), estimator.pointwise(part).estimate()))
            progress(len(curve), blocks * len(lengths), "reading the curve", f"{counted(b, 'block')} of {counted(int(t), 'trial')}")
    return curve


def reads_any_length(estimator: Estimator) -> bool:
    """Does the estimator know shorter experiments too?"""
    return estimator.encoder.any_length and not estimator.complete_only
