"""Run folders: what they hold, whom they refuse, and the commands that use them."""

import json
import shutil
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from tellapart import (
    AEG,
    GLS,
    WSLTS,
    Amortized,
    BayesianOptimization,
    BernoulliBandit,
    DataError,
    Run,
    RunError,
    Study,
    find_design,
    simulate_models,
)
from tellapart.cli import app
from tellapart.workers import Workers

SEARCH = """[search]
method = "bayesopt"
evaluations = 4
initial = 2
finalists = 1
baselines = 1
draws = 900
held_out = 300
epochs = 1
"""
TEXT = """[study]
name = "small"
goal = "discriminate"
[task]
use = "bernoulli-bandit"
trials = 6
[[models]]
use = "wslts"
[[models]]
use = "aeg"
[[models]]
use = "gls"
"""


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A study folder with a finished run."""
    folder = tmp_path_factory.mktemp("study")
    (folder / "study.toml").write_text(TEXT + SEARCH)
    outcome = command("design", folder, "--workers", "1", "--json")
    assert outcome.exit_code == 0, outcome.stderr
    return folder, json.loads(outcome.stdout)


def command(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def data(folder, name, arms=3, blocks=2, trials=6, n=9):
    task, rng = BernoulliBandit(arms, blocks, trials), np.random.default_rng(0)
    simulated = simulate_models(task, [WSLTS(), AEG(), GLS()], task.baseline(1, rng)[0], n, rng)
    simulated.behavior.to_table().to_csv(folder / name, index=False)
    return folder / name


def test_design_prints_what_was_promised(finished):
    folder, result = finished
    assert np.shape(result["design"]) == (2, 3)
    assert set(result["information"]) >= {"nats", "se", "kind", "n", "accuracy"}
    assert result["information"]["kind"] == "lower bound"
    assert result["baseline"]["designs"][0]["nats"] == result["baseline"]["nats"]
    assert result["baseline"]["gain"]["nats"] == pytest.approx(result["information"]["nats"] - result["baseline"]["nats"])
    assert result["seconds"] > 0
    words = command("design", folder).stdout
    assert all(word in words for word in ("information", "lower bound", "gain", "over the average baseline design"))


def test_simulate_takes_the_recommended_design_if_none_is_given(finished):
    folder, result = finished
    simulated = json.loads(command("simulate", folder, "--n", "3", "--out", folder / "three.csv", "--json").stdout)
    assert simulated["design"] == result["design"]


def test_the_json_that_others_read(finished):
    """The keys of design, evaluate and exact, which programs of others rely on."""
    folder, result = finished
    assert set(result) >= {"design", "information", "baseline", "alternatives", "seconds"}
    estimate = {"nats", "se", "kind", "n", "accuracy", "accuracy_se"}
    assert set(result["information"]) == estimate
    assert set(result["baseline"]) >= {"nats", "se", "kind", "lowest", "highest", "gain", "designs"}
    assert set(result["baseline"]["designs"][0]) == {"design", *estimate}
    for name, kind in (("evaluate", "lower bound"), ("exact", "exact")):
        more = ["--workers", "1"] if name == "evaluate" else ["--n", "60"]
        printed = json.loads(command(name, folder, "--design", "0,0,1; 1,1,0", *more, "--json").stdout)
        assert list(printed) == ["designs"]
        assert set(printed["designs"][0]) == {"design", *estimate}
        assert printed["designs"][0]["kind"] == kind


def test_the_folder_tells_what_was_done_with_what(finished):
    folder, result = finished
    provenance = json.loads((folder / "run" / "provenance.json").read_text())
    assert provenance["packages"]["torch"]
    assert provenance["study"]["seed"] == 1
    assert provenance["study"]["search"]["evaluations"] == 4
    assert provenance["stages"]["evaluating designs"] > 0
    kept = json.loads((folder / "run" / "result.json").read_text())
    assert kept["design"] == result["design"]
    assert "seconds" not in json.dumps(kept)


def test_evaluate_and_posterior(finished, tmp_path):
    folder, _ = finished
    estimated = json.loads(command("evaluate", folder, "--design", "0,0,1; 1,1,0", "--workers", "1", "--json").stdout)["designs"]
    assert set(estimated[0]) >= {"design", "nats", "se", "kind", "accuracy"}
    outcome = command("posterior", folder, data(tmp_path, "data.csv"), "--out", tmp_path / "out.csv", "--json")
    assert json.loads(outcome.stdout)["participants"] == 9
    table = pd.read_csv(tmp_path / "out.csv")
    assert table.filter(like="probability.").sum(axis=1).to_numpy() == pytest.approx(np.ones(9))


@pytest.mark.parametrize(
    ("other", "words"),
    [
        ({"arms": 4, "n": 60}, ["'choice'", "the task has 3 categories"]),
        ({"trials": 7}, ["7 rows in a block", "the task has 6 trials"]),
        ({"blocks": 3}, ["'block' has 3 blocks", "the task 2"]),
        ({"trials": 5}, ["another task", "2 blocks of 6 trials", "5 trials"]),
        ({"blocks": 1}, ["another task", "block 1", "0 trials"]),
    ],
)
def test_data_of_another_task_are_refused_by_name(finished, tmp_path, other, words):
    outcome = command("posterior", finished[0], data(tmp_path, "other.csv", **other), "--out", tmp_path / "out.csv")
    assert outcome.exit_code == 2
    assert all(word in outcome.stderr for word in words), outcome.stderr
    assert not (tmp_path / "out.csv").exists()


def test_there_are_no_draws_where_no_parameters_are_asked_for(finished, tmp_path):
    outcome = command("posterior", finished[0], data(tmp_path, "d.csv"), "--out", tmp_path / "o.csv", "--samples", tmp_path / "s.csv")
    assert outcome.exit_code == 2
    assert "not about parameters" in outcome.stderr


def test_a_posterior_needs_a_finished_run(tmp_path):
    (tmp_path / "study.toml").write_text(TEXT + SEARCH)
    outcome = command("posterior", tmp_path, data(tmp_path, "data.csv"), "--out", tmp_path / "out.csv")
    assert outcome.exit_code == 2
    assert "tellapart design" in outcome.stderr


def test_a_stopped_run_has_no_result_yet(tmp_path):
    study = Study(BernoulliBandit(), [WSLTS(), AEG()])
    assert Run.open(study, tmp_path).folder.journal.get("anything") is None
    with pytest.raises(RunError, match="no design yet"):
        Run.finished(study, tmp_path)


def test_evaluate_without_a_run_makes_no_run_folder(tmp_path):
    """A network is trained at the design, in a folder that is gone afterwards; or there has to be a finished run."""
    (tmp_path / "study.toml").write_text(TEXT + SEARCH)
    outcome = command("evaluate", tmp_path, "--design", "0,0,1; 1,1,0", "--workers", "1", "--json")
    assert np.isfinite(json.loads(outcome.stdout)["designs"][0]["nats"])
    (tmp_path / "study.toml").write_text(TEXT)
    outcome = command("evaluate", tmp_path, "--design", "0,0,1; 1,1,0")
    assert outcome.exit_code == 2
    assert "tellapart design" in outcome.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["study.toml"]


def test_a_result_is_printed_as_the_command_does_and_named_in_a_line(finished):
    folder, result = finished
    found = Run.finished(Study.from_file(folder), folder / "run").result()
    assert str(found) == command("design", folder).stdout.strip()
    printed = repr(found)
    assert len(printed) < 300
    assert "small" in printed
    assert f"{result['information']['nats']:.3f}" in printed
    assert str(folder / "run") in printed


def test_the_folder_of_a_different_study_is_refused_until_fresh(finished, tmp_path):
    shutil.copytree(finished[0], tmp_path, dirs_exist_ok=True)
    before = (tmp_path / "run" / "result.json").read_bytes()
    (tmp_path / "study.toml").write_text((TEXT + SEARCH).replace("trials = 6", "trials = 5").replace("evaluations = 4", "evaluations = 2"))
    for name in ("design", "evaluate", "posterior"):
        more = {"design": [], "evaluate": ["--design", "0,0,1;0,0,1"], "posterior": ["d.csv", "--out", tmp_path / "o"]}[name]
        outcome = command(name, tmp_path, *more)
        assert outcome.exit_code == 2
        assert all(words in outcome.stderr for words in ("different study", "task.trials = 6", "task.trials = 5", "--fresh")), (
            outcome.stderr
        )
    assert (tmp_path / "run" / "result.json").read_bytes() == before
    assert command("design", tmp_path, "--workers", "1", "--fresh").exit_code == 0
    assert (tmp_path / "run" / "result.json").read_bytes() != before


def test_renaming_a_study_does_not_make_it_a_different_one(tmp_path):
    study = Study(BernoulliBandit(), [WSLTS(), AEG()])
    Run.open(study, tmp_path)
    Run.open(Study(BernoulliBandit(), [WSLTS(), AEG()], name="other"), tmp_path)
    with pytest.raises(RunError, match=r"model 1\.convention = paper"):
        Run.open(Study(BernoulliBandit(), [WSLTS(), AEG(convention="released")]), tmp_path)


@pytest.mark.parametrize(
    ("other", "words"),
    [
        (Study(BernoulliBandit(), [WSLTS(), AEG()], prior=[0.7, 0.3]), r"prior = \[0.5, 0.5\]"),
        (Study(BernoulliBandit(), [WSLTS(), AEG()], "both"), "goal = discriminate"),
        (Study(BernoulliBandit(), [WSLTS(), AEG()], on_error="skip"), "on_error = stop"),
        (Study(BernoulliBandit(), [WSLTS(), AEG()], search=Amortized(steps=7)), "search.steps = 0"),
    ],
)
def test_another_question_is_another_study(tmp_path, other, words):
    Run.open(Study(BernoulliBandit(), [WSLTS(), AEG()]), tmp_path)
    with pytest.raises(RunError, match=words):
        Run.open(other, tmp_path)


def test_a_run_with_a_seed_of_its_own_is_still_the_studys(tmp_path):
    study = Study(BernoulliBandit(), [WSLTS(), AEG()], seed=1)
    Run.open(Study(BernoulliBandit(), [WSLTS(), AEG()], seed=7), tmp_path)
    (tmp_path / "result.json").write_text("{}")
    assert Run.finished(study, tmp_path).study.seed == 7
    with pytest.raises(RunError, match="seed = 7"):
        Run.open(study, tmp_path)


def test_a_run_that_is_being_carried_out_is_neither_carried_out_twice_nor_emptied(tmp_path):
    (tmp_path / "study.toml").write_text(TEXT + SEARCH)
    run = Run.open(Study.from_file(tmp_path), tmp_path / "run")
    run.folder.journal.put("kept", 1)
    holder = f"""
import sys, pathlib
from tellapart.folder import RunFolder
with RunFolder(pathlib.Path({str(tmp_path / "run")!r})).alone():
    print("held", flush=True)
    sys.stdin.read()
"""
    with subprocess.Popen([sys.executable, "-c", holder], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        assert other.stdout.readline() == b"held\n"
        for more in ((), ("--fresh",)):
            outcome = command("design", tmp_path, *more)
            assert outcome.exit_code == 2
            assert "Another command carries out this run" in outcome.stderr
        other.kill()
    assert run.folder.journal.get("kept") == 1
    with run.folder.alone():  # the lock of who was killed is gone
        pass


def test_fresh_never_empties_a_folder_that_is_no_run(tmp_path):
    (tmp_path / "thesis.tex").write_text("years of work")
    with pytest.raises(RunError, match="no run folder"):
        Run.open(Study(BernoulliBandit(), [WSLTS(), AEG()]), tmp_path, fresh=True)
    assert (tmp_path / "thesis.tex").exists()


def test_what_might_be_mistaken_is_said(finished):
    """A network that has learned nothing, and a search that was too short to climb, give designs too."""
    folder, _ = finished
    result = Run.finished(Study.from_file(folder), folder / "run").result()
    found, words = result.found, ("nothing was learned", "too small for climbs")

    def said(nats, climbs):
        details = {**found.details, "climbs": climbs}
        told = replace(found, information=replace(found.information, nats=nats, se=0.1), details=details)
        return [part in str(replace(result, found=told)) for part in words]

    assert said(0.19, 5) == [True, False]
    assert said(0.21, 0) == [False, True]
    assert said(0.21, 5) == [False, False]


def test_a_result_in_python_takes_behavior_and_tables():
    search = BayesianOptimization(evaluations=2, initial=2, finalists=1, baselines=0, draws=600, held_out=200, epochs=1)
    task = BernoulliBandit(trials=4)
    result = find_design(Study(task, AEG(), "estimate", search=search))
    assert "kept in" not in str(result)  # a temporary folder is gone with the result
    behavior = simulate_models(task, [AEG()], result.design, 5, np.random.default_rng(0)).behavior
    posterior, read = result.posterior(behavior, draws=20), result.posterior(behavior.to_table(), draws=20)
    assert posterior.parameters["aeg"].draws["phi"].shape == (5, 20)
    assert posterior.to_table().astype({"participant": str}).equals(read.to_table())  # labels of a table are text
    assert result.summaries(behavior).shape == (5, 12)
    with pytest.raises(DataError, match="larger task"):
        result.posterior(simulate_models(BernoulliBandit(trials=5), [AEG()], result.design, 5, np.random.default_rng(0)).behavior)


def test_workers_must_be_a_number_of_them():
    with pytest.raises(Exception, match="whole number"):
        Workers(0)
    assert list(Workers(1).map(max, [(1, 2), (4, 3)])) == [2, 4]
