"""Models that remember earlier blocks are continued from the participant's own history, or refused."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest
from carries_on import CarriesOn
from yes_no import Signals, steep

import tellapart as ta
from tellapart.adaptive.continuations import with_block
from tellapart.bandits.task import WinsAndLosses
from tellapart.behavior import Behavior
from tellapart.groups.memory import check_memory, memory_of, remembers, rules_remember
from tellapart.parts import find_part
from tellapart.testing import check_model

BANDIT = ta.BernoulliBandit(arms=2, blocks=3, trials=8)


@ta.model(name="stubborn", parameters={"threshold": ta.Normal(0, 1)}, vectorised=True)
def stubborn(parameters, designs, rng, task):
    """Says in the second block what it said in the first, most of the time."""
    yes = rng.random((len(designs), task.blocks, task.trials)) < 0.5
    for block in range(1, task.blocks):
        yes[:, block] = np.where(rng.random(yes[:, block].shape) < 0.7, yes[:, block - 1], yes[:, block])
    return {"yes": yes}


@ta.model(name="guesses", parameters={"bias": ta.Uniform(0, 1)}, vectorised=True, resets=True)
def guesses(parameters, designs, rng, task):
    environment = task.environment(designs, rng)
    while not environment.done:
        environment.step({"choice": rng.random(len(designs)) < parameters["bias"]})
    return environment.behavior


class Denies(stubborn):
    """Says that it does not."""

    resets = True


@ta.agent(name="secret", parameters={"alpha": ta.Uniform(0, 1)}, resets=False, latent=True)
class Secret:
    def start(self, arms):
        return np.zeros(arms)

    def choose(self, state, stream):
        return ta.softmax(state + ta.uniform(stream))

    def learn(self, state, choice, reward):
        state[choice] += reward


def test_a_model_that_remembers_is_refused_with_the_reason():
    with pytest.raises(ta.ModelError, match="cannot be continued") as error:
        check_memory(stubborn(), Signals(), 1)
    assert "earlier one" in str(error.value)
    assert "agent" in str(error.value)


def test_a_model_that_denies_its_memory_is_refused_all_the_same():
    assert "z = " in memory_of(Denies(), Signals(), 1)
    assert memory_of(steep(), Signals(), 1) == ""


def keeps(own, before, now, rng):
    """Begins with what ended the block before, or with the other, as is its own way."""
    now[:, 0] = np.where(rng.random(len(now)) < own, before[-1][:, -1], 1 - before[-1][:, -1])


def mirrors(own, before, now, rng):
    """Does what it did in the block before, or the contrary, as is its own way."""
    now[:] = np.where((rng.random(len(now)) < own)[:, None], before[-1], 1 - before[-1])


def goes_back(own, before, now, rng):
    """Does what it did two blocks before."""
    if len(before) > 1:
        now[:] = before[-2]


def learns_once(own, before, now, rng):
    """Does in the second block what it did in the first; later ones begin anew."""
    if len(before) == 1:
        now[:] = before[0]


def keeps_switching(own, before, now, rng):
    """Changes as often from trial to trial as in the block before, whatever it chooses."""
    often = (before[-1][:, 1:] != before[-1][:, :-1]).mean(1, keepdims=True)
    now[:] = (now[:, :1] + np.cumsum(rng.random(now.shape) < often, axis=1)) % 2


def forgets(own, before, now, rng):
    """Begins anew."""


def fails(own, before, now, rng):
    """Begins anew, and cannot be simulated now and then: those tell nothing."""
    now[rng.random(len(now)) < 0.01] = 9


@pytest.mark.parametrize("way", [keeps, mirrors, goes_back, learns_once, keeps_switching, forgets, fails])
def test_memory_of_many_kinds_is_found(way):
    """Also where some repeat and others change, so that nothing is seen on average."""

    @ta.model(name="one", parameters={"own": ta.Uniform(0, 1)}, vectorised=True)
    def one(parameters, designs, rng, task):
        choice = rng.integers(0, 2, (len(designs), task.blocks, task.trials))
        for block in range(1, task.blocks):
            way(parameters["own"], [choice[:, b] for b in range(block)], choice[:, block], rng)
        return {"choice": choice, "reward": rng.random(choice.shape) < 0.5}

    found = [remembers(one(), ta.BernoulliBandit(2, 4, 5), seed) for seed in range(3)]
    assert (min(found) > 5) == (way not in (forgets, fails))
    assert max(found) == 0 or way not in (forgets, fails)


@pytest.mark.parametrize("missed", [True, False])
def test_memory_of_what_was_shown_or_missed_is_found_where_designs_have_rules(missed):
    """A rule within blocks: what is put together of several designs keeps it."""

    class Ruled(Signals):
        @property
        def design_space(self):
            variables = (ta.Variable("low", 0, 1), ta.Variable("high", 0, 1))
            rule = ta.Constraint("low is at most high", np.sort)
            return ta.DesignSpace(self.blocks, variables, ta.Symmetry(blocks=True), [rule])

    @ta.model(name="one", parameters={"threshold": ta.Normal()}, vectorised=True)
    def one(parameters, designs, rng, task):
        shape = (len(designs), task.blocks, task.trials)
        mask, yes = np.ones(shape, bool), rng.random(shape) < 0.5
        if missed:
            mask = rng.random(shape) < rng.uniform(0.3, 1, (len(designs), 1, 1))
        else:
            yes[:, 1:] = rng.random(yes[:, 1:].shape) < designs[:, :-1, :1]
        return {"yes": yes, "mask": mask}

    assert remembers(one(), Ruled(trials=6), 0) > 5


def test_check_tries_out_whether_blocks_begin_anew():
    """As a model says; rules by which what happens goes with what happened before say nothing of who plays."""
    with pytest.raises(ta.ModelError, match="carries memory from block to block") as error:
        check_model(Denies(), Signals())
    assert "resets=False" in str(error.value)
    check_model(guesses(), WORN)


def test_a_secret_memory_is_refused():
    with pytest.raises(ta.ModelError, match="nobody sees"):
        check_memory(Secret(), BANDIT, 1)


def test_models_without_memory_are_not_refused():
    """False alarms: 1e-5 for each model."""
    assert remembers(steep(), Signals(), 0) == 0
    for model in (ta.AEG(), find_part("model", "q-learning")(), CarriesOn()):
        check_memory(model, BANDIT, 1)


def history(n):
    """Two blocks in which the first arm always paid."""
    rng = np.random.default_rng(0)
    fields = {"choice": rng.integers(0, 2, (n, 3, 8)).astype(np.int16), "reward": np.zeros((n, 3, 8), np.int8)}
    fields["reward"][:, :2] = fields["choice"][:, :2] == 0
    mask = np.ones((n, 3, 8), bool)
    mask[:, 2] = False
    return Behavior(fields, mask)


def test_an_agent_goes_on_from_what_happened():
    n, design = 400, np.full((400, 3, 2), 0.5)
    theta = {"alpha": np.full(n, 0.5), "beta": np.full(n, 5.0)}
    done, failures = CarriesOn().go_on(theta, history(n), design, 2, np.random.default_rng(1), BANDIT)
    assert not failures
    assert done.mask.all()
    np.testing.assert_array_equal(done.fields["choice"][:, :2], history(n).fields["choice"][:, :2])
    assert (done.fields["choice"][:, 2, 0] == 0).mean() > 0.85  # 0.92 by softmax(5 (1 - 0.5)) and more; 0.5 without memory


def test_an_agent_goes_on_alike_compiled_and_not():
    n, agent, design = 5, CarriesOn(), np.full((5, 3, 2), 0.5)
    theta = {"alpha": np.full(n, 0.3), "beta": np.full(n, 2.0)}
    compiled, _ = agent.go_on(theta, history(n), design, 2, np.random.default_rng(3), BANDIT)
    rngs = [np.random.default_rng(int(seed)) for seed in np.random.default_rng(3).integers(0, 2**53, n)]
    plain = [agent.go_on_one({"alpha": 0.3, "beta": 2.0}, history(n)[i], design[i], 2, rngs[i], BANDIT) for i in range(n)]
    np.testing.assert_array_equal(compiled.fields["choice"], Behavior.concatenate(plain).fields["choice"])
    np.testing.assert_array_equal(compiled.fields["reward"], Behavior.concatenate(plain).fields["reward"])


class WornArms(WinsAndLosses):
    """An arm that was chosen more than five times, in whatever block, pays no more; before it always does."""

    def __init__(self, task, designs, rng):
        super().__init__(task, designs, rng)
        self.state["worn"] = np.zeros((len(designs), designs.shape[2]))

    def chance(self, choice):
        return 1.0 * (self.state["worn"][np.arange(len(self.designs)), choice] <= 5)

    def learn(self, responses, outcomes):
        self.state["worn"][np.arange(len(self.designs)), responses["choice"].astype(int)] += ~self.missed


@dataclass(frozen=True)
class Worn(ta.BernoulliBandit):
    name: ClassVar[str] = "worn"
    rules: ClassVar[type] = WornArms


def test_the_rules_go_on_from_what_was_recorded_too():
    """Of rules that remember: the first arm was chosen four times and missed four times, so that it pays twice more."""
    fields = {name: np.zeros((1, 2, 8), np.int8) for name in ("choice", "reward")}
    mask = np.zeros((1, 2, 8), bool)
    mask[:, 0, ::2] = True
    task, sure = Worn(arms=2, blocks=2, trials=8), {"alpha": 0.0, "beta": 0.0}
    done = CarriesOn().go_on_one(sure, Behavior(fields, mask), np.full((2, 2), 0.5), 1, np.random.default_rng(3), task)
    choice, reward = done.fields["choice"][0, 1], done.fields["reward"][0, 1]
    before = [4 * (arm == 0) + int((choice[:t] == arm).sum()) for t, arm in enumerate(choice)]
    assert (choice == 0).sum() > 2
    np.testing.assert_array_equal(reward, [worn <= 5 for worn in before])


@ta.agent(name="forgets", parameters={"beta": ta.Gamma(2, 3)})
class Forgets:
    """Begins anew in each block."""

    def start(self, arms):
        return np.full(arms, 0.5)

    def choose(self, state):
        return ta.softmax(self.beta * state)

    def learn(self, state, choice, reward):
        state[choice] += 0.5 * (reward - state[choice])


WORN = Worn(arms=2, blocks=2, trials=8)


def worn_out(n):
    """The first block, in which the first arm was chosen eight times: it pays no more."""
    fields = {name: np.zeros((n, 2, 8), np.int8) for name in ("choice", "reward")}
    fields["reward"][:, 0, :6] = 1
    mask = np.zeros((n, 2, 8), bool)
    mask[:, 0] = True
    return Behavior(fields, mask)


def test_the_rules_go_on_where_the_agent_does_not():
    """An agent that begins anew meets rules that do not: the first arm is worn out, the second pays six times."""
    n, theta, rngs = 20, {"beta": np.ones(20)}, [np.random.default_rng(1)]
    designs = np.full((n, 2, 2), 0.5)
    done, failures = with_block([Forgets()], np.zeros(n, np.intp), [theta], worn_out(n), designs, 1, rngs, WORN)
    choice, reward = done.fields["choice"][:, 1], done.fields["reward"][:, 1]
    assert not failures
    assert done.mask.all()
    assert (choice == 0).any()
    np.testing.assert_array_equal(reward, (choice == 1) & (np.cumsum(choice == 1, axis=1) <= 6))


def test_rules_that_remember_are_noticed():
    """By outcomes that differ after other blocks with the same luck: rules that begin anew cannot be called rememberers."""

    class Anew(WinsAndLosses):
        def chance(self, choice):
            return self.designs[np.arange(len(choice)), self.block, choice]

    @dataclass(frozen=True)
    class Plain(ta.BernoulliBandit):
        name: ClassVar[str] = "plain"
        rules: ClassVar[type] = Anew

    assert rules_remember(WORN, 1)
    assert not rules_remember(Plain(arms=2, blocks=2, trials=8), 1)
    assert not rules_remember(Worn(arms=2, blocks=1, trials=8), 1)
    assert not rules_remember(BANDIT, 1)


def test_a_model_that_is_no_agent_is_refused_by_rules_that_remember():
    with pytest.raises(ta.ModelError, match="cannot be continued") as error:
        check_memory(guesses(), Worn(arms=2, blocks=2, trials=8), 1)
    assert "rules of the task 'worn'" in str(error.value)
    check_memory(Forgets(), WORN, 1)


def fragile(how, rewards=12, fast=0.9):
    """An agent that carries memory on, and after some rewards cannot choose if it learns fast: it raises, or has no probabilities."""

    @ta.agent(name="fragile", parameters={"alpha": ta.Uniform(0, 1)}, resets=False)
    class Fragile:
        def start(self, arms):
            return np.zeros(arms + 1)

        def choose(self, state):
            if state[2] > rewards and self.alpha > fast:
                if how == "raises":
                    raise ValueError("too much luck")
                return np.array([2.0, 2.0])
            return np.array([0.5, 0.5])

        def learn(self, state, choice, reward):
            state[2] += reward

    return Fragile()


@pytest.mark.parametrize("how", ["raises", "impossible"])
def test_agents_who_cannot_go_on_are_failures_among_what_comes_back(how):
    """Nothing is recorded of their block; the others go on as they would without them; and it can be seen again."""
    agent, design, alpha = fragile(how), np.full((4, 3, 2), 1.0), np.array([0.1, 0.95, 0.5, 0.99])
    past = history(4)
    past.fields["reward"][:, :2] = 1
    done, failures = agent.go_on({"alpha": alpha}, past, design, 2, np.random.default_rng(3), BANDIT)
    assert sorted(failures) == [1, 3]
    np.testing.assert_array_equal(done.mask[:, 2].all(-1), [True, False, True, False])
    assert not done.mask[[1, 3], 2].any()
    assert done.mask[:, :2].all()
    others, _ = agent.go_on({"alpha": np.array([0.1, 0.2, 0.5, 0.2])}, past, design, 2, np.random.default_rng(3), BANDIT)
    np.testing.assert_array_equal(done.fields["choice"][[0, 2]], others.fields["choice"][[0, 2]])
    assert "line" in failures[1].where
    with pytest.raises((ValueError, ta.ModelError), match=r"too much luck|does not give probabilities"):
        eval(failures[1].reproduction, {"model": agent, "np": np, "task": BANDIT, "ta": ta})
