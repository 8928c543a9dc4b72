"""Statistics of behavior with names, as a paper would show them: learning curves, stay and shift rates, and what the task declares.

A task that wants more to be looked at has a method `statistics(behavior)` that gives names and values (N,). Trials that were missed are
left out; what cannot be told for somebody (nobody won, say) is NaN.
"""

from __future__ import annotations

from typing import Any, Iterator, Mapping

import numpy as np
from numpy.typing import NDArray

from ..behavior import Behavior, Field
from ..tasks.base import Task
from .frequencies import Floats

Mask = NDArray[np.bool_]

PARTS = ("first third", "second third", "last third")
MOST = 6
"""Up to so many blocks and categories are described one by one."""


def named_statistics(task: Task, behavior: Behavior) -> dict[str, Floats]:
    """Name to value for each participant, (N,)."""
    found: dict[str, Floats] = {}
    binary = [f for f in task.outcomes if f.kind == "binary"]
    for field in task.fields:
        found |= dict(_of_field(field, behavior, binary, len(task.fields) > 1))
    own = getattr(task, "statistics", None)
    declared: Mapping[str, Any] = own(behavior) if own else {}
    return found | {name: np.asarray(values, np.float64) for name, values in declared.items()}


def _of_field(field: Field, behavior: Behavior, binary: list[Field], several: bool) -> Iterator[tuple[str, Floats]]:
    values, mask = behavior.fields[field.name], behavior.mask
    if field.kind == "categorical":
        yield from _of_choices(field, values, behavior, binary)
        return
    numbers = np.log(np.where(mask, np.maximum(values, 1e-9), 1.0)) if field.kind == "positive" else values.astype(np.float64)
    label = f"log {field.name}" if field.kind == "positive" else field.name
    if mask.shape[1] == 1 or mask.shape[1] > MOST:
        yield label, mean(numbers, mask)
    else:
        yield from ((f"{label} in block {b + 1}", mean(numbers[:, b], mask[:, b])) for b in range(mask.shape[1]))
    if mask.shape[2] >= 6:
        yield from ((f"{label}, {part}", mean(numbers, mask & within)) for part, within in _thirds(mask.shape[2]))
    if field.kind != "binary":
        yield f"spread of {label}", np.sqrt(np.maximum(mean(numbers**2, mask) - mean(numbers, mask) ** 2, 0.0))
    if field.by == "participant" and mask.shape[2] >= 6:
        again = numbers[:, :, 1:] == numbers[:, :, :-1] if field.kind == "binary" else numbers[:, :, 1:] * numbers[:, :, :-1]
        yield (
            f"{label}, same as before" if field.kind == "binary" else f"{label}, with the one before",
            mean(again, mask[:, :, 1:] & mask[:, :, :-1]),
        )


def _of_choices(field: Field, values: NDArray[Any], behavior: Behavior, binary: list[Field]) -> Iterator[tuple[str, Floats]]:
    """How often each category; stay rates, overall and after each outcome, as the block goes on; repeats further back; runs."""
    mask, levels = behavior.mask, field.levels or 1
    counts = np.stack([((values == level) & mask).sum(2) for level in range(levels)], axis=-1)
    shares = counts / np.maximum(counts.sum(-1, keepdims=True), 1)
    yield "share of the favourite of a block", mean(shares.max(-1), np.asarray(mask.any(2)))
    names = field.labels or tuple(f"{field.name} {level + 1}" for level in range(levels))
    yield from ((f"share of {names[level]}", mean(values == level, mask)) for level in range(levels) if levels <= MOST)
    if values.shape[2] < 3:
        return
    stay, pairs = values[:, :, 1:] == values[:, :, :-1], mask[:, :, 1:] & mask[:, :, :-1]
    yield "stay", mean(stay, pairs)
    for other in binary:
        before = behavior.fields[other.name][:, :, :-1]
        after = other.labels or (f"{other.name} 0", f"{other.name} 1")
        yield from ((f"stay after {after[value]}", mean(stay, pairs & (before == value))) for value in (0, 1))
    yield from ((f"stay, {part}", mean(stay, pairs & within[1:])) for part, within in _thirds(values.shape[2]))
    for lag in (2, 3):
        if values.shape[2] > lag + 2:
            yield f"same as {lag} trials before", mean(values[:, :, lag:] == values[:, :, :-lag], mask[:, :, lag:] & mask[:, :, :-lag])
    yield "switches after a stay", mean(~stay[:, :, 1:], pairs[:, :, 1:] & pairs[:, :, :-1] & stay[:, :, :-1])


def mean(values: NDArray[Any], among: Mask) -> Floats:
    """The mean over all but the first axis, among the trials that count; NaN if none does."""
    axes = tuple(range(1, np.ndim(values)))
    counts = among.sum(axes)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(np.where(among, values, 0).sum(axes) / counts)


def _thirds(trials: int) -> Iterator[tuple[str, Mask]]:
    edges = np.linspace(0, trials, len(PARTS) + 1).round().astype(int)
    yield from ((part, (np.arange(trials) >= a) & (np.arange(trials) < b)) for part, a, b in zip(PARTS, edges[:-1], edges[1:], strict=True))


def cut(behavior: Behavior, masks: Mask) -> Behavior:
    """Simulated participants as if each block had ended when somebody's did, whose gaps are closed up: masks (N, B, T)."""
    blocks, trials = masks.shape[1:]
    shorter = behavior.first(blocks=blocks, trials=trials)
    return Behavior(shorter.fields, shorter.mask & masks)


closed_up = Behavior.closed_up
