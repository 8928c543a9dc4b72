"""The Bernoulli bandit: choose among arms, win or lose.

K arms, B blocks of T trials. The design d[b, k] is the probability that arm k of block b pays. It acts on behavior only
through the rewards, which are recorded, so that p(v | y, d) = p(v | y). Arms are exchangeable within a block, and blocks
are exchangeable: a design has up to (K!)^B B! equivalents.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ..behavior import Behavior, Field
from ..tasks.base import Task, check_counts
from ..tasks.environment import Environment, Values
from ..tasks.screen import Screen
from ..tasks.space import DesignSpace, Floats, Symmetry, Variable


class BernoulliArms(Environment):
    """An arm pays 1 with its probability, else 0."""

    def draw(self, responses: Values) -> dict[str, NDArray[Any]]:
        chance = self.designs[np.arange(len(self.designs)), self.block, responses["choice"]]
        return {"reward": (self.rng.random(len(chance)) < chance).astype(np.int8)}


@dataclass(frozen=True)
class BernoulliBandit(Task):
    """A bandit with Bernoulli rewards.

    Arguments:
        arms: K, at least 2.
        blocks: B, how many bandits a participant plays; memory is reset between them.
        trials: T, choices in each block.
    """

    arms: int = 3
    blocks: int = 2
    trials: int = 30

    name: ClassVar[str] = "bernoulli-bandit"
    rules: ClassVar[type[Environment]] = BernoulliArms
    design_acts_through_data: ClassVar[bool] = True
    design_label: ClassVar[str] = "reward probability"

    def __post_init__(self) -> None:
        check_counts("a bandit", {"arms": 2, "blocks": 1, "trials": 1}, vars(self))

    @property
    def fields(self) -> tuple[Field, ...]:
        return Field("choice", "categorical", self.arms), Field("reward", "binary", by="task", labels=("loss", "win"))

    @property
    def design_space(self) -> DesignSpace:
        return DesignSpace(self.blocks, tuple(Variable(f"arm {k}") for k in range(self.arms)), Symmetry(columns=True, blocks=True))

    def baseline(self, n: int, rng: np.random.Generator) -> Floats:
        """Every reward probability from Beta(2, 2), as in Steyvers, Lee & Wagenmakers (2009)."""
        return rng.beta(2.0, 2.0, (n, *self.design_space.shape))

    @property
    def screen(self) -> Screen:
        """Arms that look alike, in an order of their own for each participant and block."""
        return Screen("bandit", shuffled=True)

    def history(self, behavior: Behavior) -> NDArray[np.float32]:
        """Arms, wins, losses and the previous choice at each trial; see `history.py`."""
        from .history import bandit_history

        return bandit_history(behavior, self.arms)
