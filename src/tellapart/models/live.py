"""An agent as a live participant: given what happened so far, what would it do next?

    person = agent.live({"alpha": 0.3, "beta": 5.0}, task, seed=1)
    person.begin(design[0])                          # a block begins
    person.probabilities()                           # of each choice
    responses = person.respond()                     # {"choice": 2}
    person.learn(responses, {"reward": 1})           # what it led to

Between trials it can be kept as plain data that JSON can hold (`save`), and go on in another process (`restore`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Mapping

import numpy as np
from numpy.typing import ArrayLike

from ..errors import ModelError
from ..tasks.environment import plain
from .base import Floats
from .kernel import numbers_of
from .roles import line_of_return
from .streams import started

if TYPE_CHECKING:
    from ..tasks.base import Task
    from .agents import Agent


class LiveParticipant:
    """One participant, in plain Python.

    Arguments:
        agent: Who it is like.
        parameters: Name to value.
        task: What it does.
        seed: Where its randomness starts: the same seed, the same responses.
    """

    def __init__(self, agent: Agent, parameters: Mapping[str, float], task: Task, seed: int) -> None:
        self.task, self._agent, self._field, self._outcomes = task, agent, task.responses[0], [f.name for f in task.outcomes]
        self._theta = np.array([float(parameters[name]) for name in agent.parameters])
        self._functions, self._numbers = agent.at(task).plain, numbers_of(task)
        self._stream, self._design = started(np.array([seed % 2**53]))[0, :1], np.zeros(len(task.design_space.variables))
        self.block, self.trial, self._state = -1, 0, None

    def begin(self, design: ArrayLike) -> None:
        """The next block begins, with its row of the design, (V,)."""
        self.block, self.trial, self._design = self.block + 1, 0, np.asarray(design, dtype=np.float64)
        if self.block == 0 or self._agent.resets:
            self._state = self._call("begin", self._theta, self._design, self.block, self._numbers, self._stream)

    def probabilities(self) -> Floats:
        """Of each choice at the present trial, (K,)."""
        if "choose" not in self._agent.roles.functions:
            raise ModelError(f"'{self._agent.name}' says what it does, not how probable it is.", expected="a function 'choose'")
        shares = np.asarray(self._call("shares", *self._now, self._stream.copy()), dtype=np.float64)
        if shares.shape != (int(self._numbers[0]),) or not (shares >= 0).all() or abs(shares.sum() - 1.0) > 1e-6:
            raise self._impossible(shares)
        return np.asarray(shares / shares.sum())

    def respond(self) -> dict[str, Any]:
        """What it does at the present trial, by the name of the field."""
        if "respond" not in self._agent.roles.functions:
            self.probabilities()
        response = self._call("draw", *self._now, self._stream)
        if not self._functions["valid"](response, self._numbers):
            field, where = self._field, self._agent.roles.where("respond")
            raise ModelError(f"'{self._agent.name}' gave no '{field.name}'.", where=where, expected=field.allowed, got=response)
        return {self._field.name: response}

    def log_probability(self, responses: Mapping[str, Any]) -> float:
        """log p of a response at the present trial; for a response that is a number, its log density."""
        theta, state, *rest = self._now
        value = float(self._call("log_p", theta, state, self._response(responses), *rest))
        if np.isnan(value):
            if "choose" in self._agent.roles.functions:
                self.probabilities()  # which says what is wrong with them
            what, where = f"The function 'log_density' of '{self._agent.name}' gives no number.", self._agent.roles.where("log_density")
            got = f"nan for {dict(responses)}, parameters {dict(zip(self._agent.parameters, self._theta.tolist(), strict=True))}"
            raise ModelError(what, where=where, expected="a number, or -np.inf for what cannot happen", got=got)
        return value

    def learn(self, responses: Mapping[str, Any], outcomes: Mapping[str, Any]) -> None:
        """What happened at the present trial; the next one begins. A missed trial is not learned from: leave it out."""
        theta, state, *rest = self._now
        outcome = np.array([float(np.asarray(outcomes[name]).item()) for name in self._outcomes])
        left = self._call("learn", theta, state, self._response(responses), outcome, *rest, self._stream)
        if left is None:
            what = f"The function 'learn' of '{self._agent.name}' returns a state in some cases and nothing in others."
            raise ModelError(what, where=self._agent.roles.where("learn"), fix="let it return the state in every case")
        self._state = left if self._functions["returns"] else state
        self.trial += 1

    def save(self) -> dict[str, Any]:
        """All that is needed to go on, as JSON can hold it."""
        kept = {"block": self.block, "trial": self.trial, "design": self._design.tolist(), "stream": int(self._stream[0])}
        return {**kept, "state": plain(self._state)}

    def restore(self, saved: Mapping[str, Any]) -> None:
        """Go on from what `save` gave."""
        self._design = np.array(saved["design"])
        like = self._call("begin", self._theta, self._design, 0, self._numbers, self._stream.copy())
        self._stream[0], self._state = np.uint64(saved["stream"]), _like(like, saved["state"])
        self.block, self.trial = int(saved["block"]), int(saved["trial"])

    @property
    def _now(self) -> tuple[Any, ...]:
        return self._theta, self._state, self._design, self.block, self.trial, self._numbers

    def _call(self, name: str, *arguments: Any) -> Any:
        with np.errstate(all="ignore"):  # as compiled code does
            return self._functions[name](*arguments)

    def _response(self, responses: Mapping[str, Any]) -> Any:
        field = self._field
        value = np.asarray(responses[field.name]).item()
        if not self._functions["valid"](value, self._numbers):
            raise ModelError(f"'{self._agent.name}' is told of a '{field.name}' that there is not.", expected=field.allowed, got=value)
        return self._functions["read"](value)

    def _impossible(self, shares: Floats) -> ModelError:
        """What is wrong with probabilities, and the line that returned them."""
        where = line_of_return(self._agent.roles.functions["choose"], lambda: self._call("shares", *self._now, self._stream.copy()))
        what = f"The function 'choose' of '{self._agent.name}' does not give probabilities."
        place = f"in block {self.block}, trial {self.trial} (counted from 0)"
        got = f"{np.array2string(shares, precision=6, threshold=12)}, sum {shares.sum():.9g}, {place}"
        return ModelError(what, where=where, expected=f"{int(self._numbers[0])} numbers, 0 or more, that sum to 1", got=got)


def _like(template: Any, plain: Any) -> Any:
    """A state of the same form as `template` from what `plain` made of it."""
    if isinstance(template, tuple):
        parts = [_like(one, other) for one, other in zip(template, plain, strict=True)]
        return type(template)(*parts) if hasattr(template, "_fields") else tuple(parts)
    if isinstance(template, np.ndarray):
        values = np.array(plain)
        return values.astype(np.result_type(template.dtype, values.dtype))  # a state may begin as whole numbers and go on as others
    if template is None or isinstance(template, list):
        return plain
    value = type(template)(plain)
    return value if value == plain else plain
