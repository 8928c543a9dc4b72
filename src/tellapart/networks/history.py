"""The encoder for tasks that describe each trial in the light of what came before it."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from ..behavior import Behavior
from ..errors import StudyError
from ..tasks.base import Task
from .pooled import PooledEncoder


class HistoryEncoder(PooledEncoder):
    """Trials in the light of what came before, as the task describes them (`Task.history`)."""

    name: ClassVar[str] = "history"

    def __init__(
        self, task: Task, summaries: int = 128, width: int = 64, symbols: int = 12, lags: int = 4, memories: int = 2, in_order: bool = False
    ) -> None:
        described = task.history(task.nothing(0))
        if described is None:
            raise StudyError(
                f"The task '{task.name}' does not describe its trials.", expected="a `history` method", fix='use the encoder "sequence"'
            )
        super().__init__(task, described.shape[-1], summaries, width, symbols, lags, memories, in_order=in_order)

    def of_trials(self, behavior: Behavior) -> NDArray[np.float32]:
        described = self.task.history(behavior)
        assert described is not None
        return described

    def describe(self, inputs: Tensor) -> Tensor:
        return inputs
