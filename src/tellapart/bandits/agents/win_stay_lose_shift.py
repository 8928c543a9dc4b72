"""Win-stay, lose-shift: look back one trial only.

After a win the same arm again with probability stay_win, after a loss another one with probability shift_loss; which other one is a
matter of chance.

The simplest strategy that adapts: Robbins (1952); model 2 of Wilson & Collins (2019) has one error rate for both. For rewards that are
numbers, a win is a reward above a level.
"""

import numpy as np

import tellapart as ta


@ta.agent(name="win-stay-lose-shift", parameters={"stay_win": ta.Uniform(0, 1), "shift_loss": ta.Uniform(0, 1)})
class WinStayLoseShift:
    """The probability of staying after a win, and of shifting after a loss.

    Attributes:
        win: Rewards above it are wins.
    """

    win: float = 0.5

    def start(self, arms):
        return np.full(arms, 1.0 / arms)

    def choose(self, state):
        return state

    def learn(self, state, choice, reward):
        stay = self.stay_win if reward > self.win else 1.0 - self.shift_loss
        state[:] = (1.0 - stay) / (state.size - 1)
        state[choice] = stay
