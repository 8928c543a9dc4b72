"""Noisy readings of a hidden number: the smallest task with a known answer, ground truth for every estimator.

A participant's answers in block b are y = d_b theta + noise. The design d_b is how strongly the hidden theta shows. It acts
on behavior directly, not through anything recorded, so that estimators have to see it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ..behavior import Field
from ..errors import StudyError
from .base import DesignSpace, Floats, Symmetry, Task


@dataclass(frozen=True)
class NoisyReadings(Task):
    """Noisy readings of a hidden number.

    Arguments:
        blocks: B, how many signal strengths there are.
        trials: T, readings a block.
    """

    blocks: int = 1
    trials: int = 1

    name: ClassVar[str] = "noisy-readings"
    design_acts_through_data: ClassVar[bool] = False

    def __post_init__(self) -> None:
        for setting in ("blocks", "trials"):
            value = getattr(self, setting)
            if isinstance(value, bool) or not isinstance(value, int) or value < 1:
                raise StudyError(f"The '{setting}' of the readings must be a whole number.", expected="1 or more", got=repr(value))

    @property
    def fields(self) -> tuple[Field, ...]:
        return (Field("reading", "real"),)

    @property
    def design_space(self) -> DesignSpace:
        return DesignSpace(self.blocks, ("signal",), (0.0,), (3.0,), Symmetry(blocks=True))

    def baseline(self, n: int, rng: np.random.Generator) -> Floats:
        """Signals anywhere."""
        return self.design_space.sample(n, rng)
