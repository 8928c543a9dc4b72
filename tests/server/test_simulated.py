"""Simulated people: exactly like the models, by way of the real addresses, and back to the same posterior."""

import itertools

import numpy as np
import pytest
from kit import DESIGN, bandit, plan_of, questions
from scipy.stats import chisquare
from typer.testing import CliRunner

import tellapart as ta
from tellapart.bandits.budget import BudgetBandit
from tellapart.cli import app as commands
from tellapart.information.exact import model_probabilities
from tellapart.models.simulation import simulate_models
from tellapart.server.agents import ByEnvironment, ByItself, ByLikelihood, ByReplay, live_agents
from tellapart.server.app import create_app
from tellapart.server.collected import collect
from tellapart.server.serving import in_background
from tellapart.server.simulated import Simulation

FALSE_ALARM = 1e-3
"""How often each of the statistical tests here fails although all is right."""


def played(agents, task, designs, rng):
    """Agents who play against the task's environment, a trial at a time."""
    environment = task.environment(designs, rng)
    while not environment.done:
        responses = agents.respond(environment.behavior, environment.block, environment.trial)
        given = {name: np.array([one[name] for one in responses]) for name in responses[0]}
        outcomes = environment.step(given)
        agents.learn([{name: values[i].item() for name, values in outcomes.items()} for i in range(len(designs))])
    return environment.behavior


def exact_shares(model, theta, design, task):
    """The probability of each sequence of choices and rewards in one block, and the sequences as numbers."""
    arms, trials = task.arms, task.trials
    sequences = list(itertools.product(*[range(arms)] * trials, *[range(2)] * trials))
    choices, rewards = (np.array(sequences)[:, part].reshape(-1, 1, trials) for part in (slice(0, trials), slice(trials, None)))
    behavior = ta.Behavior({"choice": choices.astype(np.int16), "reward": rewards.astype(np.int8)})
    n = len(sequences)
    log_p = model.log_likelihood({k: np.full(n, v) for k, v in theta.items()}, behavior, np.broadcast_to(design, (n, *design.shape)), task)
    pay = np.array(design)[0][choices]
    return np.exp(log_p) * np.where(rewards == 1, pay, 1 - pay).prod((1, 2))


def counts_of(behavior, task):
    """How often each sequence occurs, in the order of `exact_shares`."""
    codes = np.concatenate([behavior.fields["choice"][:, 0], behavior.fields["reward"][:, 0]], axis=1)
    sizes = (task.arms,) * task.trials + (2,) * task.trials
    return np.bincount(np.ravel_multi_index(codes.T.astype(int), sizes), minlength=int(np.prod(sizes)))


MODELS = [(ta.WSLTS(), {"gamma_w": 0.8, "gamma_l": 0.6, "lambda": 1.5}), (ta.AEG(), {"epsilon": 0.3, "phi": 0.4})]
MODELS += [(ta.GLS(), {"gamma": 0.8, "pi_00": 0.3, "pi_01": 0.7, "pi_10": 0.6, "pi_11": 0.9})]


@pytest.mark.parametrize(("model", "theta"), MODELS, ids=lambda value: getattr(value, "name", ""))
def test_agents_by_likelihood_are_the_model_exactly(model, theta):
    """All sequences of three trials occur as often as they should: a chi-square test at a false-alarm rate of 0.1 %."""
    task, n = ta.BernoulliBandit(2, 1, 3), 4000
    design = np.array([[0.3, 0.7]])
    designs, rng = np.broadcast_to(design, (n, 1, 2)), np.random.default_rng(5)
    agents = live_agents(model, {name: np.full(n, value) for name, value in theta.items()}, designs, task, rng)
    assert isinstance(agents, ByLikelihood)
    expected = n * exact_shares(model, theta, design, task)
    counts = counts_of(played(agents, task, designs, rng), task)
    assert expected.sum() == pytest.approx(n)
    assert chisquare(counts[expected > 0], expected[expected > 0]).pvalue > FALSE_ALARM


@ta.model(name="stay", parameters={"stay": ta.Uniform(0, 1)})
def stay(parameters, design, rng, task):
    """Stays after a win, with a probability after a loss; played through the environment."""
    environment, choice = task.environment(design, rng), 0
    while not environment.done:
        if environment.trial == 0:
            choice = int(rng.integers(task.arms))
        reward = environment.step({"choice": choice})["reward"][0]
        choice = choice if reward or rng.random() < parameters["stay"] else int(rng.integers(task.arms))
    return environment.behavior


def test_agents_by_environment_are_the_model():
    """The same statistics as the simulator's own: two samples, |z| below 3.3."""
    task, n, model = ta.BernoulliBandit(2, 2, 5), 400, stay()
    designs = np.broadcast_to([[0.2, 0.8], [0.5, 0.1]], (n, 2, 2))
    theta, rng = {"stay": np.full(n, 0.3)}, np.random.default_rng(2)
    agents = live_agents(model, theta, designs, task, rng)
    assert isinstance(agents, ByEnvironment)
    live, own = played(agents, task, designs, rng), model.simulate(theta, designs, rng, task)
    for statistic in (lambda b: b.fields["reward"].mean((1, 2)), lambda b: (np.diff(b.fields["choice"], axis=2) == 0).mean((1, 2))):
        one, other = statistic(live), statistic(own)
        assert abs(one.mean() - other.mean()) < 3.3 * np.sqrt(one.var() / n + other.var() / n)


@ta.agent(name="learner", parameters={"alpha": ta.Uniform(0, 1), "beta": ta.Gamma(2, 3)})
class Learner:
    def start(self, arms):
        return np.full(arms, 0.5)

    def choose(self, state):
        return ta.softmax(self.beta * state)

    def learn(self, state, choice, reward):
        state[choice] += self.alpha * (reward - state[choice])
        return state


def test_agents_by_themselves_are_the_model():
    """The same statistics as the simulator's own: two samples, |z| below 3.3."""
    task, n, model = ta.BernoulliBandit(2, 2, 5), 400, Learner()
    designs = np.broadcast_to([[0.2, 0.8], [0.5, 0.1]], (n, 2, 2))
    theta, rng = {"alpha": np.full(n, 0.4), "beta": np.full(n, 4.0)}, np.random.default_rng(2)
    agents = live_agents(model, theta, designs, task, rng)
    assert isinstance(agents, ByItself)
    live, own = played(agents, task, designs, rng), model.simulate(theta, designs, rng, task)
    for statistic in (lambda b: b.fields["reward"].mean((1, 2)), lambda b: (np.diff(b.fields["choice"], axis=2) == 0).mean((1, 2))):
        one, other = statistic(live), statistic(own)
        assert abs(one.mean() - other.mean()) < 3.3 * np.sqrt(one.var() / n + other.var() / n)


def test_agents_play_a_block_as_long_as_it_turned_out_to_be():
    """A policy may have given it more trials than were planned."""
    task, designs = BudgetBandit(arms=2, blocks=2, trials=9, total=10), np.array([[[0.2, 0.8, 2.0], [0.5, 0.1, 8.0]]])
    agents = live_agents(Learner(), {"alpha": np.array([0.4]), "beta": np.array([4.0])}, designs, task, np.random.default_rng(2))
    designs[0, 0, 2] = 3.0
    agents.respond(task.nothing(1), 0, 0)
    assert agents.respond(task.nothing(1), 0, 2) != [None]


def test_without_outcomes_a_whole_experiment_is_replayed():
    study = questions()
    designs = np.broadcast_to([[0.2], [0.8]], (5, 2, 1))
    agents = live_agents(study.models[0], {"bias": np.full(5, 1.0)}, designs, study.task, np.random.default_rng(0))
    assert isinstance(agents, ByReplay)
    assert agents.respond(study.task.nothing(5), 0, 0) == [{"second": 1}] * 5


def test_a_model_that_draws_its_own_outcomes_is_refused():
    @ta.model(name="alone", parameters={"x": ta.Uniform(0, 1)}, vectorised=True)
    def alone(parameters, designs, rng, task):
        zeros = np.zeros((len(designs), task.blocks, task.trials), int)
        return {"choice": zeros, "reward": zeros}

    task = ta.BernoulliBandit(2, 1, 3)
    with pytest.raises(ta.ModelError, match="cannot take part trial by trial"):
        live_agents(alone(), {"x": np.ones(1)}, np.full((1, 1, 2), 0.5), task, np.random.default_rng(0))


def simulated(study, design, database, n, seed=3, policy=None):
    app = create_app(plan_of(study, [design], policy=policy), database, "the-token", seed=1)
    with in_background(app, "127.0.0.1", 0) as address:
        result = Simulation(app.state.sessions, address, "the-token", np.random.default_rng(seed)).run(n)
    assert (result["finished"], result["participants"]) == (n, n)
    with database.reading() as connection:
        return collect(connection, study.task, simulated=True)


def test_people_who_were_served_have_the_posterior_of_people_who_were_simulated(sqlite):
    """The log probability of the true model, over 60 who took part by HTTP and 300 simulated directly: |z| below 3.3 (0.1 %)."""
    study, n, many = bandit(trials=8), 60, 300
    people = simulated(study, DESIGN, sqlite, n)
    names = [model.name for model in study.models]
    truth = np.array([names.index(one["model"]) for one in people.truth])
    served = np.log(model_probabilities(study.task, study.question, people.behavior, people.designs)[np.arange(n), truth])
    direct = simulate_models(study.task, study.models, DESIGN, many, np.random.default_rng(4))
    shares = model_probabilities(study.task, study.question, direct.behavior, DESIGN)
    expected = np.log(shares[np.arange(many), direct.model])
    z = (served.mean() - expected.mean()) / np.sqrt(served.var() / n + expected.var() / many)
    assert np.bincount(truth).tolist() == [20, 20, 20]
    assert abs(z) < 3.3


def test_simulated_people_answer_questions_of_tasks_without_outcomes(sqlite):
    people = simulated(questions(), [[0.2], [0.8]], sqlite, 6)
    assert people.behavior.mask.all()
    assert {row["source"] for row in people.rows} == {"planned"}


@ta.agent(name="doubter", parameters={"x": ta.Uniform(0, 1)})
class Doubter:
    """Says yes where the difference is above a half, whatever it was told."""

    def choose(self, difference):
        return 1.0 if difference > 0.5 else 0.0


def test_agents_see_the_blocks_that_were_chosen_for_them_also_without_outcomes(sqlite):
    study = ta.Study(questions().task, Doubter(), "estimate", name="doubts")
    people = simulated(study, [[0.2], [0.3]], sqlite, 4, policy=lambda behavior, designs, block: np.array([0.9]))
    assert {row["source"] for row in people.rows} == {"adapted"}
    assert people.behavior.fields["second"].all()


def test_blocks_that_the_policy_did_not_give_are_counted(sqlite):
    def fails(behavior, designs, block):
        raise ValueError("no idea")

    app = create_app(plan_of(questions(), [[[0.2], [0.3]]], policy=fails), sqlite, "the-token", seed=1)
    with in_background(app, "127.0.0.1", 0) as address:
        result = Simulation(app.state.sessions, address, "the-token", np.random.default_rng(3)).run(2)
    assert len(result["fallbacks"]) == 4
    assert "no idea" in result["fallbacks"][0]


def test_simulated_people_are_apart_from_real_ones(sqlite):
    simulated(questions(), [[0.2], [0.8]], sqlite, 4)
    with sqlite.reading() as connection:
        assert collect(connection, questions().task, simulated=False).rows == []


def test_the_whole_round_trip_by_commands(tmp_path):
    """new → serve --simulate → export → the table is data of the study."""

    def run(*words):
        result = CliRunner().invoke(commands, [str(word) for word in words])
        assert result.exit_code == 0, result.output
        return result.stdout

    folder = tmp_path / "mine"
    run("new", folder, "--example", "bandit")
    study = (folder / "study.toml").read_text().replace("trials = 30", "trials = 5")
    (folder / "study.toml").write_text(study)
    design = "0.1,0.5,0.9; 0.8,0.2,0.4"
    assert "6 of 6 simulated people finished" in run("serve", folder, "--design", design, "--simulate", 6)
    run("export", folder, "--simulated", "--out", tmp_path / "data.csv")
    assert "The data fit: 6 participants, 60 trials" in run("check", folder, tmp_path / "data.csv")
    assert "s0002: forgotten" in run("forget", folder, "s0002")
    refused = CliRunner().invoke(commands, ["export", str(folder), "--out", str(tmp_path / "x.csv")])
    assert (refused.exit_code, "give --simulated" in refused.output) == (2, True)
