"""The policy: what gives the next block from what a participant did so far.

    policy.decide(behavior, designs)          for each of N participants
    policy.row(behavior, designs, block)      for one of them, as a server asks

A decision looks at the blocks that were run and at nothing after them. It is a function of the policy's networks, its seed and the data: it
does not depend on who else is decided for, nor on the number of cores.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..behavior import Behavior
from ..errors import DesignError
from ..progress import Progress, unheard
from ..question import Question
from ..tasks.base import Task
from ..tasks.space import Floats
from ..threads import available_cores
from ..validation.trust import whole
from ..workers import one_thread
from .belief import Belief
from .by_answers import ByAnswers
from .candidates import Candidates
from .continuations import ByContinuations
from .decisions import Decision
from .looking import Prospects, best_row, chosen_row

Way = ByAnswers | ByContinuations
"""A way to know what next blocks would tell."""

Rule = Callable[[Belief, int], tuple[Belief, Question]]
"""What is asked after a number of blocks, and the belief as far as it matters for that; see `stages.py`."""


@dataclass(frozen=True, eq=False)
class Policy:
    """Gives next blocks.

    Arguments:
        way: How it is known what they would tell.
        plan: The fixed design to compare with, (B, V).
        rule: What is asked when, where that is not the study's question throughout.
    """

    way: Way
    plan: Floats
    rule: Rule | None = None

    @property
    def task(self) -> Task:
        return self.way.task

    def decide(
        self, behavior: Behavior, designs: ArrayLike | None = None, block: ArrayLike | None = None, progress: Progress = unheard
    ) -> list[Decision | None]:
        """The next block of each participant; None for those who have no block left.

        Arguments:
            behavior: What they did, in the order of play.
            designs: What they were run at and are planned to be run at next, (B, V) or (N, B, V); the plan if not given.
            block: Which block comes next, for all or for each (N,); if not given, the one after the last that was recorded.
        """
        everybody = np.broadcast_to(np.asarray(self.plan if designs is None else designs, np.float64), (len(behavior), *self.plan.shape))
        people = whole(behavior, self.task)
        nexts = blocks_run(behavior) if block is None else np.broadcast_to(np.asarray(block, np.intp), len(behavior))
        with one_thread(), ThreadPoolExecutor(available_cores()) as pool:
            decisions = []
            for decision in pool.map(lambda i: self._one(people[i], everybody[i], int(nexts[i])), range(len(behavior))):
                decisions.append(decision)
                progress(len(decisions), len(behavior))
            return decisions

    def row(self, behavior: Behavior, designs: Floats, block: int) -> Floats:
        """The row of the next block, (V,), of one participant (1, B, T), after the first blocks of designs (B, V)."""
        with one_thread():
            _, prospects, candidates, planned, rng = self._looking(whole(behavior, self.task), designs, block)
            return np.array(chosen_row(prospects, candidates, planned, self.way.effort, rng))

    def belief(self, behavior: Behavior, designs: Floats, blocks: int) -> Belief:
        """What is known of one participant after the first blocks."""
        with one_thread():  # what is looked up for it serves decisions too
            return self.way.belief(whole(behavior, self.task).until(blocks), designs, blocks)

    def _one(self, behavior: Behavior, designs: Floats, block: int) -> Decision | None:
        if block >= self.task.blocks:
            return None
        try:
            known, prospects, candidates, planned, rng = self._looking(behavior, designs, block)
        except DesignError as error:
            where, fix = f"participant {behavior.participants[0]}", "mend what the data say that they were run at, or leave them out"
            raise DesignError(error.what, where=where, expected=error.expected, got=error.got, fix=fix) from None
        best = best_row(prospects, candidates, planned, self.way.effort, rng)
        row, shares = tuple(float(value) for value in best.row), tuple(float(share) for share in known.probabilities)
        return Decision(str(behavior.participants[0]), block, row, best.gain, best.planned, best.over_planned, shares)

    def _looking(
        self, behavior: Behavior, designs: Floats, block: int
    ) -> tuple[Belief, Prospects, Candidates, Floats, np.random.Generator]:
        """What a decision for one participant rests on: the belief, what blocks would tell, those that may be, and the planned one."""
        past = behavior.until(block)
        candidates = Candidates(self.task, np.ascontiguousarray(designs[:block]), self.way.symmetry.columns)
        known = self.way.belief(past, designs, block)
        belief, question = (known, self.way.question) if self.rule is None else self.rule(known, block)
        rng = np.random.default_rng([self.way.seed, 86, block])
        planned = candidates.allowed(designs[None, block], rng)[0]
        return known, self.way.prospects(belief, past, candidates, question), candidates, planned, rng


def blocks_run(behavior: Behavior) -> NDArray[np.intp]:
    """How many blocks each participant has begun, in the order of play, (N,): those up to the last in which something was recorded."""
    begun = behavior.mask.any(2)
    return np.asarray(np.where(begun, np.arange(1, begun.shape[1] + 1), 0).max(1, initial=0))
