"""Work in other processes and on a cluster: the same results, whoever does it and whoever dies."""

import json
import os
import re
import signal
import sys
import time
from functools import partial

import cloudpickle
import numpy as np
import pytest
from typer.testing import CliRunner

import tellapart as ta
from tellapart.cli import app
from tellapart.parts import UserFile, load_again
from tellapart.workers import HERE, Workers, dask_workers, simulating_with

pytest.importorskip("distributed")

from cluster import Cluster

MODEL = """
import time
import numpy as np
import tellapart as ta

def staying(p, rng, task):
    leaves = rng.random((task.blocks, task.trials)) > p
    leaves[:, 0] = rng.random(task.blocks) < 0.5
    return leaves.cumsum(1) % 2

@ta.model(name="slow", parameters={"p": ta.Uniform(0, 1)})
def slow(parameters, design, rng, task, *, seconds: float = 0.0):
    time.sleep(seconds)
    choice = staying(parameters["p"], rng, task)
    return {"choice": choice, "reward": rng.random(choice.shape) < np.take_along_axis(design, choice, 1)}

@ta.model(name="other", parameters={"p": ta.Uniform(0, 1)})
def other(parameters, design, rng, task):
    choice = staying(parameters["p"] ** 2, rng, task)
    return {"choice": choice, "reward": rng.random(choice.shape) < np.take_along_axis(design, choice, 1)}
"""

STUDY = """
[study]
[task]
use = "bernoulli-bandit"
arms = 2
blocks = 1
trials = 5
[[models]]
use = "models:slow"
[[models]]
use = "models:other"
[search]
simulations = 10000
steps = 8
batch = 512
survey = 16
survey_simulations = 50
finalists = 2
finalist_simulations = 100
baselines = 2
baseline_simulations = 100
"""
"""Both models treat the arms alike: of one that does not, a search makes sure with thousands of simulations more."""


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    cluster = Cluster(tmp_path_factory.mktemp("cluster"), 2)
    yield cluster
    cluster.stop()


@pytest.fixture
def study(tmp_path):
    (tmp_path / "models.py").write_text(MODEL)
    (tmp_path / "study.toml").write_text(STUDY)
    return ta.Study.from_file(tmp_path)


cloudpickle.register_pickle_by_value(sys.modules[__name__])


def product(x, y, pause=0.0):
    time.sleep(pause)
    return x * y


def fail(x):
    raise ta.ModelError("It failed.", got=x)


def test_results_come_in_order(cluster):
    pieces = [(i, i, 0.05 * (i % 3)) for i in range(9)]
    with dask_workers(str(cluster.file)) as workers:
        cluster.wait(workers.client)
        assert list(workers.map(product, pieces)) == list(HERE.map(product, pieces))
        with pytest.raises(ta.ModelError, match="It failed"):
            list(workers.map(fail, [(1,), (2,)]))


def test_a_model_is_simulated_by_other_processes_and_by_the_cluster(cluster, study):
    """In the study's file, and with an option: workers change nothing but the time."""
    slow = type(study.models[0])(seconds=0.02)
    design = np.full((1, 2), 0.5)

    def simulated():
        return ta.simulate_models(study.task, [slow], design, 40, np.random.default_rng(1)).behavior.fields["choice"]

    here = simulated()
    with simulating_with(Workers(2)):
        np.testing.assert_array_equal(here, simulated())
    with dask_workers(str(cluster.file)) as workers, simulating_with(workers):
        cluster.wait(workers.client)
        np.testing.assert_array_equal(here, simulated())


AGENT = """
import numpy as np
import tellapart as ta

@ta.agent(name="learner", parameters={"alpha": ta.Uniform(0, 1), "beta": ta.Gamma(2, 3)})
class Learner:
    def start(self, arms):
        return np.full(arms, 0.5)

    def choose(self, state):
        return ta.softmax(self.beta * state)

    def learn(self, state, choice, reward):
        state[choice] += self.alpha * (reward - state[choice])
"""


def told_by(agent, task, seed):
    parameters = {"alpha": np.full(20, 0.3), "beta": np.full(20, 4.0)}
    behavior = agent.simulate(parameters, np.full((20, 1, 2), 0.5), np.random.default_rng(seed), task)
    return agent.not_compiled(task), behavior.fields["choice"].tobytes()


def test_an_agent_beside_a_study_is_compiled_wherever_it_is_simulated(cluster, tmp_path):
    (tmp_path / "models.py").write_text(AGENT)
    (tmp_path / "study.toml").write_text(STUDY.split("[[models]]")[0] + '[[models]]\nuse = "models:Learner"\n[[models]]\nuse = "aeg"\n')
    study = ta.Study.from_file(tmp_path)
    pieces = [(study.models[0], study.task, seed) for seed in (1, 2)]
    here = list(HERE.map(told_by, pieces))
    assert [reason for reason, _ in here] == [None, None]
    assert list(Workers(2).map(told_by, pieces)) == here
    with dask_workers(str(cluster.file)) as workers:
        cluster.wait(workers.client)
        assert list(workers.map(told_by, pieces)) == here


def test_a_killed_worker_costs_time_and_no_results(cluster, study, tmp_path):
    """A whole search while a worker is killed in the middle of it and another joins: the same bytes as in this process."""
    alone = ta.find_design(study, tmp_path / "alone")
    killed = []

    def kill_one(done, total, stage="", detail=""):
        if stage == "simulating" and not killed:
            killed.append(cluster.workers[0].pid)
            os.kill(killed[0], signal.SIGKILL)
            cluster.workers[0].join()
            cluster.workers[0] = cluster.add()

    with dask_workers(str(cluster.file)) as workers:
        cluster.wait(workers.client)
        shared = ta.find_design(study, tmp_path / "shared", workers=workers, progress=kill_one)
    assert killed
    assert (tmp_path / "alone" / "result.json").read_bytes() == (tmp_path / "shared" / "result.json").read_bytes()
    assert alone.information == shared.information


RARE = """
@ta.model(name="rare", parameters={"p": ta.Uniform(0, 1)})
def rare(parameters, design, rng, task):
    if parameters["p"] > 0.9998:  # every second participant is of this model: one simulation in 10,000
        raise ArithmeticError("no such luck")
    return other.simulate_one(other(), parameters, design, rng, task)
"""


def printed(*arguments):
    """What a command prints, which must succeed."""
    outcome = CliRunner().invoke(app, [str(argument) for argument in arguments])
    assert outcome.exit_code == 0, outcome.output
    return outcome.stdout


@pytest.fixture
def sent(monkeypatch):
    """All that is packed to be sent to workers."""
    sent, dumps = [], cloudpickle.dumps
    monkeypatch.setattr(cloudpickle, "dumps", lambda *what, **how: sent.append(dumps(*what, **how)) or sent[-1])
    return sent


def test_one_failure_in_ten_thousand(cluster, study, tmp_path, sent):
    """Told to skip, the search goes on to its end, and what failed is written down; told nothing, it says what failed.

    Workers know nothing of the run folder, so that they cannot write to it; what failed there is written by the run.
    """
    (tmp_path / "models.py").write_text(MODEL + RARE)
    text = STUDY.replace("models:slow", "models:rare").replace("[study]", "[study]\nseed = 5")
    (tmp_path / "study.toml").write_text(text + '[simulation]\non_error = "skip"\n')
    words = printed("design", tmp_path, "--dask", cluster.file)
    failures = [json.loads(line) for line in (tmp_path / "run" / "failures.jsonl").read_text().splitlines()]
    assert 1 <= len(failures) <= 6
    assert re.search(rf"rare: {len(failures)} participants? could not be simulated", words)
    estimate = json.loads(printed("evaluate", tmp_path, "--design", "0.3,0.6", "--dask", cluster.file, "--json"))["designs"][0]
    assert estimate["kind"] == "lower bound"
    assert len(sent) > 4
    assert not any(str(tmp_path / "run").encode() in work or b"journal" in work for work in sent)
    (tmp_path / "study.toml").write_text(text)
    study = ta.Study.from_file(tmp_path)
    with dask_workers(str(cluster.file)) as workers, pytest.raises(ta.ModelError, match="no such luck") as error:
        ta.find_design(study, tmp_path / "stopped", workers=workers)
    assert str(failures[0]["seed"]) in str(error.value)
    for failure in failures:
        with pytest.raises(ArithmeticError):
            study.models[0].simulate_one(
                failure["parameters"], np.array(failure["design"]), np.random.default_rng(failure["seed"]), study.task
            )


def test_workers_on_this_machine(monkeypatch):
    """They are processes; here threads, which start sooner."""
    import distributed

    monkeypatch.setattr(distributed, "LocalCluster", partial(distributed.LocalCluster, processes=False))
    with dask_workers("local:2") as workers:
        assert len(workers.client.nthreads()) == 2
        assert list(workers.map(product, [(2, 3), (4, 5)])) == [6, 20]


@pytest.mark.parametrize("address", ["local:many", "local:0", "local", "tcp://127.0.0.1:1", "nowhere.json", "::"])
def test_addresses_that_lead_nowhere(address, monkeypatch):
    import distributed

    original = distributed.Client
    monkeypatch.setattr(distributed, "Client", lambda *a, timeout=1, **k: original(*a, timeout=1, **k))
    with pytest.raises(ta.StudyError, match="Dask"), dask_workers(address):
        pass


def test_a_file_that_is_not_on_the_other_machine(tmp_path):
    sent = UserFile("tellapart_study_0123_gone", tmp_path / "gone.py", "gone", b"NUMBER = 41 + 1\n")
    load_again(sent)
    assert sys.modules[sent.name].NUMBER == 42
    assert sys.modules[sent.name].__tellapart_module__ == "gone"
    load_again(sent)


@pytest.mark.parametrize("count", [0, -1, 1.5, True, "2"])
def test_numbers_of_workers(count):
    with pytest.raises(ta.StudyError, match="number of workers"):
        Workers(count)
