"""A Kalman filter with a softmax choice: learning rates that fall with experience, and exploration that does not care about uncertainty.

    P(k) is proportional to exp(beta m[k])

The model of people in Daw, O'Doherty, Dayan, Seymour & Dolan (2006). Against Q-learning it tells whether learning slows down; against
kalman-ucb, whether uncertainty attracts.
"""

import tellapart as ta

from .kalman import Beliefs


@ta.agent(name="kalman-softmax", parameters={"beta": ta.Gamma(2, 3)})
class KalmanSoftmax(Beliefs):
    """An inverse temperature beta."""

    def choose(self, state):
        mean, _ = state
        return ta.softmax(self.beta * mean)
