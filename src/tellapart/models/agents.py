"""Agents: a theory as what a participant believes, how it chooses, how it learns.

    @ta.agent(name="q-learning", parameters={"alpha": ta.Uniform(0, 1), "beta": ta.Gamma(2, 3)})
    class QLearning:
        def start(self, arms):
            return np.full(arms, 0.5)

        def choose(self, state):
            return ta.softmax(self.beta * state)

        def learn(self, state, choice, reward):
            state[choice] += self.alpha * (reward - state[choice])

It is written for one participant, in scalar Python. From it follow a simulator, compiled where the code allows it (`kernel.py`);
the likelihood, since given its state a participant's choices are independent,

    log p(choices | outcomes, theta) = sum over trials of log P(choice_t | state_t),    state_{t+1} = learn(state_t, choice_t, outcome_t),

in which missed trials are skipped as if they had never been; and a participant that plays live (`live.py`). What the functions can ask
for is in `roles.py`. An agent that draws something that nobody sees, on which its choices depend, is *latent*: it has no likelihood here.
"""

from __future__ import annotations

import inspect
import keyword
import sys
import warnings
from contextlib import suppress
from dataclasses import field, make_dataclass
from typing import Any, Callable, ClassVar, Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from ..behavior import Behavior
from ..errors import ModelError, nearest
from ..priors import Prior, medians
from ..tasks.base import Task
from .at_task import AtTask
from .base import Floats, LikelihoodModel, Model, Parameters
from .failures import Failure, SimulationFailed, as_python, line_of, words
from .kernel import numbers_of, settings_of, theta_of
from .live import LiveParticipant
from .python import check_priors, options_of, simulate_each, simulate_person
from .roles import ROLES, Roles, first_line
from .streams import started


class NotCompiled(UserWarning):
    """An agent that runs as plain Python, and why."""


class Agent(Model):
    """A model made from a class by `agent`; the annotated attributes of the class are its options."""

    roles: ClassVar[Roles]

    def at(self, task: Task) -> AtTask:
        """The agent's functions in the form in which a task's trials call them; made once."""
        options = options_of(self)
        recorded = tuple((f.name, f.kind, f.by) for f in task.fields)
        settings = tuple((name, type(value)) for name, value in settings_of(task).items())  # whole ones are given as such
        with np.printoptions(threshold=sys.maxsize, floatmode="unique"):  # all of an array, and to its last digit
            key = type(self), repr(options), type(task), recorded, settings, task.design_space.names
        if key not in _MADE:
            _MADE[key] = AtTask(self.roles, options, np.array(list(medians(self.parameters).values()), np.float64), task)
        return _MADE[key]

    def not_compiled(self, task: Task) -> str | None:
        """Why the agent is not compiled for a task, with the line; None if it is."""
        if self.at(task).rules is None:
            return f"the rules of '{task.name}' are not: {task.rules.__name__}.compiled is None"
        return self.at(task).reason

    def simulate(self, parameters: Parameters, designs: Floats, rng: np.random.Generator, task: Task) -> Behavior:
        theta = theta_of(self, parameters, len(designs))
        if self.at(task).simulator is None:
            self._tell(task)
            return simulate_each(self, parameters, designs, rng, task)
        seeds = rng.integers(0, 2**53, len(designs))
        behavior, failed = self._compiled(theta, task.nothing(len(designs)), designs, range(task.blocks), seeds, task)
        if failed.any():
            who = np.flatnonzero(failed)
            raise SimulationFailed({int(i): self._failure(theta[i], designs[i], int(seeds[i]), task) for i in who}, behavior)
        return behavior

    def simulate_one(self, parameters: Mapping[str, float], design: Floats, rng: np.random.Generator, task: Task) -> Mapping[str, Any]:
        """One participant in plain Python. It does what it does in a compiled batch in which it has the seed that `rng` was made with."""
        done = self._played(parameters, task.nothing(1), design, range(task.blocks), rng, task)
        return {"mask": done.mask[0], **{name: values[0] for name, values in done.fields.items()}}

    def go_on(
        self, parameters: Parameters, behavior: Behavior, designs: Floats, block: int, rng: np.random.Generator, task: Task
    ) -> tuple[Behavior, dict[int, Failure]]:
        """What participants with these parameters would do in a block, after what was recorded of them in the blocks before it; and the
        failures of those who could not be simulated, and did nothing in it.

        Arguments:
            parameters: Name to (N,).
            behavior: (N, B, T).
            designs: (N, B, V).
        """
        theta, seeds = theta_of(self, parameters, len(designs)), rng.integers(0, 2**53, len(designs))
        done, failed = self._compiled(theta, behavior, designs, range(block, block + 1), seeds, task)
        failures = dict[int, Failure]()
        for i in map(int, np.flatnonzero(failed)):  # by compiled code, which does not say why: plain Python will
            values, seed = dict(zip(self.parameters, theta[i].tolist(), strict=True)), int(seeds[i])
            try:
                done.write([i], self.go_on_one(values, behavior[i], designs[i], block, np.random.default_rng(seed), task))
            except Exception as error:
                history, design = as_python(behavior[i].until(block)), designs[i].tolist()
                failures[i] = Failure(self.name, values, design, seed, words(error), line_of(error), "go_on_one", block, history)
        return done, failures

    def _compiled(
        self, theta: Floats, behavior: Behavior, designs: Floats, blocks: range, seeds: NDArray[np.int64], task: Task
    ) -> tuple[Behavior, NDArray[np.bool_]]:
        """What participants do in some blocks by compiled code, and of whom it does not say it: all if there is none, (N,)."""
        done, failed, kernel = behavior.until(blocks.start), np.ones(len(designs), bool), self.at(task).simulator
        if kernel is None:
            return done, failed
        with suppress(Exception):  # raised by compiled code, which does not say by whom
            return kernel.go_on(theta, done, designs, blocks, seeds, task)
        for i in range(len(designs)):
            one = slice(i, i + 1)
            with suppress(Exception):
                part, failed[one] = kernel.go_on(theta[one], done[one], designs[one], blocks, seeds[one], task)
                done.write(one, part)
        return done, failed

    def go_on_one(
        self, parameters: Mapping[str, float], behavior: Behavior, design: Floats, block: int, rng: np.random.Generator, task: Task
    ) -> Behavior:
        """The same for one participant (1, B, T), in plain Python; with the seed that `rng` was made with, as for `simulate_one`."""
        return self._played(parameters, behavior, design, range(block, block + 1), rng, task)

    def _played(
        self, parameters: Mapping[str, float], behavior: Behavior, design: Floats, blocks: range, rng: np.random.Generator, task: Task
    ) -> Behavior:
        """What one participant (1, B, T) does in some blocks after what was recorded before them, in plain Python."""
        seed, done = _seed_of(rng), behavior.until(blocks.start)
        draw, person = _outcomes_of(task, self.at(task).rules, design, done, seed, rng), self.live(parameters, task, seed)
        before = 0 if self.resets else behavior.shape[2]  # an agent that begins anew need not be told of earlier blocks; the rules are
        lengths = [before] * blocks.start + task.lengths(design[None])[0, blocks.start : blocks.stop].tolist()
        for at in _followed(person, done, design, lengths):
            if at[1] in blocks:
                responses = person.respond()
                done.record(at, {**responses, **draw(*at[1:], responses)})
        return done

    def live(self, parameters: Mapping[str, float], task: Task, seed: int = 0) -> LiveParticipant:
        """One participant with these parameters, to be asked what it would do next."""
        values = {name: float(array[0]) for name, array in self.check_parameters(parameters).items()}
        return LiveParticipant(self, values, task, seed)

    def _tell(self, task: Task) -> None:
        said = f"'{self.name}' runs as plain Python: {self.not_compiled(task)}"
        warnings.warn(said, NotCompiled, stacklevel=3)

    def _failure(self, theta: Floats, design: Floats, seed: int, task: Task) -> Failure:
        """What goes wrong with one participant, as the interpreter tells it."""
        values = dict(zip(self.parameters, theta.tolist(), strict=True))
        result = simulate_person(self, (values, design, seed), task)
        if isinstance(result, Failure):
            return result
        return Failure(self.name, values, design.tolist(), seed, "it fails when compiled, but not in plain Python", call="simulate_one")


class LikelihoodAgent(Agent, LikelihoodModel):
    """An agent whose choices depend on nothing that is not recorded."""

    def log_likelihood(self, parameters: Parameters, behavior: Behavior, designs: Floats, task: Task) -> Floats:
        theta, kernel = theta_of(self, parameters, len(task.check(behavior))), self.at(task).scorer
        if kernel is None:
            self._tell(task)
            return np.array([self._replayed(theta[i], behavior[i], designs[i], task) for i in range(len(behavior))])
        score = kernel.log_likelihood(theta, behavior, designs, task)
        wrong = np.flatnonzero(np.isnan(score))
        if len(wrong):
            self._replayed(theta[wrong[0]], behavior[wrong[0]], designs[wrong[0]], task)  # which says what is wrong
        return score

    def probabilities(self, parameters: Parameters, behavior: Behavior, designs: Floats, task: Task) -> Floats:
        """Of each choice at each trial, given what was recorded before it, (N, B, T, K); in plain Python.

        A trial that was not recorded gets the probabilities that it would have had: the first of them in a block is what comes next.
        """
        theta, shares = theta_of(self, parameters, len(task.check(behavior))), np.zeros((*behavior.shape, int(numbers_of(task)[0])))
        for i in range(len(behavior)):
            person = self.live(dict(zip(self.parameters, theta[i], strict=True)), task)
            for at in _followed(person, behavior[i], designs[i]):
                shares[i][at[1:]] = person.probabilities()
        return shares

    def _replayed(self, theta: Floats, behavior: Behavior, design: Floats, task: Task) -> float:
        """log p of one participant's responses, in plain Python."""
        person, total = self.live(dict(zip(self.parameters, theta, strict=True)), task), 0.0
        for at in _followed(person, behavior, design):
            if behavior.mask[at]:
                total += person.log_probability({name: values[at] for name, values in behavior.fields.items()})
        return total


_MADE: dict[Any, AtTask] = {}


def _followed(
    person: LiveParticipant, behavior: Behavior, design: Floats, lengths: Sequence[int] | None = None
) -> Iterator[tuple[int, int, int]]:
    """Take one participant through its trials: each place in `behavior` (1, B, T), then the participant learns what is recorded there.

    Arguments:
        lengths: Trials of each block; all of `behavior` if not given.
    """
    for block, length in enumerate(lengths or [behavior.shape[2]] * behavior.shape[1]):
        person.begin(design[block])
        for trial in range(length):
            at = 0, block, trial
            yield at
            if behavior.mask[at]:
                now = {name: values[at] for name, values in behavior.fields.items()}
                person.learn(now, now)


def _seed_of(rng: np.random.Generator) -> int:
    """The number that a generator was made with, if it was made with one and has drawn nothing yet; else a number that it draws."""
    made_with = getattr(rng.bit_generator.seed_seq, "entropy", None)
    if isinstance(made_with, int) and rng.bit_generator.state == np.random.default_rng(made_with).bit_generator.state:
        return made_with % 2**53
    return int(rng.integers(0, 2**53))


def _outcomes_of(
    task: Task, rules: Any, design: Floats, done: Behavior, seed: int, rng: np.random.Generator
) -> Callable[..., Mapping[str, Any]]:
    """What the responses of one participant lead to, trial by trial: by the compiled rules, or else by the task's environment.

    Arguments:
        done: What was recorded so far, (1, B, T).
    """
    numbers, outcome, memory = numbers_of(task), np.zeros(len(task.outcomes)), np.zeros(design.shape[1])
    luck, environment = started(np.array([seed]))[0, 1:], task.environment(design, rng)

    def by_rules(block: int, trial: int, responses: Mapping[str, Any]) -> Mapping[str, Any]:
        memory[:] = 0.0 if trial == 0 else memory
        rules(design[block], trial, *responses.values(), numbers, memory, luck, outcome)
        return {f.name: outcome[o] for o, f in enumerate(task.outcomes)}

    def by_environment(block: int, trial: int, responses: Mapping[str, Any]) -> Mapping[str, Any]:
        while environment.block < block:  # what was recorded, and blocks without trials
            at = np.s_[:, environment.block, environment.trial]
            given, came = ({f.name: done.fields[f.name][at] for f in part} for part in (task.responses, task.outcomes))
            environment.follow(given, came, ~done.mask[at])
        return {name: values[0] for name, values in environment.step(responses).items()}

    return by_environment if rules is None else by_rules


def agent(*, name: str, parameters: Mapping[str, Prior], latent: bool = False, resets: bool = True) -> Callable[[type], type[Agent]]:
    """Make a model of a class with these functions, all for one participant:

        start(self, …)              what the participant believes at first: an array, a number, or a tuple or NamedTuple of them
        choose(self, state, …)      the probability of each choice, (K,); for yes or no, the probability of yes will do
        learn(self, state, …)       what it makes of the outcome: changes the state where it is, or returns the new one

    `self` has the parameters by name, and the options, which are the annotated attributes of the class. What else a function asks
    for by name, it is given: fields of the task, design variables that participants see, settings of the task; see `models/roles.py`.
    An agent without memory needs neither `start` nor `learn`. For responses that are numbers there are, in place of `choose`,

        respond(self, state, stream, …)                  draws the response, see `models/streams.py`
        log_density(self, state, response, …)            its log density

    A class that has `__post_init__(self)` can refuse options there, where `self` has the options only.

    The decorated name is a model class: write `use = "models:QLearning"` in a study file, `QLearning()` in Python.

    Arguments:
        name: What a study file, a data column and a figure call the model.
        parameters: Name to prior.
        latent: Does it draw something that nobody sees? All functions may then ask for `stream`, and there is no likelihood.
        resets: Does each block begin with a new state? If not, memory goes on from block to block.
    """

    check_priors(name, parameters)

    def make(written: type) -> type[Agent]:
        options = _options(written)
        _check_free(name, written, [option for option, *_ in options])
        _check_names(name, [*parameters], [option for option, *_ in options])
        roles = Roles(name, _functions(name, written), tuple(parameters), latent, resets)
        _check_latent(roles)
        base = LikelihoodAgent if roles.has_likelihood else Agent
        body = {"name": name, "parameters": dict(parameters), "roles": roles, "resets": resets, "__doc__": written.__doc__}
        body |= {"__post_init__": written.__post_init__} if hasattr(written, "__post_init__") else {}
        kind = make_dataclass(written.__name__, options, bases=(base,), namespace=body, frozen=True)
        kind.__module__, kind.__qualname__ = written.__module__, written.__qualname__
        return kind

    return make


def _functions(name: str, written: type) -> dict[str, Any]:
    """The functions that a class has, by role."""
    public = {key: value for key, value in inspect.getmembers(written, inspect.isfunction) if not key.startswith("__")}
    for key in public:
        if key not in ROLES:
            what = f"The class of the agent '{name}' has a function '{key}', which nothing calls."
            fix = f"{nearest(key, ROLES)}; helpers go outside of the class"
            raise ModelError(what, where=first_line(public[key]), expected=", ".join(ROLES), fix=fix)
    if not {"choose", "respond"} & {*public}:
        raise ModelError(f"The agent '{name}' does nothing.", expected="a function `choose` or `respond`", got=", ".join(public) or "none")
    return public


def _check_latent(roles: Roles) -> None:
    """What is drawn in secret is declared, and a response without a probability too."""
    asking = [role for role in ("start", "choose", "learn") if role in roles.functions and "stream" in roles.asked(role)]
    if roles.latent or (roles.has_likelihood and not asking):
        return
    what, role = f"'{roles.name}' says how it responds, but not how probable that is.", "respond"
    if roles.has_likelihood:
        what, role = f"The function '{asking[0]}' of '{roles.name}' draws something that nobody sees.", asking[0]
    fix = "declare it: @ta.agent(…, latent=True); there is then no likelihood, and none is needed"
    raise ModelError(what, where=roles.where(role), expected="latent=True", fix=fix)


def _check_names(name: str, parameters: Sequence[str], options: Sequence[str]) -> None:
    """Parameters and options can be written `self.name`, each name for one thing."""
    for key in (*parameters, *options):
        if not key.isidentifier() or keyword.iskeyword(key) or key.startswith("_"):
            what, got = f"'{key}' of the agent '{name}' cannot be written self.{key}.", repr(key)
            raise ModelError(what, expected="a name of letters, digits and _", got=got, fix=f"call it '{key.strip('_')}_'")
    twice = {*parameters} & {*options}
    if twice:
        raise ModelError(f"The agent '{name}' has a parameter and an option of one name.", got=", ".join(sorted(twice)))


def _check_free(name: str, written: type, options: Sequence[str]) -> None:
    """What `agent` itself is told, and what models have, is not set by attributes of the class."""
    for key in ("name", "parameters", "latent", "resets"):
        if hasattr(written, key) or key in options:
            what = f"The class of the agent '{name}' sets '{key}', which has no effect there."
            raise ModelError(what, got=f"{key} in the class", fix=f"@ta.agent(…, {key}=…)")
    for key in options:
        if hasattr(LikelihoodAgent, key):
            what = f"The option '{key}' of the agent '{name}' has the name of something that every agent has."
            raise ModelError(what, expected="another name", got=key, fix=f"call it '{key}_'")


def _options(written: type) -> list[tuple[Any, ...]]:
    """The annotated attributes of a class and of those it is derived from, as fields of a dataclass."""
    kinds: dict[str, Any] = {}
    for base in reversed(written.__mro__):
        kinds |= {key: kind for key, kind in inspect.get_annotations(base).items() if "ClassVar" not in str(kind)}
    return [(key, kind, *([field(default=getattr(written, key))] if hasattr(written, key) else [])) for key, kind in kinds.items()]
