"""What the models that learn a value of each arm, and choose by it alone, share.

    P(k) is proportional to exp(beta Q[k]),    Q[k] = first_value at first

They differ in how they learn.
"""

import numpy as np

import tellapart as ta


class Values:
    """What each arm is worth.

    Attributes:
        first_value: What an arm is thought to be worth at first.
    """

    first_value: float = 0.5

    def start(self, arms):
        return np.full(arms, self.first_value)

    def choose(self, state):
        return ta.softmax(self.beta * state)
