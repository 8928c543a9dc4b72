"""The commands: what they print and write, and how they refuse."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from typer.testing import CliRunner

import tellapart
from tellapart import AEG, GLS, WSLTS, BernoulliBandit, Study, simulate_models, understand
from tellapart.cli import app
from tellapart.errors import counted
from tellapart.tasks.text import parse_design

EXAMPLE = Path(__file__).parents[1] / "examples" / "bandit"
DESIGN = "0,0,0.6; 1,1,0"
STUDY = """
[study]
goal = "discriminate"
[task]
use = "bernoulli-bandit"
trials = 4
[[models]]
use = "wslts"
[[models]]
use = "aeg"
"""
BROKEN_MODEL = """
from tellapart import Model, Uniform

class Broken(Model):
    name = "broken"
    parameters = {"p": Uniform()}

    def simulate(self, parameters, designs, rng, task):
        return parameters["q"]
"""


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "study.toml").write_text(STUDY)
    return tmp_path


@pytest.fixture
def few(monkeypatch):
    """Checks look at few people: what is said of sound models is looked at here, that they are sound in `contracts/`."""
    monkeypatch.setattr("tellapart.testing.models.MOST", 300)
    monkeypatch.setattr("tellapart.testing.likelihoods.PEOPLE", 300)


def run(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def simulate(folder, *more):
    return run("simulate", folder, "--design", DESIGN, "--n", 7, "--out", folder / "data.csv", *more)


def result_of(*arguments):
    outcome = run(*arguments, "--json")
    assert outcome.exit_code == 0, outcome.output
    return json.loads(outcome.stdout)


# what they do


def test_simulate_writes_the_long_table(folder):
    outcome = simulate(folder)
    assert outcome.exit_code == 0, outcome.output
    assert "7 participants (wslts, aeg), 56 rows" in outcome.stdout
    table = pd.read_csv(folder / "data.csv")
    parameters = ["wslts.gamma_w", "wslts.gamma_l", "wslts.lambda", "aeg.epsilon", "aeg.phi"]
    assert list(table.columns) == ["participant", "model", "block", "trial", "choice", "reward", *parameters]
    assert len(table) == 7 * 2 * 4
    assert table.groupby("participant")["model"].first().tolist() == ["wslts", "aeg"] * 3 + ["wslts"]
    for column in parameters:
        assert (table[column].isna() == (table["model"] != column.split(".")[0])).all()
    assert sorted(path.name for path in folder.iterdir()) == ["data.csv", "study.toml"]


def test_simulate_agrees_with_python(folder):
    simulate(folder, "--seed", 11)
    study = Study.from_file(folder)
    table = pd.read_csv(folder / "data.csv")
    expected = simulate_models(study.task, study.models, parse_design(study.task.design_space, DESIGN), 7, np.random.default_rng(11))
    behavior = understand(table, study.task).behavior
    for name, values in expected.behavior.fields.items():
        np.testing.assert_array_equal(behavior.fields[name], values)
    epsilon = table.groupby("participant")["aeg.epsilon"].first().to_numpy()
    np.testing.assert_array_equal(epsilon, expected.parameters["aeg.epsilon"])


def test_same_seed_same_bytes(folder):
    written = []
    for seed in (3, 3, 4):
        simulate(folder, "--seed", seed)
        written.append((folder / "data.csv").read_bytes())
    assert written[0] == written[1] != written[2]


def test_the_table_does_not_depend_on_the_chunks_in_which_it_is_written(folder, monkeypatch):
    simulate(folder)
    whole = (folder / "data.csv").read_bytes()
    monkeypatch.setattr("tellapart.cli.studies._CHUNK", 3)
    simulate(folder)
    assert (folder / "data.csv").read_bytes() == whole


def test_simulate_without_a_design_asks_for_a_finished_run(folder):
    """`tests/test_run.py` has the run."""
    outcome = run("simulate", folder, "--n", 7, "--out", folder / "data.csv")
    assert outcome.exit_code == 2
    assert "tellapart design" in outcome.stderr
    assert not (folder / "data.csv").exists()


def test_suggested_commands_can_be_pasted(tmp_path):
    outcome = run("new", tmp_path / "my study")
    assert f"next: tellapart check '{tmp_path / 'my study'}'" in outcome.stdout
    refused = run("report", tmp_path / "my study")
    assert f"run `tellapart design '{tmp_path / 'my study'}'` first" in refused.stderr
    assert f"tellapart serve '{tmp_path / 'my study'}'" in run("export", tmp_path / "my study", "--out", tmp_path / "data.csv").stderr


@pytest.mark.parametrize(("n", "words"), [(0, "0 blocks"), (1, "1 block"), (2000, "2,000 blocks")])
def test_one_is_not_many(n, words):
    assert counted(n, "block") == words


def test_doctor_knows_what_is_installed():
    known = result_of("doctor")
    assert all(known[name]["works"] for name in ("tellapart", "Python", "torch", "numba", "SQLite"))
    assert "cores" in run("doctor").stdout
    assert not re.search(r"\b1 threads", run("doctor").stdout)


def test_the_list_of_commands_says_each_in_full():
    shown = run("--help").stdout
    assert "How many people do I need?" in shown
    assert "..." not in shown.split("Commands:")[1]


def test_doctor_starts_no_threads():
    """Those of numba, once started, would give torch as many as there are cores."""
    before = torch.get_num_threads()
    assert f"torch uses {counted(before, 'thread')}" in run("doctor").stdout
    assert torch.get_num_threads() == before


def test_simulate_one_model(folder):
    result = result_of("simulate", folder, "--design", DESIGN, "--n", 3, "--model", "aeg", "--out", folder / "data.csv")
    assert result["models"] == ["aeg"]
    assert result["rows"] == 24
    assert set(pd.read_csv(folder / "data.csv")["model"]) == {"aeg"}


def test_simulate_fewer_participants_than_models(folder):
    assert result_of("simulate", folder, "--design", DESIGN, "--n", 1, "--out", folder / "data.csv")["participants"] == 1


def test_simulate_replaces_an_old_table(folder):
    (folder / "data.csv").write_text("old")
    assert simulate(folder).exit_code == 0
    assert len(pd.read_csv(folder / "data.csv")) == 56


def test_exact_prints_one_line_for_each_design(folder):
    outcome = run("exact", folder, "--design", DESIGN, "--design", "0.5,0.5,0.5;0.5,0.5,0.5", "--n", 60)
    assert outcome.exit_code == 0, outcome.output
    first, second = outcome.stdout.splitlines()
    assert first.startswith("0,0,0.6; 1,1,0 ")
    assert second.startswith("0.5,0.5,0.5; 0.5,0.5,0.5 ")
    assert "nats (exact)" in first
    assert "of the maximum log 2 = 0.693" in first
    assert "the true model is recovered" in first


def test_exact_in_json(folder):
    result = result_of("exact", folder, "--design", DESIGN, "--baseline", 2, "--n", 60)
    assert len(result["designs"]) == 3
    first = result["designs"][0]
    assert first["design"] == [[0, 0, 0.6], [1, 1, 0]]
    assert first["kind"] == "exact"
    assert 0 < first["nats"] < np.log(2)
    assert 0 < first["se"] < 0.2
    assert 0.5 < first["accuracy"] <= 1


def test_exact_does_not_depend_on_the_other_designs(folder):
    alone = result_of("exact", folder, "--design", DESIGN, "--n", 40)
    among = result_of("exact", folder, "--design", "1,1,1; 0,0,0", "--design", DESIGN, "--n", 40)
    assert alone["designs"][0] == among["designs"][1]
    other_seed = result_of("exact", folder, "--design", DESIGN, "--n", 40, "--seed", 2)
    assert alone != other_seed


def test_exact_estimates_one_model(folder):
    file = folder / "study.toml"
    file.write_text(STUDY.replace("discriminate", "estimate").replace('[[models]]\nuse = "wslts"\n', ""))
    outcome = run("exact", folder, "--design", DESIGN, "--n", 40)
    assert outcome.exit_code == 0, outcome.output
    assert "nats (exact)" in outcome.stdout
    assert "maximum" not in outcome.stdout


@pytest.mark.parametrize(
    "search", ["", '[search]\nmethod = "bayesopt"\nevaluations = 2\ninitial = 2\ndraws = 300\nheld_out = 90\nepochs = 1\n']
)
def test_designs_of_the_discounting_example_can_be_written_out(tmp_path, search):
    """Sums with decimals, whole days and a constraint: read by `exact` and `evaluate`, no --baseline needed."""
    shutil.copytree(EXAMPLE.parent / "discounting", tmp_path, dirs_exist_ok=True, ignore=shutil.ignore_patterns("run"))
    text = "40,55,0,62; 25,60,0,14; 20,55,0,7; 80,85,0,157; 41,75,0,20; 15,35.5,0,13"
    if not search:
        result = result_of("exact", tmp_path, "--design", text, "--n", 40)
    else:
        (tmp_path / "study.toml").write_text((tmp_path / "study.toml").read_text().split("[search]")[0] + search)
        result = result_of("evaluate", tmp_path, "--design", text, "--workers", 1)
    assert result["designs"][0]["design"][5] == [15, 35.5, 0, 13]
    assert np.isfinite(result["designs"][0]["nats"])


def test_check_a_study_and_its_data(folder, few):
    simulate(folder)
    outcome = run("check", folder, folder / "data.csv")
    assert outcome.exit_code == 0, outcome.output
    assert "sound" in outcome.stdout
    assert "7 participants, 56 trials recorded, 0 missed" in outcome.stdout
    assert "Goal: to learn which model a participant follows. Task: bernoulli-bandit. Models: wslts, aeg." in outcome.stdout
    assert "`tellapart design` will take about" in outcome.stdout
    # data with names, counts and texts of another's making, and the options that say what cannot be guessed
    table = pd.read_csv(folder / "data.csv").rename(columns={"participant": "subject", "choice": "pick"})
    table.assign(trial=table["trial"] + 1, pick=table["pick"].map({0: "x", 1: "y", 2: "z"})).to_csv(folder / "theirs.csv", index=False)
    assert "--codes choice=x,y,z" in run("check", folder, folder / "theirs.csv", "--columns", "choice=pick").output
    how = ("--columns", "choice=pick", "--codes", "choice=x,y,z")
    checked = result_of("check", folder, folder / "theirs.csv", *how)
    assert checked["models"] == ["wslts", "aeg"]
    assert checked["data"] == {"participants": 7, "trials": 56, "missed": 0}


def test_example_commands_of_the_help_run(tmp_path, monkeypatch, few):
    monkeypatch.chdir(EXAMPLE.parents[1])
    assert run("simulate", "examples/bandit", "--design", DESIGN, "--n", 300, "--out", tmp_path / "data.csv").exit_code == 0
    assert run("check", "examples/bandit", tmp_path / "data.csv").exit_code == 0


def test_new_studies_are_sound_as_they_are(tmp_path, few):
    result = result_of("new", tmp_path / "trial", "--example", "own-model", "--seed", 7)
    files = ("models.py", "serve.toml", "study.toml", "texts.toml")
    assert sorted(result["files"]) == [str(tmp_path / "trial" / name) for name in files]
    study = Study.from_file(tmp_path / "trial")
    assert (study.name, study.seed) == ("trial", 7)
    checked = result_of("check", tmp_path / "trial")
    assert checked["findings"] == []
    assert checked["speed"]["optimist"] > 1000


def test_new_refuses(tmp_path):
    refused(run("new", tmp_path / "x", "--example", "bandid"), tmp_path, ["no example 'bandid'", "did you mean 'bandit'"], [])
    (tmp_path / "file").write_text("precious")
    refused(run("new", tmp_path), tmp_path, ["place is taken"], ["file"])
    refused(run("new", tmp_path / "file"), tmp_path, ["place is taken"], ["file"])
    refused(run("new", tmp_path / "file" / "x"), tmp_path, ["cannot be made"], ["file"])


def test_version():
    assert run("--version").stdout.startswith("tellapart 0.")


# how they refuse


def refused(outcome, folder, words, allowed=("study.toml",)):
    """Exit code 2, the words, no traceback, nothing on stdout, nothing half-written."""
    assert outcome.exit_code == 2, outcome.output
    assert outcome.stdout == ""
    message = " ".join(outcome.stderr.split())
    assert all(word in message for word in words), message
    assert "Traceback" not in message
    assert sorted(path.name for path in folder.iterdir()) == sorted(allowed)


@pytest.mark.parametrize(
    ("design", "words"),
    [
        ("0,0,1.5; 1,1,0", ["outside its range", "block 0, arm 2", "from 0 to 1", "1.5"]),
        ("0,0,-0.5; 1,1,0", ["outside its range", "-0.5"]),
        ("0,0,nan; 1,1,0", ["outside its range", "nan"]),
        ("0,0; 1,1", ["number of values in a block", "3 values", "2 values"]),
        ("0,0,0,0; 1,1,0,0", ["number of values in a block", "4 values"]),
        ("0,0,0.5", ["number of blocks", "2 blocks", "1 block"]),
        ("0,0,0.5; 1,1", ["different numbers of values"]),
        ("low,0,0.5; 1,1,0", ["not made of numbers", "0.5,0.5,0.5; 0.5,0.5,0.5"]),
        ("", ["not made of numbers"]),
    ],
)
@pytest.mark.parametrize("command", ["simulate", "exact"])
def test_wrong_designs(folder, command, design, words):
    more = ["--n", 5, "--out", folder / "data.csv"] if command == "simulate" else []
    refused(run(command, folder, "--design", design, *more), folder, words)


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('"discriminate"', '"discriminat"', ["'goal' is unknown", "line 3", "did you mean 'discriminate'"]),
        ('"discriminate"', '"estimate"', ["parameters of one model", "2 (wslts, aeg)"]),
        ('"discriminate"', "3", ["'goal'", "line 3", "got: 3"]),
        ('goal = "discriminate"', 'gaol = "discriminate"', ["key 'gaol' is unknown", "line 3", "did you mean 'goal'"]),
        ('goal = "discriminate"', "seed = -1", ["'seed'", "line 3", "-1"]),
        ('goal = "discriminate"', 'seed = "one"', ["'seed'", "a whole number", '"one"']),
        ('goal = "discriminate"', "name = 5", ["'name'", "text in quotes"]),
        ('goal = "discriminate"', 'name = ""', ["'name'", "not empty"]),
        ('use = "wslts"', 'use = "wstls"', ["model 'wstls' is unknown", "line 8", "did you mean 'wslts'", "my_module:MyModel"]),
        ('use = "wslts"', "use = 3", ["'use'", "line 8", "text in quotes"]),
        ('use = "wslts"', 'usw = "wslts"', ["key 'use' is missing", "[[models]]"]),
        ('use = "wslts"', 'use = "aeg"', ["same name", "aeg, aeg"]),
        ('use = "wslts"', 'use = "theories:Theory"', ["no file 'theories.py'", "line 8"]),
        ('use = "aeg"', 'use = "aeg"\nconvention = "papper"', ["'convention' is unknown", "line 11", "did you mean 'paper'", '"released"']),
        ('use = "aeg"', 'use = "aeg"\nconvention = 1', ["'convention'", "line 11", '"paper" or "released"']),
        ('use = "aeg"', 'use = "aeg"\nconvetion = "paper"', ["key 'convetion' is unknown", "line 11", "did you mean 'convention'"]),
        ('use = "bernoulli-bandit"', 'use = "bernouli"', ["task 'bernouli' is unknown", "line 5", "bernoulli-bandit"]),
        ("trials = 4", "trails = 4", ["key 'trails' is unknown", "line 6", "did you mean 'trials'"]),
        ("trials = 4", 'trials = "4"', ["'trials'", "line 6", "a whole number", '"4"']),
        ("trials = 4", "trials = 4.5", ["'trials'", "a whole number", "4.5"]),
        ("trials = 4", "trials = 0", ["'trials'", "line 6", "1 or more"]),
        ("trials = 4", "arms = 1", ["'arms'", "line 6", "2 or more"]),
        ("[study]\n", "", ["section 'goal' is unknown"]),
        ('[task]\nuse = "bernoulli-bandit"\ntrials = 4\n', "", ["section [task] is missing"]),
        ("[task]", "[taks]", ["section 'taks' is unknown", "line 4", "did you mean 'task'"]),
        ('[[models]]\nuse = "wslts"\n[[models]]\nuse = "aeg"\n', "", ["section [[models]] is missing"]),
        ('[[models]]\nuse = "wslts"\n', "", ["two models or more", "one (aeg)"]),
        ('[[models]]\nuse = "wslts"\n[[models]]\n', "[models]\n", ["'models'", "two brackets"]),
        ("[task]", '[search]\nmethod = "bayes"\n[task]', ["search 'bayes' is unknown", "line 5", "bayesopt"]),
        ("[task]", '[search]\nencoder = "histroy"\n[task]', ["encoder 'histroy' is unknown", "line 5", "did you mean 'history'"]),
        ("[task]", '[search]\nestimator = "aeg"\n[task]', ["estimator 'aeg' is unknown", "line 5", "posterior"]),
        ("[task]", "[search]\nbatch = 1\n[task]", ["'batch'", "line 5", "8 or more"]),
        ("trials = 4", "trials = ", ["not valid TOML", "line 6"]),
        ("trials = 4", "trials = 4\ntrials = 5", ["not valid TOML", "line 7"]),
        ("[study]", "[study", ["not valid TOML", "line 2"]),
    ],
)
def test_wrong_study_files(folder, old, new, words):
    assert old in STUDY
    (folder / "study.toml").write_text(STUDY.replace(old, new, 1))
    refused(simulate(folder), folder, [*words, "study.toml"])


def test_no_study_at_all(folder):
    refused(simulate(folder / "elsewhere"), folder, ["no study here", "no such file or folder"])
    (folder / "empty").mkdir()
    refused(run("exact", folder / "empty", "--design", DESIGN), folder, ["folder without a study.toml"], ["empty", "study.toml"])
    (folder / "study.toml").write_bytes(b"\xff\xfe\x00")
    refused(simulate(folder), folder, ["not text", "UTF-8"], ["empty", "study.toml"])


@pytest.mark.parametrize("n", ["0", "-3", "many", "1.5"])
@pytest.mark.parametrize("command", ["simulate", "exact"])
def test_wrong_numbers_of_participants(folder, command, n):
    words = "integer" if n in ("many", "1.5") else "equal to 1" if command == "simulate" else "equal to 2"
    more = ["--out", folder / "data.csv"] if command == "simulate" else []
    refused(run(command, folder, "--design", DESIGN, "--n", n, *more), folder, ["'--n'", words])


def test_wrong_seed(folder):
    refused(simulate(folder, "--seed", -1), folder, ["'--seed'", "equal to 0"])


def test_unknown_model_to_simulate(folder):
    refused(simulate(folder, "--model", "agg"), folder, ["no model 'agg'", "wslts or aeg", "did you mean 'aeg'"])


def test_no_design(folder):
    refused(run("exact", folder), folder, ["no design", "--design", "0.5,0.5,0.5; 0.5,0.5,0.5"])


@pytest.mark.parametrize(
    ("out", "words"),
    [(".", ["a folder", "name of a file"]), ("no/such/folder/data.csv", ["no folder"]), ("study.toml/data.csv", ["no folder"])],
)
def test_unwritable_outputs(folder, monkeypatch, out, words):
    monkeypatch.setattr(
        "tellapart.models.simulation.simulate_models", lambda *_, **__: pytest.fail("simulated before the output was checked")
    )
    outcome = run("simulate", folder, "--design", DESIGN, "--n", 7, "--out", folder / out)
    refused(outcome, folder, ["output cannot be written", *words])


def test_output_that_is_no_file(folder):
    refused(run("simulate", folder, "--design", DESIGN, "--n", 7, "--out", "/dev/null"), folder, ["neither a file nor a folder"])


def test_write_protected_outputs(folder, monkeypatch):
    (folder / "data.csv").write_text("precious")
    monkeypatch.setattr("os.access", lambda _, mode: mode != os.W_OK)
    refused(simulate(folder), folder, ["write-protected"], ["data.csv", "study.toml"])
    assert (folder / "data.csv").read_text() == "precious"


def test_a_full_disk_leaves_the_old_table(folder, monkeypatch):
    (folder / "data.csv").write_text("precious")

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("tellapart.cli.studies._write_table", full)
    refused(simulate(folder), folder, ["cannot be written", "No space left"], ["data.csv", "study.toml"])
    assert (folder / "data.csv").read_text() == "precious"


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda t: t.drop(columns="choice"), ["No column is named like choice", "--columns choice=NAME"]),
        (lambda t: t.assign(choice=t["choice"].where(t.index != 3, 3)), ["3 (1 time)", "the task has 3 categories"]),
        (
            lambda t: t.assign(reward=t["reward"].astype(object).where(t.index != 3, "win")),
            ["'reward' holds both numbers and words", "win"],
        ),
        (lambda t: pd.concat([t, t.iloc[[0]]]), ["a trial that another row is about too", "row 2 and row 58", "delete"]),
        (lambda t: t.iloc[:0], ["no row"]),
    ],
)
def test_wrong_data(folder, change, words):
    simulate(folder)
    change(pd.read_csv(folder / "data.csv")).to_csv(folder / "data.csv", index=False)
    refused(run("check", folder, folder / "data.csv"), folder, ["data.csv", *words], ["data.csv", "study.toml"])


def test_no_data(folder):
    refused(run("check", folder, folder / "data.csv"), folder, ["There is no such data file", "data.csv"])


def test_a_users_model_that_fails_is_named_with_its_line(folder):
    (folder / "theories.py").write_text(BROKEN_MODEL)
    (folder / "study.toml").write_text(STUDY.replace('"wslts"', '"theories:Broken"'))
    outcome = run("check", folder)
    assert outcome.exit_code == 2
    assert all(words in outcome.stderr for words in ["failed in a simulation", "theories.py, line 9", "KeyError", "seed"])
    assert "Traceback" not in outcome.stderr


def test_exact_needs_likelihoods(folder):
    (folder / "theories.py").write_text(BROKEN_MODEL)
    (folder / "study.toml").write_text(STUDY.replace('"wslts"', '"theories:Broken"'))
    outcome = run("exact", folder, "--design", DESIGN)
    assert outcome.exit_code == 2
    assert "'broken' has no likelihood" in outcome.stderr


def test_exact_needs_likelihoods_that_are_right(folder):
    """One that counts everything twice is too sure of itself; what it says of a design is no information."""
    theories = 'import tellapart as ta\n\nclass Sure(ta.AEG):\n    name = "sure"\n\n    def log_likelihood(self, *given):\n'
    (folder / "theories.py").write_text(theories + "        return 2 * super().log_likelihood(*given)\n")
    (folder / "study.toml").write_text(STUDY.replace('"wslts"', '"theories:Sure"'))
    outcome = run("exact", folder, "--design", DESIGN, "--n", 60)
    assert outcome.exit_code == 2
    assert outcome.stdout == ""
    assert "The likelihood of 'sure' contradicts its simulator." in outcome.stderr


@pytest.mark.parametrize("command", [("exact", "--design", DESIGN), ("curve",)])
def test_an_average_needs_a_few_participants(folder, command):
    """Of one participant the standard error would be 0."""
    refused(run(command[0], folder, *command[1:], "--n", 1), folder, ["'--n'", "equal to 2"])


def test_too_little_memory(folder, monkeypatch):
    def greedy(*_, **__):
        raise MemoryError

    monkeypatch.setattr("tellapart.models.simulation.simulate_models", greedy)
    refused(simulate(folder), folder, ["not enough memory", "fewer"])


def test_a_fault_of_ours_is_admitted(folder, monkeypatch):
    def fail(*_, **__):
        raise RuntimeError("impossible")

    monkeypatch.setattr("tellapart.models.simulation.simulate_models", fail)
    outcome = simulate(folder)
    assert outcome.exit_code == 1
    assert all(words in outcome.stderr for words in ["RuntimeError: impossible", "fault of tellapart", "report"])
    assert not (folder / "data.csv").exists()


def test_who_stops_a_command_is_told_so(folder, monkeypatch):
    def stopped(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("tellapart.models.simulation.simulate_models", stopped)
    outcome = simulate(folder)
    assert (outcome.exit_code, outcome.stdout, outcome.stderr.strip()) == (130, "", "Stopped. Nothing is lost but what was being computed.")


# the program as it is started from a shell


def shell(*arguments):
    return subprocess.run([sys.executable, "-m", "tellapart.cli", *map(str, arguments)], capture_output=True, text=True, check=False)


def test_a_mistake_in_a_real_process(folder):
    refused_process = shell("exact", folder, "--design", "2,0,0; 1,1,0")
    assert refused_process.returncode == 2
    assert refused_process.stderr.startswith("Error: The design has a value outside its range.")
    assert refused_process.stdout == ""


def test_help_imports_nothing_heavy():
    code = "import sys, runpy; sys.argv = ['tellapart', '--help']\n"
    code += "try: runpy.run_module('tellapart.cli', run_name='__main__')\nexcept SystemExit: pass\n"
    code += "print(sorted({'numpy', 'scipy', 'torch', 'numba', 'pandas', 'pydantic'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


def test_python_interface_is_lazy_and_complete():
    code = "import sys, tellapart as ta; print('numpy' in sys.modules, len(ta.__all__))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", str(len(tellapart.__all__))]
    assert [name for name in tellapart.__all__ if not hasattr(tellapart, name)] == []


def test_public_names_are_what_they_say():
    study = Study(BernoulliBandit(), [WSLTS(), AEG(), GLS()])
    assert [model.name for model in study.models] == ["wslts", "aeg", "gls"]
