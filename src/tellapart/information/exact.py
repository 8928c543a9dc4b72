"""The exact reference: information and posteriors by likelihood.

With p(m) = 1 / M and p(y) = mean over models of the evidence p(y | m),

    discriminate   I(m; y)        = E log p(m | y) / p(m)          = E log p(y | m) / p(y)
    estimate       I(theta; y)    = E log p(theta | y) / p(theta)  = E log p(y | theta) / p(y)      (one model)
    both           I(m, theta; y) = E log p(y | m, theta) / p(y)   = I(m; y) + mean over models of I(theta; y | m)

where the expectations run over simulated (m, theta, y). Only simulation noise is left, and it is reported.
"""

from __future__ import annotations

from typing import Callable, Sequence, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import logsumexp

from ..behavior import Behavior
from ..errors import ModelError, StudyError, nearest
from ..models.base import HasLikelihood, Model
from ..models.simulation import Simulations, simulate_models
from ..tasks.base import Task
from .estimate import InformationEstimate

Floats = NDArray[np.float64]
Progress = Callable[[int, int], None]
"""Called with the participants done and the participants in all."""

GOALS = ("discriminate", "estimate", "both")
_CHUNK = 5000


def exact_information(
    task: Task,
    models: Sequence[Model],
    goal: str,
    design: ArrayLike,
    n: int,
    rng: np.random.Generator,
    progress: Progress | None = None,
) -> InformationEstimate:
    """The exact information of a design, from `n` simulated participants.

    Arguments:
        models: M models under a uniform prior; each must have a likelihood.
        goal: "discriminate", "estimate" (one model) or "both".
        design: One for all (B, V), or one a participant (n, B, V), over which the information is then averaged.
        n: How many participants to simulate, the models taking turns.
        rng: The only source of randomness.
        progress: Told how many participants are done.
    """
    check_goal(goal, models)
    require_likelihood(models)
    if isinstance(n, bool) or n != int(n) or n < 2 * len(models):
        raise StudyError("Too few participants to simulate.", expected=f"a whole number, {2 * len(models)} or more", got=repr(n))
    simulations = simulate_models(task, models, design, int(n), rng)
    designs = np.asarray(design)
    values, correct = [], []
    for start in range(0, n, _CHUNK):
        which = slice(start, start + _CHUNK)
        part, own = _part(simulations, which), designs[which] if designs.ndim == 3 else designs
        evidence = log_evidences(task, models, part.behavior, own)
        values.append(_pointwise(task, part, goal, own, evidence))
        correct.append(evidence.argmax(axis=1) == part.model)
        if progress is not None:
            progress(min(start + _CHUNK, n), n)
    told_apart = None if goal == "estimate" else np.concatenate(correct)
    return InformationEstimate.from_samples(np.concatenate(values), simulations.model, "exact", told_apart)


def model_probabilities(task: Task, models: Sequence[Model], behavior: Behavior, design: ArrayLike) -> Floats:
    """p(m | y) under a uniform prior over models, (N, M). NaN for behavior that none of the models can produce."""
    require_likelihood(models)
    return np.asarray(np.exp(log_posterior(log_evidences(task, models, behavior, design))))


def log_evidences(task: Task, models: Sequence[Model], behavior: Behavior, design: ArrayLike) -> Floats:
    """log p(y | m) of each participant under each model, (N, M)."""
    return np.stack([cast(HasLikelihood, model).log_evidence(behavior, design, task) for model in models], axis=1)


def log_posterior(evidence: Floats) -> Floats:
    """log p(m | y) from log p(y | m), both (N, M); NaN where no model can produce the behavior."""
    with np.errstate(invalid="ignore"):
        return np.asarray(evidence - logsumexp(evidence, axis=1, keepdims=True))


def _pointwise(task: Task, part: Simulations, goal: str, design: ArrayLike, evidence: Floats) -> Floats:
    """log p(y | v) / p(y) of each simulated participant, (N,)."""
    marginal = logsumexp(evidence, axis=1) - np.log(evidence.shape[1])
    if goal == "discriminate":
        return np.asarray(evidence[np.arange(len(part)), part.model] - marginal)
    likelihood = np.empty(len(part))
    designs = np.asarray(design)
    for m, model in enumerate(part.models):
        parameters, behavior = part.of(m)
        own = designs[part.model == m] if designs.ndim == 3 else designs
        likelihood[part.model == m] = cast(HasLikelihood, model).log_likelihood(parameters, behavior, own, task)
    return np.asarray(likelihood - marginal)


def _part(simulations: Simulations, which: slice) -> Simulations:
    """Some of the simulated participants."""
    parameters = {name: values[which] for name, values in simulations.parameters.items()}
    return Simulations(simulations.models, simulations.model[which], parameters, simulations.behavior[which])


def check_goal(goal: str, models: Sequence[Model]) -> None:
    """Raise a `StudyError` if the goal is unknown or makes no sense for so many models."""
    if goal not in GOALS:
        raise StudyError("The goal is unknown.", expected=" or ".join(f'"{g}"' for g in GOALS), got=repr(goal), fix=nearest(goal, GOALS))
    names = ", ".join(model.name for model in models)
    if not models:
        raise StudyError("There is no model.", expected="one or more")
    if goal == "estimate" and len(models) > 1:
        fix = 'keep one of them, or use the goal "both"'
        raise StudyError('The goal "estimate" is about the parameters of one model.', expected="one model", got=names, fix=fix)
    if goal == "discriminate" and len(models) < 2:
        raise StudyError('The goal "discriminate" needs models to tell apart.', expected="two or more models", got=names, fix="add a model")


def require_likelihood(models: Sequence[Model]) -> None:
    """Raise a `ModelError` that names the first model without a likelihood."""
    for model in models:
        if not isinstance(model, HasLikelihood):
            raise ModelError(
                f"The model '{model.name}' has no likelihood, so there is no exact answer for it.",
                expected="a method log_likelihood(parameters, behavior, design, task)",
                fix="use the estimators, which need simulations only",
            )
