"""An information estimate: never a bare number."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

Kind = Literal["exact", "lower bound"]


@dataclass(frozen=True)
class InformationEstimate:
    """Information in nats, how sure we are, and what kind of number it is.

    Arguments:
        nats: The estimate.
        se: Its standard error over simulations.
        kind: "exact" (by likelihood, up to simulation noise), or "lower bound" (the truth is at least this, up to noise).
        n: How many simulated participants it rests on.
        accuracy: How often the most probable model is the true one, where models are told apart.
        accuracy_se: The standard error of that.
    """

    nats: float
    se: float
    kind: Kind
    n: int
    accuracy: float | None = None
    accuracy_se: float | None = None

    @classmethod
    def from_samples(cls, values: ArrayLike, strata: ArrayLike, kind: Kind, correct: ArrayLike | None = None) -> InformationEstimate:
        """Average pointwise values over strata (models) that were simulated equally often.

        Arguments:
            values: log p(v | y) / p(v), or its bound, of each simulated participant, (N,).
            strata: The model of each, (N,).
            kind: What the average is.
            correct: Whether the most probable model was the true one, (N,).
        """
        nats, se = _stratified(np.asarray(values, dtype=np.float64), np.asarray(strata))
        accuracy = accuracy_se = None
        if correct is not None:
            accuracy, accuracy_se = _stratified(np.asarray(correct, dtype=np.float64), np.asarray(strata))
        return cls(nats, se, kind, int(np.size(values)), accuracy, accuracy_se)

    def to_json(self) -> dict[str, Any]:
        """The fields that are known."""
        return {name: value for name, value in asdict(self).items() if value is not None}

    def __str__(self) -> str:
        text = f"{self.nats:.3f} ± {self.se:.3f} nats ({self.kind})"
        return text if self.accuracy is None else f"{text}; the true model is recovered {100 * self.accuracy:.0f} % of the time"


def _stratified(values: np.ndarray[Any, np.dtype[np.float64]], strata: np.ndarray[Any, Any]) -> tuple[float, float]:
    """Mean over strata of the means within, and its standard error."""
    groups = [values[strata == s] for s in np.unique(strata)]
    means = [group.mean() for group in groups]
    variances = [group.var(ddof=1) / len(group) if len(group) > 1 else 0.0 for group in groups]
    return float(np.mean(means)), float(np.sqrt(np.sum(variances)) / len(groups))
