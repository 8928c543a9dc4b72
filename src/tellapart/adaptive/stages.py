"""Two stages: first which model, then the parameters of the winning one.

The protocol of Valentin et al. (2024): blocks tell models apart until one of them is probable enough, or the blocks of the first stage
are used; from then on they are chosen for the parameters of the most probable model, as if it were the only one.

References:
    Valentin, Kleinegesse, Bramley, Seriès, Gutmann & Lucas (2024), Designing optimal behavioral experiments using machine learning.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ..errors import StudyError
from ..information.estimate import Difference
from ..models.simulation import Simulations, stop_unless_skipped
from ..progress import Progress, unheard
from ..question import Question, everything, which_model
from ..tasks.base import Task
from ..tasks.space import Floats
from .belief import Belief
from .candidates import Candidates
from .looking import finalists, winner
from .playing import Played, play
from .policy import Policy, Way


@dataclass(frozen=True)
class TwoStages:
    """What is asked when.

    Arguments:
        question: The study's, about two models or more.
        blocks: Blocks of the first stage, at most.
        sure: The first stage is over when a model is as probable as this.
        of: Blocks of the whole experiment.
    """

    question: Question
    blocks: int
    sure: float
    of: int

    def __post_init__(self) -> None:
        if len(self.question.models) < 2:
            fix = "add a [[models]] section; for one model the goal 'estimate' is the second stage"
            raise StudyError("The first of two stages tells models apart.", expected="two models or more", got="one", fix=fix)
        if not 0 < self.blocks < self.of:
            expected = f"1 to {self.of - 1} of the {self.of} blocks" if self.of > 1 else "a task with two blocks or more"
            what, fix = "The first stage leaves no block for the second.", "choose another --stages"
            raise StudyError(what, expected=expected, got=self.blocks, fix=fix)
        if not 0.0 < self.sure < 1.0:
            what, expected = "The first stage is over when a model is as probable as this.", "a number between 0 and 1"
            raise StudyError(what, expected=expected, got=f"{self.sure:g}", fix="choose another --sure")

    def __call__(self, belief: Belief, blocks: int) -> tuple[Belief, Question]:
        """The belief as far as it matters, and what is asked."""
        if blocks < self.blocks and belief.probabilities.max() < self.sure:
            return belief, which_model(self.question)
        winner = np.eye(len(belief.probabilities))[belief.probabilities.argmax()]
        return replace(belief, probabilities=winner), everything(self.question)

    def ends(self, probabilities: Floats) -> NDArray[np.intp]:
        """After how many blocks the first stage of each participant is over, (N,), from model probabilities (N, B + 1, M)."""
        over = probabilities[:, : self.blocks + 1].max(-1) >= self.sure
        over[:, self.blocks] = True
        return np.asarray(over.argmax(1))


@dataclass(frozen=True, eq=False)
class StagesWorth:
    """What the second stage gains by being chosen for each participant.

    Arguments:
        adaptive: Participants whose second stage was chosen from what they did.
        fixed: The same participants with one second stage for each winning model.
        right: How often the winning model was the true one.
        gain: Information about the parameters of the true model, of those whose winner was right in both: adaptive minus fixed, paired.
            None if they are fewer than two, from whom no error can be told.
        people: How many those are.
        dropped: How many participants are left out of both, since they could not be simulated at what they were given.
    """

    adaptive: Played
    fixed: Played
    right: float
    gain: Difference | None
    people: int = 0
    dropped: int = 0


def second_stage(way: Way, plan: Floats, m: int, blocks: int) -> Floats:
    """What the second stage of all participants of a model repeats: the row that is best after the prior alone, (V,)."""
    belief = way.belief(way.task.nothing(1), plan, 0)
    belief = replace(belief, probabilities=np.eye(len(belief.probabilities))[m])
    candidates = Candidates(way.task, np.ascontiguousarray(plan[:blocks]), way.symmetry.columns)
    rng = np.random.default_rng([way.seed, 87, m])
    prospects = way.prospects(belief, way.task.nothing(1), candidates, everything(way.question))
    return winner(prospects, finalists(prospects, candidates, way.effort, rng))


def repeated(task: Task, run: Floats, row: Floats) -> Floats:
    """Blocks that were run (b, V), then a row again and again, as nearly as rules over several blocks let it follow them, (B, V)."""
    design = np.ascontiguousarray(run)
    while len(design) < task.blocks:
        allowed = Candidates(task, design).allowed(row[None], np.random.default_rng(0))
        design = np.concatenate([design, allowed])
    return design


def stages_worth(policy: Policy, rule: TwoStages, people: Simulations, seed: int, progress: Progress = unheard) -> StagesWorth:
    """Play both second stages with the same participants."""
    staged = replace(policy, rule=rule)
    adaptive = play(staged, people, np.random.default_rng([seed, 96]), progress=progress)
    ends = rule.ends(adaptive.probabilities)
    winners = adaptive.probabilities[np.arange(len(people)), ends].argmax(1)
    rows, given = [second_stage(policy.way, policy.plan, m, rule.blocks) for m in range(len(people.models))], adaptive.simulations.designs
    designs = np.stack([repeated(policy.task, given[i, : ends[i]], rows[m]) for i, m in enumerate(winners)])
    fixed = play(policy, people, np.random.default_rng([seed, 96]), designs=designs, progress=progress)
    failed = {**fixed.failures, **adaptive.failures}
    stop_unless_skipped(list(failed.values()), len(people), policy.way.question.on_error)
    winners = np.delete(winners, list(failed))
    adaptive, fixed = adaptive.without(failed), fixed.without(failed)
    right = winners == adaptive.simulations.model
    change = policy.way.about_parameters(adaptive.simulations) - policy.way.about_parameters(fixed.simulations)
    change = change[right]
    gain = Difference(float(change.mean()), float(change.std(ddof=1) / len(change) ** 0.5)) if len(change) > 1 else None
    return StagesWorth(adaptive, fixed, float(right.mean()), gain, len(change), len(failed))
