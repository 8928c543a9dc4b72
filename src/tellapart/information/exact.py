"""The exact reference: information and posteriors by likelihood.

With p(y) = sum over m of p(m) p(y | m) and p(y | m) the evidence, v the model, its parameters of interest theta_A, or both,

    discriminate   I(m; y)          = E log p(y | m) / p(y)
    estimate       I(theta_A; y)    = E log p(y | theta_A) / p(y)          (one model)
    both           I(m, theta_A; y) = E log p(y | m, theta_A) / p(y)

where the expectations run over simulated (m, theta, y), and nuisance parameters are integrated out of p(y | m, theta_A). Only
simulation noise is left, and it is reported. Models that do not know their own evidence (`IntegratedModel`) have it sampled
(`between.py`): what comes out is called exact only if the two bounds agree to within a fraction of the noise.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from ..behavior import Behavior
from ..errors import StudyError
from ..models.base import IntegratedModel
from ..models.evidence import log_evidence, require_likelihoods
from ..models.logsumexp import logsumexp
from ..models.simulation import Simulations
from ..progress import Progress
from ..question import Asked, Question
from ..tasks.base import Task
from .between import Between, Proposal, information_between, mean_of_possible
from .estimate import Floats, InformationEstimate, Pointwise

CHUNK, SAMPLED = 5000, 100
"""Participants at once, where models know their evidence and where it is sampled."""


def exact_information(
    study: Asked, design: ArrayLike, n: int, rng: np.random.Generator, progress: Progress | None = None
) -> InformationEstimate:
    """The exact information of a design of a study, from `n` simulated participants; see `exact_pointwise`."""
    return exact_pointwise(study.task, study.question, design, n, rng, progress).estimate()


def exact_pointwise(
    task: Task,
    question: Question,
    design: ArrayLike,
    n: int,
    rng: np.random.Generator,
    progress: Progress | None = None,
    draws: int | None = None,
) -> Pointwise:
    """What each of `n` simulated participants contributes to the exact information of a design.

    Arguments:
        design: One for all (B, V), or one for each participant (n, B, V), over which the information is then averaged.
        rng: The only source of randomness.
        progress: Told how many participants are done.
        draws: How many, where integrals have to be sampled; see `information_between`.
    """
    require_likelihoods(question.models)
    least = 2 * int(np.ceil(1 / min(question.prior)))
    if isinstance(n, bool) or n != int(n) or n < least:
        raise StudyError("Too few participants to simulate.", expected=f"a whole number, {least} or more", got=repr(n))
    simulations = question.simulate(task, task.design_space.check_many(design, int(n)), int(n), rng)
    bounds = by_likelihood(task, question, simulations, rng, progress=progress, draws=draws)
    if not bounds.agree:  # the upper bound, since that is what it is
        return bounds.upper
    return replace(bounds.upper, values=(bounds.lower.values + bounds.upper.values) / 2, kind="exact")


def by_likelihood(
    task: Task,
    question: Question,
    simulations: Simulations,
    rng: np.random.Generator,
    proposal: Proposal | None = None,
    progress: Progress | None = None,
    draws: int | None = None,
) -> Between:
    """What simulated participants contribute to information by likelihood: exactly, or between two bounds.

    Arguments:
        proposal: To draw parameters from where integrals have to be sampled; a first look if not given.
        draws: How many draws; see `information_between`.
    """
    integrated = all(isinstance(model, IntegratedModel) for model in question.models)
    parts, size = [], CHUNK if integrated else SAMPLED
    for start in range(0, len(simulations), size):
        part = simulations[start : start + size]
        parts.append(_integrated(task, question, part) if integrated else information_between(task, question, part, rng, proposal, draws))
        if progress:
            progress(start + len(part), len(simulations))
    return Between.concatenate(parts, len(simulations.failures))


def _integrated(task: Task, question: Question, part: Simulations) -> Between:
    """What participants contribute if every model knows its evidence: both bounds in one."""
    evidence = log_evidences(task, question, part.behavior, part.designs)
    correct = log_posterior(question, evidence).argmax(1) == part.model if question.about_models else None
    luck = None
    if not question.about_parameters:
        luck = evidence[np.arange(len(part)), part.model] - mean_of_possible(evidence + question.log_prior, evidence, 1)
    points = Pointwise(exact_values(task, question, part, evidence), part.model, question.prior, "exact", None, correct, luck=luck)
    return Between(points, points, evidence)


def model_probabilities(task: Task, question: Question, behavior: Behavior, design: ArrayLike) -> Floats:
    """p(m | y), (N, M). NaN for behavior that none of the models can produce."""
    designs = task.design_space.check_many(design, len(behavior))
    return np.asarray(np.exp(log_posterior(question, log_evidences(task, question, behavior, designs))))


def log_evidences(task: Task, question: Question, behavior: Behavior, designs: Floats) -> Floats:
    """log p(y | m) of each participant under each model, (N, M)."""
    return np.stack([log_evidence(model, behavior, designs, task) for model in require_likelihoods(question.models)], axis=1)


def log_posterior(question: Question, evidence: Floats) -> Floats:
    """log p(m | y) from log p(y | m), both (N, M); NaN where no model can produce the behavior."""
    joint = evidence + question.log_prior
    with np.errstate(invalid="ignore"):
        return np.asarray(joint - logsumexp(joint, axis=1, keepdims=True))


def exact_values(task: Task, question: Question, simulations: Simulations, evidence: Floats) -> Floats:
    """log p(y | v) / p(y) of each simulated participant, (N,), from log p(y | m), (N, M)."""
    marginal = logsumexp(evidence + question.log_prior, axis=1)
    given = evidence[np.arange(len(simulations)), simulations.model].copy()
    for m, model in enumerate(require_likelihoods(question.models)):
        names, part = question.parameters(m), simulations.of(m)
        if names and len(part):
            truth = {name: values for name, values in part.truth(m).items() if name in names}
            given[simulations.model == m] = log_evidence(model, part.behavior, part.designs, task, truth)
    return np.asarray(given - marginal)
