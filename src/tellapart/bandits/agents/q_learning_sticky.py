"""Q-learning with perseveration: whatever it paid, the previous choice is made again more readily, or less.

    P(k) is proportional to exp(beta Q[k] + stickiness [k is the previous choice])

Without it, repetition is mistaken for learning: Lau & Glimcher (2005); Katahira (2015).
"""

import numpy as np

import tellapart as ta


@ta.agent(
    name="q-learning-sticky",
    parameters={"alpha": ta.Uniform(0, 1), "beta": ta.Gamma(2, 3), "stickiness": ta.Normal(0, 1.5)},
)
class QLearningSticky:
    """A learning rate alpha, an inverse temperature beta, and a tendency to repeat, or if it is negative, to alternate.

    Attributes:
        first_value: What an arm is thought to be worth at first.
    """

    first_value: float = 0.5

    def start(self, arms):
        return np.full(arms, self.first_value), np.zeros(arms)

    def choose(self, state):
        values, previous = state
        return ta.softmax(self.beta * values + self.stickiness * previous)

    def learn(self, state, choice, reward):
        values, previous = state
        values[choice] += self.alpha * (reward - values[choice])
        previous[:] = 0.0
        previous[choice] = 1.0
