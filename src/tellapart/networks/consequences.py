"""What each answer led to so far: a description of trials that needs nothing but the types of the fields.

A participant who learns from outcomes compares answers by what they led to. Where a response is one of a few categories and the task
gives outcomes, each trial is therefore described by what could be known of every category when the answer was given: how often and how
long ago it was given before, whether that is the most or the least often of all, and of each outcome that came with it the mean, whether
that is the highest, and the last. The category of the present answer comes first, then the others from the most to the least recent, so
that what has the same meaning has the same place whatever the categories are called.
"""

from __future__ import annotations

from typing import Any, Sequence

import numpy as np
from numpy.typing import NDArray

from ..behavior import Behavior, Field
from ..information.estimate import Floats
from ..tasks.base import Task
from .base import categories

MOST = 12
"""Categories up to which each has numbers of its own."""


def answers_with_consequences(task: Task) -> list[tuple[Field, int]]:
    """The responses to describe, each with its number of categories; none if the task gives no outcomes."""
    counted = [(f, categories(f)) for f in task.responses]
    return [(f, count) for f, count in counted if task.outcomes and 2 <= count <= MOST]


def consequences(task: Task, behavior: Behavior) -> list[NDArray[np.floating[Any]]]:
    """What each answer led to before every trial, (N, B, T, F), one array for each response; zero in trials that were missed."""
    described = answers_with_consequences(task)
    if not described:
        return []
    measured = any(f.kind in ("real", "positive") for f in task.outcomes)  # in units of the user's: rounding waits for the encoder's scale
    dtype = np.float64 if measured else np.float32
    found: list[NDArray[np.floating[Any]]] = [_of_response(behavior, f, task.outcomes, count).astype(dtype) for f, count in described]
    return [each.reshape(*behavior.shape, each.shape[-2] * each.shape[-1]) for each in found]


def known_of_options(task: Task, behavior: Behavior, field: Field) -> NDArray[np.floating[Any]]:
    """The same of each category of a response, in the categories' own order, (N, B, T, K, F); F is 0 if they are not described."""
    count = categories(field)
    if (field, count) not in answers_with_consequences(task):
        return np.zeros((*behavior.shape, count, 0), np.float32)
    return _of_response(behavior, field, task.outcomes, count, reordered=False)


def width_of_consequences(task: Task) -> int:
    """F of all responses together."""
    return sum(count * (4 + 3 * len(task.outcomes)) for _, count in answers_with_consequences(task))


def across_blocks(task: Task, behavior: Behavior) -> NDArray[np.floating[Any]]:
    """What one block may have taught for the next, (N, B, T, F): what each answer led to in all blocks so far, and how many trials went
    before in this one and in all.
    """
    whole, shape = behavior.in_one_block(), (*behavior.shape, -1)
    parts = [*consequences(task, whole), clock(whole.mask)]
    return np.concatenate([clock(behavior.mask), *(part.reshape(shape) for part in parts)], axis=-1)


def width_across_blocks(task: Task) -> int:
    return width_of_consequences(task) + 2


def clock(mask: NDArray[np.bool_]) -> NDArray[np.float32]:
    """How many trials of the block were recorded before each (N, B, T), on a scale that grows ever more slowly, (N, B, T, 1)."""
    earlier: NDArray[np.intp] = np.cumsum(mask, axis=2) - mask
    return np.asarray(0.3 * np.log1p(earlier) * mask, dtype=np.float32)[..., None]


def _of_response(behavior: Behavior, field: Field, by_task: Sequence[Field], levels: int, reordered: bool = True) -> Floats:
    """The same for one response, from what the task gave, (N, B, T, K, F); if not `reordered`, categories keep their order."""
    given, mask = behavior.fields[field.name], behavior.mask
    outcomes = np.stack([behavior.fields[f.name].astype(np.float64) for f in by_task], axis=-1)  # (N, B, T, O)
    n, blocks, trials = given.shape
    count = np.zeros((n, blocks, levels, 1))
    when = np.zeros_like(count)  # the number of the trial at which a category was last given, from 1
    total = np.zeros((n, blocks, levels, outcomes.shape[-1]))
    last, seen = np.zeros_like(total), np.zeros((n, blocks, 1, 1))
    described = np.zeros((n, blocks, trials, levels, 4 + 3 * outcomes.shape[-1]))
    for t in range(trials):
        recorded = mask[:, :, t, None, None]
        now = (given[:, :, t, None] == np.arange(levels))[..., None]
        order = np.argsort(np.where(now, -np.inf, -when), axis=2, kind="stable")
        ago = np.where(when > 0, np.log1p(seen - when), -1.0)
        mean = total / np.maximum(count, 1.0)
        most, least = count == count.max(2, keepdims=True), count == count.min(2, keepdims=True)
        tried = np.where(count > 0, mean, -np.inf)
        highest = (tried == tried.max(2, keepdims=True)) & (count > 0)
        known = np.concatenate([np.log1p(count), ago, most, least, mean, highest, last], axis=-1)
        described[:, :, t] = (np.take_along_axis(known, order, 2) if reordered else known) * recorded
        new = now & recorded
        seen += recorded
        count += new
        when = np.where(new, seen, when)
        total += new * outcomes[:, :, t, None]
        last = np.where(new, outcomes[:, :, t, None], last)
    return described
