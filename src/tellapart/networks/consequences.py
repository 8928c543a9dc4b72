"""What each answer led to so far: a description of trials that needs nothing but the types of the fields.

A participant who learns from outcomes compares answers by what they led to. Where a response is one of a few categories and the task
gives outcomes, each trial is therefore described by what could be known of every category when the answer was given: how often and how
long ago it was given before, whether that is the most or the least often of all, and of each outcome that came with it the mean, whether
that is the highest, and the last. The category of the present answer comes first, then the others from the most to the least recent, so
that what has the same meaning has the same place whatever the categories are called.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..behavior import Behavior, Field
from ..information.estimate import Floats
from ..tasks.base import Task

MOST = 12
"""Categories up to which each has numbers of its own."""


def answers_with_consequences(task: Task) -> list[tuple[Field, int]]:
    """The responses to describe, each with its number of categories; none if the task gives no outcomes."""
    counted = [(f, 2 if f.kind == "binary" else f.levels or 0) for f in task.responses]
    return [(f, categories) for f, categories in counted if task.outcomes and 2 <= categories <= MOST]


def consequences(task: Task, behavior: Behavior) -> list[NDArray[np.floating[Any]]]:
    """What each answer led to before every trial, (N, B, T, F), one array for each response; zero in trials that were missed."""
    described = answers_with_consequences(task)
    if not described:
        return []
    outcomes = np.stack([behavior.fields[f.name].astype(np.float64) for f in task.outcomes], axis=-1)
    measured = any(f.kind in ("real", "positive") for f in task.outcomes)  # in units of the user's: rounding waits for the encoder's scale
    dtype = np.float64 if measured else np.float32
    return [_of_response(behavior.fields[f.name], behavior.mask, outcomes, categories).astype(dtype) for f, categories in described]


def known_of_options(task: Task, behavior: Behavior, field: Field) -> NDArray[np.floating[Any]]:
    """The same of each category of a response, in the categories' own order, (N, B, T, K, F); F is 0 if they are not described."""
    categories = dict(answers_with_consequences(task)).get(field, 0)
    if not categories:
        return np.zeros((*behavior.shape, max(2, field.levels or 0), 0), np.float32)
    outcomes = np.stack([behavior.fields[f.name].astype(np.float64) for f in task.outcomes], axis=-1)
    known = _of_response(behavior.fields[field.name], behavior.mask, outcomes, categories, reordered=False)
    return known.reshape(*behavior.shape, categories, -1)


def width_of_consequences(task: Task) -> int:
    """F of all responses together."""
    return sum(categories * (4 + 3 * len(task.outcomes)) for _, categories in answers_with_consequences(task))


def _of_response(given: NDArray[np.generic], mask: NDArray[np.bool_], outcomes: Floats, categories: int, reordered: bool = True) -> Floats:
    """The same for one response (N, B, T), from outcomes (N, B, T, O); if not `reordered`, categories keep their order."""
    n, blocks, trials = given.shape
    count = np.zeros((n, blocks, categories, 1))
    when = np.zeros_like(count)  # the number of the trial at which a category was last given, from 1
    total = np.zeros((n, blocks, categories, outcomes.shape[-1]))
    last, seen = np.zeros_like(total), np.zeros((n, blocks, 1, 1))
    described = np.zeros((n, blocks, trials, categories * (4 + 3 * outcomes.shape[-1])))
    for t in range(trials):
        recorded = mask[:, :, t, None, None]
        now = (given[:, :, t, None] == np.arange(categories))[..., None]
        order = np.argsort(np.where(now, -np.inf, -when), axis=2, kind="stable")
        ago = np.where(when > 0, np.log1p(seen - when), -1.0)
        mean = total / np.maximum(count, 1.0)
        most, least = count == count.max(2, keepdims=True), count == count.min(2, keepdims=True)
        tried = np.where(count > 0, mean, -np.inf)
        highest = (tried == tried.max(2, keepdims=True)) & (count > 0)
        known = np.concatenate([np.log1p(count), ago, most, least, mean, highest, last], axis=-1)
        described[:, :, t] = ((np.take_along_axis(known, order, 2) if reordered else known) * recorded).reshape(n, blocks, -1)
        new = now & recorded
        seen += recorded
        count += new
        when = np.where(new, seen, when)
        total += new * outcomes[:, :, t, None]
        last = np.where(new, outcomes[:, :, t, None], last)
    return described
