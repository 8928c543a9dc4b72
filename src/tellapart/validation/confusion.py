"""Which model is taken for which: the confusion matrix, and how sure the estimator is of the true one."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..information.estimate import Floats, stratified
from ..question import Question
from .participants import Participants


@dataclass(frozen=True)
class Confusion:
    """Which model is taken for which.

    Arguments:
        models: M names.
        counts: counts[i][j], participants of model i whose most probable model is j.
        probabilities: probabilities[i][j], the average posterior probability of model j for participants of model i.
        accuracy, accuracy_se: How often the most probable model is the true one, models being as frequent as their prior says.
        expected, expected_se: The average posterior probability of the true model.
        chance: How often someone without data, who always says the model of the largest prior, is right.
    """

    models: tuple[str, ...]
    counts: tuple[tuple[int, ...], ...]
    probabilities: tuple[tuple[float, ...], ...]
    accuracy: float
    accuracy_se: float
    expected: float
    expected_se: float
    chance: float

    @property
    def shares(self) -> Floats:
        """Rows that sum to 1, (M, M)."""
        counts = np.asarray(self.counts, dtype=np.float64)
        return np.asarray(counts / np.maximum(counts.sum(1, keepdims=True), 1.0))

    @property
    def n(self) -> int:
        """Participants in all."""
        return int(np.sum(self.counts))


def confusion(participants: Participants) -> Confusion:
    """The confusion matrix of what was said about models."""
    assert participants.log_probabilities is not None
    return confusion_matrix(participants.question, participants.simulations.model, np.exp(participants.log_probabilities))


def confusion_matrix(question: Question, model: NDArray[np.intp], probabilities: ArrayLike) -> Confusion:
    """The confusion matrix of N participants, from the true model (N,) and the probability of each model (N, M)."""
    shares = np.asarray(probabilities, dtype=np.float64)
    guess, size, prior = shares.argmax(-1), shares.shape[1], question.prior
    counts = np.zeros((size, size), int)
    np.add.at(counts, (model, guess), 1)
    means = [shares[model == m].mean(0) if (model == m).any() else np.zeros(size) for m in range(size)]
    accuracy = stratified((guess == model).astype(np.float64), model, prior)
    expected = stratified(shares[np.arange(len(model)), model], model, prior)
    taken, probable = (tuple(tuple(row.tolist()) for row in table) for table in (counts, means))
    return Confusion(question.names, taken, probable, *accuracy, *expected, max(prior))
