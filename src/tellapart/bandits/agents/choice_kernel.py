"""The choice kernel: people do what they did lately, whatever it paid.

    C[k] += alpha ([k was chosen] - C[k]) for all arms k,    P(k) is proportional to exp(beta C[k])

The model of habit without reward: model 4 of Wilson & Collins (2019), after Akaishi, Umeda, Nagase & Sakai (2014). A model of learning
that is not told apart from it explains nothing by rewards.
"""

import numpy as np

import tellapart as ta


@ta.agent(name="choice-kernel", parameters={"alpha": ta.Uniform(0, 1), "beta": ta.Gamma(2, 2)})
class ChoiceKernel:
    """How quickly habits form, alpha, and how strong they are, beta."""

    def start(self, arms):
        return np.zeros(arms)

    def choose(self, state):
        return ta.softmax(self.beta * state)

    def learn(self, state, choice):
        state *= 1.0 - self.alpha
        state[choice] += self.alpha
