"""Against what? The recommended design against randomly drawn ones, and the estimate against what likelihoods tell where there are some."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import torch

from ..behavior import Behavior
from ..estimators.base import Estimator
from ..information.estimate import Difference, Floats, InformationEstimate, stratified
from ..information.exact import by_likelihood, log_posterior
from ..search.base import Baseline
from .confusion import Confusion, confusion_matrix
from .participants import Participants


@dataclass(frozen=True)
class BaselineComparison:
    """The information of the recommended design against that of randomly drawn comparison designs.

    Arguments:
        recommended, baseline: Of the recommended design, and of each baseline design.
        mean: The average of the latter.
        gain: What the recommended design tells more than that average, on the same participants.
        ahead: How many baseline designs tell less, on the same participants.
    """

    recommended: InformationEstimate
    baseline: tuple[InformationEstimate, ...]
    mean: InformationEstimate
    gain: Difference
    ahead: int


def against_baseline(recommended: InformationEstimate, baseline: Baseline) -> BaselineComparison:
    """Compare a design with baseline designs."""
    beside = baseline.mean.nats + baseline.gain.nats  # the recommended design, for the participants of the baseline designs
    ahead = sum(estimate.nats < beside for estimate in baseline.information)
    return BaselineComparison(recommended, baseline.information, baseline.mean, baseline.gain, ahead)


@dataclass(frozen=True)
class ExactComparison:
    """The estimator against what likelihoods tell, on the same simulated participants.

    Arguments:
        n: Participants.
        estimate: Information as the estimator has it.
        lower, upper: Information by likelihood is between these; they are equal where every model knows its evidence.
        exact: Are the two as near as makes no difference?
        gap: What the estimator misses: their middle less the estimate. For an estimator that is a posterior, the average divergence of the
            exact posterior from it.
        at_most: What it misses at most, up to noise: `upper` less the estimate.
        model_divergence: The average Kullback-Leibler divergence of exact model probabilities from the estimator's.
        confusion, estimated: The confusion matrices of the exact posterior and of the estimator.
        largest_difference: The largest difference between their diagonals.
        largest_difference_se: Its standard error; small, since both face the same participants.
    """

    n: int
    estimate: float
    lower: float
    upper: float
    exact: bool
    gap: Difference
    at_most: Difference
    model_divergence: float | None = None
    confusion: Confusion | None = None
    estimated: Confusion | None = None
    largest_difference: float | None = None
    largest_difference_se: float | None = None

    @property
    def middle(self) -> float:
        """Between the bounds: the exact information, where they agree."""
        return (self.lower + self.upper) / 2

    @property
    def share(self) -> float | None:
        """The estimate as a share of the exact information."""
        return self.estimate / self.middle if self.middle > 0 else None


@dataclass(frozen=True)
class Reading:
    """What an independent reader found at a design, or over baseline designs.

    Arguments:
        gain: What the estimator tells more with it than without it, in nats: this much is known to be missing.
        alone: What the reader by itself tells more than the estimator; below 0 if it did not come as far.
        n: Participants that both were measured on; it had not seen them.
        trained: Participants that it was trained on.
    """

    gain: Difference
    alone: Difference
    n: int
    trained: int


@dataclass(frozen=True, eq=False)
class LearnedPosterior:
    """An estimator's posteriors of parameters, to draw from where integrals are sampled."""

    estimator: Estimator

    def draw(self, m: int, behavior: Behavior, designs: Floats, draws: int, rng: np.random.Generator) -> Floats:
        """Draws on the normal scale, (L, N, P)."""
        with torch.no_grad():
            z = self.estimator.sample_theta(self.estimator.inputs(behavior, designs), m, draws, rng)
        return np.asarray(z.double().cpu().numpy())

    def log_density(self, m: int, behavior: Behavior, designs: Floats, z: Floats) -> Floats:
        """log q(z | y), (L, N)."""
        with torch.no_grad():
            flow = self.estimator.flow(self.estimator.inputs(behavior, designs), m)
            density = flow.log_prob(torch.as_tensor(z, dtype=torch.float32, device=self.estimator.device))
        return np.asarray(density.double().cpu().numpy())


def against_exact(estimator: Estimator, participants: Participants, rng: np.random.Generator) -> ExactComparison:
    """Compare an estimator with what likelihoods tell.

    Arguments:
        participants: With parameters from the prior.
        rng: For integrals that have to be sampled.
    """
    task, question, everybody = participants.task, participants.question, participants.simulations
    bounds = by_likelihood(task, question, everybody, rng, _proposal(estimator))
    points = estimator.pointwise(estimator.prepare(everybody))
    middle = replace(bounds.upper, values=(bounds.lower.values + bounds.upper.values) / 2)
    about_models = _about_models(participants, bounds.evidence) if question.about_models and bounds.agree else ()
    estimate, lower, upper = (part.estimate().nats for part in (points, bounds.lower, bounds.upper))
    gaps = middle.minus(points), bounds.upper.minus(points)
    return ExactComparison(len(everybody), estimate, lower, upper, bounds.agree, *gaps, *about_models)


def _proposal(estimator: Estimator) -> LearnedPosterior | None:
    """The estimator's posteriors, if it has them of all parameters of all models."""
    question = estimator.question
    every = question.about_parameters and all(len(question.parameters(m)) == len(one.parameters) for m, one in enumerate(question.models))
    return LearnedPosterior(estimator.quick) if every and estimator.quick.has_flows else None


def _about_models(participants: Participants, evidence: Floats) -> tuple[float, Confusion, Confusion, float, float]:
    """The divergence of model probabilities, both confusion matrices, and how far their diagonals are apart."""
    assert participants.log_probabilities is not None
    question, model = participants.question, participants.simulations.model
    log_p = log_posterior(question, evidence)
    p, q = np.exp(log_p), np.exp(participants.log_probabilities)
    with np.errstate(invalid="ignore"):
        divergence = np.where(p > 0, p * (log_p - participants.log_probabilities), 0.0).sum(-1)
    apart = (p.argmax(-1) == model).astype(float) - (q.argmax(-1) == model)
    groups = [apart[model == m] for m in np.unique(model)]
    largest = max((float(abs(group.mean())), float(group.std() / len(group) ** 0.5)) for group in groups)
    matrices = confusion_matrix(question, model, p), confusion_matrix(question, model, q)
    return stratified(divergence, model, question.prior)[0], *matrices, *largest
