"""The next block where its answer is one of a few: by the learned law of answers."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from ..behavior import Behavior
from ..models.simulation import Simulations
from ..question import Question, everything, which_model
from ..tasks.base import Task
from ..tasks.space import Floats, Symmetry
from .answers import Answers
from .belief import Belief, Said, belief_after, value_of
from .candidates import Candidates
from .gain import Gains, Outlook
from .looking import Effort
from .table import Table

EVERYWHERE, SOME = 384, 256
"""Rows of the first look; draws of each model while looking around."""


@dataclass(frozen=True, eq=False)
class ByAnswers:
    """Decides by the learned law of answers."""

    answers: Answers
    question: Question
    seed: int
    effort: Effort = field(default=Effort())
    _tables: dict[int, Table] = field(default_factory=dict)

    @property
    def task(self) -> Task:
        return self.answers.task

    @property
    def symmetry(self) -> Symmetry:
        return self.answers.symmetry

    def with_seed(self, seed: int) -> ByAnswers:
        """The same with other random numbers."""
        return replace(self, seed=seed, _tables={})

    def belief(self, behavior: Behavior, designs: Floats, blocks: int) -> Belief:
        """What is known of one participant (1, B, T) after the first blocks of a design (B, V)."""
        return belief_after(self.answers, self._said(behavior, designs, blocks), np.random.default_rng([self.seed, 81, blocks]))

    def prospects(self, belief: Belief, behavior: Behavior, candidates: Candidates, question: Question) -> _Prospects:
        """What next blocks are expected to tell about a question."""
        return _Prospects(self, belief, candidates, question)

    def values(self, simulations: Simulations, question: Question) -> Floats:
        """log p(v | y) / p(v) of simulated participants by the learned law, (N,)."""
        values, theta = np.zeros(len(simulations)), everything(question).theta(simulations).astype(np.float64)
        for i, m in enumerate(simulations.model):
            truth = theta[i, : len(simulations.models[m].parameters)]
            said = self._said(simulations.behavior[i], simulations.designs[i], self.task.blocks)
            rng = np.random.default_rng([self.seed, 81, self.task.blocks])
            values[i] = value_of(self.answers, said, int(m), truth, question.places(m), rng)
        return values

    def about_parameters(self, simulations: Simulations) -> Floats:
        """log p(theta | m, y) / p(theta) of simulated participants by the learned law, (N,): about both, less about the model."""
        return self.values(simulations, everything(self.question)) - self.values(simulations, which_model(self.question))

    def _said(self, behavior: Behavior, designs: Floats, blocks: int) -> Said:
        """The answers of one participant; a block of which nothing was recorded says nothing."""
        seen = self.answers.codes.seen(behavior)[0, :blocks]
        told = np.flatnonzero((seen != 1.0).any(-1))
        return Said(np.ascontiguousarray(designs[told]), told, seen[told])

    def table(self, block: int) -> Table:
        """The first look at a block; one for all blocks that can change places."""
        number = block if self.answers.ordered else 0
        if number not in self._tables:
            beginning = Candidates(self.task, np.zeros((0, len(self.task.design_space.variables))), self.symmetry.columns)
            rows = beginning.everywhere(EVERYWHERE, np.random.default_rng([self.seed, 82]))
            self._tables[number] = Table(self.answers, rows, number)
        return self._tables[number]


class _Prospects:
    """What next blocks are expected to tell of one participant."""

    def __init__(self, by: ByAnswers, belief: Belief, candidates: Candidates, question: Question) -> None:
        self._by, self._belief, self._candidates, self._question = by, belief, candidates, question
        self._some = Outlook(by.answers, belief.some(SOME), question)
        self._all = Outlook(by.answers, belief.some(4 * SOME), question)

    def everywhere(self) -> tuple[Floats, Floats]:
        by, rng = self._by, np.random.default_rng([self._by.seed, 83, self._candidates.block])
        table = by.table(self._candidates.block)
        nuisance = any(0 < len(self._question.parameters(m)) < len(model.parameters) for m, model in enumerate(self._question.models))
        rows = table.rows if not by.task.design_space.constraints else self._candidates.allowed(table.rows, rng)
        if table.serves(self._belief) and not nuisance and np.array_equal(rows, table.rows):
            return rows, table.gains(self._belief, self._question)
        glance = self._some if nuisance else Outlook(by.answers, self._belief.some(64), self._question)
        return rows, np.concatenate([glance.gains(part, self._candidates.block).nats for part in np.array_split(rows, 8)])

    def gains(self, rows: Floats, last: bool) -> Gains:
        return (self._all if last else self._some).gains(rows, self._candidates.block)

    def afresh(self, rows: Floats) -> Gains:
        return self.gains(rows, True)  # sums over all answers: no luck is in them
