"""Compiled bandit simulators: one loop for every model.

A bandit model differs from the next in one thing only: how it chooses. It supplies a numba function

    choose(trial, previous, reward, wins, losses, theta, memory, scratch, stream) -> arm

for all trials but the first of a block (which is uniform), and `bandit_simulator` compiles the loop around it.

Randomness: every participant has a stream of its own (splitmix64), started from one 64-bit number that the NumPy
generator supplies. So the same seed gives the same bytes whatever the number of threads and the chunks of participants.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from types import FunctionType
from typing import Any, Callable

import numba as nb
import numpy as np
from numpy.typing import NDArray

from ..threads import in_threads

MEMORY = 4
"""Numbers that an agent can carry from trial to trial within a block, beside wins and losses."""


@nb.njit(cache=True, forceinline=True)
def uniform(stream: Any) -> Any:
    """The next number of the stream, uniform on (0, 1) and never 0 or 1. Steele, Lea & Flood (2014)."""
    stream[0] += np.uint64(0x9E3779B97F4A7C15)
    z = stream[0]
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    z = z ^ (z >> np.uint64(31))
    return (np.float64(z >> np.uint64(12)) + 0.5) * (1.0 / 4503599627370496.0)


@nb.njit(cache=True, forceinline=True)
def below(n: Any, stream: Any) -> Any:
    """A whole number uniform on 0 … n - 1."""
    return np.int64(uniform(stream) * n)


@nb.njit(cache=True, forceinline=True)
def standard_normal(stream: Any) -> Any:
    """A standard normal number (Box and Muller's cosine branch)."""
    return np.sqrt(-2.0 * np.log(uniform(stream))) * np.cos(2.0 * np.pi * uniform(stream))


@nb.njit(cache=True, forceinline=True)
def pick(chosen: Any, count: Any, value: Any, stream: Any) -> Any:
    """One of the `count` arms at which `chosen` equals `value`, uniformly."""
    left = below(count, stream)
    for k in range(chosen.size):
        if chosen[k] == value:
            if left == 0:
                return k
            left -= 1
    return chosen.size - 1


def _loop(theta: Any, designs: Any, seeds: Any, choices: Any, rewards: Any) -> None:
    """Simulate participants: theta (N, P), designs (N, B, K), seeds (N,), into choices and rewards (N, B, T)."""
    n, blocks, trials = choices.shape
    arms = designs.shape[2]
    wins = np.zeros(arms)
    losses = np.zeros(arms)
    scratch = np.zeros(arms)
    memory = np.zeros(4)
    stream = np.zeros(1, np.uint64)
    for i in range(n):
        stream[0] = seeds[i]
        own = theta[i]
        for b in range(blocks):
            wins[:] = 0.0
            losses[:] = 0.0
            memory[:] = 0.0
            arm = below(arms, stream)
            won = False
            for t in range(trials):
                if t > 0:
                    arm = choose(t, arm, won, wins, losses, own, memory, scratch, stream)  # type: ignore[name-defined]  # noqa: F821
                won = uniform(stream) < designs[i, b, arm]
                if won:
                    wins[arm] += 1.0
                else:
                    losses[arm] += 1.0
                choices[i, b, t] = arm
                rewards[i, b, t] = won


Simulator = Callable[..., tuple[NDArray[np.int16], NDArray[np.int8]]]


def bandit_simulator(choose: Any) -> Simulator:
    """Compile the loop around a model's `choose`.

    Returns:
        A function of theta (N, P), designs (N, B, K), trials T, rng and threads that returns choices and rewards (N, B, T).
    """
    kernel = specialised(_loop, choose=choose)

    def simulate(theta: Any, designs: Any, trials: int, rng: np.random.Generator, threads: int | None = None) -> Any:
        n, blocks, _ = designs.shape
        theta = np.ascontiguousarray(theta, dtype=np.float64).reshape(n, -1)
        designs = np.ascontiguousarray(designs, dtype=np.float64)
        seeds = rng.integers(0, 2**64, size=n, dtype=np.uint64)
        choices = np.empty((n, blocks, trials), np.int16)
        rewards = np.empty((n, blocks, trials), np.int8)
        in_threads(kernel, n, (theta, designs, seeds, choices, rewards), threads)
        return choices, rewards

    return simulate


def specialised(loop: Any, **functions: Any) -> Any:
    """Compile a copy of `loop` in which some global names stand for given compiled functions.

    Numba keeps what it compiled in a cache that it looks up by file, function name and line, and it notices changes to
    that file alone. So the copy's name carries a fingerprint of every source file involved: a model whose code
    changed is never run from an old cache.
    """
    files = sorted({__file__, *(f.py_func.__code__.co_filename for f in functions.values())})
    fingerprint = hashlib.sha256(b"".join(Path(file).read_bytes() for file in files if Path(file).exists()))
    names = "_".join(f.py_func.__qualname__ for f in functions.values())
    copy = FunctionType(loop.__code__, {**loop.__globals__, **functions}, loop.__name__)
    copy.__qualname__ = f"{loop.__name__}_{names}_{fingerprint.hexdigest()[:16]}"
    copy.__module__ = __name__
    return nb.njit(cache=True, nogil=True, error_model="numpy")(copy)
