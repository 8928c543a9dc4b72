"""Models that remember earlier blocks are continued from the participant's own history, or refused."""

import numpy as np
import pytest
from yes_no import Signals, steep

import tellapart as ta
from tellapart.behavior import Behavior
from tellapart.groups.memory import check_memory, remembers
from tellapart.parts import find_part

BANDIT = ta.BernoulliBandit(arms=2, blocks=3, trials=8)


@ta.model(name="stubborn", parameters={"threshold": ta.Normal(0, 1)}, vectorised=True)
def stubborn(parameters, designs, rng, task):
    """Says in the second block what it said in the first, most of the time."""
    yes = rng.random((len(designs), task.blocks, task.trials)) < 0.5
    for block in range(1, task.blocks):
        yes[:, block] = np.where(rng.random(yes[:, block].shape) < 0.7, yes[:, block - 1], yes[:, block])
    return {"yes": yes}


@ta.agent(name="carries-on", parameters={"alpha": ta.Uniform(0, 1), "beta": ta.Gamma(2, 3)}, resets=False)
class CarriesOn:
    def start(self, arms):
        return np.full(arms, 0.5)

    def choose(self, state):
        return ta.softmax(self.beta * state)

    def learn(self, state, choice, reward):
        state[choice] += self.alpha * (reward - state[choice])


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
    assert "one before" in str(error.value)
    assert "agent" in str(error.value)


def test_a_secret_memory_is_refused():
    with pytest.raises(ta.ModelError, match="nobody sees"):
        check_memory(Secret(), BANDIT, 1)


def test_models_without_memory_are_not_refused():
    """False alarms: 1e-6 for each model."""
    assert remembers(steep(), Signals(), np.random.default_rng(0))[1] > 1e-6
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
    done = CarriesOn().go_on(theta, history(n), design, 2, np.random.default_rng(1), BANDIT)
    assert done.mask.all()
    np.testing.assert_array_equal(done.fields["choice"][:, :2], history(n).fields["choice"][:, :2])
    assert (done.fields["choice"][:, 2, 0] == 0).mean() > 0.85  # 0.92 by softmax(5 (1 - 0.5)) and more; 0.5 without memory


def test_an_agent_goes_on_alike_compiled_and_not():
    n, agent, design = 5, CarriesOn(), np.full((5, 3, 2), 0.5)
    theta = {"alpha": np.full(n, 0.3), "beta": np.full(n, 2.0)}
    compiled = agent.go_on(theta, history(n), design, 2, np.random.default_rng(3), BANDIT)
    seeds = np.random.default_rng(3).integers(0, 2**53, n)
    plain = [agent._gone_on(np.array([0.3, 2.0]), history(n)[i], design[i], 2, int(seeds[i]), BANDIT) for i in range(n)]
    np.testing.assert_array_equal(compiled.fields["choice"], Behavior.concatenate(plain).fields["choice"])
    np.testing.assert_array_equal(compiled.fields["reward"], Behavior.concatenate(plain).fields["reward"])
