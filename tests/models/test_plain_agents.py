"""Agents in plain Python, trial by trial, against a loop written here; nothing is compiled, see test_agents.py for that."""

from types import FunctionType, SimpleNamespace

import numpy as np
import pytest

import tellapart as ta
from tellapart.models import kernel
from tellapart.models.agents import NotCompiled, _seed_of
from tellapart.models.failures import SimulationFailed
from tellapart.models.kernel import as_behavior, numbers_of, recorded, settings_of, theta_of
from tellapart.models.live import _like
from tellapart.models.roles import first_line, line_of_return
from tellapart.models.streams import started, uniform

TASK = ta.BernoulliBandit(arms=3, blocks=2, trials=6)
DESIGN = np.array([[0.2, 0.5, 0.8], [0.9, 0.1, 0.4]])
VALUES = {"alpha": 0.3, "beta": 2.5}


def made(resets):
    @ta.agent(name="learner", parameters={"alpha": ta.Uniform(), "beta": ta.Gamma(2, 3)}, resets=resets)
    class Learner:
        first: float = 0.5

        def start(self, arms):
            return np.full(arms, self.first)

        def choose(self, state, trial, block):
            return ta.softmax(self.beta * state + 0.1 * trial * (block + 1) * (np.arange(state.size) == 1))

        def learn(self, state, choice, reward):
            state[choice] += self.alpha * (reward - state[choice])

    return Learner


RESETS, REMEMBERS = made(True), made(False)


def shares_of(state, block, trial):
    values = VALUES["beta"] * state + 0.1 * trial * (block + 1) * (np.arange(3) == 1)
    return np.exp(values) / np.exp(values).sum()


def replay(fields, mask, resets, lengths=(6, 6)):
    """Probabilities of all choices at each trial, given what was recorded; missed trials are as if they had never been."""
    shares, state = np.zeros((2, 6, 3)), np.full(3, 0.5)
    for block in range(2):
        seen, state = 0, np.full(3, 0.5) if resets else state
        for trial in range(lengths[block]):
            shares[block, trial] = shares_of(state, block, seen)
            if mask[block, trial]:
                choice, reward = fields["choice"][block, trial], fields["reward"][block, trial]
                state[choice] += VALUES["alpha"] * (reward - state[choice])
                seen += 1
    return shares


def behavior(n=1, missing=0.3):
    rng, shape = np.random.default_rng(0), (n, 2, 6)
    return ta.Behavior({"choice": rng.integers(0, 3, shape), "reward": rng.integers(0, 2, shape)}, rng.random(shape) >= missing)


@pytest.mark.parametrize("kind", [RESETS, REMEMBERS])
def test_one_participant_draws_from_its_probabilities(kind):
    """Of its own stream a number for each choice, of the stream of its luck one for each reward."""
    done = kind().simulate_one(VALUES, DESIGN, np.random.default_rng(17), TASK)
    shares = replay(done, np.ones((2, 6), bool), kind().resets)
    own, luck = started(np.array([17]))[0, :1].copy(), started(np.array([17]))[0, 1:].copy()
    assert done["mask"].all()
    for block, trial in np.ndindex(2, 6):
        choice = int(np.searchsorted(np.cumsum(shares[block, trial]), uniform(own), side="right"))
        assert done["choice"][block, trial] == choice
        assert done["reward"][block, trial] == (uniform(luck) < DESIGN[block, choice])


@pytest.mark.parametrize("kind", [RESETS, REMEMBERS])
def test_probabilities_and_likelihood_of_what_was_recorded(kind):
    data, agent = behavior(3), kind()
    parameters = {name: np.full(3, value) for name, value in VALUES.items()}
    found = agent.probabilities(parameters, data, np.stack([DESIGN] * 3), TASK)
    for n in range(3):
        fields = {name: values[n] for name, values in data.fields.items()}
        shares = replay(fields, data.mask[n], agent.resets)
        np.testing.assert_allclose(found[n], shares, rtol=1e-12)
        log_p = sum(np.log(shares[b, t, fields["choice"][b, t]]) for b, t in np.ndindex(2, 6) if data.mask[n, b, t])
        assert agent._replayed(np.array([*VALUES.values()]), data[n], DESIGN, TASK) == pytest.approx(log_p)


@pytest.mark.parametrize("kind", [RESETS, REMEMBERS])
def test_a_participant_goes_on_after_what_was_recorded(kind):
    data, agent = behavior(), kind()
    done = agent.go_on_one(VALUES, data, DESIGN, 1, np.random.default_rng(5), TASK)
    np.testing.assert_array_equal(done.mask[0, 0], data.mask[0, 0])
    np.testing.assert_array_equal(done.fields["choice"][0, 0], data.fields["choice"][0, 0])
    assert done.mask[0, 1].all()
    fields = {name: values[0] for name, values in done.fields.items()}
    shares, own = replay(fields, done.mask[0], agent.resets), started(np.array([5]))[0, :1].copy()
    for trial in range(6):
        assert fields["choice"][1, trial] == int(np.searchsorted(np.cumsum(shares[1, trial]), uniform(own), side="right"))


def test_the_seed_of_a_generator():
    assert _seed_of(np.random.default_rng(17)) == 17
    assert _seed_of(np.random.default_rng(2**53 + 3)) == 3
    used = np.random.default_rng(17)
    used.random()
    again = np.random.default_rng(17)
    again.random()
    assert _seed_of(used) == int(again.integers(0, 2**53))
    assert _seed_of(np.random.default_rng([1, 2])) == int(np.random.default_rng([1, 2]).integers(0, 2**53))


def test_a_live_participant_is_kept_and_goes_on():
    person, other = (RESETS().live(VALUES, TASK, seed) for seed in (4, 99))
    person.begin(DESIGN[0])
    for reward in (1, 0, 1):
        person.learn(person.respond(), {"reward": reward})
    saved = person.save()
    assert (saved["block"], saved["trial"], saved["design"]) == (0, 3, DESIGN[0].tolist())
    other.restore(saved)
    np.testing.assert_array_equal(person.probabilities(), other.probabilities())
    assert [person.respond() for _ in range(5)] == [other.respond() for _ in range(5)]
    choice = person.respond()
    assert person.log_probability(choice) == pytest.approx(np.log(person.probabilities()[choice["choice"]]))
    person.begin(DESIGN[1])
    assert (person.block, person.trial) == (1, 0)
    np.testing.assert_allclose(person.probabilities(), 1 / 3)
    with pytest.raises(ta.ModelError, match="told of a 'choice' that there is not"):
        person.learn({"choice": 3}, {"reward": 0})


@pytest.mark.parametrize(
    ("template", "plain", "kind"),
    [
        ((1.0, np.zeros(2)), [2.0, [3.0, 4.0]], tuple),
        (np.zeros(2, int), [1.5, 2.0], np.ndarray),
        (None, [1], list),
        ([0], [1, 2], list),
        (0, 3, int),
        (0, 2.5, float),
        (0.0, 1, float),
    ],
)
def test_states_come_back_in_their_form(template, plain, kind):
    back = _like(template, plain)
    assert type(back) is kind
    parts, expected = (back, plain) if kind is tuple else ([back], [plain])
    assert all(np.array_equal(one, other) for one, other in zip(parts, expected, strict=True))


def test_the_line_at_which_a_function_returns():
    def two(x):
        if x:
            return 1
        return 2

    assert first_line(two) == f"{__file__}, line {two.__code__.co_firstlineno}"
    assert line_of_return(two, lambda: two(True)).endswith(f"line {two.__code__.co_firstlineno + 2}")
    assert line_of_return(two, lambda: two(False)).endswith(f"line {two.__code__.co_firstlineno + 3}")


def test_what_each_function_may_ask_for():
    """Settings are numbers after the number of categories, whole ones as such; outcomes only once they are there."""
    roles = RESETS().roles
    known = {role: roles._known(role, TASK) for role in ("start", "choose", "log_density", "learn", "respond")}
    assert list(settings_of(TASK)) == ["arms", "blocks", "trials"]
    assert known["start"] == {"arms": "int(numbers[1])", "blocks": "int(numbers[2])", "trials": "int(numbers[3])", "block": "block"}
    now = {**known["start"], "state": "state", "trial": "trial"}
    assert known["choose"] == now
    assert known["log_density"] == {**now, "choice": "response"}
    assert known["learn"] == {**now, "choice": "response", "reward": "int(outcome[0])"}
    assert known["respond"] == {**now, "stream": "stream"}
    assert roles.call("learn", TASK) == "user_learn(me(theta), state, response, int(outcome[0]))"
    assert (roles.asked("choose"), roles.has_likelihood) == (("state", "trial", "block"), True)


def at_task(functions):
    return ta.agent(name="wrong", parameters={"a": ta.Uniform()})(type("Wrong", (), functions))().at(TASK)


def refused(words, **functions):
    with pytest.raises(ta.ModelError, match=words) as error:
        at_task(functions)
    return str(error.value)


def test_what_cannot_be_asked_for_is_refused():
    assert "keep in the state" in refused("does not know at that time", choose=lambda self, reward: np.ones(3) / 3)
    assert "let `learn` learn" in refused("does not know at that time", choose=lambda self, arm_0: np.ones(3) / 3)
    assert "latent=True" in refused("draws something that nobody sees", choose=lambda self, stream: np.ones(3) / 3)
    assert "did you mean" in refused("does not have", choose=lambda self, trail: np.ones(3) / 3)
    refused("nothing calls", choose=lambda self: np.ones(3) / 3, chose=lambda self: 1)
    refused("does nothing", start=lambda self: 0)
    refused("says how it responds", respond=lambda self, stream: 1)
    refused("sets 'resets'", choose=lambda self: np.ones(3) / 3, resets=True)
    refused("a parameter and an option of one name", choose=lambda self: np.ones(3) / 3, a=1.0, __annotations__={"a": float})
    refused("something that every agent has", choose=lambda self: np.ones(3) / 3, live=1.0, __annotations__={"live": float})
    refused("does not give probabilities", choose=lambda self: None)
    refused("would be lost", choose=lambda self: np.ones(3) / 3, start=lambda self: 0.0, learn=lambda self, state: None)
    for name in ("_a", "class", "a b"):
        with pytest.raises(ta.ModelError, match="cannot be written"):
            ta.agent(name="wrong", parameters={name: ta.Uniform()})(type("Wrong", (), {"choose": lambda self: np.ones(3) / 3}))


# the loop, not compiled


def loop(**functions):
    return FunctionType(kernel.play.__code__, {**kernel.play.__globals__, **functions}, "play")


LOG = []


def play_with(resets=True, returns=True, given=0, bad=None, lengths=((3, 2), (2, 3))):
    """The loop around functions that write down what they are given; the state counts what was learned."""
    LOG.clear()

    def learn(theta, state, response, outcome, design, block, trial, numbers, stream):
        LOG.append(("learn", state[0], response, outcome.tolist(), block, trial))
        if returns:
            return (state[0] + 1,)
        state[0] += 1
        return None

    def pays(design, trial, response, numbers, memory, stream, outcome):
        memory[0] += 1
        outcome[:] = (10 * response + trial, memory[0])

    def draw(theta, state, design, block, trial, numbers, stream):
        stream[0] += np.uint64(1)
        return -1 if bad == (int(theta[0]), block, trial) else int(block + trial)

    n, blocks, trials = 2, 2, 3
    mask = np.zeros((n, blocks, trials), bool)
    responses, outcomes, score = np.zeros((n, blocks, trials), np.int64), np.zeros((n, blocks, trials, 2)), np.zeros(n)
    if given:
        mask[:, 0] = [[True, False, True], [True, True, True]]
        responses[:, 0] = [[5, 9, 6], [7, 8, 4]]
        outcomes[:, 0] = np.arange(12).reshape(2, 3, 2)
    streams = np.zeros((n, 2), np.uint64)
    loop(
        begin=lambda theta, design, block, numbers, stream: (100 * block,) if returns else [100 * block],
        draw=draw,
        log_p=lambda theta, state, response, design, block, trial, numbers: -(response + state[0] / 1000 + trial / 10),
        learn=learn,
        pays=pays,
        returns=returns,
        resets=resets,
        read=lambda value: value,
        valid=lambda value, numbers: value >= 0,
    )(np.arange(2.0)[:, None], np.zeros((n, blocks, 1)), np.array(lengths), streams, responses, outcomes, mask, score, np.zeros(1), given)
    return responses, outcomes, mask, score, streams


@pytest.mark.parametrize("returns", [True, False])
@pytest.mark.parametrize("resets", [True, False])
def test_the_loop_over_participants_blocks_and_trials(resets, returns):
    responses, outcomes, mask, score, streams = play_with(resets, returns)
    assert mask.tolist() == [[[True] * 3, [True, True, False]], [[True, True, False], [True] * 3]]
    assert responses.tolist() == [[[0, 1, 2], [1, 2, 0]], [[0, 1, 0], [1, 2, 3]]]
    assert outcomes[1, 1].tolist() == [[10, 1], [21, 2], [32, 3]]  # the memory of the rules begins anew in each block
    assert score.tolist() == [0, 0]
    assert streams.tolist() == [[5, 0], [5, 0]]
    states = [state for _, state, *_ in LOG]
    assert states == ([0, 1, 2, 100, 101, 0, 1, 100, 101, 102] if resets else [0, 1, 2, 3, 4, 0, 1, 2, 3, 4])
    assert [(block, trial) for *_, block, trial in LOG][:5] == [(0, 0), (0, 1), (0, 2), (1, 0), (1, 1)]


def test_the_loop_scores_what_was_recorded_and_goes_on_from_there():
    _, outcomes, mask, score, _ = play_with(resets=False, given=1, lengths=((3, 2), (3, 2)))
    np.testing.assert_allclose(score, [-(5 + 6 + 0.001 + 0.1), -(7 + 8 + 4 + 0.003 + 0.3)])
    assert mask[:, 0].tolist() == [[True, False, True], [True] * 3]  # as it was
    assert LOG[:3] == [("learn", 0, 5, [0, 1], 0, 0), ("learn", 1, 6, [4, 5], 0, 1), ("learn", 2, 1, [10, 1], 1, 0)]
    assert outcomes[0, 0].tolist() == [[0, 1], [2, 3], [4, 5]]


def test_who_does_nothing_valid_is_told_and_the_others_go_on():
    _, _, mask, score, _ = play_with(bad=(0, 0, 1))
    assert np.isnan(score).tolist() == [True, False]
    assert mask[0].sum() == 1
    assert mask[1].sum() == 5


def test_arrays_of_the_loop():
    data = behavior(2)
    responses, outcomes, mask = recorded(TASK, data)
    assert (responses.dtype, outcomes.shape) == (TASK.fields[0].dtype, (2, 2, 6, 1))
    back = as_behavior(TASK, responses, outcomes, mask)
    for name, values in data.fields.items():
        np.testing.assert_array_equal(back.fields[name], values)
    assert numbers_of(TASK).tolist() == [3, 3, 2, 6]
    theta = theta_of(RESETS(), {"beta": np.array([3.0, 4.0]), "alpha": np.array([0.1, 0.2])}, 2)
    assert theta.tolist() == [[0.1, 3.0], [0.2, 4.0]]
    nobody = ta.agent(name="nobody", parameters={})(type("Nobody", (), {"choose": lambda self: np.ones(3) / 3}))
    assert theta_of(nobody(), {}, 2).shape == (2, 0)
    with pytest.raises(ta.ModelError, match="one set of parameters for each participant"):
        theta_of(RESETS(), {"beta": 3.0, "alpha": 0.1}, 2)


# around a compiled loop that is not one


class Loop:
    """Stands for a compiled loop: it fails as a whole if somebody has an alpha above 0.8, and says nothing of who has one above 0.6."""

    def go_on(self, theta, behavior, designs, blocks, seeds, task):
        if (theta[:, 0] > 0.8).any():
            raise IndexError
        failed, done = theta[:, 0] > 0.6, task.nothing(len(theta))
        done.write(np.arange(len(theta)), behavior)
        for i in np.flatnonzero(~failed):
            for block in blocks:
                for trial in range(task.trials):
                    done.record((i, block, trial), {"choice": 1, "reward": 0})
        return done, failed

    def log_likelihood(self, theta, behavior, designs, task):
        return np.where(theta[:, 0] > 0.6, np.nan, -theta[:, 0])


@pytest.fixture
def around(monkeypatch):
    """An agent whose functions are as they are, around another loop."""

    def made(loop=None, rules="rules", reason="why"):
        plain = RESETS().at(TASK).plain
        other = SimpleNamespace(plain=plain, simulator=loop, scorer=loop, rules=rules, reason=reason)
        monkeypatch.setattr(RESETS, "at", lambda self, task: other)
        return RESETS()

    return made


THETA = {"alpha": np.array([0.1, 0.7, 0.3, 0.9]), "beta": np.full(4, 2.5)}
FOUR = np.stack([DESIGN] * 4)


def test_why_an_agent_is_not_compiled(around):
    assert "the rules of 'bernoulli-bandit' are not" in around(rules=None).not_compiled(TASK)
    assert around().not_compiled(TASK) == "why"


def test_without_a_loop_it_is_played_in_python_and_says_so(around):
    agent, data = around(rules=None), behavior(4)
    with pytest.warns(NotCompiled, match="'learner' runs as plain Python"):
        played = agent.simulate(THETA, FOUR, np.random.default_rng(3), TASK)
    assert played.mask.all()
    with pytest.warns(NotCompiled):
        scores = agent.log_likelihood(THETA, data, FOUR, TASK)
    theta = np.stack([*THETA.values()], axis=1)
    assert scores.tolist() == [agent._replayed(theta[i], data[i], DESIGN, TASK) for i in range(4)]


def test_of_whom_a_loop_says_nothing_python_does(around):
    """Who fails in a batch is found one by one, and played in plain Python, where nothing is wrong with them here."""
    agent, data = around(Loop(), rules=None), behavior(4, missing=0.0)
    done, failed = agent._compiled(np.stack([*THETA.values()], axis=1), data, FOUR, range(1, 2), np.arange(4), TASK)
    assert failed.tolist() == [False, True, False, True]
    assert done.mask[:, 1].all(1).tolist() == [True, False, True, False]
    np.testing.assert_array_equal(done.fields["choice"][:, 0], data.fields["choice"][:, 0])
    whole, failures = agent.go_on(THETA, data, FOUR, 1, np.random.default_rng(3), TASK)
    assert failures == {}
    assert whole.mask.all()
    assert (whole.fields["choice"][[0, 2], 1] == 1).all()
    seeds = np.random.default_rng(3).integers(0, 2**53, 4)
    values = {name: float(column[3]) for name, column in THETA.items()}
    alone = agent.go_on_one(values, data[3], DESIGN, 1, np.random.default_rng(int(seeds[3])), TASK)
    np.testing.assert_array_equal(whole.fields["choice"][3, 1], alone.fields["choice"][0, 1])


def test_who_fails_in_a_loop_but_not_in_python_is_told(around):
    agent = around(Loop(), rules=None)
    with pytest.raises(SimulationFailed) as error:
        agent.simulate(THETA, FOUR, np.random.default_rng(3), TASK)
    assert list(error.value.failures) == [1, 3]
    failure = error.value.failures[1]
    assert (failure.error, failure.call) == ("it fails when compiled, but not in plain Python", "simulate_one")
    assert failure.parameters == {"alpha": 0.7, "beta": 2.5}
    assert error.value.behavior.mask.all((1, 2)).tolist() == [True, False, True, False]


def test_a_score_that_is_no_number_is_looked_into(around, monkeypatch):
    agent, looked = around(Loop()), []
    monkeypatch.setattr(RESETS, "_replayed", lambda self, theta, behavior, design, task: looked.append(theta.tolist()))
    scores = agent.log_likelihood(THETA, behavior(4), FOUR, TASK)
    assert scores[[0, 2]].tolist() == [-0.1, -0.3]
    assert looked == [[0.7, 2.5]]
    agent.log_likelihood({name: values[[0, 2]] for name, values in THETA.items()}, behavior(2), FOUR[:2], TASK)
    assert len(looked) == 1
