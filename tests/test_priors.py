"""Priors: distributions with a quantile function, and the scale on which all of them are standard normal."""

import numpy as np
import pytest
from scipy import stats

from tellapart import Beta, Categorical, Gamma, HalfNormal, Integers, LogNormal, ModelError, Normal, Uniform

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
PRIORS, REFERENCE = list(KNOWN), list(KNOWN.values())
LEVELS = [Categorical((0.2, 0.5, 0.3)), Integers(-2, 3), Integers(1, 40)]
each_prior = pytest.mark.parametrize("prior", PRIORS, ids=str)


@pytest.mark.parametrize(("prior", "reference"), list(zip(PRIORS, REFERENCE, strict=True)), ids=str)
def test_agrees_with_scipy(prior, reference):
    u = np.linspace(0.001, 0.999, 101)
    theta = reference.ppf(u)
    np.testing.assert_allclose(prior.quantile(u), theta, rtol=1e-10)
    np.testing.assert_allclose(prior.cdf(theta), u, rtol=1e-10)
    np.testing.assert_allclose(prior.log_density(theta), reference.logpdf(theta), rtol=1e-10, atol=1e-12)


@each_prior
def test_samples_follow_the_distribution(prior):
    sample = prior.sample(20_000, np.random.default_rng(3))
    assert stats.kstest(sample, prior.cdf).pvalue > 1e-4


@each_prior
def test_same_seed_same_bytes(prior):
    first, second = (prior.sample(100, np.random.default_rng(8)).tobytes() for _ in range(2))
    assert first == second


@each_prior
def test_normal_scale_and_back(prior):
    z = np.linspace(-4.0, 4.0, 41)
    np.testing.assert_allclose(prior.to_normal(prior.from_normal(z)), z, atol=1e-6)
    sample = prior.to_normal(prior.sample(20_000, np.random.default_rng(4)))
    assert stats.kstest(sample, "norm").pvalue > 1e-4


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
    z = prior.to_normal(sample, np.random.default_rng(5))
    assert stats.kstest(z, "norm").pvalue > 1e-4
    np.testing.assert_array_equal(prior.from_normal(z), sample)
    np.testing.assert_array_equal(prior.from_normal(prior.to_normal(prior.levels)), prior.levels)
    assert len(np.unique(prior.to_normal(sample))) == len(prior.levels)


@each_prior
def test_normal_scale_is_finite_at_the_ends(prior):
    ends = prior.quantile(np.array([0.0, 1.0]))
    assert np.isfinite(prior.to_normal(ends)).all()
    assert np.isfinite(prior.from_normal(np.array([-40.0, 40.0]))).all()


@pytest.mark.parametrize(
    "make",
    [
        lambda: Uniform(1.0, 1.0),
        lambda: Uniform(2.0, 1.0),
        lambda: Uniform(0.0, np.inf),
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
