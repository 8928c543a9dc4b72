"""A hidden number, read with noise: theta ~ N(0, 1), y = d theta + N(0, 1) at each trial.

With signals d_b in B blocks of T trials the data are as good as one reading of precision S = T sum_b d_b^2. Everything is known:

    I(theta; y | d) = 1/2 log(1 + S),    theta | y ~ N(m, 1 / (1 + S)) with m = sum_bt d_b y_bt / (1 + S).

One block of one trial with d = rho / sqrt(1 - rho^2) is the bivariate Gaussian with correlation rho.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Mapping

import numpy as np
from numpy.typing import ArrayLike

from ..behavior import Behavior
from ..errors import ModelError
from ..priors import Normal, Prior
from ..tasks.base import Task
from .base import ExactPosterior, Floats, IntegratedModel, Parameters


@dataclass(frozen=True)
class HiddenNumber(IntegratedModel):
    """theta ~ N(0, 1), read with unit noise."""

    name: ClassVar[str] = "hidden-number"
    resets: ClassVar[bool] = True

    @property
    def parameters(self) -> Mapping[str, Prior]:
        return {"theta": Normal(0.0, 1.0)}

    def simulate(self, parameters: Parameters, designs: Floats, rng: np.random.Generator, task: Task) -> Behavior:
        if [field.name for field in task.responses] != ["reading"]:
            what, got = "The model 'hidden-number' is read by the task 'noisy-readings' only.", f"the task '{task.name}'"
            raise ModelError(what, got=got, fix="choose that task, or another model")
        theta = self.check_parameters(parameters)["theta"]
        noise = rng.standard_normal((len(theta), task.blocks, task.trials))
        return Behavior({"reading": designs * theta[:, None, None] + noise})

    @staticmethod
    def information(design: ArrayLike, task: Task) -> float:
        """The analytic information of a design (B, 1), in nats."""
        signal = task.design_space.check(design)
        return float(0.5 * np.log1p(task.trials * np.square(signal).sum()))

    def log_likelihood(self, parameters: Parameters, behavior: Behavior, designs: Floats, task: Task) -> Floats:
        theta = self.check_parameters(parameters)["theta"]
        signal = designs[:, : behavior.shape[1]]
        residual = np.where(behavior.mask, behavior.fields["reading"] - signal * theta[:, None, None], 0.0)
        return np.asarray(-0.5 * (np.square(residual) + np.log(2 * np.pi) * behavior.mask).sum((1, 2)))

    def log_evidence(self, behavior: Behavior, designs: Floats, task: Task) -> Floats:
        """log p(y | 0) - log p(0 | y) / p(0), by Bayes' theorem at theta = 0."""
        mean, variance = self.posterior_moments(behavior, designs, task)
        at_zero = self.log_likelihood({"theta": np.zeros(len(behavior))}, behavior, designs, task)
        return np.asarray(at_zero + 0.5 * np.square(mean) / variance + 0.5 * np.log(variance))

    def posterior_moments(self, behavior: Behavior, designs: Floats, task: Task) -> tuple[Floats, Floats]:
        """Mean and variance of theta given the data, (N,) each."""
        signal = designs[:, : behavior.shape[1]]
        variance = 1.0 / (1.0 + (np.square(signal) * behavior.mask).sum((1, 2)))
        return (signal * behavior.fields["reading"] * behavior.mask).sum((1, 2)) * variance, variance

    def exact_posterior(self, behavior: Behavior, designs: Floats, task: Task) -> ExactPosterior:
        mean, variance = self.posterior_moments(behavior, designs, task)
        nodes = np.linspace(-6.0, 6.0, 1201)
        weights = np.exp(-0.5 * np.square(nodes - mean[:, None]) / variance[:, None])
        return ExactPosterior({"theta": nodes}, {"theta": weights / weights.sum(-1, keepdims=True)})
