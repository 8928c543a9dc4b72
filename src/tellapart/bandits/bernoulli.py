"""The Bernoulli bandit: choose among arms, win or lose.

The design d[b, k] is the probability that arm k of block b pays. Arms are exchangeable within a block, and blocks are
exchangeable: a design has up to (K!)^B B! equivalents.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numba as nb
import numpy as np
from numpy.typing import NDArray

from ..models.streams import uniform
from ..tasks.environment import Environment
from ..tasks.space import Floats
from .task import Bandit, WinsAndLosses


@nb.njit(cache=True, forceinline=True)
def pays(design: Any, trial: Any, choice: Any, numbers: Any, memory: Any, stream: Any, outcome: Any) -> None:
    """An arm pays 1 with its probability, else 0; see `models/kernel.py`."""
    outcome[0] = uniform(stream) < design[choice]


class BernoulliArms(WinsAndLosses):
    """An arm pays 1 with its probability, else 0."""

    compiled: ClassVar[Any] = pays

    def chance(self, choice: NDArray[Any]) -> Floats:
        return np.asarray(self.designs[np.arange(len(self.designs)), self.block, choice])


@dataclass(frozen=True)
class BernoulliBandit(Bandit):
    """A bandit with Bernoulli rewards. Memory is reset between blocks."""

    name: ClassVar[str] = "bernoulli-bandit"
    rules: ClassVar[type[Environment]] = BernoulliArms
    design_label: ClassVar[str] = "reward probability"

    def baseline(self, n: int, rng: np.random.Generator) -> Floats:
        """Every reward probability from Beta(2, 2), as in Steyvers, Lee & Wagenmakers (2009)."""
        return rng.beta(2.0, 2.0, (n, *self.design_space.shape))
