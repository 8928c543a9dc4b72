"""The reversal bandit: at some trial of a block, the arms exchange their reward probabilities.

The design of a block is the probability that each arm pays, and the trial from which on arm k pays as arm K - 1 - k did before. With a
reversal at trial T, which is never reached, it is the Bernoulli bandit. Blocks are exchangeable; arms are not, since it
matters which is exchanged with which.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numba as nb
import numpy as np
from numpy.typing import NDArray

from ..models.streams import uniform
from ..tasks.environment import Environment
from ..tasks.space import DesignSpace, Floats, Symmetry, Variable
from .task import Bandit, WinsAndLosses


@nb.njit(cache=True, forceinline=True)
def pays(design: Any, trial: Any, choice: Any, numbers: Any, memory: Any, stream: Any, outcome: Any) -> None:
    """An arm pays with its probability, from the reversal on with that of its counterpart; see `models/kernel.py`."""
    arms = design.size - 1
    outcome[0] = uniform(stream) < design[choice if trial < design[arms] else arms - 1 - choice]


class ReversedArms(WinsAndLosses):
    """An arm pays with its probability, from the reversal on with that of its counterpart."""

    compiled: ClassVar[Any] = pays

    def chance(self, choice: NDArray[Any]) -> Floats:
        rows = self.designs[:, self.block]
        arms = rows.shape[1] - 1
        return rows[np.arange(len(rows)), np.where(self.trial < rows[:, arms], choice, arms - 1 - choice)]


@dataclass(frozen=True)
class ReversalBandit(Bandit):
    """A bandit with Bernoulli rewards whose arms change places within a block."""

    name: ClassVar[str] = "reversal-bandit"
    rules: ClassVar[type[Environment]] = ReversedArms
    design_label: ClassVar[str] = "reward probability, and trial of reversal"

    @property
    def design_space(self) -> DesignSpace:
        variables = (*self.arm_variables, Variable("reversal", 0, self.trials, "integer"))
        return DesignSpace(self.blocks, variables, Symmetry(blocks=True))

    def baseline(self, n: int, rng: np.random.Generator) -> Floats:
        """What is customary: one good arm (0.8) among bad ones (0.2), and a reversal halfway."""
        designs = np.full((n, *self.design_space.shape), 0.2)
        good = rng.integers(0, 2, (n, self.blocks)) * (self.arms - 1)
        np.put_along_axis(designs, good[..., None], 0.8, -1)
        designs[..., -1] = np.round(self.trials * rng.uniform(0.4, 0.6, (n, self.blocks)))
        return designs
