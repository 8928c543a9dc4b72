"""Against what? The recommended design against designs of habit, and the estimate against the exact answer where there is one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Callable, Sequence, cast

import numpy as np

from ..information.estimate import InformationEstimate
from ..models.base import HasLikelihood, Model
from .answers import Answers, Floats, stratified
from .confusion import Confusion, confusion_matrix

if TYPE_CHECKING:
    from ..estimators.base import Estimator

Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class BaselineComparison:
    """The information of the recommended design against that of designs drawn as the field does by habit.

    Arguments:
        recommended: Of the recommended design.
        baseline: Of each baseline design.
        share_below: The share of baseline designs that tell less.
        gain: Recommended less the baseline average, in nats.
        gain_se: Its standard error.
    """

    recommended: InformationEstimate
    baseline: tuple[InformationEstimate, ...]
    share_below: float
    gain: float
    gain_se: float


def against_baseline(recommended: InformationEstimate, baseline: Sequence[InformationEstimate]) -> BaselineComparison:
    """Compare a design with baseline designs, all estimated in the same way."""
    values = np.array([estimate.nats for estimate in baseline])
    spread = values.std(ddof=1) / np.sqrt(len(values)) if len(values) > 1 else baseline[0].se
    gain_se = float(np.hypot(recommended.se, spread))
    below = float(np.mean(values < recommended.nats))
    return BaselineComparison(recommended, tuple(baseline), below, float(recommended.nats - values.mean()), gain_se)


@dataclass(frozen=True)
class ExactComparison:
    """The estimator against the exact answer, on the same simulated participants.

    Arguments:
        n: Participants.
        estimate: Information as the estimator has it.
        exact: Information by likelihood.
        gap: Exact less estimate: for an estimator that is a posterior, the average divergence of the exact posterior from it.
        gap_se: Its standard error; small, since both face the same participants.
        model_divergence: The average Kullback-Leibler divergence of exact model probabilities from the estimator's.
        confusion: The confusion matrix of the exact posterior.
        estimated: The confusion matrix of the estimator, on the same participants.
        largest_difference: The largest difference between the diagonals of the two.
        largest_difference_se: Its standard error; small, since both face the same participants.
    """

    n: int
    estimate: float
    exact: float
    gap: float
    gap_se: float
    model_divergence: float | None = None
    confusion: Confusion | None = None
    estimated: Confusion | None = None
    largest_difference: float | None = None
    largest_difference_se: float | None = None

    @property
    def share(self) -> float | None:
        """The estimate as a share of the exact information."""
        return self.estimate / self.exact if self.exact > 0 else None


def has_likelihoods(models: Sequence[Model]) -> bool:
    """Has every model a likelihood?"""
    return all(isinstance(model, HasLikelihood) for model in models)


def against_exact(estimator: Estimator, answers: Answers, size: int = 250, progress: Progress | None = None) -> ExactComparison:
    """Compare an estimator with the exact answer.

    Arguments:
        answers: The estimator's, about participants whose parameters are from the prior.
        size: Participants whose likelihoods are computed at once.
    """
    n = len(answers.simulations)
    evidence = []
    for start in range(0, n, size):
        evidence.append(_log_evidence(answers, slice(start, start + size)))
        if progress:
            progress(min(start + size, n), n)
    log_evidence = np.concatenate(evidence)
    values, bound = _exact_values(estimator, answers, log_evidence), _bound(estimator, answers)
    model = answers.simulations.model
    exact, estimate, gap = (stratified(part, model) for part in (values, bound, values - bound))
    about_models = None if answers.log_probabilities is None else _about_models(answers, log_evidence)
    return ExactComparison(n, estimate[0], exact[0], gap[0], gap[1], *(about_models or ()))


def _about_models(answers: Answers, log_evidence: Floats) -> tuple[float, Confusion, Confusion, float, float]:
    """The divergence of model probabilities, both confusion matrices, and how far their diagonals are apart."""
    assert answers.log_probabilities is not None
    log_p = log_evidence - np.logaddexp.reduce(log_evidence, axis=1, keepdims=True)
    p = np.exp(log_p)
    with np.errstate(invalid="ignore"):
        divergence = np.where(p > 0, p * (log_p - answers.log_probabilities), 0.0).sum(-1)
    model, names = answers.simulations.model, answers.names
    q = np.exp(answers.log_probabilities)
    apart = (p.argmax(-1) == model).astype(float) - (q.argmax(-1) == model)
    differences = [(abs(own.mean()), own.std() / len(own) ** 0.5) for own in (apart[model == m] for m in range(len(names)))]
    largest, se = max(differences)
    return float(divergence.mean()), confusion_matrix(model, p, names), confusion_matrix(model, q, names), float(largest), float(se)


def _log_evidence(answers: Answers, which: slice) -> Floats:
    """log p(y | model), (n, M)."""
    behavior, designs = answers.simulations.behavior[which], answers.designs
    own = designs[which] if designs.ndim == 3 else designs
    return np.stack([cast(HasLikelihood, m).log_evidence(behavior, own, answers.task) for m in answers.simulations.models], axis=1)


def _exact_values(estimator: Estimator, answers: Answers, log_evidence: Floats) -> Floats:
    """log p(y | v) / p(y) of each participant, (N,)."""
    simulations, rows = answers.simulations, np.arange(len(answers.simulations))
    marginal = np.logaddexp.reduce(log_evidence, axis=1) - np.log(log_evidence.shape[1])
    if not estimator.goal.about_parameters:
        return np.asarray(log_evidence[rows, simulations.model] - marginal)
    likelihood = np.empty(len(rows))
    for m, model in enumerate(simulations.models):
        mine = simulations.model == m
        parameters, behavior = simulations.of(m)
        own = answers.designs[mine] if answers.designs.ndim == 3 else answers.designs
        likelihood[mine] = cast(HasLikelihood, model).log_likelihood(parameters, behavior, own, answers.task)
    return np.asarray(likelihood - marginal)


def _bound(estimator: Estimator, answers: Answers, size: int = 1024) -> Floats:
    """The estimator's pointwise bound, (N,)."""
    import torch

    with torch.no_grad():
        batch = estimator.prepare(answers.simulations, answers.designs)
        generator = torch.Generator().manual_seed(0)
        parts = [estimator.bound(batch[start : start + size], generator) for start in range(0, len(batch), size)]
        return np.asarray(torch.cat(parts).double().cpu().numpy())
