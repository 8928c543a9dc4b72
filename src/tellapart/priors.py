"""Parameter priors.

A prior is a one-dimensional distribution with a quantile function. Sampling, quadrature and quasi-random points all go
through it: u uniform on (0, 1) gives theta = quantile(u). Networks see parameters on one unbounded scale, the *normal
scale* z = Phi^{-1}(cdf(theta)), on which every prior is a standard normal.

A prior over levels (a category, a whole number) has steps in its cdf. Its normal scale is *dequantised*: u is uniform within
the step of theta, z = Phi^{-1}(u). As u tells nothing about behavior beyond theta, I(z; y) = I(theta; y), and a bound for z
is a bound for theta. Every z within a step goes back to the same level.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar, Mapping

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import betaincinv, ndtr, ndtri

from .errors import ModelError

Floats = NDArray[np.float64]

_TINY = float(np.finfo(np.float64).eps)
"""The normal scale ends where the prior leaves less than this: at about 8 standard deviations."""


class Prior(ABC):
    """A one-dimensional prior distribution."""

    discrete: ClassVar[bool] = False
    """Does it put its mass on levels?"""

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

    def to_normal(self, theta: ArrayLike, within: ArrayLike = 0.5) -> Floats:
        """`theta` on the normal scale, on which this prior is a standard normal.

        Arguments:
            within: Where in its step a level goes, from 0 to 1, for a prior over levels.
        """
        return np.asarray(ndtri(np.clip(self.cdf(theta), _TINY, 1 - _TINY)), dtype=np.float64)

    def from_normal(self, z: ArrayLike) -> Floats:
        """Back from the normal scale."""
        return self.quantile(np.clip(ndtr(np.asarray(z, dtype=np.float64)), _TINY, 1 - _TINY))


def _require(condition: bool, prior: str, expected: str, got: Any) -> None:
    if not condition:
        raise ModelError(f"The prior '{prior}' has impossible settings.", expected=expected, got=got)


@cache
def _scipy(name: str, *shape: float, **place: Any) -> Any:
    """A distribution of scipy's, which is loaded when it is first needed, and made once."""
    from scipy import stats

    return getattr(stats, name)(*shape, **place)


@dataclass(frozen=True)
class Uniform(Prior):
    """Uniform on (low, high)."""

    low: float = 0.0
    high: float = 1.0

    def __post_init__(self) -> None:
        _require(bool(-np.inf < self.low < self.high < np.inf), "uniform", "low < high, both finite", (self.low, self.high))

    def _distribution(self) -> Any:
        return _scipy("uniform", loc=self.low, scale=self.high - self.low)


@dataclass(frozen=True)
class Normal(Prior):
    """Normal with mean `mu` and standard deviation `sigma`."""

    mu: float = 0.0
    sigma: float = 1.0

    def __post_init__(self) -> None:
        possible = bool(np.isfinite(self.mu) and 0 < self.sigma < np.inf)
        _require(possible, "normal", "a finite mu and a finite sigma > 0", (self.mu, self.sigma))

    def _distribution(self) -> Any:
        return _scipy("norm", self.mu, self.sigma)


@dataclass(frozen=True)
class LogNormal(Prior):
    """exp of a normal with mean `mu` and standard deviation `sigma`."""

    mu: float = 0.0
    sigma: float = 1.0

    def __post_init__(self) -> None:
        possible = bool(np.isfinite(self.mu) and 0 < self.sigma < np.inf)
        _require(possible, "log-normal", "a finite mu and a finite sigma > 0", (self.mu, self.sigma))

    def _distribution(self) -> Any:
        return _scipy("lognorm", self.sigma, scale=np.exp(self.mu))


@dataclass(frozen=True)
class Beta(Prior):
    """Beta on (0, 1), with mean a / (a + b)."""

    a: float = 1.0
    b: float = 1.0

    def __post_init__(self) -> None:
        _require(0 < self.a < np.inf and 0 < self.b < np.inf, "beta", "a > 0 and b > 0, both finite", (self.a, self.b))

    def _distribution(self) -> Any:
        return _scipy("beta", self.a, self.b)

    def quantile(self, u: ArrayLike) -> Floats:
        # scipy.stats gives 0.5 for some quantiles near an end, such as that of Beta(0.5, 2) at 1e-9
        return np.asarray(betaincinv(self.a, self.b, np.asarray(u, dtype=np.float64)))


@dataclass(frozen=True)
class Gamma(Prior):
    """Gamma on (0, inf), with mean shape · scale."""

    shape: float = 1.0
    scale: float = 1.0

    def __post_init__(self) -> None:
        possible = 0 < self.shape < np.inf and 0 < self.scale < np.inf
        _require(possible, "gamma", "shape > 0 and scale > 0, both finite", (self.shape, self.scale))

    def _distribution(self) -> Any:
        return _scipy("gamma", self.shape, scale=self.scale)


@dataclass(frozen=True)
class HalfNormal(Prior):
    """The size of a normal number with mean 0 and standard deviation `sigma`."""

    sigma: float = 1.0

    def __post_init__(self) -> None:
        _require(0 < self.sigma < np.inf, "half-normal", "a finite sigma > 0", self.sigma)

    def _distribution(self) -> Any:
        return _scipy("halfnorm", scale=self.sigma)


class Levels(Prior):
    """A prior over the whole numbers lowest, lowest + 1, …"""

    discrete: ClassVar[bool] = True

    @property
    @abstractmethod
    def levels(self) -> Floats:
        """The values it can take, ascending, (L,)."""

    @property
    @abstractmethod
    def weights(self) -> Floats:
        """Their probabilities, (L,)."""

    def _distribution(self) -> Any:
        return _scipy("rv_discrete", values=(tuple(self.levels), tuple(self.weights)))

    def quantile(self, u: ArrayLike) -> Floats:
        place = np.searchsorted(self.edges[1:-1], np.asarray(u, dtype=np.float64), side="left")
        return self.levels[place]

    def cdf(self, theta: ArrayLike) -> Floats:
        """The share of the prior at or below `theta`."""
        return self.edges[np.searchsorted(self.levels, np.asarray(theta, dtype=np.float64), side="right")]

    def log_density(self, theta: ArrayLike) -> Floats:
        """Log probability of the level `theta`; -inf for what is no level."""
        return np.asarray(self._distribution().logpmf(theta), dtype=np.float64)

    def to_normal(self, theta: ArrayLike, within: ArrayLike = 0.5) -> Floats:
        place = np.searchsorted(self.levels, np.asarray(theta, dtype=np.float64))
        u = self.edges[place] + self.weights[place] * np.asarray(within, dtype=np.float64)
        return np.asarray(ndtri(np.clip(u, _TINY, 1 - _TINY)), dtype=np.float64)

    @property
    def edges(self) -> Floats:
        """Where the steps of the cdf begin and end, (L + 1,)."""
        edges = np.concatenate([[0.0], np.cumsum(self.weights)])
        edges[-1] = 1.0
        return edges


@dataclass(frozen=True)
class Categorical(Levels):
    """One of the levels 0 … L - 1, with the given probabilities."""

    probabilities: tuple[float, ...] = (0.5, 0.5)

    def __post_init__(self) -> None:
        shares = np.asarray(self.probabilities, dtype=np.float64)
        possible = shares.ndim == 1 and len(shares) > 1 and bool((shares > 0).all()) and abs(shares.sum() - 1.0) < 1e-6
        _require(possible, "categorical", "two or more probabilities above 0 that sum to 1", self.probabilities)
        object.__setattr__(self, "probabilities", tuple(float(share) for share in shares))

    @property
    def levels(self) -> Floats:
        return np.arange(len(self.probabilities), dtype=np.float64)

    @property
    def weights(self) -> Floats:
        shares = np.array(self.probabilities)
        return np.asarray(shares / shares.sum())


@dataclass(frozen=True)
class Integers(Levels):
    """The whole numbers from `low` to `high`, both included, equally probable."""

    low: int = 0
    high: int = 1

    def __post_init__(self) -> None:
        whole = all(float(value).is_integer() for value in (self.low, self.high) if np.isfinite(value))
        possible = whole and bool(-np.inf < self.low < self.high < np.inf)
        _require(possible, "integers", "whole numbers, low < high", (self.low, self.high))

    @property
    def levels(self) -> Floats:
        return np.arange(self.low, self.high + 1, dtype=np.float64)

    @property
    def weights(self) -> Floats:
        count = int(self.high) - int(self.low) + 1
        return np.full(count, 1.0 / count)


Priors = Mapping[str, Prior]
"""A model's parameters, each with its prior, in the order in which they are shown."""


def sample_priors(priors: Priors, n: int, rng: np.random.Generator) -> dict[str, Floats]:
    """`n` draws of all parameters, (n,) each."""
    return {name: prior.sample(n, rng) for name, prior in priors.items()}


def on_normal_scale(priors: Priors, theta: Mapping[str, Floats], n: int) -> Floats:
    """Parameters of `n` participants on the normal scale, levels in the middle of their steps, (n, P)."""
    columns = [prior.to_normal(theta[name]) for name, prior in priors.items()]
    return np.stack(columns, axis=-1) if columns else np.zeros((n, 0))


def quantiles(priors: Priors, unit: Floats) -> dict[str, Floats]:
    """Parameters from points of the unit cube (J, P), (J,) each."""
    inside = np.clip(unit, 1e-12, 1 - 1e-12)
    return {name: prior.quantile(inside[:, p]) for p, (name, prior) in enumerate(priors.items())}


def medians(priors: Priors) -> dict[str, float]:
    """The middle of each prior."""
    return {name: float(prior.quantile(0.5)) for name, prior in priors.items()}
