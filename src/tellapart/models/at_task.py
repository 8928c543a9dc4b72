"""An agent at a task: its functions in the form in which the loop over trials calls them, uncompiled and compiled.

What a function asks for by name (`roles.py`) becomes a call with the loop's own names (`kernel.py`), as a line of text: for Q-learning

    def learn(theta, state, response, outcome, design, block, trial, numbers, stream):
        return user_learn(me(theta), state, response, int(outcome[0]))

so that the interpreter and the compiler run the same.
"""

from __future__ import annotations

import re
from collections import namedtuple
from functools import cached_property
from typing import Any, Callable, Mapping

import numpy as np

from ..behavior import MOST
from ..errors import ModelError
from ..tasks.base import Task
from ..tasks.environment import NoOutcomes
from .base import Floats
from .choices import drawn, log_share
from .compiled import WRITTEN, jitted, why_not
from .failures import line_of, words
from .kernel import Kernel, nothing, numbers_of
from .roles import Roles, check_responses

MADE = ("begin", "draw", "log_p", "learn", "shares", "read", "valid")
VALID = {
    **dict.fromkeys(("categorical", "binary"), "0 <= value < numbers[0] and value == int(value)"),
    "count": f"0 <= value <= {MOST} and value == int(value)",
    "real": "np.isfinite(value)",
    "positive": "0 < value < np.inf",
}
"""Which responses of each kind can be recorded as they are: what a participant learns from is what is recorded."""


class AtTask:
    """One agent at one task.

    Arguments:
        roles: The functions of the agent.
        options: Its options, by name.
        middle: Parameters with which each function is called once, to see what it returns, (P,).
    """

    def __init__(self, roles: Roles, options: Mapping[str, Any], middle: Floats, task: Task) -> None:
        check_responses(roles, task)
        self.roles, self.task, self._middle = roles, task, middle
        self._calls = {role: roles.call(role, task) for role in roles.functions}
        person = namedtuple("Participant", [*roles.parameters, *options])  # type: ignore[misc]
        self._names: dict[str, Any] = {"Participant": person, "drawn": drawn, "log_share": log_share, "pair": _pair, "np": np}
        self._names |= {f"option_{name}": value for name, value in options.items()}
        self._values = [*(f"theta[{p}]" for p in range(len(roles.parameters))), *(f"option_{name}" for name in options)]
        self._returns_state, self._one_share = True, False
        self._call_each_once()
        self.plain = self._functions()
        """The functions as the interpreter runs them."""

    @property
    def rules(self) -> Any:
        """The compiled rules of the task; None if there are none."""
        return nothing if self.task.rules is NoOutcomes else self.task.rules.compiled

    @cached_property
    def reason(self) -> str | None:
        """Why the agent is not compiled, with the line; None if it is."""
        return self._compiled if isinstance(self._compiled, str) else None

    @property
    def simulator(self) -> Kernel | None:
        """The compiled loop, if both the agent and the rules are compiled."""
        return None if self.rules is None else self.scorer

    @property
    def scorer(self) -> Kernel | None:
        """The compiled loop for recorded behavior, which needs no rules."""
        return None if isinstance(self._compiled, str) else self._compiled

    @cached_property
    def _compiled(self) -> Kernel | str:
        functions = self._functions(jitted)
        try:
            return Kernel({**functions, "pays": self.rules or nothing}, self.task.responses[0].dtype)
        except Exception as error:
            return self._of_one_kind(why_not(error))

    def _of_one_kind(self, reason: str) -> str:
        """The reason, with the line if it is that the state changes its kind."""
        kinds = re.match(r"Cannot unify (.+) and (.+) for 'state", reason)
        if kinds is None or "learn" not in self.roles.functions:
            return reason
        told = f"the state begins as {kinds[1]} and goes on as {kinds[2]}; let `start` give what `learn` gives, 0.0 and not 0"
        return f"{self.roles.where('learn')}: {told}"

    def _functions(self, form: Callable[[Any], Any] = lambda function: function) -> dict[str, Any]:
        """The functions that `kernel.py` names, around those that the user wrote, in a form of theirs."""
        names = self._names | {f"user_{role}": form(function) for role, function in self.roles.functions.items()}
        exec(compile(self._source(), f"{WRITTEN}{self.roles.name}>", "exec"), names)  # text of our own: see below
        return {**{name: names[name] for name in MADE}, "returns": self._returns_state, "resets": self.roles.resets}

    def _source(self) -> str:
        calls, later, kind = self._calls, "design, block, trial, numbers", self.task.responses[0].kind
        shares = calls.get("choose", "np.zeros(0)")
        shares = f"pair({shares})" if self._one_share else f"np.asarray({shares})"
        draw = calls.get("respond", f"drawn({shares}, int(numbers[0]), stream)")
        log_p = f"log_share({shares}, int(numbers[0]), response)" if "choose" in calls else calls.get("log_density", "0.0")
        learn = calls.get("learn", "state")
        functions = {
            "me(theta)": f"return Participant({', '.join(self._values)})",
            "begin(theta, design, block, numbers, stream)": f"return {calls.get('start', '0')}",
            f"draw(theta, state, {later}, stream)": f"return {draw}",
            f"log_p(theta, state, response, {later})": f"return {'0.0' if self.roles.latent else log_p}",
            f"learn(theta, state, response, outcome, {later}, stream)": f"return {learn}"
            if self._returns_state
            else f"{learn}; return state",
            f"shares(theta, state, {later}, stream)": f"return {shares}",
            # of one type, however it is recorded
            "read(value)": f"return {'float(value)' if kind in ('real', 'positive') else 'int(np.int64(value))'}",
            "valid(value, numbers)": f"return {VALID[kind]}",
        }
        return "".join(f"def {head}:\n    {body}\n" for head, body in functions.items())

    def _call_each_once(self) -> None:
        """Does `learn` return the state, or change it where it is? Does `choose` give one probability, or one for each category?"""
        design = np.asarray(self.task.baseline(1, np.random.default_rng(0)), dtype=np.float64)[0, 0]
        numbers, stream, outcome = numbers_of(self.task), np.ones(1, np.uint64), np.zeros(len(self.task.outcomes))
        plain = self._functions()
        try:
            with np.errstate(all="ignore"):
                state = plain["begin"](self._middle, design, 0, numbers, stream)
                now = state, design, 0, 0, numbers
                if "choose" in self._calls:
                    shares = plain["shares"](self._middle, *now, stream)
                    self._one_share = np.ndim(shares) == 0
                    if shares.dtype == object:
                        self._refuse_shares(shares)
                if "respond" in self._calls:
                    plain["draw"](self._middle, *now, stream)
                if "learn" in self._calls:
                    read = plain["read"](1)
                    left = plain["learn"](self._middle, state, read, outcome, *now[1:], stream)
                    self._returns_state = left is not None
                    if left is None and not _changeable(state):
                        self._refuse_learning("the state is a number, which cannot be changed where it is")
                    after = state if left is None else left
                    again = plain["learn"](self._middle, after, read, np.ones_like(outcome), *now[1:], stream)
                    if (again is None) != (left is None):
                        self._refuse_learning("it returns a state in some cases and nothing in others")
        except ModelError:
            raise
        except Exception as error:
            raise ModelError(f"'{self.roles.name}' failed.", where=line_of(error), got=words(error), fix="mend that line") from error

    def _refuse_learning(self, why: str) -> None:
        raise ModelError(
            f"What the function 'learn' of '{self.roles.name}' learns would be lost.",
            where=self.roles.where("learn"),
            expected="nothing returned, if it changes arrays where they are; or always the new state",
            got=why,
            fix="let it return the state in every case",
        )

    def _refuse_shares(self, shares: Any) -> None:
        nothing_given = shares.ndim == 0 and shares.item() is None
        raise ModelError(
            f"The function 'choose' of '{self.roles.name}' does not give probabilities.",
            where=self.roles.where("choose"),
            expected="the probability of each choice; for yes or no, the probability of yes",
            got="nothing" if nothing_given else str(shares),
            fix="let its last line return them" if nothing_given else "give an array or a list of numbers",
        )


def _changeable(state: Any) -> bool:
    """Is there anything in a state that can be changed where it is?"""
    return any(map(_changeable, state)) if isinstance(state, tuple) else not (np.isscalar(state) or state is None)


def _pair(share: Any) -> Any:
    """The probabilities of 0 and of 1."""
    return np.array([1.0 - share, share])
