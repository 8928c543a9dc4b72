"""The Gaussian bandit: choose among arms, each of which pays a number around a mean of its own.

The design d[b, k] is the mean of arm k in block b, from 0 to 1; rewards are d[b, k] + noise · N(0, 1), and so may lie outside.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numba as nb
import numpy as np
from numpy.typing import NDArray

from ..behavior import Field
from ..errors import StudyError
from ..models.streams import standard_normal
from ..tasks.environment import Environment, Values
from ..tasks.space import Floats
from .task import Bandit

NOISE = 4
"""The place of `noise` among the numbers of the task, behind K, arms, blocks and trials."""


@nb.njit(cache=True, forceinline=True)
def pays(design: Any, trial: Any, choice: Any, numbers: Any, memory: Any, stream: Any, outcome: Any) -> None:
    """An arm pays a normal number around its mean; see `models/kernel.py`."""
    outcome[0] = design[choice] + numbers[NOISE] * standard_normal(stream)


class GaussianArms(Environment):
    """An arm pays a normal number around its mean."""

    task: GaussianBandit
    compiled: ClassVar[Any] = pays

    def draw(self, responses: Values) -> dict[str, NDArray[Any]]:
        mean = self.designs[np.arange(len(self.designs)), self.block, responses["choice"]]
        return {"reward": mean + self.task.noise * self.rng.standard_normal(len(mean))}


@dataclass(frozen=True)
class GaussianBandit(Bandit):
    """A bandit with Gaussian rewards.

    Arguments:
        noise: The standard deviation of a reward around the mean of its arm.
    """

    noise: float = 0.25

    name: ClassVar[str] = "gaussian-bandit"
    rules: ClassVar[type[Environment]] = GaussianArms
    design_label: ClassVar[str] = "mean reward"
    reward: ClassVar[Field] = Field("reward", "real", by="task")

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 < self.noise < np.inf:
            raise StudyError("The 'noise' of a bandit must be a number above 0.", got=self.noise, key="noise")

    def baseline(self, n: int, rng: np.random.Generator) -> Floats:
        """Every mean from a normal distribution, as in Gershman (2018): here around 1/2 with standard deviation 1/4, within 0 to 1."""
        return np.clip(rng.normal(0.5, 0.25, (n, *self.design_space.shape)), 0.0, 1.0)
