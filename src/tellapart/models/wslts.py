"""WSLTS: win-stay, lose-Thompson-sample.

After a win stay with probability gamma_w; after a loss shift with probability gamma_l; otherwise the opposite. A shift
is Thompson sampling among the *other* arms: draw x_k ~ Beta((1 + w_k)^lambda, (1 + l_k)^lambda) for every arm but the
previous one and take the largest.

The exponent can be large, so nothing is raised to a power here: with a = (1 + w)^lambda and b = (1 + l)^lambda,

    logit x = lambda log((1 + w) / (1 + l)) + e_a - e_b,      e_a = log(Gamma(a) draw) - log a,

and two arms are compared by the difference of the two terms apart, so that arms of equal odds differ by noise alone
however small it is.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Mapping

import numba as nb
import numpy as np

from ..priors import LogNormal, Prior, Uniform
from .bandit import BanditModel
from .compiled import bandit_simulator, standard_normal, uniform


_LOGS = np.log1p(np.arange(256.0))


@nb.njit(cache=True)
def log_one_plus(count: Any) -> Any:
    """log(1 + count), looked up for the counts that occur."""
    return _LOGS[int(count)] if count < 256.0 else np.log1p(count)


@nb.njit(cache=True)
def centred_log_gamma(log_a: Any, x: Any, stream: Any) -> Any:
    """log(Gamma(a) draw) - log a for a >= 1, given log a; Marsaglia and Tsang (2000) on the log scale.

    `x` is the standard normal number of the first proposal; later ones, rarely needed, come from the stream.
    """
    if log_a == 0.0:
        return np.log(-np.log(uniform(stream)))
    # 1 / sqrt(a); the limit keeps it above zero, so that even then there is noise to tell arms of equal odds apart
    root = np.exp(-0.5 * min(log_a, 1300.0))
    third = root * root / 3.0
    c = root / (3.0 * np.sqrt(1.0 - third))
    if c < 1e-5:
        # accepted with probability 1 - O(c^2), by a test that would have lost its digits
        return 3.0 * c * x - third
    while True:
        v = 1.0 + c * x
        if v > 0.0:
            cube, u = v * v * v, uniform(stream)
            if u < 1.0 - 0.0331 * x * x * x * x or np.log(u) < 0.5 * x * x + (1.0 - third) / (3.0 * third) * (1.0 - cube + np.log(cube)):
                return np.log(cube * (1.0 - third))
        x = standard_normal(stream)


@nb.njit(cache=True)
def centred_logit_beta(log_a: Any, log_b: Any, stream: Any) -> Any:
    """logit(Beta(a, b) draw) - log(a / b) for a, b >= 1."""
    radius, angle = 0.0, 0.0
    if log_a > 0.0 or log_b > 0.0:
        radius, angle = np.sqrt(-2.0 * np.log(uniform(stream))), 2.0 * np.pi * uniform(stream)
    return centred_log_gamma(log_a, radius * np.cos(angle), stream) - centred_log_gamma(log_b, radius * np.sin(angle), stream)


@nb.njit(cache=True)
def choose(trial: Any, previous: Any, won: Any, wins: Any, losses: Any, theta: Any, memory: Any, scratch: Any, stream: Any) -> Any:
    """Stay or shift, and where to; theta = (gamma_w, gamma_l, lambda)."""
    stay = uniform(stream) < (theta[0] if won else 1.0 - theta[1])
    if stay:
        return previous
    if wins.size == 2:
        return 1 - previous
    best, best_noise = -1, 0.0
    for k in range(wins.size):
        if k == previous:
            continue
        noise = centred_logit_beta(theta[2] * log_one_plus(wins[k]), theta[2] * log_one_plus(losses[k]), stream)
        if best >= 0:
            odds_ratio = ((1.0 + wins[k]) * (1.0 + losses[best])) / ((1.0 + losses[k]) * (1.0 + wins[best]))
            if theta[2] * np.log(odds_ratio) + (noise - best_noise) <= 0.0:
                continue
        best, best_noise = k, noise
    return best


_simulate = bandit_simulator(choose)


@dataclass(frozen=True)
class WSLTS(BanditModel):
    """Win-stay, lose-Thompson-sample."""

    name: ClassVar[str] = "wslts"
    _simulators: ClassVar = {"paper": _simulate}

    @property
    def parameters(self) -> Mapping[str, Prior]:
        return {"gamma_w": Uniform(), "gamma_l": Uniform(), "lambda": LogNormal()}
