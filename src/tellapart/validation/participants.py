"""Simulated participants whose truth is known, and what an estimator says of them: what every check begins with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..behavior import Behavior
from ..errors import ModelError, nearest
from ..models.base import Model
from ..models.simulation import Simulations, simulate_models
from ..tasks.base import Task

if TYPE_CHECKING:
    from ..estimators.base import Estimator

Floats = NDArray[np.float64]

DRAWS = 119
"""Draws from each posterior: a rank among them then takes 120 values, which many numbers divide."""

_CHUNK = 512
"""Participants whose posteriors are drawn from at once."""


@dataclass(frozen=True, eq=False)
class Answers:
    """N participants, and the estimator's answers.

    Arguments:
        task: What they did it in.
        simulations: Who they are and what they did.
        designs: What they were run at: (B, V), or (N, B, V).
        log_probabilities: log q(model | y), (N, M), for goals about models.
        draws: For goals about parameters, for each model: parameter to draws (N_m, L) for the participants of that model.
    """

    task: Task
    simulations: Simulations
    designs: Floats
    log_probabilities: Floats | None = None
    draws: tuple[Mapping[str, Floats], ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the M models."""
        return tuple(model.name for model in self.simulations.models)

    def first(self, n: int) -> Answers:
        """The first `n` participants, without their draws."""
        whole = self.simulations
        parameters = {name: values[:n] for name, values in whole.parameters.items()}
        part = Simulations(whole.models, whole.model[:n], parameters, whole.behavior[:n])
        designs = self.designs[:n] if self.designs.ndim == 3 else self.designs
        return Answers(self.task, part, designs, None if self.log_probabilities is None else self.log_probabilities[:n])

    def truth(self, m: int) -> dict[str, Floats]:
        """The true parameters of the participants of model number `m`."""
        return self.simulations.of(m)[0]


def ask(
    estimator: Estimator,
    design: ArrayLike,
    n: int,
    rng: np.random.Generator,
    draws: int = DRAWS,
    parameters: Mapping[str, Mapping[str, float]] | None = None,
) -> Answers:
    """Simulate `n` participants and ask the estimator about them.

    Arguments:
        design: One for all (B, V), or one a participant (n, B, V).
        draws: Draws from each posterior of parameters.
        parameters: Model name to its true parameters; from the prior if not given.
    """
    goal = estimator.goal
    n = max(len(goal.models), n - n % len(goal.models))
    designs = np.asarray(design, dtype=np.float64)
    designs = designs[:n] if designs.ndim == 3 else designs
    if parameters is None:
        simulations = simulate_models(goal.task, goal.models, designs, n, rng)
    else:
        simulations = simulate_at(goal.task, goal.models, designs, n, parameters, rng)
    log_probabilities = _log_probabilities(estimator, simulations.behavior, designs) if goal.about_models else None
    drawn = tuple(_draws(estimator, simulations, designs, m, draws, rng) for m in range(len(goal.models) if goal.about_parameters else 0))
    return Answers(goal.task, simulations, designs, log_probabilities, drawn)


def simulate_at(
    task: Task, models: Sequence[Model], design: ArrayLike, n: int, parameters: Mapping[str, Mapping[str, float]], rng: np.random.Generator
) -> Simulations:
    """`n` participants with given parameters, the models one after the other.

    Arguments:
        parameters: Model name to the value of each of its parameters.
    """
    names = [model.name for model in models]
    unknown = sorted(set(parameters) - set(names))
    if unknown:
        raise ModelError(f"The study has no model '{unknown[0]}'.", expected=" or ".join(names), fix=nearest(unknown[0], names))
    designs, each = task.design_space.check_many(design, n), n // len(models)
    true, behaviors = {f"{m.name}.{p}": np.full(n, np.nan) for m in models for p in m.parameters}, []
    for m, model in enumerate(models):
        mine = slice(m * each, (m + 1) * each)
        values = model.check_parameters({name: np.full(each, value) for name, value in parameters.get(model.name, medians(model)).items()})
        behaviors.append(model.simulate(values, designs[mine], rng, task))
        for name, value in values.items():
            true[f"{model.name}.{name}"][mine] = value
    return Simulations(tuple(models), np.repeat(np.arange(len(models)), each), true, Behavior.concatenate(behaviors))


def medians(model: Model) -> dict[str, float]:
    """The middle of a model's prior."""
    return {name: float(prior.quantile(0.5)) for name, prior in model.parameters.items()}


def plain(values: Floats) -> tuple[float, ...]:
    """An array (K,) as plain numbers, which JSON can hold."""
    return tuple(float(value) for value in values)


def stratified(values: Floats, strata: NDArray[np.intp]) -> tuple[float, float]:
    """The mean over strata of the means within, and its standard error."""
    groups = [values[strata == s] for s in np.unique(strata)]
    variances = [group.var(ddof=1) / len(group) if len(group) > 1 else 0.0 for group in groups]
    return float(np.mean([group.mean() for group in groups])), float(np.sqrt(np.sum(variances)) / len(groups))


def _log_probabilities(estimator: Estimator, behavior: Behavior, designs: Floats) -> Floats:
    import torch

    with torch.no_grad():
        inputs = estimator.inputs(behavior, designs)
        log_q = torch.cat([estimator.log_model_probabilities(part) for part in torch.split(inputs, _CHUNK)]).double()
        return np.asarray(torch.log_softmax(log_q, -1).cpu().numpy())


def _draws(
    estimator: Estimator, simulations: Simulations, designs: Floats, m: int, draws: int, rng: np.random.Generator
) -> dict[str, Floats]:
    """Draws of model `m`'s parameters for its own participants: name to (N_m, L)."""
    import torch

    mine = np.flatnonzero(simulations.model == m)
    own = designs[mine] if designs.ndim == 3 else designs
    with torch.no_grad():
        inputs = estimator.inputs(simulations.behavior[mine], own)
        z = torch.cat([estimator.sample_theta(part, m, draws, rng) for part in torch.split(inputs, _CHUNK)], dim=1).cpu().numpy()
    parameters = simulations.models[m].parameters
    return {name: prior.from_normal(z[:, :, p].T) for p, (name, prior) in enumerate(parameters.items())}
