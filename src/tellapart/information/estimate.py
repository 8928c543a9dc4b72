"""An information estimate: never a bare number.

N simulated participants contribute a value each, log p(v | y) / p(v) or its bound; models m are strata that were simulated as often as
their prior p(m) says. The estimate is the mean of means, sum over m of p(m) mean_m, and its variance the sum of p(m)^2 var_m / n_m.
Two designs that faced the same random numbers are compared participant by participant: what is common to both cancels.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Any, Literal, Sequence

import numpy as np
from numpy.typing import NDArray

from ..display import table

Floats = NDArray[np.float64]
Kind = Literal["exact", "lower bound", "upper bound"]


@dataclass(frozen=True)
class InformationEstimate:
    """Information in nats, how sure we are, and what kind of number it is.

    Arguments:
        nats: The estimate.
        se: Its standard error over simulations.
        kind: "exact" (by likelihood, up to simulation noise), "lower bound" (the truth is at least this, up to noise) or "upper bound".
        n: How many simulated participants it rests on.
        accuracy: How often the most probable model is the true one, where models are told apart; by what can be told at little cost
            (`Estimator.guess`), so that a learned likelihood has no part in it.
        accuracy_se: The standard error of that.
        failed: How many participants could not be simulated, so that others took their places.
    """

    nats: float
    se: float
    kind: Kind
    n: int
    accuracy: float | None = None
    accuracy_se: float | None = None
    failed: int | None = None

    def to_json(self) -> dict[str, Any]:
        """The fields that are known."""
        return {name: value for name, value in asdict(self).items() if value is not None}

    def __str__(self) -> str:
        text = f"{self.nats:z.3f} ± {self.se:.3f} nats ({self.kind})"
        text += "" if self.accuracy is None else f"; the true model is recovered {100 * self.accuracy:.0f} % of the time"
        return text + (f"; {self.failed} of {self.n + self.failed} participants could not be simulated" if self.failed else "")

    def rows(self) -> list[tuple[str, str]]:
        """What is known, as rows of a table: the meaning first."""
        rows = [] if self.accuracy is None else [("recognises", f"the model of {100 * self.accuracy:.0f} of 100 people")]
        rows += [
            ("information", f"{self.nats:z.3f} ± {self.se:.3f} nats ({self.kind})"),
            ("rests on", f"{self.n:,} simulated participants"),
        ]
        return rows + ([("could not be simulated", f"{self.failed:,}")] if self.failed else [])

    def _repr_html_(self) -> str:
        return table(self.rows())


@dataclass(frozen=True)
class Difference:
    """By how much one thing tells more than another, in nats, and how sure we are."""

    nats: float
    se: float

    def __str__(self) -> str:
        return f"{self.nats:+z.3f} ± {self.se:.3f} nats"


@dataclass(frozen=True, eq=False)
class Pointwise:
    """What each simulated participant contributes.

    Arguments:
        values: log p(v | y) / p(v), or its bound, (N,).
        model: The true model, (N,).
        prior: p(m), (M,).
        kind: What the average is.
        influence: Numbers whose spread is that of the average, (N,); the values themselves unless participants serve each other.
        correct: Whether the most probable model was the true one, (N,).
        failed: How many participants could not be simulated.
        luck: By how much the true v fits a participant's behavior better than v do on average that could have produced it, (N,): 0 on
            average, or as near to it as bounds are to each other where integrals are sampled. None where it is not known.
    """

    values: Floats
    model: NDArray[np.intp]
    prior: Sequence[float]
    kind: Kind
    influence: Floats | None = None
    correct: NDArray[np.bool_] | None = None
    failed: int = 0
    luck: Floats | None = None

    def without_luck(self) -> Pointwise:
        """The same average with less noise: what participants contribute on average over all v that could have produced their behavior.

        Designs are then compared with fewer participants. Not for a comparison with an estimator on the same participants: what both owe
        to luck cancels there.
        """
        return self if self.luck is None else replace(self, values=self.values - self.luck, luck=None)

    def estimate(self) -> InformationEstimate:
        """The average with its standard error."""
        nats, se = stratified(self.values, self.model, self.prior)
        if self.influence is not None:
            se = stratified(self.influence, self.model, self.prior)[1]
        right = None if self.correct is None else self.correct.astype(np.float64)
        accuracy, accuracy_se = (None, None) if right is None else stratified(right, self.model, self.prior)
        return InformationEstimate(nats, se, self.kind, len(self.values), accuracy, accuracy_se, self.failed or None)

    def minus(self, other: Pointwise) -> Difference:
        """The difference of two averages over the same participants, paired."""
        return Difference(*stratified(self.spread - other.spread, self.model, self.prior))

    @property
    def spread(self) -> Floats:
        """The influence, moved so that it averages to the estimate."""
        if self.influence is None:
            return self.values
        shift = stratified(self.values, self.model, self.prior)[0] - stratified(self.influence, self.model, self.prior)[0]
        return self.influence + shift

    @staticmethod
    def concatenate(parts: Sequence[Pointwise]) -> Pointwise:
        """All participants of all `parts`, in order."""

        def joined(name: str) -> Any:
            return None if getattr(parts[0], name) is None else np.concatenate([getattr(part, name) for part in parts])

        columns = {name: joined(name) for name in ("values", "model", "influence", "correct", "luck")}
        return Pointwise(**columns, prior=parts[0].prior, kind=parts[0].kind, failed=sum(part.failed for part in parts))


def stratified(values: Floats, model: NDArray[np.intp], prior: Sequence[float]) -> tuple[float, float]:
    """The mean of values (N,) under the prior over models, and its standard error."""
    groups = [(share, values[model == m]) for m, share in enumerate(prior) if (model == m).any()]
    whole = sum(share for share, _ in groups)
    mean = float(sum(share / whole * group.mean() for share, group in groups))
    variance = sum((share / whole) ** 2 * _variance(group, mean, share / whole) for share, group in groups)
    return mean, float(np.sqrt(variance))


def _variance(group: Floats, mean: float, share: float) -> float:
    """The variance of the mean of a model's participants; of a single one, by how far it is from the mean of everybody."""
    if len(group) > 1:
        return float(group.var(ddof=1) / len(group))
    return float((group[0] - mean) ** 2 / (1 - share)) if share < 1 else 0.0
