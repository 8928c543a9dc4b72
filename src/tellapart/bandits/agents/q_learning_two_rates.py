"""Q-learning with a rate for good news and one for bad news.

    Q[k] += alpha_gain delta if delta = r - Q[k] > 0, alpha_loss delta if not

For optimism and pessimism in learning: Niv, Edlund, Dayan & O'Doherty (2012); Lefebvre, Lebreton, Meyniel, Bourgeois-Gironde &
Palminteri (2017).
"""

import tellapart as ta

from .values import Values


@ta.agent(
    name="q-learning-two-rates",
    parameters={"alpha_gain": ta.Uniform(0, 1), "alpha_loss": ta.Uniform(0, 1), "beta": ta.Gamma(2, 3)},
)
class QLearningTwoRates(Values):
    """Learning rates for rewards above and below what was expected, and an inverse temperature beta."""

    def learn(self, state, choice, reward):
        error = reward - state[choice]
        state[choice] += (self.alpha_gain if error > 0 else self.alpha_loss) * error
