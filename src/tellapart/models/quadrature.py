"""Evidence and posteriors of any model with a likelihood, by quasi-random points through the priors' quantiles.

With u_1 … u_J a scrambled Sobol sequence in the unit cube and theta_j the priors' quantiles at u_j,

    p(y) = the integral of p(y | theta) over the prior ≈ mean over j of p(y | theta_j),

and the posterior puts weight p(y | theta_j) / sum on theta_j. It is the reference for models that bring no quadrature of their
own, and fit for a handful of parameters: the more data and parameters, the fewer points lie where the posterior is.

References:
    Owen (1998), Scrambling Sobol' and Niederreiter-Xing points.
"""

from __future__ import annotations

from typing import cast

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import logsumexp
from scipy.stats import qmc

from ..behavior import Behavior
from ..tasks.base import Task
from .base import ExactPosterior, Floats, HasLikelihood, Model

POINTS = {1: 4096}
"""Points for a number of parameters; 8,192 for two or more."""


TOGETHER = 20_000
"""Pairs of participant and point whose likelihood is asked for at once."""


def prior_points(model: Model, count: int | None = None) -> dict[str, Floats]:
    """J points that represent the prior: name to (J,). J is a power of 2."""
    priors = model.parameters
    if not priors:
        return {}
    count = count or POINTS.get(len(priors), 8192)
    unit = qmc.Sobol(len(priors), rng=np.random.default_rng(0)).random_base2(max(0, (count - 1).bit_length()))
    unit = np.clip(unit, 1e-12, 1 - 1e-12)
    return {name: prior.quantile(unit[:, p]) for p, (name, prior) in enumerate(priors.items())}


def log_likelihoods(model: Model, points: dict[str, Floats], behavior: Behavior, design: ArrayLike, task: Task) -> Floats:
    """log p(y_n | theta_j), (N, J)."""
    likelihood, n = cast(HasLikelihood, model).log_likelihood, len(behavior)
    if not points:
        return np.asarray(likelihood({}, behavior, design, task))[:, None]
    count, size = len(next(iter(points.values()))), max(1, TOGETHER // max(1, n))
    designs, columns = np.asarray(design, dtype=np.float64), np.empty((n, count))
    for start in range(0, count, size):
        part = {name: np.repeat(values[start : start + size], n) for name, values in points.items()}
        times = min(size, count - start)
        everybody = np.tile(np.arange(n), times)
        own = designs[everybody] if designs.ndim == 3 else designs
        columns[:, start : start + times] = likelihood(part, behavior[everybody], own, task).reshape(times, n).T
    return columns


def log_evidence(model: Model, behavior: Behavior, design: ArrayLike, task: Task) -> Floats:
    """log p(y) of each participant, (N,)."""
    columns = log_likelihoods(model, prior_points(model), behavior, design, task)
    return np.asarray(logsumexp(columns, axis=1) - np.log(columns.shape[1]))


def exact_posterior(model: Model, behavior: Behavior, design: ArrayLike, task: Task) -> ExactPosterior:
    """The posterior of each participant as weighted points."""
    points = prior_points(model)
    columns = log_likelihoods(model, points, behavior, design, task)
    with np.errstate(invalid="ignore"):
        weights = np.exp(columns - logsumexp(columns, axis=1, keepdims=True))
    return ExactPosterior(points, dict.fromkeys(points, weights))
