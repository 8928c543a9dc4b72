"""What the compiled models of bandits with wins and losses have in common.

A model supplies two numba functions: how it chooses, and what its likelihood needs to know about a choice,

    choose(past, theta, released, memory, scratch, stream) -> arm
    describe(past, choice, released, scratch, row) -> None

for all trials but the first of a block, at which every arm is equally probable. `simulate` runs a loop compiled around the first and around
the rules of the bandit (`Environment.compiled`): that of `models/kernel.py` by hand, several times as fast for models of this kind.
`replay` runs one around the second, over recorded behavior. Missed trials are skipped as if they had never been: memory is not touched, and
"previous" is the last observed trial of the block.

    past       what the participant has seen in the present block, a `Past`
    theta      the participant's parameters, (P,)
    released   is the convention "released"?
    memory     what the model carries from trial to trial, (4,); zeros at the start of a block
    scratch    a number for each arm to work with, (K,)
    stream     where random numbers come from, see `models/streams.py`
    row        whole numbers about the choice are written into it, (2 K,), the first of them 1 or more

All compiled functions are inlined (`forceinline`): they are small, and calls among them would take longer than what they do.
"""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import numba as nb
import numpy as np
from numpy.typing import NDArray

from ..behavior import Behavior
from ..models.base import Floats
from ..models.compiled import ONLY_CALLED, specialised
from ..models.kernel import numbers_of
from ..models.streams import below, started
from ..tasks.base import Task
from ..threads import in_threads

MISSED, FIRST = -1, 0
"""The first number of a description: of a missed trial, and of the first observed trial of a block, a uniform choice."""

Descriptions = NDArray[np.int32]
"""What `describe` says of each choice, (N, B, T, 2 K)."""


class Past(NamedTuple):
    """What a participant has seen in the present block.

    Arguments:
        trials: How many trials, at least 1.
        previous: The arm that was chosen last.
        won: Did it pay?
        wins, losses: Of each arm, (K,).
    """

    trials: Any
    previous: Any
    won: Any
    wins: Any
    losses: Any


@nb.njit(cache=True, forceinline=True, **ONLY_CALLED)
def count_from(scores: Any, least: Any) -> Any:
    """How many arms score `least` or more."""
    count = 0
    for k in range(scores.size):
        count += scores[k] >= least
    return count


@nb.njit(cache=True, forceinline=True, **ONLY_CALLED)
def pick(scores: Any, least: Any, inside: Any, stream: Any) -> Any:
    """One of the arms that score `least` or more, uniformly; or if not `inside`, one of the others."""
    count = count_from(scores, least)
    left = below(count if inside else scores.size - count, stream)
    for k in range(scores.size):
        if (scores[k] >= least) == inside:
            if left == 0:
                return k
            left -= 1
    return -1


choose: Any = None
describe: Any = None
pays: Any = None
"""These stand for the functions of a model and of a bandit in the loops, see `specialised`."""


@nb.njit(cache=True, forceinline=True, **ONLY_CALLED)
def count_reward(arm: Any, won: Any, wins: Any, losses: Any) -> None:
    if won:
        wins[arm] += 1.0
    else:
        losses[arm] += 1.0


def play(theta: Any, designs: Any, lengths: Any, streams: Any, choices: Any, rewards: Any, mask: Any, numbers: Any, released: Any) -> None:
    """Simulate participants: theta (N, P), designs (N, B, V), lengths (N, B) and streams (N, 2) in, the rest (N, B, T) out."""
    n, blocks, _ = choices.shape
    arms, outcome, luck_memory = int(numbers[0]), np.zeros(1), np.zeros(designs.shape[2])
    wins, losses, scratch, memory = np.zeros(arms), np.zeros(arms), np.zeros(arms), np.zeros(4)
    for i in range(n):
        stream, luck = streams[i, :1], streams[i, 1:]
        for b in range(blocks):
            wins[:], losses[:], memory[:], luck_memory[:] = 0.0, 0.0, 0.0, 0.0
            arm, won = below(arms, stream), False
            for t in range(lengths[i, b]):
                if t > 0:
                    arm = choose(Past(t, arm, won, wins, losses), theta[i], released, memory, scratch, stream)
                pays(designs[i, b], t, arm, numbers, luck_memory, luck, outcome)
                won = outcome[0] == 1.0
                count_reward(arm, won, wins, losses)
                choices[i, b, t], rewards[i, b, t], mask[i, b, t] = arm, won, True


def look_back(choices: Any, rewards: Any, mask: Any, out: Any, released: Any) -> None:
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
                count_reward(arm, won, wins, losses)


compiled_around = cache(specialised)


def simulate(choose: Any, theta: Floats, designs: Floats, task: Task, released: bool, rng: np.random.Generator) -> Behavior:
    """What participants with parameters theta (N, P) at designs (N, B, V) do."""
    loop, numbers = compiled_around(play, choose=choose, pays=task.rules.compiled), numbers_of(task)
    lengths, streams = task.lengths(designs).astype(np.int64), started(rng.integers(0, 2**53, len(designs)))
    given, done = (np.ascontiguousarray(array) for array in (theta, designs, lengths, streams)), task.nothing(len(designs))
    arrays = *given, done.fields["choice"], done.fields["reward"], done.mask
    in_threads(lambda *slices: loop(*slices, numbers, released), len(designs), arrays)
    return done


def replay(describe: Any, behavior: Behavior, arms: int, released: bool) -> Descriptions:
    """Descriptions (N, B, T, 2 K), -1 at missed trials."""
    choices = np.ascontiguousarray(behavior.fields["choice"], dtype=np.int16)
    rewards = np.ascontiguousarray(behavior.fields["reward"], dtype=np.int8)
    loop, out = compiled_around(look_back, describe=describe), np.full((*choices.shape, 2 * arms), MISSED, np.int32)
    in_threads(lambda *slices: loop(*slices, released), len(out), (choices, rewards, np.ascontiguousarray(behavior.mask), out))
    return out
