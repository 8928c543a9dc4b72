"""From what options are worth to the probabilities of choosing them: for agents, compiled or not.

    softmax(values)              proportional to exp(value)
    largest(means, sds)          that option k is the largest of independent normal numbers: Thompson sampling, probit choice
    drawn_largest(…, stream)     which of them it is: drawn, which is quicker than its probabilities

`largest` is the integral over x of phi_k(x) times the product over j != k of Phi_j(x). All K of them are summed over the same points, a
few for each standard deviation of the narrowest; such a sum of a smooth integrand that dies away on both sides converges faster than any
power. Where one is so much narrower than another that these would be too many, it is integrated piece by piece, from knot to knot: those
of an option are a few around its mean, so that on a piece nothing changes by more than a standard deviation or two.

What is all but impossible is in the tails that those points leave out. There the logarithm of the integrand, which is concave, is followed
to both sides of its highest place, until it has fallen so far that nothing is left. No normal number is impossible as the largest, and no
finite value as a choice: what is too small for a number is told as the smallest one, so that its logarithm is finite.
"""

from __future__ import annotations

from math import erfc, log, pi, sqrt
from typing import Any

import numba as nb
import numpy as np

from .compiled import ONLY_CALLED
from .streams import standard_normal, uniform

_FAR = 5.0
"""Standard deviations beyond which a normal density is nothing."""
_STEP, _MOST = 1.0, 512
"""The distance of points in standard deviations of the narrowest, and how many there are at most."""
_KNOTS = np.array([-_FAR, -3.0, -1.5, 0.0, 1.5, 3.0, _FAR])
"""Where pieces begin and end, in standard deviations of each option."""
_PLACES, _WEIGHTS = np.polynomial.legendre.leggauss(8)
"""Points of a piece from -1 to 1, and their weights."""
_RARE, _DEEP = 1e-7, 40.0
"""The probability below which a tail is integrated by itself, and how far the logarithm of its integrand falls until it is nothing."""
_PARTS = np.array([0.0, 1 / 32, 1 / 16, 1 / 8, 1 / 4, 1 / 2, 1.0])
"""Where pieces of a tail begin and end: short ones first, since it falls from there on."""
_SMALLEST = 1e-300
"""A probability that is not 0 is told as this one, at least: its logarithm can be computed."""


@nb.njit(cache=True, error_model="numpy")
def softmax(values: Any) -> Any:
    """Probabilities proportional to exp(value), (K,); however large the values are. Only a value of -inf has the probability 0."""
    shares, top, total = np.empty(values.size), values[0], 0.0
    for k in range(values.size):
        top = max(top, values[k])
    for k in range(values.size):
        shares[k] = 0.0 if values[k] == -np.inf else max(np.exp(values[k] - top), _SMALLEST)
        total += shares[k]
    for k in range(values.size):
        shares[k] /= total
    return shares


@nb.njit(cache=True, error_model="numpy")
def largest(means: Any, sds: Any) -> Any:
    """The probability that each of K independent normal numbers is the largest, (K,); means and standard deviations (K,)."""
    count = means.size
    if sds.size != count:
        raise ValueError("as many standard deviations as means")
    shares = np.zeros(count)
    if count == 2:
        apart = (means[1] - means[0]) / np.sqrt(2.0 * (sds[0] ** 2 + sds[1] ** 2))
        shares[0], shares[1] = max(0.5 * erfc(apart), _SMALLEST), max(0.5 * erfc(-apart), _SMALLEST)
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
    shares /= shares.sum()
    for k in range(count):
        if shares[k] < _RARE:
            shares[k] = max(np.exp(_log_rare(means, sds, k)), _SMALLEST)
    return shares


@nb.njit(cache=True, error_model="numpy", **ONLY_CALLED)
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


@nb.njit(cache=True, error_model="numpy", **ONLY_CALLED)
def _add_pieces(shares: Any, means: Any, sds: Any, low: Any) -> None:
    """Integrate these densities above `low`, piece by piece."""
    knots = np.empty(means.size * _KNOTS.size)
    for k in range(means.size):
        for i in range(_KNOTS.size):
            knots[k * _KNOTS.size + i] = max(low, means[k] + _KNOTS[i] * sds[k])
    sort(knots)
    for i in range(knots.size - 1):
        half = 0.5 * (knots[i + 1] - knots[i])
        if half > 0.0:
            for p in range(_PLACES.size):
                _add_densities(shares, means, sds, knots[i] + half * (1.0 + _PLACES[p]), half * _WEIGHTS[p])


@nb.njit(cache=True, **ONLY_CALLED)
def sort(values: Any) -> None:
    """Bring a few numbers into order, smallest first, where they are; numba's own `sort` takes two seconds to compile."""
    for i in range(1, values.size):
        value, place = values[i], i
        while place > 0 and values[place - 1] > value:
            values[place] = values[place - 1]
            place -= 1
        values[place] = value


@nb.njit(cache=True, error_model="numpy", **ONLY_CALLED)
def _log_rare(means: Any, sds: Any, k: Any) -> Any:
    """log of the probability that option `k`, for which that is a rare event, is the largest."""
    above = means[0] + sds[0]
    for j in range(means.size):
        above = max(above, means[j] + 40.0 * sds[j])
    below, place = means[k], above
    for _ in range(200):  # the highest place: the logarithm rises before and falls after it
        middle = 0.5 * (below + above)
        if middle == place:
            break
        place = middle
        if _slope(means, sds, k, middle) > 0.0:
            below = middle
        else:
            above = middle
    highest, total = _log_density(means, sds, k, place), 0.0
    if highest < -1000.0:
        return highest  # smaller than any number, whatever the width
    for side in (-1.0, 1.0):
        near, far = 0.0, sds[k]
        while _log_density(means, sds, k, place + side * far) > highest - _DEEP:
            near, far = far, 2.0 * far
        for _ in range(40):
            middle = 0.5 * (near + far)
            if _log_density(means, sds, k, place + side * middle) > highest - _DEEP:
                near = middle
            else:
                far = middle
        for i in range(_PARTS.size - 1):
            half = 0.5 * far * (_PARTS[i + 1] - _PARTS[i])
            for p in range(_PLACES.size):
                x = place + side * (far * _PARTS[i] + half * (1.0 + _PLACES[p]))
                total += half * _WEIGHTS[p] * np.exp(_log_density(means, sds, k, x) - highest)
    return highest + log(total)


@nb.njit(cache=True, error_model="numpy", **ONLY_CALLED)
def _log_density(means: Any, sds: Any, k: Any, x: Any) -> Any:
    """log of how dense it is that option `k` is the largest, with the value `x`."""
    z = (x - means[k]) / sds[k]
    total = -0.5 * z * z - log(sds[k] * sqrt(2.0 * pi))
    for j in range(means.size):
        if j != k:
            total += _log_below((x - means[j]) / sds[j])
    return total


@nb.njit(cache=True, error_model="numpy", **ONLY_CALLED)
def _slope(means: Any, sds: Any, k: Any, x: Any) -> Any:
    """The derivative of that logarithm with respect to `x`."""
    total = -(x - means[k]) / sds[k] ** 2
    for j in range(means.size):
        if j != k:
            z = (x - means[j]) / sds[j]
            total += np.exp(-0.5 * z * z - 0.5 * log(2.0 * pi) - _log_below(z)) / sds[j]
    return total


@nb.njit(cache=True, error_model="numpy", **ONLY_CALLED)
def _log_below(z: Any) -> Any:
    """log of the standard normal distribution function, also where it is too small for a number."""
    if z > -30.0:
        return log(0.5 * erfc(-z / sqrt(2.0)))
    return -0.5 * z * z - log(-z * sqrt(2.0 * pi)) + log(1.0 - 1.0 / (z * z))


@nb.njit(cache=True, error_model="numpy")
def drawn_largest(means: Any, sds: Any, stream: Any) -> Any:
    """Which of K independent normal numbers is the largest, when they are drawn from `stream`; means and standard deviations (K,).

    -1, which is no choice, if one of them is no number.
    """
    if sds.size != means.size:
        raise ValueError("as many standard deviations as means")
    best, highest = 0, -np.inf
    for k in range(means.size):
        x = means[k] + sds[k] * standard_normal(stream)
        if np.isnan(x):
            return -1
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
