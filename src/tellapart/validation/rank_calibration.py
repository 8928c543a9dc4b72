"""Are the posteriors of parameters as good as they say? Ranks of true values among draws.

If q is the posterior, the rank of the truth among draws from q is uniform, in whatever they are ordered by (Cook, Gelman & Rubin 2006;
Talts et al. 2018; Modrák et al. 2023). Ranks that gather at both ends mean an overconfident q, ranks that gather in the middle an
underconfident one. Three questions are put to them:

    spread   is the variance of the ranks that of a uniform distribution?
    place    is their mean? Both are brought to a normal scale by a saddlepoint: of few participants, an average is not normal where it
             matters, far out (Barndorff-Nielsen 1986).
    shape    does their distribution function leave the band that a uniform one stays in, at all points together (Säilynoja,
             Bürkner & Vehtari 2022)? The probability of staying inside is computed, not simulated: the counts up to
             successive points are a Markov chain.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import gammaln, xlog1py, xlogy
from scipy.stats import binom, norm

from ..information.estimate import Floats
from .model_calibration import zero_of
from .participants import plain

POINTS = 40
"""Points at which the distribution of ranks is looked at."""

LEVELS = (0.5, 0.8, 0.9, 0.95)
"""Credible levels of the table of expected coverage."""


@dataclass(frozen=True)
class RankCalibration:
    """Calibration of the posterior of one parameter of one model, or of all of them together.

    Arguments:
        model, parameter: Their names; the latter is empty for all parameters together.
        by: What draws are ordered by: the "value" of the parameter; "distance" from the middle of all draws, which tells whether parameters
            go together as they should; or the direction in which plain "statistics" would move them, see `calibration.py`.
        p: The smallest p-value of the questions about spread and place, each already multiplied by their number.
        outside: Does the distribution of ranks leave its band?
        noticed: A posterior whose width is wrong by a factor below the first number or above the second would have been noticed in 9
            of 10 validations; None if none would.
        points: Where the distribution function is looked at, in (0, 1).
        difference: It, less that of a uniform distribution, at the points.
        low, high: The ends of the band at the points.
        coverage, coverage_se: How often the central intervals of `levels` hold the true value; the error if the posterior is right.
    """

    model: str
    parameter: str
    by: str
    verdict: str
    p: float
    outside: bool
    n: int
    noticed: tuple[float | None, float | None]
    points: tuple[float, ...]
    difference: tuple[float, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]
    levels: tuple[float, ...]
    coverage: tuple[float, ...]
    coverage_se: tuple[float, ...]


def ranks_among(truth: Floats, draws: Floats, rng: np.random.Generator) -> NDArray[np.intp]:
    """The rank of each true value (N,) among the draws of its posterior (N, L), 0 to L; ties are broken at random."""
    below, equal = (draws < truth[:, None]).sum(-1), (draws == truth[:, None]).sum(-1)
    return np.asarray(below + rng.integers(0, equal + 1))


def distances(truth: Floats, draws: Floats) -> tuple[Floats, Floats]:
    """How far out the truth (N, P) and each draw (N, L, P) are among all of them: their squared Mahalanobis distances, (N,) and (N, L).

    The truth counts as one of the L + 1 points whose mean and covariance are taken, so that it differs from a draw in nothing.
    """
    points = np.concatenate([truth[:, None], draws], axis=1)
    centred = points - points.mean(1, keepdims=True)
    covariance = np.einsum("nlp,nlq->npq", centred, centred) / points.shape[1] + 1e-9 * np.eye(points.shape[2])
    far = np.einsum("nlp,npq,nlq->nl", centred, np.linalg.inv(covariance), centred, optimize=True)
    return far[:, 0], far[:, 1:]


def calibrate_ranks(
    ranks: NDArray[np.intp], draws: int, level: float, model: str = "", parameter: str = "", by: str = "value"
) -> RankCalibration:
    """Put the three questions to ranks 0 … `draws`, (N,); `level` is for all three together."""
    n = len(ranks)
    u = (ranks + 0.5) / (draws + 1)  # the middle of the rank's part of (0, 1)
    even = (np.arange(draws + 1) + 0.5) / (draws + 1)
    place, spread = normal_score(float(u.mean()), even, n), normal_score(float(np.mean((u - 0.5) ** 2)), (even - 0.5) ** 2, n)
    points = max((k for k in range(2, min(POINTS, draws + 1) + 1) if (draws + 1) % k == 0), default=draws + 1)
    below = np.cumsum(np.histogram(u, np.linspace(0.0, 1.0, points + 1))[0])[:-1]
    low, high = uniform_band(n, points, level / 2)
    outside = bool(((below < low) | (below > high)).any())
    where = np.arange(1, points) / points
    limit = float(norm.isf(level / 8))
    return RankCalibration(
        model,
        parameter,
        by,
        _word(by, spread, place, outside, limit),
        float(min(1.0, 8 * norm.sf(max(abs(spread), abs(place))))),
        outside,
        n,
        noticeable_widths(n, limit),
        plain(where),
        plain(below / n - where),
        plain(low / n - where),
        plain(high / n - where),
        LEVELS,
        tuple(float(np.mean(np.abs(u - 0.5) <= c / 2)) for c in LEVELS),
        tuple(float(np.sqrt(c * (1 - c) / n)) for c in LEVELS),
    )


def normal_score(average: float, values: Floats, n: int) -> float:
    """How unusual the average of `n` draws from `values` (K,) is, as a standard normal number with the same probability beyond it."""
    x = (values - values.mean()) / values.std()
    far = (average - values.mean()) / values.std()

    def tilted(t: float) -> tuple[float, float, float]:
        """The logarithm of E e^{t x}, and mean and variance of x under weights e^{t x}."""
        top = float(np.max(t * x))
        weights = np.exp(t * x - top)
        mean = float((weights * x).sum() / weights.sum())
        return top + float(np.log(weights.mean())), mean, float((weights * (x - mean) ** 2).sum() / weights.sum())

    t = zero_of(lambda t: tilted(t)[1] - far)
    total, _, variance = tilted(t)
    w, u = np.sign(t) * np.sqrt(max(2 * n * (t * far - total), 0.0)), t * np.sqrt(n * variance)
    if abs(w) < 1e-2 or not u / w > 0:  # in the middle the correction is 0 / 0, and nothing is at stake
        return float(np.sqrt(n) * far)
    return float(w + np.log(u / w) / w)


@cache
def noticeable_widths(n: int, limit: float, chance: float = 0.9) -> tuple[float | None, float | None]:
    """How much too narrow or too wide a normal posterior must be for the spread of `n` ranks to pass `limit` with the given chance."""
    z, margin = norm.isf((np.arange(2000) + 0.5) / 2000), norm.isf(1 - chance)

    def clear(log_width: float) -> float:
        """How far the spread is beyond the limit, on the near side, in units of 1 / sqrt(n)."""
        square, even = (np.square(norm.cdf(z / np.exp(w)) - 0.5) for w in (log_width, 0.0))
        return float(abs(square.mean() - even.mean()) * np.sqrt(n) - limit * even.std() - margin * square.std())

    ends = (float(np.exp(brentq(clear, 0.0, end))) if clear(end) > 0 else None for end in (-4.0, 4.0))
    return next(ends), next(ends)


# ArviZ has the same band (`ecdf_confidence_band`), but looks for it with a tolerance of 1e-5: at the levels left to each of many questions
# (2e-5 here) ranks leave its band four times as often as asked for. The picture in the report shows the band of the verdict, and not
# ArviZ's: a line that leaves the one and stays in the other would be told two things.
@cache
def uniform_band(n: int, points: int, level: float) -> tuple[Floats, Floats]:
    """The counts below points 1/K, …, (K-1)/K that `n` uniform ranks stay within at all points with probability 1 - `level`.

    The band is that of binomial quantiles at one common level for each point, chosen so that the probability of leaving it
    anywhere is at most `level`.
    """
    where = np.arange(1, points) / points

    def ends(log_gamma: float) -> tuple[Floats, Floats]:
        tail = np.exp(log_gamma) / 2
        return binom.ppf(tail, n, where), binom.isf(tail, n, where)

    def leaves(log_gamma: float) -> float:
        return probability_outside(n, points, *ends(log_gamma)) - level

    lowest, highest = np.log(level / points) - 1.0, np.log(level)
    root = brentq(leaves, lowest, highest, xtol=0.02) if leaves(lowest) < 0 < leaves(highest) else lowest
    while leaves(root) > 0:  # counts are whole numbers, so the probability is a staircase: step down to the safe side
        root -= 0.02
    return ends(root)


def probability_outside(n: int, points: int, low: Floats, high: Floats) -> float:
    """The probability that the counts of `n` uniform ranks leave the band [low, high] at one of the points or more."""
    state, chance = np.array([0]), np.array([1.0])
    counts = np.arange(n + 1)
    log_factorial = gammaln(counts + 1)  # looked up for all pairs of counts below
    for k in range(1, points):
        reach = np.arange(int(low[k - 1]), int(high[k - 1]) + 1)
        step, left = reach[None, :] - state[:, None], n - state[:, None]
        share, possible = 1.0 / (points - k + 1), (step >= 0) & (step <= left)
        safe = np.where(possible, step, 0)
        rest = left - safe
        ways = log_factorial[left] - log_factorial[safe] - log_factorial[rest]
        log_chance = ways + xlogy(counts, share)[safe] + xlog1py(counts, -share)[rest]
        chance = chance @ np.where(possible, np.exp(log_chance), 0.0)
        state = reach
    return float(1.0 - chance.sum())


def _word(by: str, spread: float, place: float, outside: bool, limit: float) -> str:
    if max(abs(spread), abs(place)) <= limit and not outside:
        return "no error found"
    if by == "statistics":
        return "incomplete"
    if by == "distance":  # the truth is far out too often, or too seldom
        return "misshapen" if abs(place) <= limit else "overconfident" if place > 0 else "underconfident"
    if abs(spread) > limit:
        return "overconfident" if spread > 0 else "underconfident"
    return "shifted" if abs(place) > limit else "misshapen"
