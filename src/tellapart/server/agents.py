"""The study's models as participants who respond trial by trial, given what has happened so far.

A model simulates whole experiments, and draws outcomes itself. Here the server draws them, so a model must be asked for one response at a
time, in such a way that responses and outcomes together have exactly the distribution that the model gives them. There are four ways:

    by itself          an agent knows what it would do next (`Agent.live`).
    by likelihood      p(response | history) is proportional to the sum over outcomes of p(history, response, outcome), whether or not
                       the likelihood counts the probability of outcomes: the sum is then a constant. For every model with a likelihood
                       whose response is one of a few.
    by environment     a model that plays through `task.environment` is handed one that asks the server.
    by replay          where nothing depends on answers, neither outcomes nor blocks, a whole experiment can be simulated beforehand.

Blocks and designs are in the order of play throughout.
"""

from __future__ import annotations

import copy
import itertools
import queue
import threading
from typing import Any, Callable, Mapping, Protocol, Sequence

import numpy as np

from ..behavior import Behavior, Field
from ..errors import ModelError
from ..models.agents import Agent
from ..models.base import Floats, LikelihoodModel, Model, Parameters
from ..models.logsumexp import logsumexp
from ..models.with_priors import shipped_with
from ..tasks.base import Task
from ..tasks.environment import Values

Responses = dict[str, float]


class LiveAgents(Protocol):
    """n participants of one model who respond when they are asked."""

    def respond(self, behavior: Behavior, block: int, trial: int) -> list[Responses | None]:
        """What each does at a trial, given everything before it; None where the trial is missed."""
        ...

    def learn(self, outcomes: Sequence[Mapping[str, float]]) -> None:
        """What came of it, for each."""
        ...


def live_agents(
    model: Model, parameters: Parameters, designs: Floats, task: Task, rng: np.random.Generator, adaptive: bool = False
) -> LiveAgents:
    """Participants of a model, with parameters name to (n,), at designs (n, B, V), whose later blocks may change if it is adaptive."""
    if not task.outcomes and not adaptive:
        return ByReplay(model, parameters, designs, task, rng)
    agent = shipped_with(model)
    if isinstance(agent, Agent):
        return ByItself(agent, parameters, designs, task, rng)
    discrete = all(f.kind in ("binary", "categorical") for f in (*task.responses, *task.outcomes))
    if isinstance(model, LikelihoodModel) and discrete:
        return ByLikelihood(model, parameters, designs, task, rng)
    if not task.outcomes:
        return ByReplay(model, parameters, designs, task, rng)
    if plays_through_environment(model, parameters, designs, task):
        return ByEnvironment(model, parameters, designs, task, rng)
    raise ModelError(
        f"The model '{model.name}' cannot take part trial by trial.",
        expected="a likelihood of choices, or a simulator that plays through task.environment(designs, rng)",
        got="a simulator that draws outcomes itself, where the server must draw them",
        fix="simulate the other models, or give this one a likelihood",
    )


class ByReplay:
    """Whole experiments, simulated beforehand: right where nothing that the task does can matter."""

    def __init__(self, model: Model, parameters: Parameters, designs: Floats, task: Task, rng: np.random.Generator) -> None:
        self._behavior = model.simulate(parameters, designs, rng, task)

    def respond(self, behavior: Behavior, block: int, trial: int) -> list[Responses | None]:
        made, there = self._behavior, self._behavior.mask[:, block, trial]
        return [
            {name: values[i, block, trial].item() for name, values in made.fields.items()} if there[i] else None for i in range(len(made))
        ]

    def learn(self, outcomes: Sequence[Mapping[str, float]]) -> None:
        """Nothing: it was all decided before."""


class ByItself:
    """Agents, each asked what it would do next."""

    def __init__(self, model: Agent, parameters: Parameters, designs: Floats, task: Task, rng: np.random.Generator) -> None:
        self._designs, self._task = designs, task
        seeds = rng.integers(0, 2**53, len(designs))
        each = [{name: float(np.asarray(values)[i]) for name, values in parameters.items()} for i in range(len(designs))]
        self._people = [model.live(theta, task, int(seed)) for theta, seed in zip(each, seeds, strict=True)]
        self._given: list[Responses | None] = []

    def respond(self, behavior: Behavior, block: int, trial: int) -> list[Responses | None]:
        for person, design in zip(self._people, self._designs, strict=True):
            if trial == 0:
                person.begin(design[block])
        there = trial < self._task.lengths(self._designs)[:, block]  # as the block turned out to be, not as it was planned
        self._given = [_numbers(person.respond()) if playing else None for person, playing in zip(self._people, there, strict=True)]
        return self._given

    def learn(self, outcomes: Sequence[Mapping[str, float]]) -> None:
        for person, responses, came in zip(self._people, self._given, outcomes, strict=True):
            if responses is not None:
                person.learn(responses, came)


def _numbers(responses: Mapping[str, Any]) -> Responses:
    return {name: float(np.asarray(value).item()) for name, value in responses.items()}


class ByLikelihood:
    """The next response drawn from the model's own likelihood."""

    def __init__(self, model: LikelihoodModel, parameters: Parameters, designs: Floats, task: Task, rng: np.random.Generator) -> None:
        self._model, self._parameters, self._designs, self._task, self._rng = model, parameters, designs, task, rng
        self._responses, self._outcomes = _combinations(task.responses), _combinations(task.outcomes)

    def respond(self, behavior: Behavior, block: int, trial: int) -> list[Responses | None]:
        log_p = self._log_probabilities(behavior, block, trial)
        chosen = (log_p + self._rng.gumbel(size=log_p.shape)).argmax(1)
        return [dict(self._responses[i]) for i in chosen]

    def learn(self, outcomes: Sequence[Mapping[str, float]]) -> None:
        """Nothing: the history says it."""

    def _log_probabilities(self, behavior: Behavior, block: int, trial: int) -> Floats:
        """log p(response | history) up to a constant, (n, responses)."""
        n, candidates = len(behavior), [a | b for a, b in itertools.product(self._responses, self._outcomes)]
        who = np.repeat(np.arange(n), len(candidates))
        fields = {name: values[who].copy() for name, values in behavior.fields.items()}
        mask = behavior.mask[who].copy()
        mask[:, block, trial] = True
        for name, values in fields.items():
            values[:, block, trial] = np.tile([candidate[name] for candidate in candidates], n)
        theta = {name: np.asarray(values)[who] for name, values in self._parameters.items()}
        log_p = self._model.log_likelihood(theta, Behavior(fields, mask), self._designs[who], self._task)
        return np.asarray(logsumexp(log_p.reshape(n, len(self._responses), len(self._outcomes)), axis=2))


def _combinations(fields: tuple[Field, ...]) -> list[Responses]:
    """All values that some fields can take together."""
    values = [range(field.levels or 2) for field in fields]
    return [dict(zip((field.name for field in fields), map(float, picked), strict=True)) for picked in itertools.product(*values)]


class ByEnvironment:
    """Simulators that play through `task.environment`: each runs in a thread of its own and waits for the server at every trial."""

    def __init__(self, model: Model, parameters: Parameters, designs: Floats, task: Task, rng: np.random.Generator) -> None:
        self._people = [
            _Playing(model, {name: np.asarray(values)[[i]] for name, values in parameters.items()}, designs[[i]], task, child)
            for i, child in enumerate(rng.spawn(len(designs)))
        ]

    def respond(self, behavior: Behavior, block: int, trial: int) -> list[Responses | None]:
        lengths = [person.length(block) for person in self._people]
        return [person.responses() if trial < length else None for person, length in zip(self._people, lengths, strict=True)]

    def learn(self, outcomes: Sequence[Mapping[str, float]]) -> None:
        for person, outcome in zip(self._people, outcomes, strict=True):
            person.outcomes(outcome)


class _Playing:
    """One simulated participant who plays in a thread."""

    def __init__(self, model: Model, parameters: Parameters, designs: Floats, task: Task, rng: np.random.Generator) -> None:
        self._asked: queue.Queue[Responses | BaseException] = queue.Queue()
        self._told: queue.Queue[Mapping[str, float]] = queue.Queue()
        self._lengths, self._waiting = task.lengths(designs)[0], False
        elsewhere = with_environment(task, self._draw)

        def play() -> None:
            try:
                model.simulate(parameters, designs, rng, elsewhere)
            except BaseException as error:
                self._asked.put(error)

        threading.Thread(target=play, daemon=True).start()

    def length(self, block: int) -> int:
        return int(self._lengths[block])

    def responses(self) -> Responses:
        given = self._asked.get(timeout=60)
        if isinstance(given, BaseException):
            raise given
        self._waiting = True
        return given

    def outcomes(self, outcomes: Mapping[str, float]) -> None:
        if self._waiting:
            self._waiting = False
            self._told.put(outcomes)

    def _draw(self, responses: Values) -> dict[str, Any]:
        self._asked.put({name: float(values[0]) for name, values in responses.items()})
        return {name: np.array([value]) for name, value in self._told.get(timeout=600).items()}


def with_environment(task: Task, draw: Callable[[Values], dict[str, Any]]) -> Task:
    """The task with rules whose outcomes come from elsewhere."""
    rules = type("Elsewhere", (task.rules,), {"draw": lambda self, responses: draw(responses)})
    elsewhere = copy.copy(task)
    object.__setattr__(elsewhere, "rules", rules)
    return elsewhere


def plays_through_environment(model: Model, parameters: Parameters, designs: Floats, task: Task) -> bool:
    """Does the simulator ask the task's environment for every outcome?"""
    count = 0

    def draw(responses: Values) -> dict[str, Any]:
        nonlocal count
        count += 1
        return {f.name: np.zeros(len(next(iter(responses.values()))), f.dtype) for f in task.outcomes}

    one = {name: np.asarray(values)[[0]] for name, values in parameters.items()}
    model.simulate(one, designs[[0]], np.random.default_rng(0), with_environment(task, draw))
    return count == int(task.lengths(designs[[0]]).sum())
