"""A theory: named parameters with priors, and a simulator; optionally a likelihood.

The simulator is all that the product's own path needs. A likelihood turns on the exact reference, which judges it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar, Mapping, Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..behavior import Behavior
from ..errors import ModelError
from ..priors import Prior
from ..tasks.base import Task

Floats = NDArray[np.float64]
Parameters = Mapping[str, Floats]
"""A value a participant for each parameter: name to array (N,)."""


class Model(ABC):
    """A theory of behavior.

    A subclass is a frozen dataclass whose fields, if any, are the model's options in a study file. It implements
    `parameters` and `simulate`; one with a `log_likelihood` too is a `HasLikelihood`, and has exact answers.
    """

    name: ClassVar[str]
    """What a study file, a data column and a figure call the model."""

    @property
    @abstractmethod
    def parameters(self) -> Mapping[str, Prior]:
        """Name to prior, in the order in which they are shown."""

    @abstractmethod
    def simulate(self, parameters: Parameters, design: ArrayLike, rng: np.random.Generator, task: Task) -> Behavior:
        """Simulate N participants.

        Arguments:
            parameters: Name to array (N,).
            design: One for all (B, V), or one a participant (N, B, V).
            rng: The only source of randomness. The same state gives the same bytes.
            task: Says how many trials there are, and what is recorded.
        """

    def log_evidence(self, behavior: Behavior, design: ArrayLike, task: Task) -> Floats:
        """log p(y) of each participant, (N,), for a model with a `log_likelihood`; see `HasLikelihood` and `quadrature.py`."""
        from .quadrature import log_evidence

        return log_evidence(self, behavior, design, task)

    def exact_posterior(self, behavior: Behavior, design: ArrayLike, task: Task) -> ExactPosterior:
        """The exact posterior of each participant, for a model with a `log_likelihood`."""
        from .quadrature import exact_posterior

        return exact_posterior(self, behavior, design, task)

    def sample_prior(self, n: int, rng: np.random.Generator) -> dict[str, Floats]:
        """`n` draws of all parameters from their priors."""
        return {name: prior.sample(n, rng) for name, prior in self.parameters.items()}

    def check_parameters(self, parameters: Mapping[str, ArrayLike]) -> dict[str, Floats]:
        """`parameters` as arrays of one length, or a `ModelError`."""
        if sorted(parameters) != sorted(self.parameters):
            raise ModelError(
                f"The parameters of '{self.name}' are not the ones given.", expected=", ".join(self.parameters), got=", ".join(parameters)
            )
        arrays = {name: np.atleast_1d(np.asarray(parameters[name], dtype=np.float64)) for name in self.parameters}
        shapes = {array.shape for array in arrays.values()}
        if not arrays:
            return arrays
        if len(shapes) != 1 or len(next(iter(shapes))) != 1:
            raise ModelError(
                f"The parameters of '{self.name}' must be arrays of one length.",
                expected="(N,) for each",
                got={name: array.shape for name, array in arrays.items()},
            )
        return arrays


@dataclass(frozen=True)
class ExactPosterior:
    """The exact posterior over one model's parameters, a marginal at a time, as weighted nodes.

    A participant whose behavior the model cannot produce has no posterior: weights, and all that follows, are NaN.

    Arguments:
        nodes: Parameter name to its nodes (J,), in any order; J may differ between parameters.
        weights: Parameter name to the posterior weights of its nodes, (N, J), summing to 1 over J.
    """

    nodes: Mapping[str, Floats]
    weights: Mapping[str, Floats]

    def mean(self, name: str) -> Floats:
        """Posterior mean, (N,)."""
        return np.asarray(self.weights[name] @ self.nodes[name])

    def sd(self, name: str) -> Floats:
        """Posterior standard deviation, (N,)."""
        return np.sqrt(np.maximum(self.weights[name] @ self.nodes[name] ** 2 - self.mean(name) ** 2, 0.0))

    def cdf(self, name: str, values: ArrayLike) -> Floats:
        """Posterior probability below `values` (N,), interpolated between nodes; (N,)."""
        nodes, heights = self._curve(name)
        values = np.asarray(values, dtype=np.float64)
        return np.array([np.interp(value, nodes, height, 0.0, 1.0) for value, height in zip(values, heights, strict=True)])

    def quantile(self, name: str, share: float) -> Floats:
        """The value below which a share of each participant's posterior lies, (N,)."""
        nodes, heights = self._curve(name)
        return np.array([np.interp(share, height, nodes) for height in heights])

    def _curve(self, name: str) -> tuple[Floats, Floats]:
        """Ascending nodes (J,) and the probability below each, (N, J), half of a node's own weight counted."""
        order = np.argsort(self.nodes[name], kind="stable")
        weights = self.weights[name][:, order]
        return self.nodes[name][order], np.cumsum(weights, axis=1) - 0.5 * weights


@runtime_checkable
class HasLikelihood(Protocol):
    """What the exact reference needs of a model. Missed trials are skipped: as if they had never been.

    Every `Model` has the last two by quasi-random points, so that a `log_likelihood` is all that a model must add; one that knows
    a quicker or a sharper way brings its own.
    """

    def log_likelihood(self, parameters: Parameters, behavior: Behavior, design: ArrayLike, task: Task) -> Floats:
        """log p(y | theta, d) up to a term that no model and no parameter enters (a bandit's rewards), (N,); may be -inf."""
        ...

    def log_evidence(self, behavior: Behavior, design: ArrayLike, task: Task) -> Floats:
        """log of the integral of p(y | theta, d) over the prior, (N,); -inf for behavior that the model cannot produce."""
        ...

    def exact_posterior(self, behavior: Behavior, design: ArrayLike, task: Task) -> ExactPosterior:
        """The exact posterior of each participant's parameters."""
        ...
