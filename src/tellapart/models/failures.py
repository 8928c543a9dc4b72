"""Simulations that fail: which participant it was, and how to see it again.

A simulator of a user's may raise, or give values that the task cannot record, for one participant in ten thousand. A
failure is described by what reproduces it: parameters, design and seed. `attempt` gives the participants that could be simulated and
the failures of the others; who asked decides what becomes of them.
"""

from __future__ import annotations

import traceback
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Mapping

import numpy as np
from numpy.typing import NDArray

from ..behavior import Behavior, Field
from ..errors import ModelError, TellapartError
from ..parts import place_in_user_code
from ..tasks.base import Task
from .base import Floats, Model, Parameters


@dataclass(frozen=True)
class Failure:
    """A participant that could not be simulated.

    Arguments:
        model: The model's name.
        parameters: Name to value.
        design: (B, V), as lists.
        seed: `np.random.default_rng(seed)` makes it fail again, with these parameters and this design.
        error: What went wrong.
        where: The line of the model's code, if it raised.
        call: The method to call again: "simulate_one" for a model of one participant at a time, "go_on_one" for an agent that goes on
            from what was recorded, else "simulate".
        block, history: For an agent that goes on, the number of the block, and Python that makes what was recorded before it.
    """

    model: str
    parameters: Mapping[str, float]
    design: list[list[float]]
    seed: int
    error: str
    where: str | None = None
    call: str = "simulate"
    block: int = 0
    history: str = ""

    def as_error(self) -> ModelError:
        """The failure as a message that can be acted on."""
        return ModelError(
            f"The model '{self.model}' failed in a simulation.",
            where=self.where,
            got="\n            ".join([self.error, f"parameters {dict(self.parameters)}", f"design {self.design}", f"seed {self.seed}"]),
            fix=f"see it again with {self.reproduction}, then mend the model; or go on without such participants: "
            '[simulation] on_error = "skip"',
        )

    @property
    def reproduction(self) -> str:
        """Python that fails again, for a `model` and a `task`."""
        value, design = ("np.array([{}])", f"[{self.design}]") if self.call == "simulate" else ("{}", f"{self.design}")
        parameters = ", ".join(f"'{name}': {value.format(repr(number))}" for name, number in self.parameters.items())
        history, block = (f"{self.history}, ", f"{self.block}, ") if self.history else ("", "")
        return f"model.{self.call}({{{parameters}}}, {history}np.array({design}), {block}np.random.default_rng({self.seed}), task)"


def as_python(behavior: Behavior) -> str:
    """Python that makes a behavior."""
    fields = ", ".join(f"'{name}': np.array({values.tolist()})" for name, values in behavior.fields.items())
    return f"ta.Behavior({{{fields}}}, np.array({behavior.mask.tolist()}))"


class SimulationFailed(Exception):
    """How a model of one participant at a time tells `attempt` who failed; `behavior` has nothing recorded for them."""

    def __init__(self, failures: Mapping[int, Failure], behavior: Behavior) -> None:
        super().__init__(next(iter(failures.values())).error)
        self.failures, self.behavior = failures, behavior


def attempt(
    model: Model, parameters: Parameters, designs: Floats, rng: np.random.Generator, task: Task, most: int | None = None
) -> tuple[Behavior, Mapping[int, Failure]]:
    """Simulate N participants at designs (N, B, V): what they did, and the failures of those of whom nothing is recorded.

    Arguments:
        most: Give up after so many failures, since whoever asked will not use the others.
    """
    together, error = _tried(model, parameters, designs, rng, task)
    if error is None:
        return together, {}
    if isinstance(error, SimulationFailed):
        return error.behavior, error.failures
    behavior, failures = task.nothing(len(designs)), dict[int, Failure]()
    seeds, again = rng.integers(0, 2**53, len(designs)), np.ones(len(designs), bool)
    if together is not None:  # only who did what cannot be recorded is simulated again
        again = np.logical_or.reduce([together.mask & ~f.allows(together.fields[f.name]) for f in task.fields]).any((1, 2))
        behavior.write(~again, together[~again])
    for i in map(int, np.flatnonzero(again)):
        alone = {name: values[i : i + 1] for name, values in parameters.items()}
        result = _alone(model, alone, designs[i : i + 1], int(seeds[i]), task)
        if not isinstance(result, Failure):
            behavior.write([i], result)
            continue
        failures[i] = result
        if len(failures) == most:
            break
    two = {name: values[:2] for name, values in parameters.items()}  # if these do not fail, it was bad luck and not the size of the batch
    if not failures and isinstance(_alone(model, two, designs[:2], int(rng.integers(2**53)), task), Failure):
        raise ModelError(
            f"The model '{model.name}' fails with {len(designs)} participants at once, but with none of them alone.",
            where=line_of(error),
            expected="that each participant is simulated as if alone",
            got=words(error),
            fix="look for an operation that mixes participants, or for random numbers that do not come from `rng`",
        ) from error
    return behavior, failures


def impossible(model: Model, behavior: Any, task: Task, n: int) -> ModelError | None:
    """What is wrong with the values of simulated behavior, if anything; raises if its fields or shapes are wrong."""
    if not isinstance(behavior, Behavior):
        fix = 'return Behavior({"field": array, …})'
        raise ModelError(f"'{model.name}' did not return a Behavior.", expected="a Behavior", got=f"a {type(behavior).__name__}", fix=fix)
    names = [f.name for f in task.fields]
    if sorted(behavior.fields) != sorted(names):
        got = ", ".join(behavior.fields)
        raise ModelError(f"'{model.name}' returned other fields than the task records.", expected=", ".join(names), got=got)
    shape = (n, task.blocks, task.trials)
    if behavior.shape != shape:
        expected = f"(participants, blocks, trials) = {shape}"
        raise ModelError(f"'{model.name}' returned arrays of the wrong shape.", expected=expected, got=behavior.shape)
    for f in task.fields:
        values = behavior.fields[f.name]
        if values.dtype.kind in "iub" and values.size and f.allows(np.array([values.min(), values.max()])).all():
            continue
        if error := _unrecordable(model.name, f, values, behavior.mask):
            return error
    return None


def _unrecordable(model: str, f: Field, values: NDArray[Any], mask: NDArray[np.bool_]) -> ModelError | None:
    """The first value of a field (…, B, T) that cannot be recorded, if there is one."""
    wrong = mask & ~f.allows(values)
    if not wrong.any():
        return None
    place = tuple(int(i) for i in np.argwhere(wrong)[0])
    got = f"{values[place]} in block {place[-2]}, trial {place[-1]} (counted from 0)"
    return ModelError(f"'{model}' gave a '{f.name}' that cannot be recorded.", expected=f.allowed, got=got)


def line_of(error: BaseException) -> str | None:
    """The line that an error names; else that of the user's code which it came through last; of any code if it is in no study's file."""
    if isinstance(error, TellapartError) and error.where:
        return error.where
    frames = traceback.extract_tb(error.__traceback__)
    outside = [frame for frame in frames if f"{Path(__file__).parents[1]}" not in frame.filename and "site-packages" not in frame.filename]
    last = outside[-1] if outside else None
    return place_in_user_code(error) or (f"{last.filename}, line {last.lineno}" if last else None)


def words(error: BaseException) -> str:
    """What went wrong, in a line."""
    if isinstance(error, TellapartError):
        return f"{error.what} (expected {error.expected}, got {error.got})"
    return f"{type(error).__name__}: {error}"


def recorded(values: Mapping[str, Any], task: Task, model: str) -> Behavior:
    """One participant's fields, (B, T) each, and mask, as a model returned them; raises a `ModelError` if they cannot be used."""
    shape, names = (task.blocks, task.trials), [f.name for f in task.fields]
    if isinstance(values, Behavior) and len(values) == 1:
        values = {"mask": values.mask[0], **{name: array[0] for name, array in values.fields.items()}}
    if not isinstance(values, Mapping) or sorted(set(values) - {"mask"}) != sorted(names):
        got = ", ".join(map(str, values)) if isinstance(values, Mapping) else f"a {type(values).__name__}"
        raise ModelError(f"'{model}' must return the fields of the task.", expected=f"a dictionary with {', '.join(names)}", got=got)
    mask = np.broadcast_to(np.asarray(values.get("mask", True), bool), shape)
    fields = {}
    for f in task.fields:
        array = np.asarray(values[f.name])
        if array.shape != shape:
            expected = f"(blocks, trials) = {shape}"
            raise ModelError(f"'{model}' returned a '{f.name}' of the wrong shape.", expected=expected, got=array.shape)
        if error := _unrecordable(model, f, array, mask):
            raise error
        fields[f.name] = np.where(mask, array, 0).astype(f.dtype)[None]
    return Behavior(fields, mask[None])


def _tried(model: Model, parameters: Parameters, designs: Floats, rng: np.random.Generator, task: Task) -> tuple[Any, Exception | None]:
    """What participants did, if they could be simulated at all, and what is wrong."""
    behavior = None
    try:
        behavior = model.simulate(parameters, designs, rng, task)
        return behavior, impossible(model, behavior, task, len(designs))
    except TellapartError:
        raise
    except Exception as error:
        return behavior, error


def _alone(model: Model, parameters: Parameters, design: Floats, seed: int, task: Task) -> Behavior | Failure:
    """Simulate one participant, or two at once: parameters (n,) each, designs (n, B, V)."""
    behavior, error = _tried(model, parameters, design, np.random.default_rng(seed), task)
    if error is None:
        return behavior  # type: ignore[no-any-return]
    values = {name: float(array[0]) for name, array in parameters.items()}
    return Failure(model.name, values, design[0].tolist(), seed, words(error), line_of(error))
