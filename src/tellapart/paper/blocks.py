"""The paper's encoder: one small network for each block of raw data."""

from __future__ import annotations

from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional as F

from ..behavior import Behavior
from ..networks.base import Encoder, recorded
from ..tasks.base import Task


class BlockEncoder(Encoder):
    """The paper's sub-networks: one for each block, fully connected over the block's raw data, summaries concatenated.

    Arguments:
        summaries: Summary statistics *a block*.
        hidden: Units of the hidden layers.
        one_hot: Categories as one-hot vectors; the paper feeds the numbers themselves.
        masked: Show which trials were recorded; the paper's data are complete, so that it has no need to.
    """

    name: ClassVar[str] = "blocks"
    any_length: ClassVar[bool] = False

    def __init__(
        self, task: Task, summaries: int = 6, hidden: tuple[int, ...] = (64, 32), one_hot: bool = False, masked: bool = True
    ) -> None:
        count = recorded(task, task.nothing(0), one_hot=one_hot).shape[-1]
        super().__init__(task, count, summaries * task.blocks)
        self.one_hot, self.masked = one_hot, masked
        widths = [(count + self.extra - (not masked)) * task.trials, *hidden, summaries]
        self.layers = nn.ModuleList(BlockLinear(task.blocks, a, b) for a, b in pairwise(widths))

    def features(self, behavior: Behavior) -> NDArray[np.floating[Any]]:
        return recorded(self.task, behavior, one_hot=self.one_hot)

    def forward(self, inputs: Tensor) -> Tensor:
        _, blocks, trials, _ = inputs.shape
        inputs = inputs if self.masked else inputs[..., :-1]
        if (blocks, trials) != (self.task.blocks, self.task.trials):
            inputs = F.pad(inputs, (0, 0, 0, self.task.trials - trials, 0, self.task.blocks - blocks))
        hidden = inputs.flatten(2).transpose(0, 1)
        for layer in self.layers[:-1]:
            hidden = torch.relu(layer(hidden))
        summaries: Tensor = self.layers[-1](hidden)
        return summaries.transpose(0, 1).flatten(1)


class BlockLinear(nn.Module):
    """A linear layer for each block, (B, N, a) to (B, N, b), in one matrix product."""

    def __init__(self, blocks: int, a: int, b: int) -> None:
        super().__init__()
        bound = a**-0.5
        self.weight = nn.Parameter(torch.empty(blocks, a, b).uniform_(-bound, bound))
        self.bias = nn.Parameter(torch.empty(blocks, 1, b).uniform_(-bound, bound))

    def forward(self, inputs: Tensor) -> Tensor:
        return torch.baddbmm(self.bias, inputs, self.weight)
