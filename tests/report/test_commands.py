"""The commands validate, report and posterior on a finished run."""

import json

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from tellapart import AEG, GLS, WSLTS, BayesianOptimization, BernoulliBandit, Study, simulate_models
from tellapart.cli import app

SEARCH = BayesianOptimization(evaluations=3, initial=2, finalists=1, baselines=2, draws=600, held_out=300, epochs=1)

READ = 600
"""Participants that the independent reader learns from: what it finds is not asked here."""


def command(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A study folder with a finished run."""
    folder = tmp_path_factory.mktemp("study")
    task, models = BernoulliBandit(3, 2, 6), [WSLTS(), AEG(), GLS()]
    (folder / "study.toml").write_text(Study(task, models, name="small", search=SEARCH).to_toml())
    outcome = command("design", folder, "--workers", "1")
    assert outcome.exit_code == 0, outcome.stderr
    rng = np.random.default_rng(0)
    design = json.loads((folder / "run" / "result.json").read_text())["design"]
    simulate_models(task, models, design, 9, rng).behavior.to_table().to_csv(folder / "data.csv", index=False)
    return folder


def test_validate_says_it_in_words_and_keeps_it(folder):
    outcome = command("validate", folder, "--n", 150, "--exact", 0, "--reader", READ, "--at", "aeg.phi=0.8")
    assert outcome.exit_code == 0, outcome.stderr
    assert "At the recommended design:" in outcome.stdout
    assert "Over baseline designs:" not in outcome.stdout  # its network knows one design
    assert json.loads((folder / "run" / "validation.json").read_text())["parameters"]["aeg"] == {"epsilon": 0.5, "phi": 0.8}


def test_validate_as_json(folder):
    outcome = command("validate", folder, "--n", 150, "--exact", 30, "--json")
    found = json.loads(outcome.stdout)
    assert [part["label"] for part in found["designs"]] == ["recommended"]
    assert found["designs"][0]["exact"]["n"] == 30


@pytest.mark.parametrize(("at", "said"), [("aeg.fi=0.8", "did you mean 'aeg.phi'"), ("aeg.phi=high", "not a number")])
def test_validate_explains_what_is_wrong(folder, at, said):
    outcome = command("validate", folder, "--at", at)
    assert outcome.exit_code == 2
    assert said in outcome.stderr


def test_report_writes_one_page(folder, tmp_path):
    command("validate", folder, "--n", 150, "--exact", 0, "--reader", READ)
    outcome = command("report", folder, "--out", tmp_path / "report.html", "--json")
    assert outcome.exit_code == 0, outcome.stderr
    assert json.loads(outcome.stdout) == {"report": str(tmp_path / "report.html")}
    page = (tmp_path / "report.html").read_text()
    assert "<h1>small</h1>" in page
    assert "Bayesian optimization" in page
    assert command("report", folder).exit_code == 0
    assert (folder / "run" / "report.html").is_file()


def test_without_a_run_both_say_what_to_do_first(tmp_path):
    (tmp_path / "study.toml").write_text(Study(BernoulliBandit(3, 2, 6), [WSLTS(), AEG()]).to_toml())
    for name in ("validate", "report"):
        outcome = command(name, tmp_path)
        assert outcome.exit_code == 2
        assert "tellapart design" in outcome.stderr


def test_posteriors_say_whether_to_trust_them(folder, tmp_path):
    outcome = command("posterior", folder, folder / "data.csv", "--out", tmp_path / "p.csv", "--json")
    assert outcome.exit_code == 0, outcome.stderr
    table = pd.read_csv(tmp_path / "p.csv")
    assert table["unlike_models"].dtype == bool
    assert table["unlike_models.p"].between(0, 1).all()
    assert json.loads(outcome.stdout)["unlike_models"] == table["unlike_models"].sum()
    each = table[[f"unlike_models.p.{name}" for name in ("wslts", "aeg", "gls")]]
    assert np.array_equal(table["unlike_models.p"], each.max(axis=1))
