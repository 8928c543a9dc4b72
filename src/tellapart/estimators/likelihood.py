"""A learned likelihood corrects a learned posterior.

A posterior network sees one example in each simulated participant, a network of the law of responses (`networks/law.py`) one in each
trial. So the likelihood is learned sooner than the posterior, and the posterior serves as what draws are proposed from. With draws
theta_1 … theta_L from q(theta | y), a law l(y | theta), and weights w = p(theta) l / q,

    I(theta; y) >= E[log l(y | theta_0) / mean(w_0, w_1 … w_L)]        for the true theta_0, whatever l and q are (Foster et al. 2020),
    I(m; y)     >= E[log q'(m | y) / p(m)],  q'(m | y) ∝ p(m) mean(w_1 … w_L of model m).

With l = q / p the weights are 1 and this is the posterior bound. What is used lies between that and the learned law, l^b (q / p)^(1 - b),
where b from 0 to 1 is chosen when training ends, by participants who come after the last batch, so that a law that is no good does no
harm. Networks that learned in ways so different err in ways that are partly their own, so that an equal say for each is the first choice,
one half with one law and two thirds with two. The best b is taken only if it is clearly better, or if laws alone are clearly better than
the posterior alone.

References:
    Foster et al. (2020), A unified stochastic gradient approach to designing Bayesian-optimal experiments.
"""

from __future__ import annotations

import copy
import math
from dataclasses import replace
from typing import Callable, ClassVar, Iterable, Self

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor, nn

from ..behavior import Behavior
from ..models.simulation import Simulations
from ..models.symmetry import read_in_order
from ..networks.base import Encoder
from ..networks.heads import Classifier, Flow, Normals
from ..networks.law import Law, Laws, Trials, responses_of
from ..question import Question, everything
from ..tasks.base import Task
from .base import Batch, Estimator, Tilt
from .posterior import PosteriorEstimator

DRAWS = 32
"""L, unless an estimator is told otherwise."""

CAREFUL = 256
"""L for what is said of single people."""

TOGETHER = 46_080
"""Options of trials, of all draws of all participants, whose probability is computed at once: few enough for the processor's cache."""

DRAWN = 8192
"""Draws, of all participants, that are made at once."""

MOST = 8 * TOGETHER
"""The same where many draws are asked for, so that memory does not grow with their number."""

CORRECTED = 256
"""Participants up to whom the bound of each is corrected when it is measured; of more, these or one in `ONE_IN` are, and hold for all."""

ONE_IN = 8
"""See `CORRECTED`."""

JUDGES = 512
"""Participants by whom b is chosen, at least."""

TRUST = (0.0, 0.2, 0.35, 0.5, 2 / 3, 0.8, 0.9, 1.0)
"""What b is chosen from."""

CLEARLY = 2.0
"""Standard errors, of a paired difference, from which on one bound is clearly better than another."""

READ = 0.25
"""The share of a batch's blocks that laws learn from, beside a posterior that learns from all of it: each participant has many trials."""


class LikelihoodEstimator(Estimator):
    """A posterior that is corrected by learned laws of responses.

    Where some parameters are nuisance, the posterior of the others is not corrected; that of models is.
    """

    name: ClassVar[str] = "likelihood"
    sources: tuple[str, ...] = ("foster2020unified",)

    encoder: Trials

    def __init__(self, question: Question, encoder: Encoder, laws: int = 1) -> None:
        trials = Trials(encoder, read_in_order(question.models, encoder.task))
        super().__init__(question, trials)
        self.proposals, self.read = DRAWS, READ  # L; the share of a batch that the law learns from
        self.posterior = PosteriorEstimator(question, encoder)
        del self.posterior.encoder
        self.posterior.__dict__["encoder"] = encoder  # that of the trials, among whose weights it counts once
        self.sources = (*self.posterior.sources, *self.sources)
        self.all, models = everything(question), range(len(question.models))
        self.widths = [len(self.all.parameters(m)) for m in models]
        self.asked = [question.places(m) for m in models]
        hidden = [m for m in models if self.widths[m] != len(self.asked[m])]
        self.nuisance = nn.ModuleDict({f"{m}": Normals(encoder.summaries, self.widths[m]) for m in hidden})
        learned = [Law(trials, max(self.widths), len(self.widths)) for _ in range(laws)]
        self.law: Law | Laws = Laws(learned) if laws > 1 else learned[0]
        self.equal = laws / (laws + 1)  # b, if each network has an equal say
        self.trust: Tensor  # b, how far laws are trusted, (1,)
        self.register_buffer("trust", torch.tensor([self.equal]))

    @staticmethod
    def share_of_steps(question: Question) -> float:
        """Fewer where all is corrected; parameters beside nuisance are not, those of models that are told apart included."""
        return 0.4 if not question.about_parameters or question.about == everything(question).about else 1.0

    @staticmethod
    def corrects(estimator: Estimator) -> bool:
        """Can a trained estimator be corrected by a law that is learned afterwards?"""
        return isinstance(estimator.quick, PosteriorEstimator) and can_correct(estimator.question)

    @classmethod
    def around(cls, estimator: Estimator, seed: int, laws: int = 1) -> Self:
        """One whose posterior is that of a trained estimator and stays as it is: laws are learned, and draws of nuisance parameters. If the
        estimator has a law, that is where the first of them begins.
        """
        quick = estimator.quick
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            made = cls(estimator.question, copy.deepcopy(quick.encoder), laws)
        learned = {name: value for name, value in quick.state_dict().items() if not name.startswith("encoder.")}
        made.posterior.load_state_dict(learned)
        if isinstance(estimator, cls):
            made.encoder.load_state_dict(estimator.encoder.state_dict())
            made.nuisance.load_state_dict(estimator.nuisance.state_dict())
            known = copy.deepcopy(estimator.law)
            made.law = Laws([known, *list(made.law.laws)[1:]]) if isinstance(made.law, Laws) else known
        for part in (made.encoder.inner, made.posterior):
            part.requires_grad_(False)
        return made.to(estimator.device)

    @property
    def quick(self) -> Estimator:
        return self.posterior

    @property
    def careful(self) -> Estimator:
        made = copy.copy(self)
        made.proposals = max(self.proposals, CAREFUL)
        return made

    def _sequences(self, options: int) -> int:
        """Of how many draws or participants so many options are."""
        return max(1, options // (self.task.blocks * self.task.trials * self.encoder.options))

    def code(self, simulations: Simulations) -> NDArray[np.float32]:
        """All parameters on the normal scale."""
        return self.all.theta(simulations)

    def loss(self, batch: Batch, generator: torch.Generator | None = None) -> Tensor:
        """Posterior and laws are learned side by side; the value is that of the posterior alone."""
        summaries = self.encoder(batch.inputs)
        loss, rest = self.posterior.loss_of(summaries, self._for_posterior(batch)), summaries.new_zeros(())
        for m, chosen in batch.by_model():
            if f"{m}" in self.nuisance:
                rest = rest - self._proposal(m).information(batch.v[chosen, : self.widths[m]], summaries[chosen]).sum() / len(batch)
        read = self._read(batch)
        log_p = self.law(read.inputs, read.v, read.model)
        rest = rest - log_p.sum() / read.inputs[..., -1].sum().clamp(min=1.0)
        return loss + rest - rest.detach()

    def _read(self, batch: Batch) -> Batch:
        """The share of all blocks that laws learn from: of as many participants as there are, since each has parameters of its own; of
        all blocks of fewer participants if they are read in order, and of fewer blocks where options are many.
        """
        n, blocks = batch.inputs.shape[:2]
        if self.encoder.in_order:
            return batch[_some_of_each(batch, min(math.ceil(self.read * n), max(8, self._sequences(TOGETHER))))]
        wanted, most = math.ceil(self.read * n * blocks), max(8, blocks * self._sequences(TOGETHER))
        if most < min(wanted, n):
            who = turn = _some_of_each(batch, most)
        else:
            each = torch.arange(min(wanted, most), device=batch.inputs.device)
            who, turn = each % n, each // n
        return replace(batch[who], inputs=batch.inputs[who, (who + turn) % blocks, None])

    def settle(self, further: Iterable[Batch]) -> None:
        """Choose b: an equal say for all, unless another one, or having laws alone rather than none, is clearly better."""
        trusts, judges = torch.tensor(TRUST, device=self.device), list[Batch]()
        for batch in further:
            judges.append(batch)
            if sum(map(len, judges)) >= JUDGES:
                break
        bounds = self._bounds(Batch.concatenate(judges), trusts, _seeded(0)).double()
        best, first = bounds.mean(1).argmax(), (trusts - self.equal).abs().argmin()
        clear = _clearly_better(bounds[best], bounds[first]) or _clearly_better(bounds[-1], bounds[0])
        self.trust.copy_(trusts[best if clear else first])

    def bound(self, batch: Batch, generator: torch.Generator | None = None) -> Tensor:
        return self._bounds(batch, self.trust, generator or _seeded(0)).squeeze(0)

    def tilted(self, batch: Batch, tilt: Tilt, seed: int = 0) -> Tensor:
        return self._bounds(batch, self.trust.expand(len(tilt.shares)), _seeded(seed), tilt)

    @torch.no_grad()
    def _bounds(self, batch: Batch, b: Tensor, generator: torch.Generator, tilt: Tilt | None = None) -> Tensor:
        """The bound for each b (G,) and participant, (G, N); for each share (G,) of a tilt, if there is one."""
        summaries = self.encoder(batch.inputs)
        total = summaries.new_zeros(len(b), len(batch))
        if self.question.about_models:
            log_shares = self._log_shares(batch.inputs, summaries, b, generator)
            log_shares = tilt.of_models(log_shares) if tilt else log_shares
            total = total + (log_shares - self.posterior.log_prior)[:, torch.arange(len(batch)), batch.model]
        for m, chosen in batch.by_model():
            if not self.asked[m]:
                continue
            inputs, s, z = batch.inputs[chosen], summaries[chosen], batch.v[chosen, : self.widths[m]]
            if f"{m}" in self.nuisance:
                asked = z[:, self.asked[m]]
                information = self.posterior.head(m).information(asked, s).expand(len(b), -1)
                information = information + tilt.mixed(m, chosen, asked) if tilt else information
            else:
                information = self._contrast(m, inputs, s, z, b, generator, tilt.times(m, chosen) if tilt else None)
            # of a prior of which a share cannot be simulated, the rest is denser by 1 / (the share that is kept)
            total = total.index_add(1, chosen, information + batch.kept[m])
        return total

    def measure(self, batch: Batch, seed: int) -> tuple[Tensor, Tensor | None]:
        """The bound of the posterior, and to it the mean correction of some participants of each model."""
        if len(batch) <= CORRECTED:
            return self.bound(batch, _seeded(seed)), None
        groups = list(batch.by_model())
        most = max(CORRECTED, len(batch) // ONE_IN)
        few = torch.cat([_some(chosen, math.ceil(most / len(groups))) for _, chosen in groups])
        corrected = self.bound(batch[few], _seeded(seed))
        values = self.chunked(lambda part: self.posterior.bound_of(self.encoder(part.inputs), self._for_posterior(part)), batch)
        correction, influence = corrected - values[few], values.clone()
        for m, chosen in groups:
            mine = batch.model[few] == m
            mean = correction[mine].mean()
            values[chosen] += mean
            influence[few[mine]] += len(chosen) / mine.sum() * (correction[mine] - mean)
        return values, influence

    def log_model_probabilities(self, inputs: Tensor) -> Tensor:
        return self._log_shares(inputs, self.encoder(inputs), self.trust, _seeded(0)).squeeze(0)

    @torch.no_grad()
    def log_evidence_se(self, inputs: Tensor) -> Tensor:
        """From the spread of the weights by which models are told apart; the draws are the same."""
        generator, summaries = _seeded(0), self.encoder(inputs)
        ratios = [self._weighed(m, inputs, summaries, self.proposals, generator)[1] for m in range(len(self.widths))]
        shares = [(self.trust * one).softmax(0) for one in ratios]
        return torch.stack([(one.square().sum(0) - 1 / len(one)).clamp(min=0.0).sqrt() for one in shares], dim=-1)

    def sample_theta(self, inputs: Tensor, model: int, draws: int, generator: np.random.Generator) -> Tensor:
        """Of draws from the flow, twice as many and no fewer than weigh models, each as often as its weight says (systematically)."""
        random = _seeded(int(generator.integers(2**63)))
        if f"{model}" in self.nuisance:
            return self.posterior.head(model).sample(self.encoder(inputs), draws, random)
        z, log_ratio = self._weighed(model, inputs, self.encoder(inputs), max(2 * draws, self.proposals), random)
        below = (self.trust * log_ratio).double().softmax(0).cumsum(0).T.contiguous()
        places = ((torch.arange(draws) + torch.rand(len(inputs), 1, generator=random)) / draws).to(below)
        picked = torch.searchsorted(below, places).clamp(max=len(z) - 1).T
        return z.gather(0, picked[..., None].expand(-1, -1, z.shape[-1]))

    def guess(self, inputs: Tensor) -> Tensor:
        return self._classify(self.encoder(inputs)).argmax(-1)

    @torch.no_grad()
    def propose(self, behavior: Behavior, designs: ArrayLike, draws: int, rng: np.random.Generator) -> list[NDArray[np.float64]]:
        """All parameters of each model, drawn from the proposals for all of the N participants, (draws N, P) on the normal scale."""
        summaries = torch.from_numpy(self.summaries(behavior, designs)).to(self.device)
        random = _seeded(int(rng.integers(2**63)))
        z = [self._proposal(m).sample(summaries, draws, random) if p else summaries.new_zeros(1, 1, 0) for m, p in enumerate(self.widths)]
        return [one.flatten(0, 1).double().cpu().numpy() for one in z]

    def _for_posterior(self, batch: Batch) -> Batch:
        """The batch as the posterior codes it: the parameters that are asked about, and behind them the others."""
        others = self.posterior.rest
        v = batch.v.new_zeros(len(batch), self.question.widest + (others.widest if others else 0))
        for m, chosen in batch.by_model():
            rest = [p for p in range(self.widths[m]) if p not in self.asked[m]]
            for start, which in ((0, self.asked[m]), (self.question.widest, rest)):
                v[chosen, start : start + len(which)] = batch.v[chosen][:, which]
        return replace(batch, v=v)

    def _contrast(
        self,
        m: int,
        inputs: Tensor,
        s: Tensor,
        z: Tensor,
        b: Tensor,
        generator: torch.Generator,
        tilted: Callable[[Tensor], Tensor] | None = None,
    ) -> Tensor:
        """log of the weight of z over the mean of all weights, (G, N); weights of draws (L, N, P) may be tilted, by so much (G, L, N)."""
        ratio = self._proposal(m).information(z, s)
        draws, log_ratio = self._weighed(m, inputs, s, self.proposals, generator)
        everybody = b[:, None, None] * torch.cat([log_ratio, self._log_p(m, inputs, z[None]) - ratio])
        if tilted:
            everybody = everybody + tilted(torch.cat([draws, z[None]]))
        return everybody[:, -1] + ratio - (torch.logsumexp(everybody, dim=1) - math.log(everybody.shape[1]))

    def _log_shares(self, inputs: Tensor, s: Tensor, b: Tensor, generator: torch.Generator) -> Tensor:
        """log q'(m | y), (G, N, M)."""
        log_q, evidence = self._classify(s) - self.posterior.log_prior, []
        for m in range(len(self.widths)):
            log_ratio = self._weighed(m, inputs, s, self.proposals, generator)[1]
            evidence.append(_log_mean(b, log_ratio) + (1 - b[:, None]) * log_q[:, m])
        return torch.log_softmax(torch.stack(evidence, dim=-1) + self.posterior.log_prior, dim=-1)

    @torch.no_grad()
    def _weighed(self, m: int, inputs: Tensor, s: Tensor, draws: int, generator: torch.Generator) -> tuple[Tensor, Tensor]:
        """Proposed draws of all parameters of model m, (L, N, P), and log l p / q of each, (L, N): log w for b = 1."""
        if not self.widths[m]:
            z, ratio = s.new_zeros(1, len(s), 0), s.new_zeros(1, len(s))
        else:
            proposal, found = self._proposal(m), []
            for part in s.split(max(1, DRAWN // draws)):
                some = proposal.sample(part, draws, generator)
                found.append((some, proposal.information(some, part)))
            z, ratio = (torch.cat(parts, dim=1) for parts in zip(*found, strict=True))
        return z, self._log_p(m, inputs, z) - ratio

    def _log_p(self, m: int, inputs: Tensor, z: Tensor) -> Tensor:
        """log l(y | z) under model m, (L, N), of few participants and draws at a time."""
        size = max(8, self._sequences(TOGETHER) // len(z))
        parts = zip(inputs.split(size), z.split(size, dim=1), strict=True)
        return torch.cat([self._log_p_of(m, part, some) for part, some in parts], dim=1)

    def _log_p_of(self, m: int, inputs: Tensor, z: Tensor) -> Tensor:
        model = torch.full((len(inputs),), m, device=inputs.device)
        return torch.cat([self.law(inputs, some, model) for some in z.split(max(1, self._sequences(MOST) // len(inputs)))])

    def _classify(self, s: Tensor) -> Tensor:
        """log q(m | y) of the posterior alone, (N, M)."""
        classifier = self.posterior.classifier
        assert isinstance(classifier, Classifier)
        log_q: Tensor = classifier(s)
        return log_q

    def _proposal(self, m: int) -> Flow | Normals:
        """What draws of all parameters of model m are proposed from."""
        if f"{m}" not in self.nuisance:
            return self.posterior.head(m)
        proposal = self.nuisance[f"{m}"]
        assert isinstance(proposal, Normals)
        return proposal


def can_correct(question: Question) -> bool:
    """Is there something that a law corrects? Not posteriors of parameters where others are nuisance."""
    return question.about_models or question.about == everything(question).about


def pays(task: Task, question: Question) -> bool:
    """Is a law worth its time? Where responses are more than a choice, such as a choice and its time, it takes many times as long to weigh
    by one.
    """
    choice, others = responses_of(task)
    return can_correct(question) and choice is not None and not others


def _some(places: Tensor, count: int) -> Tensor:
    """So many of them, at most, evenly spread: they may lie in an order that means something."""
    count = min(count, len(places))
    return places[torch.arange(count, device=places.device) * len(places) // count]


def _some_of_each(batch: Batch, count: int) -> Tensor:
    """About so many participants, evenly spread over those of each model: where few are read, improbable models have one too."""
    return torch.cat([_some(chosen, math.ceil(count * len(chosen) / len(batch))) for _, chosen in batch.by_model()])


def _log_mean(b: Tensor, log_ratio: Tensor) -> Tensor:
    """log of the mean weight for each b (G,) of draws (L, N), (G, N)."""
    return torch.logsumexp(b[:, None, None] * log_ratio, dim=1) - math.log(len(log_ratio))


def _clearly_better(one: Tensor, other: Tensor) -> bool:
    ahead = one - other
    return bool(ahead.mean() > CLEARLY * ahead.std() / math.sqrt(len(ahead)))


def _seeded(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)
