"""Probabilities of choices against scipy, and draws against the numbers that they are made of."""

import numpy as np
import pytest
from scipy import stats
from scipy.special import logsumexp

from tellapart.models.choices import drawn, drawn_largest, largest, log_share, softmax, total_of
from tellapart.models.streams import standard_normal, started, uniform


@pytest.mark.parametrize("values", [[0.3], [1.0, 2.0, -1.0], [1000.0, 1001.0], [-1e5, -1e5 - 2, -1e5 + 1], [0.0, -np.inf, 1.0]])
def test_softmax(values):
    values = np.array(values)
    np.testing.assert_allclose(softmax(values), np.exp(values - logsumexp(values)), rtol=1e-9)


def test_softmax_of_what_is_too_small_is_the_smallest_number():
    assert softmax(np.array([0.0, -5000.0]))[1] == 1e-300
    assert softmax(np.array([-5000.0, 0.0, -np.inf])).tolist() == [1e-300, 1.0, 0.0]


def log_largest(means, sds):
    """log P(option k is the largest) by a sum over very many points of the logarithm of the integrand."""
    means, sds = np.asarray(means, float), np.asarray(sds, float)
    result = []
    for k in range(len(means)):
        others = [j for j in range(len(means)) if j != k]

        def log_density(x, k=k, others=others):
            return stats.norm.logpdf(x, means[k], sds[k]) + sum(stats.norm.logcdf(x, means[j], sds[j]) for j in others)

        low, high = (means - 45 * sds).min(), (means + 45 * sds).max()
        for _ in range(6):  # closer and closer around where it is highest
            x = np.linspace(low, high, 4001)
            values = log_density(x)
            inside = x[values > values.max() - 45]
            step = x[1] - x[0]
            low, high = inside[0] - step, inside[-1] + step
        x = np.linspace(low, high, 20_001)
        result.append(logsumexp(log_density(x)) + np.log(x[1] - x[0]))
    return np.array(result)


@pytest.mark.parametrize(
    ("means", "sds"),
    [
        ([0.0, 1.0], [1.0, 2.0]),
        ([0.0, 12.0], [1.0, 1.0]),
        ([0.0, 0.5, 1.0], [1.0, 1.0, 1.0]),
        ([0.0, 0.5, 1.0, -2.0], [1.0, 0.3, 2.0, 4.0]),
        ([0.0, 0.2, 0.1], [1.0, 1e-3, 0.5]),  # piece by piece
        ([0.0, 0.2, -0.3, 0.4], [1.0, 1e-4, 1e-5, 2.0]),
        ([5.0, 0.0, 0.0], [0.01, 1.0, 1.0]),
        ([0.0, 3.0, 9.0], [1.0, 1.0, 1.0]),  # rare
        ([0.0, 30.0, 31.0], [1.0, 1.0, 2.0]),
        ([-5.0, 0.0, 0.3], [0.5, 0.1, 0.1]),
        ([-25.0, 0.0, 0.3, 0.1], [1.0, 1.0, 0.1, 3.0]),
    ],
)
def test_the_largest_has_its_probability(means, sds):
    """Common ones to a few digits, rare ones to a thousandth of themselves."""
    ours, log_p = largest(np.array(means), np.array(sds)), log_largest(means, sds)
    common = log_p > np.log(1e-7)
    np.testing.assert_allclose(ours[common], np.exp(log_p[common]), atol=2e-5)
    assert ours.sum() == pytest.approx(1, abs=1e-6)
    np.testing.assert_allclose(np.log(ours[~common]), np.maximum(log_p[~common], np.log(1e-300)), atol=1e-3)


def test_the_largest_of_the_smallest():
    """What is too small for a number is told as the smallest one; order and scale do not matter."""
    assert largest(np.array([0.0, 100.0]), np.array([1.0, 1.0]))[0] == 1e-300
    assert largest(np.array([0.0, 100.0, 99.0]), np.array([1.0, 1.0, 1.0]))[0] == 1e-300
    means, sds = np.array([0.3, -1.0, 2.0, 0.5]), np.array([1.0, 0.5, 2.0, 0.1])
    order = np.array([2, 0, 3, 1])
    np.testing.assert_allclose(largest(means[order], sds[order]), largest(means, sds)[order], rtol=1e-9)
    np.testing.assert_allclose(largest(10 * means + 7, 10 * sds), largest(means, sds), atol=1e-6)
    with pytest.raises(ValueError, match="as many standard deviations as means"):
        largest(means, sds[:3])


def stream_of(seed):
    return started(np.array([seed]))[0, :1].copy()


def test_the_largest_that_is_drawn():
    means, sds = np.array([0.3, -1.0, 2.0]), np.array([1.0, 3.0, 0.5])
    for seed in range(60):
        x = [means[k] + sds[k] * z for k, z in enumerate(standard_normal(s) for s in [stream_of(seed)] for _ in range(3))]
        assert drawn_largest(means, sds, stream_of(seed)) == int(np.argmax(x))
    assert drawn_largest(np.array([0.0, np.nan]), np.ones(2), stream_of(1)) == -1
    assert drawn_largest(np.array([-np.inf, -np.inf]), np.ones(2), stream_of(1)) == 0
    with pytest.raises(ValueError, match="as many standard deviations as means"):
        drawn_largest(means, sds[:2], stream_of(1))


@pytest.mark.parametrize(
    ("shares", "options", "total"),
    [
        ([0.25, 0.75], 2, 1.0),
        ([0.25, 0.75], 3, -1.0),
        ([0.25, 0.25, 0.5], 2, -1.0),
        ([1.25, -0.25], 2, -1.0),
        ([np.nan, 1.0], 2, -1.0),
        ([0.0, 1.0], 2, 1.0),
        ([0.5, 0.5 + 0.9e-6], 2, 1.0 + 0.9e-6),
        ([0.5, 0.5 + 1.1e-6], 2, -1.0),
        ([0.5, 0.5 - 1.1e-6], 2, -1.0),
        ([0.1, 0.2], 2, -1.0),
    ],
)
def test_what_are_probabilities(shares, options, total):
    assert total_of(np.array(shares), options) == pytest.approx(total, abs=1e-12)
    assert (drawn(np.array(shares), options, stream_of(3)) >= 0) == (total > 0)
    assert np.isnan(log_share(np.array(shares), options, 1)) == (total < 0)


def test_options_are_drawn_with_their_probabilities():
    shares = np.array([0.2, 0.0, 0.5, 0.3])
    for seed in range(200):
        u = uniform(stream_of(seed))
        assert drawn(shares, 4, stream_of(seed)) == (0 if u < 0.2 else 2 if u < 0.7 else 3)
    assert {drawn(np.array([0.0, 0.0, 1.0]), 3, stream_of(seed)) for seed in range(20)} == {2}
    slightly = np.array([0.5, 0.5 + 0.9e-6])
    assert log_share(slightly, 2, 0) == pytest.approx(np.log(0.5 / (1 + 0.9e-6)), abs=1e-12)
    assert log_share(np.array([0.0, 1.0]), 2, 0) == -np.inf
