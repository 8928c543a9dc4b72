"""A first look at parameters: near the posterior where that is known, and a proper distribution to draw from."""

from dataclasses import dataclass

import numpy as np
import pytest
from scipy import stats

import tellapart as ta
from tellapart.information.pilot import ENOUGH, WIDER, Pilot, _weights
from tellapart.models.hidden_number import HiddenNumber
from tellapart.tasks.readings import NoisyReadings

TASK, DESIGN = NoisyReadings(1, 1), np.array([[1.0]])


@dataclass(frozen=True)
class Noise(ta.LikelihoodModel):
    """The hidden number is known to be 0."""

    name = "noise"
    parameters = {}  # noqa: RUF012

    def simulate(self, parameters, designs, rng, task):
        return HiddenNumber().simulate({"theta": np.zeros(len(designs))}, designs, rng, task)

    def log_likelihood(self, parameters, behavior, designs, task):
        return HiddenNumber().log_likelihood({"theta": np.zeros(len(designs))}, behavior, designs, task)


@dataclass(frozen=True)
class Pair(ta.LikelihoodModel):
    """The sum of two hidden numbers: their posterior is correlated."""

    name = "pair"
    parameters = {"a": ta.Normal(), "b": ta.Normal()}  # noqa: RUF012

    def simulate(self, parameters, designs, rng, task):
        return HiddenNumber().simulate({"theta": parameters["a"] + parameters["b"]}, designs, rng, task)

    def log_likelihood(self, parameters, behavior, designs, task):
        return HiddenNumber().log_likelihood({"theta": parameters["a"] + parameters["b"]}, behavior, designs, task)


class People:
    """What a first look needs to know."""

    def __init__(self, behavior, designs):
        self.behavior, self.designs = behavior, designs

    def __len__(self):
        return len(self.behavior)


READINGS = np.array([-1.2, 0.0, 0.9])


def pilot(*models, readings=READINGS):
    """For participants whose readings are given."""
    behavior = ta.Behavior({"reading": np.reshape(readings, (-1, 1, 1))})
    designs = np.broadcast_to(DESIGN, (len(readings), 1, 1))
    return Pilot(TASK, models, People(behavior, designs))


def test_near_the_posterior_and_a_little_wider():
    """a, b | y ~ N(y / 3, [[2, -1], [-1, 2]] / 3): what 256 points of low discrepancy say of it is right to a few per cent."""
    mean, factor = pilot(Pair())._normals[0]
    np.testing.assert_allclose(mean, READINGS[:, None] / 3 * np.ones(2), atol=0.05)
    right = WIDER * np.array([[2, -1], [-1, 2]]) / 3
    np.testing.assert_allclose(factor @ factor.transpose(0, 2, 1), np.broadcast_to(right, (3, 2, 2)), atol=0.08)


def test_draws_have_the_density_that_is_said():
    """Against scipy; means and covariances of 20,000 draws within 5 standard errors, 18 of them: a false alarm in 1 of 80,000 runs."""
    first = pilot(Pair())
    mean, factor = first._normals[0]
    z = first.draw(0, None, None, 20_000, np.random.default_rng(1))
    log_density = first.log_density(0, None, None, z[:50])
    assert z.shape == (20_000, 3, 2)
    for n in range(3):
        covariance = factor[n] @ factor[n].T
        np.testing.assert_allclose(log_density[:, n], stats.multivariate_normal(mean[n], covariance).logpdf(z[:50, n]))
        np.testing.assert_allclose(z[:, n].mean(0), mean[n], atol=5 * np.sqrt(0.8 / 20_000))
        np.testing.assert_allclose(np.cov(z[:, n].T), covariance, atol=5 * 0.8 * np.sqrt(2 / 20_000))


def test_a_model_without_parameters_has_nothing_to_draw():
    first = pilot(Noise(), Pair())
    z = first.draw(0, None, None, 5, np.random.default_rng(1))
    assert z.shape == (5, 3, 0)
    np.testing.assert_array_equal(first.log_density(0, None, None, z), np.zeros((5, 3)))
    assert first.draw(1, None, None, 5, np.random.default_rng(1)).shape == (5, 3, 2)


def test_weights_are_tempered_by_halves_until_enough_points_matter():
    """Against plain Python; where few points are possible those count alike, where none is, all."""
    steep = -0.5 * np.linspace(0, 60, 40)
    few = np.where(np.arange(40) < 5, 0.0, -np.inf)
    rows = np.stack([np.zeros(40), steep / 20, steep, 50 * steep, few, np.full(40, -np.inf), np.arange(40) * -0.01 - 700.0])

    def plain(row):
        row = list(row) if any(np.isfinite(row)) else [0.0] * len(row)
        while True:
            total = sum(np.exp(x - max(row)) for x in row)
            weights = [float(np.exp(x - max(row)) / total) for x in row]
            if 1 / sum(w**2 for w in weights) >= min(ENOUGH, sum(w > 0 for w in weights)) - 1e-6:
                return weights
            row = [x / 2 for x in row]

    expected = np.array([plain(row) for row in rows])
    np.testing.assert_allclose(_weights(rows), expected, rtol=1e-9)
    np.testing.assert_allclose(expected[5], 1 / 40)
    np.testing.assert_allclose(expected[4][:5], 1 / 5)
    np.testing.assert_allclose(expected[1], np.exp(rows[1]) / np.exp(rows[1]).sum())  # enough as they are


@pytest.mark.parametrize("reading", [40.0, -40.0])
def test_readings_that_no_point_explains_make_it_wide_not_narrow(reading):
    mean, factor = pilot(Pair(), readings=[reading])._normals[0]
    assert np.isfinite(mean).all()
    assert (np.diagonal(factor @ factor.transpose(0, 2, 1), axis1=1, axis2=2) > 0.05).all()
