"""Bayesian optimization: resumption to the byte, workers, the process and the settings."""

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from tellapart import AEG, GLS, WSLTS, BernoulliBandit, ModelError, Study, StudyError, find_design
from tellapart.estimators.base import Goal
from tellapart.journal import Journal
from tellapart.models.gaussian import HiddenNumber
from tellapart.presets import PRESETS, preset_for
from tellapart.run import Run
from tellapart.search import make_search
from tellapart.search.bayesopt import BayesianOptimization
from tellapart.search.process import InformationProcess, canonical, initial_designs
from tellapart.tasks.gaussian import NoisyReadings

TINY = {
    "method": "bayesopt",
    "evaluations": 6,
    "initial": 4,
    "finalists": 2,
    "baselines": 2,
    "draws": 1500,
    "held_out": 500,
    "epochs": 2,
    "summaries": 2,
    "block_hidden": [8],
    "hidden": [8],
}

OWN_MODEL = """
from dataclasses import dataclass
from tellapart.models.gaussian import HiddenNumber

@dataclass(frozen=True)
class Mine(HiddenNumber):
    name = "mine"
"""


def same_bytes(one, two):
    return all((one / name).read_bytes() == (two / name).read_bytes() for name in ("result.json", "estimator.safetensors", "study.json"))


def test_a_search_killed_at_ten_random_moments_ends_as_if_it_had_not_been(tmp_path):
    script = Path(__file__).with_name("search_in_children.py")
    done = subprocess.run([sys.executable, script, tmp_path, "1", "10"], capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    killed = sorted(tmp_path.glob("killed *"))
    assert killed
    assert all(same_bytes(tmp_path / "whole", folder) for folder in killed)


def test_two_workers_give_the_bytes_of_one_with_a_model_of_the_users_own(tmp_path):
    (tmp_path / "mine.py").write_text(OWN_MODEL)
    settings = "\n".join(f"{key} = {str(value) if key != 'method' else repr(value)}" for key, value in TINY.items())
    text = f'[study]\ngoal = "estimate"\n[task]\nuse = "noisy-readings"\n[[models]]\nuse = "mine:Mine"\n[search]\n{settings}\n'
    (tmp_path / "study.toml").write_text(text)
    study = Study.from_file(tmp_path)
    find_design(study, tmp_path / "one", workers=1)
    find_design(study, tmp_path / "two", workers=2)
    assert same_bytes(tmp_path / "one", tmp_path / "two")


def test_a_worker_names_the_line_of_the_users_code_that_failed(tmp_path):
    (tmp_path / "mine.py").write_text(OWN_MODEL + "\n    def simulate(self, parameters, design, rng, task):\n        return 1 / 0\n")
    settings = "".join(f"{key} = {value!r}\n" for key, value in TINY.items())
    text = f'[study]\ngoal = "estimate"\n[task]\nuse = "noisy-readings"\n[[models]]\nuse = "mine:Mine"\n[search]\n{settings}'
    (tmp_path / "study.toml").write_text(text)
    with pytest.raises(ModelError, match=r"mine\.py, line 10"):
        find_design(Study.from_file(tmp_path), workers=2)


def test_a_finished_search_is_read_and_not_computed(tmp_path):
    study = Study(NoisyReadings(), [HiddenNumber()], "estimate", search=TINY)
    seen = []
    result = find_design(study, tmp_path, progress=lambda done, total, words: seen.append((done, total, words)))
    again = Run.finished(study, tmp_path).result()
    assert again.found.to_json() == result.found.to_json()
    assert find_design(study, tmp_path, progress=lambda *_: pytest.fail("computed again")).information == result.information
    assert [done for done, _, _ in seen] == list(range(1, 12))
    assert {total for _, total, _ in seen} == {6 + 2 + 1 + 2}
    assert "best so far" in seen[-1][2]
    assert len(result.found.trace) == 6
    assert len(result.alternatives) == 1
    assert result.baseline.designs.shape == (2, 1, 1)
    data = study.models[0].simulate({"theta": np.zeros(3)}, result.design, np.random.default_rng(0), study.task)
    assert result.posterior(data).to_table().equals(again.posterior(data).to_table())
    first, second = result.evaluate([[[1.0]], [[1.0]]])
    assert first == second


def test_the_search_stops_when_its_recommendation_gets_no_better():
    settings = {**TINY, "evaluations": 40, "patience": 2, "tolerance": 100.0, "baselines": 0}
    found = find_design(Study(NoisyReadings(), [HiddenNumber()], "estimate", search=settings)).found
    assert found.details["evaluations"] == 6
    assert found.details["stopped"] == "no better recommendation in 2 evaluations"
    assert found.baseline is None


def test_the_process_finds_the_top_of_a_noisy_hill_and_not_its_luckiest_point():
    space, rng = BernoulliBandit(arms=2, blocks=1).design_space, np.random.default_rng(0)
    designs = initial_designs(space, 48, 0)
    truth = -np.square(designs - [0.3, 0.8]).sum((1, 2))
    process = InformationProcess(space, designs, truth + 0.02 * rng.standard_normal(48))
    assert truth[process.mean().argmax()] > np.sort(truth)[-4]
    proposed = process.propose(2, seed=1)
    assert proposed.shape == (2, 1, 2)
    assert np.array_equal(proposed, space.canonical(proposed))
    assert np.abs(proposed - [0.3, 0.8]).max(axis=(1, 2)).min() < 0.15
    assert np.array_equal(proposed, process.propose(2, seed=1))
    assert process.mean(designs[:3, :, ::-1]) == pytest.approx(process.mean(designs[:3]))


def test_tensors_and_arrays_have_the_same_canonical_form():
    space = BernoulliBandit(arms=3, blocks=4).design_space
    designs = np.random.default_rng(0).random((5, 7, 4, 3)).round(1)
    assert np.array_equal(canonical(torch.from_numpy(designs), space).numpy(), space.canonical(designs))


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


def test_a_goal_gets_its_preset_and_every_number_can_be_set():
    bandit, every = BernoulliBandit(), (WSLTS(), AEG(), GLS())
    assert preset_for(Goal("discriminate", bandit, every)) == "discriminate"
    assert [preset_for(Goal("estimate", bandit, (model,))) for model in every] == ["estimate-wslts", "estimate-aeg", "estimate-gls"]
    assert preset_for(Goal("estimate", NoisyReadings(), (HiddenNumber(),))) == "generic"
    assert preset_for(Goal("both", bandit, every)) == "generic"
    goal = Goal("discriminate", bandit, every)
    changed = make_search({"method": "bayesopt", "preset": "estimate-gls", "epochs": 7, "hidden": [5]}).settings(goal)
    assert changed == replace(PRESETS["estimate-gls"], epochs=7, hidden=(5,))


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"epoch": 3}, ["no setting 'epoch'", "did you mean 'epochs'"]),
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
def test_wrong_settings_are_named(settings, words):
    with pytest.raises(StudyError) as error:
        make_search({"method": "bayesopt", **settings})
    assert all(word in str(error.value) for word in words), str(error.value)


def test_an_unfinished_search_cannot_be_read(tmp_path):
    search = make_search({"method": "bayesopt"})
    with pytest.raises(Exception, match="not finished"):
        search.load(Goal("estimate", NoisyReadings(), (HiddenNumber(),)), Journal(tmp_path))
