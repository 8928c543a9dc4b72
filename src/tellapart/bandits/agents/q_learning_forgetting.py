"""Q-learning with forgetting: what the other arms are worth fades to what was thought at first.

    Q[j] += forgetting (first_value - Q[j]) for all arms j that were not chosen

For memory that fades: Barraclough, Conroy & Lee (2004); Ito & Doya (2009). Uncertain people and forgetful ones look alike in what they
choose after a while, and differ in how soon they come back.
"""

import numpy as np

import tellapart as ta


@ta.agent(
    name="q-learning-forgetting",
    parameters={"alpha": ta.Uniform(0, 1), "beta": ta.Gamma(2, 3), "forgetting": ta.Uniform(0, 1)},
)
class ForgettingQLearning:
    """A learning rate alpha, an inverse temperature beta, and a rate of forgetting.

    Arguments:
        first_value: What an arm is thought to be worth at first.
    """

    first_value: float = 0.5

    def start(self, arms):
        return np.full(arms, self.first_value)

    def choose(self, state):
        return ta.softmax(self.beta * state)

    def learn(self, state, choice, reward):
        for k in range(state.size):
            state[k] += self.alpha * (reward - state[k]) if k == choice else self.forgetting * (self.first_value - state[k])
