"""Compiled bandit simulators: one loop for all models.

A bandit model differs from the next in one thing only: how it chooses. It supplies a numba function

    choose(past, theta, released, memory, scratch, stream) -> arm

for all trials but the first of a block, at which every arm is equally probable; a `Simulator` is the loop compiled around it.

    past       what the participant has seen in the present block, a `Past`
    theta      the participant's parameters, (P,)
    released   is the convention "released"?
    memory     what the model carries from trial to trial, (4,); zeros at the start of a block
    scratch    a number for each arm to work with, (K,)
    stream     where random numbers come from, see `streams.py`

All compiled functions are inlined (`forceinline`): they are small, and calls among them would take longer than what they do.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from types import FunctionType
from typing import Any, NamedTuple

import numba as nb
import numpy as np
from numpy.typing import NDArray

from ..threads import in_threads
from .streams import below, uniform

Floats = NDArray[np.float64]


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


@nb.njit(cache=True, forceinline=True)
def count_from(scores: Any, least: Any) -> Any:
    """How many arms score `least` or more."""
    count = 0
    for k in range(scores.size):
        count += scores[k] >= least
    return count


@nb.njit(cache=True, forceinline=True)
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
"""Stands for the model's function in `_loop`, see `specialised`."""


def _loop(theta: Any, designs: Any, streams: Any, choices: Any, rewards: Any, released: Any) -> None:
    """Simulate participants: theta (N, P), designs (N, B, K) and streams (N, 1) in, choices and rewards (N, B, T) out."""
    n, blocks, trials = choices.shape
    arms = designs.shape[2]
    wins, losses, scratch, memory = np.zeros(arms), np.zeros(arms), np.zeros(arms), np.zeros(4)
    for i in range(n):
        stream = streams[i]
        for b in range(blocks):
            wins[:], losses[:], memory[:] = 0.0, 0.0, 0.0
            arm, won = below(arms, stream), False
            for t in range(trials):
                if t > 0:
                    arm = choose(Past(t, arm, won, wins, losses), theta[i], released, memory, scratch, stream)
                won = uniform(stream) < designs[i, b, arm]
                if won:
                    wins[arm] += 1.0
                else:
                    losses[arm] += 1.0
                choices[i, b, t] = arm
                rewards[i, b, t] = won


class Simulator:
    """The loop compiled around a model's `choose`."""

    def __init__(self, choose: Any) -> None:
        self._loop = specialised(_loop, choose=choose)

    def __call__(
        self, theta: Floats, designs: Floats, trials: int, released: bool, rng: np.random.Generator, threads: int | None = None
    ) -> tuple[NDArray[np.int16], NDArray[np.int8]]:
        """Choices and rewards (N, B, T) of participants with parameters theta (N, P) at designs (N, B, K)."""
        n, blocks, _ = designs.shape
        streams = rng.integers(0, 2**64, (n, 1), np.uint64)
        choices, rewards = np.empty((n, blocks, trials), np.int16), np.empty((n, blocks, trials), np.int8)
        arrays = np.ascontiguousarray(theta), np.ascontiguousarray(designs), streams, choices, rewards
        in_threads(lambda *slices: self._loop(*slices, released), n, arrays, threads)
        return choices, rewards


def specialised(loop: Any, **functions: Any) -> Any:
    """Compile a copy of `loop` in which some global names stand for given compiled functions.

    Numba finds what it compiled before by the name of the function, and notices changes to the file of `loop` alone. So the name of
    the copy carries a fingerprint of all files that matter, and a model whose code changed is never run from an old cache.
    """
    sources = [function.py_func for function in functions.values()]
    files = {*Path(__file__).parent.glob("*.py"), *(Path(source.__code__.co_filename) for source in sources)}
    fingerprint = hashlib.sha256(b"".join(file.read_bytes() for file in sorted(files))).hexdigest()[:16]
    copy = FunctionType(loop.__code__, {**loop.__globals__, **functions}, loop.__name__)
    copy.__qualname__ = "_".join([loop.__name__, *(f"{source.__module__}_{source.__qualname__}" for source in sources), fingerprint])
    copy.__module__ = __name__
    return nb.njit(cache=True, nogil=True, error_model="numpy")(copy)
