"""Q-learning: what an arm is worth is learned from prediction errors.

    Q[k] += alpha (r - Q[k]) for the chosen arm k,    P(k) is proportional to exp(beta Q[k])

The model to beat: most others here add one thing to it. In bandits it is the rule of Rescorla & Wagner (1972) with a softmax choice; as
a model of people in Daw, O'Doherty, Dayan, Seymour & Dolan (2006); Wilson & Collins (2019) call it model 3. Rewards are thought of as
lying between 0 and 1.
"""

import tellapart as ta

from .values import Values


@ta.agent(name="q-learning", parameters={"alpha": ta.Uniform(0, 1), "beta": ta.Gamma(2, 3)})
class QLearning(Values):
    """One learning rate alpha and an inverse temperature beta."""

    def learn(self, state, choice, reward):
        state[choice] += self.alpha * (reward - state[choice])
