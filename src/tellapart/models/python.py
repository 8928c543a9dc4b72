"""Models in plain Python: one participant at a time, or a decorated function.

    @ta.model(name="guesser", parameters={"bias": ta.Uniform(0, 1)})
    def guesser(parameters, design, rng, task):
        return {"choice": rng.random((task.blocks, task.trials)) < parameters["bias"]}

Every participant has a seed of its own, drawn from the generator that `simulate` is given. So what a participant does depends
neither on the others nor on which of several processes simulates it.
"""

from __future__ import annotations

import inspect
import math
import time
from abc import abstractmethod
from dataclasses import field, fields, make_dataclass
from typing import Any, Callable, ClassVar, Mapping

import numpy as np

from ..behavior import Behavior
from ..errors import ModelError
from ..priors import Prior
from ..tasks.base import Task
from ..workers import present_workers
from .base import Floats, LikelihoodModel, Model, Parameters
from .failures import Failure, SimulationFailed, line_of, recorded, words

FIRST = 4
"""Participants that are simulated here and timed before the others are shared out."""
WORTHWHILE = 0.1
"""Seconds of work below which sharing it out costs more than it saves."""


class ParticipantModel(Model):
    """A model that simulates one participant at a time, in plain Python. Slow ones are spread over the run's workers."""

    @abstractmethod
    def simulate_one(self, parameters: Mapping[str, float], design: Floats, rng: np.random.Generator, task: Task) -> Mapping[str, Any]:
        """Simulate one participant.

        Arguments:
            parameters: Name to value.
            design: (B, V).
            rng: The only source of randomness.

        Returns:
            Each field of the task as an array (B, T), and "mask" (B, T), False at trials that were missed, if there are any; or the
            `behavior` of an environment that was played.
        """

    def simulate(self, parameters: Parameters, designs: Floats, rng: np.random.Generator, task: Task) -> Behavior:
        return simulate_each(self, parameters, designs, rng, task)


def simulate_each(model: Any, parameters: Parameters, designs: Floats, rng: np.random.Generator, task: Task) -> Behavior:
    """Simulate participants of a `ParticipantModel`, or of an agent, by its `simulate_one`."""
    values = model.check_parameters(parameters)
    seeds = rng.integers(0, 2**53, len(designs))
    people = [({name: float(v[i]) for name, v in values.items()}, designs[i], int(seeds[i])) for i in range(len(designs))]
    behavior, failures = task.nothing(len(designs)), {}
    for i, result in enumerate(_shared_out(model, people, task)):
        if isinstance(result, Failure):
            failures[i] = result
        else:
            behavior.write([i], result)
    if failures:
        raise SimulationFailed(failures, behavior)
    return behavior


def _shared_out(model: Any, people: list[Any], task: Task) -> list[Behavior | Failure]:
    """The result of each participant: the first few here, the others by the workers if that is worth it."""
    workers = present_workers()
    started = time.perf_counter()
    results = _simulate_some(model, people[:FIRST], task)
    rest, cost = people[FIRST:], (time.perf_counter() - started) / max(1, len(results))
    if workers.count == 1 or cost * len(rest) < WORTHWHILE:
        return results + _simulate_some(model, rest, task)
    size = math.ceil(len(rest) / (2 * workers.count))
    pieces = [(model, rest[start : start + size], task) for start in range(0, len(rest), size)]
    return results + [result for part in workers.map(_simulate_some, pieces) for result in part]


def _simulate_some(model: Any, people: list[Any], task: Task) -> list[Behavior | Failure]:
    """What each participant (parameters, design, seed) did, or its failure."""
    return [simulate_person(model, person, task) for person in people]


def simulate_person(model: Any, person: tuple[dict[str, float], Floats, int], task: Task) -> Behavior | Failure:
    """What one participant did, or its failure."""
    parameters, design, seed = person
    try:
        values = model.simulate_one(dict(parameters), design.copy(), np.random.default_rng(seed), task)
        return recorded(values, task, model.name)
    except Exception as error:
        return Failure(model.name, parameters, design.tolist(), seed, words(error), line_of(error), "simulate_one")


class _FunctionOfOne(ParticipantModel):
    """A model made from a function of one participant."""

    function: ClassVar[Callable[..., Any]]

    def simulate_one(self, parameters: Mapping[str, float], design: Floats, rng: np.random.Generator, task: Task) -> Mapping[str, Any]:
        result: Mapping[str, Any] = type(self).function(parameters, design, rng, task, **options_of(self))
        return result


class _FunctionOfAll(Model):
    """A model made from a function of N participants."""

    function: ClassVar[Callable[..., Any]]

    def simulate(self, parameters: Parameters, designs: Floats, rng: np.random.Generator, task: Task) -> Behavior:
        result = type(self).function(self.check_parameters(parameters), designs, rng, task, **options_of(self))
        if isinstance(result, Mapping):
            arrays = {name: np.asarray(array) for name, array in result.items() if name != "mask"}
            return Behavior(arrays, result.get("mask"))  # type: ignore[arg-type]
        return result  # type: ignore[no-any-return]


class _WithLikelihood(LikelihoodModel):
    """A model made from a function, and its likelihood from another."""

    likelihood: ClassVar[Callable[..., Floats]]

    def log_likelihood(self, parameters: Parameters, behavior: Behavior, designs: Floats, task: Task) -> Floats:
        return type(self).likelihood(self.check_parameters(parameters), behavior, designs, task, **options_of(self))


def model(
    *,
    name: str,
    parameters: Mapping[str, Prior],
    vectorised: bool = False,
    log_likelihood: Callable[..., Floats] | None = None,
    resets: bool | None = None,
) -> Callable[[Callable[..., Any]], type[Model]]:
    """Make a model of a function `f(parameters, design, rng, task)`; its keyword-only arguments are the model's options.

    The decorated name is a model class: write `use = "models:f"` in a study file, `f()` in Python.

    Arguments:
        name: What a study file, a data column and a figure call the model.
        parameters: Name to prior.
        vectorised: If False, `f` is called for each participant, with a number for each parameter and a design (B, V), and returns
            each field as an array (B, T). If True, it is called for N participants at once, with arrays (N,) and designs (N, B, V),
            and returns arrays (N, B, T). Either may add a "mask", False at missed trials.
        log_likelihood: `g(parameters, behavior, designs, task)`, log p(y | theta, d) of N participants, (N,); turns on exact checks.
        resets: True if each block begins anew, whatever happened in those before it: then blocks are added up, which is quicker. False if
            memory goes on from block to block. If not given, it may, and blocks are read one after the other.
    """
    check_priors(name, parameters)

    def make(function: Callable[..., Any]) -> type[Model]:
        bases: tuple[type[Model], ...] = (_FunctionOfAll if vectorised else _FunctionOfOne,)
        body = {"name": name, "parameters": dict(parameters), "function": staticmethod(function), "__doc__": function.__doc__}
        body["resets"] = resets
        _check_options(name, function, body)
        if log_likelihood is not None:
            bases, body["likelihood"] = (*bases, _WithLikelihood), staticmethod(log_likelihood)  # type: ignore[type-abstract]
        kind = make_dataclass(function.__name__, _option_fields(function), bases=bases, namespace=body, frozen=True)
        kind.__module__, kind.__qualname__ = function.__module__ or "__main__", function.__qualname__
        return kind

    return make


def check_priors(name: str, parameters: Mapping[str, Prior]) -> None:
    """Raise a `ModelError` unless each parameter has a prior."""
    wrong = {key: prior for key, prior in parameters.items() if not isinstance(prior, Prior)}
    if wrong:
        raise ModelError(
            f"The parameters of '{name}' must be names with priors.",
            expected='for example {"alpha": Uniform(0, 1)}',
            got={key: type(prior).__name__ for key, prior in wrong.items()},
        )


def _check_options(name: str, function: Callable[..., Any], taken: Mapping[str, Any]) -> None:
    """Raise a `ModelError` if an option has the name of something that every model has."""
    for option in inspect.signature(function).parameters.values():
        if option.kind is option.KEYWORD_ONLY and option.name in taken:
            what = f"An option of '{name}' is called '{option.name}', which means something else in a model."
            raise ModelError(what, fix="call it something else; what all models have is given to @ta.model")


def _option_fields(function: Callable[..., Any]) -> list[Any]:
    """The keyword-only arguments of a function as fields of a dataclass."""
    options = [p for p in inspect.signature(function).parameters.values() if p.kind is p.KEYWORD_ONLY]
    kinds = [Any if option.annotation is option.empty else option.annotation for option in options]
    defaults = [() if option.default is option.empty else (field(default=option.default),) for option in options]
    return [(option.name, kind, *default) for option, kind, default in zip(options, kinds, defaults, strict=True)]


def options_of(model: Any) -> dict[str, Any]:
    """The options of a model, by name."""
    return {option.name: getattr(model, option.name) for option in fields(model)}
