"""Between two bounds: information by likelihood where integrals over parameters have to be sampled.

With draws theta_1 … theta_L from a proposal q_m(theta | y) for each model, and weights w = p(y | theta, m) p(theta) / q_m(theta | y),

    Z = sum over m of p(m) (1 / L) sum over l of w_ml

is unbiased for p(y), so that E log Z <= log p(y). If one of the draws of the true model is replaced by the true parameters, which are a
draw from the posterior, then E log Z >= log p(y) (Grosse, Ghahramani & Adams 2015; Foster et al. 2020). The same holds for p(y | m) and,
over nuisance parameters, for p(y | m, theta_A). So

    I(v; y) = E log p(y | v) - E log p(y)

lies between what the two make of it, and how far they are apart says how good the proposal is: a first look at the likelihood
(`pilot.py`) will do for a few parameters, a trained posterior for more. Draws come from a mixture with the prior, so that no weight can
be large because the proposal overlooked something.

References:
    Grosse, Ghahramani & Adams (2015), Sandwiching the marginal likelihood using bidirectional Monte Carlo.
    Foster, Jankowiak, O'Meara, Teh & Rainforth (2020), A unified stochastic gradient approach to designing Bayesian-optimal experiments.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Mapping, NamedTuple, Protocol, Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax

from ..behavior import Behavior
from ..models.base import LikelihoodModel
from ..models.evidence import log_likelihoods, require_likelihoods
from ..models.logsumexp import logsumexp
from ..models.simulation import Simulations
from ..priors import on_normal_scale
from ..question import Question
from ..tasks.base import Task
from .estimate import Floats, Pointwise
from .pilot import Pilot

DRAWS = 512
"""L, if the proposal is a first look."""
DRAWS_LEARNED = 256
"""L, if the proposal is a trained posterior."""
DRAWS_NUISANCE = 2048
"""L of nuisance parameters, which are drawn from the prior."""
FROM_PRIOR = 0.2
"""The share of draws from the prior."""
NEGLIGIBLE = 0.25
"""How far apart bounds may be, in standard errors, to be called one number."""


class Proposal(Protocol):
    """A posterior to draw all parameters of a model from, on the normal scale."""

    def draw(self, m: int, behavior: Behavior, designs: Floats, draws: int, rng: np.random.Generator) -> Floats:
        """Draws (L, N, P)."""
        ...

    def log_density(self, m: int, behavior: Behavior, designs: Floats, z: Floats) -> Floats:
        """log q(z | y) at z (L, N, P), (L, N)."""
        ...


class Between(NamedTuple):
    """What simulated participants contribute to a lower and to an upper bound, and their evidence.

    Arguments:
        lower: The lower bound.
        upper: The upper bound; the same as the lower one where models know their evidence.
        evidence: log p(y | m), (N, M).
    """

    lower: Pointwise
    upper: Pointwise
    evidence: Floats

    @property
    def agree(self) -> bool:
        """Are the bounds as near as makes no difference?"""
        return self.upper.minus(self.lower).nats <= max(NEGLIGIBLE * self.lower.estimate().se, 0.002)

    @staticmethod
    def concatenate(parts: Sequence[Between], failed: int) -> Between:
        """All participants of all `parts`, in order, `failed` others having been replaced."""
        lower, upper = (Pointwise.concatenate(points) for points in ([part.lower for part in parts], [part.upper for part in parts]))
        evidence = np.concatenate([part.evidence for part in parts])
        return Between(replace(lower, failed=failed), replace(upper, failed=failed), evidence)


def information_between(
    task: Task,
    question: Question,
    simulations: Simulations,
    rng: np.random.Generator,
    proposal: Proposal | None = None,
    draws: int | None = None,
) -> Between:
    """What simulated participants contribute to a lower and to an upper bound of the information.

    Arguments:
        proposal: To draw parameters from; a first look if not given.
        draws: L; as many as the proposal needs, if not given.
    """
    sampler = _Sampler(task, question, simulations, rng, proposal, draws)
    models, prior, failed = simulations.model, question.prior, len(simulations.failures)
    evidence = [sampler.evidences(with_truth) for with_truth in (False, True)]
    given = [sampler.given(part, with_truth) for part, with_truth in zip(evidence, (False, True), strict=True)]
    marginal = [logsumexp(part + question.log_prior, axis=1) for part in evidence]
    correct = (evidence[0] + question.log_prior).argmax(1) == models if question.about_models else None
    luck = sampler.luck(evidence[0])
    lower = Pointwise(given[0] - marginal[1], models, prior, "lower bound", None, correct, failed, luck)
    return Between(lower, replace(lower, values=given[1] - marginal[0], kind="upper bound"), evidence[0])


class _Sampler:
    """Weighted draws for simulated participants; see above."""

    def __init__(
        self,
        task: Task,
        question: Question,
        simulations: Simulations,
        rng: np.random.Generator,
        proposal: Proposal | None,
        draws: int | None,
    ) -> None:
        self.task, self.question, self.simulations, self.rng = task, question, simulations, rng
        self.models, self.draws = require_likelihoods(question.models), draws or (DRAWS if proposal is None else DRAWS_LEARNED)
        self.nuisance_draws = draws or DRAWS_NUISANCE
        self.proposal = proposal or Pilot(task, self.models, simulations)
        drawn = [self._drawn(m) for m in range(len(self.models))]
        self._log_likelihoods, self._weights = [one for one, _ in drawn], [one - mixture for one, mixture in drawn]
        self._truth_likelihood, mixture = self._truth()
        self._at_truth = self._truth_likelihood - mixture

    def evidences(self, with_truth: bool) -> Floats:
        """log of the estimates of p(y | m), (N, M); one draw of the true model replaced by the truth, if so asked."""
        columns = [logsumexp(weights, axis=0) for weights in self._weights]
        for m, weights in enumerate(self._weights if with_truth else []):
            chosen = self.simulations.model == m
            rest = logsumexp(weights[1:, chosen], axis=0)
            columns[m][chosen] = np.logaddexp(rest, self._at_truth[chosen])
        return np.asarray(np.stack(columns, axis=1) - np.log(self.draws))

    def given(self, evidence: Floats, with_truth: bool) -> Floats:
        """log of the estimates of p(y | v), (N,), from those of p(y | m), (N, M)."""
        values = evidence[np.arange(len(evidence)), self.simulations.model]
        for m, model in enumerate(self.models):
            asked, chosen = self.question.parameters(m), np.flatnonzero(self.simulations.model == m)
            if asked and len(chosen):
                values[chosen] = self._given_parameters(m, model, list(asked), chosen, with_truth)
        return values

    def luck(self, evidence: Floats) -> Floats | None:
        """How well the true v fits the behavior beyond what v do that could have produced it, (N,); None with nuisance parameters.

        Arguments:
            evidence: log p(y | m), (N, M).
        """
        truth, expected = evidence[np.arange(len(evidence)), self.simulations.model], evidence.copy()
        for m, (model, weights) in enumerate(zip(self.models, self._weights, strict=True)):
            asked, chosen = self.question.parameters(m), self.simulations.model == m
            if asked and len(asked) < len(model.parameters):
                return None
            if asked:
                truth[chosen] = self._truth_likelihood[chosen]
                expected[:, m] = mean_of_possible(weights, self._log_likelihoods[m], 0)
        return np.asarray(truth - mean_of_possible(evidence + self.question.log_prior, expected, 1))

    def _given_parameters(self, m: int, model: LikelihoodModel, asked: list[str], chosen: NDArray[np.intp], with_truth: bool) -> Floats:
        """log p(y | m, theta_A) of the participants `chosen`; the others' parameters are nuisance, drawn from their prior."""
        part = self.simulations[chosen]
        truth = part.truth(m)
        draws = 1 if len(asked) == len(model.parameters) else self.nuisance_draws
        z = self.rng.standard_normal((draws, len(chosen), len(model.parameters)))
        if with_truth:
            z[0] = on_normal_scale(model.parameters, truth, len(chosen))
        log_likelihood = self._likelihoods(model, part, z, {name: truth[name] for name in asked})
        return np.asarray(logsumexp(log_likelihood, axis=0) - np.log(draws))

    def _drawn(self, m: int) -> tuple[Floats, Floats]:
        """log p(y | theta) of draws for everybody, and log of the density that they come from, over that of the prior, (L, N) each."""
        model, people = self.models[m], self.simulations
        z = self.rng.standard_normal((self.draws, len(people), len(model.parameters)))
        drawn = self.proposal.draw(m, people.behavior, people.designs, self.draws, self.rng)
        z = np.where(self.rng.random((*z.shape[:2], 1)) < FROM_PRIOR, z, drawn)
        return self._likelihoods(model, people, z), self._log_mixture(m, z)

    def _truth(self) -> tuple[Floats, Floats]:
        """The same at the true parameters, (N,) each."""
        log_likelihood, log_mixture = np.empty((2, len(self.simulations)))
        for m, model in enumerate(self.models):
            part, chosen = self.simulations.of(m), self.simulations.model == m
            if len(part):
                truth, z = part.truth(m), np.zeros((1, len(chosen), len(model.parameters)))
                for p, (name, prior) in enumerate(model.parameters.items()):
                    z[0, chosen, p] = prior.to_normal(truth[name], part.within.get(f"{model.name}.{name}", 0.5))
                log_likelihood[chosen] = model.log_likelihood(truth, part.behavior, part.designs, self.task)
                log_mixture[chosen] = self._log_mixture(m, z)[0, chosen]
        return log_likelihood, log_mixture

    def _log_mixture(self, m: int, z: Floats) -> Floats:
        """log of the density of the mixture that draws z (L, N, P) come from, over that of the prior, (L, N)."""
        log_prior = -0.5 * (z**2 + np.log(2 * np.pi)).sum(-1)
        log_q = self.proposal.log_density(m, self.simulations.behavior, self.simulations.designs, z) - log_prior
        return np.asarray(np.logaddexp(np.log(FROM_PRIOR), np.log1p(-FROM_PRIOR) + log_q))

    def _likelihoods(self, model: LikelihoodModel, people: Simulations, z: Floats, exactly: Mapping[str, Floats] | None = None) -> Floats:
        """log p(y | theta) at parameters z (L, N, P), (L, N); those given `exactly`, (N,) each, are taken digit by digit."""
        theta = {name: prior.from_normal(z[..., p]).T for p, (name, prior) in enumerate(model.parameters.items())}
        theta |= {name: values[:, None] for name, values in (exactly or {}).items()}
        log_p = log_likelihoods(model, theta, people.behavior, people.designs, self.task).T
        return np.ascontiguousarray(np.broadcast_to(log_p, z.shape[:2]))


def mean_of_possible(log_weights: Floats, values: Floats, axis: int) -> Floats:
    """The weighted mean of `values` along an axis; those of no weight may be infinite."""
    weights = softmax(log_weights, axis=axis)
    return np.asarray((weights * np.where(weights > 0, values, 0.0)).sum(axis))
