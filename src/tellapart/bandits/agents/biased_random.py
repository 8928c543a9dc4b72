"""Biased random responding: one arm is favoured, and nothing is learned.

The null model of any comparison: model 1 of Wilson & Collins (2019). Who is best described by it did not take part in the experiment in
earnest.
"""

import numpy as np

import tellapart as ta


@ta.agent(name="biased-random", parameters={"bias": ta.Uniform(0, 1)})
class BiasedRandom:
    """The probability of choosing the favourite arm; the others share the rest.

    Attributes:
        favourite: Which arm it is, from 0.
    """

    favourite: int = 0

    def choose(self, arms):
        if not 0 <= self.favourite < arms:
            raise ta.ModelError("The 'favourite' of 'biased-random' must be one of the arms, counted from 0.")
        shares = np.full(arms, (1.0 - self.bias) / (arms - 1))
        shares[self.favourite] = self.bias
        return shares
