"""Draws near a posterior whose density is known: a mixture of normal distributions around some of its draws, and of the prior.

    q(z) = (1 - PRIOR) / C sum over c of N(z; z_c, h^2 S) + PRIOR N(z; 0, I)

with S the covariance of the posterior's draws and h by Silverman's rule. With weights p(data | z) N(z; 0, I) / q(z) such draws estimate the
evidence. The share of the prior keeps weights from growing without bound where the mixture is too narrow (Hesterberg 1995).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..models.logsumexp import logsumexp
from ..tasks.space import Floats

CENTRES, PRIOR = 64, 0.1
"""Draws of the posterior around which is drawn, and the share of draws from the prior."""


@dataclass(frozen=True, eq=False)
class Proposal:
    """The mixture.

    Arguments:
        centres: (C, P).
        root: A root of the covariance of each of its normal distributions, (P, P).
    """

    centres: Floats
    root: Floats

    @staticmethod
    def of(z: Floats, weight: Floats) -> Proposal:
        """Around weighted draws (J, P), (J,) of a posterior on the normal scale."""
        p = z.shape[1]
        if not p:
            return Proposal(z[:1], np.zeros((0, 0)))
        places = (np.arange(CENTRES) + 0.5) / CENTRES
        line = np.argsort(z[:, 0], kind="stable")
        centres = z[line[np.minimum(np.searchsorted(np.cumsum(weight[line]), places), len(z) - 1)]]
        width = (4 / ((p + 2) * CENTRES)) ** (1 / (p + 4))
        return Proposal(centres, width * root_of_covariance(z, weight))

    def drawn(self, n: int, rng: np.random.Generator) -> Floats:
        """`n` independent draws, (n, P)."""
        around = self.centres[rng.integers(0, len(self.centres), n)] + rng.standard_normal((n, len(self.root))) @ self.root.T
        return np.where(rng.random((n, 1)) < PRIOR, rng.standard_normal(around.shape), around)

    def log_density(self, z: Floats) -> Floats:
        """log q(z) of draws (n, P), (n,)."""
        back = np.linalg.inv(self.root).T
        whitened, centres = z @ back, self.centres @ back
        squares = (whitened**2).sum(1)[:, None] + (centres**2).sum(1) - 2 * whitened @ centres.T
        constant = 0.5 * z.shape[1] * np.log(2 * np.pi) + np.log(np.diag(self.root)).sum()
        near = logsumexp(-0.5 * squares, axis=1) - np.log(len(centres)) - constant
        return np.asarray(np.logaddexp(np.log1p(-PRIOR) + near, np.log(PRIOR) + standard_normal(z)))


def standard_normal(z: Floats) -> Floats:
    """The log density of the prior on the normal scale at z (n, P), (n,)."""
    return np.asarray(-0.5 * (z**2).sum(1) - 0.5 * z.shape[1] * np.log(2 * np.pi))


def root_of_covariance(z: Floats, weight: Floats) -> Floats:
    """The Cholesky root of the covariance of weighted draws (J, P), (J,), (P, P)."""
    centred = z - weight @ z
    return np.asarray(np.linalg.cholesky((centred * weight[:, None]).T @ centred + 1e-8 * np.eye(z.shape[1])))
