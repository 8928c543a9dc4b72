"""Stopping: when the posterior is sure enough, or the budget is used.

    models       the most probable model has a probability of `sure` or more
    parameters   the posterior standard deviation of every parameter asked about is `narrow` times its prior's or less (on the normal
                 scale, on which that is 1)

A participant stops when all that the question is about is known so well. Stopping looks at the data only, so that a right posterior
stays right: of the participants who stop at a probability of 0.95, 95 in 100 are what they seem. That is checked, not assumed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Sequence

import numpy as np
from numpy.typing import NDArray

from ..errors import StudyError
from ..models.simulation import Simulations
from ..question import Question
from ..tasks.space import Floats
from ..validation.model_calibration import ModelCalibration, calibrate_models
from ..validation.rank_calibration import RankCalibration, calibrate_ranks
from .playing import Played, ranks_of_truth
from .policy import Policy

Calibration = tuple[ModelCalibration | None, tuple[RankCalibration, ...]]
"""Of models, None if there is only one, and of the parameters of each."""

LEVEL = 0.01
"""How often right posteriors may be complained about, of models and of all parameters together."""

RANKS = 119
"""Ranks run from 0 to this."""

CHECKED = 200
"""Simulated participants on whom posteriors are checked before anybody is decided for."""

RIGHT = "no error found"
"""What is said of a posterior of which nothing is wrong."""


@dataclass(frozen=True)
class Stopping:
    """When to stop.

    Arguments:
        sure: The probability of the most probable model.
        narrow: The posterior standard deviation of parameters, as a share of the prior's.
        least: Blocks that everybody does.
    """

    sure: float = 0.95
    narrow: float = 0.25
    least: int = 1

    def __post_init__(self) -> None:
        if not 0.0 < self.sure < 1.0 or not 0.0 < self.narrow < 1.0:
            got = f"sure = {self.sure:g}, narrow = {self.narrow:g}"
            raise StudyError("Nobody can stop by this rule.", expected="numbers between 0 and 1", got=got)

    def enough(self, question: Question, probabilities: Floats, sd: Floats) -> NDArray[np.bool_]:
        """Who is known well enough, (...), from model probabilities (..., M) and the most probable model's deviations (..., P)."""
        sure = probabilities.max(-1) >= self.sure if question.about_models else np.ones(probabilities.shape[:-1], bool)
        if not question.about_parameters:
            return np.asarray(sure)
        known, best = np.zeros(sd.shape[:-1], bool), probabilities.argmax(-1)
        for m in range(len(question.models)):
            known |= (best == m) & (sd[..., question.places(m)] <= self.narrow).all(-1)
        return np.asarray(sure & known)


@dataclass(frozen=True, eq=False)
class Stopped:
    """What stopping does.

    Arguments:
        blocks: After how many blocks each participant stops, (N,).
        saved: How many blocks are saved on average, and the standard error of that.
        accuracy: How often the most probable model is the true one at that moment, for questions about models.
        models: Calibration of model probabilities at that moment.
        parameters: Calibration of the parameters of true models at that moment.
    """

    blocks: NDArray[np.intp]
    saved: tuple[float, float]
    accuracy: float | None
    models: ModelCalibration | None
    parameters: tuple[RankCalibration, ...]


def stop(played: Played, question: Question, rule: Stopping, seed: int = 0) -> Stopped:
    """What would have happened if simulated participants had stopped by a rule."""
    n, last = len(played), played.probabilities.shape[1] - 1
    enough = rule.enough(question, played.probabilities, played.sd)
    enough[:, : rule.least], enough[:, last] = False, True
    blocks = enough.argmax(1)
    saved = last - blocks
    spread = (float(saved.mean()), float(saved.std(ddof=1) / n**0.5)) if n > 1 else (float(saved.mean()), 0.0)
    accuracy = float((played.probabilities[np.arange(n), blocks].argmax(1) == played.simulations.model).mean())
    models, parameters = calibration_after(played, blocks, seed)
    return Stopped(np.asarray(blocks), spread, accuracy if question.about_models else None, models, parameters)


def calibration_after(played: Played, blocks: NDArray[np.intp], seed: int = 0) -> Calibration:
    """Are the posteriors of adaptively run participants right, after a number of blocks for each, (N,)?"""
    everybody = np.arange(len(played))
    return calibration_of(played.simulations, played.probabilities[everybody, blocks], played.ranks[everybody, blocks], seed)


def calibration_on_the_way(policy: Policy, seed: int, n: int = CHECKED) -> Calibration:
    """Are the posteriors right of simulated participants who have done the first blocks of the plan, each another number of them?"""
    rng = np.random.default_rng([seed, 92])
    people = policy.way.question.simulate(policy.task, policy.plan, n, rng)
    shares, ranks = np.zeros((n, len(people.models))), np.full((n, max(1, *(len(model.parameters) for model in people.models))), np.nan)
    for i, m in enumerate(people.model):
        belief = policy.belief(people.behavior[i], people.designs[i], int(rng.integers(1, policy.task.blocks + 1)))
        shares[i], ranks[i, : len(people.models[m].parameters)] = belief.probabilities, ranks_of_truth(belief, people, i, rng)
    return calibration_of(people, shares, ranks, seed)


def calibration_of(people: Simulations, shares: Floats, ranks: Floats, seed: int) -> Calibration:
    """Of model probabilities (N, M), and of the ranks of true parameters (N, P) among draws."""
    rng, several = np.random.default_rng([seed, 95]), shares.shape[1] > 1
    level = LEVEL / (several + sum(len(model.parameters) for model in people.models))  # so many questions are put to them
    models = calibrate_models(people.model, np.log(np.maximum(shares, 1e-12)), level, rng) if several else None
    parameters = []
    for m, model in enumerate(people.models):
        for p, name in enumerate(model.parameters):
            # a rank among weighted draws is a share; which of the 120 parts of (0, 1) it falls into is uniform if the posterior is right
            parts = np.minimum((ranks[people.model == m, p] * (RANKS + 1)).astype(np.intp), RANKS)
            if len(parts) > 1:
                parameters.append(calibrate_ranks(parts, RANKS, level, model.name, name))
    return models, tuple(parameters)


def verdicts(calibration: Calibration) -> list[str]:
    """What was found of each, in words."""
    models, parameters = calibration
    return [*([f"models: {models.verdict}"] if models else []), *(f"{part.model}.{part.parameter}: {part.verdict}" for part in parameters)]


def doubts(found: Sequence[str], where: str) -> str:
    """What is to be done if posteriors are not right by some verdicts; empty if no error was found."""
    wrong = sorted({one for one in found if not one.endswith(RIGHT)})
    if not wrong:
        return ""
    text = f"Posteriors are not right {where} ({', '.join(wrong)}), so that decisions are worse than they could be"
    return f"{text}: give what is learned more steps in [search], then `tellapart design --fresh`."
