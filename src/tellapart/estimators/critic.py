"""Critic bounds: a network T(v, y) that tells pairs that belong together from pairs that do not.

Joint pairs (v_i, y_i) are simulated; contrasts, pairs from the product of the marginals, are the same simulations with v
permuted within the batch. A bound is a function of T at both, `pointwise_bound`, and that is all a new bound has to write.

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
from typing import ClassVar, Literal, Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from ..models.simulation import Simulations
from ..networks.base import Encoder
from ..networks.heads import Critic
from ..optimizer import OptimizerName
from ..question import Question
from .base import Batch, Estimator

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
    optimizer: ClassVar[OptimizerName] = "adam"

    def __init__(
        self,
        question: Question,
        encoder: Encoder,
        hidden: tuple[int, ...] = (32, 32),
        model_as: Literal["number", "one-hot"] = "number",
        scale: Literal["natural", "normal"] = "natural",
        pool: int = 4096,
        activation: type[nn.Module] = nn.ReLU,
    ) -> None:
        super().__init__(question, encoder)
        self.model_as, self.scale, self.pool = model_as, scale, pool
        width = (len(question.models) if model_as == "one-hot" else 1) if question.about_models else 0
        self.critic = Critic(encoder.summaries, width + question.widest, hidden, activation)

    @classmethod
    def for_every_design(cls, question: Question, encoder: Encoder) -> Self:
        """The published critic is too small for all designs at once, and stalls on the number of a model."""
        return cls(question, encoder, hidden=(128, 128), model_as="one-hot", scale="normal", activation=nn.SiLU)

    @abstractmethod
    def pointwise_bound(self, joint: Tensor, contrast: Tensor) -> Tensor:
        """The pointwise bound b_i, (N,), from T at joint pairs (N,) and at contrasts (K, N). Must not overflow, whatever T is."""

    def code(self, simulations: Simulations) -> NDArray[np.float32]:
        """v as the critic sees it: the model, then the parameters asked about."""
        v, z = np.zeros((len(simulations), self.critic.variables), np.float32), self.question.theta(simulations)
        for m in range(len(self.question.models)):
            v[simulations.model == m] = self._variable(m, z[simulations.model == m])
        return v

    def bound(self, batch: Batch, generator: torch.Generator | None = None) -> Tensor:
        if self.contrasts == 1:  # a plain permutation, as published: quicker, and no worse in training
            order = torch.randperm(len(batch), generator=generator).to(self.device)
            paired = torch.stack([batch.v, batch.v.index_select(0, order)])
        else:
            paired = batch.v[contrast_order(len(batch), self.contrasts, generator).to(self.device)]
        scores = self.critic(paired, self.encoder(batch.inputs))
        return self.pointwise_bound(scores[0], scores[1:])

    def measure(self, batch: Batch, seed: int) -> tuple[Tensor, Tensor | None]:
        """The bound over repeated permutations, and the influence derived above."""
        order = contrast_order(len(batch), self.estimate_contrasts, torch.Generator().manual_seed(seed)).to(self.device)
        scores = self._scores(batch.v[order], self.chunked(lambda part: self.encoder(part.inputs), batch)).double().clamp(max=LIMIT)
        with torch.enable_grad():
            contrast = scores[1:].requires_grad_()
            bound = self.pointwise_bound(scores[0], contrast)
            (weight,) = torch.autograd.grad(bound.sum(), contrast)
        served = torch.zeros(len(batch), dtype=torch.float64, device=self.device).index_add(0, order[1:].reshape(-1), weight.reshape(-1))
        return bound.detach(), (bound + served).detach()

    def log_model_probabilities(self, inputs: Tensor) -> Tensor:
        """log p(m) e^T, normalised over the M models, (N, M); parameters that v holds are averaged over their prior."""
        summaries, log_prior = self.encoder(inputs), torch.tensor(self.question.log_prior, dtype=torch.float32, device=self.device)
        draws = torch.randn(256 if self.question.widest else 1, self.question.widest, generator=torch.Generator().manual_seed(0)).numpy()
        variables = (torch.from_numpy(self._variable(m, draws)).to(self.device) for m in range(len(self.question.models)))
        scores = torch.stack([self._scores(v[:, None].expand(-1, len(inputs), -1), summaries).logsumexp(0) for v in variables], dim=-1)
        return torch.log_softmax(scores + log_prior, dim=-1)

    def sample_theta(self, inputs: Tensor, model: int, draws: int, generator: np.random.Generator) -> Tensor:
        """Draws from the prior, weighted by e^T and resampled: systematically, so that weights are met as closely as can be."""
        z = generator.standard_normal((self.pool, len(self.question.parameters(model)))).astype(np.float32)
        offsets = torch.from_numpy(generator.random((len(inputs), 1)))
        ticks = ((torch.arange(draws) + offsets) / draws).to(self.device)
        summaries, v = self.encoder(inputs), torch.from_numpy(self._variable(model, z)).to(self.device)
        chosen, size = [], max(1, PAIRS // self.pool)
        for start in range(0, len(inputs), size):
            rows = summaries[start : start + size]
            shares = self.critic(v[:, None].expand(-1, len(rows), -1), rows).double().softmax(0).cumsum(0).T.contiguous()
            chosen.append(torch.searchsorted(shares, ticks[start : start + size]).clamp(max=self.pool - 1))
        return torch.from_numpy(z).to(self.device)[torch.cat(chosen).T]

    def _variable(self, m: int, z: NDArray[np.float32]) -> NDArray[np.float32]:
        """v of participants of model `m` with parameters `z` (J, P) on the normal scale, (J, D)."""
        parts = []
        if self.question.about_models:
            code = np.eye(len(self.question.models), dtype=np.float32)[m] if self.model_as == "one-hot" else np.array([m + 1], np.float32)
            parts.append(np.broadcast_to(code, (len(z), len(code))))
        theta = np.zeros((len(z), self.question.widest), np.float32)
        for p, prior in enumerate(self.question.parameters(m).values()):
            theta[:, p] = prior.from_normal(z[:, p]) if self.scale == "natural" else z[:, p]
        return np.concatenate([*parts, theta], axis=-1)

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
