"""Are model probabilities as good as they say? Questions to which q itself gives the answer.

If q(m | y) is the posterior, the true models are draws from it, and what any statistic sum_i x_i(m_i) does is known. Three of them:

    score      x_i(m) = log q_i(m): too low if q is overconfident, too high if it is underconfident;
    shares     x_i(m) = 1 for one of the models: is it as frequent as q says?
    statistics x_i(m) = what plain statistics of the data, with weights learned from other participants, make of m_i beyond q: does q
               leave out what anyone could see?

How unusual the sum is, is counted among models drawn from q: where models are easy to tell apart, a normal distribution would be far
off. Small probabilities need no millions of draws: they are drawn from q e^{t x}, normalised, with the t at which what was observed is
usual, and weighted back (importance sampling). For the score that is q^b, b = 1 + t: the exponent that makes q most likely, and the
measure of how much too sure (b < 1) or too timid (b > 1) the estimator is.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import brentq
from scipy.stats import norm

from ..information.estimate import Floats

DRAWS = 1000
"""Sets of models drawn for each question."""

BINS = 10
"""Of the reliability diagram."""

LARGEST = 20.0
"""Exponents beyond this, or below 1 over it, are not told apart."""


@dataclass(frozen=True)
class Bin:
    """Participants and models with similar predicted probabilities.

    Arguments:
        low, high: Where the bin begins and ends.
        n: How many predictions fall into it.
        predicted: Their average.
        observed: How often they came true.
        se: The standard error of `observed`, if the predictions are right.
    """

    low: float
    high: float
    n: int
    predicted: float
    observed: float
    se: float


@dataclass(frozen=True)
class ModelCalibration:
    """Calibration of model probabilities.

    Arguments:
        p: The smallest p-value of the questions put, already multiplied by their number.
        exponent: b above; below 1 overconfident, above 1 underconfident.
        exponent_se: Its standard error.
        noticed: An exponent below the first number or above the second would have been noticed in 9 of 10 validations; None if no
            exponent would.
        error: The expected calibration error: how far predictions are from what happens, on average over the bins.
        usual_error: What it would be on average if all predictions were right.
        bins: The reliability diagram.
    """

    verdict: str
    p: float
    exponent: float
    exponent_se: float
    noticed: tuple[float | None, float | None]
    error: float
    usual_error: float
    bins: tuple[Bin, ...]
    n: int


def calibrate_models(
    model: NDArray[np.intp], log_probabilities: ArrayLike, level: float, rng: np.random.Generator, foretold: Floats | None = None
) -> ModelCalibration:
    """Calibration of model probabilities.

    Arguments:
        model: The true ones, (N,).
        log_probabilities: log q(model | y), (N, M).
        level: How often a perfect q may be complained about, all questions together.
        foretold: What plain statistics make of each model beyond q, (n, M), for the last n participants.
    """
    log_q = np.asarray(log_probabilities, dtype=np.float64)
    log_q = np.maximum(log_q - _log_sum(log_q), -40.0)
    log_q -= _log_sum(log_q)
    size = log_q.shape[1]
    t, score = surprise(log_q, log_q, model, rng)
    one_each = np.eye(size)[: size if size > 2 else 1]
    shares = min(surprise(log_q, np.broadcast_to(one, log_q.shape), model, rng)[1] for one in one_each)
    seen = 1.0 if foretold is None else surprise(log_q[-len(foretold) :], foretold, model[-len(foretold) :], rng)[1]
    questions = 1 + len(one_each) + (foretold is not None)
    asked = {"overconfident" if t < 0 else "underconfident": score, "shifted": shares, "incomplete": seen}
    word = next((word for word, p in asked.items() if p * questions <= level), "no error found")
    exponent = float(np.clip(1.0 + t, 1 / LARGEST, LARGEST))
    se = float(1.0 / np.sqrt(max(_tempered(log_q, exponent - 1.0)[2], 1e-12)))
    diagram, error, usual = reliability(np.exp(log_q), model, BINS, rng)
    p = min(1.0, questions * min(asked.values()))
    return ModelCalibration(word, p, exponent, se, noticeable(log_q, level / questions), error, usual, diagram, len(log_q))


def surprise(log_q: Floats, values: Floats, model: NDArray[np.intp], rng: np.random.Generator, draws: int = DRAWS) -> tuple[float, float]:
    """How unusual the sum over participants of values[i, model[i]] is for models drawn from q.

    Arguments:
        log_q: Normalised, (N, M).
        values: (N, M).

    Returns:
        The t at which the sum is usual under q e^{t values}, and the p-value, for both sides together.
    """
    rows = np.arange(len(model))
    observed = float(values[rows, model].sum())

    def tilted(t: float) -> Floats:
        scaled = log_q + t * values
        return np.asarray(scaled - _log_sum(scaled))

    def excess(t: float) -> float:
        return float((np.exp(tilted(t)) * values).sum()) - observed

    t = zero_of(excess)
    proposal = tilted(t)
    edges, weights = np.exp(proposal).cumsum(-1)[:, :-1], log_q - proposal
    nearly, total = 1e-9 * (1.0 + abs(observed)), 0.0
    for _ in range(0, draws, 50):
        drawn = _chosen(rng.random((50, len(rows))), edges)
        sums = values[rows, drawn].sum(-1)
        as_far = sums >= observed - nearly if t >= 0 else sums <= observed + nearly
        total += float(np.exp(weights[rows, drawn].sum(-1))[as_far].sum())
    return t, min(1.0, 2.0 * total / draws)


def noticeable(log_q: Floats, level: float, chance: float = 0.9) -> tuple[float | None, float | None]:
    """The exponents below and above 1 beyond which the score would be complained about with the given chance.

    By likelihood roots: at t the sum's density is e^{-(root^2) / 2} of that at its mean, so that a complaint begins where the root is a
    normal quantile; and if t is the truth, the sum is normal about its mean there.
    """
    limit, margin = norm.isf(level / 2), norm.isf(1 - chance)

    def end(sign: float, furthest: float) -> float | None:
        def beyond(t: float) -> float:
            """How far the root is beyond the limit."""
            total, mean, _ = _tempered(log_q, t)
            return float(np.sqrt(max(2 * (t * mean - total), 0.0)) - limit)

        if beyond(furthest) <= 0:
            return None
        critical = _tempered(log_q, brentq(beyond, 0.0, furthest))[1]

        def clear(t: float) -> float:
            """How far the sum is beyond the critical one, if t is the truth and the sum is on the near side."""
            _, mean, variance = _tempered(log_q, t)
            return float(sign * (mean - critical) - margin * np.sqrt(variance))

        return 1.0 + float(brentq(clear, 0.0, furthest)) if clear(furthest) > 0 else None

    return end(-1.0, 1 / LARGEST - 1.0), end(1.0, LARGEST - 1.0)


def reliability(
    q: Floats, model: NDArray[np.intp], bins: int, rng: np.random.Generator, draws: int = 100
) -> tuple[tuple[Bin, ...], float, float]:
    """Predicted probabilities (N, M) against what happened, in bins of equal width; empty bins are left out.

    Returns:
        The bins, the average distance of what was predicted from what happened, and that distance for models drawn from q.
    """
    n, size = q.shape
    edges = np.linspace(0.0, 1.0, bins + 1)
    place = np.clip(np.digitize(q, edges) - 1, 0, bins - 1)
    count, predicted, variance = (np.bincount(place.ravel(), part.ravel(), bins) for part in (np.ones_like(q), q, q * (1 - q)))

    def happened(models: NDArray[np.intp]) -> Floats:
        return np.bincount(place[np.arange(n), models], minlength=bins).astype(np.float64)

    observed, ends = happened(model), q.cumsum(-1)[:, :-1]
    drawn = [_chosen(rng.random((1, n)), ends)[0] for _ in range(draws)]
    error, *usual = (float(np.abs(predicted - one).sum() / (n * size)) for one in (observed, *map(happened, drawn)))
    numbers = zip(edges[:-1], edges[1:], count, predicted, observed, variance, strict=True)
    diagram = (Bin(float(a), float(b), int(k), float(p / k), float(o / k), float(np.sqrt(v) / k)) for a, b, k, p, o, v in numbers if k)
    return tuple(diagram), error, float(np.mean(usual))


def _chosen(u: Floats, edges: Floats) -> NDArray[np.intp]:
    """The models that uniform numbers (..., N) fall to, whose shares end at `edges` (N, M - 1). Summing so few columns at once is slow."""
    models = np.zeros(u.shape, np.intp)
    for end in np.ascontiguousarray(edges.T):
        models += u > end
    return models


def _tempered(log_q: Floats, t: float) -> tuple[float, float, float]:
    """The logarithm of E e^{t s}, s being the score under q; and the mean and variance of s under q^(1 + t)."""
    scaled = (1.0 + t) * log_q
    total = _log_sum(scaled)
    p = np.exp(scaled - total)
    mean = (p * log_q).sum(-1)
    return float(total.sum()), float(mean.sum()), float(((p * log_q**2).sum(-1) - mean**2).sum())


def _log_sum(log_values: Floats) -> Floats:
    """log of the sum of exp over models, (N, M) to (N, 1), not all -inf. Tens of times as fast as scipy's logsumexp for few numbers."""
    largest = log_values.max(-1, keepdims=True)
    return np.asarray(largest + np.log(np.exp(log_values - largest).sum(-1, keepdims=True)))


def zero_of(function: Callable[[float], float]) -> float:
    """Where an increasing function is 0; far out on the right side if it never is."""
    sign = 1.0 if function(0.0) < 0 else -1.0
    near, far = 0.0, sign * 1e-3
    while sign * function(far) < 0 and abs(far) < 1e6:
        near, far = far, 2.0 * far
    return float(brentq(function, near, far)) if sign * function(far) > 0 else far
