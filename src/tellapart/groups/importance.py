"""Importance sampling on the normal scale, in rounds: each proposes from around what the one before found good.

The first draws come from wherever somebody has a first idea, at worst from the prior. With hundreds of trials the posterior is so narrow
that a handful of them carry all the weight. So for such people further rounds are made. Of each round the weights are made more
equal, w^t with the largest t up to 1 for which enough draws count; some draws, resampled by these weights, are the centres of Student-t
kernels with their covariance; and the next round is drawn from

    mixture(z) = share kernels(z) + (1 - share) prior(z),    weights p(y | z) prior(z) / mixture(z).

Once t is 1, a last round is made, and it alone is kept: given where it was proposed from it is plain importance sampling, so its average
weight is p(y) without bias, and the spread of its weights gives the error. The prior's part bounds the weights where kernels do not reach.

References:
    Cappé, Guillin, Marin & Robert (2004), Population Monte Carlo.
    Hesterberg (1995), Weighted average importance sampling and defensive mixture distributions.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from ..models.logsumexp import logsumexp
from .frequencies import Counts, Floats

SHARE, CENTRES, FREEDOM = 0.8, 30, 5.0
"""The share of draws that come from kernels, how many kernels there are for each person, and their degrees of freedom."""

ENOUGH = 0.02
"""The standard error of a log evidence for which the first draws are good enough."""

ROUNDS, SMALL, COUNTING = 10, 500, 0.1
"""Rounds at most before the last one, how many draws of each person they have at least, and the share of draws that has to count."""

Score = Callable[[Counts, Floats], Floats]
"""log p(y | z), (n, L), of some of the people, given by their places (n,), at draws (n, L, P)."""


@dataclass(frozen=True, eq=False)
class Weighted:
    """Draws of all parameters of a model on the normal scale, (N, L, P), and log weights, (N, L)."""

    z: Floats
    log_weights: Floats

    @property
    def log_evidence(self) -> Floats:
        """log of the average weight, (N,)."""
        with np.errstate(divide="ignore"):
            return np.asarray(logsumexp(self.log_weights, axis=1) - np.log(self.log_weights.shape[1]))

    @property
    def se(self) -> Floats:
        """Of the log evidence, (N,)."""
        w = _relative(self.log_weights)
        return np.asarray(w.std(1) / w.mean(1) / np.sqrt(w.shape[1]))

    def resampled(self, rng: np.random.Generator) -> Floats:
        """As many draws from the posterior."""
        return _resampled(self.z, _relative(self.log_weights), self.z.shape[1], rng)


def sharpened(first: Weighted, score: Score, rng: np.random.Generator) -> Weighted:
    """First draws, and in the place of some, of people whose evidence they leave uncertain, those of a last round."""
    best = Weighted(first.z.copy(), first.log_weights.copy())
    count, who = first.z.shape[1], np.flatnonzero(first.se > ENOUGH)
    now = Weighted(first.z[who], first.log_weights[who])
    for number in range(ROUNDS + 1):
        weights, equal = _tempered(now.log_weights)
        last = equal | (number == ROUNDS)
        if last.any():
            ready = _round(now.z[last], weights[last], who[last], count, score, rng)
            best.z[who[last]], best.log_weights[who[last]] = ready.z, ready.log_weights
        if last.all():
            return best
        now, who = _round(now.z[~last], weights[~last], who[~last], max(count // 4, SMALL), score, rng), who[~last]
    return best


def _round(z: Floats, weights: Floats, who: Counts, count: int, score: Score, rng: np.random.Generator) -> Weighted:
    """Draws of some of the people, `count` of each, from around earlier ones, (n, L, P), with weights (n, L)."""
    kernels = _Kernels(z, weights, rng)
    draws = kernels.draw(count, rng)
    return Weighted(draws, score(who, draws) - np.logaddexp(np.log(SHARE) + kernels.log_ratio(draws), np.log(1 - SHARE)))


class _Kernels:
    """Student-t distributions around some draws of each person, resampled by their weights.

    Arguments:
        z: Draws, (n, L, P).
        weights: Of these, up to a factor for each person, (n, L).
    """

    def __init__(self, z: Floats, weights: Floats, rng: np.random.Generator) -> None:
        size, w = z.shape[2], weights / weights.sum(1, keepdims=True)
        apart = z - np.einsum("nl,nlp->np", w, z)[:, None]
        covariance = np.einsum("nl,nlp,nlq->npq", w, apart, apart)
        covariance += (w**2).sum(1)[:, None, None] ** 2 * np.eye(size)  # what a few draws say of it is little
        width = (4 / ((size + 2) * CENTRES)) ** (1 / (size + 4))  # Silverman (1986)
        self.root = width * np.linalg.cholesky(covariance)
        self.centres = _resampled(z, weights, CENTRES, rng)

    def draw(self, count: int, rng: np.random.Generator) -> Floats:
        """Draws from the mixture of kernels and prior, (n, count, P)."""
        people, size = self.root.shape[:2]
        z, near = rng.standard_normal((people, count, size)), int(np.ceil(SHARE * count))
        wide = np.sqrt(FREEDOM / rng.chisquare(FREEDOM, (people, near, 1)))
        z[:, :near] = np.take_along_axis(self.centres, rng.integers(0, CENTRES, (people, near, 1)), 1) + np.einsum(
            "nlp,nqp->nlq", z[:, :near] * wide, self.root
        )
        return z

    def log_ratio(self, z: Floats) -> Floats:
        """log of the density of kernels less that of the prior, at draws (n, L, P), (n, L)."""
        size, rows = z.shape[2], []
        inverse, volume = np.linalg.inv(self.root), np.log(np.diagonal(self.root, axis1=1, axis2=2)).sum(1)
        constant = gammaln((FREEDOM + size) / 2) - gammaln(FREEDOM / 2) + size / 2 * np.log(2 / FREEDOM)
        for n, points in enumerate(z):
            ours, centres = points @ inverse[n].T, self.centres[n] @ inverse[n].T
            squared = (ours**2).sum(1)[:, None] - 2 * ours @ centres.T + (centres**2).sum(1)
            density = ((1 + np.maximum(squared, 0.0) / FREEDOM) ** (-(FREEDOM + size) / 2)).mean(1)
            rows.append(constant - volume[n] + np.log(density) + 0.5 * (points**2).sum(1))
        return np.stack(rows)


def _tempered(log_weights: Floats) -> tuple[Floats, NDArray[np.bool_]]:
    """Weights to the largest power up to 1 at which enough draws count, (n, L), and for whom that is 1, (n,)."""

    def enough(power: Floats) -> NDArray[np.bool_]:
        w = _relative(log_weights * power[:, None])
        return np.asarray(w.sum(1) ** 2 / (w**2).sum(1) >= COUNTING * w.shape[1])

    low, high = np.zeros(len(log_weights)), np.ones(len(log_weights))
    equal = enough(high)
    for _ in range(12):
        middle = (low + high) / 2
        low, high = np.where(enough(middle), middle, low), np.where(enough(middle), high, middle)
    return _relative(log_weights * np.where(equal, 1.0, high)[:, None]), equal


def _relative(log_weights: Floats) -> Floats:
    """Weights as numbers up to 1, (N, L); all 1 for a person whom the model cannot have produced."""
    highest = log_weights.max(1, keepdims=True)
    return np.where(np.isfinite(highest), np.exp(log_weights - np.where(np.isfinite(highest), highest, 0.0)), 1.0)


def _resampled(z: Floats, weights: Floats, count: int, rng: np.random.Generator) -> Floats:
    """`count` of the draws (N, L, P), by their weights (N, L); systematic, so that weights are met as nearly as can be."""
    below = np.cumsum(weights, axis=1) / weights.sum(1, keepdims=True)
    points = (np.arange(count) + rng.random((len(z), 1))) / count
    chosen = [np.searchsorted(row, at) for row, at in zip(below, points, strict=True)]
    places = np.array(chosen, np.intp).reshape(len(z), count).clip(0, z.shape[1] - 1)
    return np.take_along_axis(z, places[..., None], 1)
