"""Rescorla-Wagner with a choice kernel: learning from rewards and habit, side by side.

    P(k) is proportional to exp(beta Q[k] + beta_kernel C[k])

Model 5 of Wilson & Collins (2019). With one choice remembered (alpha_kernel = 1) it is sticky Q-learning.
"""

import numpy as np

import tellapart as ta


@ta.agent(
    name="rescorla-wagner-kernel",
    parameters={"alpha": ta.Uniform(0, 1), "beta": ta.Gamma(2, 3), "alpha_kernel": ta.Uniform(0, 1), "beta_kernel": ta.Gamma(2, 2)},
)
class RescorlaWagnerKernel:
    """A learning rate and a weight for what arms pay (alpha, beta), and for what was chosen lately (alpha_kernel, beta_kernel).

    Attributes:
        first_value: What an arm is thought to be worth at first.
    """

    first_value: float = 0.5

    def start(self, arms):
        return np.full(arms, self.first_value), np.zeros(arms)

    def choose(self, state):
        values, kernel = state
        return ta.softmax(self.beta * values + self.beta_kernel * kernel)

    def learn(self, state, choice, reward):
        values, kernel = state
        values[choice] += self.alpha * (reward - values[choice])
        kernel *= 1.0 - self.alpha_kernel
        kernel[choice] += self.alpha_kernel
