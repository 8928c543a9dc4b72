"""Simulations that fail: which participant it was, how to see it again, and whether the run goes on.

A simulator of a user's may raise, or give values that the task cannot record, for one participant in ten thousand. Such a
failure is described by what reproduces it: parameters, design and seed. Told to stop, a run stops with that description.
Told to skip, it writes the description down, replaces the participant by another one of the same model at the same design,
with parameters drawn anew from the prior, and goes on. Information is then about participants that the model can simulate;
where more than a few fail that is another question than the one asked, and the run stops after all.
"""

from __future__ import annotations

import json
import logging
import traceback
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from ..behavior import Behavior
from ..errors import ModelError, StudyError, TellapartError, nearest
from ..plugins import failed_in_user_code
from ..tasks.base import Task
from .base import Floats, Model

ON_ERROR = ("stop", "skip")
MOST = 0.05
"""The share of participants that may be skipped."""

log = logging.getLogger("tellapart")


@dataclass(frozen=True)
class OnFailure:
    """What happens when a simulation fails; the section `[simulation]` of a study file.

    Arguments:
        on_error: "stop" with an error, or "skip": replace the participant and go on.
        record: Where skipped participants are written down, a JSON object a line; nowhere if not given.
    """

    on_error: Literal["stop", "skip"] = "stop"
    record: Path | None = None

    def __post_init__(self) -> None:
        if self.on_error not in ON_ERROR:
            expected = " or ".join(f'"{word}"' for word in ON_ERROR)
            fix = nearest(str(self.on_error), ON_ERROR)
            raise StudyError("The 'on_error' of the simulation is unknown.", expected=expected, got=repr(self.on_error), fix=fix)

    def report(self, failures: Sequence[Failure]) -> None:
        """Write failures down, where that is wanted, and say so."""
        for failure in failures:
            log.warning("skipped a participant of '%s': %s", failure.model, failure.error)
        if self.record is not None:
            self.record.parent.mkdir(parents=True, exist_ok=True)
            with self.record.open("a", encoding="utf-8") as file:
                file.writelines(json.dumps(asdict(failure)) + "\n" for failure in failures)


STOP = OnFailure()


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
        call: The method to call again: "simulate_one" for a model of one participant at a time, else "simulate".
    """

    model: str
    parameters: dict[str, float]
    design: list[list[float]]
    seed: int
    error: str
    where: str | None = None
    call: str = "simulate"

    def as_error(self) -> ModelError:
        """The failure as a message that can be acted on."""
        return ModelError(
            f"The model '{self.model}' failed in a simulation.",
            where=self.where,
            got=f"{self.error}\n            parameters {self.parameters}\n            design {self.design}\n            seed {self.seed}",
            fix=f"see it again with {self.reproduction}, then mend the model; or go on without such participants: "
            '[simulation] on_error = "skip"',
        )

    @property
    def reproduction(self) -> str:
        """Python that fails again, for a `model` and a `task`."""
        form = "{}" if self.call == "simulate_one" else "np.array([{}])"
        parameters = ", ".join(f"'{name}': {form.format(repr(value))}" for name, value in self.parameters.items())
        return f"model.{self.call}({{{parameters}}}, np.array({self.design}), np.random.default_rng({self.seed}), task)"


class SimulationFailed(ModelError):
    """Some participants could not be simulated; the others are kept.

    `failures` is a mapping from the participant's place to its `Failure`, and `behavior` has nothing recorded for them.
    """

    failures: Mapping[int, Failure] = {}
    behavior: Behavior | None = None

    @classmethod
    def of(cls, failures: Mapping[int, Failure], behavior: Behavior) -> SimulationFailed:
        first = next(iter(failures.values())).as_error()
        error = cls(first.what, where=first.where, expected=first.expected, got=first.got, fix=first.fix)
        error.failures, error.behavior = failures, behavior
        return error


def simulate_soundly(
    model: Model, parameters: dict[str, Floats], designs: Floats, rng: np.random.Generator, task: Task, on_failure: OnFailure = STOP
) -> tuple[dict[str, Floats], Behavior]:
    """Simulate N participants and check what comes back; parameters and behavior, those of replaced participants being new.

    Arguments:
        designs: (N, B, V).
    """
    try:
        behavior = model.simulate(parameters, designs, rng, task)
        found = impossible(model, behavior, task, len(designs))
        if found is None:
            return parameters, behavior
        failed = _one_by_one(model, parameters, designs, rng, task, found, on_failure)
    except SimulationFailed as error:
        failed = error
    except TellapartError:
        raise
    except Exception as error:
        failed = _one_by_one(model, parameters, designs, rng, task, error, on_failure)
    if on_failure.on_error == "stop":
        raise failed
    _refuse_many(failed, len(designs))
    on_failure.report(list(failed.failures.values()))
    return _replaced(model, parameters, designs, rng, task, failed)


def impossible(model: Model, behavior: Any, task: Task, n: int) -> ModelError | None:
    """What is wrong with the values of simulated behavior, if anything; raises if its fields or shapes are wrong."""
    if not isinstance(behavior, Behavior):
        fix = 'return Behavior({"field": array, …})'
        raise ModelError(f"'{model.name}' did not return a Behavior.", expected="a Behavior", got=f"a {type(behavior).__name__}", fix=fix)
    names = [f.name for f in task.fields]
    if sorted(behavior.fields) != sorted(names):
        got = ", ".join(behavior.fields)
        raise ModelError(f"'{model.name}' returned other fields than the task records.", expected=", ".join(names), got=got)
    if behavior.shape != (n, task.blocks, task.trials):
        raise ModelError(
            f"'{model.name}' returned arrays of the wrong shape.",
            expected=f"(participants, blocks, trials) = {(n, task.blocks, task.trials)}",
            got=behavior.shape,
        )
    for f in task.fields:
        values = behavior.fields[f.name]
        if values.dtype.kind in "iub" and values.size and values.min() >= 0 and f.allows(values.max()):
            continue
        wrong = behavior.mask & ~f.allows(values)
        if wrong.any():
            place = tuple(int(i) for i in np.argwhere(wrong)[0])
            got = f"{values[place]} in block {place[1]}, trial {place[2]}"
            return ModelError(f"'{model.name}' gave a '{f.name}' that cannot be recorded.", expected=f.allowed, got=got)
    return None


def line_of(error: BaseException) -> str | None:
    """The line of the user's code that an error came through last; of any code if it is in no study's file."""
    frames = traceback.extract_tb(error.__traceback__)
    outside = [frame for frame in frames if f"{Path(__file__).parents[1]}" not in frame.filename and "site-packages" not in frame.filename]
    last = outside[-1] if outside else None
    return failed_in_user_code(error) or (f"{last.filename}, line {last.lineno}" if last else None)


def words(error: BaseException) -> str:
    """What went wrong, in a line."""
    if isinstance(error, TellapartError):
        return f"{error.what} (expected {error.expected}, got {error.got})"
    return f"{type(error).__name__}: {error}"


def _one_by_one(
    model: Model, parameters: Mapping[str, Floats], designs: Floats, rng: np.random.Generator, task: Task, error: Exception, how: OnFailure
) -> SimulationFailed:
    """Who of a batch that failed as a whole fails alone, each with a seed of its own."""
    n = len(designs)
    seeds = rng.integers(0, 2**53, n)
    failures: dict[int, Failure] = {}
    parts = []
    for i in range(n):
        own = {name: values[i : i + 1] for name, values in parameters.items()}
        result = _alone(model, own, designs[i : i + 1], int(seeds[i]), task)
        if isinstance(result, Failure):
            failures[i] = result
            if how.on_error == "stop":
                raise result.as_error() from error
            _refuse_many(SimulationFailed.of(failures, nothing(task, 1)), n)
        parts.append(nothing(task, 1) if isinstance(result, Failure) else result)
    if not failures:
        raise ModelError(
            f"The model '{model.name}' fails with {n} participants at once, but with none of them alone.",
            where=line_of(error),
            expected="that each participant is simulated as if alone",
            got=words(error),
            fix="look for an operation that mixes participants, or for random numbers that do not come from `rng`",
        ) from error
    return SimulationFailed.of(failures, Behavior.concatenate(parts))


def _alone(model: Model, parameters: dict[str, Floats], design: Floats, seed: int, task: Task) -> Behavior | Failure:
    """Simulate one participant: parameters (1,) each, design (1, B, V)."""
    try:
        behavior = model.simulate(parameters, design, np.random.default_rng(seed), task)
        error: Exception | None = impossible(model, behavior, task, 1)
    except SimulationFailed as failed:
        return next(iter(failed.failures.values()))
    except TellapartError:
        raise
    except Exception as raised:
        error = raised
    if error is None:
        return behavior
    own = {name: float(values[0]) for name, values in parameters.items()}
    return Failure(model.name, own, design[0].tolist(), seed, words(error), line_of(error))


def _replaced(
    model: Model, parameters: dict[str, Floats], designs: Floats, rng: np.random.Generator, task: Task, failed: SimulationFailed
) -> tuple[dict[str, Floats], Behavior]:
    """Everybody, with a new participant in the place of each that failed."""
    assert failed.behavior is not None
    parameters = {name: values.copy() for name, values in parameters.items()}
    fields, mask = {name: values.copy() for name, values in failed.behavior.fields.items()}, failed.behavior.mask.copy()
    for i in failed.failures:
        draws, behavior = _another(model, designs[i : i + 1], rng, task)
        for name, values in draws.items():
            parameters[name][i] = values[0]
        for name, recorded in behavior.fields.items():
            fields[name][i] = recorded[0]
        mask[i] = behavior.mask[0]
    return parameters, Behavior(fields, mask)


def _another(model: Model, design: Floats, rng: np.random.Generator, task: Task, tries: int = 50) -> tuple[dict[str, Floats], Behavior]:
    """A participant that can be simulated at a design (1, B, V)."""
    for _ in range(tries):
        draws = model.sample_prior(1, rng)
        result = _alone(model, draws, design, int(rng.integers(0, 2**53)), task)
        if not isinstance(result, Failure):
            return draws, result
    assert isinstance(result, Failure)
    raise result.as_error()


def _refuse_many(failed: SimulationFailed, n: int) -> None:
    """Raise if more participants failed than can be skipped in good conscience."""
    if len(failed.failures) > max(1, MOST * n):
        first = next(iter(failed.failures.values())).as_error()
        what = f"{first.what[:-1]}, and in too many others to be skipped: {len(failed.failures)} of {n} so far."
        raise ModelError(what, where=first.where, expected=f"at most {100 * MOST:.0f} %", got=first.got, fix=first.fix)


def nothing(task: Task, n: int) -> Behavior:
    """`n` participants of whom nothing was recorded."""
    shape = (n, task.blocks, task.trials)
    return Behavior({f.name: np.zeros(shape, f.dtype) for f in task.fields}, np.zeros(shape, bool))


def recorded(values: Mapping[str, Any], task: Task, model: str) -> tuple[dict[str, NDArray[Any]], NDArray[np.bool_]]:
    """One participant's fields, (B, T) each, and mask, as a model returned them; raises a `ModelError` if they cannot be used."""
    shape = (task.blocks, task.trials)
    names = [f.name for f in task.fields]
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
        wrong = mask & ~f.allows(array)
        if wrong.any():
            block, trial = (int(i) for i in np.argwhere(wrong)[0])
            got = f"{array[block, trial]} in block {block}, trial {trial}"
            raise ModelError(f"'{model}' gave a '{f.name}' that cannot be recorded.", expected=f.allowed, got=got)
        fields[f.name] = np.where(mask, array, 0).astype(f.dtype)
    return fields, mask
