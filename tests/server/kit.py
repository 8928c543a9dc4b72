"""Small plans and people for the tests of the server."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

import tellapart as ta
from tellapart.server.plan import make_plan
from tellapart.server.playing import Given
from tellapart.server.settings import Settings
from tellapart.server.store import Identity

DESIGN = [[0.137, 0.519, 0.913], [0.828, 0.217, 0.436]]


class Clock:
    """A clock that stands still until it is told to go on."""

    def __init__(self):
        self.now = 1_700_000_000.0

    def __call__(self):
        return self.now

    def advance(self, *, minutes=0.0, hours=0.0):
        self.now += 60 * minutes + 3600 * hours


def bandit(arms=3, blocks=2, trials=4):
    task = ta.BernoulliBandit(arms, blocks, trials)
    return ta.Study(task, [ta.WSLTS(), ta.AEG(), ta.GLS()], name="bandit")


def plan_of(study, designs, folder=None, policy=None, **settings):
    given = {} if policy is None else {"policy": policy}
    return make_plan(study, designs, folder, Settings(**settings) if settings or folder is None else None, **given)


def somebody(name="anna"):
    return Identity("prolific", name)


def choose(trial, place=0, seconds=0.5):
    return Given(trial, place, seconds)


def play_block(sessions, key, rng=None, stop=None):
    """Play the present block from where it is; the outcomes."""
    rng, begun = rng or np.random.default_rng(0), sessions.begin(key)
    outcomes = []
    for t in range(begun.trial, begun.trials if stop is None else stop):
        saved = sessions.save(key, begun.position, begun.attempt, [choose(t, int(rng.integers(len(begun.options))))])
        outcomes += saved.outcomes
    return outcomes


def play_all(sessions, key, rng=None):
    while sessions.begin(key) is not None:
        play_block(sessions, key, rng)
    return sessions.finish(key)


@dataclass(frozen=True)
class QuickBandit(ta.BernoulliBandit):
    """A bandit whose outcomes are shown for a moment only."""

    name: ClassVar[str] = "quick-bandit"

    @property
    def screen(self):
        return ta.Screen("bandit", shuffled=True, feedback=0.05)


@dataclass(frozen=True)
class Questions(ta.Task):
    """A task without outcomes: which is better?"""

    blocks: int = 2
    trials: int = 4

    name: ClassVar[str] = "questions"

    @property
    def fields(self):
        return (ta.Field("second", "binary"),)

    @property
    def design_space(self):
        return ta.DesignSpace(self.blocks, (ta.Variable("difference"),), ta.Symmetry(blocks=True))

    def baseline(self, n, rng):
        return rng.random((n, self.blocks, 1))

    @property
    def screen(self):
        def stimuli(row, trials, rng):
            return [{"prompt": f"Question {t}", "options": ["first", "second"], "_secret": 42} for t in range(trials)]

        return ta.Screen(SCRIPT[0], shuffled=True, stimuli=stimuli)


SCRIPT = ["choice"]


@ta.model(name="guess", parameters={"bias": ta.Uniform(0, 1)}, vectorised=True)
def guess(parameters, designs, rng, task):
    return {"second": rng.random((len(designs), task.blocks, task.trials)) < parameters["bias"][:, None, None]}


@ta.model(name="slope", parameters={"bias": ta.Uniform(0, 1)}, vectorised=True)
def slope(parameters, designs, rng, task):
    return {"second": rng.random((len(designs), task.blocks, task.trials)) < parameters["bias"][:, None, None] * designs}


def questions():
    return ta.Study(Questions(), [guess(), slope()], name="questions")


@dataclass(frozen=True)
class Swaps(ta.Task):
    """A task whose settings and answers have names."""

    blocks: int = 2
    trials: int = 2

    name: ClassVar[str] = "swaps"

    @property
    def fields(self):
        return (ta.Field("choice", "categorical", labels=("keep", "swap")),)

    @property
    def design_space(self):
        return ta.DesignSpace(self.blocks, (ta.Variable("price", 1, 20), ta.Variable("thing", categories=("mug", "pen"))))

    def baseline(self, n, rng):
        return np.stack([rng.uniform(1, 20, (n, self.blocks)), rng.integers(0, 2, (n, self.blocks))], axis=-1)


@ta.model(name="any", parameters={"p": ta.Uniform(0, 1)}, vectorised=True)
def anything(parameters, designs, rng, task):
    return {"choice": rng.random((len(designs), task.blocks, task.trials)) < parameters["p"][:, None, None]}


def swaps():
    return ta.Study(Swaps(), anything(), "estimate", name="swaps")


def quick(blocks=2, trials=3):
    return ta.Study(QuickBandit(3, blocks, trials), [ta.WSLTS(), ta.AEG()], name="quick")
