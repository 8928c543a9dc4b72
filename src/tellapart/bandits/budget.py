"""The bandit on a budget: a fixed number of trials, to be shared out among blocks.

The design of a block is the probability that each arm pays, and how many trials it has; over all blocks they sum to the budget. Blocks are
exchangeable.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from ..errors import StudyError
from ..tasks.base import check_counts
from ..tasks.constraints import fixed_total
from ..tasks.environment import Environment
from ..tasks.space import DesignSpace, Floats, Symmetry, Variable
from .bernoulli import BernoulliArms
from .task import Bandit


@dataclass(frozen=True)
class BudgetBandit(Bandit):
    """A bandit with Bernoulli rewards and as many trials in each block as the design says.

    Arguments:
        trials: The trials of the longest block that can be asked for.
        total: The trials of all blocks together.
        shortest: The trials of the shortest block that can be asked for.
    """

    trials: int = 59
    total: int = 60
    shortest: int = 1

    name: ClassVar[str] = "budget-bandit"
    rules: ClassVar[type[Environment]] = BernoulliArms
    design_label: ClassVar[str] = "reward probability, and number of trials"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_counts("a bandit", {"shortest": 1, "total": self.blocks * self.shortest}, vars(self))
        if not self.shortest < self.trials or self.total > self.blocks * self.trials:
            expected, got = f"{self.shortest} < trials, and total at most blocks · trials", f"trials {self.trials}, total {self.total}"
            raise StudyError("The trials of a bandit cannot be shared out.", expected=expected, got=got, key="trials")

    @property
    def design_space(self) -> DesignSpace:
        variables = (*self.arm_variables, Variable("trials", self.shortest, self.trials, "integer"))
        return DesignSpace(self.blocks, variables, Symmetry(blocks=True), (fixed_total(variables, "trials", self.blocks, self.total),))

    def lengths(self, designs: Floats) -> NDArray[np.intp]:
        return np.round(designs[..., -1]).astype(np.intp)

    def baseline(self, n: int, rng: np.random.Generator) -> Floats:
        """Every reward probability from Beta(2, 2), and blocks of the same length."""
        chances, lengths = rng.beta(2.0, 2.0, (n, self.blocks, self.arms)), np.full((n, self.blocks, 1), self.total / self.blocks)
        return self.design_space.repair(np.concatenate([chances, lengths], -1))
