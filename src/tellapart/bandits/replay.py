"""Replay of recorded bandit behavior: what a likelihood needs to know about each choice.

A bandit model with a likelihood supplies a numba function

    describe(past, choice, released, scratch, row) -> None

that writes whole numbers about one choice into `row`, (2 K,), the first of them 1 or more; the other arguments are those of
`compiled.py`. `replay` runs a loop compiled around it. Missed trials are skipped as if they had never been: memory is not touched, and
"previous" is the last observed trial of the block.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..behavior import Behavior
from ..models.compiled import specialised
from ..threads import in_threads
from .compiled import Past

MISSED, FIRST = -1, 0
"""The first number of a description: of a missed trial, and of the first observed trial of a block, a uniform choice."""

Descriptions = NDArray[np.int32]

describe: Any = None
"""Stands for the model's function in `_loop`, see `specialised`."""


def _loop(choices: Any, rewards: Any, mask: Any, out: Any, released: Any) -> None:
    """Describe choices (N, B, T), rewards and mask alike, into out (N, B, T, 2 K)."""
    n, blocks, trials = choices.shape
    arms = out.shape[3] // 2
    wins, losses, scratch = np.zeros(arms), np.zeros(arms), np.zeros(arms)
    for i in range(n):
        for b in range(blocks):
            wins[:], losses[:] = 0.0, 0.0
            seen, previous, won = 0, np.int64(0), False
            for t in range(trials):
                if not mask[i, b, t]:
                    continue
                arm = np.int64(choices[i, b, t])
                if seen == 0:
                    out[i, b, t, 0] = FIRST
                else:
                    describe(Past(seen, previous, won, wins, losses), arm, released, scratch, out[i, b, t])
                seen, previous, won = seen + 1, arm, rewards[i, b, t] != 0
                if won:
                    wins[arm] += 1.0
                else:
                    losses[arm] += 1.0


@cache
def compiled_loop(describe: Any) -> Any:
    """The loop compiled around a model's `describe`."""
    return specialised(_loop, describe=describe)


def replay(describe: Any, behavior: Behavior, arms: int, released: bool) -> Descriptions:
    """Descriptions (N, B, T, 2 K), -1 at missed trials."""
    choices = np.ascontiguousarray(behavior.fields["choice"], dtype=np.int16)
    rewards = np.ascontiguousarray(behavior.fields["reward"], dtype=np.int8)
    loop, out = compiled_loop(describe), np.full((*choices.shape, 2 * arms), MISSED, np.int32)
    in_threads(lambda *slices: loop(*slices, released), len(out), (choices, rewards, np.ascontiguousarray(behavior.mask), out))
    return out
