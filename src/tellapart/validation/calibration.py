"""Are probabilities as good as they say? Simulation-based calibration, with a verdict in words.

Questions are put to model probabilities (`model_calibration.py`) and to the posteriors of parameters (`rank_calibration.py`): each
parameter by itself; all parameters of a model together; and in the direction in which plain statistics of the data, with weights learned
from other participants, would move the posterior: to one that leaves nothing out, that direction is like any other.

The level is divided among all questions, so that the verdict as a whole complains wrongly at most as often as stated. What a
verdict cannot say: how much information is missed. An estimator that has learned nothing and always states the prior is calibrated
to all questions but the last, which sees no more than plain statistics do.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..information.estimate import Floats
from .model_calibration import ModelCalibration, calibrate_models
from .participants import Participants
from .rank_calibration import RankCalibration, calibrate_ranks, distances, ranks_among
from .statistics import plain_statistics

LEAST = 8
"""With fewer participants of a model, nothing is said of its parameters."""

ROUND = 50
"""Participants of a model are asked about in such numbers: a band for each number of them takes a second to compute."""

FALSE_ALARM = 1e-3
"""How often the verdict on a perfect estimator is allowed to be a complaint."""


@dataclass(frozen=True)
class Calibration:
    """Calibration of all that the estimator says.

    Arguments:
        n: Simulated participants.
        false_alarm: How often a perfect estimator would be complained about.
        models: About models, for questions about models.
        parameters: About parameters, for questions about parameters.
    """

    n: int
    false_alarm: float
    models: ModelCalibration | None
    parameters: tuple[RankCalibration, ...]

    @property
    def sound(self) -> bool:
        """Is there nothing to complain about?"""
        return not self.complaints

    @property
    def complaints(self) -> tuple[str, ...]:
        """What is wrong, in words."""
        verdicts = [("model probabilities", self.models.verdict)] if self.models else []
        verdicts += [(_subject(part), part.verdict) for part in self.parameters]
        return tuple(_complaint(subject, verdict) for subject, verdict in verdicts if verdict != "no error found")


def calibration(participants: Participants, rng: np.random.Generator, false_alarm: float = FALSE_ALARM) -> Calibration:
    """Calibration of everything that was said of participants, at a level for all questions together.

    Arguments:
        rng: Breaks ties between a true value and draws, and draws models from q.
    """
    statistics = plain_statistics(participants.simulations.behavior, participants.task.fields)
    log_q, model = participants.log_probabilities, participants.simulations.model
    questions = (log_q is not None) + sum(len(draws) + (len(draws) > 1) + bool(draws) for draws in participants.draws)
    level, models = false_alarm / questions, None
    if log_q is not None:
        foretold = foretell(statistics, np.eye(log_q.shape[1])[model] - np.exp(log_q))
        models = calibrate_models(model, log_q, level, rng, foretold)
    parameters = [part for m in range(len(participants.draws)) for part in _parameters(participants, m, statistics, level, rng)]
    return Calibration(len(participants), false_alarm, models, tuple(parameters))


def foretell(statistics: Floats, residuals: Floats) -> Floats:
    """What an estimator got wrong (N, K), as plain statistics (N, F) foretell it of the last half, learned from the first half, (n, K)."""
    half = len(statistics) // 2
    scale = statistics[:half].std(0)
    columns = (statistics - statistics[:half].mean(0)) / np.where(scale > 1e-9, scale, np.inf)
    learned, count = columns[:half], columns.shape[1]
    penalty = (count + 0.05 * half) * np.eye(count)
    return np.asarray(columns[half:] @ np.linalg.solve(learned.T @ learned + penalty, learned.T @ residuals[:half]))


def _parameters(participants: Participants, m: int, statistics: Floats, level: float, rng: np.random.Generator) -> list[RankCalibration]:
    """Each parameter of model `m` that was asked about, all of them together, and the direction of plain statistics."""
    question, drawn, everybody = participants.question, participants.draws[m], participants.simulations.model == m
    if not drawn or everybody.sum() < LEAST:
        return []
    model, true = question.names[m], participants.simulations.truth(m)
    n, count = next(iter(drawn.values())).shape
    n -= n % ROUND if n > 2 * ROUND else 0
    true, drawn = ({name: values[:n] for name, values in part.items()} for part in (true, drawn))
    parts = [calibrate_ranks(ranks_among(true[name], draws, rng), count, level, model, name) for name, draws in drawn.items()]
    priors = question.parameters(m)
    truth, draws = (np.stack([prior.to_normal(part[name]) for name, prior in priors.items()], axis=-1) for part in (true, drawn))
    if len(drawn) > 1:
        parts.append(calibrate_ranks(ranks_among(*distances(truth, draws), rng), count, level, model, by="distance"))
    direction = foretell(statistics[everybody][:n], truth - draws.mean(1))
    half = len(direction)
    along = (truth[-half:] * direction).sum(-1), (draws[-half:] * direction[:, None]).sum(-1)
    return [*parts, calibrate_ranks(ranks_among(*along, rng), count, level, model, by="statistics")]


def _complaint(subject: str, verdict: str) -> str:
    plural = subject.endswith("probabilities")
    if verdict == "incomplete":
        return f"{subject} {'leave' if plural else 'leaves'} out what plain statistics of the data tell"
    return f"{subject} {'are' if plural else 'is'} {verdict}"


def _subject(part: RankCalibration) -> str:
    whose = {"value": f"the posterior of {part.model}.{part.parameter}", "distance": f"the joint posterior of {part.model}"}
    return whose.get(part.by, f"the posterior of {part.model}")
