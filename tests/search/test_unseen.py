"""No winner's curse: the number that is reported comes from simulations that had no part in the choice of the design."""

import numpy as np

import tellapart as ta
from tellapart.estimators import fresh
from tellapart.journal import Journal
from tellapart.search import amortized

SMALL = ta.Amortized(steps=20, survey=16, survey_simulations=50, finalists=4, finalist_simulations=100, baselines=3)


def test_the_reported_number_is_not_from_simulations_that_chose_the_design(tmp_path, monkeypatch):
    looks, estimate = [], fresh.pointwise_at_each

    def spy(estimator, designs, n, seed, workers):
        points, failures = estimate(estimator, designs, n, seed, workers)
        looks.append((np.array(designs), seed, [one.estimate().nats for one in points]))
        return points, failures

    monkeypatch.setattr(fresh, "pointwise_at_each", spy)
    survey = np.random.default_rng(0).random((4, 2, 2))  # how finalists are found does not matter here
    monkeypatch.setattr(amortized._Finder, "_survey", lambda self, number, good: self.space.canonical(survey))
    monkeypatch.setattr(amortized._Finder, "_climb_further", lambda self, design: self.job.journal.put("survey last", {"tried": 0}))
    job = ta.Job(ta.BernoulliBandit(2, 2, 6), ta.Question((ta.WSLTS(), ta.AEG())), 3, Journal(tmp_path))
    found = SMALL.find(job)
    (told,) = (i for i, (_, _, nats) in enumerate(looks) if found.information.nats in nats)
    designs, seed, _ = looks[told]
    assert np.array_equal(designs[0], found.design)  # already first: it was chosen before
    compared = [look for look in looks[:told] if len(look[0]) > 1 and (look[0] == found.design).all((1, 2)).any()]
    assert compared
    assert all(seed != other for _, other, _ in looks[:told])
