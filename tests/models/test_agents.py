"""Agents: the same participants compiled and uncompiled, a likelihood that is one, live participants, and mistakes that are refused."""

import copy
import itertools
import json
import pickle
import sys
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, NamedTuple

import cloudpickle
import numpy as np
import pytest
from scipy import stats

import tellapart as ta
from tellapart.models.agents import Agent, NotCompiled
from tellapart.models.choices import largest, softmax
from tellapart.models.failures import attempt
from tellapart.models.python import simulate_each
from tellapart.models.streams import standard_normal, uniform
from tellapart.parts import find_part, known_parts
from tellapart.priors import sample_priors
from tellapart.testing import check_model

SMALL = ta.BernoulliBandit(arms=3, blocks=2, trials=8)
UNIT = {"a": ta.Uniform(0, 1)}


@ta.agent(name="kalman-ucb", parameters={"beta": ta.Gamma(2, 3), "bonus": ta.HalfNormal(1)})
class KalmanUCB:
    """Directed exploration, in 16 lines."""

    noise: float = 0.5

    def start(self, arms):
        return np.full(arms, 0.5), np.full(arms, 0.25)

    def choose(self, state):
        mean, variance = state
        return ta.softmax(self.beta * (mean + self.bonus * np.sqrt(variance)))

    def learn(self, state, choice, reward):
        mean, variance = state
        gain = variance[choice] / (variance[choice] + self.noise**2)
        mean[choice] += gain * (reward - mean[choice])
        variance[choice] *= 1 - gain


class Counts(NamedTuple):
    """What AEG remembers."""

    wins: np.ndarray
    losses: np.ndarray
    previous: int


@ta.agent(name="aeg-agent", parameters={"epsilon": ta.Uniform(), "phi": ta.Uniform()})
class AEGAgent:
    """Auto-regressive epsilon-greedy; a state that is returned and not changed where it is."""

    def start(self, arms):
        return Counts(np.zeros(arms), np.zeros(arms), -1)

    def choose(self, state, trial):
        arms, previous = state.wins.size, state.previous
        if trial == 0:
            return np.full(arms, 1 / arms)
        expected = (1 + state.wins) / (2 + state.wins + state.losses)
        best = expected == expected.max()
        again = np.zeros(arms)
        again[previous] = 1.0
        explore = self.phi * again + (1 - self.phi) / arms
        greedy = best / best.sum()
        if best[previous]:
            greedy = self.phi * again + (1 - self.phi) * greedy
        return self.epsilon * explore + (1 - self.epsilon) * greedy

    def learn(self, state, choice, reward):
        wins, losses = state.wins.copy(), state.losses.copy()
        wins[choice] += reward
        losses[choice] += 1 - reward
        return Counts(wins, losses, choice)


@ta.agent(name="moody", parameters=UNIT, latent=True)
class Moody:
    """A mood that nobody sees, drawn anew when it loses."""

    def start(self, stream):
        return uniform(stream)

    def choose(self, state, arms):
        shares = np.full(arms, (1 - self.a) / arms)
        shares[int(arms * state)] += self.a
        return shares

    def learn(self, state, reward, stream):
        return state if reward else uniform(stream)


def draws(model, n, seed=0, task=SMALL):
    """Parameters from the prior, and designs from the baseline."""
    rng = np.random.default_rng(seed)
    return sample_priors(model.parameters, n, rng), task.baseline(n, rng)


def same(one, other):
    return all(one.fields[name].tobytes() == other.fields[name].tobytes() for name in one.fields) and (one.mask == other.mask).all()


SHIPPED = {name: kind for name, kind in known_parts("model").items() if issubclass(kind, Agent)}
TASKS = {
    "bernoulli": SMALL,
    "gaussian": ta.GaussianBandit(arms=2, blocks=1, trials=10),
    "reversal": ta.ReversalBandit(arms=3, blocks=2, trials=8),
    "restless": ta.RestlessBandit(arms=2, blocks=2, trials=8),
    "budget": ta.BudgetBandit(arms=2, blocks=3, trials=10, total=15),
}


# ---- the simulator


@pytest.mark.parametrize("kind", [KalmanUCB, AEGAgent, Moody, *SHIPPED.values()], ids=lambda kind: kind.name)
def test_compiled_and_uncompiled_are_the_same_participants(kind):
    model, (parameters, designs) = kind(), draws(kind(), 12)
    assert model.not_compiled(SMALL) is None
    compiled = model.simulate(parameters, designs, np.random.default_rng(1), SMALL)
    assert same(compiled, simulate_each(model, parameters, designs, np.random.default_rng(1), SMALL))
    SMALL.check(compiled)


@pytest.mark.parametrize("task", TASKS.values(), ids=TASKS)
def test_every_bandit_can_be_played(task):
    model, (parameters, designs) = SHIPPED["q-learning"](), draws(SHIPPED["q-learning"](), 30, task=task)
    compiled = model.simulate(parameters, designs, np.random.default_rng(1), task)
    assert same(compiled, simulate_each(model, parameters, designs, np.random.default_rng(1), task))
    np.testing.assert_array_equal(compiled.mask.sum(-1), task.lengths(designs))
    task.check(compiled)


def test_same_bytes_for_any_number_of_threads(by_cores):
    model, (parameters, designs) = KalmanUCB(), draws(KalmanUCB(), 3000)
    whole, threaded = by_cores(lambda: model.simulate(parameters, designs, np.random.default_rng(7), SMALL), (1, 3))
    assert same(whole, threaded)
    rng, parts = np.random.default_rng(7), []
    for start in range(0, 3000, 1000):
        part = slice(start, start + 1000)
        parts.append(model.simulate({name: values[part] for name, values in parameters.items()}, designs[part], rng, SMALL))
    assert same(whole, ta.Behavior.concatenate(parts))


def test_options_that_are_arrays_count_in_their_middle():
    """Agents that differ in the middle of a long array, which NumPy's words for it leave out, are different agents."""

    @ta.agent(name="table", parameters=UNIT)
    class Table:
        shares: object

        def choose(self, trial):
            return self.shares[3 * trial : 3 * trial + 3]

    even, task = np.full(3 * 400, 1 / 3), ta.BernoulliBandit(arms=3, blocks=1, trials=400)
    uneven = even.copy()
    uneven[600:603] = 1.0, 0.0, 0.0
    behavior = ta.Behavior({"choice": np.zeros((1, 1, 400), np.int16), "reward": np.zeros((1, 1, 400), np.int8)})
    parameters, designs, models = {"a": np.full(20, 0.5)}, np.full((20, 1, 3), 0.5), [Table(shares) for shares in (even, uneven)]
    told = [model.log_likelihood({"a": np.array([0.5])}, behavior, designs[:1], task)[0] for model in models]
    np.testing.assert_allclose(told, [-400 * np.log(3), -399 * np.log(3)])
    first, second = (model.simulate(parameters, designs, np.random.default_rng(1), task).fields["choice"][:, 0, 200] for model in models)
    assert len(np.unique(first)) == 3
    assert (second == 0).all()


def test_options_are_annotated_attributes():
    assert KalmanUCB(noise=0.1) == KalmanUCB(noise=0.1) != KalmanUCB()
    parameters, designs = draws(KalmanUCB(), 200)
    one, other = (model.simulate(parameters, designs, np.random.default_rng(1), SMALL) for model in (KalmanUCB(), KalmanUCB(noise=5.0)))
    assert not same(one, other)


def test_an_agent_can_be_sent_away():
    again = pickle.loads(cloudpickle.dumps(KalmanUCB(noise=5.0)))
    parameters, designs = draws(again, 5)
    assert same(*(model.simulate(parameters, designs, np.random.default_rng(1), SMALL) for model in (again, KalmanUCB(noise=5.0))))


BESIDE = """
from typing import NamedTuple

import numba as nb
import numpy as np
import tellapart as ta
import {helpers}

class Memory(NamedTuple):
    values: np.ndarray
    last: int

@nb.njit
def by_the_user(alpha, error):
    return alpha * error

@ta.agent(name="beside", parameters={{"alpha": ta.Uniform(0, 1), "beta": ta.Gamma(2, 3)}})
class Beside:
    def start(self, arms):
        return Memory(np.full(arms, 0.5), -1)

    def choose(self, state):
        worth = self.beta * state.values
        if state.last >= 0:
            worth[state.last] += {helpers}.bonus(0.5)
        return ta.softmax(worth)

    def learn(self, state, choice, reward):
        state.values[choice] += by_the_user(self.alpha, reward - state.values[choice])
        return Memory(state.values, choice)
"""


def beside(folder, helpers, factor):
    """An agent in a file of a folder, with a module of helpers beside it."""
    folder.mkdir()
    (folder / f"{helpers}.py").write_text(f"FACTOR = {factor}\n\ndef bonus(x):\n    return sum([FACTOR * k * x for k in range(3)])\n")
    (folder / "models.py").write_text(BESIDE.format(helpers=helpers))
    return find_part("model", "models:Beside", folder)()


def test_a_file_beside_a_study_is_compiled_in_whatever_folder_it_is(tmp_path):
    """What was compiled for it is kept on disk, and found again; a change in a module that it imports is noticed."""
    first = beside(tmp_path / "first", "helpers_1", 1.0)
    parameters, designs = draws(first, 30)

    def played(model):
        assert model.not_compiled(SMALL) is None
        compiled = model.simulate(parameters, designs, np.random.default_rng(1), SMALL)
        assert same(compiled, simulate_each(model, parameters, designs, np.random.default_rng(1), SMALL))
        return compiled

    one = played(first)
    del sys.modules[type(first).__module__], sys.modules["helpers_1"]
    assert same(one, played(beside(tmp_path / "second", "helpers_1", 1.0)))
    del sys.modules["helpers_1"]
    assert not same(one, played(beside(tmp_path / "third", "helpers_1", -3.0)))


def test_memory_may_go_on_from_block_to_block():
    def made(resets):
        @ta.agent(name="count", parameters=UNIT, resets=resets)
        class Count:
            def start(self, arms):
                return np.zeros(arms)

            def choose(self, state):  # a list will do
                return [1.0 if k == int(state.sum()) % state.size else 0.0 for k in range(state.size)]

            def learn(self, state, choice):
                state[choice] += 1

        assert Count().not_compiled(SMALL) is None
        return Count().simulate({"a": np.zeros(1)}, np.full((1, 2, 3), 0.5), np.random.default_rng(0), SMALL).fields["choice"][0]

    np.testing.assert_array_equal(made(True), [np.arange(8) % 3] * 2)
    np.testing.assert_array_equal(made(False).reshape(-1), np.arange(16) % 3)


# ---- the likelihood


def sequences(arms, trials):
    """All that can happen in one block: choices and rewards, (S, 1, T) each."""
    every = np.array(list(itertools.product(range(arms), range(2), repeat=trials)))
    return every[:, None, ::2], every[:, None, 1::2]


@pytest.mark.parametrize("kind", [KalmanUCB, AEGAgent, *SHIPPED.values()], ids=lambda kind: kind.name)
def test_the_likelihood_sums_to_one_over_all_sequences(kind):
    """Of choices, whatever the rewards are: for each of the 2^4 sequences of rewards."""
    task, model = ta.BernoulliBandit(arms=2, blocks=1, trials=4), kind()
    choices, rewards = sequences(2, 4)
    parameters = {name: np.full(len(choices), values[3]) for name, values in draws(model, 5)[0].items()}
    behavior, designs = ta.Behavior({"choice": choices, "reward": rewards}), np.full((len(choices), 1, 2), 0.5)
    total = np.exp(model.log_likelihood(parameters, behavior, designs, task)).reshape(-1)
    by_rewards = np.bincount(rewards[:, 0] @ [1, 2, 4, 8], total)
    np.testing.assert_allclose(by_rewards, 1.0, atol=1e-9)


def test_three_arms_sum_to_one_too():
    task, model = ta.BernoulliBandit(arms=3, blocks=1, trials=4), KalmanUCB()
    choices, rewards = sequences(3, 4)
    parameters = {"beta": np.full(len(choices), 4.0), "bonus": np.full(len(choices), 0.7)}
    behavior, designs = ta.Behavior({"choice": choices, "reward": rewards}), np.full((len(choices), 1, 3), 0.5)
    total = np.exp(model.log_likelihood(parameters, behavior, designs, task)).sum() / 2**4
    assert total == pytest.approx(1.0, abs=1e-9)


def test_the_hand_written_likelihood_of_aeg_is_that_of_the_agent():
    """1,000 random participants, of whom a tenth of the trials were missed."""
    task, n = ta.BernoulliBandit(arms=3, blocks=2, trials=30), 1000
    parameters, designs = draws(AEGAgent(), n, task=task)
    behavior = ta.AEG().simulate(parameters, designs, np.random.default_rng(1), task)
    behavior = ta.Behavior(behavior.fields, np.random.default_rng(2).random(behavior.shape) < 0.9)
    ours, by_hand = (model.log_likelihood(parameters, behavior, designs, task) for model in (AEGAgent(), ta.AEG()))
    np.testing.assert_allclose(ours, by_hand, atol=1e-9)


def test_missed_trials_are_as_if_they_had_never_been():
    model, (parameters, designs) = KalmanUCB(), draws(KalmanUCB(), 40)
    behavior = model.simulate(parameters, designs, np.random.default_rng(1), SMALL)
    keep = np.array([True, False, True, True, False, False, True, True])
    holes = ta.Behavior(behavior.fields, np.broadcast_to(keep, behavior.shape))
    closed = ta.Behavior({name: values[:, :, keep] for name, values in behavior.fields.items()})
    np.testing.assert_allclose(*(model.log_likelihood(parameters, data, designs, SMALL) for data in (holes, closed)), atol=1e-12)


def test_sequences_occur_as_often_as_the_likelihood_says():
    """Chi-square test of 200,000 sequences of choices in 3 trials, if no arm ever pays; false alarm 1e-4."""
    task, n = ta.BernoulliBandit(arms=3, blocks=1, trials=3), 200_000
    for model in (KalmanUCB(), SHIPPED["kalman-thompson"](), SHIPPED["kalman-hybrid"](), SHIPPED["q-learning-sticky"]()):
        theta = {name: np.full(n, values[1]) for name, values in draws(model, 2, seed=5)[0].items()}
        behavior = model.simulate(theta, np.zeros((n, 1, 3)), np.random.default_rng(3), task)
        codes = behavior.fields["choice"][:, 0] @ [1, 3, 9]
        found, first = np.unique(codes, return_index=True)
        some = {name: values[: len(first)] for name, values in theta.items()}
        expected = n * np.exp(model.log_likelihood(some, behavior[first], np.zeros((len(first), 1, 3)), task))
        counts = np.bincount(codes, minlength=27)[found]
        common = expected > 10
        statistic = ((counts - expected)[common] ** 2 / expected[common]).sum()
        assert stats.chi2.sf(statistic, common.sum()) > 1e-4 / 4, model.name


def test_what_is_drawn_in_secret_has_no_likelihood():
    assert not isinstance(Moody(), ta.LikelihoodModel)
    assert isinstance(KalmanUCB(), ta.LikelihoodModel)
    with pytest.raises(ta.ModelError, match="'moody' has no likelihood"):
        ta.exact_information(ta.Study(SMALL, Moody(), "estimate"), np.full((2, 3), 0.5), 10, np.random.default_rng(0))


def test_evidence_and_exact_information_follow():
    study = ta.Study(SMALL, [KalmanUCB(), AEGAgent()])
    estimate = ta.exact_information(study, np.full((2, 3), 0.5), 60, np.random.default_rng(0))
    assert 0.0 < estimate.nats < np.log(2)
    assert estimate.kind == "exact"


# ---- other responses


@dataclass(frozen=True)
class Questions(ta.Task):
    """Yes or no, or a number, to a difficulty that is shown."""

    numbers: bool = False
    blocks: int = 2
    trials: int = 3
    name: ClassVar[str] = "questions"

    @property
    def fields(self):
        return (ta.Field("guess", "real"),) if self.numbers else (ta.Field("answer", "binary"),)

    @property
    def design_space(self):
        return ta.DesignSpace(self.blocks, (ta.Variable("how hard", 0.1, 2.0),))

    def baseline(self, n, rng):
        return rng.uniform(0.1, 2.0, (n, self.blocks, 1))


@ta.agent(name="able", parameters={"ability": ta.Normal(0, 1)})
class Able:
    """One parameter logistic: no memory, one probability, a design variable by its name."""

    def choose(self, how_hard):
        return 1 / (1 + np.exp(how_hard - self.ability))


@ta.agent(name="guesser", parameters={"mean": ta.Normal(0, 1)})
class Guesser:
    """A number with a density."""

    def respond(self, how_hard, stream):
        return self.mean + how_hard * standard_normal(stream)

    def log_density(self, guess, how_hard):
        return -0.5 * ((guess - self.mean) / how_hard) ** 2 - np.log(how_hard) - 0.5 * np.log(2 * np.pi)


def test_yes_or_no_to_a_design_that_is_shown():
    task, n = Questions(), 20_000
    designs, parameters = np.tile([[[0.5], [1.5]]], (n, 1, 1)), {"ability": np.full(n, 0.3)}
    behavior = Able().simulate(parameters, designs, np.random.default_rng(1), task)
    expected = 1 / (1 + np.exp(np.array([0.5, 1.5]) - 0.3))
    np.testing.assert_allclose(behavior.fields["answer"].mean((0, 2)), expected, atol=0.015)
    share = np.where(behavior.fields["answer"] == 1, expected[:, None], 1 - expected[:, None])
    np.testing.assert_allclose(Able().log_likelihood(parameters, behavior, designs, task), np.log(share).sum((1, 2)), atol=1e-12)
    assert check_model(Able(), task).findings == ()


def test_numbers_with_a_density():
    task, n = Questions(numbers=True), 5000
    designs, parameters = np.tile([[[0.5], [1.5]]], (n, 1, 1)), {"mean": np.full(n, 0.3)}
    behavior = Guesser().simulate(parameters, designs, np.random.default_rng(1), task)
    guesses = behavior.fields["guess"]
    assert stats.kstest((guesses[:, 1] - 0.3).reshape(-1) / 1.5, "norm").pvalue > 1e-4
    expected = stats.norm(0.3, designs).logpdf(guesses).sum((1, 2))
    np.testing.assert_allclose(Guesser().log_likelihood(parameters, behavior, designs, task), expected, atol=1e-9)


# ---- live participants


def test_a_live_participant_does_what_the_simulated_one_does():
    model, (parameters, designs) = SHIPPED["q-learning"](), draws(SHIPPED["q-learning"](), 1)
    values, design = {name: float(array[0]) for name, array in parameters.items()}, designs[0]
    recorded = model.simulate_one(values, design, np.random.default_rng(77), SMALL)
    person = model.live(values, SMALL, seed=77)
    for block in range(2):
        person.begin(design[block])
        for trial in range(8):
            if trial == 4:  # another process goes on
                kept = json.loads(json.dumps(person.save()))
                person = model.live(values, SMALL, seed=0)
                person.restore(kept)
            shares = person.probabilities()
            responses = person.respond()
            assert responses == {"choice": recorded["choice"][block, trial]}
            assert person.log_probability(responses) == pytest.approx(np.log(shares[responses["choice"]]))
            person.learn(responses, {"reward": recorded["reward"][block, trial]})


def test_any_generator_will_do_for_one_participant():
    """One made with several numbers, or spawned, or used before: each gives a participant of its own, the same one each time."""
    model, (parameters, designs) = SHIPPED["q-learning"](), draws(SHIPPED["q-learning"](), 1)
    values = {name: float(array[0]) for name, array in parameters.items()}
    used = np.random.default_rng(77)
    used.random()
    made = [lambda: np.random.default_rng([77, 1]), lambda: np.random.default_rng(77).spawn(1)[0], lambda: copy.deepcopy(used)]
    seen = [
        [str(model.simulate_one(values, designs[0], make(), SMALL)) for _ in range(2)]
        for make in [lambda: np.random.default_rng(77), *made]
    ]
    assert all(one == again for one, again in seen)
    assert len({one for one, _ in seen}) == 4


def test_a_state_with_names_can_be_kept():
    person = AEGAgent().live({"epsilon": 0.3, "phi": 0.2}, SMALL, seed=1)
    person.begin([0.5, 0.5, 0.5])
    person.learn({"choice": 1}, {"reward": 1})
    again = AEGAgent().live({"epsilon": 0.3, "phi": 0.2}, SMALL)
    again.restore(json.loads(json.dumps(person.save())))
    np.testing.assert_array_equal(person.probabilities(), again.probabilities())
    assert again.respond() == person.respond()


def test_a_state_that_begins_as_whole_numbers_is_kept_as_it_became():
    """It is compiled as what it becomes, so it must not be cut off when it is restored."""

    @ta.agent(name="counter", parameters=UNIT)
    class Counter:
        def start(self):
            return 0

        def choose(self, state, arms):
            return ta.softmax(state * np.arange(arms))

        def learn(self, state, reward):
            return state + self.a

    person, again = (Counter().live({"a": 0.7}, SMALL, seed) for seed in (1, 2))
    person.begin([0.5, 0.5, 0.5])
    person.learn({"choice": 1}, {"reward": 1})
    again.restore(json.loads(json.dumps(person.save())))
    np.testing.assert_array_equal(person.probabilities(), again.probabilities())


def test_a_setting_is_given_as_it_is_whatever_another_task_had():
    """A whole number in one task of a kind, a share in another: functions that were made for the one do not serve the other."""

    @ta.agent(name="asks-for-noise", parameters=UNIT)
    class AsksForNoise:
        def choose(self, noise):
            return np.array([noise, 1 - noise])

    first, second = (AsksForNoise().live({"a": 0.5}, ta.GaussianBandit(arms=2, noise=noise)) for noise in (1, 0.25))
    first.begin([0.5, 0.5])
    second.begin([0.5, 0.5])
    assert first.probabilities()[0] == 1.0
    assert second.probabilities()[0] == 0.25


def test_what_comes_next():
    """Probabilities at each trial, given those before it: of what was done, they are the likelihood."""
    model, (parameters, designs) = KalmanUCB(), draws(KalmanUCB(), 50)
    behavior = model.simulate(parameters, designs, np.random.default_rng(1), SMALL)
    behavior = ta.Behavior(behavior.fields, np.broadcast_to(np.arange(8) < 5, behavior.shape))
    shares = model.probabilities(parameters, behavior, designs, SMALL)
    assert shares.shape == (50, 2, 8, 3)
    chosen = np.take_along_axis(shares, behavior.fields["choice"][..., None].astype(int), -1)[..., 0]
    score = np.where(behavior.mask, np.log(chosen), 0.0).sum((1, 2))
    np.testing.assert_allclose(score, model.log_likelihood(parameters, behavior, designs, SMALL), atol=1e-9)
    person = model.live({name: float(values[7]) for name, values in parameters.items()}, SMALL)
    person.begin(designs[7, 0])
    for trial in range(5):
        person.learn(*({name: values[7, 0, trial] for name, values in behavior.fields.items()},) * 2)
    np.testing.assert_allclose(person.probabilities(), shares[7, 0, 5], atol=1e-12)


def test_what_comes_next_is_as_many_probabilities_as_there_are_choices():
    short = made({"choose": lambda self: np.array([0.5, 0.5])})()
    behavior = ta.Behavior({"choice": np.zeros((1, 2, 8), int), "reward": np.zeros((1, 2, 8), int)})
    with pytest.raises(ta.ModelError, match="does not give probabilities"):
        short.probabilities({"a": np.array([0.5])}, behavior, np.full((1, 2, 3), 0.5), SMALL)


# ---- what cannot be compiled, and mistakes


def test_an_agent_that_cannot_be_compiled_runs_as_it_is_and_says_which_line(monkeypatch):
    @ta.agent(name="sorter", parameters=UNIT)
    class Sorter:
        def start(self, arms):
            return np.zeros(arms)

        def choose(self, state):
            order = sorted(range(len(state)), key=lambda k: (state[k], str(k)))
            return ta.softmax(np.array([self.a * order.index(k) for k in range(len(state))]))

        def learn(self, state, choice, reward):
            state[choice] += reward

    model, (parameters, designs) = Sorter(), draws(Sorter(), 6)
    with pytest.warns(NotCompiled, match=r"test_agents\.py, line \d+") as caught:
        behavior = model.simulate(parameters, designs, np.random.default_rng(1), SMALL)
    line = int(str(caught[0].message).split(", line ")[1].split(":")[0])
    assert "sorted(" in Path(__file__).read_text().splitlines()[line - 1]
    SMALL.check(behavior)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotCompiled)
        score = model.log_likelihood(parameters, behavior, designs, SMALL)
    assert (score < 0).all()
    monkeypatch.setattr("tellapart.testing.models.SECONDS", 0.1)  # plain Python is slow; few trials of few people say it too
    checked = check_model(model, ta.BernoulliBandit(arms=3, blocks=1, trials=3))
    assert checked.how == "not compiled"
    assert any(f"line {line}" in (finding.where or "") for finding in checked.findings)


def test_rules_that_are_not_compiled_are_what_is_to_be_compiled(monkeypatch):
    monkeypatch.setattr("tellapart.testing.models.SECONDS", 0.1)
    monkeypatch.setattr(ta.BernoulliBandit.rules, "compiled", None)
    findings = check_model(ta.QLearning(), ta.BernoulliBandit(arms=2, blocks=1, trials=3)).findings
    assert [finding.fix.partition(":")[0] for finding in findings] == ["give BernoulliArms its rules a second time, compiled"]


def test_options_can_be_refused():
    @ta.agent(name="picky", parameters=UNIT)
    class Picky:
        share: float = 0.5

        def __post_init__(self):
            if not 0 <= self.share <= 1:
                raise ta.StudyError("The 'share' must be from 0 to 1.", got=self.share, key="share")

        def choose(self):
            return [self.a * self.share, 1 - self.a * self.share, 0.0]

    assert Picky(share=0.3).share == 0.3
    with pytest.raises(ta.StudyError, match="from 0 to 1"):
        Picky(share=2.0)


def test_the_line_is_the_users_also_where_the_compiler_gave_up_inside_of_a_library():
    @ta.agent(name="counter", parameters=UNIT)
    class Counter:
        def start(self, arms):
            return np.zeros(arms, dtype=int)

        def choose(self, state):
            return ta.softmax(self.a * state)

    reason = Counter().not_compiled(SMALL)
    place, _, told = reason.partition(": ")
    file, line = place.split(", line ")
    assert "dtype=int)" in Path(file).read_text().splitlines()[int(line) - 1]
    assert "zeros(" in told.partition(":")[2]  # what it was called with


def test_a_state_that_changes_its_kind_is_said_with_the_line():
    class Sum(NamedTuple):
        total: float

    @ta.agent(name="whole-at-first", parameters=UNIT)
    class WholeAtFirst:
        def start(self):
            return Sum(0)

        def choose(self, state):
            return np.array([0.5, 0.25 + 0.0 * state.total, 0.25])

        def learn(self, state, reward):
            return Sum(state.total + self.a * reward)

    reason = WholeAtFirst().not_compiled(SMALL)
    assert "begins as Sum(int64" in reason
    assert "goes on as Sum(float64" in reason
    assert reason.startswith(f"{__file__}, line ")


def test_one_response_at_each_trial():
    @dataclass(frozen=True)
    class Timed(Questions):
        @property
        def fields(self):
            return ta.Field("answer", "binary"), ta.Field("seconds", "positive")

    with pytest.raises(ta.ModelError, match="gives one response") as error:
        Able().at(Timed())
    assert "@ta.model" in str(error.value)


def test_rules_that_are_not_compiled_are_played_in_python():
    class Slow(ta.BernoulliBandit().rules):
        compiled = None

    @dataclass(frozen=True)
    class SlowBandit(ta.BernoulliBandit):
        rules: ClassVar = Slow

    task = SlowBandit(arms=2, blocks=1, trials=4)
    model, (parameters, designs) = KalmanUCB(), draws(KalmanUCB(), 300, task=task)
    with pytest.warns(NotCompiled, match=r"Slow\.compiled"):
        behavior = model.simulate(parameters, designs, np.random.default_rng(1), task)
    chance = np.take_along_axis(designs, behavior.fields["choice"].astype(int), -1)
    assert abs((behavior.fields["reward"] - chance).sum()) < 5 * np.sqrt((chance * (1 - chance)).sum())
    assert np.isfinite(model.log_likelihood(parameters, behavior, designs, task)).all()


SHARED = np.zeros(3)
SEEN = [0]


@ta.agent(name="shared", parameters=UNIT)
class SharedState:
    def start(self):
        return SHARED

    def choose(self, state):
        return ta.softmax(self.a * state)

    def learn(self, state, choice, reward):
        state[choice] += reward


@ta.agent(name="gossip", parameters=UNIT)
class Gossip:
    def start(self, arms):
        return np.zeros(arms)

    def choose(self, state):
        return ta.softmax(self.a * state)

    def learn(self, state, choice, reward):
        SEEN[0] += 1
        state[choice] += reward * SEEN[0]


@ta.agent(name="too-much", parameters=UNIT)
class TooMuch:
    def start(self, arms):
        return np.zeros(arms)

    def choose(self, state):
        if state[0] > 1:
            return 1.01 * ta.softmax(state)
        return ta.softmax(state * self.a)

    def learn(self, state, choice, reward):
        state[choice] += reward


@ta.agent(name="prophet", parameters=UNIT)
class Prophet:
    def start(self, arms):
        return np.zeros(arms)

    def choose(self, state, reward):
        return ta.softmax(state + reward)

    def learn(self, state, choice):
        state[choice] += self.a


@ta.agent(name="insider", parameters=UNIT)
class Insider:
    def start(self, arms):
        return np.zeros(arms)

    def choose(self, state):
        return ta.softmax(state)

    def learn(self, state, choice, design):
        state[choice] += self.a * design[choice]


@ta.agent(name="hasty", parameters=UNIT)
class Hasty:
    def start(self, arms):
        return np.zeros(arms)

    def choose(self, state):
        state[0] += 1
        return ta.softmax(self.a * state)

    def learn(self, state, choice, reward):
        state[choice] += reward


@ta.agent(name="outside", parameters=UNIT)
class Outside:
    def start(self, arms):
        return np.zeros(arms)

    def choose(self, state):
        return ta.softmax(self.a * state)

    def learn(self, state, choice, reward):
        state[choice + 1] += reward


@ta.agent(name="liar", parameters=UNIT)
class Liar:
    def start(self, arms):
        return np.zeros(arms)

    def choose(self, state):
        return ta.softmax((3 + self.a) * state)

    def respond(self, state, stream):
        return int((3 + 0 * self.a) * uniform(stream))

    def learn(self, state, choice, reward):
        state[choice] += reward


@ta.agent(name="late", parameters=UNIT)
class Late:
    """At first, when the state is zero, nothing changes."""

    def start(self, arms):
        return np.zeros(arms)

    def choose(self, state):
        state -= state.max()
        return ta.softmax(self.a * state)

    def learn(self, state, choice, reward):
        state[choice] += reward


@ta.agent(name="secret", parameters=UNIT)
class Secret:
    """Draws a favourite, and keeps to it, which the likelihood does not know."""

    def start(self):
        return np.full(1, -1.0)

    def respond(self, state, arms, stream):
        if state[0] < 0:
            state[0] = ta.below(arms, stream)
        return int(state[0])

    def choose(self, state, arms):
        shares = np.full(arms, (1 - self.a) / arms)
        shares[int(max(state[0], 0.0))] += self.a
        return shares


@ta.agent(name="overflow", parameters=UNIT)
class Overflow:
    """Compiled, whole numbers have 64 bits."""

    def start(self):
        return 1

    def choose(self, state, arms):
        shares = np.full(arms, (1 - self.a) / arms)
        shares[state % arms] += self.a
        return shares

    def learn(self, state, choice, reward):
        return 1_000_003 * state + 3 * choice + reward


@ta.agent(name="no-mind", parameters=UNIT)
class NoMind:
    """Calls another number `state`, and forgets it."""

    def start(self):
        return 0.5

    def choose(self, state, arms):
        return np.array([1 - state / 2, *np.full(arms - 1, state / 2 / (arms - 1))])

    def learn(self, state, reward):
        state += self.a * (reward - state)


@ta.agent(name="wins-only", parameters=UNIT)
class WinsOnly:
    """Returns a new state after wins, and nothing after losses."""

    def start(self, arms):
        return np.zeros(arms)

    def choose(self, state):
        return ta.softmax(state)

    def learn(self, state, choice, reward):
        if reward == 0:
            return None
        new = state.copy()
        new[choice] += self.a
        return new


@pytest.mark.parametrize(
    ("kind", "words", "line"),
    [
        (SharedState, "share one state", "def start(self):"),
        (Gossip, "once others have taken part", "def learn(self, state, choice, reward):"),
        (TooMuch, "does not give probabilities", "return 1.01 * ta.softmax(state)"),
        (Prophet, "asks for 'reward', which a participant does not know at that time", "def choose(self, state, reward):"),
        (Insider, "asks for 'design', which a participant does not know at that time", "def learn(self, state, choice, design):"),
        (Hasty, "changes the state", "def choose(self, state):"),
        (Outside, "failed", "state[choice + 1] += reward"),
        (Liar, "does not respond with the probabilities", "def respond(self, state, stream):"),
        (Late, "To be asked for its probabilities changes the state", "def choose(self, state):"),
        (Secret, "To respond changes the state", "def respond(self, state, arms, stream):"),
        (NoMind, "the state is a number, which cannot be changed where it is", "def learn(self, state, reward):"),
        (WinsOnly, "a state in some cases and nothing in others", "def learn(self, state, choice, reward):"),
    ],
    ids=lambda value: getattr(value, "name", ""),
)
def test_planted_mistakes_are_refused_with_the_line(kind, words, line, monkeypatch):
    monkeypatch.setattr("tellapart.testing.agents.DRAWN", 300)  # a mistake that shows in few people shows in more
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotCompiled)
        errors = [finding for finding in check_model(kind(), SMALL, raise_errors=False).findings if finding.severity == "error"]
    assert errors
    assert words in f"{errors[0].what} {errors[0].got}"
    file, number = errors[0].where.rsplit(", line ", 1)
    assert file == __file__
    assert Path(file).read_text().splitlines()[int(number) - 1].strip() == line


def test_compiled_code_that_does_something_else_is_found():
    task = ta.BernoulliBandit(arms=3, blocks=1, trials=12)
    errors = [finding.what for finding in check_model(Overflow(), task, raise_errors=False).findings if finding.severity == "error"]
    assert errors == ["'overflow' does something else when it is compiled."]


def test_numbers_that_stay_what_they_were_are_told():
    @ta.agent(name="counter", parameters=UNIT)
    class Counter:
        def start(self, arms):
            return np.full(arms, np.nan), 0

        def choose(self, state):
            worth = np.full(state[0].size, 0.5)
            for k in range(worth.size):
                if not np.isnan(state[0][k]):
                    worth[k] = state[0][k]
            return ta.softmax(self.a * (1 + state[1]) * worth)

        def learn(self, state, choice, reward):
            values, count = state
            values[choice] = reward
            count += 1

    (finding,) = check_model(Counter(), SMALL).findings  # that it begins with what is no number is no mistake
    assert finding.what == "The function 'learn' of 'counter' returns nothing, so the numbers in its state stay what they were."


def test_what_was_expected_and_what_was_found_stand_in_lines_of_their_own():
    lines = str(check_model(TooMuch(), SMALL, raise_errors=False).findings[0]).splitlines()
    assert any(line.startswith("  expected: 3 numbers") for line in lines)
    assert any(line.startswith("  got:      [") for line in lines)


def made(functions, parameters=UNIT, **settings):
    return ta.agent(name="x", parameters=parameters, **settings)(type("X", (), functions))


def even(self, arms):
    return np.full(arms, 1 / arms)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: made({"choose": even}, {"a": 0.5}), "names with priors"),
        (lambda: made({"choose": even}, {"lambda": ta.Uniform()}), "call it 'lambda_'"),
        (lambda: made({"choose": even, "lern": even}), "did you mean 'learn'"),
        (lambda: made({"start": even}), "does nothing"),
        (lambda: made({"choose": lambda self, stream: None}), "draws something that nobody sees"),
        (lambda: made({"respond": lambda self, stream: 0}), "how probable that is"),
        (lambda: made({"choose": even, "__annotations__": {"a": float}, "a": 1.0}), "a parameter and an option of one name"),
        (lambda: made({"choose": lambda self, arm: None})().at(SMALL), "did you mean 'arms'"),
        (lambda: made({"choose": even, "resets": False}), "sets 'resets', which has no effect there"),
        (lambda: made({"choose": even, "__annotations__": {"name": str}, "name": "y"}), "sets 'name'"),
        (lambda: made({"choose": even, "__annotations__": {"live": bool}, "live": True}), "call it 'live_'"),
        (lambda: made({"choose": even})().at(Questions(numbers=True)), "is for categories"),
    ],
)
def test_mistakes_that_are_refused_at_once(make, message):
    with pytest.raises(ta.ModelError, match=message):
        make()


def test_who_failed_can_be_seen_again():
    with pytest.raises(ta.ModelError) as error:
        ta.simulate_models(SMALL, [TooMuch()], np.full((2, 3), 0.9), 50, np.random.default_rng(1))
    code = str(error.value).split("see it again with ")[1].split(", then mend")[0]
    with pytest.raises(ta.ModelError, match="does not give probabilities"):
        eval(code, {"model": TooMuch(), "np": np, "task": SMALL})


def test_nothing_is_recorded_of_who_fails():
    designs = np.full((50, 2, 3), 0.9)
    behavior, failures = attempt(TooMuch(), {"a": np.linspace(0, 1, 50)}, designs, np.random.default_rng(1), SMALL)
    assert 0 < len(failures) < 50
    assert not behavior.mask[[*failures]].any()
    assert behavior.mask.any((1, 2)).sum() == 50 - len(failures)


def test_a_likelihood_without_probabilities_is_refused_with_the_line():
    wins = ta.Behavior({"choice": np.zeros((1, 2, SMALL.trials), int), "reward": np.ones((1, 2, SMALL.trials), int)})
    with pytest.raises(ta.ModelError, match="does not give probabilities") as error:
        TooMuch().log_likelihood({"a": np.array([0.5])}, wins, np.full((1, 2, 3), 0.9), SMALL)
    assert "test_agents.py, line" in str(error.value.where)


def test_a_density_that_is_no_number_is_refused_with_the_line():
    @ta.agent(name="half", parameters=UNIT)
    class Half:
        def respond(self, stream):
            return ta.standard_normal(stream)

        def log_density(self, guess):
            return np.log(guess - self.a)

    task = Questions(numbers=True)
    behavior = ta.Behavior({"guess": np.full((1, task.blocks, task.trials), -1.0)})
    with pytest.raises(ta.ModelError, match="'log_density' of 'half' gives no number") as error:
        Half().log_likelihood({"a": np.array([0.5])}, behavior, np.zeros((1, *task.design_space.shape)), task)
    assert "test_agents.py, line" in str(error.value.where)


@pytest.mark.filterwarnings("ignore::tellapart.models.agents.NotCompiled")
def test_what_is_recorded_is_what_was_done():
    """A response that the record would round or cut is none."""

    @ta.agent(name="fraction", parameters=UNIT, latent=True)
    class Fraction:
        def start(self):
            return 0.0

        def respond(self, state, stream):
            return 0.5 * int(4 * ta.uniform(stream)) + 0.0 * self.a

        def learn(self, state, choice):
            return state + choice

    valid = Fraction().at(SMALL).plain["valid"]
    assert [valid(value, np.array([3.0])) for value in (0, 2.0, 0.5, 3, -1, np.nan)] == [True, True, False, False, False, False]
    with pytest.raises(ta.ModelError, match="gave no 'choice'"):
        ta.simulate_models(SMALL, [Fraction()], np.full((2, 3), 0.9), 50, np.random.default_rng(1))


def test_a_choice_that_there_is_not_has_no_probability():
    person = KalmanUCB().live({"beta": 1.0, "bonus": 1.0}, SMALL)
    person.begin([0.2, 0.5, 0.8])
    for choice in (-1, 3, 0.5):
        with pytest.raises(ta.ModelError, match="that there is not"):
            person.log_probability({"choice": choice})
    nowhere = ta.Behavior({"choice": np.full((1, 2, 8), -1), "reward": np.ones((1, 2, 8), int)})
    with pytest.raises(ta.DataError, match="not one that the task can record"):
        KalmanUCB().probabilities({"beta": [1.0], "bonus": [1.0]}, nowhere, np.full((1, 2, 3), 0.9), SMALL)


def test_what_comes_next_is_probabilities():
    wins = ta.Behavior({"choice": np.zeros((1, 2, SMALL.trials), int), "reward": np.ones((1, 2, SMALL.trials), int)})
    with pytest.raises(ta.ModelError, match="does not give probabilities"):
        TooMuch().probabilities({"a": np.array([0.5])}, wins, np.full((1, 2, 3), 0.9), SMALL)


def test_a_few_who_fail_are_skipped():
    @ta.agent(name="fragile", parameters=UNIT)
    class Fragile:
        def choose(self, arms):
            return np.full(arms, 1.0 if self.a > 0.99 else 1 / arms)

    simulations = ta.simulate_models(SMALL, [Fragile()], np.full((2, 3), 0.5), 1000, np.random.default_rng(1), on_error="skip")
    assert simulations.failures
    assert simulations.parameters["fragile.a"].max() <= 0.99
    assert simulations.behavior.mask.all()


# ---- from values to probabilities


def test_softmax_of_any_numbers():
    values = np.array([1000.0, 999.0, -1e6])
    np.testing.assert_allclose(softmax(values), [1 / (1 + np.exp(-1)), 1 / (1 + np.e), 0.0], atol=1e-15)


@pytest.mark.parametrize("arms", [2, 3, 5, 10])
def test_the_largest_of_normal_numbers(arms):
    """Against a fine grid, with standard deviations that differ by up to a factor of about 50."""
    rng = np.random.default_rng(arms)
    for _ in range(20):
        means, sds = rng.normal(0.5, 0.4, arms), np.exp(rng.normal(-1.5, 1.0, arms))
        x = np.linspace((means - 9 * sds).min(), (means + 9 * sds).max(), 100_001)
        below = stats.norm.cdf(x[:, None], means, sds)
        expected = [np.trapezoid(stats.norm.pdf(x, means[k], sds[k]) * np.delete(below, k, axis=1).prod(1), x) for k in range(arms)]
        np.testing.assert_allclose(largest(means, sds), expected, atol=2e-5)


@pytest.mark.parametrize("narrow", [1e-2, 1e-3, 3e-4, 1e-6])
def test_the_largest_where_one_is_all_but_known(narrow):
    """An arm that pays 0.9 for sure is the best if both others, N(0.5, 0.5), are below: with probability Phi(0.8)^2."""
    best = stats.norm.cdf(0.8) ** 2
    np.testing.assert_allclose(largest(np.array([0.9, 0.5, 0.5]), np.array([narrow, 0.5, 0.5])), [best, *[(1 - best) / 2] * 2], atol=2e-4)
    known, ahead = stats.norm.cdf(1.0), stats.norm.cdf(np.sqrt(0.5))  # two are all but known, the first ahead by one standard deviation
    shares = largest(np.array([narrow, 0.0, -0.5]), np.array([narrow, narrow, 0.5]))
    np.testing.assert_allclose(shares, [ahead * known, (1 - ahead) * known, 1 - known], atol=narrow)


@pytest.mark.parametrize("apart", [3.0, 8.0, 20.0])
@pytest.mark.parametrize("sds", [(1.0, 1.0, 1.0, 1.0), (1.0, 0.01, 0.3, 2.0), (0.02, 1.0, 0.5, 0.5)])
def test_the_rarest_of_the_largest_has_its_digits(apart, sds):
    """Against a fine grid on the scale of logarithms, as far down as numbers go."""
    means, widths = np.array([0.0, apart, apart - 0.5, apart - 1]), np.array(sds)
    x = np.linspace(-1, 40, 400_001)
    logs = stats.norm.logpdf(x, 0.0, sds[0]) + stats.norm.logcdf(x[:, None], means[1:], sds[1:]).sum(1)
    expected = max(logs.max() + np.log(np.trapezoid(np.exp(logs - logs.max()), x)), np.log(1e-300))
    np.testing.assert_allclose(np.log(largest(means, widths)[0]), expected, atol=1e-4 if expected < np.log(1e-7) else 1e-2)


@pytest.mark.parametrize("arms", [2, 3])
def test_what_is_all_but_impossible_is_not_impossible(arms):
    """Its logarithm is a number, or a person who does it once is said to follow no model; a value of -inf stays impossible."""
    for apart in (10.0, 1e3, 1e8):
        values = np.append(np.zeros(arms - 1), -apart)
        assert 0 < largest(values, np.ones(arms))[-1] < 1e-10
        assert 0 < softmax(values)[-1] < 1e-4
    assert softmax(np.append(np.zeros(arms - 1), -np.inf))[-1] == 0


def test_the_largest_of_two_however_they_are_named():
    means, sds = np.array([10.0, 0.0]), np.array([1.0, 0.5])
    shares = largest(means, sds)
    np.testing.assert_allclose(shares[1], stats.norm.sf(10 / np.sqrt(1.25)), rtol=1e-9)
    np.testing.assert_array_equal(shares[::-1], largest(means[::-1].copy(), sds[::-1].copy()))


def test_the_largest_of_what_is_no_number():
    """As many standard deviations as means; and who cannot say which is the largest, does not choose."""
    means, stream = np.array([0.1, 0.2, 0.3]), np.ones(1, np.uint64)
    for function, more in ((largest, ()), (ta.drawn_largest, (stream,))):
        with pytest.raises(ValueError, match="as many standard deviations as means"):
            function(means, np.ones(2), *more)
    assert ta.drawn_largest(np.array([0.1, np.nan, 0.3]), np.ones(3), stream) == -1
