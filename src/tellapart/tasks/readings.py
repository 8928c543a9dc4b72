"""Noisy readings of a hidden number: the smallest task with a known answer, ground truth for every estimator.

A participant's answers in block b are y = d_b theta + noise. The design d_b is how strongly the hidden theta shows. It acts
on behavior directly, not through anything recorded, so that estimators have to see it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ..behavior import Field
from .base import Task, check_counts
from .sampling import sample
from .space import DesignSpace, Floats, Symmetry, Variable


@dataclass(frozen=True)
class NoisyReadings(Task):
    """Noisy readings of a hidden number.

    Arguments:
        blocks: B, how many signal strengths there are.
        trials: T, readings in each block.
    """

    blocks: int = 1
    trials: int = 1

    name: ClassVar[str] = "noisy-readings"

    def __post_init__(self) -> None:
        check_counts("the readings", {"blocks": 1, "trials": 1}, vars(self))

    @property
    def fields(self) -> tuple[Field, ...]:
        return (Field("reading", "real"),)

    @property
    def design_space(self) -> DesignSpace:
        return DesignSpace(self.blocks, (Variable("signal", 0.0, 3.0),), Symmetry(blocks=True))

    def baseline(self, n: int, rng: np.random.Generator) -> Floats:
        """Signals anywhere."""
        return sample(self.design_space, n, rng)
