"""Encoders: learned summaries of behavior.

An encoder maps the behavior of N participants to summary statistics (N, S). `features` says what of each trial it looks at; `prepare`,
the one place at which NumPy becomes torch, brings that to a scale without units; `forward` is the network that is trained.

A new encoder is one file in this folder with one class.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar, Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from ..behavior import Behavior, Field
from ..question import Question
from ..tasks.base import Task
from ..tasks.scaling import describe, features


class Encoder(nn.Module, ABC):
    """Behavior to summary statistics.

    Searches make one as `encoder(task)`: whatever else `__init__` takes has a default.

    Arguments:
        task: What is recorded.
        summaries: S, the number of summary statistics.
    """

    name: ClassVar[str]
    """What a study file calls the encoder."""

    sources: tuple[str, ...] = ()
    """What to cite for it: keys of `report/sources.bib`, or BibTeX."""

    any_length: ClassVar[bool] = True
    """Does it take experiments with fewer trials and blocks than the task has?"""

    centre: Tensor
    scale: Tensor

    def __init__(self, task: Task, features: int, summaries: int) -> None:
        super().__init__()
        self.task, self.summaries = task, summaries
        self.register_buffer("centre", torch.zeros(features))
        self.register_buffer("scale", torch.ones(features))

    @classmethod
    def for_question(cls, task: Task, question: Question) -> Self:
        """One for data of a question's models; a hook, for encoders that blocks have to be read in order by if models may remember."""
        return cls(task)  # type: ignore[call-arg]

    @abstractmethod
    def features(self, behavior: Behavior) -> NDArray[np.floating[Any]]:
        """What is known of each trial, (N, B, T, F)."""

    @abstractmethod
    def forward(self, inputs: Tensor) -> Tensor:
        """Summary statistics (N, S) of prepared inputs."""

    def pooled(self, inputs: Tensor) -> Tensor:
        """What goes into the last layer, (N, R), for networks that read an encoder which is not theirs; a hook: summaries if not given."""
        summaries: Tensor = self(inputs)
        return summaries

    def last_layer(self) -> nn.Module:
        """A copy of the layer that makes summaries (N, S) of what is pooled; a hook that goes with `pooled`."""
        return nn.Identity()

    def learn_scale(self, behavior: Behavior) -> None:
        """Learn from simulated behavior in which range features lie, so that nothing depends on the units of what is recorded.

        Features that take two values or fewer stay as they are. The others are measured from their median, in units of the distance
        between their quartiles, and beyond a few units on a logarithmic scale: an extreme value is not to drown the others.
        """
        recorded = self.features(behavior)[behavior.mask].astype(np.float64)
        for f, column in enumerate(recorded.T):
            if len(np.unique(column[:2000])) > 2:
                low, middle, high = np.quantile(column, (0.25, 0.5, 0.75))
                self.centre[f] = middle
                self.scale[f] = (high - low) / 1.349 or column.std() or 1.0

    def prepare(self, behavior: Behavior, designs: NDArray[np.float64]) -> Tensor:
        """Inputs of the network, (N, B, T, F'): features, then each block's design if the estimator must see it, then the mask.

        Arguments:
            designs: (N, B, V); used where the task says that designs act on behavior directly.
        """
        mask, features = behavior.mask, self.features(behavior)
        count = features.shape[-1]
        inputs = np.empty((*mask.shape, count + self.extra), np.float32)
        inputs[..., :count] = features
        inputs[..., -1] = mask
        centre, scale = self.centre.cpu().numpy(), self.scale.cpu().numpy()
        scaled = np.flatnonzero((scale != 1.0) | (centre != 0.0))
        inputs[..., scaled] = np.where(mask[..., None], np.arcsinh((features[..., scaled] - centre[scaled]) / scale[scaled]), 0.0)
        if not self.task.design_acts_through_data:
            inputs[..., count:-1] = describe(self.task.design_space, designs)[:, : mask.shape[1], None, :]
        return torch.from_numpy(inputs)

    @property
    def extra(self) -> int:
        """How many numbers `prepare` adds to the features."""
        return 1 + (0 if self.task.design_acts_through_data else features(self.task.design_space))


def categories(field: Field) -> int:
    """How many a field has; 0 if it is a number."""
    return 2 if field.kind == "binary" else (field.levels or 0) if field.kind == "categorical" else 0


def field_width(field: Field) -> int:
    """How many numbers `field_features` makes of a field, categories being one-hot."""
    return field.levels or 1 if field.kind == "categorical" else 1


def field_features(values: NDArray[np.generic], field: Field, *, one_hot: bool) -> NDArray[np.floating[Any]]:
    """A field as network inputs (..., F): categories one-hot or as they are, counts and positive numbers on a log scale."""
    if field.kind == "categorical" and one_hot:
        return np.eye(field.levels or 1, dtype=np.float32)[values.astype(np.intp)]
    numbers = values.astype(np.float64)
    if field.kind == "count":
        numbers = np.log1p(numbers)
    if field.kind == "positive":
        numbers = np.log(np.maximum(numbers, 1e-300))
    return numbers[..., None].astype(np.float32 if field.kind != "real" else np.float64)


def recorded(task: Task, behavior: Behavior, *, one_hot: bool = True) -> NDArray[np.floating[Any]]:
    """All fields of each trial as network inputs, (N, B, T, F)."""
    return np.concatenate([field_features(behavior.fields[f.name], f, one_hot=one_hot) for f in task.fields], axis=-1)
