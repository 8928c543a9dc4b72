"""What all compiled models of bandits with wins and losses share.

A bandit model is a file with a dataclass: its parameters with priors, and compiled functions `choose` and `describe`.
"""

from __future__ import annotations

from functools import cache
from typing import Any, ClassVar, Literal

import numpy as np

from ..behavior import Behavior
from ..errors import ModelError, nearest
from ..models.base import Floats, IntegratedModel, Parameters
from ..models.kernel import theta_of
from ..priors import Prior
from ..tasks.base import Task
from .compiled import Descriptions, replay, simulate
from .task import Bandit

Convention = Literal["paper", "released"]
CONVENTIONS = ("paper", "released")


class BanditModel(IntegratedModel):
    """A model of a bandit with wins and losses, with a compiled simulator and replay."""

    resets: ClassVar[bool] = True
    _choose: ClassVar[Any]
    _describe: ClassVar[Any]

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

    def simulate(self, parameters: Parameters, designs: Floats, rng: np.random.Generator, task: Task) -> Behavior:
        bandit, theta = check_bandit(task, self.name), theta_of(self, parameters, len(designs))
        self._check_range(theta)
        return simulate(type(self)._choose, theta, designs, bandit, self.released, rng)

    def _check_range(self, theta: Floats) -> None:
        """Raise a `ModelError` if parameters (N, P) are none that the model can use, as other priors than its own may have it."""
        for p, (name, prior) in enumerate(self.parameters.items()):
            low, high = _bounds(prior)
            outside = theta[~((low <= theta[:, p]) & (theta[:, p] <= high)), p]
            if len(outside):
                what, fix = f"The '{name}' of '{self.name}' cannot be what its prior allows.", "give it a prior within these bounds"
                raise ModelError(what, expected=f"{low:g} to {high:g}", got=f"{outside[0]:.6g}", fix=fix, key=f"priors.{name}")

    def _described(self, behavior: Behavior, task: Task) -> tuple[Descriptions, int]:
        """What `describe` says of each choice, (N, B, T, 2 K), and K."""
        arms = check_bandit(task, self.name).arms
        return replay(type(self)._describe, task.check(behavior), arms, self.released), arms


def check_bandit(task: Any, model: str) -> Bandit:
    """`task`, or a `ModelError` if it is no bandit with wins and losses and compiled rules."""
    if not isinstance(task, Bandit) or task.reward.kind != "binary" or task.rules.compiled is None:
        got = f"the task '{getattr(task, 'name', task)}'"
        what, expected = f"The model '{model}' plays bandits with wins and losses only.", "for example the task 'bernoulli-bandit'"
        raise ModelError(what, expected=expected, got=got, fix="choose that task, or models that play every bandit: 'q-learning', …")
    return task


@cache
def _bounds(prior: Prior) -> tuple[float, float]:
    """The smallest and the largest value that a prior allows; simulators ask at every step of training."""
    low, high = prior.quantile([0.0, 1.0])
    return float(low), float(high)
