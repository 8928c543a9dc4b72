"""The Bernoulli bandit: choose among arms, win or lose.

K arms, B blocks of T trials. The design d[b, k] is the probability that arm k of block b pays. It acts on behavior only
through the rewards, which are recorded, so that p(v | y, d) = p(v | y). Arms are exchangeable within a block, and blocks
are exchangeable: a design has up to (K!)^B B! equivalents.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from ..behavior import Behavior, Field
from ..errors import StudyError
from .base import DesignSpace, Symmetry, Task


@dataclass(frozen=True)
class BernoulliBandit(Task):
    """A bandit with Bernoulli rewards.

    Arguments:
        arms: K, at least 2.
        blocks: B, how many bandits a participant plays; memory is reset between them.
        trials: T, choices a block.
    """

    arms: int = 3
    blocks: int = 2
    trials: int = 30

    name: ClassVar[str] = "bernoulli-bandit"
    design_acts_through_data: ClassVar[bool] = True
    design_label: ClassVar[str] = "reward probability"

    def __post_init__(self) -> None:
        for setting, least in (("arms", 2), ("blocks", 1), ("trials", 1)):
            value = getattr(self, setting)
            if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < least:
                raise StudyError(f"The '{setting}' of a bandit must be a whole number.", expected=f"{least} or more", got=repr(value))

    @property
    def fields(self) -> tuple[Field, ...]:
        return Field("choice", "categorical", self.arms), Field("reward", "binary")

    @property
    def design_space(self) -> DesignSpace:
        names = tuple(f"arm {k}" for k in range(self.arms))
        return DesignSpace(self.blocks, names, (0.0,) * self.arms, (1.0,) * self.arms, Symmetry(columns=True, blocks=True))

    def baseline(self, n: int, rng: np.random.Generator) -> NDArray[np.float64]:
        """Every reward probability from Beta(2, 2), as in Steyvers, Lee & Wagenmakers (2009)."""
        return rng.beta(2.0, 2.0, (n, *self.design_space.shape))

    def history(self, behavior: Behavior) -> NDArray[np.float32]:
        """Arms, wins, losses and the previous choice at each trial; see `tasks/history.py`."""
        from .history import bandit_history

        return bandit_history(behavior, self.arms)
