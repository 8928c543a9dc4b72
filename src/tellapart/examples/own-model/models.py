"""Q-learning with a softmax choice: what an arm is worth is learned from prediction errors, from gains and losses at rates of their own.
In each trial

    values[k] += alpha · (reward - values[k]) for the chosen arm k,  alpha = alpha_win after a win, alpha_loss after a loss
    P(choose k) is proportional to exp(beta · values[k])
"""

import numpy as np
from scipy.special import softmax

import tellapart as ta

PRIORS = {"alpha_win": ta.Beta(1.2, 1.2), "alpha_loss": ta.Beta(1.2, 1.2), "beta": ta.Gamma(2, 3)}


@ta.model(name="q-learning", parameters=PRIORS, vectorised=True)
def q_learning(parameters, designs, rng, task, *, first_value: float = 0.5):
    """Two learning rates and an inverse temperature. `first_value` is what an arm is thought to be worth at first."""
    alpha_win, alpha_loss, beta = (parameters[name][:, None, None] for name in PRIORS)  # (participants, 1, 1)
    values = np.full(designs.shape, first_value)  # (participants, blocks, arms)
    game = ta.BanditGame(designs, task.trials, rng)
    for _ in range(task.trials):
        chosen, reward = game.play(softmax(beta * values, axis=-1))
        rate = np.where(reward == 1, alpha_win, alpha_loss)
        values += chosen * rate * (reward - values)
    return game.behavior
