"""Simulated people for questions of how many: what the study's network learns of each."""

from __future__ import annotations

import numpy as np

from ..estimators.base import Estimator
from ..models.simulation import simulate_models
from ..question import Question
from .evidence import network_evidence
from .frequencies import Counts, Floats
from .power_parameters import SimulatedPeople

DRAWS, AT_ONCE = 500, 64
"""Posterior draws of each simulated person, and of how many people they are made at once: of all of them it takes gigabytes."""


def simulated_evidence(estimator: Estimator, designs: Floats, rng: np.random.Generator) -> tuple[Counts, Floats, int]:
    """The true model of each of N people at designs (N, B, V), the models taking turns, and what is learned: (N,) and (N, M).

    Last comes how many could not be simulated, and have others in their place.
    """
    question = estimator.question
    simulated = simulate_models(estimator.task, question.models, designs, len(designs), rng, on_error=question.on_error)
    evidence = network_evidence(estimator, simulated.behavior, simulated.designs, 1).log_evidence
    return simulated.model, evidence, len(simulated.failures)


def simulated_parameter(estimator: Estimator, m: int, name: str, designs: Floats, rng: np.random.Generator) -> SimulatedPeople:
    """People of model number `m`, and what is learned of one of its parameters."""
    question = estimator.question
    about = tuple(f"{question.names[m]}.{one}" for one in question.parameters(m))
    alone = Question((question.models[m],), "estimate", about=about, on_error=question.on_error)
    simulated = alone.simulate(estimator.task, designs, len(designs), rng)
    names = list(question.parameters(m))
    first = names.index(name)
    inputs = estimator.inputs(simulated.behavior, simulated.designs)
    draws = estimator.draws(inputs, m, DRAWS, np.random.default_rng(0), at_once=AT_ONCE)  # of this model alone
    order = [first, *(p for p in range(len(names)) if p != first)]
    truth = alone.theta(simulated)[:, first].astype(np.float64)
    asked = f"{question.names[m]}.{name}"
    return SimulatedPeople(asked, question.parameters(m)[name], truth, draws[..., order], len(simulated.failures))
