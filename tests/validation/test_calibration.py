"""Calibration: posteriors that are wrong on purpose are caught, the right one passes, and false alarms are as rare as stated.

The verdicts of the first tests are at a false-alarm rate of 1e-4, so that is how often a right posterior would fail here by chance.
"""

import numpy as np
import pytest
from evidence import DESIGN, exact

from tellapart.validation.answers import ask
from tellapart.validation.calibration import (
    _probability_outside,
    calibrate_models,
    calibrate_ranks,
    calibration,
    ranks_among,
    uniform_band,
)

LEVEL = 1e-4


@pytest.mark.parametrize(("power", "verdict"), [(1.0, "well calibrated"), (2.0, "overconfident"), (0.5, "underconfident")])
def test_exact_model_probabilities_pass_and_tempered_ones_are_caught(power, verdict):
    rng = np.random.default_rng(1)
    found = calibration(ask(exact(power=power), DESIGN, 1500, rng), rng, LEVEL)
    assert found.models.verdict == verdict
    assert found.sound == (power == 1.0)
    assert verdict in found.verdict.lower()
    assert abs(found.models.exponent - 1 / power) < 4 * found.models.exponent_se


@pytest.mark.parametrize(("power", "verdict"), [(1.0, "well calibrated"), (3.0, "overconfident"), (0.33, "underconfident")])
def test_exact_parameter_posteriors_pass_and_tempered_ones_are_caught(power, verdict):
    rng = np.random.default_rng(2)
    found = calibration(ask(exact("estimate", power), DESIGN, 1500, rng), rng, LEVEL)
    assert {part.verdict for part in found.parameters} == {verdict}
    coverage = [part.coverage[part.levels.index(0.8)] for part in found.parameters]
    if power == 1.0:
        assert np.allclose(coverage, 0.8, atol=0.05)
    else:
        assert all((c < 0.8) == (power > 1) for c in coverage)


def conjugate(rng, width, n=1500, draws=119):
    """Ranks of a normal mean among draws of its posterior, whose width is multiplied by `width`."""
    theta = rng.standard_normal(n)
    y = theta + rng.standard_normal(n)
    return ranks_among(theta, y[:, None] / 2 + width * np.sqrt(0.5) * rng.standard_normal((n, draws)), rng)


@pytest.mark.parametrize(("width", "verdict"), [(1.0, "well calibrated"), (0.8, "overconfident"), (1.25, "underconfident")])
def test_a_quarter_more_or_less_width_is_seen(width, verdict):
    assert calibrate_ranks(conjugate(np.random.default_rng(3), width), 119, LEVEL).verdict == verdict


def test_a_shifted_posterior_is_called_shifted():
    rng = np.random.default_rng(4)
    theta = rng.standard_normal(1500)
    y = theta + rng.standard_normal(1500)
    draws = y[:, None] / 2 + 0.12 + np.sqrt(0.5) * rng.standard_normal((1500, 119))
    assert calibrate_ranks(ranks_among(theta, draws, rng), 119, 1e-3).verdict == "shifted"


def test_a_strange_shape_leaves_the_band():
    ranks = np.concatenate([np.arange(30, 60), np.arange(60, 90)]).repeat(10)
    ranks = np.concatenate([ranks, np.repeat([0, 119], 100), np.repeat([59, 60], 200)])
    assert calibrate_ranks(ranks, 119).outside


def test_false_alarms_about_ranks_are_as_rare_as_stated():
    rng = np.random.default_rng(5)
    complaints = [calibrate_ranks(rng.integers(0, 120, 400), 119, 0.1).verdict != "well calibrated" for _ in range(600)]
    assert 0.01 < np.mean(complaints) < 0.1 + 4 * np.sqrt(0.1 * 0.9 / 600)


def test_false_alarms_about_models_are_as_rare_as_stated():
    rng = np.random.default_rng(6)
    complaints = []
    for _ in range(600):
        log_q = np.log(rng.dirichlet([0.5, 0.5, 0.5], 400))
        model = (np.exp(log_q).cumsum(-1) < rng.random((400, 1))).sum(-1)
        complaints.append(calibrate_models(np.minimum(model, 2), log_q, 0.1).verdict != "well calibrated")
    assert 0.01 < np.mean(complaints) < 0.1 + 4 * np.sqrt(0.1 * 0.9 / 600)


def test_the_band_holds_all_points_together():
    n, points, level = 200, 20, 0.05
    low, high = uniform_band(n, points, level)
    assert _probability_outside(n, points, low, high) <= level
    rng = np.random.default_rng(7)
    below = rng.multinomial(n, np.full(points, 1 / points), 20_000).cumsum(-1)[:, :-1]
    left = ((below < low) | (below > high)).any(-1).mean()
    assert left == pytest.approx(_probability_outside(n, points, low, high), abs=0.007)
    assert left > level / 2  # and no wider than need be


def test_ties_are_broken_at_random():
    ranks = ranks_among(np.zeros(4000), np.zeros((4000, 9)), np.random.default_rng(8))
    assert np.bincount(ranks, minlength=10).min() > 300


def test_reliability_bins_add_up():
    rng = np.random.default_rng(9)
    q = rng.dirichlet([1, 1, 1], 500)
    found = calibrate_models(rng.integers(0, 3, 500), np.log(q))
    assert sum(b.n for b in found.bins) == 1500
    assert all(b.low <= b.predicted <= b.high for b in found.bins)
    assert sum(b.n * b.observed for b in found.bins) == pytest.approx(500)
