"""Q-learning with forgetting: what the other arms are worth fades to what was thought at first.

    Q[j] += forgetting (first_value - Q[j]) for all arms j that were not chosen

For memory that fades: Barraclough, Conroy & Lee (2004); Ito & Doya (2009). Uncertain people and forgetful ones look alike in what they
choose after a while, and differ in how soon they come back.
"""

import tellapart as ta

from .values import Values


@ta.agent(
    name="q-learning-forgetting",
    parameters={"alpha": ta.Uniform(0, 1), "beta": ta.Gamma(2, 3), "forgetting": ta.Uniform(0, 1)},
)
class QLearningForgetting(Values):
    """A learning rate alpha, an inverse temperature beta, and a rate of forgetting."""

    def learn(self, state, choice, reward):
        for k in range(state.size):
            state[k] += self.alpha * (reward - state[k]) if k == choice else self.forgetting * (self.first_value - state[k])
