"""A theory as what a participant believes, how it chooses, how it learns: here from wins and from losses at rates of their own.

    values[k] += alpha · (reward - values[k]) for the chosen arm k,  alpha = alpha_win after a win, alpha_loss after a loss
    P(choose k) is proportional to exp(beta · values[k])

It is written for one participant. The simulator, compiled, and the likelihood follow from it.
"""

import numpy as np

import tellapart as ta


@ta.agent(name="optimist", parameters={"alpha_win": ta.Beta(1.2, 1.2), "alpha_loss": ta.Beta(1.2, 1.2), "beta": ta.Gamma(2, 3)})
class Optimist:
    """Two learning rates and an inverse temperature. `first_value` is what an arm is thought to be worth at first."""

    first_value: float = 0.5

    def start(self, arms):
        return np.full(arms, self.first_value)

    def choose(self, state):
        return ta.softmax(self.beta * state)

    def learn(self, state, choice, reward):
        rate = self.alpha_win if reward == 1 else self.alpha_loss
        state[choice] += rate * (reward - state[choice])
