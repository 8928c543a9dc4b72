"""Encoders that describe trials one by one and pool them: any number of trials and blocks, missed ones too, with one set of weights."""

from __future__ import annotations

import copy
import inspect
import math
from abc import abstractmethod
from typing import Any, Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from ..behavior import Behavior
from ..models.symmetry import read_in_order
from ..question import Question
from ..tasks.base import Task
from .base import Encoder
from .consequences import across_blocks, width_across_blocks

PER_LOG = 0.3
"""Brings logarithms of sums to about the size of averages."""

TOGETHER = 8192
"""Trials, of all participants, that are described and pooled at once: few enough for the processor's cache."""


class PooledEncoder(Encoder):
    """Trials are described one by one, then pooled: what `SequenceEncoder` and `HistoryEncoder` share.

    A shared network turns each trial into hidden units h_t and a few learned symbols e_t. Pooled over all trials of all
    blocks are

        sum_t h_t                         what happened, whatever the order: the form of a log likelihood without memory;
        log(1 + sum_t h_t)                the same as counts enter an evidence, by their logarithms: once against never is much, ten
                                          times against nine is little;
        sum_t e_t e_{t-l}^T, l = 1 … L    what followed what at a distance l: transition counts of learned symbols;
        sum_t e_t m_t^T                   what followed what was last kept in mind, m_{t+1} = k_t m_t + e_t, where k_t in (0, 1)
                                          is how much of the memory outlives trial t, learned from that trial.

    The last two are for models with a latent state that moves from trial to trial: a memory passes over trials that say
    nothing about it. All come from sums, so that the number of trials and blocks is free, and order is kept at the price of a few small
    matrix products. A linear layer turns them into summary statistics.

    Blocks are added up, whatever their order, unless they are to be read in order: then memories go on from block to block, and each
    trial is also described by all that came before its block.

    Arguments:
        features: How many describe a trial, beside its design and its mask.
        in_order: Are blocks read one after the other?
        more: How many further numbers `describe` adds.
        summaries: S.
        width: Hidden units of the shared network.
        symbols: How many learned symbols.
        lags: L.
        memories: How many memories, each with a k_t of its own.
    """

    def __init__(
        self,
        task: Task,
        features: int,
        summaries: int = 128,
        width: int = 64,
        symbols: int = 12,
        lags: int = 4,
        memories: int = 2,
        more: int = 0,
        in_order: bool = False,
    ) -> None:
        features += width_across_blocks(task) if in_order else 0
        super().__init__(task, features, summaries)
        self.in_order = in_order
        self.lags = max(0, min(lags, task.trials - 1))
        self.first = nn.Linear(features + self.extra + more, width)
        # hidden units, symbols and k_t of a trial in one matrix product: what they read is the largest tensor there is
        self.second = nn.Linear(width, width + symbols + memories)
        self.memories, self.split = memories, [width, symbols, memories]
        self.last = nn.Linear(2 * width + (self.lags + memories) * symbols**2 + 1, summaries)
        self.per_trial = 1.0 / task.trials

    @classmethod
    def for_question(cls, task: Task, question: Question) -> Self:
        """Blocks are read in order if models may carry memory from one to the next, and the encoder can be told so: not if its own
        `__init__` has no such argument, or its own `features` are not those of `of_trials`.
        """
        able = "in_order" in inspect.signature(cls).parameters and cls.features is PooledEncoder.features
        return cls(task, in_order=True) if able and read_in_order(question.models, task) else cls(task)  # type: ignore[call-arg]

    def features(self, behavior: Behavior) -> NDArray[np.floating[Any]]:
        own = self.of_trials(behavior)
        return np.concatenate([own, across_blocks(self.task, behavior)], axis=-1) if self.in_order else own

    @abstractmethod
    def of_trials(self, behavior: Behavior) -> NDArray[np.floating[Any]]:
        """What is known of each trial from its own block, (N, B, T, F)."""

    @abstractmethod
    def describe(self, inputs: Tensor) -> Tensor:
        """What the shared network sees of each trial, (N, B, T, F)."""

    def forward(self, inputs: Tensor) -> Tensor:
        summaries: Tensor = self.last(self.pooled(inputs))
        return summaries

    def pooled(self, inputs: Tensor) -> Tensor:
        return torch.cat([self._pooled(part) for part in inputs.split(max(1, TOGETHER // math.prod(inputs.shape[1:3])))])

    def _pooled(self, inputs: Tensor) -> Tensor:
        mask = inputs[..., -1:]
        first = torch.relu(self.first(self.describe(inputs)))
        hidden, symbols, keep = self.second(first).split(self.split, dim=-1)
        # sums over trials as matrix products: one pass where two would be needed
        happened = (mask.flatten(1).unsqueeze(1) @ torch.relu(hidden).flatten(1, 2)).squeeze(1)
        symbols = symbols * mask
        kept = torch.where(mask > 0, torch.sigmoid(keep), 1.0)
        earlier = torch.cat([*self._at_a_distance(symbols), self._memories(symbols, kept)], dim=-1).flatten(1, 2)
        followed = symbols.flatten(1, 2).transpose(1, 2) @ earlier  # (N, E, (L + memories) E)
        lagged, remembered = followed.split([self.lags * symbols.shape[-1], self.memories * symbols.shape[-1]], dim=-1)
        lagged = lagged.reshape(*symbols.shape[::3], self.lags, symbols.shape[-1]).transpose(1, 2)
        sums = torch.cat([happened, mask.sum((1, 2)), lagged.flatten(1), remembered.flatten(1)], dim=-1) * self.per_trial
        return torch.cat([sums, PER_LOG * torch.log1p(happened)], dim=-1)

    def last_layer(self) -> nn.Module:
        return copy.deepcopy(self.last)

    def _at_a_distance(self, symbols: Tensor) -> list[Tensor]:
        """Of symbols (N, B, T, E), those of one trial before each, of two … L; nothing where there is none."""
        padded, trials = nn.functional.pad(symbols, (0, 0, self.lags, 0)), symbols.shape[2]
        return [padded[:, :, start : start + trials] for start in reversed(range(self.lags))]

    def _memories(self, symbols: Tensor, kept: Tensor) -> Tensor:
        """What each trial finds in memory, (N, B, T, memories * E), from symbols (N, B, T, E) and k (N, B, T, memories)."""
        n, blocks, trials, size = symbols.shape
        if self.in_order:
            symbols, kept = symbols.flatten(1, 2)[:, None], kept.flatten(1, 2)[:, None]
        memory = symbols.new_zeros(*symbols.shape[:2], kept.shape[-1], size)
        found = []
        for k, e in zip(kept.unbind(2), symbols.unbind(2), strict=True):
            found.append(memory)
            memory = torch.addcmul(e[:, :, None], k[..., None], memory)
        return torch.stack(found, dim=2).reshape(n, blocks, trials, -1)
