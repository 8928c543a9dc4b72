"""Is this agent fit to be used? What can be said of an agent beyond what is checked of any model, with the line.

Its functions ask for nothing that a participant does not know yet (`models/roles.py` refuses it); participants do not share what they
remember; what it learns is kept; to be asked is not to learn; what it draws has the probabilities that it says; compiled and
uncompiled it does the same.
"""

from __future__ import annotations

import re
import warnings
from typing import Any, Callable

import numpy as np

from ..bandits.model import BanditModel
from ..behavior import Behavior
from ..models.agents import Agent, NotCompiled
from ..models.base import Model
from ..models.chance import beyond_chance, standardised
from ..models.failures import Failure
from ..models.live import LiveParticipant
from ..models.python import ParticipantModel, simulate_person
from ..models.with_priors import shipped_with
from ..priors import medians, sample_priors
from ..tasks.base import Task
from ..tasks.environment import plain
from ..tasks.sampling import spread
from .findings import Findings

TRIALS, PEOPLE = 12, 6
"""Trials that are played in plain Python, and participants who do."""
DRAWN = 1500
"""Participants whose responses are held against the probabilities that they say."""


def check_agent(model: Model, task: Task, findings: Findings, seed: int) -> None:
    """Check an agent at a task; says nothing of other models."""
    agent = shipped_with(model)
    if isinstance(agent, Agent):
        checker = _AgentChecker(agent, model, task, findings, seed)
        for check in (checker.starts_anew, checker.keeps_what_it_learns, checker.keeps_to_itself, checker.answers_without_learning):
            check()
        if findings.sound:  # to compile takes seconds, and a mistake is told at once
            for check in (checker.is_compiled, checker.draws_as_it_says, checker.does_the_same_compiled):
                check()


def how_it_runs(model: Model, task: Task) -> str:
    """In a word, if that can be told: a class of its own may do anything."""
    shipped = shipped_with(model)
    if isinstance(shipped, Agent):
        return "not compiled" if shipped.not_compiled(task) else "compiled"
    return "compiled" if isinstance(shipped, BanditModel) else "not compiled" if isinstance(shipped, ParticipantModel) else ""


class _AgentChecker:
    """Checks of one agent at one task."""

    def __init__(self, agent: Agent, model: Model, task: Task, findings: Findings, seed: int) -> None:
        self.agent, self.task, self.findings, self.name = agent, task, findings, agent.name
        rng = np.random.default_rng([seed, 20])
        draws = sample_priors(model.parameters, PEOPLE, rng)
        self.people = [medians(model.parameters), *({name: float(v[i]) for name, v in draws.items()} for i in range(PEOPLE - 1))]
        self.designs = spread(task.design_space, PEOPLE, rng)

    def is_compiled(self) -> None:
        reason = self.agent.not_compiled(self.task)
        if reason is None:
            return
        place = re.match(r"(.+?, line \d+): (.*)", reason)
        where, got = (place[1], place[2]) if place else (None, reason)
        fix = "write that line with numbers, arrays, tuples and loops; see docs/reference/agents.md for what can be compiled"
        if self.agent.at(self.task).rules is None:
            fix = f"give {self.task.rules.__name__} its rules a second time, compiled: docs/reference/agents.md, What can be compiled"
        self.findings.warning(f"'{self.name}' is not compiled: it runs as plain Python, which is slow.", fix, where=where, got=got)
        warnings.simplefilter("ignore", NotCompiled)  # it has been said

    def starts_anew(self) -> None:
        """Two participants begin with states of their own."""
        states = [_arrays(self._begun(0)._state) for _ in range(2)]
        if any(np.shares_memory(one, other) for one in states[0] for other in states[1]):
            fix = "make the state inside of `start`, for example np.zeros(arms); what is made outside of it exists once"
            what = f"The participants of '{self.name}' share one state: what one of them learns, the next one knows."
            self.findings.error(what, fix, where=self.agent.roles.where("start"))

    def keeps_to_itself(self) -> None:
        """A participant does the same whoever took part before."""
        before, _, after = (self._played(person) for person in (0, 1, 0))
        if before != after and self.findings.sound:
            role = "learn" if "learn" in self.agent.roles.functions else "choose"
            fix = "keep what is remembered in the state, and change nothing else: no global variables, no default arguments"
            what = f"A participant of '{self.name}' does something else once others have taken part."
            self.findings.error(what, fix, where=self.agent.roles.where(role))

    def keeps_what_it_learns(self) -> None:
        """Numbers beside arrays change only in a state that `learn` returns."""
        roles, state = self.agent.roles, self._begun(0)._state
        numbers = isinstance(state, tuple) and any(np.isscalar(part) for part in state)
        if "learn" in roles.functions and numbers and not roles.latent and not self.agent.at(self.task).plain["returns"]:
            what = f"The function 'learn' of '{self.name}' returns nothing, so the numbers in its state stay what they were."
            fix = "return the new state, or keep in arrays what changes; what is to stay can be an option"
            self.findings.warning(what, fix, where=roles.where("learn"))

    def answers_without_learning(self) -> None:
        """Nothing but `learn` changes the state: a participant may be asked more than once, and nobody records that it was."""
        roles, rng, person, responses = self.agent.roles, np.random.default_rng(23), self._begun(0), dict[str, Any]()
        words = {"choose": "be asked for its probabilities", "respond": "respond", "log_density": "be asked for a density"}
        for _ in range(TRIALS):
            asks: dict[str, Callable[[], Any]] = {
                "choose": person.probabilities,
                "respond": lambda: responses.update(person.respond()),
                "log_density": lambda: person.log_probability(responses),
            }
            for role, ask in asks.items():
                before = _told(person._state)
                if role in roles.functions or role == "respond":
                    ask()
                if role in roles.functions and _told(person._state) != before and not (roles.latent and role == "respond"):
                    fix = "work on a copy, state.copy(), and change the state in `learn` alone: a participant may be asked more than once"
                    what = f"To {words[role]} changes the state of '{self.name}'."
                    self.findings.error(what, fix, where=roles.where(role))
                    return
            person.learn(*self._trial(responses, rng))

    def does_the_same_compiled(self) -> None:
        """Compiled code knows no whole numbers beyond 64 bits, and no division by zero; two participants are no rounding error."""
        kernel = self.agent.at(self.task).simulator
        if kernel is None or not self.findings.sound:
            return
        theta, seeds = np.array([[*person.values()] for person in self.people]).reshape(PEOPLE, -1), np.arange(PEOPLE)
        try:
            compiled, failed = kernel.go_on(theta, self.task.nothing(PEOPLE), self.designs, range(self.task.blocks), seeds, self.task)
        except Exception:  # who fails is told of where participants are simulated
            return
        written = [simulate_person(self.agent, (person, self.designs[i], i), self.task) for i, person in enumerate(self.people)]
        others = [i for i in range(PEOPLE) if not failed[i] and not _same(compiled[[i]], written[i])]
        if len(others) > 1:
            first = written[others[0]]
            fix = "keep whole numbers below 2**63, divide by nothing that can be 0, and let the state keep its kind: 0.0, not 0"
            what, got = f"'{self.name}' does something else when it is compiled.", f"{len(others)} of {PEOPLE} participants"
            told = (f"{got}; in plain Python: {first.error}", first.where) if isinstance(first, Failure) else (got, None)
            self.findings.error(what, fix, where=told[1], got=told[0])

    def draws_as_it_says(self) -> None:
        """An agent that has both `respond` and `choose` draws with the probabilities that it says."""
        if not {"respond", "choose"} <= {*self.agent.roles.functions} or self.agent.roles.latent:
            return
        levels = int(self._begun(0)._numbers[0])

        def differences(again: int, n: int) -> dict[str, float]:
            rng, x = np.random.default_rng([again, 21]), np.zeros((2, levels))
            for i in range(n):
                person = self._begun(i % PEOPLE, seed=1000 * again + i)
                for _ in range(i % TRIALS):
                    person.learn(*self._trial(person.respond(), rng))
                shares, drawn = person.probabilities(), person.respond()
                rank = np.argsort(np.argsort(-shares, kind="stable"))  # the most probable first: arms may differ in both directions
                difference = np.eye(levels)[rank[int(*drawn.values())]] - np.eye(levels)[rank[rng.choice(levels, p=shares)]]
                x += np.stack([difference, difference**2])
            return {str(k): float(standardised(x[0, k], x[1, k])) for k in range(levels)}

        if beyond_chance(differences, DRAWN):
            what = f"'{self.name}' does not respond with the probabilities that it says it chooses with."
            self.findings.error(what, "compare `respond` with `choose`", where=self.agent.roles.where("respond"))

    def _begun(self, i: int, seed: int = 3) -> LiveParticipant:
        """A participant at the beginning of the first block."""
        person = self.agent.live(self.people[i], self.task, seed)
        person.begin(self.designs[i, 0])
        return person

    def _played(self, i: int) -> list[Any]:
        """What a participant does and knows, trial by trial."""
        person, rng, told = self._begun(i), np.random.default_rng([i, 22]), []
        for _ in range(TRIALS):
            responses = person.respond()
            person.learn(*self._trial(responses, rng))
            told.append([{name: float(value) for name, value in responses.items()}, _told(person._state)])
        return told

    def _trial(self, responses: dict[str, Any], rng: np.random.Generator) -> tuple[dict[str, Any], dict[str, float]]:
        """Responses, and outcomes that the task could record."""
        ends = {"binary": 2, "count": 5}
        kinds = {f.name: (f.kind, ends.get(f.kind, f.levels or 1)) for f in self.task.outcomes}
        return responses, {
            name: float(rng.random() if kind in ("real", "positive") else rng.integers(0, end)) for name, (kind, end) in kinds.items()
        }


def _told(state: Any) -> str:
    """A state in words: what is no number is the same as itself."""
    return repr(plain(state))


def _same(one: Behavior, other: Behavior | Failure) -> bool:
    """Is it the same participant, up to rounding?"""
    if isinstance(other, Failure):
        return False
    return all(np.allclose(values, other.fields[name], rtol=1e-6) for name, values in one.fields.items())


def _arrays(state: Any) -> list[Any]:
    """The arrays that a state is made of."""
    if isinstance(state, (tuple, list)):
        return [array for part in state for array in _arrays(part)]
    return [state] if isinstance(state, np.ndarray) else []
