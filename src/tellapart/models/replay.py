"""Replay of recorded bandit behavior: what a likelihood needs to know about each choice.

A bandit model with a likelihood supplies a numba function

    describe(previous, won, wins, losses, choice, scratch, row) -> None

that writes a few whole numbers about one choice into `row`, the first of them 1 or more. `bandit_replay` compiles the loop
around it. Missed trials are skipped as if they had never been: memory is not touched, and "previous" is the last observed
trial of the block.
"""

from __future__ import annotations

from typing import Any, Callable

import numpy as np
from numpy.typing import NDArray

from ..behavior import Behavior
from ..threads import in_threads
from .compiled import specialised

MISSED, FIRST = -1, 0
"""The first number of a description: of a missed trial, and of the first observed trial of a block, a uniform choice."""

Descriptions = NDArray[np.int32]
Replay = Callable[[Behavior, int, int], Descriptions]


def _replay(choices: Any, rewards: Any, mask: Any, out: Any, arms: Any) -> None:
    """Describe choices (N, B, T), rewards and mask alike, into out (N, B, T, D)."""
    n, blocks, trials = choices.shape
    wins = np.zeros(arms)
    losses = np.zeros(arms)
    scratch = np.zeros(arms)
    for i in range(n):
        for b in range(blocks):
            wins[:] = 0.0
            losses[:] = 0.0
            previous = np.int64(-1)
            won = False
            for t in range(trials):
                if not mask[i, b, t]:
                    continue
                arm = np.int64(choices[i, b, t])
                if previous < 0:
                    out[i, b, t, 0] = 0
                else:
                    describe(previous, won, wins, losses, arm, scratch, out[i, b, t])  # type: ignore[name-defined]  # noqa: F821
                previous = arm
                won = rewards[i, b, t] != 0
                if won:
                    wins[arm] += 1.0
                else:
                    losses[arm] += 1.0


def bandit_replay(describe: Any) -> Replay:
    """Compile the loop around a model's `describe`.

    Returns:
        A function of behavior, arms K and width D that returns descriptions (N, B, T, D), -1 at missed trials.
    """
    kernel = specialised(_replay, describe=describe)

    def replay(behavior: Behavior, arms: int, width: int) -> Descriptions:
        choices = np.ascontiguousarray(behavior.fields["choice"], dtype=np.int16)
        rewards = np.ascontiguousarray(behavior.fields["reward"], dtype=np.int8)
        mask = np.ascontiguousarray(behavior.mask)
        out = np.full((*choices.shape, width), MISSED, np.int32)
        in_threads(lambda *arrays: kernel(*arrays, arms), len(choices), (choices, rewards, mask, out))
        return out

    return replay
