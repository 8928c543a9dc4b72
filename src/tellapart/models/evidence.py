"""Evidence and posteriors of any model with a likelihood.

With u_1 … u_J a scrambled Sobol sequence in the unit cube and theta_j the priors' quantiles at u_j,

    p(y) = the integral of p(y | theta) over the prior ≈ mean over j of p(y | theta_j),

and the posterior puts weight p(y | theta_j) / sum on theta_j. It is fit for a handful of parameters: the more data and
parameters, the fewer points lie where the posterior is. A model that knows a better way is an `IntegratedModel`.

Where some parameters are given, the integral runs over the others: p(y | theta_A) = E[p(y | theta_A, theta_B)].

References:
    Owen (1998), Scrambling Sobol' and Niederreiter-Xing points.
"""

from __future__ import annotations

from typing import Sequence, TypeGuard

import numpy as np

from ..behavior import Behavior
from ..errors import ModelError
from ..priors import quantiles
from ..tasks.base import Task
from .base import ExactPosterior, Floats, IntegratedModel, LikelihoodModel, Model, Parameters
from .logsumexp import logsumexp

TOGETHER = 20_000
"""Pairs of participant and point whose likelihood is asked for at once."""


def have_likelihoods(models: Sequence[Model]) -> TypeGuard[Sequence[LikelihoodModel]]:
    """Has every model a likelihood?"""
    return all(isinstance(model, LikelihoodModel) for model in models)


def require_likelihoods(models: Sequence[Model]) -> Sequence[LikelihoodModel]:
    """The models, or a `ModelError` that names the first without a likelihood."""
    if have_likelihoods(models):
        return models
    name = next(model.name for model in models if not isinstance(model, LikelihoodModel))
    raise ModelError(
        f"The model '{name}' has no likelihood, so there is no exact answer for it.",
        expected="a ta.LikelihoodModel, with a method log_likelihood(parameters, behavior, designs, task)",
        fix="use the estimators, which need simulations only",
    )


def log_evidence(model: LikelihoodModel, behavior: Behavior, designs: Floats, task: Task, given: Parameters | None = None) -> Floats:
    """log p(y) of each participant, or log p(y | given parameters), (N,).

    Arguments:
        designs: (N, B, V).
        given: Some of the parameters, name to (N,).
    """
    given = given or {}
    if len(given) == len(model.parameters):
        return model.log_likelihood(given, behavior, designs, task)
    if isinstance(model, IntegratedModel) and not given:
        return model.log_evidence(behavior, designs, task)
    points = prior_points(model, tuple(name for name in model.parameters if name not in given))
    theta = {name: points[name][None] if name in points else given[name][:, None] for name in model.parameters}
    columns = log_likelihoods(model, theta, behavior, designs, task)
    return np.asarray(logsumexp(columns, axis=1) - np.log(columns.shape[1]))


def exact_posterior(model: LikelihoodModel, behavior: Behavior, designs: Floats, task: Task) -> ExactPosterior:
    """The posterior of each participant as weighted points."""
    if isinstance(model, IntegratedModel):
        return model.exact_posterior(behavior, designs, task)
    points = prior_points(model, tuple(model.parameters))
    columns = log_likelihoods(model, points, behavior, designs, task)
    with np.errstate(invalid="ignore"):
        weights = np.exp(columns - logsumexp(columns, axis=1, keepdims=True))
    return ExactPosterior(points, dict.fromkeys(points, weights))


def prior_points(model: Model, names: Sequence[str]) -> dict[str, Floats]:
    """J points that represent the prior of some parameters: name to (J,). J is a power of 2, or 1 if there is no parameter."""
    if not names:
        return {}
    power = 12 if len(names) == 1 else 13
    from scipy.stats import qmc  # takes a second to load, which servers and commands without points are spared

    unit = qmc.Sobol(len(names), rng=np.random.default_rng(0)).random_base2(power)
    return quantiles({name: model.parameters[name] for name in names}, unit)


def log_likelihoods(model: LikelihoodModel, theta: Parameters, behavior: Behavior, designs: Floats, task: Task) -> Floats:
    """log p(y_n | theta_nl) of N participants at L points each, (N, L).

    Arguments:
        theta: Name to what can be broadcast to (N, L); L is 1 for a model without parameters.
    """
    n, count = len(behavior), max((values.shape[-1] for values in theta.values()), default=1)
    size = max(1, TOGETHER // max(1, n))
    columns, each = np.empty((n, count)), {name: np.broadcast_to(values, (n, count)) for name, values in theta.items()}
    for start in range(0, count, size):
        part = slice(start, min(start + size, count))
        who, values = np.repeat(np.arange(n), part.stop - start), {name: of[:, part].reshape(-1) for name, of in each.items()}
        with np.errstate(invalid="ignore"):
            log_p = np.asarray(model.log_likelihood(values, behavior[who], designs[who], task))
        if np.isnan(log_p).any():
            where = {name: float(of[np.isnan(log_p).argmax()]) for name, of in values.items()}
            raise ModelError(
                f"The likelihood of '{model.name}' is no number at parameters that its priors allow.",
                expected="a number, or -inf for what cannot happen",
                got=f"nan at {where}",
                fix="let the priors allow only what the model can use: probabilities between 0 and 1, scales above 0",
            )
        columns[:, part] = log_p.reshape(n, -1)
    return columns
