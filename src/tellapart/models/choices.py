"""From what options are worth to the probabilities of choosing them: for agents, compiled or not.

    softmax(values)              proportional to exp(value)
    largest(means, sds)          that option k is the largest of independent normal numbers: Thompson sampling, probit choice
    drawn_largest(…, stream)     which of them it is: drawn, which is quicker than its probabilities

`largest` is the integral over x of phi_k(x) times the product over j != k of Phi_j(x). All K of them are summed over the same points, a
few for each standard deviation of the narrowest; such a sum of a smooth integrand that dies away on both sides converges faster than any
power. Where one is so much narrower than another that these would be too many, it is integrated piece by piece, from knot to knot: those
of an option are a few around its mean, so that on a piece nothing changes by more than a standard deviation or two.
"""

from __future__ import annotations

from math import erfc
from typing import Any

import numba as nb
import numpy as np

from .streams import standard_normal, uniform

_FAR = 5.0
"""Standard deviations beyond which a normal density is nothing."""
_STEP, _MOST = 1.0, 512
"""The distance of points in standard deviations of the narrowest, and how many there are at most."""
_KNOTS = np.array([-_FAR, -3.0, -1.5, 0.0, 1.5, 3.0, _FAR])
"""Where pieces begin and end, in standard deviations of each option."""
_PLACES, _WEIGHTS = np.polynomial.legendre.leggauss(8)
"""Points of a piece from -1 to 1, and their weights."""


@nb.njit(cache=True, error_model="numpy")
def softmax(values: Any) -> Any:
    """Probabilities proportional to exp(value), (K,); however large the values are."""
    shares, top, total = np.empty(values.size), values[0], 0.0
    for k in range(values.size):
        top = max(top, values[k])
    for k in range(values.size):
        shares[k] = np.exp(values[k] - top)
        total += shares[k]
    for k in range(values.size):
        shares[k] /= total
    return shares


@nb.njit(cache=True, error_model="numpy")
def largest(means: Any, sds: Any) -> Any:
    """The probability that each of K independent normal numbers is the largest, (K,); means and standard deviations (K,)."""
    count = means.size
    shares = np.zeros(count)
    if count == 2:
        apart = (means[1] - means[0]) / np.sqrt(2.0 * (sds[0] ** 2 + sds[1] ** 2))
        shares[0], shares[1] = 0.5 * erfc(apart), 0.5 * erfc(-apart)
        return shares
    low, high, narrowest = -np.inf, -np.inf, np.inf
    for k in range(count):
        # below the lowest plausible value of any option it would be the largest of nothing
        low, high = max(low, means[k] - _FAR * sds[k]), max(high, means[k] + _FAR * sds[k])
        narrowest = min(narrowest, sds[k])
    points = (high - low) / (_STEP * narrowest) + 2.0
    if points > _MOST:
        _add_pieces(shares, means, sds, low)
    else:
        step = (high - low) / (int(points) - 1)
        for p in range(int(points)):
            _add_densities(shares, means, sds, low + p * step, 1.0)
    return shares / shares.sum()


@nb.njit(cache=True, error_model="numpy")
def _add_densities(shares: Any, means: Any, sds: Any, x: Any, weight: Any) -> None:
    """Add to the shares how dense it is that each option is the largest, with the value `x`."""
    product = 1.0
    for k in range(means.size):
        product *= 0.5 * erfc((means[k] - x) / (np.sqrt(2.0) * sds[k]))
    if product < 1e-12:
        return
    for k in range(means.size):
        z = (x - means[k]) / sds[k]
        if abs(z) < _FAR:
            shares[k] += weight * product * np.exp(-0.5 * z * z) / (sds[k] * 0.5 * erfc(-z / np.sqrt(2.0)))


@nb.njit(cache=True, error_model="numpy")
def _add_pieces(shares: Any, means: Any, sds: Any, low: Any) -> None:
    """Integrate these densities above `low`, piece by piece."""
    knots = np.empty(means.size * _KNOTS.size)
    for k in range(means.size):
        for i in range(_KNOTS.size):
            knots[k * _KNOTS.size + i] = max(low, means[k] + _KNOTS[i] * sds[k])
    knots.sort()
    for i in range(knots.size - 1):
        half = 0.5 * (knots[i + 1] - knots[i])
        if half > 0.0:
            for p in range(_PLACES.size):
                _add_densities(shares, means, sds, knots[i] + half * (1.0 + _PLACES[p]), half * _WEIGHTS[p])


@nb.njit(cache=True, error_model="numpy")
def drawn_largest(means: Any, sds: Any, stream: Any) -> Any:
    """Which of K independent normal numbers is the largest, when they are drawn from `stream`; means and standard deviations (K,)."""
    best, highest = 0, -np.inf
    for k in range(means.size):
        x = means[k] + sds[k] * standard_normal(stream)
        if x > highest:
            best, highest = k, x
    return best


@nb.njit(cache=True, error_model="numpy", forceinline=True)
def total_of(shares: Any, options: Any) -> Any:
    """The sum of K probabilities, or -1 if these are none."""
    total = 0.0
    if shares.size != options:
        return -1.0
    for k in range(options):
        if not shares[k] >= 0.0:
            return -1.0
        total += shares[k]
    return total if abs(total - 1.0) < 1e-6 else -1.0


@nb.njit(cache=True, error_model="numpy", forceinline=True)
def drawn(shares: Any, options: Any, stream: Any) -> Any:
    """An option drawn with its probability; -1 if these are no probabilities."""
    total = total_of(shares, options)
    left, k = uniform(stream) * total, 0
    if total < 0.0:
        return -1
    while k < options - 1 and left >= shares[k]:
        left -= shares[k]
        k += 1
    return k


@nb.njit(cache=True, error_model="numpy", forceinline=True)
def log_share(shares: Any, options: Any, option: Any) -> Any:
    """log of the probability of an option; NaN if these are no probabilities."""
    total = total_of(shares, options)
    return np.log(shares[option] / total) if total > 0.0 else np.nan
