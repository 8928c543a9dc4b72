"""Parameter priors.

A prior is a one-dimensional distribution with a quantile function. Sampling, quadrature and quasi-random points all go
through it: u uniform on (0, 1) gives theta = quantile(u). Networks see parameters on one unbounded scale, the *normal
scale* z = Phi^{-1}(cdf(theta)), on which every prior is a standard normal.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .errors import ModelError

Floats = NDArray[np.float64]

_TINY = float(np.finfo(np.float64).eps)
"""The normal scale ends where the prior leaves less than this: at about 8 standard deviations."""


class Prior(ABC):
    """A one-dimensional prior distribution."""

    @abstractmethod
    def _distribution(self) -> Any:
        """The scipy distribution behind it."""

    def sample(self, n: int, rng: np.random.Generator) -> Floats:
        """`n` independent draws, (n,)."""
        return self.quantile(rng.random(n))

    def quantile(self, u: ArrayLike) -> Floats:
        """The value below which a share `u` of the prior lies."""
        return np.asarray(self._distribution().ppf(u), dtype=np.float64)

    def cdf(self, theta: ArrayLike) -> Floats:
        """The share of the prior below `theta`."""
        return np.asarray(self._distribution().cdf(theta), dtype=np.float64)

    def log_density(self, theta: ArrayLike) -> Floats:
        """Log density at `theta`."""
        return np.asarray(self._distribution().logpdf(theta), dtype=np.float64)

    def to_normal(self, theta: ArrayLike) -> Floats:
        """`theta` on the normal scale, on which this prior is a standard normal."""
        from scipy.special import ndtri

        return np.asarray(ndtri(np.clip(self.cdf(theta), _TINY, 1 - _TINY)), dtype=np.float64)

    def from_normal(self, z: ArrayLike) -> Floats:
        """Back from the normal scale."""
        from scipy.special import ndtr

        return self.quantile(np.clip(ndtr(np.asarray(z, dtype=np.float64)), _TINY, 1 - _TINY))


def _require(condition: bool, prior: str, expected: str, got: Any) -> None:
    if not condition:
        raise ModelError(f"The prior '{prior}' has impossible settings.", expected=expected, got=got)


def _is_scale(mu: float, sigma: float) -> bool:
    return bool(np.isfinite(mu) and 0 < sigma < np.inf)


@dataclass(frozen=True)
class Uniform(Prior):
    """Uniform on (low, high)."""

    low: float = 0.0
    high: float = 1.0

    def __post_init__(self) -> None:
        _require(bool(-np.inf < self.low < self.high < np.inf), "uniform", "low < high, both finite", (self.low, self.high))

    def _distribution(self) -> Any:
        from scipy.stats import uniform

        return uniform(self.low, self.high - self.low)

    def quantile(self, u: ArrayLike) -> Floats:
        return self.low + (self.high - self.low) * np.asarray(u, dtype=np.float64)

    def cdf(self, theta: ArrayLike) -> Floats:
        return np.clip((np.asarray(theta, dtype=np.float64) - self.low) / (self.high - self.low), 0.0, 1.0)


@dataclass(frozen=True)
class Normal(Prior):
    """Normal with mean `mu` and standard deviation `sigma`."""

    mu: float = 0.0
    sigma: float = 1.0

    def __post_init__(self) -> None:
        _require(_is_scale(self.mu, self.sigma), "normal", "a finite mu and a finite sigma > 0", (self.mu, self.sigma))

    def _distribution(self) -> Any:
        from scipy.stats import norm

        return norm(self.mu, self.sigma)


@dataclass(frozen=True)
class LogNormal(Prior):
    """exp of a normal with mean `mu` and standard deviation `sigma`."""

    mu: float = 0.0
    sigma: float = 1.0

    def __post_init__(self) -> None:
        _require(_is_scale(self.mu, self.sigma), "log-normal", "a finite mu and a finite sigma > 0", (self.mu, self.sigma))

    def _distribution(self) -> Any:
        from scipy.stats import lognorm

        return lognorm(self.sigma, scale=np.exp(self.mu))

    def quantile(self, u: ArrayLike) -> Floats:
        from scipy.special import ndtri

        return np.exp(self.mu + self.sigma * np.asarray(ndtri(u), dtype=np.float64))
