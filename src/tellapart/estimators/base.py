"""The contract of an estimator: a bound on information, and the posterior that comes with it.

Every estimator is a network over (v, y) with a *pointwise bound*: numbers b_i, one for each simulated pair (v_i, y_i),
whose average over fresh simulations is, in expectation, at most the information I(v; y | d). Training maximises that
average; the estimate is that average on simulations never trained on; and the same network gives the posterior q(v | y).

A new estimator is one file with one class: `bound`, and what it knows of the posterior.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import Any, Callable, ClassVar, Literal, Self, Sequence

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor, nn

from ..behavior import Behavior
from ..errors import DataError
from ..information.estimate import InformationEstimate
from ..models.base import Model
from ..models.failures import STOP, OnFailure
from ..models.simulation import Simulations, simulate_models
from ..networks.encoders import Encoder
from ..tasks.base import Task

GoalName = Literal["discriminate", "estimate", "both"]

CHUNK = 4096
"""Participants that go through a network at once when nothing is trained."""


@dataclass(frozen=True)
class Goal:
    """What is to be learned: the variable of interest v.

    Arguments:
        name: "discriminate" (which model), "estimate" (the parameters of one model), or "both".
        task: What participants do.
        models: M models.
        on_failure: What happens when a model cannot simulate a participant.
    """

    name: GoalName
    task: Task
    models: tuple[Model, ...]
    on_failure: OnFailure = STOP

    @property
    def about_models(self) -> bool:
        """Is the model part of v?"""
        return self.name in ("discriminate", "both")

    @property
    def about_parameters(self) -> bool:
        """Are parameters part of v?"""
        return self.name in ("estimate", "both")

    @property
    def widest(self) -> int:
        """The largest number of parameters of a model."""
        return max(len(model.parameters) for model in self.models)

    def simulate(self, designs: ArrayLike, n: int, rng: np.random.Generator) -> Simulations:
        """`n` participants at one design for all (B, V), or one a participant (n, B, V)."""
        return simulate_models(self.task, self.models, designs, n, rng, self.on_failure)

    def theta(self, simulations: Simulations) -> NDArray[np.float32]:
        """Each participant's parameters on the normal scale, (N, widest), zero where its model has fewer."""
        z = np.zeros((len(simulations), self.widest), np.float32)
        rng = simulations.own_rng() if any(p.discrete for m in self.models for p in m.parameters.values()) else None
        for m, model in enumerate(self.models):
            mine = simulations.model == m
            for p, (name, prior) in enumerate(model.parameters.items()):
                z[mine, p] = prior.to_normal(simulations.parameters[f"{model.name}.{name}"][mine], rng)
        return z


@dataclass(frozen=True)
class Batch:
    """Simulated participants as tensors.

    Arguments:
        inputs: What the encoder prepared, (N, B, T, F).
        model: The true model, (N,).
        theta: The true parameters on the normal scale, (N, P).
    """

    inputs: Tensor
    model: Tensor
    theta: Tensor

    def __len__(self) -> int:
        return len(self.model)

    def __getitem__(self, which: Any) -> Batch:
        if isinstance(which, Tensor) and which.dtype == torch.int64:  # three times as quick as indexing with brackets
            return Batch(self.inputs.index_select(0, which), self.model.index_select(0, which), self.theta.index_select(0, which))
        return Batch(self.inputs[which], self.model[which], self.theta[which])

    @staticmethod
    def concatenate(parts: Sequence[Batch]) -> Batch:
        """All participants of all `parts`, in order."""
        columns = zip(*((part.inputs, part.model, part.theta) for part in parts), strict=True)
        return Batch(*(torch.cat(column) for column in columns))

    def to(self, device: torch.device | str) -> Batch:
        return Batch(self.inputs.to(device), self.model.to(device), self.theta.to(device))


class Estimator(nn.Module, ABC):
    """A bound plus a network.

    Arguments:
        goal: What is to be learned.
        encoder: How behavior is summarised.
    """

    complete_only: bool = False
    """Was it trained on complete data only, so that it knows nothing of missed trials and unfinished experiments?"""

    learning_rate: ClassVar[float] = 1e-2
    """At its peak, where one estimator is trained for every design and no other rate is given."""

    def __init__(self, goal: Goal, encoder: Encoder) -> None:
        super().__init__()
        self.goal, self.encoder = goal, encoder

    @classmethod
    def for_every_design(cls, goal: Goal, encoder: Encoder) -> Self:
        """One that is large enough to be trained over all designs at once."""
        return cls(goal, encoder)

    @abstractmethod
    def bound(self, batch: Batch, generator: torch.Generator | None = None) -> Tensor:
        """The pointwise bound b_i, (N,). `generator` is for bounds that pair participants at random."""

    def loss(self, batch: Batch, generator: torch.Generator | None = None) -> Tensor:
        """What training minimises."""
        return -self.bound(batch, generator).mean()

    @abstractmethod
    def log_model_probabilities(self, inputs: Tensor) -> Tensor:
        """log q(model | y), (N, M); for goals about models."""

    @abstractmethod
    def sample_theta(self, inputs: Tensor, model: int, draws: int, generator: np.random.Generator) -> Tensor:
        """Draws from q(theta | y, model) on the normal scale, (draws, N, P); for goals about parameters."""

    @property
    def device(self) -> torch.device:
        return next(self.parameters()).device

    def prepare(self, simulations: Simulations, designs: ArrayLike) -> Batch:
        """Simulations as a batch."""
        all_designs = self.goal.task.design_space.check_many(designs, len(simulations))
        theta = self.goal.theta(simulations) if self.goal.about_parameters else np.zeros((len(simulations), 0), np.float32)
        inputs = self.encoder.prepare(simulations.behavior, all_designs)
        return Batch(inputs, torch.from_numpy(simulations.model.astype(np.int64)), torch.from_numpy(theta)).to(self.device)

    def simulate(self, designs: ArrayLike, n: int, rng: np.random.Generator) -> Batch:
        """A batch of `n` fresh simulations."""
        return self.prepare(self.goal.simulate(designs, n, rng), designs)

    @torch.no_grad()
    def estimate(self, batch: Batch, seed: int = 0) -> InformationEstimate:
        """The information estimate on a batch that was not trained on."""
        generator = torch.Generator().manual_seed(seed)
        bound = self._chunked(lambda part: self.bound(part, generator), batch)
        correct = None
        if self.goal.about_models:
            guess = self._chunked(lambda part: self.log_model_probabilities(part.inputs).argmax(-1), batch)
            correct = (guess == batch.model).cpu().numpy()
        return InformationEstimate.from_samples(bound.cpu().numpy(), batch.model.cpu().numpy(), "lower bound", correct)

    @torch.no_grad()
    def summaries(self, behavior: Behavior, designs: ArrayLike) -> NDArray[np.float32]:
        """The learned summary statistics of data, (N, S)."""
        inputs = self.inputs(behavior, designs)
        return torch.cat([self.encoder(part) for part in inputs.split(CHUNK)]).cpu().numpy()

    def inputs(self, behavior: Behavior, designs: ArrayLike) -> Tensor:
        """Data as inputs of the network."""
        behavior = self.goal.task.check(behavior)
        if self.complete_only:
            check_complete(behavior, self.goal.task)
        return self.encoder.prepare(behavior, self.goal.task.design_space.check_many(designs, len(behavior))).to(self.device)

    def _chunked(self, function: Callable[[Batch], Tensor], batch: Batch) -> Tensor:
        return torch.cat([function(batch[start : start + CHUNK]) for start in range(0, len(batch), CHUNK)])


def check_complete(behavior: Behavior, task: Task) -> None:
    """Raise a `DataError` if a trial of the task is missing."""
    shape = (len(behavior), task.blocks, task.trials)
    recorded = np.zeros(shape, bool)
    recorded[:, : behavior.shape[1], : behavior.shape[2]] = behavior.mask
    if not recorded.all():
        n, block, _ = np.argwhere(~recorded)[0]
        raise DataError(
            "The data are of another task, or unfinished, and the estimator was trained on complete data of its own task.",
            where=f"participant {behavior.participants[n]}, block {block}",
            expected=f"{task.blocks} block(s) of {task.trials} trials for each participant",
            got=f"{int(recorded[n, block].sum())} trial(s) in this block",
            fix='leave unfinished participants out, or use method = "amortized", which takes them',
        )


def combine(parts: Sequence[InformationEstimate]) -> InformationEstimate:
    """The average of independent estimates of one quantity, each weighted by its simulations."""
    weights = np.array([part.n for part in parts], dtype=np.float64)
    share = weights / weights.sum()
    nats = float(share @ [part.nats for part in parts])
    se = float(np.sqrt(share**2 @ np.square([part.se for part in parts])))
    return replace(parts[0], nats=nats, se=se, n=int(weights.sum()))
