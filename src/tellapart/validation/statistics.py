"""Statistics of behavior that anyone would look at first, whatever the task: they know nothing of models and networks.

What a learned summary has come to ignore, these may still see. Missed trials are left out.
"""

from __future__ import annotations

from typing import Any, Iterator

import numpy as np
from numpy.typing import NDArray

from ..behavior import Behavior, Field
from ..information.estimate import Floats

Mask = NDArray[np.bool_]

MOST = 8
"""Up to so many categories and blocks are described one by one."""


def plain_statistics(behavior: Behavior, fields: tuple[Field, ...], shown: Mask | None = None) -> Floats:
    """Plain statistics of N participants, (N, F).

    The share of trials that are recorded. For a categorical field: how often each category is chosen, how often a choice repeats that of
    one, two and three trials before, how evenly categories are used, the longest run and how much runs differ in length; how often a
    choice is repeated after each value of each binary field. For the others: the mean of each block, the spread, and how much a trial goes
    with the one before.

    Arguments:
        shown: The trials that could have been recorded, (B, T) or (N, B, T); those that were, if not given.
    """
    mask, binary = behavior.mask, [f for f in fields if f.kind == "binary"]
    possible = np.broadcast_to(mask if shown is None else shown, mask.shape).sum((1, 2))
    columns: list[Floats] = [mask.sum((1, 2)) / np.maximum(possible, 1)]
    for field in fields:
        values = behavior.fields[field.name]
        if field.kind == "categorical":
            columns += [_share(values == level, mask) for level in range(min(field.levels or 1, MOST))]
            columns += [_share(_repeats(values, lag), _both(mask, lag)) for lag in (1, 2, 3) if lag < values.shape[2]]
            columns += [_evenness(values, mask, field.levels or 1), *_runs(values, mask)]
            columns += [column for other in binary for column in _repeats_after(values, behavior, other)]
        else:
            columns += _moments(_scaled(values, field, mask), mask)
    return np.stack(columns, axis=-1)


def _scaled(values: NDArray[Any], field: Field, mask: Mask) -> Floats:
    """A field as numbers, counts and positive ones on a log scale; zero where nothing was recorded."""
    if field.kind == "positive":
        return np.log(np.where(mask, values, 1.0))
    return np.where(mask, np.log1p(values) if field.kind == "count" else values, 0.0)


def _share(event: Mask, among: Mask) -> Floats:
    """How often an event happens (N, B, T), among the trials that count; a half if none does."""
    hits, trials = (event & among).sum((1, 2)), among.sum((1, 2))
    return np.asarray((hits + 0.5) / (trials + 1.0))


def _repeats(values: NDArray[Any], lag: int) -> Mask:
    return np.asarray(values[:, :, lag:] == values[:, :, :-lag])


def _both(mask: Mask, lag: int) -> Mask:
    return np.asarray(mask[:, :, lag:] & mask[:, :, :-lag])


def _repeats_after(values: NDArray[Any], behavior: Behavior, other: Field) -> Iterator[Floats]:
    if values.shape[2] < 2:
        return
    before = behavior.fields[other.name][:, :, :-1]
    for value in (0, 1):
        yield _share(_repeats(values, 1), _both(behavior.mask, 1) & (before == value))


def _evenness(values: NDArray[Any], mask: Mask, levels: int) -> Floats:
    """The entropy of the categories used within a block, averaged over blocks, (N,)."""
    counts = np.stack([((values == level) & mask).sum(2) for level in range(levels)], axis=-1)
    shares = counts / np.maximum(counts.sum(-1, keepdims=True), 1)
    return np.asarray(-(shares * np.log(np.maximum(shares, 1e-12))).sum(-1).mean(1))


def _runs(values: NDArray[Any], mask: Mask) -> tuple[Floats, Floats]:
    """The longest run of one category as a share of the trials, averaged over blocks, and how much runs differ in length; (N,) each.

    The second is the standard deviation of the lengths of all runs over their mean: 0 for someone who changes every fifth trial.
    """
    n, blocks, trials = values.shape
    goes_on = np.zeros(values.shape, bool)
    goes_on[:, :, 1:] = _repeats(values, 1) & _both(mask, 1)
    begin = np.flatnonzero(mask & ~goes_on)  # of each run; what is missed before the next one counts as nothing
    length, longest = np.add.reduceat(mask.ravel().astype(np.float64), begin), np.zeros(n * blocks)
    np.maximum.at(longest, begin // trials, length)
    count, total, squares = (np.bincount(begin // (blocks * trials), weights, n) for weights in (np.ones(len(begin)), length, length**2))
    mean = total / np.maximum(count, 1)
    spread = np.sqrt(np.maximum(squares / np.maximum(count, 1) - mean**2, 0.0)) / np.maximum(mean, 1.0)  # a run has a trial at least
    return np.asarray((longest.reshape(n, blocks) / np.maximum(mask.sum(2), 1)).mean(1)), np.asarray(spread)


def _moments(values: Floats, mask: Mask) -> list[Floats]:
    """The mean of each block (of all if there are many, or none of its trials), standard deviation and lag-1 correlation, (N,) each."""
    count = np.maximum(mask.sum((1, 2)), 1)
    mean = values.sum((1, 2)) / count
    centred = (values - mean[:, None, None]) * mask
    variance, size = (centred**2).sum((1, 2)) / count, (values**2).sum((1, 2)) / count
    pairs = _both(mask, 1)
    together = (centred[:, :, 1:] * centred[:, :, :-1]).sum((1, 2)) / np.maximum(pairs.sum((1, 2)), 1)
    varies = variance > 1e-9 * size  # beyond rounding
    correlation = np.where(varies, together / np.where(varies, variance, 1.0), 0.0)
    trials = mask.sum(2)
    blocks = np.where(trials > 0, values.sum(2) / np.maximum(trials, 1), mean[:, None]) if trials.shape[1] <= MOST else mean[:, None]
    return [*blocks.T, np.sqrt(variance), correlation]
