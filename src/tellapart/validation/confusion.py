"""Which model is taken for which: the confusion matrix, and how sure the estimator is of the true one."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .answers import Answers, Floats, stratified


@dataclass(frozen=True)
class Confusion:
    """Which model is taken for which.

    Arguments:
        models: M names.
        counts: counts[i][j], participants of model i whose most probable model is j.
        probabilities: probabilities[i][j], the average posterior probability of model j for participants of model i.
        accuracy: How often the most probable model is the true one, models being equally frequent.
        accuracy_se: Its standard error.
        expected: The average posterior probability of the true model.
        expected_se: Its standard error.
    """

    models: tuple[str, ...]
    counts: tuple[tuple[int, ...], ...]
    probabilities: tuple[tuple[float, ...], ...]
    accuracy: float
    accuracy_se: float
    expected: float
    expected_se: float

    @property
    def shares(self) -> Floats:
        """Rows that sum to 1, (M, M)."""
        counts = np.asarray(self.counts, dtype=np.float64)
        return np.asarray(counts / np.maximum(counts.sum(1, keepdims=True), 1.0))

    @property
    def n(self) -> int:
        """Participants in all."""
        return int(np.sum(self.counts))


def confusion(answers: Answers) -> Confusion:
    """The confusion matrix of answers about models."""
    assert answers.log_probabilities is not None
    return confusion_matrix(answers.simulations.model, np.exp(answers.log_probabilities), answers.names)


def confusion_matrix(model: NDArray[np.intp], probabilities: ArrayLike, names: tuple[str, ...]) -> Confusion:
    """The confusion matrix.

    Arguments:
        model: The true one of each participant, (N,).
        probabilities: Of each model, (N, M).
    """
    shares = np.asarray(probabilities, dtype=np.float64)
    guess, size = shares.argmax(-1), len(names)
    counts = np.zeros((size, size), int)
    np.add.at(counts, (model, guess), 1)
    means = np.array([shares[model == m].mean(0) if (model == m).any() else np.zeros(size) for m in range(size)])
    accuracy, accuracy_se = stratified((guess == model).astype(np.float64), model)
    expected, expected_se = stratified(shares[np.arange(len(model)), model], model)
    rows = tuple(tuple(int(c) for c in row) for row in counts)
    return Confusion(names, rows, tuple(map(tuple, means.tolist())), accuracy, accuracy_se, expected, expected_se)
