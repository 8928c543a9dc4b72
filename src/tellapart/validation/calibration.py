"""Can the probabilities be taken at their word? Simulation-based calibration, with a verdict in words.

Parameters. If q is the posterior, the rank of the true value among draws from q is uniform (Cook, Gelman & Rubin 2006; Talts et
al. 2018). Ranks that gather at both ends mean an overconfident q, ranks that gather in the middle an underconfident one. Three
questions are put to the ranks of each parameter:

    spread   is the variance of the ranks that of a uniform distribution?
    place    is their mean?
    shape    does their distribution function leave the band that a uniform one stays in, at all points together (Säilynoja,
             Bürkner & Vehtari 2022)? The probability of staying inside is computed, not simulated: the counts up to
             successive points are a Markov chain.

Models. If q is the posterior, log q(true model) is on average -H(q), whatever q is: an overconfident q scores less than it
expects of itself, an underconfident one more. This is the score test of the exponent b of q^b / sum q^b at b = 1, the best b being
the reliable measure of how much too sure (b < 1) or too timid (b > 1) the estimator is. The shares of the models are tested too.

The level is divided among all questions, so that the verdict as a whole complains wrongly at most as often as stated.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import brentq, minimize_scalar
from scipy.special import gammaln, logsumexp, xlog1py, xlogy
from scipy.stats import binom, norm

from .answers import Answers, Floats, plain

Word = Literal["well calibrated", "overconfident", "underconfident", "shifted", "misshapen"]

FALSE_ALARM = 1e-3
"""How often the verdict on a perfect estimator is allowed to be a complaint."""

POINTS = 40
"""Points at which the distribution of ranks is looked at."""

LEVELS = (0.5, 0.8, 0.9, 0.95)
"""Credible levels of the table of expected coverage."""


@dataclass(frozen=True)
class Bin:
    """Participants and models with similar predicted probabilities.

    Arguments:
        low: Where the bin begins.
        high: Where it ends.
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
        verdict: In a word.
        p: The smallest p-value of the questions put, each already multiplied by their number.
        exponent: b above; below 1 overconfident, above 1 underconfident.
        exponent_se: Its standard error.
        error: The expected calibration error: how far predictions are from what happens, on average over the bins.
        bins: The reliability diagram.
        n: Simulated participants.
    """

    verdict: Word
    p: float
    exponent: float
    exponent_se: float
    error: float
    bins: tuple[Bin, ...]
    n: int


@dataclass(frozen=True)
class ParameterCalibration:
    """Calibration of the posterior of one parameter of one model.

    Arguments:
        model: Its name.
        parameter: Its name.
        verdict: In a word.
        p: The smallest p-value of the questions about spread and place, each already multiplied by their number.
        outside: Does the distribution of ranks leave its band?
        n: Simulated participants.
        ranks: How many ranks fall into each of equal parts of their range.
        points: Where the distribution function is looked at, in (0, 1).
        difference: It, less that of a uniform distribution, at the points.
        low: The band's lower end at the points.
        high: Its upper end.
        levels: Credible levels.
        coverage: How often the central intervals of those levels hold the true value.
        coverage_se: The standard errors, if the posterior is right.
    """

    model: str
    parameter: str
    verdict: Word
    p: float
    outside: bool
    n: int
    ranks: tuple[int, ...]
    points: tuple[float, ...]
    difference: tuple[float, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]
    levels: tuple[float, ...]
    coverage: tuple[float, ...]
    coverage_se: tuple[float, ...]


@dataclass(frozen=True)
class Calibration:
    """Calibration of all that the estimator says.

    Arguments:
        verdict: In a sentence.
        sound: Is there nothing to complain about?
        false_alarm: How often a perfect estimator would be complained about.
        models: About models, for goals about models.
        parameters: About parameters, for goals about parameters.
    """

    verdict: str
    sound: bool
    false_alarm: float
    models: ModelCalibration | None
    parameters: tuple[ParameterCalibration, ...]


def calibration(answers: Answers, rng: np.random.Generator, false_alarm: float = FALSE_ALARM) -> Calibration:
    """Calibration of everything in `answers`, at a level for all questions together.

    Arguments:
        rng: Breaks ties between a true value and draws.
    """
    names = [(m, name) for m, draws in enumerate(answers.draws) for name in draws]
    level = false_alarm / ((answers.log_probabilities is not None) + len(names))
    models = None
    if answers.log_probabilities is not None:
        models = calibrate_models(answers.simulations.model, answers.log_probabilities, level)
    parameters = []
    for m, name in names:
        draws = answers.draws[m][name]
        ranks = ranks_among(answers.truth(m)[name], draws, rng)
        parameters.append(calibrate_ranks(ranks, draws.shape[1], level, answers.names[m], name))
    verdict = _sentence(models, parameters)
    sound = all(part.verdict == "well calibrated" for part in parameters) and (models is None or models.verdict == "well calibrated")
    return Calibration(verdict, sound, false_alarm, models, tuple(parameters))


def ranks_among(truth: Floats, draws: Floats, rng: np.random.Generator) -> NDArray[np.intp]:
    """The rank of each true value (N,) among the draws of its posterior (N, L), 0 to L; ties are broken at random."""
    below, equal = (draws < truth[:, None]).sum(-1), (draws == truth[:, None]).sum(-1)
    return np.asarray(below + rng.integers(0, equal + 1))


def calibrate_ranks(
    ranks: NDArray[np.intp], draws: int, level: float = FALSE_ALARM, model: str = "", parameter: str = ""
) -> ParameterCalibration:
    """Put the three questions to ranks 0 … `draws`, (N,); `level` is for all three together."""
    n = len(ranks)
    u = (ranks + 0.5) / (draws + 1)  # the middle of the rank's part of (0, 1)
    spread = _z(float(np.mean((u - 0.5) ** 2)), *_moments(draws, 2), n)
    place = _z(float(u.mean()), *_moments(draws, 1), n)
    points = POINTS if (draws + 1) % POINTS == 0 else _divisor(draws + 1)
    counts = np.histogram(u, np.linspace(0.0, 1.0, points + 1))[0]
    low, high = uniform_band(n, points, level / 2)
    below = np.cumsum(counts)[:-1]
    outside = bool(((below < low) | (below > high)).any())
    where = np.arange(1, points) / points
    limit = float(norm.isf(level / 8))
    return ParameterCalibration(
        model,
        parameter,
        verdict=_word(spread, place, outside, limit),
        p=float(min(1.0, 8 * norm.sf(max(abs(spread), abs(place))))),
        outside=outside,
        n=n,
        ranks=tuple(int(c) for c in counts),
        points=plain(where),
        difference=plain(below / n - where),
        low=plain(low / n - where),
        high=plain(high / n - where),
        levels=LEVELS,
        coverage=tuple(float(np.mean(np.abs(u - 0.5) <= c / 2)) for c in LEVELS),
        coverage_se=tuple(float(np.sqrt(c * (1 - c) / n)) for c in LEVELS),
    )


def calibrate_models(model: NDArray[np.intp], log_probabilities: ArrayLike, level: float = FALSE_ALARM, bins: int = 10) -> ModelCalibration:
    """Calibration of model probabilities.

    Arguments:
        model: The true ones, (N,).
        log_probabilities: log q(model | y), (N, M).
        level: For all questions together.
    """
    log_q = np.asarray(log_probabilities, dtype=np.float64)
    log_q = np.maximum(log_q - logsumexp(log_q, axis=-1, keepdims=True), -700.0)
    q, n, size = np.exp(log_q), len(log_q), log_q.shape[1]
    expected = (q * log_q).sum(-1)
    variance = (q * log_q**2).sum(-1) - expected**2
    score = float((log_q[np.arange(n), model] - expected).sum() / np.sqrt(max(variance.sum(), 1e-300)))
    hits = np.eye(size)[model]
    shares = (hits - q).sum(0) / np.sqrt(np.maximum((q * (1 - q)).sum(0), 1e-300))
    questions = size + 1
    limit = float(norm.isf(level / (2 * questions)))
    word: Word = "well calibrated"
    if abs(score) > limit:
        word = "overconfident" if score < 0 else "underconfident"
    elif np.abs(shares).max() > limit:
        word = "shifted"
    p = float(min(1.0, 2 * questions * norm.sf(max(abs(score), float(np.abs(shares).max())))))
    exponent, exponent_se = _exponent(log_q, model)
    diagram = reliability(q, hits, bins)
    error = sum(b.n * abs(b.predicted - b.observed) for b in diagram) / sum(b.n for b in diagram)
    return ModelCalibration(word, p, exponent, exponent_se, error, diagram, n)


def reliability(q: Floats, hits: Floats, bins: int) -> tuple[Bin, ...]:
    """Predicted probabilities (N, M) against what happened (N, M), in bins of equal width; empty bins are left out."""
    edges = np.linspace(0.0, 1.0, bins + 1)
    place = np.clip(np.digitize(q, edges) - 1, 0, bins - 1)
    found = []
    for b in range(bins):
        mine = place == b
        n = int(mine.sum())
        if n:
            se = float(np.sqrt((q[mine] * (1 - q[mine])).sum()) / n)
            found.append(Bin(float(edges[b]), float(edges[b + 1]), n, float(q[mine].mean()), float(hits[mine].mean()), se))
    return tuple(found)


@cache
def uniform_band(n: int, points: int, level: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The counts below points 1/K, …, (K-1)/K that `n` uniform ranks stay within at all points with probability 1 - `level`.

    The band is that of binomial quantiles at one common level for each point, chosen so that the probability of leaving it
    anywhere is at most `level`.
    """
    where = np.arange(1, points) / points

    def ends(log_gamma: float) -> tuple[Floats, Floats]:
        tail = np.exp(log_gamma) / 2
        return binom.ppf(tail, n, where), binom.isf(tail, n, where)

    def leaves(log_gamma: float) -> float:
        return _probability_outside(n, points, *ends(log_gamma)) - level

    lowest, highest = np.log(level / points) - 1.0, np.log(level)
    root = brentq(leaves, lowest, highest, xtol=0.02) if leaves(lowest) < 0 < leaves(highest) else lowest
    while leaves(root) > 0:  # counts are whole numbers, so the probability is a staircase: step down to the safe side
        root -= 0.02
    return ends(root)


def _probability_outside(n: int, points: int, low: Floats, high: Floats) -> float:
    """The probability that the counts of `n` uniform ranks leave the band [low, high] at one of the points or more."""
    state, chance = np.array([0]), np.array([1.0])
    for k in range(1, points):
        reach = np.arange(int(low[k - 1]), int(high[k - 1]) + 1)
        step, left = reach[None, :] - state[:, None], n - state[:, None]
        share, possible = 1.0 / (points - k + 1), (step >= 0) & (step <= left)
        safe = np.where(possible, step, 0)
        log_chance = gammaln(left + 1) - gammaln(safe + 1) - gammaln(left - safe + 1) + xlogy(safe, share) + xlog1py(left - safe, -share)
        chance = chance @ np.where(possible, np.exp(log_chance), 0.0)
        state = reach
    return float(1.0 - chance.sum())


def _moments(draws: int, power: int) -> tuple[float, float]:
    """Mean and standard deviation of u, or of (u - 1/2)^2, for uniform ranks 0 … `draws`."""
    u = (np.arange(draws + 1) + 0.5) / (draws + 1)
    values = u if power == 1 else (u - 0.5) ** 2
    return float(values.mean()), float(values.std())


def _z(mean: float, expected: float, sd: float, n: int) -> float:
    return float((mean - expected) / (sd / np.sqrt(n)))


def _word(spread: float, place: float, outside: bool, limit: float) -> Word:
    if abs(spread) > limit:
        return "overconfident" if spread > 0 else "underconfident"
    if abs(place) > limit:
        return "shifted"
    return "misshapen" if outside else "well calibrated"


def _exponent(log_q: Floats, model: NDArray[np.intp]) -> tuple[float, float]:
    """The b that makes q^b / sum q^b most likely, between 0.05 and 20, and its standard error."""
    rows = np.arange(len(log_q))

    def loss(log_b: float) -> float:
        scaled = np.exp(log_b) * log_q
        return float(-(scaled[rows, model] - logsumexp(scaled, axis=-1)).mean())

    b = float(np.exp(minimize_scalar(loss, bounds=(np.log(0.05), np.log(20.0)), method="bounded").x))
    scaled = b * log_q
    p = np.exp(scaled - logsumexp(scaled, axis=-1, keepdims=True))
    variance = (p * log_q**2).sum(-1) - (p * log_q).sum(-1) ** 2
    return b, float(1.0 / np.sqrt(max(variance.sum(), 1e-12)))


def _divisor(size: int) -> int:
    """The largest divisor of `size` that is at most `POINTS`, and at least 2 if there is one."""
    return max((k for k in range(2, min(POINTS, size) + 1) if size % k == 0), default=size)


def _sentence(models: ModelCalibration | None, parameters: list[ParameterCalibration]) -> str:
    """The verdict on everything."""
    complaints = [f"model probabilities are {models.verdict}"] if models and models.verdict != "well calibrated" else []
    for word in ("overconfident", "underconfident", "shifted", "misshapen"):
        names = [f"{part.model}.{part.parameter}" for part in parameters if part.verdict == word]
        complaints += [f"the posterior of {', '.join(names)} is {word}"] if names else []
    text = "; ".join(complaints) if complaints else "well calibrated: probabilities can be taken at their word"
    return text[0].upper() + text[1:] + "."
