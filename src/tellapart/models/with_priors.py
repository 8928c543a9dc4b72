"""Other priors for the parameters of a model.

    ta.with_priors(ta.AEG(), epsilon=ta.Beta(1, 9))          in Python
    priors.epsilon = "beta(1, 9)"                            in a study file, under the model

A model that integrates over its parameters by itself (`IntegratedModel`) does so for the priors that it came with. With others its evidence
is that of any model with a likelihood (`evidence.py`).
"""

from __future__ import annotations

import re
from dataclasses import dataclass, fields
from typing import Any, Mapping

import numpy as np

from ..behavior import Behavior
from ..errors import ModelError, nearest
from ..priors import Beta, Categorical, Gamma, HalfNormal, Integers, LogNormal, Normal, Prior, Uniform
from ..tasks.base import Task
from .base import Floats, LikelihoodModel, Model, Parameters

PRIORS: Mapping[str, Any] = {kind.__name__: kind for kind in (Uniform, Normal, LogNormal, Beta, Gamma, HalfNormal, Categorical, Integers)}
_BY_NAME = {name.lower(): kind for name, kind in PRIORS.items()}


@dataclass(frozen=True)
class _ChangedPriors(Model):
    """A model with other priors of some parameters."""

    model: Model
    changed: tuple[tuple[str, Prior], ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "name", self.model.name)
        object.__setattr__(self, "resets", self.model.resets)

    @property
    def parameters(self) -> Mapping[str, Prior]:
        return {**self.model.parameters, **dict(self.changed)}

    def __getattr__(self, name: str) -> Any:
        """Options and whatever else the model has."""
        if name.startswith("__") or name == "model":
            raise AttributeError(name)
        return getattr(self.model, name)


class _SimulatorWithChangedPriors(_ChangedPriors):
    """A model that can be simulated, and no more."""

    def simulate(self, parameters: Parameters, designs: Floats, rng: np.random.Generator, task: Task) -> Behavior:
        return self.model.simulate(parameters, designs, rng, task)


class _LikelihoodWithChangedPriors(_ChangedPriors, LikelihoodModel):
    """A model with a likelihood."""

    def simulate(self, parameters: Parameters, designs: Floats, rng: np.random.Generator, task: Task) -> Behavior:
        return self.model.simulate(parameters, designs, rng, task)

    def log_likelihood(self, parameters: Parameters, behavior: Behavior, designs: Floats, task: Task) -> Floats:
        assert isinstance(self.model, LikelihoodModel)
        return self.model.log_likelihood(parameters, behavior, designs, task)


def with_priors(model: Model, /, **priors: Prior | str) -> Model:
    """The same model with other priors of some of its parameters.

    Arguments:
        priors: A prior for each parameter whose prior is to change, or its text: "beta(1.5, 1.5)".
    """
    changed = {}
    for name, prior in priors.items():
        if name not in model.parameters:
            what, known = f"The model '{model.name}' has no parameter '{name}'.", model.parameters
            raise ModelError(what, expected=", ".join(known), fix=nearest(name, known), key=f"priors.{name}")
        changed[name] = prior if isinstance(prior, Prior) else parse_prior(prior, f"priors.{name}")
    if not changed:
        return model
    together = {**priors_of(model), **changed}
    kind = _LikelihoodWithChangedPriors if isinstance(model, LikelihoodModel) else _SimulatorWithChangedPriors
    return kind(shipped_with(model), tuple(together.items()))


def shipped_with(model: Any) -> Any:
    """The model as it is without changed priors; anything else as it is."""
    return model.model if isinstance(model, _ChangedPriors) else model


def priors_of(model: Any) -> dict[str, Prior]:
    """The priors that were changed, by parameter."""
    return dict(model.changed) if isinstance(model, _ChangedPriors) else {}


def parse_prior(text: Any, key: str | None = None) -> Prior:
    """The prior that a text like "beta(1.5, 1.5)" means, or a `ModelError`.

    Arguments:
        key: The setting that it is about.
    """
    match = re.fullmatch(r"\s*([A-Za-z][\w -]*?)\s*\(([^()]*)\)\s*", text) if isinstance(text, str) else None
    expected = '"beta(1.5, 1.5)", "lognormal(0, 1)", "uniform(0, 1)", …'
    if match is None:
        raise ModelError("This is no prior.", expected=expected, got=repr(text), key=key)
    kind = _BY_NAME.get(re.sub(r"[\s_-]", "", match[1]).lower())
    if kind is None:
        raise ModelError(f"The prior '{match[1]}' is unknown.", expected=expected, fix=nearest(match[1], _BY_NAME), key=key)
    needed = [] if kind is Categorical else [setting.name for setting in fields(kind)]
    try:
        numbers = [float(number) for number in match[2].split(",")]
        if needed and len(numbers) != len(needed):
            raise ValueError
        return kind(tuple(numbers)) if kind is Categorical else kind(*(int(n) if n.is_integer() else n for n in numbers))
    except ValueError:
        what, shape = f"The numbers of the prior '{match[1]}' are not what it needs.", ", ".join(needed) or "a probability for each level"
        raise ModelError(what, expected=f"{kind.__name__.lower()}({shape})", got=repr(text), key=key) from None
    except ModelError as error:
        raise ModelError(error.what, expected=error.expected, got=repr(text), fix=error.fix, key=key) from None


def format_prior(prior: Prior) -> str:
    """A prior as text that `parse_prior` reads."""
    if type(prior) not in PRIORS.values():
        raise ModelError("This prior cannot be written to a study file.", expected=", ".join(PRIORS), got=type(prior).__name__)
    numbers = prior.probabilities if isinstance(prior, Categorical) else vars(prior).values()
    return f"{type(prior).__name__.lower()}({', '.join(map(repr, numbers))})"
