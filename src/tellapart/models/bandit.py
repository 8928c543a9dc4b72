"""What all models of the Bernoulli bandit share.

A bandit model is a file with a dataclass: its parameters with priors, and a compiled `choose` function.
"""

from __future__ import annotations

from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike

from ..behavior import Behavior
from ..errors import ModelError, nearest
from ..tasks.bandit import BernoulliBandit
from ..tasks.base import Task
from .base import Floats, Model, Parameters
from .compiled import Simulator

Convention = Literal["paper", "released"]
CONVENTIONS = ("paper", "released")


def check_convention(model: str, convention: str) -> None:
    """Raise a `ModelError` if `convention` is not known."""
    if convention not in CONVENTIONS:
        raise ModelError(
            f"The 'convention' of '{model}' is unknown.",
            expected=" or ".join(f'"{c}"' for c in CONVENTIONS),
            got=repr(convention),
            fix=nearest(convention, CONVENTIONS),
        )


class BanditModel(Model):
    """A model of the Bernoulli bandit with a compiled simulator."""

    _simulators: ClassVar[dict[str, Simulator]]
    """The compiled simulator of each convention that the model knows."""

    convention: Convention = "paper"

    def simulate(
        self, parameters: Parameters, design: ArrayLike, rng: np.random.Generator, task: Task, threads: int | None = None
    ) -> Behavior:
        bandit = check_bandit(task, self.name)
        values = self.check_parameters(parameters)
        theta = self._theta(values)
        designs = bandit.design_space.check_many(design, len(theta))
        choices, rewards = self._simulators[self.convention](theta, designs, bandit.trials, rng, threads)
        return Behavior({"choice": choices, "reward": rewards})

    def _recorded(self, parameters: Parameters, behavior: Behavior, task: Task) -> tuple[dict[str, Floats], int]:
        """Checked parameters, one set a participant, and the number of arms of a checked task and behavior."""
        values = self.check_parameters(parameters)
        arms = self._arms(behavior, task)
        n = len(next(iter(values.values())))
        if n != len(behavior):
            raise ModelError(
                f"'{self.name}' needs one set of parameters a participant.", expected=f"{len(behavior)} values each", got=f"{n}"
            )
        return values, arms

    def _arms(self, behavior: Behavior, task: Task) -> int:
        """K, once the task is known to be a bandit and the behavior to be its data."""
        bandit = check_bandit(task, self.name)
        bandit.check(behavior)
        return bandit.arms

    def _theta(self, values: Parameters) -> Floats:
        """Parameters as an array (N, P), in the order of `parameters`."""
        return np.stack([values[name] for name in self.parameters], axis=-1)


def check_bandit(task: Any, model: str) -> BernoulliBandit:
    """`task`, or a `ModelError` if it is no bandit."""
    if not isinstance(task, BernoulliBandit):
        raise ModelError(
            f"The model '{model}' plays bandits only.",
            expected="the task 'bernoulli-bandit'",
            got=f"the task '{getattr(task, 'name', task)}'",
        )
    return task
