"""The amortized engine on small studies: below the exact value and near it, resumable to the byte, within its budget."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

import tellapart as ta
from tellapart.curve import information_curve
from tellapart.estimators.fresh import pointwise_at
from tellapart.folder import dumps
from tellapart.information.exact import exact_pointwise
from tellapart.journal import Journal
from tellapart.search.learning import Mixture
from tellapart.workers import Workers

TASK = ta.BernoulliBandit(arms=2, blocks=2, trials=6)
FEW = {"survey": 16, "finalists": 2, "baselines": 2, "baseline_simulations": 200}
SMALL = ta.Amortized(steps=24, batch=64, survey_simulations=50, finalist_simulations=100, **FEW)
TELL = ta.Study(TASK, [ta.WSLTS(), ta.AEG()], search=SMALL, seed=3)


class Killed(Exception):
    pass


def killed_after(calls):
    """A progress that kills the search when it has been told of it so many times."""
    told = iter(range(calls))

    def progress(done, total, stage="", detail=""):
        if next(told, None) is None:
            raise Killed

    return progress


def interrupted(study, folder, rng):
    """Find, killed at six random moments and resumed until it is done; how often it was killed."""
    for kills in range(6):
        try:
            ta.find_design(study, folder, progress=killed_after(int(rng.integers(3, 12))))
        except Killed:
            continue
        return kills
    ta.find_design(study, folder)
    return 6


def find(study, folder):
    """What the search finds by itself, without a run."""
    return study.search.find(ta.Job(study.task, study.question, study.seed, Journal(folder)))


@pytest.fixture(scope="module")
def told(tmp_path_factory):
    """What the search of `TELL` found, without a stop."""
    return ta.find_design(TELL, tmp_path_factory.mktemp("told"))


@pytest.mark.parametrize("settings", [{}, {"simulations": 10_000, "steps": 1, "batch": 1024}], ids=["stream", "budget"])
def test_a_stopped_search_goes_on_to_the_same_bytes(tmp_path, settings, told, monkeypatch):
    monkeypatch.setattr("tellapart.search.learning.CHECKPOINT_EVERY", 7)
    study = ta.Study(TASK, TELL.models, search=replace(SMALL, **settings), seed=3)
    whole = ta.find_design(study, tmp_path / "whole").folder.path if settings else told.folder.path
    assert interrupted(study, tmp_path / "pieces", np.random.default_rng(0)) >= 2
    for name in ("result.json", "estimator.safetensors"):
        assert (whole / name).read_bytes() == (tmp_path / "pieces" / name).read_bytes()


@pytest.mark.parametrize("settings", [{"steps": 7}, {"simulations": 10_000, "steps": 1, "batch": 1024}], ids=["stream", "budget"])
def test_how_far_the_law_is_trusted_is_chosen_when_training_is_over(tmp_path, settings, monkeypatch):
    """Also if the search was stopped while it was chosen; of a budget, by participants that nothing was learned from."""
    monkeypatch.setattr("tellapart.search.learning.CHECKPOINT_EVERY", 7)
    asked = []

    def settle(self, further):
        asked.append(len(next(iter(further))))
        if len(asked) == 1:
            raise Killed
        self.trust.fill_(0.125)

    monkeypatch.setattr(ta.LikelihoodEstimator, "settle", settle)
    study = ta.Study(TASK, TELL.models, search=replace(SMALL, **settings), seed=3)
    with pytest.raises(Killed):
        ta.find_design(study, tmp_path)
    found = ta.find_design(study, tmp_path).found
    assert found.estimator.trust.item() == 0.125
    assert asked[-1] == (500 if "simulations" in settings else 64)  # a tenth of what was kept for training


def test_a_finished_search_is_read_back(told):
    again = ta.Run.finished(TELL, told.folder.path).result()
    assert dumps(told.found.to_json()) == dumps(again.found.to_json())
    design = TASK.baseline(1, np.random.default_rng(0))[0]
    one, other = (pointwise_at(part.found.estimator, design, 200, (1,))[0].estimate() for part in (told, again))
    assert one == other
    assert again.evaluate([design])[0].kind == "lower bound"


class Counted(Workers):
    """Workers that keep what they were given."""

    def map(self, function, pieces):
        object.__setattr__(self, "pieces", pieces)
        return super().map(function, pieces)


def test_given_designs_are_estimated_by_the_workers(told):
    """Alone and by two workers: the same estimates, made elsewhere."""
    designs = TASK.baseline(3, np.random.default_rng(0))
    counted = Counted(2)
    assert told.evaluate(designs, workers=counted) == told.evaluate(designs)
    assert len(counted.pieces) == 3


def test_the_budget_is_kept(tmp_path):
    made = []

    class Counting(ta.AEG):
        name = "counting"

        def simulate(self, parameters, designs, rng, task):
            made.append(len(parameters["phi"]))
            return super().simulate(parameters, designs, rng, task)

    find(ta.Study(TASK, Counting(), "estimate", search=ta.Amortized(steps=1, batch=1024, simulations=10_000, baselines=10)), tmp_path)
    assert 0.8 * 10_000 < sum(made) <= 1.1 * 10_000


@pytest.fixture(scope="module")
def searched(tmp_path_factory):
    """A study of a few trials and what its search found, trained for a while; made once."""

    @cache
    def search(goal, steps, estimator):
        how = ta.Amortized(
            estimator=estimator, steps=steps, learning_rate=RATES[estimator], survey_simulations=50, finalist_simulations=500, **FEW
        )
        study = ta.Study(TASK, TELL.models, goal, search=how)
        return study, find(study, tmp_path_factory.mktemp(goal))

    return search


class Critic(ta.NWJEstimator):
    """Learned by the optimizer of posteriors: in a quarter of the steps."""

    name = "critic"
    optimizer = "muon"


RATES = {ta.PosteriorEstimator: 0.04, Critic: 0.03}
"""Higher than usual: what can be learned in few steps is then learned in fewer."""


@pytest.mark.parametrize(
    ("goal", "floor", "steps", "estimator"),
    [("both", 0.85, 75, ta.PosteriorEstimator), ("discriminate", 0.5, 80, Critic)],
)
def test_the_estimate_is_near_the_exact_value_and_not_above_it(searched, goal, floor, steps, estimator):
    """On the same participants, so that what is common to both cancels; above by more than four standard errors of the difference:
    false-alarm rate below 4e-5 for each design."""
    study, found = searched(goal, steps, estimator)
    for design in (found.design, np.full((2, 2), 0.5), np.zeros((2, 2)), TASK.baseline(1, np.random.default_rng(5))[0]):
        ours = found.estimator.pointwise(found.estimator.simulate(design, 1000, np.random.default_rng(9)))
        exact = exact_pointwise(TASK, study.question, design, 1000, np.random.default_rng(9))
        above = ours.minus(exact)
        assert above.nats < 4 * above.se
        assert ours.estimate().nats > floor * exact.estimate().nats


def test_information_grows_with_trials_and_blocks(searched):
    _, found = searched("both", 75, ta.PosteriorEstimator)
    curve = {(p.blocks, p.trials): p.information.nats for p in information_curve(found.estimator, found.design, n=2000, points=3)}
    assert curve[2, 6] > curve[1, 6] > curve[1, 2]
    assert curve[2, 6] > curve[2, 2]


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
        ({"encoder": "history"}, "'encoder' of the search must be a class"),
        ({"estimator": ta.HistoryEncoder}, "'estimator' of the search must be a class"),
        ({"simulations": 5}, "too few"),
        ({"batch": 1}, "too small"),
        ({"baseline_simulations": 49}, "too small"),
        ({"learning_rate": -0.01}, "too small"),
        ({"unfinished": 1.5}, "more than all participants"),
        ({"device": "gpu"}, "device 'gpu' of the search is not there"),
    ],
)
def test_impossible_settings_are_refused(settings, words):
    with pytest.raises(ta.StudyError, match=words):
        ta.Amortized(**settings)
