"""Against what? The recommended design against designs of habit, and the estimate against the exact answer where there is one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ..information.estimate import Difference, Floats, InformationEstimate, stratified
from ..information.exact import exact_values, log_evidences, log_posterior
from ..progress import Progress, unheard
from ..search.base import Baseline
from .confusion import Confusion, confusion_matrix
from .participants import Participants

if TYPE_CHECKING:
    from ..estimators.base import Estimator


@dataclass(frozen=True)
class BaselineComparison:
    """The information of the recommended design against that of designs drawn as the field does by habit.

    Arguments:
        recommended: Of the recommended design.
        baseline: Of each baseline design.
        mean: Their average.
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


def against_exact(estimator: Estimator, participants: Participants, size: int = 250, progress: Progress = unheard) -> ExactComparison:
    """Compare an estimator with the exact answer.

    Arguments:
        participants: With parameters from the prior.
        size: Participants whose likelihoods are computed at once.
    """
    task, question, everybody = participants.task, participants.question, participants.simulations
    n, evidences, values = len(everybody), [], []
    for start in range(0, n, size):
        part = everybody[start : start + size]
        evidences.append(log_evidences(task, question, part.behavior, part.designs))
        values.append(exact_values(task, question, part, evidences[-1]))
        progress(min(start + size, n), n, "exact answers")
    exact, bound = np.concatenate(values), estimator.pointwise(estimator.prepare(everybody)).values
    (truth, _), (estimate, _), gap = (stratified(part, everybody.model, question.prior) for part in (exact, bound, exact - bound))
    about_models = _about_models(participants, np.concatenate(evidences)) if question.about_models else ()
    return ExactComparison(n, estimate, truth, *gap, *about_models)


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
