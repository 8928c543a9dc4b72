"""A Kalman filter with directed and random exploration together.

    P(k) = P(u_k + e_k is the largest),    u_k = value m[k] + relative sqrt(v[k]) + total m[k] / sqrt(sum of all v),    e_k ~ N(0, 1/2)

For two arms it is the probit regression of Gershman (2018), Phi(value V + relative RU + total V / TU), where V is the difference of the
means, RU that of the standard deviations and TU the total uncertainty. Only value: fixed random exploration; with relative: UCB; only
total: Thompson sampling.
"""

import numpy as np

import tellapart as ta

from .kalman import Beliefs


@ta.agent(name="kalman-hybrid", parameters={"value": ta.Normal(1, 2), "relative": ta.Normal(0.5, 1), "total": ta.Normal(0.5, 1)})
class KalmanHybrid(Beliefs):
    """Weights of value, of relative uncertainty, and of value over total uncertainty."""

    def choose(self, state):
        worth, sds = utilities(self.value, self.relative, self.total, state)
        return ta.largest(worth, sds)

    def respond(self, state, stream):
        worth, sds = utilities(self.value, self.relative, self.total, state)
        return ta.drawn_largest(worth, sds, stream)


def utilities(value, relative, total, state):
    """Means and standard deviations of what each arm is worth at the moment, (K,) each."""
    mean, variance = state
    worth = (value + total / np.sqrt(variance.sum())) * mean + relative * np.sqrt(variance)
    return worth, np.full(worth.size, np.sqrt(0.5))
