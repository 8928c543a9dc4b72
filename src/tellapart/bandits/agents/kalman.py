"""What the models with a Kalman filter share: beliefs about each arm, a mean and a variance.

    gain = v[k] / (v[k] + noise^2),    m[k] += gain (r - m[k]),    v[k] *= 1 - gain    for the chosen arm k;
    v[j] += drift^2 for all arms, if arms may wander

Rewards are thought of as normal around the mean of their arm; in bandits with wins and losses, `noise` = 0.5 is their largest standard
deviation.
"""

import numpy as np

import tellapart as ta


class Beliefs:
    """Beliefs of a Kalman filter.

    Attributes:
        first_mean: What an arm is thought to pay at first.
        first_sd: How uncertain that is; above 0.
        noise: How far rewards are thought to be from the mean of their arm: a standard deviation above 0.
        drift: How far arms are thought to wander from trial to trial: a standard deviation.
    """

    first_mean: float = 0.5
    first_sd: float = 0.5
    noise: float = 0.5
    drift: float = 0.0

    def __post_init__(self):
        for name, value in (("first_sd", self.first_sd), ("noise", self.noise)):
            if not 0 < value < np.inf:
                raise ta.StudyError(f"The '{name}' of a Kalman filter must be a number above 0.", got=value, key=name)
        if not 0 <= self.drift < np.inf:
            raise ta.StudyError("The 'drift' of a Kalman filter must be a number, 0 or more.", got=self.drift, key="drift")

    def start(self, arms):
        return np.full(arms, self.first_mean), np.full(arms, self.first_sd**2)

    def learn(self, state, choice, reward):
        mean, variance = state
        gain = variance[choice] / (variance[choice] + self.noise**2)
        mean[choice] += gain * (reward - mean[choice])
        variance[choice] *= 1.0 - gain
        if self.drift > 0:
            variance += self.drift**2
