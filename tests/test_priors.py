"""Priors against scipy; that their parts agree with each other is their contract (`tests/contracts`)."""

import numpy as np
import pytest
from scipy import stats

from tellapart import Beta, Categorical, Gamma, HalfNormal, Integers, LogNormal, ModelError, Normal, Uniform
from tellapart.priors import medians, on_normal_scale, quantiles, sample_priors

KNOWN = {
    Uniform(): stats.uniform(),
    Uniform(-2.0, 5.0): stats.uniform(-2, 7),
    Normal(1.0, 3.0): stats.norm(1, 3),
    LogNormal(): stats.lognorm(1),
    LogNormal(-1.0, 0.5): stats.lognorm(0.5, scale=np.exp(-1)),
    Beta(2.0, 0.5): stats.beta(2, 0.5),
    Gamma(0.7, 3.0): stats.gamma(0.7, scale=3),
    HalfNormal(2.0): stats.halfnorm(scale=2),
}
LEVELS = [Categorical((0.2, 0.5, 0.3)), Integers(-2, 3), Integers(1, 40)]


@pytest.mark.parametrize(("prior", "reference"), KNOWN.items(), ids=[str(prior) for prior in KNOWN])
def test_agrees_with_scipy(prior, reference):
    u = np.linspace(0.001, 0.999, 101)
    theta = reference.ppf(u)
    np.testing.assert_allclose(prior.quantile(u), theta, rtol=1e-10)
    np.testing.assert_allclose(prior.cdf(theta), u, rtol=1e-10)
    np.testing.assert_allclose(prior.log_density(theta), reference.logpdf(theta), rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(prior.to_normal(theta), stats.norm.ppf(u), rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(prior.from_normal(stats.norm.ppf(u)), theta, rtol=1e-8)


@pytest.mark.parametrize("prior", [Uniform(), Uniform(-2.0, 5.0)], ids=str)
def test_the_ends_of_a_prior_have_a_place_on_the_normal_scale(prior):
    ends = prior.to_normal([prior.low, prior.high])
    assert -9 < ends[0] < -8 < 8 < ends[1] < 9


@pytest.mark.parametrize("prior", [*KNOWN, *LEVELS], ids=str)
def test_the_normal_scale_ends_at_eight_standard_deviations(prior):
    """What lies beyond, or in the outermost part of a level, is finite there and back."""
    ends = prior.from_normal([-50.0, 50.0])
    np.testing.assert_array_equal(ends, prior.quantile([np.finfo(float).eps, 1 - np.finfo(float).eps]))
    there = prior.to_normal(ends, [0.0, 1.0])
    assert -9 < there[0] < -7 < 7 < there[1] < 9


@pytest.mark.parametrize("prior", LEVELS, ids=str)
def test_the_quantile_at_the_end_of_a_step_is_its_level(prior):
    ends = np.cumsum(prior.weights)[:-1]
    np.testing.assert_array_equal(prior.quantile(ends), prior.levels[:-1])
    np.testing.assert_array_equal(prior.quantile(np.nextafter(ends, 1.0)), prior.levels[1:])
    np.testing.assert_array_equal(prior.quantile([0.0, 1.0]), prior.levels[[0, -1]])
    np.testing.assert_array_equal(prior.cdf(prior.levels[0] - [0.0, 0.1]), [prior.weights[0], 0.0])


def edges():
    """Values at which a setting is no longer possible."""
    two = (lambda x: Gamma(x, 1.0), lambda x: Gamma(1.0, x), lambda x: Beta(x, 1.0), lambda x: Beta(1.0, x))
    one = (HalfNormal, lambda x: Normal(0.0, x), lambda x: LogNormal(0.0, x))
    return [(make, value) for make in (*two, *one) for value in (0.0, np.inf, np.nan)]


@pytest.mark.parametrize(("make", "value"), edges())
def test_settings_at_the_edge_are_refused(make, value):
    with pytest.raises(ModelError, match="impossible settings"):
        make(value)


@pytest.mark.parametrize("prior", LEVELS, ids=str)
def test_levels_have_their_probabilities(prior):
    sample = prior.sample(40_000, np.random.default_rng(3))
    counts = np.array([(sample == level).sum() for level in prior.levels])
    assert counts.sum() == len(sample)
    assert stats.chisquare(counts, prior.weights * len(sample)).pvalue > 1e-4
    np.testing.assert_allclose(np.exp(prior.log_density(prior.levels)), prior.weights)
    np.testing.assert_allclose(prior.cdf(prior.levels), np.cumsum(prior.weights))
    assert prior.log_density(prior.levels[0] + 0.5) == -np.inf


@pytest.mark.parametrize("prior", LEVELS, ids=str)
def test_levels_are_standard_normal_once_dequantised(prior):
    sample = prior.sample(20_000, np.random.default_rng(4))
    z = prior.to_normal(sample, np.random.default_rng(5).random(len(sample)))
    assert stats.kstest(z, "norm").pvalue > 1e-4
    np.testing.assert_array_equal(prior.from_normal(z), sample)
    np.testing.assert_array_equal(prior.from_normal(prior.to_normal(prior.levels)), prior.levels)
    assert len(np.unique(prior.to_normal(sample))) == len(prior.levels)


@pytest.mark.parametrize(
    "make",
    [
        lambda: Uniform(1.0, 1.0),
        lambda: Uniform(2.0, 1.0),
        lambda: Uniform(0.0, np.inf),
        lambda: Uniform(-np.inf, 0.0),
        lambda: Normal(np.inf, 1.0),
        lambda: LogNormal(-np.inf, 1.0),
        lambda: Categorical((0.0, 1.0)),
        lambda: Integers(-np.inf, 3),
        lambda: Uniform(np.nan, 1.0),
        lambda: Normal(0.0, 0.0),
        lambda: Normal(np.nan, 1.0),
        lambda: LogNormal(0.0, -1.0),
        lambda: Beta(0.0, 1.0),
        lambda: Gamma(1.0, np.inf),
        lambda: HalfNormal(-1.0),
        lambda: Categorical((0.5, 0.6)),
        lambda: Categorical((1.0,)),
        lambda: Integers(3, 3),
        lambda: Integers(0, 2.5),
        lambda: Integers(0, np.inf),
    ],
)
def test_impossible_settings(make):
    with pytest.raises(ModelError, match="impossible settings"):
        make()


def test_several_at_once():
    priors = {"p": Uniform(0, 2), "k": Categorical((0.2, 0.8)), "x": Normal(3, 1)}
    assert medians(priors) == {"p": 1.0, "k": 1.0, "x": 3.0}
    one, same = (sample_priors(priors, 50, np.random.default_rng(1)) for _ in range(2))
    assert list(one) == list(priors)
    assert all(values.shape == (50,) and values.tobytes() == same[name].tobytes() for name, values in one.items())
    points = quantiles(priors, np.array([[0.0, 0.1, 0.5], [1.0, 0.9, 0.5]]))
    np.testing.assert_allclose(points["p"], [0, 2], atol=1e-10)
    np.testing.assert_allclose(points["k"], [0, 1])
    assert all(np.isfinite(values).all() for values in points.values())
    np.testing.assert_array_equal(quantiles({"u": Uniform(), "v": Uniform()}, np.array([[0.0, 1.0]]))["u"], [1e-12])
    np.testing.assert_array_equal(quantiles({"u": Uniform(), "x": Normal()}, np.array([[0.0, 1.0]]))["x"], Normal().quantile([1 - 1e-12]))


def test_several_on_the_normal_scale():
    """A column for each in their order, levels in the middle of their steps; none for a model without parameters."""
    priors = {"k": Categorical((0.2, 0.8)), "x": Normal(3, 2)}
    columns = on_normal_scale(priors, {"x": np.array([3.0, 5.0, 1.0]), "k": np.array([0.0, 1.0, 1.0])}, 3)
    np.testing.assert_allclose(columns, np.stack([stats.norm.ppf([0.1, 0.6, 0.6]), [0.0, 1.0, -1.0]], axis=1), atol=1e-12)
    assert on_normal_scale({}, {}, 3).shape == (3, 0)
