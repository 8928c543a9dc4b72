"""Bayesian optimization: resumption to the byte, workers, settings and presets."""

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tellapart import AEG, GLS, WSLTS, BayesianOptimization, BernoulliBandit, ModelError, Question, Study, StudyError, find_design
from tellapart.models.hidden_number import HiddenNumber
from tellapart.paper.presets import PRESETS, preset_for
from tellapart.run import Run
from tellapart.tasks.readings import NoisyReadings

TINY = {
    "evaluations": 6,
    "initial": 4,
    "finalists": 2,
    "baselines": 2,
    "draws": 1500,
    "held_out": 500,
    "epochs": 2,
    "summaries": 2,
    "block_hidden": (8,),
    "hidden": (8,),
}

MODEL_FILE = """
from dataclasses import dataclass
from tellapart.models.hidden_number import HiddenNumber

@dataclass(frozen=True)
class Hidden(HiddenNumber):
    name = "hidden"
"""


def readings(**settings):
    """A study with an answer that is known."""
    return Study(NoisyReadings(), HiddenNumber(), "estimate", search=BayesianOptimization(**{**TINY, **settings}))


@pytest.fixture(scope="module")
def searched(tmp_path_factory):
    """That study, what was found, and what was told on the way."""
    study, told = readings(), []
    return study, find_design(study, tmp_path_factory.mktemp("searched"), progress=lambda *news: told.append(news)), told


def write_study(folder, model, settings):
    """A study folder with a model in a file beside it."""
    (folder / "models.py").write_text(model)
    lines = "\n".join(f"{key} = {json.dumps(value)}" for key, value in settings.items())
    parts = '[study]\ngoal = "estimate"', '[task]\nuse = "noisy-readings"', '[[models]]\nuse = "models:Hidden"'
    (folder / "study.toml").write_text("\n".join([*parts, '[search]\nmethod = "bayesopt"', lines]) + "\n")
    return Study.from_file(folder)


def same_bytes(one, two):
    return all((one / name).read_bytes() == (two / name).read_bytes() for name in ("result.json", "estimator.safetensors", "study.json"))


def test_a_search_killed_at_ten_random_moments_ends_as_if_it_had_not_been(tmp_path):
    script = Path(__file__).with_name("search_in_children.py")
    done = subprocess.run([sys.executable, script, tmp_path, "1", "10"], capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    killed = sorted(tmp_path.glob("killed *"))
    assert killed
    assert all(same_bytes(tmp_path / "whole", folder) for folder in killed)


def test_two_workers_give_the_bytes_of_one_with_a_model_of_the_users(tmp_path):
    study = write_study(tmp_path, MODEL_FILE, TINY)
    find_design(study, tmp_path / "one", workers=1)
    find_design(study, tmp_path / "two", workers=2)
    assert same_bytes(tmp_path / "one", tmp_path / "two")


def test_a_worker_names_the_line_of_the_users_code_that_failed(tmp_path):
    broken = MODEL_FILE + "\n    def simulate(self, parameters, designs, rng, task):\n        return 1 / 0\n"
    with pytest.raises(ModelError, match=r"models\.py, line 10"):
        find_design(write_study(tmp_path, broken, TINY), workers=2)


def test_a_finished_search_is_read_and_not_computed(searched):
    study, result, told = searched
    again = Run.finished(study, result.folder.path).result()
    assert again.found.to_json() == result.found.to_json()
    assert find_design(study, result.folder.path, progress=lambda *_: pytest.fail("computed again")).information == result.information
    assert [done for done, *_ in told] == list(range(1, 12))
    assert {total for _, total, *_ in told} == {6 + 2 + 1 + 2}
    assert {stage for _, _, stage, _ in told} == {"evaluating designs"}
    assert "best so far" in told[-1][3]
    assert len(result.found.trace) == 6
    assert len(result.alternatives) == 1
    assert result.baseline.designs.shape == (2, 1, 1)
    designs = np.broadcast_to(result.design, (3, 1, 1))
    data = study.models[0].simulate({"theta": np.zeros(3)}, designs, np.random.default_rng(0), study.task)
    assert result.posterior(data).to_table().equals(again.posterior(data).to_table())
    first, second = result.evaluate([[[1.0]], [[1.0]]])
    assert first == second


def test_the_gain_over_baselines_counts_the_noise_of_both(searched):
    """Networks and simulations of their own: variances add up."""
    _, result, _ = searched
    mean, gain = result.baseline.mean, result.baseline.gain
    assert gain.nats == pytest.approx(result.information.nats - np.mean([one.nats for one in result.baseline.information]))
    assert gain.se == pytest.approx(np.hypot(result.information.se, mean.se))


def test_the_search_stops_when_its_recommendation_gets_no_better():
    found = find_design(readings(evaluations=40, patience=2, tolerance=100.0, baselines=0)).found
    assert found.details["evaluations"] == 6
    assert found.details["stopped"] == "no better recommendation in 2 evaluations"
    assert found.baseline is None


def test_the_presets_are_the_published_settings():
    published = {"discriminate": (6, (32, 32), 1e-3, 200), "estimate-wslts": (8, (64, 32), 1e-4, 400)}
    published |= {"estimate-aeg": (6, (64, 32), 1e-3, 300), "estimate-gls": (8, (64, 32), 1e-3, 300)}
    for name, numbers in published.items():
        preset = PRESETS[name]
        assert (preset.summaries, preset.hidden, preset.weight_decay, preset.epochs) == numbers
        assert (preset.bound, preset.block_hidden, preset.learning_rate) == ("nwj", (64, 32), 1e-3)
        assert (preset.plateau_factor, preset.plateau_patience, preset.draws, preset.held_out) == (0.5, 25, 50_000, 10_000)
    search = BayesianOptimization()
    assert (search.evaluations, search.initial) == (400, 80)


def test_a_question_gets_its_preset_and_every_number_can_be_set():
    bandit, every = BernoulliBandit(), (WSLTS(), AEG(), GLS())
    assert preset_for(bandit, Question(every)) == "discriminate"
    names = [preset_for(bandit, Question((model,), "estimate")) for model in every]
    assert names == ["estimate-wslts", "estimate-aeg", "estimate-gls"]
    assert preset_for(NoisyReadings(), Question((HiddenNumber(),), "estimate")) == "generic"
    assert preset_for(bandit, Question(every, "both")) == "generic"
    changed = BayesianOptimization(preset="estimate-gls", epochs=7, hidden=(5,)).settings(bandit, Question(every))
    assert changed == replace(PRESETS["estimate-gls"], epochs=7, hidden=(5,))


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"epoch": 3}, ["key 'epoch' is unknown", "did you mean 'epochs'"]),
        ({"epochs": "many"}, ["'epochs'", "many"]),
        ({"epochs": 0}, ["'epochs'", "1 or more"]),
        ({"keep": "first"}, ["'keep'", "best"]),
        ({"preset": "estimate-wsls"}, ["preset", "did you mean 'estimate-wslts'"]),
        ({"initial": 500}, ["'initial'", "400"]),
        ({"draws": 100}, ["'held_out'", "100"]),
        ({"hidden": [0]}, ["'hidden'"]),
        ({"learning_rate": -1.0}, ["'learning_rate'"]),
        ({"batch": 0}, ["'batch'"]),
    ],
)
def test_wrong_settings_are_named(tmp_path, settings, words):
    with pytest.raises(StudyError) as error:
        write_study(tmp_path, MODEL_FILE, settings)
    line = "[search]" if "draws" in settings else "study.toml, line 9"  # held_out, which is too large, is not in the file
    assert all(word in str(error.value) for word in [*words, line]), str(error.value)
