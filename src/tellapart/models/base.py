"""A theory: named parameters with priors, and a simulator; optionally a likelihood.

The simulator is all that the product's own path needs. A likelihood turns on the exact reference, which judges it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, Mapping

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..behavior import Behavior
from ..errors import ModelError
from ..priors import Prior
from ..tasks.base import Task

Floats = NDArray[np.float64]
Parameters = Mapping[str, Floats]
"""A value for each participant and parameter: name to array (N,)."""


class Model(ABC):
    """A theory of behavior.

    A subclass is a frozen dataclass whose fields, if any, are the model's options in a study file. One with a likelihood too is a
    `LikelihoodModel`.
    """

    name: ClassVar[str]
    """What a study file, a data column and a figure call the model."""

    resets: ClassVar[bool | None] = None
    """True if each block begins anew, whatever happened in those before it; False if memory goes on; None if nobody says, and it may."""

    def __init_subclass__(cls, **arguments: Any) -> None:
        super().__init_subclass__(**arguments)
        if "sample_prior" in vars(cls):
            raise ModelError(
                f"'{cls.__name__}' draws its parameters itself, which bounds and posteriors would know nothing of.",
                expected="independent priors, given by `parameters`",
                got="a method sample_prior",
                fix="write what depends on another parameter as a share of its range: high = low + share * (1 - low), share ~ Uniform()",
            )

    @property
    @abstractmethod
    def parameters(self) -> Mapping[str, Prior]:
        """Name to prior, in the order in which they are shown."""

    @abstractmethod
    def simulate(self, parameters: Parameters, designs: Floats, rng: np.random.Generator, task: Task) -> Behavior:
        """Simulate N participants.

        Arguments:
            parameters: Name to array (N,).
            designs: One for each participant, (N, B, V).
            rng: The only source of randomness. The same state gives the same bytes.
            task: Says how many trials there are, and what is recorded; `task.environment(designs, rng)` has its rules.
        """

    def check_parameters(self, parameters: Mapping[str, ArrayLike]) -> dict[str, Floats]:
        """`parameters` as arrays of one length, or a `ModelError`."""
        if sorted(parameters) != sorted(self.parameters):
            expected, got = ", ".join(self.parameters), ", ".join(parameters)
            raise ModelError(f"The parameters of '{self.name}' are not the ones given.", expected=expected, got=got)
        arrays = {name: np.atleast_1d(np.asarray(parameters[name], dtype=np.float64)) for name in self.parameters}
        shapes = {array.shape for array in arrays.values()}
        if len(shapes) > 1 or any(len(shape) != 1 for shape in shapes):
            got = str({name: array.shape for name, array in arrays.items()})
            raise ModelError(f"The parameters of '{self.name}' must be arrays of one length.", expected="(N,) for each", got=got)
        return arrays


class LikelihoodModel(Model):
    """A model whose likelihood is known. Missed trials are skipped: as if they had never been.

    Evidence and posteriors follow from it (`models/evidence.py`).
    """

    @abstractmethod
    def log_likelihood(self, parameters: Parameters, behavior: Behavior, designs: Floats, task: Task) -> Floats:
        """log p(y | theta, d) up to a term that no model and no parameter enters (a bandit's rewards), (N,); may be -inf."""


class IntegratedModel(LikelihoodModel):
    """A model that knows its own evidence and posterior: a quicker or a sharper way than quasi-random points."""

    @abstractmethod
    def log_evidence(self, behavior: Behavior, designs: Floats, task: Task) -> Floats:
        """log of the integral of p(y | theta, d) over the prior, (N,); -inf for behavior that the model cannot produce."""

    @abstractmethod
    def exact_posterior(self, behavior: Behavior, designs: Floats, task: Task) -> ExactPosterior:
        """The exact posterior of each participant's parameters."""


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
