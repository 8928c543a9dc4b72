"""Streams of random numbers for compiled simulators.

A stream is an array (1,) that holds 64 bits: splitmix64. Each participant has streams of its own, started from a number that the NumPy
generator supplies. So the same seed gives the same bytes, however many threads there are and however the participants are divided among
them.

References:
    Steele, Lea & Flood (2014), Fast splittable pseudorandom number generators.
    Marsaglia & Tsang (2000), A simple method for generating gamma variables.
"""

from __future__ import annotations

from typing import Any

import numba as nb
import numpy as np
from numpy.typing import NDArray


def started(seeds: NDArray[np.int64]) -> NDArray[np.uint64]:
    """Two streams for each participant, (N, 2), from seeds (N,) below 2^53: for what the participant draws, and for its luck."""
    z: NDArray[np.uint64] = np.asarray(2 * seeds[:, None] + np.arange(2), np.uint64)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        z = (z ^ (z >> np.uint64(shift))) * np.uint64(factor)
    return np.asarray(z ^ (z >> np.uint64(31)))


@nb.njit(cache=True, forceinline=True)
def uniform(stream: Any) -> Any:
    """A number uniform on (0, 1), never 0 or 1."""
    stream[0] += np.uint64(0x9E3779B97F4A7C15)
    z = stream[0]
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    z = z ^ (z >> np.uint64(31))
    return (np.float64(z >> np.uint64(12)) + 0.5) * 2.0**-52


@nb.njit(cache=True, forceinline=True)
def below(n: Any, stream: Any) -> Any:
    """A whole number uniform on 0 … n - 1."""
    return int(n * uniform(stream))


@nb.njit(cache=True, forceinline=True)
def standard_normal(stream: Any) -> Any:
    """A standard normal number, by Box and Muller."""
    return np.sqrt(-2.0 * np.log(uniform(stream))) * np.cos(2.0 * np.pi * uniform(stream))


@nb.njit(cache=True, forceinline=True)
def log_gamma_noise(log_a: Any, stream: Any) -> Any:
    """log(g / a) of a Gamma(a) draw g, for a >= 1 given as log a, however large.

    Marsaglia and Tsang propose g = d (1 + c x)^3, where d = a - 1/3, c = 1 / sqrt(9 d) and x is standard normal. Here a itself is never
    formed, only its inverse root; and beyond a = exp(20) nothing is rejected, since less than a millionth would be.
    """
    root = np.exp(-0.5 * min(log_a, 1300.0))  # 1 / sqrt(a), above 0 whatever log a is: some noise is left to break ties
    share = 1.0 - root * root / 3.0  # d / a
    c = root / np.sqrt(9.0 * share)
    while True:
        x = standard_normal(stream)
        if c * x > -1.0:
            log_cube = 3.0 * np.log1p(c * x)
            # as published, with v - 1 for a cube v near 1: d - d v + d log v
            if log_a > 20.0 or np.log(uniform(stream)) < 0.5 * x * x + (log_cube - np.expm1(log_cube)) / (9.0 * c * c):
                return np.log1p(-root * root / 3.0) + log_cube
