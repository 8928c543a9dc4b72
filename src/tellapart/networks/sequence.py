"""The encoder that needs nothing but the types of the fields."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional as F

from ..behavior import Behavior
from ..tasks.base import Task
from .base import field_width, recorded
from .consequences import consequences, width_of_consequences
from .pooled import PooledEncoder


class SequenceEncoder(PooledEncoder):
    """Trials as they were recorded and what each answer led to so far, with a recurrent network in place of knowledge of the task.

    Arguments:
        units: Of the recurrent network, which carries a block's past to each of its trials.
    """

    name: ClassVar[str] = "sequence"

    def __init__(
        self,
        task: Task,
        summaries: int = 128,
        width: int = 64,
        symbols: int = 12,
        lags: int = 4,
        memories: int = 2,
        units: int = 32,
        in_order: bool = False,
    ) -> None:
        described = sum(map(field_width, task.fields)) + width_of_consequences(task)
        super().__init__(task, described, summaries, width, symbols, lags, memories, units, in_order)
        self.recurrent = nn.GRU(len(self.centre) + self.extra, units)

    def of_trials(self, behavior: Behavior) -> NDArray[np.floating[Any]]:
        return np.concatenate([recorded(self.task, behavior), *consequences(self.task, behavior)], axis=-1)

    def describe(self, inputs: Tensor) -> Tensor:
        n, blocks, trials, width = inputs.shape
        past = self.recurrent(inputs.reshape(n * blocks, trials, width).transpose(0, 1))[0].transpose(0, 1)
        before = F.pad(past, (0, 0, 1, 0))[:, :-1].reshape(n, blocks, trials, -1)
        return torch.cat([before, inputs], dim=-1)
