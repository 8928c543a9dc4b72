"""The loop over participants, blocks and trials, for models that are compiled.

It simulates participants, and over recorded behavior it adds up their likelihood, by the same functions of a model:

    begin(theta, design, block, numbers, stream)                                     what a participant believes at first
    draw(theta, state, design, block, trial, numbers, stream)                        a response; not valid if there is none
    log_p(theta, state, response, design, block, trial, numbers)                     its log probability or density
    learn(theta, state, response, outcome, design, block, trial, numbers, stream)    changes the state after the outcome
    returns                                                                          or does `learn` return the new state?
    resets                                                                           does each block begin with a new state?
    read(value), valid(value, numbers)                                               a recorded response as a number; is it one?

and by the compiled rules of the task (`Environment.compiled`), which write what the response leads to into `outcome`,

    pays(design, trial, response, numbers, memory, stream, outcome)

    theta      a participant's parameters, (P,)
    design     the block's row of the design, (V,)
    trial      how many trials of the block the participant has seen; for `pays`, its number
    numbers    how many categories a response has, then the task's settings that are numbers, in their order
    memory     what the rules remember, (V,); zeros at the start of a block
    stream     where random numbers come from (`streams.py`): one stream for the participant, another for the rules
    outcome    the fields that the task gives, (O,)
"""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from typing import Any, Mapping

import numba as nb
import numpy as np
from numpy.typing import NDArray

from ..behavior import Behavior
from ..errors import ModelError
from ..tasks.base import Task
from ..threads import in_threads
from .base import Floats, Model, Parameters
from .compiled import specialised
from .streams import started

_FUNCTION: Any = None
begin = draw = log_p = learn = returns = resets = read = valid = pays = _FUNCTION
"""These stand for the functions of a model and a task, see `specialised`."""


def play(
    theta: Any, designs: Any, lengths: Any, streams: Any, responses: Any, outcomes: Any, mask: Any, score: Any, numbers: Any, given: Any
) -> None:
    """Simulate participants from block `given` on; the blocks before it are recorded, and are scored.

    Arguments:
        theta: (N, P).
        designs: (N, B, V).
        lengths: Trials of each block, (N, B).
        streams: Two for each participant, (N, 2).
        responses, mask: (N, B, T); read before block `given`, else written.
        outcomes: (N, B, T, O); likewise.
        score: log p(responses | outcomes, theta) of what was recorded, (N,); NaN if the rest could not be simulated.
    """
    n, blocks, _ = responses.shape
    count, none = outcomes.shape[3], int(np.int64(0))  # for the literal 0, each function would be compiled a second time
    outcome, memory = np.zeros(count), np.zeros(designs.shape[2])
    for i in range(n):
        person, own, luck, total = theta[i], streams[i, :1], streams[i, 1:], 0.0
        state = begin(person, designs[i, 0], none, numbers, own)
        for b in range(blocks):
            design, seen = designs[i, b], none
            memory[:] = 0.0
            if b > 0 and resets:
                state = begin(person, design, b, numbers, own)
            for t in range(lengths[i, b]):
                if b < given:
                    if not mask[i, b, t]:
                        continue
                    response = read(responses[i, b, t])
                    for o in range(count):
                        outcome[o] = outcomes[i, b, t, o]
                    total += log_p(person, state, response, design, b, seen, numbers)
                else:
                    response = draw(person, state, design, b, seen, numbers, own)
                    if not valid(response, numbers):
                        total = np.nan
                        break
                    pays(design, t, response, numbers, memory, luck, outcome)
                    responses[i, b, t], mask[i, b, t] = response, True
                    for o in range(count):
                        outcomes[i, b, t, o] = outcome[o]
                if returns:
                    state = learn(person, state, response, outcome, design, b, seen, numbers, own)
                else:
                    learn(person, state, response, outcome, design, b, seen, numbers, own)
                seen += 1
            if total != total:
                break
        score[i] = total


class Kernel:
    """The loop compiled around the functions of a model and the rules of a task."""

    def __init__(self, functions: Mapping[str, Any], response: np.dtype[Any]) -> None:
        self._loop = specialised(play, **functions)
        real = {size: nb.types.Array(nb.float64, size, "C") for size in (1, 2, 3, 4)}
        responses, mask = (nb.types.Array(nb.from_dtype(kind), 3, "C") for kind in (response, np.dtype(bool)))
        lengths, streams = nb.types.Array(nb.int64, 2, "C"), nb.types.Array(nb.uint64, 2, "C")
        arrays = real[2], real[3], lengths, streams, responses, real[4], mask, real[1]
        self._loop.compile((*arrays, real[1], nb.int64))

    def go_on(
        self, theta: Floats, behavior: Behavior, designs: Floats, blocks: range, seeds: NDArray[np.int64], task: Task
    ) -> tuple[Behavior, NDArray[np.bool_]]:
        """What participants do in some blocks after what was recorded before them, and who could not be simulated and did nothing, (N,).

        Arguments:
            theta: (N, P).
            behavior: (N, B, T); nothing is recorded in these blocks yet.
            designs: (N, B, V).
            seeds: Where the randomness of each participant starts, (N,).
        """
        responses, outcomes, mask = recorded(task, behavior)
        responses, mask = responses.copy(), mask.copy()
        lengths, score = np.array(task.lengths(designs), np.int64), np.zeros(len(behavior))
        lengths[:, : blocks.start], lengths[:, blocks.stop :] = task.trials, 0
        self._run(task, blocks.start, theta, designs, lengths, started(seeds), responses, outcomes, mask, score)
        failed = np.isnan(score)
        mask[failed, blocks.start :] = False
        return as_behavior(task, responses, outcomes, mask), failed

    def log_likelihood(self, theta: Floats, behavior: Behavior, designs: Floats, task: Task) -> Floats:
        """log p(responses | outcomes, theta) of each participant, (N,); NaN where the model gives no probabilities."""
        shape, score = behavior.shape, np.zeros(len(behavior))
        lengths, streams = np.full(shape[:2], shape[2], np.int64), np.zeros((shape[0], 2), np.uint64)
        self._run(task, shape[1], theta, designs, lengths, streams, *recorded(task, behavior), score)
        return score

    def _run(self, task: Task, given: int, *arrays: NDArray[Any]) -> None:
        whole, numbers = tuple(map(np.ascontiguousarray, arrays)), numbers_of(task)
        in_threads(lambda *slices: self._loop(*slices, numbers, given), len(whole[0]), whole)


def theta_of(model: Model, parameters: Parameters, n: int) -> Floats:
    """The parameters of `n` participants as an array (n, P)."""
    values = model.check_parameters(parameters)
    theta = np.stack(list(values.values()), axis=-1) if values else np.zeros((n, 0))
    if len(theta) != n:
        what = f"'{model.name}' needs one set of parameters for each participant."
        raise ModelError(what, expected=f"{n} values each", got=f"{len(theta)}")
    return theta


def settings_of(task: Task) -> dict[str, float]:
    """The settings of a task that are numbers, by name and in order."""
    names = tuple(f.name for f in fields(task)) if is_dataclass(task) else ()
    values: dict[str, Any] = {name: getattr(task, name) for name in (*names, "blocks", "trials")}
    return {name: value for name, value in values.items() if isinstance(value, (int, float))}


def numbers_of(task: Task) -> Floats:
    """How many categories a response has, 0 if it is a number; then the task's settings that are numbers."""
    response = task.responses[0]
    levels = 2 if response.kind == "binary" else response.levels or 0
    return np.array([levels, *settings_of(task).values()], np.float64)


def recorded(task: Task, behavior: Behavior) -> tuple[NDArray[Any], Floats, NDArray[np.bool_]]:
    """Responses (N, B, T), outcomes (N, B, T, O) and mask of recorded behavior."""
    outcomes = [behavior.fields[f.name].astype(np.float64) for f in task.outcomes]
    responses = behavior.fields[task.responses[0].name].astype(task.responses[0].dtype, copy=False)
    return responses, np.stack(outcomes, axis=-1) if outcomes else np.zeros((*behavior.shape, 0)), behavior.mask


def as_behavior(task: Task, responses: NDArray[Any], outcomes: Floats, mask: NDArray[np.bool_]) -> Behavior:
    """The reverse of `recorded`."""
    given = {f.name: outcomes[..., o].astype(f.dtype) for o, f in enumerate(task.outcomes)}
    return Behavior({task.responses[0].name: responses, **given}, mask)


@nb.njit(cache=True, forceinline=True)
def nothing(design: Any, trial: Any, response: Any, numbers: Any, memory: Any, stream: Any, outcome: Any) -> None:
    """The rules of a task without outcomes."""
