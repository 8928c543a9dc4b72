"""Does a policy look at what it cannot know yet? A check that any policy can be put to.

A decision about a block may depend on the blocks before it and on the plan. So it must not change when everything that was recorded from
that block on is changed, and when the rows of the blocks after it are.
"""

from __future__ import annotations

from typing import Callable

import numpy as np

from tellapart import Behavior, StudyError, Task
from tellapart.tasks.space import Floats

Decide = Callable[[Behavior, Floats, int], Floats]
"""decide(behavior, designs, block): the row (V,) for a block of one participant (1, B, T), run at designs (B, V)."""


def check_no_leak(decide: Decide, task: Task, behavior: Behavior, designs: Floats, rng: np.random.Generator) -> None:
    """Raise a `StudyError` if a decision depends on what comes later.

    Arguments:
        behavior: All blocks of one participant, (1, B, T).
        designs: (B, V).
    """
    for block in range(task.blocks):
        first = decide(behavior, designs, block)
        again = decide(_other_future(task, behavior, block, rng), _other_plan(task, designs, block, rng), block)
        if not np.array_equal(first, again):
            raise StudyError(
                "The policy looks at what it cannot know yet.",
                where=f"block {block} (counted from 0)",
                expected="the same decision whatever is recorded from that block on",
                got=f"{np.asarray(first).tolist()}, then {np.asarray(again).tolist()}",
                fix="use the blocks before it only",
            )


def _other_future(task: Task, behavior: Behavior, block: int, rng: np.random.Generator) -> Behavior:
    """The same past with another future: values shuffled over all that the fields hold, some not recorded."""
    fields, mask = {name: values.copy() for name, values in behavior.fields.items()}, behavior.mask.copy()
    shape = mask[:, block:].shape
    for f in task.fields:
        values = rng.integers(0, f.levels or 2, shape) if f.kind in ("binary", "categorical") else rng.permuted(fields[f.name][:, block:])
        fields[f.name][:, block:] = np.asarray(values).astype(f.dtype)
    mask[:, block:] = rng.random(shape) < 0.7
    return Behavior(fields, mask, behavior.participants)


def _other_plan(task: Task, designs: Floats, block: int, rng: np.random.Generator) -> Floats:
    """The same rows up to the block, others after it."""
    other = designs.copy()
    other[block + 1 :] = task.baseline(1, rng)[0, block + 1 :]
    return other
