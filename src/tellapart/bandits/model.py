"""What all compiled models of the Bernoulli bandit share.

A bandit model is a file with a dataclass: its parameters with priors, and compiled functions `choose` and `describe`.
"""

from __future__ import annotations

from typing import Any, ClassVar, Literal

import numpy as np

from ..behavior import Behavior
from ..errors import ModelError, nearest
from ..models.base import Floats, IntegratedModel, Parameters
from ..tasks.base import Task
from .bernoulli import BernoulliBandit
from .compiled import Simulator
from .replay import Descriptions, Replay

Convention = Literal["paper", "released"]
CONVENTIONS = ("paper", "released")


class BanditModel(IntegratedModel):
    """A model of the Bernoulli bandit with a compiled simulator and replay."""

    _simulator: ClassVar[Simulator]
    _replay: ClassVar[Replay]

    convention: Convention = "paper"

    def __post_init__(self) -> None:
        if self.convention not in CONVENTIONS:
            raise ModelError(
                f"The 'convention' of '{self.name}' is unknown.",
                expected=" or ".join(f'"{convention}"' for convention in CONVENTIONS),
                got=repr(self.convention),
                fix=nearest(self.convention, CONVENTIONS),
                key="convention",
            )

    @property
    def released(self) -> bool:
        """Is the convention "released"?"""
        return self.convention == "released"

    def simulate(
        self, parameters: Parameters, designs: Floats, rng: np.random.Generator, task: Task, threads: int | None = None
    ) -> Behavior:
        bandit, theta = check_bandit(task, self.name), self._theta(parameters, len(designs))
        choices, rewards = self._simulator(theta, designs, bandit.trials, self.released, rng, threads)
        return Behavior({"choice": choices, "reward": rewards})

    def _theta(self, parameters: Parameters, n: int) -> Floats:
        """Parameters of `n` participants as an array (n, P)."""
        values = self.check_parameters(parameters)
        theta = np.stack(list(values.values()), axis=-1)
        if len(theta) != n:
            raise ModelError(
                f"'{self.name}' needs one set of parameters for each participant.", expected=f"{n} values each", got=f"{len(theta)}"
            )
        return theta

    def _described(self, behavior: Behavior, task: Task) -> tuple[Descriptions, int]:
        """What `describe` says of each choice, (N, B, T, 2 K), and K."""
        arms = check_bandit(task, self.name).arms
        return self._replay(task.check(behavior), arms, self.released), arms


def check_bandit(task: Any, model: str) -> BernoulliBandit:
    """`task`, or a `ModelError` if it is no bandit."""
    if not isinstance(task, BernoulliBandit):
        got = f"the task '{getattr(task, 'name', task)}'"
        raise ModelError(f"The model '{model}' plays bandits only.", expected="the task 'bernoulli-bandit'", got=got)
    return task
