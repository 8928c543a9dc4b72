"""Models that fail now and then, with `on_error = "skip"`: every command works, only the run writes, and the bound stays a bound."""

import json
from typing import ClassVar

import cloudpickle
import numpy as np
import pandas as pd
import pytest
from pages import few_points
from scipy import stats
from small import Narrow, OneSpline
from typer.testing import CliRunner

import tellapart as ta
from tellapart.cli import app
from tellapart.information.estimate import stratified
from tellapart.journal import Journal
from tellapart.models.hidden_number import HiddenNumber
from tellapart.tasks.readings import NoisyReadings
from tellapart.workers import Workers

MODELS = """
import numpy as np
import tellapart as ta

def likelihood_of(power):
    def log_likelihood(parameters, behavior, designs, task):
        p = np.clip(parameters["p"], 1e-9, 1 - 1e-9) ** power
        ones = (behavior.fields["choice"] * behavior.mask).sum((1, 2))
        return ones * np.log(p) + (behavior.mask.sum((1, 2)) - ones) * np.log1p(-p)
    return log_likelihood

def play(p, designs, rng, task):
    environment = task.environment(designs, rng)
    while not environment.done:
        environment.step({"choice": rng.random(len(p)) < p})
    return environment.behavior

@ta.model(name="rare", parameters={"p": ta.Uniform(0, 1)}, vectorised=True, log_likelihood=likelihood_of(1))
def rare(parameters, designs, rng, task):
    unlucky = parameters["p"] > 0.999  # one participant in a thousand
    if unlucky.any():
        raise ArithmeticError("no such luck")
    behavior = play(parameters["p"], designs, rng, task)
    choice = np.where(unlucky[:, None, None], -1, behavior.fields["choice"])
    return ta.Behavior({**behavior.fields, "choice": choice})

@ta.model(name="sound", parameters={"p": ta.Uniform(0, 1)}, vectorised=True, log_likelihood=likelihood_of(3))
def sound(parameters, designs, rng, task):
    return play(parameters["p"] ** 3, designs, rng, task)
"""

RAISES = """    if unlucky.any():
        raise ArithmeticError("no such luck")
"""
OFTEN = MODELS.replace(RAISES, "").replace("0.999  # one participant in a thousand", "0.99")
"""One participant in a hundred makes an impossible choice. The others of a batch need not be simulated again, one by one."""

STUDY = """
[study]
goal = "both"
seed = 2
[task]
use = "bernoulli-bandit"
arms = 2
blocks = 1
trials = 6
[[models]]
use = "models:rare"
[[models]]
use = "models:sound"
[search]
{search}
[simulation]
on_error = "skip"
"""

SMALL = """
steps = 30
batch = 64
survey = 16
survey_simulations = 60
finalists = 2
finalist_simulations = 400
baselines = 2
baseline_simulations = 60
"""
BAYESOPT = 'method = "bayesopt"\nevaluations = 3\ninitial = 2\nfinalists = 1\nbaselines = 1\ndraws = 1500\nheld_out = 500\nepochs = 1'
DESIGN = "0.3,0.6"


def write_study(folder, search, models=MODELS):
    folder.mkdir(exist_ok=True)
    (folder / "models.py").write_text(models)
    (folder / "study.toml").write_text(STUDY.format(search=search))
    return ta.Study.from_file(folder)


def printed(*arguments):
    """What a command prints, which must succeed."""
    outcome = CliRunner().invoke(app, [str(argument) for argument in arguments])
    assert outcome.exit_code == 0, outcome.output
    return outcome.stdout


def designed(folder, *workers):
    """Find a design and evaluate another; who failed is known afterwards, and said."""
    words = printed("design", folder, *workers)
    failures = [json.loads(line) for line in (folder / "run" / "failures.jsonl").read_text().splitlines()]
    assert failures
    assert all(failure["model"] == "rare" and failure["parameters"]["p"] > 0.99 for failure in failures)
    assert f"rare: {len(failures)} participants could not be simulated" in words
    assert "with what is left of the prior (failures.jsonl)" in words
    estimate = json.loads(printed("evaluate", folder, "--design", DESIGN, *workers, "--json"))["designs"][0]
    assert estimate["kind"] == "lower bound"


@pytest.mark.parametrize("search", [SMALL, pytest.param(BAYESOPT, marks=pytest.mark.slow)], ids=["amortized", "bayesopt"])
def test_every_command_goes_through(tmp_path, search, monkeypatch):
    monkeypatch.setattr("tellapart.testing.models.SECONDS", 100.0)  # on a busy machine too, enough are simulated to see some fail
    monkeypatch.setattr("tellapart.groups.predictive.SIMULATED", 600)
    monkeypatch.setattr("tellapart.groups.population.GROUPS", (20, 40))
    monkeypatch.setattr("tellapart.groups.evidence.draws_for", lambda people: 500)
    monkeypatch.setattr("tellapart.groups.parameters.WORK", 40_000)
    monkeypatch.setattr("tellapart.report.style.inline", lambda figure, name, title: "")  # tests/report looks at pictures
    folder = tmp_path / "study"
    write_study(folder, search, OFTEN)
    assert "cannot be simulated" in CliRunner().invoke(app, ["check", str(folder)]).stderr
    simulated = json.loads(printed("simulate", folder, "--design", DESIGN, "--n", 2000, "--out", folder / "data.csv", "--json"))
    assert simulated["participants"] == 2000
    assert 0 < simulated["failed"] < 30  # 10 are expected: by chance none once in 20,000 times, 30 or more once in 5 million
    assert pd.read_csv(folder / "data.csv")["rare.p"].max() <= 0.99
    exact = json.loads(printed("exact", folder, "--design", DESIGN, "--n", 300, "--seed", 7, "--json"))["designs"][0]
    assert exact["kind"] == "exact"
    designed(folder, "--workers", "1")
    if search == SMALL:
        assert json.loads(printed("curve", folder, "--n", 2000, "--points", 2, "--json"))["curve"]
    printed("validate", folder, "--n", 100, "--exact", 5, "--reader", 300)
    pd.read_csv(folder / "data.csv").query("participant < 20").to_csv(folder / "data.csv", index=False)
    printed("posterior", folder, folder / "data.csv", "--out", folder / "who.csv", "--draws", 20)
    assert len(pd.read_csv(folder / "who.csv")) == 20
    assert "of the people who were simulated for this could not be simulated" in printed("analyse", folder, folder / "data.csv")
    with few_points():
        assert "of the people who were simulated for this could not be" in printed("power", folder, "--n", 600)
    printed("report", folder)
    assert "could not be simulated" in (folder / "run" / "report.html").read_text()
    kept = json.loads((folder / "run" / "curve.json").read_text())
    assert {point["n"] for point in kept} == {500}  # after a short training, few; 4,000 after a usual one


@pytest.fixture
def sent(monkeypatch):
    """All that is packed to be sent to workers; what other processes of this machine would do is done here."""
    sent, dumps = [], cloudpickle.dumps

    def packed(*what, **how):
        sent.append(dumps(*what, **how))
        return sent[-1]

    def here(workers, function, pieces):
        for piece in pieces:
            packed((function, piece))
        return Workers(1).map(function, pieces)

    monkeypatch.setattr(cloudpickle, "dumps", packed)
    monkeypatch.setattr(Workers, "_elsewhere", here)
    return sent


def nothing_of(folder, sent):
    """Whoever does not know where it is cannot write to it."""
    return len(sent) > 4 and not any(str(folder).encode() in work or b"journal" in work for work in sent)


def test_workers_that_train_know_nothing_of_the_run_folder(tmp_path, sent):
    """Those of a cluster, which simulate: `test_workers.py`."""
    study, folder = write_study(tmp_path / "study", BAYESOPT), tmp_path / "elsewhere"
    ta.find_design(study, folder, workers=Workers(2)).evaluate([[[0.5, 0.5]]], workers=Workers(2))
    assert nothing_of(folder, sent)
    assert (folder / "failures.jsonl").read_text()


class Killed(Exception):
    pass


def test_a_batch_that_fails_by_chance_is_simulated_again():
    """Here it is not the parameters that decide who fails, so that nobody who is simulated again need fail again."""

    @ta.model(name="unlucky", parameters={"p": ta.Uniform(0, 1)}, vectorised=True)
    def unlucky(parameters, designs, rng, task):
        if (rng.random(len(designs)) < 0.002).any():
            raise ArithmeticError("no such luck")
        environment = task.environment(designs, rng)
        while not environment.done:
            environment.step({"choice": rng.random(len(designs)) < parameters["p"]})
        return environment.behavior

    task, rng = ta.BernoulliBandit(arms=2, blocks=1, trials=3), np.random.default_rng(1)
    for _ in range(40):
        simulations = ta.simulate_models(task, [unlucky()], [[0.5, 0.5]], 100, rng, on_error="skip")
        assert simulations.behavior.mask.all()


def test_a_killed_run_has_the_same_failures_in_the_end(tmp_path, monkeypatch):
    monkeypatch.setattr("tellapart.search.learning.CHECKPOINT_EVERY", 7)
    study = write_study(tmp_path / "study", SMALL, OFTEN)

    ta.find_design(study, tmp_path / "whole")
    for limit in (5, 16, 25, 32):

        def kill(done, total, stage="", detail="", limit=limit):
            if done >= limit:
                raise Killed

        with pytest.raises(Killed):
            ta.find_design(study, tmp_path / "pieces", progress=kill)
    ta.find_design(study, tmp_path / "pieces")
    for name in ("failures.jsonl", "result.json", "estimator.safetensors"):
        assert (tmp_path / "whole" / name).read_bytes() == (tmp_path / "pieces" / name).read_bytes()


LIMIT = float(stats.norm.ppf(0.97))


class Fainthearted(HiddenNumber):
    """Fails where the hidden number is among the largest 3 %, always."""

    name: ClassVar[str] = "fainthearted"

    def simulate(self, parameters, designs, rng, task):
        behavior = super().simulate(parameters, designs, rng, task)
        reading = np.where(parameters["theta"][:, None, None] > LIMIT, np.nan, behavior.fields["reading"])
        return ta.Behavior({"reading": reading})


def truncated(simulations, d):
    """log p(y | theta) / p(y) where theta is from the normal prior below LIMIT, (N,): the Gaussian evidence, times the share of the
    posterior that lies below LIMIT, over 0.97."""
    theta, y = simulations.parameters["fainthearted.theta"], simulations.behavior.fields["reading"][:, 0, 0]
    mean, sd = d * y / (1 + d * d), (1 + d * d) ** -0.5
    evidence = stats.norm.logpdf(y, 0, (1 + d * d) ** 0.5) + stats.norm.logcdf((LIMIT - mean) / sd) - np.log(0.97)
    return stats.norm.logpdf(y, d * theta, 1) - evidence


def test_the_bound_stays_a_bound_where_a_part_of_the_prior_fails(tmp_path):
    """On the same participants, by no more than four standard errors above the information that is left; taken for the whole prior, it
    would be 0.03 nats, many times as much, above it."""
    networks = {"estimator": OneSpline, "encoder": Narrow, "steps": 160, "batch": 768, "learning_rate": 0.02, "unfinished": 0.0}
    search = ta.Amortized(**networks, survey=16, survey_simulations=100, finalists=2, finalist_simulations=1000, baselines=0)
    study, n = ta.Study(NoisyReadings(), Fainthearted(), "estimate", search=search, on_error="skip"), 8000
    estimator = search.find(ta.Job(study.task, study.question, 1, Journal(tmp_path))).estimator
    for d in (1.0, 2.0, 3.0):
        simulations = study.question.simulate(study.task, [[d]], n, np.random.default_rng(5))
        assert 0.02 * n < len(simulations.failures) < 0.04 * n
        ours, left = estimator.pointwise(estimator.prepare(simulations)), truncated(simulations, d)
        assert ours.failed == len(simulations.failures)
        above, se = stratified(ours.values - left, ours.model, ours.prior)
        chance = 4 * np.hypot(se, (0.03 / 0.97 / n) ** 0.5)  # the share that fails is known from the same simulations
        assert above < chance
        assert above - np.log(0.97) > chance
        assert ours.estimate().nats > 0.95 * left.mean()
