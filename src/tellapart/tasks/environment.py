"""The task's rules in motion: responses of a trial in, outcomes out.

    environment = task.environment(designs, rng)
    while not environment.done:
        outcomes = environment.step({"choice": …})
    return environment.behavior

An environment serves N simulated participants at once, in step, or one live participant (N = 1). Between trials it can be saved as
plain data that JSON can hold, and restored in another process: it then goes on as if nothing had happened.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar, Mapping

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..behavior import Behavior
from ..errors import DataError

if TYPE_CHECKING:
    from .base import Task
    from .space import Floats

Values = Mapping[str, NDArray[Any]]
"""A field's name to its values of one trial, (N,)."""


class Environment(ABC):
    """The rules of a task for N participants.

    Arguments:
        task: Whose rules they are.
        designs: What each participant is run at, (N, B, V).
        rng: Where the luck of outcomes comes from.
    """

    compiled: ClassVar[Any] = None
    """The same rules for one participant as a numba function, if there is one, for models that are compiled: see `models/kernel.py`."""

    def __init__(self, task: Task, designs: Floats, rng: np.random.Generator) -> None:
        self.task, self.designs, self.rng = task, designs, rng
        self.block, self.trial, self.lengths = 0, 0, task.lengths(designs)
        self._recorded = task.nothing(len(designs))
        self.state: dict[str, NDArray[Any]] = {}
        """What the rules themselves have to remember, beyond what was recorded; saved and restored with the rest."""
        self.missed = np.zeros(len(designs), bool)
        """Who gave no response in the trial that `learn` is told of, (N,): what stands in the place of a response says nothing."""

    @abstractmethod
    def draw(self, responses: Values) -> dict[str, NDArray[Any]]:
        """Draw the outcomes of the present trial for these responses, (N,) each, given all that was recorded before."""

    def learn(self, responses: Values, outcomes: Values) -> None:  # noqa: B027  (a hook: most rules remember nothing)
        """Bring `state` up to date after a trial; for rules that depend on what happened before. Who gave no response is in `missed`."""

    @property
    def done(self) -> bool:
        """Is the experiment over?"""
        return self.block >= self.task.blocks

    @property
    def behavior(self) -> Behavior:
        """What was recorded so far."""
        return Behavior(self._recorded.fields, self._recorded.mask)

    def before(self, name: str) -> NDArray[Any]:
        """What a field held in the earlier trials of the present block, (N, t)."""
        return self._recorded.fields[name][:, self.block, : self.trial]

    def step(self, responses: Mapping[str, ArrayLike], missed: ArrayLike = False) -> dict[str, NDArray[Any]]:
        """Play the present trial and go on to the next.

        Arguments:
            responses: A value for each participant and each field that participants give, (N,); or one value for all.
            missed: Who did not respond, (N,): nothing is recorded for them.

        Returns:
            The outcomes, (N,) each.
        """
        if self.done:
            raise DataError("The experiment is over: there is no further trial.", expected=f"at most {self.task.blocks} blocks")
        given = self._checked(responses, np.asarray(missed, bool))
        outcomes = self.draw(given)
        self.follow(given, outcomes, missed)
        return outcomes

    def follow(self, responses: Values, outcomes: Values, missed: ArrayLike = False) -> None:
        """Record a trial whose outcomes are known already, and go on to the next."""
        at, played = np.s_[:, self.block, self.trial], (self.trial < self.lengths[:, self.block]) & ~np.asarray(missed, bool)
        for name, values in {**responses, **outcomes}.items():
            self._recorded.fields[name][at] = np.where(played, values, 0)
        self._recorded.mask[at], self.missed = played, ~played
        self.learn(responses, outcomes)
        self.trial += 1
        if self.trial >= self.lengths[:, self.block].max(initial=0):
            self.block, self.trial = self.block + 1, 0

    def save(self) -> dict[str, Any]:
        """All that is needed to go on, as JSON can hold it."""
        kept = {"rng": self.rng.bit_generator.state, "fields": self._recorded.fields, "mask": self._recorded.mask, "state": self.state}
        return {"block": self.block, "trial": self.trial, **plain(kept)}

    def restore(self, saved: Mapping[str, Any]) -> None:
        """Go on from what `save` gave."""
        self.block, self.trial = int(saved["block"]), int(saved["trial"])
        self.rng.bit_generator.state = saved["rng"]
        fields = {f.name: np.array(saved["fields"][f.name], f.dtype) for f in self.task.fields}
        self._recorded = Behavior(fields, np.array(saved["mask"], bool))
        self.state = {name: np.array(values) for name, values in saved["state"].items()}

    def _checked(self, responses: Mapping[str, ArrayLike], missed: NDArray[np.bool_]) -> dict[str, NDArray[Any]]:
        names, where = [f.name for f in self.task.responses], f"block {self.block}, trial {self.trial} (counted from 0)"
        if sorted(responses) != sorted(names):
            expected, got = ", ".join(names), ", ".join(responses)
            raise DataError("These are not the responses of the task.", where=where, expected=expected, got=got)
        given = {}
        for field in self.task.responses:
            values = np.broadcast_to(responses[field.name], (len(self.designs),))
            wrong = ~missed & ~field.allows(values)
            if wrong.any():
                got = f"{values[wrong][0]} from participant {int(np.argmax(wrong))}"
                raise DataError(f"This is no '{field.name}'.", where=where, expected=field.allowed, got=got)
            given[field.name] = np.where(missed, 0, values).astype(field.dtype)
        return given


class NoOutcomes(Environment):
    """The rules of a task that only records responses."""

    def draw(self, responses: Values) -> dict[str, NDArray[Any]]:
        return {}


def plain(value: Any) -> Any:
    """Arrays and numbers of NumPy's, in dictionaries and sequences, as JSON can hold them."""
    if isinstance(value, Mapping):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, (tuple, list)):
        return [plain(item) for item in value]
    return value.tolist() if isinstance(value, (np.ndarray, np.generic)) else value
