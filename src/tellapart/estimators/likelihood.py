"""A learned likelihood corrects a learned posterior.

A posterior network sees one example in each simulated participant, a network of the law of responses (`networks/law.py`) one in each
trial. So the likelihood is learned sooner than the posterior, and the posterior serves as what draws are proposed from. With draws
theta_1 … theta_L from q(theta | y), a law l(y | theta), and weights w = p(theta) l / q,

    I(theta; y) >= E[log l(y | theta_0) / mean(w_0, w_1 … w_L)]        for the true theta_0, whatever l and q are (Foster et al. 2020),
    I(m; y)     >= E[log q'(m | y) / p(m)],  q'(m | y) ∝ p(m) mean(w_1 … w_L of model m).

With l = q / p the weights are 1 and this is the posterior bound. What is used lies between that and the learned law, l^b (q / p)^(1 - b),
where b in (0, 1) is learned with the rest, so that a law that is no good does no harm.

References:
    Foster et al. (2020), A unified stochastic gradient approach to designing Bayesian-optimal experiments.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, ClassVar, Iterator

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from ..models.simulation import Simulations
from ..networks.base import Encoder
from ..networks.heads import Classifier, Flow
from ..networks.law import Law, Trials
from ..question import Question, everything
from .base import Batch, Estimator
from .posterior import PosteriorEstimator

DRAWS = 32
"""L."""

TOGETHER = 256
"""Draws of all participants whose likelihood is computed at once: few enough for the processor's cache."""

CORRECTED = 512
"""Participants up to whom the bound of each is corrected when it is measured; of more, so many are, and their mean holds for all."""

JUDGED, JUDGED_DRAWS = 2, 16
"""Participants of a batch from whom b is learned, and draws of each."""

QUICKLY = 8.0
"""b = sigmoid(8 x): one number of which every batch says little moves more quickly than weights do."""

BEGIN = 0.8
"""b to begin with."""

READ = 0.25
"""The share of a batch whose trials laws learn from: they have many examples in each participant."""


class LikelihoodEstimator(Estimator):
    """A posterior that is corrected by learned laws of responses.

    Where some parameters are nuisance, the posterior of the others is not corrected; that of models is.
    """

    name: ClassVar[str] = "likelihood"
    steps: ClassVar[float] = 0.35
    sources: tuple[str, ...] = ("foster2020unified",)

    def __init__(self, question: Question, encoder: Encoder) -> None:
        trials = Trials(encoder)
        super().__init__(question, trials)
        self.posterior = PosteriorEstimator(question, trials)
        del self.posterior.encoder
        self.posterior.__dict__["encoder"] = trials  # the same encoder, among whose weights it counts once
        self.sources = (*self.posterior.sources, *self.sources)
        self.all, models = everything(question), range(len(question.models))
        self.widths = [len(self.all.parameters(m)) for m in models]
        self.asked = [[list(self.all.parameters(m)).index(name) for name in question.parameters(m)] for m in models]
        hidden = [m for m in models if self.widths[m] != len(self.asked[m])]
        self.nuisance = nn.ModuleDict({f"{m}": Flow(encoder.summaries, self.widths[m]) for m in hidden})
        self.laws = nn.ModuleList(Law(trials, width) for width in self.widths)
        self.balance = nn.Parameter(torch.logit(torch.tensor([BEGIN])) / QUICKLY)

    @property
    def trust(self) -> Tensor:
        """b, how far laws are trusted, (1,)."""
        return torch.sigmoid(QUICKLY * self.balance)

    @property
    def quick(self) -> Estimator:
        return self.posterior

    def code(self, simulations: Simulations) -> NDArray[np.float32]:
        """All parameters on the normal scale."""
        return self.all.theta(simulations)

    def loss(self, batch: Batch, generator: torch.Generator | None = None) -> Tensor:
        """Posterior, laws and b are learned side by side; the value is that of the posterior alone."""
        summaries = self.encoder(batch.inputs)
        bound, rest = self.posterior.bound_of(summaries, self._for_posterior(batch)).mean(), summaries.new_zeros(())
        for m, chosen in _each(batch, len(self.widths)):
            if f"{m}" in self.nuisance:
                rest = rest - self._flow(m).information(batch.v[chosen, : self.widths[m]], summaries[chosen]).sum() / len(batch)
            read = chosen[: math.ceil(READ * len(chosen))]
            inputs = batch.inputs[read]
            log_p = self.laws[m](inputs, batch.v[read, : self.widths[m]])
            rest = rest - log_p.sum() / inputs[..., -1].sum().clamp(min=1.0)
        rest = rest - self._corrected(batch[:JUDGED], summaries[:JUDGED].detach(), JUDGED_DRAWS, generator or _seeded(0)).mean()
        return -bound + rest - rest.detach()

    def bound(self, batch: Batch, generator: torch.Generator | None = None) -> Tensor:
        generator, size = generator or _seeded(0), TOGETHER // DRAWS
        with torch.no_grad():
            summaries = self.encoder(batch.inputs)
        parts = (slice(start, start + size) for start in range(0, len(batch), size))
        return torch.cat([self._corrected(batch[part], summaries[part], DRAWS, generator) for part in parts])

    def measure(self, batch: Batch, seed: int) -> tuple[Tensor, Tensor | None]:
        """The bound of the posterior, and to it the mean correction of some participants of each model."""
        if len(batch) <= CORRECTED:
            return self.bound(batch, _seeded(seed)), None
        groups = list(_each(batch, len(self.widths)))
        few = torch.cat([chosen[: CORRECTED // len(groups)] for _, chosen in groups])
        corrected = self.bound(batch[few], _seeded(seed))
        values = self.chunked(lambda part: self.posterior.bound(self._for_posterior(part)), batch)
        correction, influence = corrected - values[few], values.clone()
        for m, chosen in groups:
            mine = batch.model[few] == m
            mean = correction[mine].mean()
            values[chosen] += mean
            influence[few[mine]] += len(chosen) / mine.sum() * (correction[mine] - mean)
        return values, influence

    def log_model_probabilities(self, inputs: Tensor) -> Tensor:
        generator, size = _seeded(0), TOGETHER // DRAWS
        parts = zip(inputs.split(size), self.encoder(inputs).split(size), strict=True)
        return torch.cat([self._log_shares(part, summaries, DRAWS, generator) for part, summaries in parts])

    def sample_theta(self, inputs: Tensor, model: int, draws: int, generator: np.random.Generator) -> Tensor:
        """Of twice as many draws from the flow, those that are picked with probabilities in proportion to their weights."""
        if f"{model}" in self.nuisance:
            return self.posterior.sample_theta(inputs, model, draws, generator)
        random, kept = _seeded(int(generator.integers(2**63))), []
        for part in inputs.split(max(1, TOGETHER // (2 * draws))):
            z, log_w = self._weighed(model, part, self.encoder(part), 2 * draws, random)
            chance = -torch.log(torch.empty(log_w.shape).exponential_(generator=random)).to(log_w.device)
            picked = (log_w + chance).topk(draws, dim=0).indices
            kept.append(z.gather(0, picked[..., None].expand(-1, -1, z.shape[-1])))
        return torch.cat(kept, dim=1)

    def flow(self, inputs: Tensor, model: int) -> Any:
        return self.posterior.flow(inputs, model)

    def _for_posterior(self, batch: Batch) -> Batch:
        """The batch with the parameters that are asked about alone."""
        v = batch.v.new_zeros(len(batch), self.question.widest)
        for m, chosen in _each(batch, len(self.widths)):
            v[chosen, : len(self.asked[m])] = batch.v[chosen][:, self.asked[m]]
        return replace(batch, v=v)

    def _corrected(self, batch: Batch, summaries: Tensor, draws: int, generator: torch.Generator) -> Tensor:
        """The bound, (N,); of the weights, b alone can learn from it."""
        total = summaries.new_zeros(len(batch))
        if self.question.about_models:
            log_shares = self._log_shares(batch.inputs, summaries, draws, generator) - self.posterior.log_prior
            total = total + log_shares.gather(-1, batch.model[:, None]).squeeze(-1)
        for m, chosen in _each(batch, len(self.widths)):
            if not self.asked[m]:
                continue
            inputs, s, z = batch.inputs[chosen], summaries[chosen], batch.v[chosen, : self.widths[m]]
            if f"{m}" in self.nuisance:
                with torch.no_grad():
                    information = self.posterior.head(m).information(z[:, self.asked[m]], s)
            else:
                information = self._contrast(m, inputs, s, z, draws, generator)
            # of a prior of which a share cannot be simulated, the rest is denser by 1 / (the share that is kept)
            total = total.index_add(0, chosen, information + batch.kept[m])
        return total

    def _contrast(self, m: int, inputs: Tensor, s: Tensor, z: Tensor, draws: int, generator: torch.Generator) -> Tensor:
        """log l(y | z) / mean of all weights, (N,)."""
        with torch.no_grad():
            ratio = self._flow(m).information(z, s)
            log_p = self.laws[m](inputs, z)
        own = self.trust * (log_p - ratio)
        everybody = torch.cat([self._weighed(m, inputs, s, draws, generator)[1], own[None]])
        return own + ratio - (torch.logsumexp(everybody, dim=0) - math.log(draws + 1))

    def _log_shares(self, inputs: Tensor, s: Tensor, draws: int, generator: torch.Generator) -> Tensor:
        """log q'(m | y), (N, M)."""
        classifier, b, evidence = self.posterior.classifier, self.trust, []
        assert isinstance(classifier, Classifier)
        with torch.no_grad():
            log_q = classifier(s) - self.posterior.log_prior
        for m in range(len(self.widths)):
            log_w = self._weighed(m, inputs, s, draws, generator)[1]
            evidence.append(torch.logsumexp(log_w, dim=0) - math.log(len(log_w)) + (1 - b) * log_q[:, m])
        return torch.log_softmax(torch.stack(evidence, dim=-1) + self.posterior.log_prior, dim=-1)

    def _weighed(self, m: int, inputs: Tensor, s: Tensor, draws: int, generator: torch.Generator) -> tuple[Tensor, Tensor]:
        """Draws from the flow of all parameters of model m, (L, N, P), and the logarithm of their weights, (L, N)."""
        with torch.no_grad():
            if not self.widths[m]:
                z, ratio = s.new_zeros(1, len(s), 0), s.new_zeros(1, len(s))
            else:
                z = self._flow(m).sample(s, draws, generator)
                ratio = self._flow(m).information(z, s)
            log_p = self.laws[m](inputs, z)
        return z, self.trust * (log_p - ratio)

    def _flow(self, m: int) -> Flow:
        """The flow of all parameters of model m."""
        if f"{m}" not in self.nuisance:
            return self.posterior.head(m)
        flow = self.nuisance[f"{m}"]
        assert isinstance(flow, Flow)
        return flow


def _each(batch: Batch, models: int) -> Iterator[tuple[int, Tensor]]:
    """The models that participants of a batch follow, and who they are."""
    for m in range(models):
        chosen = torch.nonzero(batch.model == m).squeeze(-1)
        if len(chosen):
            yield m, chosen


def _seeded(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)
