"""A Kalman filter with Thompson sampling: draw from what you believe of each arm, take the largest.

    P(k) = P(x_k is the largest),    x_k ~ N(m[k], (scale^2) v[k])

Random exploration in proportion to uncertainty: Thompson (1933); as a model of people, Gershman (2018), with scale = 1. For two arms it
is Phi((m[0] - m[1]) / (scale sqrt(v[0] + v[1]))).
"""

import numpy as np

import tellapart as ta

from .kalman import Beliefs


@ta.agent(name="kalman-thompson", parameters={"scale": ta.LogNormal(0, 0.5)})
class KalmanThompson(Beliefs):
    """How much of the uncertainty goes into the draws: 1 for all of it."""

    def choose(self, state):
        mean, variance = state
        return ta.largest(mean, self.scale * np.sqrt(variance))

    def respond(self, state, stream):
        mean, variance = state
        return ta.drawn_largest(mean, self.scale * np.sqrt(variance), stream)
