"""Critic bounds: a network T(v, y) that tells pairs that belong together from pairs that do not.

Joint pairs (v_i, y_i) are simulated; contrasts, pairs from the product of the marginals, are the same simulations with v
permuted within the batch. A bound is a function of T at both, `pointwise`, and that is all a new bound has to write.

At its optimum every such T is log p(v | y) / p(v) up to a term in y alone, so the posterior is p(v) e^T, normalised: over
models exactly, over parameters by weighting draws from the prior.

The standard error. The bound on N simulations with K contrasts each is a statistic of N independent pairs in which each
v_i serves K + 1 times. Its variance is that of the average of h_i = b_i - sum_j w_ji: the pointwise bound of pair i, less
what v_i did as a contrast to others, w_ji being the derivative of b_j with respect to T(v_i, y_j) (Hájek's projection).

References:
    Valentin, Kleinegesse, Bramley, Gutmann & Lucas (2021), Bayesian optimal experimental design for simulator models of cognition.
    Poole, Ozair, van den Oord, Alemi & Tucker (2019), On variational bounds of mutual information.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import replace
from typing import ClassVar, Literal, Self

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor, nn

from ..information.estimate import InformationEstimate
from ..models.simulation import Simulations
from ..networks.encoders import Encoder
from ..networks.heads import Critic
from .base import Batch, Estimator, Goal

LIMIT = 20.0
"""Where e^T stops being taken at its word: e^20 is 5 * 10^8. Information beyond 20 nats cannot be estimated by contrasts."""

PAIRS = 2**20
"""Pairs (v, y) that go through the critic at once when nothing is trained."""


class CriticEstimator(Estimator):
    """T(v, y), as the critic head on the encoder's summaries of y.

    Arguments:
        hidden: Units of the critic's hidden layers.
        model_as: v for a model: its "number" 1, …, M, as published, or a "one-hot" vector.
        scale: v for parameters: as they are ("natural", as published), or with a standard normal prior ("normal").
        pool: Draws from the prior that are weighted to make a posterior of parameters.
        activation: Between the critic's layers; ReLU as published.
    """

    contrasts: ClassVar[int]
    """Contrasts of each y in training."""

    estimate_contrasts: ClassVar[int]
    """Contrasts of each y in the estimate."""

    learning_rate: ClassVar[float] = 3e-3

    def __init__(
        self,
        goal: Goal,
        encoder: Encoder,
        hidden: tuple[int, ...] = (32, 32),
        model_as: Literal["number", "one-hot"] = "number",
        scale: Literal["natural", "normal"] = "natural",
        pool: int = 4096,
        activation: type[nn.Module] = nn.ReLU,
    ) -> None:
        super().__init__(goal, encoder)
        self.model_as, self.scale, self.pool = model_as, scale, pool
        width = (len(goal.models) if model_as == "one-hot" else 1) if goal.about_models else 0
        self.critic = Critic(encoder.summaries, width + (goal.widest if goal.about_parameters else 0), hidden, activation)

    @classmethod
    def for_every_design(cls, goal: Goal, encoder: Encoder) -> Self:
        """The published critic is too small for all designs at once, and stalls on the number of a model."""
        return cls(goal, encoder, hidden=(128, 128), model_as="one-hot", scale="normal", activation=nn.SiLU)

    @abstractmethod
    def pointwise(self, joint: Tensor, contrast: Tensor) -> Tensor:
        """The pointwise bound b_i, (N,), from T at joint pairs (N,) and at contrasts (K, N). Must not overflow, whatever T is."""

    def bound(self, batch: Batch, generator: torch.Generator | None = None) -> Tensor:
        """The pointwise bound; `batch.theta` holds v as `prepare` made it."""
        v = batch.theta
        if self.contrasts == 1:  # a plain permutation, as published: quicker, and no worse in training
            paired = torch.stack([v, v.index_select(0, torch.randperm(len(v), generator=generator))])
        else:
            paired = v[contrast_order(len(v), self.contrasts, generator)]
        scores = self.critic(paired, self.encoder(batch.inputs))
        return self.pointwise(scores[0], scores[1:])

    @torch.no_grad()
    def estimate(self, batch: Batch, seed: int = 0) -> InformationEstimate:
        """The bound on a batch that was not trained on, over repeated permutations, with the standard error derived above."""
        order = contrast_order(len(batch), self.estimate_contrasts, torch.Generator().manual_seed(seed))
        scores = self._scores(batch.theta[order], self._chunked(lambda part: self.encoder(part.inputs), batch)).double().clamp(max=LIMIT)
        with torch.enable_grad():
            contrast = scores[1:].requires_grad_()
            bound = self.pointwise(scores[0], contrast)
            (weight,) = torch.autograd.grad(bound.sum(), contrast)
        served = torch.zeros(len(batch), dtype=torch.float64, device=self.device).index_add(0, order[1:].reshape(-1), weight.reshape(-1))
        model, correct = batch.model.cpu().numpy(), None
        if self.goal.about_models:
            guess = self._chunked(lambda part: self.log_model_probabilities(part.inputs).argmax(-1), batch)
            correct = (guess == batch.model).cpu().numpy()
        estimate = InformationEstimate.from_samples(bound.detach().cpu().numpy(), model, "lower bound", correct)
        spread = InformationEstimate.from_samples((bound + served).detach().cpu().numpy(), model, "lower bound")
        return replace(estimate, se=spread.se)

    def log_model_probabilities(self, inputs: Tensor) -> Tensor:
        """log p(m) e^T, normalised over the M models, (N, M); for the goal "both", parameters averaged over their prior."""
        summaries = self.encoder(inputs)
        z = torch.randn(256, self.goal.widest, generator=torch.Generator().manual_seed(0)).numpy()
        draws = z if self.goal.about_parameters else z[:1]
        scores = [self._scores(self._everyone(m, draws, len(inputs)), summaries).logsumexp(0) for m in range(len(self.goal.models))]
        return torch.log_softmax(torch.stack(scores, dim=-1), dim=-1)

    def sample_theta(self, inputs: Tensor, model: int, draws: int, generator: np.random.Generator) -> Tensor:
        """Draws from the prior, weighted by e^T and resampled: systematically, so that weights are met as closely as can be."""
        width = len(self.goal.models[model].parameters)
        z = generator.standard_normal((self.pool, width)).astype(np.float32)
        summaries, v = self.encoder(inputs), self._variable(model, z)
        ticks = (torch.arange(draws) + torch.from_numpy(generator.random((len(inputs), 1)))) / draws
        chosen, size = [], max(1, PAIRS // self.pool)
        for start in range(0, len(inputs), size):
            rows = summaries[start : start + size]
            shares = self.critic(v[:, None].expand(-1, len(rows), -1), rows).double().softmax(0).cumsum(0).T.contiguous()
            chosen.append(torch.searchsorted(shares, ticks[start : start + size]).clamp(max=self.pool - 1))
        return torch.from_numpy(z)[torch.cat(chosen).T]

    def prepare(self, simulations: Simulations, designs: ArrayLike) -> Batch:
        """Simulations as a batch whose `theta` is v, (N, D), as the critic sees it."""
        designs = self.goal.task.design_space.check_many(designs, len(simulations))
        inputs = self.encoder.prepare(simulations.behavior, designs)
        v = np.zeros((len(simulations), self.critic.variables), np.float32)
        z = self.goal.theta(simulations) if self.goal.about_parameters else np.zeros((len(simulations), 0), np.float32)
        for m in range(len(self.goal.models)):
            mine = simulations.model == m
            v[mine] = self._variable(m, z[mine]).numpy()
        return Batch(inputs, torch.from_numpy(simulations.model.astype(np.int64)), torch.from_numpy(v)).to(self.device)

    def _variable(self, m: int, z: NDArray[np.float32]) -> Tensor:
        """v of participants of model `m` with parameters `z` (J, P) on the normal scale, (J, D)."""
        parts = []
        if self.goal.about_models:
            code = np.eye(len(self.goal.models), dtype=np.float32)[m] if self.model_as == "one-hot" else np.array([m + 1], np.float32)
            parts.append(np.broadcast_to(code, (len(z), len(code))))
        if self.goal.about_parameters:
            theta = np.zeros((len(z), self.goal.widest), np.float32)
            for p, prior in enumerate(self.goal.models[m].parameters.values()):
                theta[:, p] = prior.from_normal(z[:, p]) if self.scale == "natural" else z[:, p]
            parts.append(theta)
        return torch.from_numpy(np.concatenate(parts, axis=-1))

    def _everyone(self, m: int, z: NDArray[np.float32], n: int) -> Tensor:
        """v of model `m` for each of `n` participants, (J, n, D)."""
        return self._variable(m, z)[:, None].expand(-1, n, -1)

    def _scores(self, v: Tensor, summaries: Tensor) -> Tensor:
        """T for v (J, N, D) and summaries (N, S), (J, N), a part of the pairs at a time."""
        rows = max(1, PAIRS // max(1, len(summaries)))
        return torch.cat([self.critic(part, summaries) for part in torch.split(v, rows)])


def contrast_order(n: int, contrasts: int, generator: torch.Generator | None = None) -> Tensor:
    """Who pairs with whom, (K + 1, n): first everyone with themselves, then K times everyone with someone else, never twice the same."""
    shuffled = torch.randperm(n, generator=generator)
    order = torch.empty(min(contrasts, max(1, n - 1)) + 1, n, dtype=torch.int64)
    order[0] = torch.arange(n)
    for k in range(1, len(order)):
        order[k, shuffled] = shuffled.roll(-k)
    return order
