"""What gives a participant's next block.

A policy is a function of what the participant did so far. It is asked when a block begins and has a time limit: if it is late or
fails, the planned block is used, and the data say so in the column `source`: "planned", "adapted" or "fallback".
"""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import suppress
from dataclasses import dataclass
from threading import Lock
from typing import Callable, Literal

import numpy as np

from ..adaptive.candidates import Candidates
from ..behavior import Behavior
from ..errors import DesignError
from ..tasks.base import Task
from ..tasks.space import Floats

Policy = Callable[[Behavior, Floats, int], Floats | None]
"""policy(behavior, designs, block): what one participant did, (1, B, T), at designs (B, V), both in the order of play, and which block
comes next; its row of the design, (V,), or None for the planned one."""

Source = Literal["planned", "adapted", "fallback"]


def planned(behavior: Behavior, designs: Floats, block: int) -> None:
    """The fixed plan."""
    return None


class Remembering:
    """A policy that decides once about what is the same, above all about everybody's first block.

    Arguments:
        policy: Who decides; a function of the blocks that were run and of the planned one.
    """

    MOST = 1000
    """Decisions that are remembered."""

    def __init__(self, policy: Policy) -> None:
        self._policy, self._remembering = policy, Lock()
        self._known: dict[tuple[object, ...], Future[Floats | None]] = {}

    def __call__(self, behavior: Behavior, designs: Floats, block: int) -> Floats | None:
        seen = [values[:, :block].tobytes() for values in (*behavior.fields.values(), behavior.mask)]
        rests_on = (block, np.ascontiguousarray(designs[: block + 1]).tobytes(), *seen)
        with self._remembering:
            known = self._known.pop(rests_on, None)
            decided = known or Future()
            self._known[rests_on] = decided  # the last one that was asked for is the last one to go
            while len(self._known) > self.MOST:
                del self._known[next(iter(self._known))]
        if known is None:
            self._decide(decided, rests_on, behavior, designs, block)
        row = decided.result()  # who asks for the same meanwhile waits for it
        return None if row is None else row.copy()  # whoever gets it may change it

    def _decide(
        self, decided: Future[Floats | None], rests_on: tuple[object, ...], behavior: Behavior, designs: Floats, block: int
    ) -> None:
        try:
            decided.set_result(self._policy(behavior, designs, block))
        except BaseException as error:
            with self._remembering:
                self._known.pop(rests_on, None)  # the next one tries again
            decided.set_exception(error)


@dataclass(frozen=True, eq=False)
class Row:
    """A block's row of the design, (V,), where it came from, and if that was the fallback, why."""

    values: Floats
    source: Source
    why: str = ""


class Asking:
    """Asks a policy, no longer than a time limit.

    Arguments:
        policy: Whom to ask.
        task: Whose design space the row must lie in.
        seconds: The limit.
    """

    def __init__(self, policy: Policy, task: Task, seconds: float) -> None:
        self._policy, self._task, self._seconds = policy, task, seconds
        self._threads = None if policy is planned else ThreadPoolExecutor(4, thread_name_prefix="policy")

    def row(self, behavior: Behavior, designs: Floats, block: int) -> Row:
        """The row of the next block."""
        if self._threads is None:
            return Row(designs[block], "planned")
        future = self._threads.submit(self._policy, behavior, designs.copy(), block)
        if not wait([future], self._seconds).done:
            future.cancel()
            return Row(self._planned(designs, block), "fallback", f"no answer within {self._seconds:g} s")
        try:
            given = future.result()
            return Row(self._planned(designs, block), "planned") if given is None else Row(self._checked(given, designs, block), "adapted")
        except BaseException as error:  # whatever a policy does, be it sys.exit(), the participant goes on
            return Row(self._planned(designs, block), "fallback", f"{type(error).__name__}: {error}"[:300])

    def _planned(self, designs: Floats, block: int) -> Floats:
        """The planned row; the nearest that may follow the blocks that were run, where a rule over several blocks forbids it after them."""
        row = designs[block]
        with suppress(DesignError):  # where nothing may follow them, the participant goes on all the same
            try:
                self._task.design_space.check(designs)
            except DesignError:
                row = Candidates(self._task, designs[:block]).allowed(row[None], np.random.default_rng(0))[0]
        return np.asarray(row)

    def _checked(self, given: Floats, designs: Floats, block: int) -> Floats:
        """The row, if it is one that the task allows."""
        row, space = np.asarray(given, dtype=np.float64), self._task.design_space
        if row.shape != designs[block].shape or not all(v.allows(row[i]) for i, v in enumerate(space.variables)):
            raise ValueError(f"not a row of the design: {row.tolist()}")
        follows = Candidates(self._task, designs[:block]).allowed(row[None], np.random.default_rng(0))[0] if space.constraints else row
        if not np.allclose(follows, row):
            raise ValueError(f"not a row that may follow the blocks before it: {row.tolist()}")
        changed = designs.copy()
        changed[block] = row
        self._task.screen.rehearse(self._task, row, int(self._task.lengths(changed[None])[0, block]))
        return row
