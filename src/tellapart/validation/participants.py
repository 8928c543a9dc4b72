"""Simulated participants whose truth is known, and what an estimator says of them: what every check begins with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Mapping

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray

from ..estimators.base import Estimator
from ..information.estimate import Floats
from ..models.simulation import Simulations
from ..question import Question
from ..tasks.base import Task
from ..training import with_missing

DRAWS = 119
"""Draws from each posterior: a rank among them then takes 120 values, which many numbers divide."""

CHUNK = 512
"""Participants whose posteriors are drawn from at once."""


@dataclass(frozen=True, eq=False)
class Participants:
    """N simulated participants, and what an estimator says of them.

    Arguments:
        log_probabilities: log q(model | y), (N, M), for questions about models.
        draws: For each model: each parameter asked about to draws (N_m, L), for the participants of that model.
    """

    task: Task
    question: Question
    simulations: Simulations
    log_probabilities: Floats | None = None
    draws: tuple[Mapping[str, Floats], ...] = ()

    def __len__(self) -> int:
        return len(self.simulations)

    @property
    def failed(self) -> int:
        """How many participants could not be simulated, so that others took their places."""
        return len(self.simulations.failures)

    def among(self, chosen: NDArray[np.bool_]) -> Participants:
        """Some of the participants, (N,)."""
        model, log_q = self.simulations.model, self.log_probabilities
        draws = ({name: part[chosen[model == m]] for name, part in parameters.items()} for m, parameters in enumerate(self.draws))
        return Participants(self.task, self.question, self.simulations[chosen], None if log_q is None else log_q[chosen], tuple(draws))


def take_part(
    estimator: Estimator,
    designs: ArrayLike,
    n: int,
    rng: np.random.Generator,
    *,
    draws: int = DRAWS,
    missed: bool = False,
    parameters: Mapping[str, Mapping[str, float]] | None = None,
) -> Participants:
    """Simulate `n` participants, models being as frequent as their prior says, and ask the estimator about them.

    Arguments:
        designs: One for all (B, V), or one for each participant (n or more, B, V).
        draws: L.
        missed: Do all of them stop early, miss trials, or both, as those that an estimator is trained on?
        parameters: Model name to its true parameters; from their priors if not given.
    """
    where = np.asarray(designs, dtype=np.float64)
    simulations = estimator.question.simulate(estimator.task, where[:n] if where.ndim == 3 else where, n, rng, parameters=parameters)
    return ask(estimator, with_missing(simulations, 1.0, rng, estimator.in_order) if missed else simulations, rng, draws)


def ask(estimator: Estimator, simulations: Simulations, rng: np.random.Generator, draws: int = DRAWS) -> Participants:
    """What an estimator says of simulated participants."""
    question, inputs, theta = estimator.question, estimator.inputs(simulations.behavior, simulations.designs), []
    log_q = estimator.log_probabilities(inputs, CHUNK).log_softmax(-1).cpu().numpy() if question.about_models else None
    for m in range(len(question.models) if question.about_parameters else 0):
        priors, chosen = question.parameters(m), inputs[torch.from_numpy(simulations.model == m)]
        z = estimator.draws(chosen, m, draws, rng, CHUNK) if priors else np.zeros((len(chosen), draws, 0))
        theta.append({name: prior.from_normal(z[..., p]) for p, (name, prior) in enumerate(priors.items())})
    return Participants(estimator.task, question, simulations, log_q, tuple(theta))


def plain(values: ArrayLike) -> tuple[float, ...]:
    """An array (K,) as plain numbers, which JSON can hold."""
    return tuple(float(value) for value in np.asarray(values))
