"""Thompson sampling without sampling: the probability that each of several Beta variables is the largest.

Arm k has X_k ~ Beta(a_k, b_k) with a = (1 + w)^lambda and b = (1 + l)^lambda. On the logit scale, with f_k and F_k the
density and distribution function of logit X_k,

    P(X_c is the largest) = integral of f_c(x) prod_{j != c} F_j(x) dx.

For large lambda the densities are needles, so each is standardised, t = (x - log(a / b)) / s with s^2 = 1 / a + 1 / b,
and evaluated without ever forming a or b where they are large: with u = s t and p = a / (a + b),

    log f(t) - log f(0) = (a + b) (p u - log(1 + p (e^u - 1)))
                        = -(t^2 / 2) (1 + c_3 u / 3 + c_4 u^2 / 12 + c_5 u^3 / 60 + c_6 u^4 / 360 + …),

where c_n is the n-th cumulant of a Bernoulli(p) variable over its second. The line is cut into panels at a few
standard deviations around every mode; in each panel Gauss-Legendre points give the integrals of the f_k and, by the matrix that
integrates the interpolating polynomial, all F_k on the way. No normalising constant is needed: the integrals for all
arms c add up to the product of the total masses, which is also how the accuracy is checked. The absolute error of a
probability is below 1e-7.
"""

from __future__ import annotations

from typing import Any

import numba as nb
import numpy as np
from numpy.typing import ArrayLike

from ..models.base import Floats
from ..models.choices import sort
from ..models.compiled import ONLY_CALLED
from ..threads import in_threads

_HIGHEST = 1300.0
"""log a and log b are cut here: beyond, only which arms have equal odds matters, and s stays above the smallest number."""

_RESOLUTION = 1e-12
"""Needles are widened to this share of their distance from the origin, so that their panels do not vanish."""

_SERIES = 0.03
"""Largest |u| at which the cumulant series is used."""

_SMALL = 1e5
"""Largest a + b at which rounding errors of that many units do no harm."""

_MERGE = 0.6
"""Edges closer than this share of the narrowest width are made one."""

_NEGLIGIBLE = -34.0
"""Log density, relative to the mode, at which a tail ends."""


def _integration(n: int) -> tuple[Floats, Floats, Floats]:
    """Gauss-Legendre points (n,) and weights (n,) on (-1, 1), and the matrix that integrates from -1 to each point, transposed."""
    points, weights = np.polynomial.legendre.leggauss(n)
    values = np.polynomial.legendre.legvander(points, n)
    # the integral from -1 of the Legendre polynomial P_k is (P_{k+1} - P_{k-1}) / (2 k + 1)
    below = np.stack([values[:, k + 1] - (values[:, k - 1] if k else -values[:, 0]) for k in range(n)], axis=1) / (2 * np.arange(n) + 1)
    return points, weights, np.ascontiguousarray((below @ np.linalg.inv(values[:, :n])).T)


_POINTS, _WEIGHTS, _COLUMNS = _integration(10)


@nb.njit(cache=True, error_model="numpy", forceinline=True, **ONLY_CALLED)
def log_bell(t: Any, s: Any, skew: Any, smaller: Any, share: Any, sign: Any) -> Any:
    """log f(t) - log f(0) of one arm, see above.

    Arguments:
        s: The standard deviation of logit X.
        skew: 1 - 2 p.
        smaller: The smaller of a and b.
        share: smaller / (a + b).
        sign: 1 if b is the smaller, -1 if a is.
    """
    u = s * t
    if -_SERIES < u < _SERIES:
        pq = 0.25 * (1.0 - skew * skew)
        series = (1.0 - 6.0 * pq) / 12.0 + u * (skew * (1.0 - 12.0 * pq) / 60.0 + u * (1.0 - 30.0 * pq * (1.0 - 4.0 * pq)) / 360.0)
        return -0.5 * t * t * (1.0 + u * (skew / 3.0 + u * series))
    u *= sign
    if smaller < _SMALL * share:
        # plain functions are twice as fast as log1p and expm1, and lose only a + b rounding errors
        return -smaller * (u + np.log(1.0 + share * (np.exp(-u) - 1.0)) / share)
    return -smaller * (u + np.log1p(share * np.expm1(-u)) / share)


@nb.njit(cache=True, error_model="numpy", forceinline=True, **ONLY_CALLED)
def _tail(side: Any, s: Any, skew: Any, smaller: Any, share: Any, sign: Any) -> Any:
    """How many standard deviations out, on one side, the density is negligible."""
    end = 8.5
    while end < 60.0 and log_bell(side * end, s, skew, smaller, share, sign) > _NEGLIGIBLE:
        end *= 1.25
    return end


@nb.njit(cache=True, error_model="numpy", forceinline=True, **ONLY_CALLED)
def _arm(wins: Any, losses: Any, power: Any, arm: Any) -> None:
    """Fill `arm` = (s, skew, smaller, share, sign, mode, width, left end, right end), the mode left to the caller."""
    log_a, log_b = min(power * np.log1p(wins), _HIGHEST), min(power * np.log1p(losses), _HIGHEST)
    low, apart = min(log_a, log_b), abs(log_a - log_b)
    arm[0] = np.exp(-0.5 * low) * np.sqrt(1.0 + np.exp(-apart))
    arm[1] = np.tanh(0.5 * (log_b - log_a))
    arm[2] = np.exp(min(low, 700.0))
    arm[3] = 1.0 / (1.0 + np.exp(min(apart, 600.0)))
    arm[4] = 1.0 if log_b <= log_a else -1.0
    arm[7] = _tail(-1.0, arm[0], arm[1], arm[2], arm[3], arm[4])
    arm[8] = _tail(1.0, arm[0], arm[1], arm[2], arm[3], arm[4])


@nb.njit(cache=True, error_model="numpy", forceinline=True, **ONLY_CALLED)
def _panels(arm: Any, edges: Any, start: Any) -> Any:
    """Write the panel edges of one arm from `start`; return where the next arm's begin."""
    mode, width = arm[5], arm[6]
    edges[start] = mode
    count = start + 1
    for side, end in ((-1.0, arm[7]), (1.0, arm[8])):
        for step in (1.6, 3.6, 10.0):
            if step < 0.85 * end:
                edges[count] = mode + side * step * width
                count += 1
        edges[count] = mode + side * end * width
        count += 1
    return count


@nb.njit(cache=True, error_model="numpy", forceinline=True, **ONLY_CALLED)
def _largest(wins: Any, losses: Any, power: Any, arms: Any, edges: Any, density: Any, below: Any, mass: Any, out: Any) -> Any:
    """Probabilities that each arm is the largest, into `out` (A,); returns by how much they missed 1 before normalisation.

    Arguments:
        wins, losses: (A,).
        power: lambda.
        arms, edges, density, below, mass: Scratch (A, 9), (9 A,), (A, G), (A, G), (A,).
    """
    count, points = wins.size, _POINTS.size
    origin = 0
    for k in range(count):
        _arm(wins[k], losses[k], power, arms[k])
        if arms[k, 0] < arms[origin, 0]:
            origin = k
    filled = 0
    for k in range(count):
        # from one quotient of whole numbers, so that arms of equal odds have equal modes whatever lambda is
        odds = ((1.0 + wins[k]) * (1.0 + losses[origin])) / ((1.0 + losses[k]) * (1.0 + wins[origin]))
        arms[k, 5] = power * np.log(odds)
        arms[k, 6] = max(arms[k, 0], _RESOLUTION * abs(arms[k, 5]))
        filled = _panels(arms[k], edges, filled)
        mass[k], out[k] = 0.0, 0.0
    sort(edges[:filled])
    left, least = edges[0], _MERGE * arms[origin, 6]
    for panel in range(1, filled):
        right = edges[panel]
        if right <= left or (right - left < least and panel < filled - 1):
            continue
        half, middle = 0.5 * (right - left), 0.5 * (right + left)
        left = right
        for k in range(count):
            _fill(arms[k], half, middle, density[k], below[k], mass, k)
        for c in range(count):
            scale, total = half / arms[c, 6], 0.0
            for g in range(points):
                product = _WEIGHTS[g] * density[c, g]
                for j in range(count):
                    if j != c:
                        product *= below[j, g]
                total += product
            out[c] += scale * total
    total, expected = 0.0, 1.0
    for k in range(count):
        total += out[k]
        expected *= mass[k]
    for k in range(count):
        out[k] /= total
    return abs(total / expected - 1.0)


@nb.njit(cache=True, error_model="numpy", forceinline=True, **ONLY_CALLED)
def _fill(arm: Any, half: Any, middle: Any, density: Any, below: Any, mass: Any, k: Any) -> None:
    """Density and mass below the points of one panel, for one arm; `mass[k]` is the mass below the panel and is moved on."""
    width = arm[6]
    centre, reach = (middle - arm[5]) / width, half / width
    if centre - reach > arm[8] * 0.999999 or centre + reach < -arm[7] * 0.999999:
        density[:] = 0.0
        below[:] = mass[k]
        return
    for g in range(density.size):
        density[g] = np.exp(log_bell(centre + reach * _POINTS[g], arm[0], arm[1], arm[2], arm[3], arm[4]))
    below[:] = 0.0
    whole = 0.0
    for h in range(density.size):
        # column by column, so that the inner loop is over independent sums
        whole += _WEIGHTS[h] * density[h]
        for g in range(density.size):
            below[g] += _COLUMNS[h, g] * density[h]
    for g in range(density.size):
        below[g] = max(mass[k] + reach * below[g], 0.0)
    mass[k] += reach * whole


@nb.njit(cache=True, nogil=True, error_model="numpy")
def _kernel(wins: Any, losses: Any, power: Any, out: Any, missed: Any) -> None:
    """All configurations (C, A) at all their powers (C, J)."""
    count, points = wins.shape[1], _POINTS.size
    arms, edges = np.empty((count, 9)), np.empty(9 * count)
    density, below, mass = np.empty((count, points)), np.empty((count, points)), np.empty(count)
    for i in range(wins.shape[0]):
        for j in range(power.shape[1]):
            miss = _largest(wins[i], losses[i], power[i, j], arms, edges, density, below, mass, out[i, j])
            missed[i] = max(missed[i], miss)


def probability_largest(wins: ArrayLike, losses: ArrayLike, power: ArrayLike) -> tuple[Floats, float]:
    """The probability that each arm's Beta((1 + w)^lambda, (1 + l)^lambda) draw is the largest.

    Arguments:
        wins, losses: C configurations of A arms, (C, A).
        power: lambda, J values for each configuration, (C, J).

    Returns:
        Probabilities (C, J, A), and the largest amount by which any A of them missed 1 before they were normalised.
    """
    w, l, powers = (np.ascontiguousarray(array, dtype=np.float64) for array in (wins, losses, power))  # noqa: E741
    out, missed = np.empty((*powers.shape, w.shape[1])), np.zeros(len(w))
    if out.size:
        in_threads(_kernel, len(w), (w, l, powers, out, missed))
    return out, float(missed.max(initial=0.0))
