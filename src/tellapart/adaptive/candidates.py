"""Which blocks could come next: over the whole space, then around the best, given the blocks that were run.

Rules that hold over several blocks (a total, an order) must be kept with the blocks that were run as they were. They are brought about
by turns: the rules are applied to a whole design, the blocks that must not change are put back, and so on, until nothing moves. A
candidate stays as it is if any blocks after it can be found that let it; else it is mended in the same way; if that fails it is left out.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Iterator

import numpy as np
from numpy.typing import NDArray

from ..errors import DesignError
from ..tasks.base import Task
from ..tasks.sampling import near, sample, spread
from ..tasks.scaling import from_unit, to_unit
from ..tasks.space import DesignSpace, Floats
from ..tasks.text import format_design

TURNS = 400
"""How often rules are applied in turn with the blocks that must not change, at most."""

STEPS = (0.3, 1.2)
"""How far a row goes along the difference of two others, as shares of it."""

KEPT, ENDS = 0.4, 0.1
"""Shares of the values of a row that are left as they are, and that go to an end of their range, when looking around."""

CLOSE, NEAR, BEYOND = 1e-6, 1e-4, 1e-3
"""As shares of a variable's range: what is no move, and how far from obeying a rule a candidate and the blocks that were run may be."""


@dataclass(frozen=True, eq=False)
class Candidates:
    """Blocks that can come next in one experiment.

    Arguments:
        run: The blocks that were run, (b, V), in the order of play.
        alike: Rows that differ only in the order of their values are one to all models: they are sorted.
    """

    task: Task
    run: Floats
    alike: bool = False

    @property
    def block(self) -> int:
        """The number of the next block, b."""
        return len(self.run)

    @property
    def space(self) -> DesignSpace:
        return self.task.design_space

    @property
    def _row(self) -> DesignSpace:
        """The space of one block, without rules."""
        return replace(self.space, blocks=1, constraints=())

    def everywhere(self, n: int, rng: np.random.Generator) -> Floats:
        """About `n` rows over all of the space, edges and habits included, (C, V)."""
        habits = self.task.baseline(max(1, n // 8), rng)
        picked = habits[np.arange(len(habits)), rng.integers(0, habits.shape[1], len(habits))]
        return self.allowed(np.concatenate([spread(self._row, n - len(habits), rng)[:, 0], picked]), rng)

    def around(self, rows: Floats, width: float, rng: np.random.Generator) -> Floats:
        """A row near each of `rows` (n, V), some of its values left as they are, now and then one at an end; those that are allowed."""
        moved = near(self._row, rows[:, None], width, rng)[:, 0]
        moved = np.where(rng.random(moved.shape) < ENDS, np.where(rng.random(moved.shape) < 0.5, self.space.low, self.space.high), moved)
        return self.allowed(np.where(rng.random(moved.shape) < KEPT, rows, moved), rng)

    def along(self, rows: Floats, each: int, rng: np.random.Generator) -> Floats:
        """`each` rows for each of `rows` (n, V), which lie from it as two others of them lie from each other; those that are allowed.

        Where the rows that tell much lie along a ridge (people who are sure of most answers), the rows of a look around lie beside it, and
        the differences of the best point along it (differential evolution: Storn & Price 1997). Categories stay as they are.
        """
        unit = to_unit(self._row, rows[:, None])[:, 0]
        one, other = rng.integers(0, len(rows), (2, len(rows) * each))
        step = rng.uniform(*STEPS, (len(rows) * each, 1)) * (unit[one] - unit[other])
        step[:, [bool(variable.categories) for variable in self.space.variables]] = 0.0
        return self.allowed(from_unit(self._row, (np.repeat(unit, each, axis=0) + step)[:, None])[:, 0], rng)

    def again(self, most: int) -> Floats:
        """The last rows that were run, (at most `most`, V): what told much a moment ago is not far from what does now."""
        rows = np.unique(self.run[-most:], axis=0) if most else self.run[:0]
        return self.allowed(rows, np.random.default_rng(0))

    def allowed(self, rows: Floats, rng: np.random.Generator) -> Floats:
        """The rows (C, V), mended where a rule says so; those that no rule lets follow are left out."""
        space, b = self.space, self.block
        if not len(rows):
            return rows
        if not space.constraints:
            rows = space.repair(rows)
            return np.sort(rows, axis=-1) if self.alike else rows
        rows = np.array(replace(space, constraints=()).repair(rows))
        able = np.zeros(len(rows), bool)
        for held in (b + 1, b):  # as it is; then mended
            for start in self._beginnings(rows, held, rng):
                left = np.flatnonzero(~able)
                mended, able[left] = self._by_turns(start[left], held)
                rows[left] = np.where((able[left] & (held == b))[:, None], mended[:, b], rows[left])
        rows = rows[able]
        if not len(rows):
            rules = "; ".join(constraint.words for constraint in space.constraints)
            got = format_design(replace(space, blocks=b), self.run) if b else "nothing"
            raise DesignError("After the blocks that were run no block is allowed.", expected=rules, got=got, fix="see what was run")
        return np.sort(rows, axis=-1) if self.alike else rows

    def _beginnings(self, rows: Floats, held: int, rng: np.random.Generator) -> Iterator[Floats]:
        """Designs (C, B, V) with the blocks that were run and the rows; after the first `held` blocks anything, the most, the least.

        Where the rows themselves are to be mended, first in the variables that the rules change, then in all.
        """
        anything = sample(replace(self.space, constraints=()), len(rows), rng)
        anything[:, : self.block], anything[:, self.block] = self.run, rows
        yield anything
        changed = (self.space.repair(anything.copy()) != anything).any((0, 1))
        for which in (changed, np.ones_like(changed)) if held == self.block else (np.zeros_like(changed),):
            for end in (self.space.high, self.space.low):
                designs = anything.copy()
                designs[:, held:] = end
                designs[:, self.block] = np.where(which, end, rows)
                yield designs

    def _by_turns(self, designs: Floats, held: int) -> tuple[Floats, NDArray[np.bool_]]:
        """Designs (C, B, V) that obey the rules, and which of them do with the first `held` blocks as they were, (C,)."""
        kept, extent = designs[:, :held].copy(), self.space.high - self.space.low
        for _ in range(TURNS):
            mended = self.space.repair(designs.copy())
            moved = np.abs((mended[:, :held] - kept) / extent).max((1, 2), initial=0.0)
            again = mended.copy()
            again[:, :held] = kept
            change = np.abs((again - designs) / extent).max((1, 2), initial=0.0)
            designs = again
            if ((moved < CLOSE) | (change < CLOSE)).all():
                break
        return mended, moved < (BEYOND if held == self.block else NEAR)

    def designs(self, rows: Floats) -> Floats:
        """Designs with the blocks that were run and each of the rows, (C, B, V); what comes after is not looked at."""
        designs = np.repeat(rows[:, None], self.space.blocks, axis=1)
        designs[:, : self.block] = self.run
        return designs
