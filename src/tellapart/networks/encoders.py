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
from itertools import pairwise
from typing import ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional as F

from ..behavior import Behavior, Field
from ..errors import StudyError
from ..tasks.base import Task


class Encoder(nn.Module, ABC):
    """Behavior to summary statistics.

    Arguments:
        task: What is recorded.
        summaries: S, the number of summary statistics.
    """

    any_length: ClassVar[bool] = True
    """Does it take experiments with fewer trials and blocks than the task has?"""

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
            scaled = self.task.design_space.describe(designs)[:, : mask.shape[1], None, :]
            parts.append(np.broadcast_to(scaled, (*mask.shape, scaled.shape[-1])))
        parts.append(mask[..., None].astype(np.float32))
        return torch.from_numpy(np.concatenate(parts, axis=-1))

    @property
    def extra(self) -> int:
        """How many features `with_design` adds."""
        return 1 + (0 if self.task.design_acts_through_data else self.task.design_space.features)


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
        masked: Show which trials were recorded; the paper's data are complete, so that it has no need to.
    """

    any_length: ClassVar[bool] = False

    def __init__(
        self, task: Task, summaries: int = 6, hidden: tuple[int, ...] = (64, 32), one_hot: bool = False, masked: bool = True
    ) -> None:
        super().__init__(task, summaries * task.blocks)
        self.one_hot, self.masked = one_hot, masked
        widths = [sum(f.levels or 1 if one_hot and f.kind == "categorical" else 1 for f in task.fields) + self.extra - (not masked)]
        widths = [widths[0] * task.trials, *hidden, summaries]
        self.layers = nn.ModuleList(BlockLinear(task.blocks, a, b) for a, b in pairwise(widths))

    def prepare(self, behavior: Behavior, designs: NDArray[np.float64]) -> Tensor:
        features = [field_features(behavior.fields[f.name], f, one_hot=self.one_hot) for f in self.task.fields]
        inputs = self.with_design(np.concatenate(features, axis=-1), behavior.mask, designs)
        _, blocks, trials, _ = inputs.shape
        inputs = F.pad(inputs, (0, 0, 0, self.task.trials - trials, 0, self.task.blocks - blocks))
        return inputs if self.masked else inputs[..., :-1].contiguous()

    def forward(self, inputs: Tensor) -> Tensor:
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


class PooledEncoder(Encoder):
    """Trials are described one by one, then pooled: what `SequenceEncoder` and `HistoryEncoder` share.

    A shared network turns each trial into hidden units h_t and a few learned symbols e_t. Pooled over all trials of all
    blocks are

        sum_t h_t                         what happened, whatever the order: the form of a log likelihood without memory;
        sum_t e_t e_{t-l}^T, l = 1 … L    what followed what at a distance l: transition counts of learned symbols;
        sum_t e_t m_t^T                   what followed what was last kept in mind, m_{t+1} = k_t m_t + e_t, where k_t in (0, 1)
                                          is how much of the memory outlives trial t, learned from that trial.

    The last two are for models with a latent state that moves from trial to trial: a memory passes over trials that say
    nothing about it. All are sums, so that the number of trials and blocks is free, and order is kept at the price of a few small
    matrix products. A linear layer turns them into summary statistics.

    Arguments:
        features: How many describe a trial, beside its design and its mask.
        summaries: S.
        width: Hidden units of the shared network.
        symbols: How many learned symbols.
        lags: L.
        memories: How many memories, each with a k_t of its own.
    """

    def __init__(
        self, task: Task, features: int, summaries: int = 128, width: int = 64, symbols: int = 12, lags: int = 4, memories: int = 2
    ) -> None:
        super().__init__(task, summaries)
        self.lags = max(0, min(lags, task.trials - 1))
        self.first = nn.Linear(features + self.extra, width)
        # hidden units, symbols and k_t of a trial in one matrix product: what they read is the largest tensor there is
        self.second = nn.Linear(width, width + symbols + memories)
        self.split = [width, symbols, memories]
        self.last = nn.Linear(width + (self.lags + memories) * symbols**2 + 1, summaries)
        self.scale = 1.0 / task.trials

    def describe(self, inputs: Tensor) -> Tensor:
        """What the shared network sees of each trial, (N, B, T, F)."""
        return inputs

    def forward(self, inputs: Tensor) -> Tensor:
        n, mask = len(inputs), inputs[..., -1:]
        first = torch.relu(self.first(self.describe(inputs)))
        hidden, symbols, keep = self.second(first).split(self.split, dim=-1)
        # the masked sum over trials as a matrix product: one pass where two would be needed
        happened = torch.bmm(mask.reshape(n, 1, -1), torch.relu(hidden).flatten(1, 2)).squeeze(1)
        symbols = (symbols * mask).flatten(0, 1)
        pairs = [torch.bmm(symbols[:, lag:].transpose(1, 2), symbols[:, :-lag]) for lag in range(1, self.lags + 1)]
        kept = torch.where(mask > 0, torch.sigmoid(keep), 1.0).flatten(0, 1)
        pairs.append(torch.bmm(symbols.transpose(1, 2), self._memories(symbols, kept)))
        followed = torch.cat([pair.flatten(1) for pair in pairs], dim=-1).reshape(n, inputs.shape[1], -1).sum(1)
        summaries: Tensor = self.last(torch.cat([happened, mask.sum((1, 2)), followed], dim=-1) * self.scale)
        return summaries

    def _memories(self, symbols: Tensor, kept: Tensor) -> Tensor:
        """What each trial finds in memory, (N B, T, memories * symbols), from symbols (N B, T, E) and k (N B, T, memories)."""
        memory = symbols.new_zeros(len(symbols), kept.shape[-1], symbols.shape[-1])
        found = []
        for k, e in zip(kept.unbind(1), symbols.unbind(1), strict=True):
            found.append(memory)
            memory = torch.addcmul(e[:, None], k[..., None], memory)
        return torch.stack(found, dim=1).flatten(2)


class HistoryEncoder(PooledEncoder):
    """Trials in the light of what came before, as the task describes them (`Task.history`)."""

    def __init__(self, task: Task, summaries: int = 128, width: int = 64, symbols: int = 12, lags: int = 4, memories: int = 2) -> None:
        empty = Behavior({f.name: np.zeros((0, 1, 1), f.dtype) for f in task.fields})
        described = task.history(empty)
        if described is None:
            raise StudyError(
                f"The task '{task.name}' does not describe its trials.", expected="a `history` method", fix='use the encoder "sequence"'
            )
        super().__init__(task, described.shape[-1], summaries, width, symbols, lags, memories)

    def prepare(self, behavior: Behavior, designs: NDArray[np.float64]) -> Tensor:
        features = self.task.history(behavior)
        assert features is not None
        return self.with_design(features, behavior.mask, designs)


class SequenceEncoder(PooledEncoder):
    """Trials as they were recorded, with a recurrent network in place of knowledge of the task.

    Arguments:
        units: Of the recurrent network, which carries a block's past to each of its trials.
    """

    def __init__(
        self, task: Task, summaries: int = 128, width: int = 64, symbols: int = 12, lags: int = 4, memories: int = 2, units: int = 32
    ) -> None:
        recorded = sum(f.levels or 1 if f.kind == "categorical" else 1 for f in task.fields)
        super().__init__(task, recorded + units, summaries, width, symbols, lags, memories)
        self.recurrent = nn.GRU(recorded + self.extra, units)

    def prepare(self, behavior: Behavior, designs: NDArray[np.float64]) -> Tensor:
        features = [field_features(behavior.fields[f.name], f, one_hot=True) for f in self.task.fields]
        return self.with_design(np.concatenate(features, axis=-1), behavior.mask, designs)

    def describe(self, inputs: Tensor) -> Tensor:
        n, blocks, trials, width = inputs.shape
        past = self.recurrent(inputs.reshape(n * blocks, trials, width).transpose(0, 1))[0].transpose(0, 1)
        before = F.pad(past, (0, 0, 1, 0))[:, :-1].reshape(n, blocks, trials, -1)
        return torch.cat([before, inputs], dim=-1)
