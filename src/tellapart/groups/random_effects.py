"""Random-effects model selection, exactly: how frequent is each model in the population that the group comes from?

    r ~ Dirichlet(alpha),   each person's model ~ r,   evidence p(y_n | model) given.

The usual programs compute this by a variational approximation that is off by up to 0.1 in exceedance probabilities and by 0.2 in the
omnibus risk. Here the posterior of r is taken as the mixture of Dirichlet distributions that it is (`urn.py`, `mixture.py`): all below
is exact to 1e-6; or, for very many people and models (`sampled.py`), has a Monte-Carlo error that is stated.

    frequencies   E[r | y] with intervals that hold r with the stated probability
    exceedance    the probability that a model is the most frequent one
    omnibus risk  the probability that all models are equally frequent, r = 1/K, given that this or r ~ Dirichlet(alpha) is true, equally
                  probable before the data
    protected     the exceedance probability averaged over both: exceedance (1 - risk) + risk / K

Only ratios of evidences matter. So a network's model probabilities will do: p(y | m) is p(m | y) / p(m) up to a constant for each person.

Programs differ in their prior counts: "1/K each" (VBA, groupBMC) or "one each" (SPM, mfit). The result names its convention.

References:
    Stephan, Penny, Daunizeau, Moran & Friston (2009), Bayesian model selection for group studies.
    Penny et al. (2010), Comparing families of dynamic causal models.
    Rigoux, Stephan, Friston & Daunizeau (2014), Bayesian model selection for group studies — revisited.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit

from ..errors import DataError, StudyError
from ..models.logsumexp import logsumexp
from .frequencies import Counts, Floats, FrequencyPosterior
from .sampled import sampled_frequencies
from .urn import exact_frequencies

PriorCounts = Literal["1/K each", "one each"]

MOST_WORK = 3e9
"""N^K up to which the exact way is taken: 1,440 people and 3 models, 230 and 4, 78 and 5."""

MOST_COUNTS = 5e7
"""(N + 1)^(K - 1), numbers in memory, up to which it is: 8 people and 9 models, 3 and 13, 1 and 26."""

ACCURACY = 0.002
"""The Monte-Carlo error (two standard errors) that is allowed where the exact way would take too long."""


@dataclass(frozen=True)
class LeftOut:
    """A person who is not part of a group conclusion, and why."""

    participant: Any
    reason: str


@dataclass(frozen=True, eq=False)
class RandomEffects:
    """How frequent each model, or family of models, is.

    Arguments:
        names: K models or families.
        posterior: Of their frequencies.
        people: How many are counted.
        interval: The probability that an interval holds.
        low, high: Ends of the intervals, (K,).
        frequencies: (K,), sum to 1.
        exceedance: (K,), sum to 1.
        omnibus_risk: The probability that all are equally frequent.
        prior: The convention for prior counts.
        error: Two Monte-Carlo standard errors of the least certain of these numbers; 0 where they are exact.
        left_out: Who is not counted, and why.
    """

    names: tuple[str, ...]
    posterior: FrequencyPosterior
    people: int
    interval: float
    low: Floats
    high: Floats
    frequencies: Floats
    exceedance: Floats
    omnibus_risk: float
    prior: PriorCounts
    error: float = 0.0
    left_out: tuple[LeftOut, ...] = ()

    @property
    def protected(self) -> Floats:
        """Protected exceedance probabilities, (K,)."""
        equal = self.posterior.alpha / self.posterior.alpha.sum()
        return np.asarray(self.exceedance * (1 - self.omnibus_risk) + equal * self.omnibus_risk)

    def sample(self, n: int, rng: np.random.Generator) -> Floats:
        """`n` draws of the frequencies, (n, K)."""
        return self.posterior.sample(n, rng)

    def to_json(self) -> dict[str, Any]:
        rows = zip(self.names, self.frequencies, self.low, self.high, self.exceedance, self.protected, strict=True)
        keys = ("model", "frequency", "low", "high", "exceedance", "protected")
        return {
            "people": self.people,
            "prior_counts": self.prior,
            "interval": self.interval,
            "models": [dict(zip(keys, (name, *map(float, values)), strict=True)) for name, *values in rows],
            "omnibus_risk": self.omnibus_risk,
            "log_evidence": self.posterior.log_evidence,
            "monte_carlo_error": self.error,
            "left_out": [{"participant": str(one.participant), "reason": one.reason} for one in self.left_out],
        }


def random_effects(
    log_evidence: ArrayLike,
    names: Sequence[str],
    *,
    prior: PriorCounts = "1/K each",
    families: Mapping[str, Sequence[str]] | None = None,
    participants: Sequence[Any] | NDArray[Any] | None = None,
    interval: float = 0.9,
    accuracy: float = ACCURACY,
    seed: int = 0,
) -> RandomEffects:
    """How frequent each model is, given the log evidence of each person and model.

    Arguments:
        log_evidence: (N, K), up to a constant for each person. NaN where there is none: that person is left out, and listed. -inf for
            a model that cannot have produced a person's data.
        names: K models.
        prior: Prior counts of the models: "1/K each" or "one each"; for families, of the families, shared equally by their members.
        families: Family name to its models. Each model is in one family.
        participants: N labels, for those that are left out; 0, 1, 2, … if not given.
        interval: The probability that an interval is to hold.
        accuracy: The Monte-Carlo error allowed, as two standard errors, where the exact way would take too long.
    """
    evidence, left_out = usable(np.asarray(log_evidence, dtype=np.float64), names, participants)
    members = family_of_each(names, families)
    alpha = prior_counts(members, prior)
    posterior = frequency_posterior(evidence, alpha, accuracy, seed)
    risk = float(expit(float(logsumexp(evidence + np.log(alpha / alpha.sum()), axis=1).sum()) - posterior.log_evidence))
    risk_error = 2 * risk * (1 - risk) * posterior.log_evidence_se
    posterior = posterior.grouped(members) if families else posterior
    low, high = ([posterior.quantile(k, share) for k in range(len(posterior.alpha))] for share in ((1 - interval) / 2, (1 + interval) / 2))
    return RandomEffects(
        names=tuple(families) if families else tuple(names),
        posterior=posterior,
        people=len(evidence),
        interval=interval,
        low=np.array(low),
        high=np.array(high),
        frequencies=posterior.means(),
        exceedance=posterior.exceedance(),
        omnibus_risk=risk,
        prior=prior,
        error=max(posterior.error(), risk_error),
        left_out=left_out,
    )


def frequency_posterior(log_evidence: Floats, alpha: Floats, accuracy: float = ACCURACY, seed: int = 0) -> FrequencyPosterior:
    """The posterior of frequencies, exactly if that takes seconds, else by sampling.

    Arguments:
        log_evidence: (N, K), finite or -inf.
        alpha: Prior counts, (K,).
    """
    highest = log_evidence.max(1, keepdims=True)
    evidence, constant = np.exp(log_evidence - highest), float(highest.sum())
    people, models = float(len(evidence)), len(alpha)
    if people**models <= MOST_WORK and (people + 1) ** (models - 1) <= MOST_COUNTS:
        return exact_frequencies(evidence, constant, alpha)
    return sampled_frequencies(evidence, constant, alpha, accuracy, seed)


def prior_counts(members: Counts, prior: PriorCounts) -> Floats:
    """Prior counts of models (K,) whose families, counted from 0, are `members`."""
    sizes = np.bincount(members)
    each = {"1/K each": 1 / len(sizes), "one each": 1.0}
    if prior not in each:
        raise StudyError("The prior counts are unknown.", expected='"1/K each" or "one each"', got=repr(prior))
    return np.asarray(each[prior] / sizes[members])


def usable(evidence: Floats, names: Sequence[str], participants: Sequence[Any] | NDArray[Any] | None) -> tuple[Floats, tuple[LeftOut, ...]]:
    """The people with evidence for every model, and the others."""
    if evidence.ndim != 2 or evidence.shape[1] != len(names) or len(names) < 2:
        expected = f"one row for each person, one column for each of {len(names)} models, two or more"
        raise DataError("The log evidences have the wrong shape.", expected=expected, got=evidence.shape)
    people = list(range(len(evidence))) if participants is None else list(participants)
    missing = np.isnan(evidence)
    out = missing.any(1) | np.isneginf(evidence).all(1)
    left_out = tuple(LeftOut(people[n], _reason(names, missing[n])) for n in np.flatnonzero(out))
    if np.isposinf(evidence[~out]).any():
        raise DataError("A log evidence is infinite.", expected="finite numbers, -inf or NaN")
    if out.all():
        got = f"{len(evidence)} people" + (f"; the first: {left_out[0].reason}" if left_out else "")
        raise DataError("There is nobody with evidence for every model.", got=got)
    return evidence[~out], left_out


def _reason(names: Sequence[str], missing: NDArray[np.bool_]) -> str:
    """Why someone is not counted."""
    gone = [name for name, absent in zip(names, missing, strict=True) if absent]
    return f"no evidence for {', '.join(gone)}" if gone else "no model can produce these data"


def family_of_each(names: Sequence[str], families: Mapping[str, Sequence[str]] | None) -> Counts:
    """The family of each model; each model is one if there are no families."""
    if not families:
        return np.arange(len(names))
    listed = [name for family in families.values() for name in family]
    if sorted(listed) != sorted(names):
        expected = f"each of {', '.join(names)} in one family"
        raise StudyError("The families do not hold each model once.", expected=expected, got=str({k: list(v) for k, v in families.items()}))
    if len(families) < 2:
        raise StudyError("One family has nothing to be compared with.", expected="two families or more", got=", ".join(families))
    return np.array([next(f for f, family in enumerate(families.values()) if name in family) for name in names], np.intp)
