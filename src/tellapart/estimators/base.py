"""The contract of an estimator: a bound on information, and the posterior that comes with it.

Every estimator is a network over (v, y) with a *pointwise bound*: numbers b_i, one for each simulated pair (v_i, y_i),
whose average over fresh simulations is, in expectation, at most the information I(v; y | d). Training maximises that
average; the estimate is that average on simulations never trained on; and the same network gives the posterior q(v | y).

A new estimator is one file in this folder with one class: `code`, `bound`, and what it knows of the posterior.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import Any, Callable, ClassVar, Iterable, Iterator, Self, Sequence

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor, nn

from ..behavior import Behavior
from ..errors import DataError, counted
from ..information.estimate import Pointwise
from ..models.simulation import Simulations
from ..models.symmetry import read_in_order
from ..networks.base import Encoder
from ..optimizer import OptimizerName
from ..question import Question
from ..tasks.base import Task

CHUNK = 4096
"""Participants that go through a network at once when nothing is trained."""

TOGETHER = 1024
"""Participants whose posteriors are asked for at once."""


@dataclass(frozen=True)
class Batch:
    """Simulated participants as tensors.

    Arguments:
        inputs: What the encoder prepared, (N, B, T, F).
        model: The true model, (N,).
        v: The variable of interest as the estimator codes it, (N, D).
        kept: log of the share of each model's participants that could be simulated, (M,).
        failed: How many could not.
    """

    inputs: Tensor
    model: Tensor
    v: Tensor
    kept: Tensor
    failed: int = 0

    def __len__(self) -> int:
        return len(self.model)

    def __getitem__(self, which: Any) -> Batch:
        if isinstance(which, Tensor) and which.dtype == torch.int64:  # three times as quick as indexing with brackets
            return self._each(lambda part: part.index_select(0, which))
        return self._each(lambda part: part[which])

    def _each(self, function: Callable[[Tensor], Tensor]) -> Batch:
        return replace(self, inputs=function(self.inputs), model=function(self.model), v=function(self.v))

    def by_model(self) -> Iterator[tuple[int, Tensor]]:
        """The models that participants follow, and who they are, (N_m,)."""
        for m in range(len(self.kept)):
            chosen = torch.nonzero(self.model == m).squeeze(-1)
            if len(chosen):
                yield m, chosen

    @staticmethod
    def concatenate(parts: Sequence[Batch]) -> Batch:
        """All participants of all `parts`, in order."""
        inputs, model, v = (torch.cat([getattr(part, name) for part in parts]) for name in ("inputs", "model", "v"))
        kept = torch.stack([part.kept for part in parts]).exp().mean(0).log()
        return Batch(inputs, model, v, kept, sum(part.failed for part in parts))

    def to(self, device: torch.device | str) -> Batch:
        return replace(self._each(lambda part: part.to(device)), kept=self.kept.to(device))


@dataclass(frozen=True)
class Tilt:
    """What somebody else would have posteriors be: they are multiplied by e^(share * tilt) and normalised again.

    Arguments:
        shares: Of the tilt, several at once, (G,).
        models: Of each participant's models, (N, M); None where models are not asked about.
        parameters: The tilt of a model's parameters that are asked about, (..., n): from the model, who the n participants are, and
            parameters (..., n, P). It is log r / q, with the density q of `quick` and a normalised density r.
    """

    shares: Tensor
    models: Tensor | None
    parameters: Callable[[int, Tensor, Tensor], Tensor]

    def of_models(self, log_q: Tensor) -> Tensor:
        """log q(m | y), (N, M) or (G, N, M), tilted, (G, N, M)."""
        assert self.models is not None
        return torch.log_softmax(log_q + self.shares[:, None, None] * self.models, dim=-1)

    def times(self, m: int, chosen: Tensor) -> Callable[[Tensor], Tensor]:
        """The tilt of parameters (L, n, P) of a model times each share, (G, L, n)."""
        return lambda z: self.shares[:, None, None] * self.parameters(m, chosen, z)

    def mixed(self, m: int, chosen: Tensor, z: Tensor) -> Tensor:
        """log of (1 - share) + share r / q for parameters (n, P), (G, n): a mixture of q and r over q, normalised as it is."""
        return torch.logaddexp(torch.log1p(-self.shares)[:, None], self.shares.log()[:, None] + self.parameters(m, chosen, z))


class Estimator(nn.Module, ABC):
    """A bound plus a network: the encoder summarises behavior, and what the question asks is learned from that."""

    name: ClassVar[str]
    """What a study file calls the estimator."""

    sources: tuple[str, ...] = ()
    """What to cite for it: keys of `report/sources.bib`, or BibTeX."""

    learning_rate: ClassVar[float] = 1e-2
    """At its peak, where one estimator is trained for every design and no other rate is given."""

    optimizer: ClassVar[OptimizerName] = "muon"
    """How its weights are moved then (`optimizer.py`)."""

    complete_only: bool = False
    """Was it trained on complete data only, so that it knows nothing of missed trials and unfinished experiments?"""

    def __init__(self, question: Question, encoder: Encoder) -> None:
        super().__init__()
        self.question, self.encoder = question, encoder

    @classmethod
    def for_every_design(cls, question: Question, encoder: Encoder) -> Self:
        """One that is large enough to be trained over all designs at once."""
        return cls(question, encoder)

    @staticmethod
    def share_of_steps(question: Question) -> float:
        """How many steps of training it needs where one estimator is trained for every design, as a share of what a posterior needs."""
        return 1.0

    @abstractmethod
    def code(self, simulations: Simulations) -> NDArray[np.float32]:
        """The variable of interest of each participant as `bound` sees it, (N, D)."""

    @abstractmethod
    def bound(self, batch: Batch, generator: torch.Generator | None = None) -> Tensor:
        """The pointwise bound b_i, (N,). `generator` is for bounds that pair participants at random."""

    @abstractmethod
    def log_model_probabilities(self, inputs: Tensor) -> Tensor:
        """log q(model | y), (N, M); for questions about models."""

    def guess(self, inputs: Tensor) -> Tensor:
        """The most probable model, (N,), as it can be told at little cost."""
        return self.log_model_probabilities(inputs).argmax(-1)

    @abstractmethod
    def sample_theta(self, inputs: Tensor, model: int, draws: int, generator: np.random.Generator) -> Tensor:
        """Draws from q(theta | y, model) on the normal scale, (draws, N, P), of the P parameters of the model that are asked about."""

    def log_evidence_se(self, inputs: Tensor) -> Tensor:
        """Standard errors of log q(y | model) that come from the number of draws on which it rests, (N, M); 0 if it rests on none."""
        return torch.zeros(len(inputs), len(self.question.models))

    def flow(self, inputs: Tensor, model: int) -> Any:
        """q(theta | y, model) as a flow: a distribution of zuko's over the normal scale, whose `transform` leads to a standard normal."""
        raise NotImplementedError(f"The posterior of the estimator '{self.name}' is not a flow.")

    @property
    def has_flows(self) -> bool:
        """Are the posteriors of parameters flows?"""
        return type(self).flow is not Estimator.flow

    def measure(self, batch: Batch, seed: int) -> tuple[Tensor, Tensor | None]:
        """The pointwise bound of a batch that was not trained on, (N,), and its influence if that is another; see `Pointwise`."""
        generator = torch.Generator().manual_seed(seed)
        return self.chunked(lambda part: self.bound(part, generator), batch), None

    def tilted(self, batch: Batch, tilt: Tilt, seed: int = 0) -> Tensor:
        """The pointwise bound of a posterior that is tilted, for each share, (G, N). Without a tilt it is that of `bound`, unless that is a
        critic's: then what its model probabilities tell.
        """
        total = torch.zeros(len(tilt.shares), len(batch), device=self.device)
        if self.question.about_models:
            with torch.no_grad():
                log_q = self.log_model_probabilities(batch.inputs)
            log_prior = torch.as_tensor(self.question.log_prior, dtype=log_q.dtype, device=self.device)
            total = total + (tilt.of_models(log_q) - log_prior)[:, torch.arange(len(batch)), batch.model]
        for m, chosen in batch.by_model():
            if width := len(self.question.parameters(m)):
                z = batch.v[chosen, :width]
                with torch.no_grad():
                    log_q = self.flow(batch.inputs[chosen], m).log_prob(z)
                information = log_q + 0.5 * (z.square() + math.log(2 * math.pi)).sum(-1) + batch.kept[m]
                total = total.index_add(1, chosen, information + tilt.mixed(m, chosen, z))
        return total

    @property
    def quick(self) -> Estimator:
        """An estimator that costs less, for surveys of many designs and of what comes next; its draws have the density of its flows."""
        return self

    @property
    def careful(self) -> Estimator:
        """The same, with more draws where answers rest on draws: for what is said of single people."""
        return self

    @property
    def task(self) -> Task:
        return self.encoder.task

    @property
    def in_order(self) -> bool:
        """May models carry memory from one block to the next?"""
        return read_in_order(self.question.models, self.task)

    @property
    def device(self) -> torch.device:
        return next(self.parameters()).device

    def settle(self, further: Iterable[Batch]) -> None:
        """Choose what is chosen when training is over, by batches that nothing was learned from: there may be no end to them."""

    def loss(self, batch: Batch, generator: torch.Generator | None = None) -> Tensor:
        """What training minimises."""
        return -self.bound(batch, generator).mean()

    def prepare(self, simulations: Simulations) -> Batch:
        """Simulations as a batch."""
        counts = np.bincount(simulations.model, minlength=len(simulations.models))
        share = np.maximum(counts, 1) / np.maximum(counts + simulations.failed(), 1)
        inputs = self.encoder.prepare(simulations.behavior, simulations.designs)
        model, v = torch.from_numpy(simulations.model.astype(np.int64)), torch.from_numpy(self.code(simulations))
        kept = torch.from_numpy(np.log(share).astype(np.float32))
        return Batch(inputs, model, v, kept, len(simulations.failures)).to(self.device)

    def simulate(self, designs: ArrayLike, n: int, rng: np.random.Generator) -> Batch:
        """A batch of `n` fresh simulations at one design for all (B, V), or one for each (n, B, V)."""
        return self.prepare(self.question.simulate(self.task, designs, n, rng))

    @torch.no_grad()
    def pointwise(self, batch: Batch, seed: int = 0, *, accuracy: bool = True) -> Pointwise:
        """What each participant of a batch that was not trained on contributes to the estimate.

        Arguments:
            accuracy: Whether it is asked too if the true model would be recognised, at twice the cost.
        """
        bound, influence = self.measure(batch, seed)
        model, correct = batch.model.cpu().numpy(), None
        if accuracy and self.question.about_models:
            correct = self.chunked(lambda part: self.guess(part.inputs), batch).cpu().numpy() == model
        spread = None if influence is None else influence.double().cpu().numpy()
        return Pointwise(bound.double().cpu().numpy(), model, self.question.prior, "lower bound", spread, correct, batch.failed)

    @torch.no_grad()
    def summaries(self, behavior: Behavior, designs: ArrayLike) -> NDArray[np.float32]:
        """The learned summary statistics of data, (N, S)."""
        inputs = self.inputs(behavior, designs)
        return torch.cat([self.encoder(part) for part in inputs.split(CHUNK)]).cpu().numpy()

    def inputs(self, behavior: Behavior, designs: ArrayLike) -> Tensor:
        """Data as inputs of the network."""
        behavior = self.task.check(behavior)
        if self.complete_only:
            check_complete(behavior, self.task)
        return self.encoder.prepare(behavior, self.task.design_space.check_many(designs, len(behavior))).to(self.device)

    @torch.no_grad()
    def log_probabilities(self, inputs: Tensor, at_once: int = TOGETHER) -> Tensor:
        """log q(model | y) in double precision, (N, M), of some participants at a time."""
        return torch.cat([self.log_model_probabilities(part) for part in inputs.split(at_once)]).double()

    @torch.no_grad()
    def draws(self, inputs: Tensor, model: int, count: int, rng: np.random.Generator, at_once: int = TOGETHER) -> NDArray[Any]:
        """`count` draws from q(theta | y, model) on the normal scale, (N, count, P), of some participants at a time."""
        parts = [self.sample_theta(part, model, count, rng) for part in inputs.split(at_once)]
        return np.moveaxis(torch.cat(parts, dim=1).cpu().numpy(), 0, 1)

    def chunked(self, function: Callable[[Batch], Tensor], batch: Batch) -> Tensor:
        """A function of participants, a part of them at a time."""
        return torch.cat([function(batch[start : start + CHUNK]) for start in range(0, len(batch), CHUNK)])


def check_complete(behavior: Behavior, task: Task) -> None:
    """Raise a `DataError` if a trial of the task is missing."""
    recorded = np.zeros((len(behavior), task.blocks, task.trials), bool)
    recorded[:, : behavior.shape[1], : behavior.shape[2]] = behavior.mask
    if not recorded.all():
        n, block, _ = np.argwhere(~recorded)[0]
        raise DataError(
            "The data are of another task, or unfinished, and the estimator was trained on complete data of its own task.",
            where=f"participant {behavior.participants[n]}, block {block}",
            expected=f"{counted(task.blocks, 'block')} of {counted(task.trials, 'trial')} for each participant",
            got=f"{counted(int(recorded[n, block].sum()), 'trial')} in this block",
            fix='leave unfinished participants out, or use method = "amortized", which takes them',
        )
