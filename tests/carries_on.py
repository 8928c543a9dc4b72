"""An agent that remembers, for tests of what goes on from block to block."""

import numpy as np

import tellapart as ta


@ta.agent(name="carries-on", parameters={"alpha": ta.Uniform(0, 1), "beta": ta.Gamma(2, 3)}, resets=False)
class CarriesOn:
    """Goes on with what it learned of an arm in the block before."""

    def start(self, arms):
        return np.full(arms, 0.5)

    def choose(self, state):
        return ta.softmax(self.beta * state)

    def learn(self, state, choice, reward):
        state[choice] += self.alpha * (reward - state[choice])
