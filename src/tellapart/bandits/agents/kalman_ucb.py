"""A Kalman filter with an uncertainty bonus: what is little known is worth a try.

    P(k) is proportional to exp(beta (m[k] + bonus sqrt(v[k])))

Upper confidence bounds (Auer, Cesa-Bianchi & Fischer 2002) as a model of people: directed exploration, Wilson, Geana, White, Ludvig &
Cohen (2014); Gershman (2018). A negative bonus avoids the unknown.
"""

import numpy as np

import tellapart as ta

from .kalman import Beliefs


@ta.agent(name="kalman-ucb", parameters={"beta": ta.Gamma(2, 3), "bonus": ta.Normal(0.5, 1)})
class KalmanUCB(Beliefs):
    """An inverse temperature beta, and what a standard deviation of uncertainty is worth."""

    def choose(self, state):
        mean, variance = state
        return ta.softmax(self.beta * (mean + self.bonus * np.sqrt(variance)))
