"""The baseline average and the gain over it: their stated standard errors are those of repeated searches."""

import numpy as np
import pytest

from tellapart.information.estimate import Difference, InformationEstimate, Pointwise
from tellapart.search.base import Alternative, Baseline

DESIGNS, PEOPLE, PRIOR = 12, 200, (0.75, 0.25)
MODEL = np.arange(PEOPLE) % 4 // 3


def drawn(rng, design, person, left):
    """What participants, the same at all designs, contribute at baseline draws and at the recommended design."""
    people = person * rng.standard_normal(PEOPLE) + 0.5 * MODEL
    values = design * rng.standard_normal((DESIGNS, 1)) + people + left * rng.standard_normal((DESIGNS, PEOPLE))
    points = [Pointwise(row, MODEL, PRIOR, "lower bound") for row in values]
    best = Pointwise(1.0 + people + left * rng.standard_normal(PEOPLE), MODEL, PRIOR, "lower bound")
    return Baseline.of(np.zeros((DESIGNS, 1, 1)), points, best)


@pytest.mark.parametrize(("design", "person", "left"), [(0.02, 1.0, 0.3), (0.3, 0.3, 0.3), (0.0, 1.0, 1.0), (0.1, 0.0, 2.0)])
def test_stated_and_real_standard_errors_agree(design, person, left):
    """Over 320 repetitions a standard deviation is known to 4 %: 20 % off is five standard errors; false alarm below 1e-5 in all."""
    rng = np.random.default_rng(0)
    repeated = [drawn(rng, design, person, left) for _ in range(320)]
    for value, stated in (("mean", 0.125), ("gain", 1.0)):
        nats = np.array([getattr(one, value).nats for one in repeated])
        se = np.sqrt(np.mean([getattr(one, value).se ** 2 for one in repeated]))
        assert nats.std() == pytest.approx(se, rel=0.2), value
        assert abs(nats.mean() - stated) < 5 * nats.std() / len(nats) ** 0.5


def test_it_survives_json():
    baseline = drawn(np.random.default_rng(0), 0.1, 1.0, 0.3)
    again = Baseline.from_json(baseline.to_json())
    assert (again.mean, again.gain, again.information) == (baseline.mean, baseline.gain, baseline.information)


@pytest.mark.parametrize(("nats", "words"), [(0.001, "+0.001 ± 0.003 nats behind"), (-0.004, "+0.004 ± 0.003 nats ahead")])
def test_who_is_not_behind_is_ahead(nats, words):
    information = InformationEstimate(0.9, 0.004, "lower bound", 20_000)
    assert Alternative(np.zeros((1, 1)), information, Difference(nats, 0.003)).in_words == words
