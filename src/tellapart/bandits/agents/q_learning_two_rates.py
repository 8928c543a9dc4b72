"""Q-learning with a rate for good news and one for bad news.

    Q[k] += alpha_gain delta if delta = r - Q[k] > 0, alpha_loss delta if not

For optimism and pessimism in learning: Niv, Edlund, Dayan & O'Doherty (2012); Lefebvre, Lebreton, Meyniel, Bourgeois-Gironde &
Palminteri (2017).
"""

import numpy as np

import tellapart as ta


@ta.agent(
    name="q-learning-two-rates",
    parameters={"alpha_gain": ta.Uniform(0, 1), "alpha_loss": ta.Uniform(0, 1), "beta": ta.Gamma(2, 3)},
)
class QLearningTwoRates:
    """Learning rates for rewards above and below what was expected, and an inverse temperature beta.

    Arguments:
        first_value: What an arm is thought to be worth at first.
    """

    first_value: float = 0.5

    def start(self, arms):
        return np.full(arms, self.first_value)

    def choose(self, state):
        return ta.softmax(self.beta * state)

    def learn(self, state, choice, reward):
        error = reward - state[choice]
        state[choice] += (self.alpha_gain if error > 0 else self.alpha_loss) * error
