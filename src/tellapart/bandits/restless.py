"""The restless bandit: reward probabilities that wander.

Every arm begins at 1/2 and takes a normal step after each trial, whichever arm was chosen; at 0 and 1 it is thrown back. The design
d[b, k] is the size of the steps of arm k in block b, their standard deviation: with 0 the arm stands still.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numba as nb
import numpy as np
from numpy.typing import NDArray

from ..models.streams import standard_normal, uniform
from ..tasks.environment import Environment, Values
from ..tasks.space import Floats
from .task import Bandit, WinsAndLosses


@nb.njit(cache=True, forceinline=True)
def pays(design: Any, trial: Any, choice: Any, numbers: Any, memory: Any, stream: Any, outcome: Any) -> None:
    """An arm pays with the probability to which it has wandered, 1/2 + memory; then all arms take a step; see `models/kernel.py`."""
    outcome[0] = uniform(stream) < 0.5 + memory[choice]
    for k in range(design.size):
        place = memory[k] + design[k] * standard_normal(stream)
        place = 1.0 - place if place > 0.5 else -1.0 - place if place < -0.5 else place
        memory[k] = min(max(place, -0.5), 0.5)


class WanderingArms(WinsAndLosses):
    """An arm pays with the probability to which it has wandered; where that is, nobody is told."""

    compiled: ClassVar[Any] = pays

    def __init__(self, task: Any, designs: Floats, rng: np.random.Generator) -> None:
        super().__init__(task, designs, rng)
        self.state["chance"] = np.full((len(designs), designs.shape[2]), 0.5)

    def chance(self, choice: NDArray[Any]) -> Floats:
        return np.asarray(self.state["chance"][np.arange(len(self.designs)), choice])

    def learn(self, responses: Values, outcomes: Values) -> None:
        chance = self.state["chance"]
        place = chance + self.designs[:, self.block] * self.rng.standard_normal(chance.shape)
        place = np.where(place > 1.0, 2.0 - place, np.abs(place))
        last = self.trial + 1 >= self.lengths[:, self.block]
        self.state["chance"] = np.where(last[:, None], 0.5, np.clip(place, 0.0, 1.0))


@dataclass(frozen=True)
class RestlessBandit(Bandit):
    """A bandit with Bernoulli rewards whose probabilities wander."""

    name: ClassVar[str] = "restless-bandit"
    rules: ClassVar[type[Environment]] = WanderingArms
    design_label: ClassVar[str] = "size of the steps of a reward probability"
    highest: ClassVar[float] = 0.3

    def baseline(self, n: int, rng: np.random.Generator) -> Floats:
        """The same steps for all arms, of about the size that is customary: 0.028 in Daw et al. (2006), here up to 0.1."""
        return np.broadcast_to(rng.uniform(0.02, 0.1, (n, 1, 1)), (n, *self.design_space.shape)).copy()
