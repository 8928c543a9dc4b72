"""A trained encoder that another network reads: what it pooled is weighed anew, and nothing else is trained.

What an encoder looks for in trials to tell models apart serves to tell parameters too, if it is read before its last layer chooses among
it. To learn that layer and what follows it costs a fraction of learning to look: no gradient goes through the trials.
"""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ..behavior import Behavior
from .base import Encoder


class FrozenEncoder(Encoder):
    """What a trained encoder pools, with a last layer of its own, which begins as the trained one's.

    Arguments:
        trained: The encoder; a copy of it is kept, which is not trained.
    """

    def __init__(self, trained: Encoder) -> None:
        super().__init__(trained.task, len(trained.centre), trained.summaries)
        self.trained = copy.deepcopy(trained).requires_grad_(False)
        self.last = trained.last_layer().requires_grad_(True)
        self.name, self.any_length, self.sources = trained.name, trained.any_length, trained.sources  # type: ignore[misc]

    def features(self, behavior: Behavior) -> NDArray[np.floating[Any]]:
        return self.trained.features(behavior)

    @torch.no_grad()
    def prepare(self, behavior: Behavior, designs: NDArray[np.float64]) -> Tensor:
        """What the trained encoder pools, (N, R)."""
        return self.trained.pooled(self.trained.prepare(behavior, designs).to(self.trained.centre.device))

    def forward(self, inputs: Tensor) -> Tensor:
        summaries: Tensor = self.last(inputs)
        return summaries
