"""The functions of an agent, and how the loop over trials calls them.

A function asks for what it needs by the names of its arguments, after `self`:

    state                  what `start` gave, as `learn` left it
    choice, reward, …      the fields of the task: the response in `log_density` and `learn`, the outcomes in `learn`
    delay, amount, …       the block's value of a design variable, in tasks that show it; `design` is the whole row, (V,)
    arms, noise, …         a setting of the task that is a number
    block, trial           which block it is, and how many of its trials were seen before
    stream                 where random numbers come from, in `respond`; elsewhere if the agent is declared to be `latent`

`self` is the participant: its parameters and the agent's options, by name. What nobody could know yet cannot be asked for.
"""

from __future__ import annotations

import inspect
import sys
from dataclasses import dataclass
from types import FunctionType
from typing import Any, Mapping

from ..errors import ModelError, nearest
from ..tasks.base import Task
from .kernel import settings_of

ROLES = ("start", "choose", "respond", "log_density", "learn")
ALWAYS = {"start": ("block",), **dict.fromkeys(ROLES[1:], ("state", "block", "trial"))}
"""What each function may ask for, whatever the task."""


@dataclass(frozen=True)
class Roles:
    """The functions of one agent.

    Arguments:
        name: The agent's name.
        functions: Role to function.
        parameters: Their names.
        latent: Are random numbers drawn that nobody sees?
        resets: Does each block begin with a new state?
    """

    name: str
    functions: Mapping[str, FunctionType]
    parameters: tuple[str, ...]
    latent: bool
    resets: bool

    def asked(self, role: str) -> tuple[str, ...]:
        """The names that a function asks for."""
        return tuple(inspect.signature(self.functions[role]).parameters)[1:]

    def where(self, role: str) -> str:
        """The line at which a function begins."""
        return first_line(self.functions[role])

    @property
    def has_likelihood(self) -> bool:
        return not self.latent and ("choose" in self.functions or "log_density" in self.functions)

    def call(self, role: str, task: Task) -> str:
        """The call of a function, in the loop's own names."""
        values = ", ".join(["me(theta)", *(self._value(name, role, task) for name in self.asked(role))])
        return f"user_{role}({values})"

    def _value(self, name: str, role: str, task: Task) -> str:
        known = self._known(role, task)
        if name in known:
            return known[name]
        why, fix = f"the task '{task.name}' does not have", nearest(name, known)
        if name in {f.name for f in task.fields} | {*_shown(task, True)} | {"stream"}:
            why, fix = "a participant does not know at that time", _advice(name, role, task)
        what = f"The function '{role}' of '{self.name}' asks for '{name}', which {why}."
        raise ModelError(what, where=self.where(role), expected=", ".join(known), got=name, fix=fix)

    def _known(self, role: str, task: Task) -> dict[str, str]:
        """What a function may ask for, in the loop's own names."""
        settings = enumerate(settings_of(task).items(), 1)
        known = {name: _whole(f"numbers[{i}]", not isinstance(value, float)) for i, (name, value) in settings}
        known |= _shown(task, not task.design_acts_through_data)
        if role in ("log_density", "learn"):
            known |= {f.name: "response" for f in task.responses}
        if role == "learn":
            discrete = ("categorical", "binary", "count")
            known |= {f.name: _whole(f"outcome[{o}]", f.kind in discrete) for o, f in enumerate(task.outcomes)}
        known |= {name: name for name in ALWAYS[role]}
        return known | ({"stream": "stream"} if role == "respond" or (self.latent and role != "log_density") else {})


def _whole(expression: str, discrete: bool) -> str:
    return f"int({expression})" if discrete else expression


def _shown(task: Task, shown: bool) -> dict[str, str]:
    """The design variables of a block, if participants see them."""
    names = {name.replace(" ", "_"): f"design[{v}]" for v, name in enumerate(task.design_space.names)}
    return {**{name: value for name, value in names.items() if name.isidentifier()}, "design": "design"} if shown else {}


def _advice(name: str, role: str, task: Task) -> str:
    if name == "stream":
        return "declare that something is drawn that nobody sees: @ta.agent(…, latent=True); it then has no likelihood"
    if name in [f.name for f in task.fields]:
        return f"keep in the state what '{role}' needs of earlier trials: `learn` is given each '{name}' once it is known"
    return "in this task participants do not see the design; let `learn` learn from what is recorded"


def check_responses(roles: Roles, task: Task) -> None:
    """Raise a `ModelError` unless the task asks for one response that the agent can give."""
    if len(task.responses) != 1:
        got = ", ".join(f.name for f in task.responses) or "none"
        fix = "write the theory as a function of one participant, @ta.model; see docs/how-to/extending/model.md"
        raise ModelError(f"The agent '{roles.name}' gives one response.", expected=f"one in the task '{task.name}'", got=got, fix=fix)
    response = task.responses[0]
    if "choose" in roles.functions and response.kind not in ("categorical", "binary"):
        raise ModelError(
            f"The function 'choose' of '{roles.name}' is for categories.",
            where=roles.where("choose"),
            expected=f"the response '{response.name}' of '{task.name}' to be categorical or binary",
            got=response.kind,
            fix="write `respond`, which draws it, and `log_density`, if it has one",
        )


def first_line(function: FunctionType) -> str:
    """The line at which a function begins."""
    return f"{function.__code__.co_filename}, line {function.__code__.co_firstlineno}"


def line_of_return(function: FunctionType, call: Any) -> str:
    """The line at which a function returns when something is called."""
    lines = [function.__code__.co_firstlineno]

    def watch(frame: Any, event: str, _: Any) -> None:
        if event == "return" and frame.f_code is function.__code__:
            lines.append(frame.f_lineno)

    before = sys.getprofile()
    sys.setprofile(watch)
    try:
        call()
    finally:
        sys.setprofile(before)
    return f"{function.__code__.co_filename}, line {lines[-1]}"
