"""Encoders: learned summaries of behavior.

An encoder maps the behavior of N participants to summary statistics (N, S). `prepare` is the one place at which NumPy
becomes torch: it turns recorded fields into inputs (N, B, T, F) once; `forward` is the network that is trained.

Three of them, from the published one to the one that knows most:

    BlockEncoder     the paper's: one small network for each block of raw data.
    SequenceEncoder  needs nothing but the types of the fields: a recurrent network over trials, summed over trials.
    HistoryEncoder   needs a task that describes each trial in the light of what came before.

The last two sum over trials and blocks, as log likelihoods do. So they take any number of trials and blocks, missed
trials and unfinished experiments, with one set of weights.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional as F

from ..behavior import Behavior, Field
from ..tasks.base import Task


class Encoder(nn.Module, ABC):
    """Behavior to summary statistics.

    Arguments:
        task: What is recorded.
        summaries: S, the number of summary statistics.
    """

    def __init__(self, task: Task, summaries: int) -> None:
        super().__init__()
        self.task, self.summaries = task, summaries

    @abstractmethod
    def prepare(self, behavior: Behavior, designs: NDArray[np.float64]) -> Tensor:
        """Inputs of the network, (N, B, T, F). The last of the F features is 1 for a recorded trial and 0 otherwise.

        Arguments:
            designs: (N, B, V); used where the task says that designs act on behavior directly.
        """

    @abstractmethod
    def forward(self, inputs: Tensor) -> Tensor:
        """Summary statistics (N, S) of prepared inputs."""

    def with_design(self, features: NDArray[np.float32], mask: NDArray[np.bool_], designs: NDArray[np.float64]) -> Tensor:
        """Features, then each block's design scaled to [-1, 1] if the estimator must see it, then the mask."""
        parts = [features]
        if not self.task.design_acts_through_data:
            space = self.task.design_space
            low, high = np.array(space.low), np.array(space.high)
            scaled = (2.0 * (designs - low) / (high - low) - 1.0).astype(np.float32)[:, : mask.shape[1], None, :]
            parts.append(np.broadcast_to(scaled, (*mask.shape, scaled.shape[-1])))
        parts.append(mask[..., None].astype(np.float32))
        return torch.from_numpy(np.concatenate(parts, axis=-1))

    @property
    def extra(self) -> int:
        """How many features `with_design` adds."""
        return 1 + (0 if self.task.design_acts_through_data else len(self.task.design_space.variables))


def field_features(values: NDArray[np.generic], field: Field, *, one_hot: bool) -> NDArray[np.float32]:
    """A field as network inputs (..., F): categories one-hot or as they are, counts and positive numbers on a log scale."""
    if field.kind == "categorical" and one_hot:
        return np.eye(field.levels or 1, dtype=np.float32)[values.astype(np.intp)]
    numbers = values.astype(np.float32)
    if field.kind == "count":
        numbers = np.log1p(numbers)
    if field.kind == "positive":
        numbers = np.log(np.maximum(numbers, np.float32(1e-6)))
    return numbers[..., None]


class BlockEncoder(Encoder):
    """The paper's sub-networks: one for each block, fully connected over the block's raw data, summaries concatenated.

    Arguments:
        summaries: Summary statistics *a block*.
        hidden: Units of the hidden layers.
        one_hot: Categories as one-hot vectors; the paper feeds the numbers themselves.
    """

    def __init__(self, task: Task, summaries: int = 6, hidden: tuple[int, ...] = (64, 32), one_hot: bool = False) -> None:
        super().__init__(task, summaries * task.blocks)
        self.one_hot = one_hot
        widths = [sum(f.levels or 1 if one_hot and f.kind == "categorical" else 1 for f in task.fields) + self.extra]
        widths = [widths[0] * task.trials, *hidden, summaries]
        self.layers = nn.ModuleList(BlockLinear(task.blocks, a, b) for a, b in zip(widths[:-1], widths[1:], strict=True))

    def prepare(self, behavior: Behavior, designs: NDArray[np.float64]) -> Tensor:
        features = [field_features(behavior.fields[f.name], f, one_hot=self.one_hot) for f in self.task.fields]
        inputs = self.with_design(np.concatenate(features, axis=-1), behavior.mask, designs)
        n, blocks, trials, width = inputs.shape
        return F.pad(inputs, (0, 0, 0, self.task.trials - trials, 0, self.task.blocks - blocks))

    def forward(self, inputs: Tensor) -> Tensor:
        hidden = inputs.flatten(2).transpose(0, 1)
        for layer in self.layers[:-1]:
            hidden = torch.relu(layer(hidden))
        return self.layers[-1](hidden).transpose(0, 1).flatten(1)


class BlockLinear(nn.Module):
    """A linear layer for each block, (B, N, a) to (B, N, b), in one matrix product."""

    def __init__(self, blocks: int, a: int, b: int) -> None:
        super().__init__()
        bound = a**-0.5
        self.weight = nn.Parameter(torch.empty(blocks, a, b).uniform_(-bound, bound))
        self.bias = nn.Parameter(torch.empty(blocks, 1, b).uniform_(-bound, bound))

    def forward(self, inputs: Tensor) -> Tensor:
        return torch.baddbmm(self.bias, inputs, self.weight)
