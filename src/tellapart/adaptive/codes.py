"""The answer of a block as one of a few codes: how often each response was given.

A block of T trials with K possible responses has (T + K - 1 choose K - 1) codes: two for a yes-or-no question, T + 1 for T of them.
Trials of a block are taken to be exchangeable given the participant's parameters. Where they are not, counts tell less than the whole
block does, and what is said of them is still right. If trials were missed, the n that were recorded are n of the T at random:

    p(c' | c) = product over k of (c_k choose c'_k) / (T choose n).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import combinations_with_replacement

import numpy as np
from numpy.typing import NDArray
from scipy.special import comb

from ..behavior import Behavior
from ..tasks.base import Task
from ..tasks.space import Floats

MOST = 64
"""Codes that a block may have to be looked at answer by answer."""


@dataclass(frozen=True)
class Codes:
    """The codes of a block.

    Arguments:
        field: The response that is counted.
        levels: K.
        trials: T.
    """

    field: str
    levels: int
    trials: int

    @staticmethod
    def of(task: Task) -> Codes | None:
        """The codes of a task's blocks; None if there are too many, if blocks hold more than one discrete response for each trial, or if
        the design has a say in how many trials there are."""
        if len(task.fields) != 1 or task.fields[0].kind not in ("binary", "categorical") or type(task).lengths is not Task.lengths:
            return None
        levels = 2 if task.fields[0].kind == "binary" else task.fields[0].levels or 2
        few = comb(task.trials + levels - 1, levels - 1) <= MOST
        return Codes(task.fields[0].name, levels, task.trials) if few else None

    @cached_property
    def counts(self) -> NDArray[np.intp]:
        """How often each response was given, for each code of a whole block, (O, K)."""
        picked = combinations_with_replacement(range(self.levels), self.trials)
        return np.array([np.bincount(one, minlength=self.levels) for one in picked])

    def seen(self, behavior: Behavior) -> Floats:
        """p(what was recorded of a block | code), (N, B, O): 0 or 1 where nothing was missed, all 1 where nothing was recorded."""
        responses = behavior.fields[self.field]
        recorded = np.stack([(behavior.mask & (responses == k)).sum(2) for k in range(self.levels)], axis=-1)
        ways = comb(self.counts, recorded[:, :, None, :]).prod(-1)
        return np.asarray(ways / comb(self.trials, recorded.sum(-1))[..., None])
