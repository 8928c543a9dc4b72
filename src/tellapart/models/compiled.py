"""Compiled bandit simulators: one loop for every model.

A bandit model differs from the next in one thing only: how it chooses. It supplies a numba function

    choose(trial, previous, reward, wins, losses, theta, memory, scratch, stream) -> arm

for all trials but the first of a block (which is uniform), and `bandit_simulator` compiles the loop around it. `wins`, `losses` and
`scratch` (its own, to do with as it likes) have a number an arm; `memory` (4 + 2 T numbers) is zero at a participant's start,
and holds from block to block.

What costs time here is a branch that the processor guesses wrong, some 20 operations each, and choices are made to be hard
to guess. So sums of comparisons take the place of "if" where that is possible. Only `choose` need know.

Randomness: every participant has a stream of its own (splitmix64), started from one 64-bit number that the NumPy
generator supplies. So the same seed gives the same bytes whatever the number of threads and the chunks of participants.
"""

from __future__ import annotations

import hashlib
import math
from functools import cache
from pathlib import Path
from types import FunctionType
from typing import Any, Callable

import numba as nb
import numpy as np
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic
from numba.np.arrayobj import populate_array
from numpy.typing import NDArray

from ..threads import in_threads

MEMORY = 4
"""Numbers that an agent can carry from trial to trial and from block to block, beside wins and losses; and as many again as 2 T."""


@nb.njit(cache=True, forceinline=True)
def word(stream: Any) -> Any:
    """The next 64 random bits of the stream. Steele, Lea & Flood (2014)."""
    stream[0] += np.uint64(0x9E3779B97F4A7C15)
    z = stream[0]
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


@nb.njit(cache=True, forceinline=True)
def uniform(stream: Any) -> Any:
    """A number uniform on (0, 1), never 0 or 1."""
    # signed, because the processor converts signed numbers in one instruction
    return (np.float64(np.int64(word(stream) >> np.uint64(12))) + 0.5) * 2.0**-52


@nb.njit(cache=True, forceinline=True)
def below(n: Any, stream: Any) -> Any:
    """A whole number uniform on 0 … n - 1."""
    return np.int64(uniform(stream) * n)


_LAYERS, _TAIL = 256, 3.6541528853610088


def _layers() -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Right edges of the layers and the height exp(-x^2 / 2) at them, widest layer first, both (257,).

    All layers have the same area, which the area of the lowest, from _TAIL to infinity included, decides.
    """
    edges, heights = np.zeros(_LAYERS + 1), np.ones(_LAYERS + 1)
    heights[1] = math.exp(-0.5 * _TAIL**2)
    area = _TAIL * heights[1] + math.sqrt(0.5 * math.pi) * math.erfc(_TAIL / math.sqrt(2.0))
    edges[0], edges[1], heights[0] = area / heights[1], _TAIL, 0.0
    for i in range(1, _LAYERS - 1):
        heights[i + 1] = heights[i] + area / edges[i]
        edges[i + 1] = math.sqrt(-2.0 * math.log(heights[i + 1]))
    return edges, heights


_EDGES, _HEIGHTS = _layers()


@nb.njit(cache=True, forceinline=True)
def standard_normal(stream: Any) -> Any:
    """A standard normal number: the ziggurat of Marsaglia and Tsang (2000), whose every layer is drawn from alike.

    One word gives the layer (its lowest 8 bits) and the place in it (its highest 53, sign included). In 99 of 100 cases that
    is under the curve for certain, and neither a logarithm nor a cosine is needed.
    """
    bits = word(stream)
    layer = bits & np.uint64(255)
    x = (np.float64(np.int64(bits) >> 11) + 0.5) * 2.0**-52 * _EDGES[layer]
    return x if abs(x) < _EDGES[layer + np.uint64(1)] else _near_the_edge(x, layer, stream)


@nb.njit(cache=True)
def _near_the_edge(x: Any, layer: Any, stream: Any) -> Any:
    """What becomes of a number that is not under the curve for certain."""
    while True:
        if layer == 0:
            # the tail of the normal distribution; Marsaglia (1964)
            while True:
                beyond = -np.log(uniform(stream)) / _TAIL
                if -2.0 * np.log(uniform(stream)) > beyond * beyond:
                    return _TAIL + beyond if x > 0.0 else -_TAIL - beyond
        low, high = _HEIGHTS[layer], _HEIGHTS[layer + np.uint64(1)]
        if low + uniform(stream) * (high - low) < np.exp(-0.5 * x * x):
            return x
        bits = word(stream)
        layer = bits & np.uint64(255)
        x = (np.float64(np.int64(bits) >> 11) + 0.5) * 2.0**-52 * _EDGES[layer]
        if abs(x) < _EDGES[layer + np.uint64(1)]:
            return x


@nb.njit(cache=True, forceinline=True)
def count_from(scores: Any, least: Any) -> Any:
    """How many arms score `least` or more."""
    count: Any = 0
    for k in range(scores.size):
        count += np.int64(scores[k] >= least)
    return count


@nb.njit(cache=True, forceinline=True)
def pick(scores: Any, least: Any, inside: Any, stream: Any) -> Any:
    """One of the arms that score `least` or more, uniformly; or if not `inside`, one of those that score less.

    Without branches: the processor would guess them wrong half of the time, and a wrong guess costs more than the whole loop.
    """
    count = count_from(scores, least)
    left = below(count if inside else scores.size - count, stream)
    # the first arm up to which there are more than `left`; the last one if no earlier arm is it
    arm: Any = 0
    seen: Any = 0
    for k in range(scores.size - 1):
        seen += np.int64((scores[k] >= least) == inside)
        arm += np.int64(seen <= left)
    return arm


@intrinsic
def borrowed(typing: Any, array: Any) -> Any:
    """The same array for which nobody counts references; whoever owns it must outlive it.

    Numba counts them around every call, by slow atomic instructions, unless it can prove that this changes nothing. In a
    `choose` with loops of its own it cannot, and then spends longer on counting than on choosing.
    """

    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        value = context.make_array(array)(context, builder, arguments[0])
        value.meminfo = context.get_constant_null(types.MemInfoPointer(array.dtype))
        return value._getvalue()

    return array(array), build


@intrinsic(prefer_literal=True)
def on_stack(typing: Any, rows: Any, columns: Any) -> Any:
    """An array (rows, 3, columns) of numbers yet to be set. The compiler knows its size, and that no other array shares its memory."""
    array, shape = types.Array(types.float64, 3, "C"), (rows.literal_value, 3, columns.literal_value)

    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        size, *lengths = (context.get_constant(types.intp, length) for length in (8, *shape))
        strides = [context.get_constant(types.intp, stride) for stride in (24 * shape[2], 8 * shape[2], 8)]
        number = context.get_data_type(types.float64)
        place = cgutils.alloca_once(builder, number, context.get_constant(types.intp, math.prod(shape)))
        value = context.make_array(array)(context, builder)
        populate_array(value, place, lengths, strides, size, None)
        return value._getvalue()

    return array(rows, columns), build


def _loop(theta: Any, designs: Any, seeds: Any, choices: Any, rewards: Any, room: Any, state: Any) -> None:
    """Simulate participants: theta (N, P), designs (N, B, K), seeds (N,), into choices and rewards (N, B, T).

    LANES of them play side by side: they need not wait for each other, so that the processor works on all at once.
    Where fewer are left, the last one fills the empty lanes and does the same again.
    Memory to work in, which belongs to the caller: room (LANES, MEMORY + 2 T), state (LANES, 1).
    """
    n, blocks, trials = choices.shape
    tallies = on_stack(LANES, ARMS)  # type: ignore[name-defined]  # noqa: F821
    thetas, memories, streams = borrowed(theta), borrowed(room), borrowed(state)
    for first in range(0, n, LANES):  # type: ignore[name-defined]  # noqa: F821
        memories[:] = 0.0
        arm, won = np.int64(0), False
        for lane in range(LANES):  # type: ignore[name-defined]  # noqa: F821
            streams[lane, 0] = seeds[min(first + lane, n - 1)]
        for b in range(blocks):
            tallies[:] = 0.0
            for t in range(trials):
                for lane in range(LANES):  # type: ignore[name-defined]  # noqa: F821
                    i, tally, stream = min(first + lane, n - 1), tallies[lane], streams[lane]
                    losses, wins, scratch = tally[0], tally[1], tally[2]
                    if t == 0:
                        arm = below(wins.size, stream)
                    else:
                        if LANES > 1:  # type: ignore[name-defined]  # noqa: F821
                            arm, won = np.int64(choices[i, b, t - 1]), rewards[i, b, t - 1] != 0
                        arm = choose(t, arm, won, wins, losses, thetas[i], memories[lane], scratch, stream)  # type: ignore[name-defined]  # noqa: F821
                    won = uniform(stream) < designs[i, b, arm]
                    tally[np.int64(won), arm] += 1.0
                    choices[i, b, t] = arm
                    rewards[i, b, t] = won


Simulator = Callable[..., tuple[NDArray[np.int16], NDArray[np.int8]]]


def bandit_simulator(choose: Any, lanes: int = 4) -> Simulator:
    """Compile the loop around a model's `choose`, for each number of arms when it is first met.

    Arguments:
        choose: See above.
        lanes: How many participants play side by side. 1 is best if `choose` has branches that are hard to guess: the processor
            then learns the habits of one participant at a time.

    Returns:
        A function of theta (N, P), designs (N, B, K), trials T, rng and threads that returns choices and rewards (N, B, T).
    """

    @cache
    def kernel(arms: int) -> Any:
        return specialised(_loop, choose=choose, ARMS=arms, LANES=lanes)

    def simulate(theta: Any, designs: Any, trials: int, rng: np.random.Generator, threads: int | None = None) -> Any:
        n, blocks, arms = designs.shape
        loop = kernel(arms)
        theta = np.ascontiguousarray(theta, dtype=np.float64).reshape(n, -1)
        designs = np.ascontiguousarray(designs, dtype=np.float64)
        seeds = rng.integers(0, 2**64, size=n, dtype=np.uint64)
        choices = np.empty((n, blocks, trials), np.int16)
        rewards = np.empty((n, blocks, trials), np.int8)

        def play(*slices: Any) -> None:
            loop(*slices, np.zeros((lanes, MEMORY + 2 * trials)), np.zeros((lanes, 1), np.uint64))

        in_threads(play, n, (theta, designs, seeds, choices, rewards), threads)
        return choices, rewards

    return simulate


def specialised(loop: Any, **values: Any) -> Any:
    """Compile a copy of `loop` in which some global names stand for given compiled functions and numbers.

    Numba keeps what it compiled in a cache that it looks up by file, function name and line, and it notices changes to
    that file alone. So the copy's name carries a fingerprint of every source file involved: a model whose code
    changed is never run from an old cache.
    """
    functions = [value for value in values.values() if hasattr(value, "py_func")]
    files = sorted({__file__, *(f.py_func.__code__.co_filename for f in functions)})
    fingerprint = hashlib.sha256(b"".join(Path(file).read_bytes() for file in files if Path(file).exists()))
    names = "_".join(v.py_func.__qualname__ if v in functions else f"{name}{v}" for name, v in values.items())
    copy = FunctionType(loop.__code__, {**loop.__globals__, **values}, loop.__name__)
    copy.__qualname__ = f"{loop.__name__}_{names}_{fingerprint.hexdigest()[:16]}"
    copy.__module__ = __name__
    return nb.njit(cache=True, nogil=True, error_model="numpy")(copy)
