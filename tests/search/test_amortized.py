"""The amortized engine on small studies: below the exact value and near it, resumable to the byte, within its budget."""

import json

import numpy as np
import pytest

import tellapart as ta
from tellapart.curve import information_curve
from tellapart.errors import StudyError
from tellapart.estimators.base import Goal
from tellapart.information.exact import exact_information
from tellapart.journal import Journal
from tellapart.search.amortized import Amortized, Mixture
from tellapart.search.survey import information_at

TASK = ta.BernoulliBandit(arms=2, blocks=2, trials=12)
TELL = Goal("discriminate", TASK, (ta.WSLTS(), ta.AEG()))
SMALL = {"steps": 40, "survey": 16, "survey_simulations": 50, "finalists": 2, "finalist_simulations": 100, "baselines": 2}


class Killed(Exception):
    pass


def killed_after(calls):
    """A progress that kills the search when it has been told of it so many times."""
    told = iter(range(calls))

    def progress(done, total, words):
        if next(told, None) is None:
            raise Killed

    return progress


def interrupted(search, goal, folder, rng):
    """Find, killed at six random moments and resumed until it is done; how often it was killed."""
    for kills in range(6):
        try:
            return search.find(goal, 3, Journal(folder), killed_after(int(rng.integers(3, 12)))), kills
        except Killed:
            pass
    return search.find(goal, 3, Journal(folder)), 6


@pytest.mark.parametrize("settings", [{}, {"simulations": 10_000}], ids=["stream", "budget"])
def test_a_stopped_search_goes_on_to_the_same_bytes(tmp_path, settings, monkeypatch):
    monkeypatch.setattr("tellapart.search.amortized.CHECKPOINT_EVERY", 7)
    search = Amortized(**SMALL, **settings)
    whole = search.find(TELL, 3, Journal(tmp_path / "whole"))
    pieces, kills = interrupted(search, TELL, tmp_path / "pieces", np.random.default_rng(0))
    assert kills >= 2
    assert json.dumps(whole.to_json(), sort_keys=True) == json.dumps(pieces.to_json(), sort_keys=True)
    weights = [(tmp_path / name / "estimator.safetensors").read_bytes() for name in ("whole", "pieces")]
    assert weights[0] == weights[1]


def test_a_finished_search_is_read_back(tmp_path):
    search = Amortized(**SMALL)
    found = search.find(TELL, 3, Journal(tmp_path))
    again = search.load(TELL, Journal(tmp_path))
    assert json.dumps(found.to_json(), sort_keys=True) == json.dumps(again.to_json(), sort_keys=True)
    design = TASK.baseline(1, np.random.default_rng(0))[0]
    assert information_at(found.estimator, design, 200, (1,)) == information_at(again.estimator, design, 200, (1,))
    assert search.evaluate(TELL, [design], 5, Journal(tmp_path))[0].kind == "lower bound"


def test_the_budget_is_kept(tmp_path):
    made = []

    class Counting(ta.AEG):
        name = "counting"

        def simulate(self, parameters, design, rng, task):
            made.append(len(parameters["phi"]))
            return super().simulate(parameters, design, rng, task)

    Amortized(steps=20, simulations=10_000, baselines=10).find(Goal("estimate", TASK, (Counting(),)), 1, Journal(tmp_path))
    assert 0.8 * 10_000 < sum(made) <= 1.1 * 10_000


@pytest.mark.parametrize(
    ("goal", "models", "floor", "estimator"),
    [
        ("discriminate", (ta.WSLTS(), ta.AEG()), 0.85, "posterior"),
        ("estimate", (ta.AEG(),), 0.9, "posterior"),
        ("both", (ta.WSLTS(), ta.AEG()), 0.85, "posterior"),
        ("discriminate", (ta.WSLTS(), ta.AEG()), 0.5, "nwj"),
        ("estimate", (ta.AEG(),), 0.5, "infonce"),
    ],
)
def test_the_estimate_is_near_the_exact_value_and_not_above_it(tmp_path, goal, models, floor, estimator):
    """Above by more than four standard errors of the exact value: false-alarm rate below 4e-5 a design."""
    wanted = Goal(goal, TASK, models)
    settings = {"steps": 600, "survey": 16, "survey_simulations": 200, "finalist_simulations": 2000, "baselines": 3}
    found = Amortized(estimator=estimator, **settings).find(wanted, 1, Journal(tmp_path))
    for design in (found.design, np.full((2, 2), 0.5), np.zeros((2, 2)), TASK.baseline(1, np.random.default_rng(5))[0]):
        ours = found.estimator.estimate(found.estimator.simulate(design, 4000, np.random.default_rng(9)))
        exact = exact_information(TASK, models, goal, design, n=4000, rng=np.random.default_rng(9))
        assert ours.nats < exact.nats + 4 * exact.se
        assert ours.nats > floor * exact.nats


def test_information_grows_with_trials_and_blocks(tmp_path):
    found = Amortized(**{**SMALL, "steps": 400}).find(Goal("estimate", TASK, (ta.AEG(),)), 1, Journal(tmp_path))
    curve = {(p.blocks, p.trials): p.information.nats for p in information_curve(found.estimator, found.design, n=2000, points=4)}
    assert curve[2, 12] > curve[1, 12] > curve[1, 3]
    assert curve[2, 12] > curve[2, 3]


def test_designs_to_train_on_reach_the_whole_space():
    designs = Mixture(TASK)(4000, np.random.default_rng(0))
    assert designs.shape == (4000, 2, 2)
    assert ((designs >= 0) & (designs <= 1)).all()
    for corner in (0.0, 1.0):
        assert (designs == corner).all(axis=(1, 2)).sum() >= 4
    assert ((designs == 0) | (designs == 1)).all(axis=(1, 2)).mean() > 0.02


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"encoder": "histroy"}, "history"),
        ({"estimator": "posteriro"}, "posterior"),
        ({"simulations": 5}, "too few"),
        ({"batch": 1}, "too small"),
    ],
)
def test_impossible_settings_are_refused(settings, words):
    with pytest.raises(StudyError, match=words):
        Amortized(**settings)
