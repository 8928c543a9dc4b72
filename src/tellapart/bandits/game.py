"""A bandit to be played in plain NumPy, the quick way: all participants and all their blocks side by side, one trial after another.

    game = BanditGame(designs, task.trials, rng)
    for _ in range(task.trials):
        chosen, reward = game.play(probabilities)
        ...                                          # learn from it
    return game.behavior

Memory does not cross blocks, so that blocks can be played side by side. Where it does, or where participants miss trials, play
`task.environment(designs, rng)`, which goes through the blocks one after another.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..behavior import Behavior
from ..errors import ModelError
from ..models.base import Floats


class BanditGame:
    """N participants who play B bandits of K arms each.

    Arguments:
        designs: Reward probabilities, (N, B, K).
        trials: T.
        rng: The only source of randomness.
    """

    def __init__(self, designs: ArrayLike, trials: int, rng: np.random.Generator) -> None:
        self._designs = np.asarray(designs, dtype=np.float64)
        n, blocks, self._arms = self._designs.shape
        luck = rng.random((2, trials, n, blocks))  # drawn at once, so that a participant's luck does not hang on what others do
        self._luck, self._outcomes, self._trial = luck[0], luck[1], 0
        self._choices: NDArray[np.int16] = np.zeros((n, blocks, trials), np.int16)
        self._rewards: NDArray[np.int8] = np.zeros((n, blocks, trials), np.int8)

    def play(self, probabilities: ArrayLike) -> tuple[Floats, Floats]:
        """The next trial of everybody.

        Arguments:
            probabilities: Of choosing each arm, (N, B, K), or anything that broadcasts to it.

        Returns:
            What was chosen, 1 at the chosen arm and 0 elsewhere, (N, B, K); and the reward, 0 or 1, (N, B, 1).
        """
        shares = np.broadcast_to(np.asarray(probabilities, dtype=np.float64), self._designs.shape)
        edges = np.cumsum(shares, axis=-1)
        if not np.allclose(edges[..., -1], 1.0, atol=1e-6):
            got = f"sums from {edges[..., -1].min():g} to {edges[..., -1].max():g} at trial {self._trial}"
            raise ModelError("The probabilities of the arms must sum to 1.", expected="sums of 1 over the last axis", got=got)
        arm = (edges[..., :-1] < self._luck[self._trial][..., None]).sum(-1)
        chosen = np.asarray(np.arange(self._arms) == arm[..., None], dtype=np.float64)
        reward = self._outcomes[self._trial][..., None] < (chosen * self._designs).sum(-1, keepdims=True)
        self._choices[..., self._trial], self._rewards[..., self._trial] = arm, reward[..., 0]
        self._trial += 1
        return chosen, reward.astype(np.float64)

    @property
    def behavior(self) -> Behavior:
        """What everybody did."""
        return Behavior({"choice": self._choices, "reward": self._rewards})
