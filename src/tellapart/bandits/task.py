"""What all bandits share: K arms, a choice in each trial, and what it pays.

A bandit differs from the next in its design and its rules: one file for each. The design acts on behavior only through the rewards,
which are recorded, so that p(v | y, d) = p(v | y).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from ..behavior import Behavior, Field
from ..tasks.base import Task, check_counts
from ..tasks.screen import Screen


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
    reward: ClassVar[Field] = Field("reward", "binary", by="task", labels=("loss", "win"))

    def __post_init__(self) -> None:
        check_counts("a bandit", {"arms": 2, "blocks": 1, "trials": 1}, vars(self))

    @property
    def fields(self) -> tuple[Field, ...]:
        return Field("choice", "categorical", self.arms), self.reward

    @property
    def screen(self) -> Screen:
        """Arms that look alike, in an order of their own for each participant and block."""
        return Screen("bandit", shuffled=True)

    def history(self, behavior: Behavior) -> NDArray[np.float32]:
        """Arms, what they paid and the previous choice at each trial; see `history.py`."""
        from .history import bandit_history

        return bandit_history(behavior, self.arms, self.reward.kind == "binary")
