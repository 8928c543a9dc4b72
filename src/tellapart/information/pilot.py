"""A first look at where each participant's parameters are, so that few draws are needed there.

At J points of the prior, the same for everybody, the likelihood is known after J evaluations. On the normal scale its weighted mean and
covariance give a normal distribution near the posterior: a proposal for `between.py`, in which few draws are wasted. It is a function of y
alone, so that both bounds hold, however bad it is.

Where few points carry all the weight their spread says nothing. The likelihood is then tempered, p(y | theta)^t with t = 1, 1/2, 1/4, …,
until enough points matter: the proposal is wider than the posterior, never narrower by accident.

References:
    Cornuet, Marin, Mira & Robert (2012), Adaptive multiple importance sampling.
"""

from __future__ import annotations

from typing import NamedTuple, Sequence

import numpy as np
from scipy.special import ndtri

from ..behavior import Behavior
from ..models.base import LikelihoodModel
from ..models.evidence import log_likelihoods
from ..models.logsumexp import logsumexp
from ..models.simulation import Simulations
from ..priors import quantiles
from ..tasks.base import Task
from .estimate import Floats

POWER = 8
"""J = 2^8 points."""
ENOUGH = 12.0
"""So many points have to matter: 1 / sum of squared weights."""
WIDER = 1.2
"""By how much variances are enlarged, since those of a few points are uncertain."""
LEAST = 1e-6
"""Added to variances, so that none is 0."""


class _Normals(NamedTuple):
    """A normal distribution for each participant: means (N, P), and the factors of covariances (N, P, P)."""

    mean: Floats
    factor: Floats


class Pilot:
    """A proposal for the participants that it was made for, in their order.

    Arguments:
        models: All of them with a likelihood.
        people: The participants.
    """

    def __init__(self, task: Task, models: Sequence[LikelihoodModel], people: Simulations) -> None:
        self._normals = [_near_posterior(model, people, task) for model in models]

    def draw(self, m: int, behavior: Behavior, designs: Floats, draws: int, rng: np.random.Generator) -> Floats:
        mean, factor = self._normals[m]
        noise = rng.standard_normal((draws, *mean.shape))
        return np.asarray(mean + np.einsum("npq,lnq->lnp", factor, noise))

    def log_density(self, m: int, behavior: Behavior, designs: Floats, z: Floats) -> Floats:
        mean, factor = self._normals[m]
        noise = np.einsum("npq,lnq->lnp", np.linalg.inv(factor), z - mean)
        log_volume = np.log(np.diagonal(factor, axis1=1, axis2=2)).sum(-1)
        return np.asarray(-0.5 * (noise**2 + np.log(2 * np.pi)).sum(-1) - log_volume)


def _near_posterior(model: LikelihoodModel, people: Simulations, task: Task) -> _Normals:
    """A normal distribution near the posterior of each participant."""
    size = len(model.parameters)
    if not size:
        return _Normals(np.zeros((len(people), 0)), np.zeros((len(people), 0, 0)))
    from scipy.stats import qmc  # takes a second to load, which servers and commands without points are spared

    unit = qmc.Sobol(size, rng=np.random.default_rng(0)).random_base2(POWER)
    z = ndtri(np.clip(unit, 1e-12, 1 - 1e-12))
    weights = _weights(log_likelihoods(model, quantiles(model.parameters, unit), people.behavior, people.designs, task))
    mean = weights @ z
    apart = z - mean[:, None]
    covariance = WIDER * np.einsum("nj,njp,njq->npq", weights, apart, apart) + LEAST * np.eye(size)
    return _Normals(mean, np.linalg.cholesky(covariance))


def _weights(log_likelihood: Floats) -> Floats:
    """Of points (N, J), tempered until enough of them matter; all alike where none is possible."""
    possible = np.isfinite(log_likelihood).any(1, keepdims=True)
    tempered = np.where(possible, log_likelihood, 0.0)
    while True:
        weights = np.exp(tempered - logsumexp(tempered, axis=1, keepdims=True))
        few = (weights**2).sum(1) * np.minimum(ENOUGH, (weights > 0).sum(1)) > 1.0 + 1e-9
        if not few.any():
            return np.asarray(weights)
        tempered[few] /= 2.0
