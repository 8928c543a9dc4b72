"""What all bandits share: K arms, a choice in each trial, and what it pays.

A bandit differs from the next in its design and its rules: one file for each. The design acts on behavior only through the rewards,
which are recorded, so that p(v | y, d) = p(v | y).
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ..behavior import Behavior, Field
from ..tasks.base import Task, check_counts
from ..tasks.environment import Environment, Values
from ..tasks.screen import Screen
from ..tasks.space import DesignSpace, Floats, Symmetry, Variable
from .history import bandit_history, bandit_options


class WinsAndLosses(Environment):
    """Rules by which the chosen arm pays 1 with some probability, else 0."""

    @abstractmethod
    def chance(self, choice: NDArray[Any]) -> Floats:
        """With which probability the chosen arms (N,) pay at the present trial, (N,)."""

    def draw(self, responses: Values) -> dict[str, NDArray[Any]]:
        chance = self.chance(responses["choice"])
        return {"reward": (self.rng.random(len(chance)) < chance).astype(np.int8)}


@dataclass(frozen=True)
class Bandit(Task):
    """A bandit with any rules.

    Arguments:
        arms: K, at least 2.
        blocks: B, how many bandits a participant plays.
        trials: T, choices in each block.
    """

    arms: int = 3
    blocks: int = 2
    trials: int = 30

    design_acts_through_data: ClassVar[bool] = True
    highest: ClassVar[float] = 1.0
    """The largest value of an arm in a design."""
    reward: ClassVar[Field] = Field("reward", "binary", by="task", labels=("loss", "win"))

    def __post_init__(self) -> None:
        check_counts("a bandit", {"arms": 2, "blocks": 1, "trials": 1}, vars(self))

    @property
    def fields(self) -> tuple[Field, ...]:
        return Field("choice", "categorical", self.arms), self.reward

    @property
    def design_space(self) -> DesignSpace:
        """One variable for each arm; arms and blocks are exchangeable. A bandit with other variables declares its own."""
        return DesignSpace(self.blocks, self.arm_variables, Symmetry(columns=True, blocks=True))

    @property
    def arm_variables(self) -> tuple[Variable, ...]:
        return tuple(Variable(f"arm {k}", 0.0, self.highest) for k in range(self.arms))

    @property
    def screen(self) -> Screen:
        """Arms that look alike, in an order of their own for each participant and block."""
        return Screen("bandit", shuffled=True)

    def history(self, behavior: Behavior) -> NDArray[np.float32]:
        """Arms, what they paid and the previous choice at each trial; see `history.py`."""
        return bandit_history(behavior, self.arms, self.reward.kind == "binary")

    def options(self, behavior: Behavior) -> NDArray[np.float32]:
        """What could be known of each arm before every trial; see `history.py`."""
        return bandit_options(behavior, self.arms, self.reward.kind == "binary")
