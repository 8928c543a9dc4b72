"""Lets the tests of groups import the exact reference beside them; and a small study with a finished run."""

import sys
from pathlib import Path

import pytest

import tellapart as ta
from tellapart.run import Run

sys.path.insert(0, str(Path(__file__).parent))

SMALL = {"survey": 16, "survey_simulations": 60, "finalists": 2, "finalist_simulations": 400, "baselines": 2, "baseline_simulations": 60}


@pytest.fixture(scope="module", autouse=True)
def fewer_simulated():
    """Analyses draw less, and their checks simulate fewer people and groups; tests that are about these say how many they need."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("tellapart.groups.predictive.SIMULATED", 300)
        patch.setattr("tellapart.groups.population.GROUPS", (100, 200))
        patch.setattr("tellapart.groups.evidence.draws_for", lambda people: 300)
        yield


@pytest.fixture(scope="session")
def study_folder(tmp_path_factory):
    """A study about two models and one parameter, with a finished run, and words about a table of somebody else."""
    folder = tmp_path_factory.mktemp("study")
    data = ta.TableSettings(columns={"choice": "pick"}, codes={"choice": ("left", "middle", "right")})
    search, task = ta.Amortized(steps=60, **SMALL), ta.BernoulliBandit(3, 2, 10)
    study = ta.Study(task, [ta.WSLTS(), ta.AEG()], "both", about=["aeg.epsilon"], search=search, name="small", data=data)
    (folder / "study.toml").write_text(study.to_toml())
    ta.find_design(study, folder / "run")
    return folder


@pytest.fixture(scope="session")
def result(study_folder):
    return Run.finished(ta.Study.from_file(study_folder), study_folder / "run").result()
