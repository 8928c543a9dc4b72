"""Group parameters: exact hierarchical sampling on AEG, a Gaussian world where all is known, coverage, and what is wrong on purpose."""

import numpy as np
import pytest
from exact_hierarchy import hyperposterior, individual_draws, likelihoods, simulate_group
from scipy.special import beta
from scipy.stats import binom, norm

from tellapart import AEG, Categorical, DataError, Integers, LogNormal, Uniform
from tellapart.groups.membership import log_odds
from tellapart.groups.parameters import GroupParameters, compare_conditions, compare_groups, group_parameters, population
from tellapart.groups.random_effects import random_effects

PRIORS = {"x": Uniform()}


def gaussian_people(mu, sigma, people, rng, noise=0.7, draws=1500, width=1):
    """People with z ~ N(mu, sigma) of whom y ~ N(z, noise) is seen: draws from their posteriors under N(0, 1), (N, L, P)."""
    z = mu + sigma * rng.standard_normal((people, width))
    y = z + noise * rng.standard_normal(z.shape)
    variance = 1 / (1 + noise**-2)
    return (variance * y / noise**2)[:, None] + np.sqrt(variance) * rng.standard_normal((people, draws, width))


def test_aeg_against_exact_hierarchical_sampling():
    """40 people: posterior means of group means and spreads within 5 % of the posterior standard deviation, the latter within 5 % too."""
    behavior, _ = simulate_group(40, [0.5, -0.3], [0.6, 0.8], seed=1)
    likelihood = likelihoods(behavior)
    exact, weights = hyperposterior(likelihood, seed=0)
    mean = weights @ exact
    sd = np.sqrt(weights @ (exact - mean) ** 2)
    ours = group_parameters("aeg", AEG().parameters, individual_draws(likelihood, 10_000, np.random.default_rng(1)))
    draws = np.concatenate([ours.mu, ours.sigma], axis=-1)
    assert (draws.mean((0, 1)) - mean) / sd == pytest.approx(np.zeros(4), abs=0.05)
    assert draws.std((0, 1)) / sd == pytest.approx(np.ones(4), abs=0.05)
    assert ours.error < 0.05
    assert not ours.few


@pytest.mark.parametrize("groups", [60, pytest.param(150, marks=pytest.mark.slow)])
def test_intervals_hold_the_truth_as_often_as_they_say(groups):
    """Groups of 20 people with hyperparameters from their priors; a right program fails once in 10,000 times."""
    rng = np.random.default_rng(3)
    held = np.zeros(2, int)
    for _ in range(groups):
        mu, sigma = rng.standard_normal(), abs(rng.standard_normal())
        ours = group_parameters("m", PRIORS, gaussian_people(mu, sigma, 20, rng), sweeps=1_500)
        for i, (draws, truth) in enumerate(((ours.mu, mu), (ours.sigma, sigma))):
            low, high = np.quantile(draws, [0.05, 0.95])
            held[i] += bool(low <= truth <= high)
    low, high = binom.ppf([2.5e-5, 1 - 2.5e-5], groups, 0.9)
    assert (held >= low).all()
    assert (held <= high).all()


def test_draws_taken_as_exact_values_would_be_overconfident_about_the_spread():
    """Wrong on purpose: the spread of posterior means is not the spread of people."""
    rng = np.random.default_rng(0)
    z = gaussian_people(0.0, 0.3, 200, rng, noise=1.0)
    ours = group_parameters("m", PRIORS, z, sweeps=4_000)
    low, high = np.quantile(ours.sigma, [0.001, 0.999])
    assert low < 0.3 < high
    assert z.std() > high


def test_members_of_another_model_do_not_count():
    rng = np.random.default_rng(1)
    members, others = gaussian_people(1.0, 0.4, 60, rng), gaussian_people(-1.0, 0.4, 60, rng)
    log_odds = np.repeat([6.0, -6.0], 60)
    ours = group_parameters("m", PRIORS, np.concatenate([members, others]), log_odds=log_odds, sweeps=4_000)
    alone = group_parameters("m", PRIORS, members, sweeps=4_000)
    assert ours.mu.mean() == pytest.approx(alone.mu.mean(), abs=0.1)
    assert ours.membership[:60].min() > 0.8
    assert ours.membership[60:].max() < 0.2


def test_what_is_known_of_a_person_is_sharper_in_the_light_of_the_group():
    rng = np.random.default_rng(2)
    z = gaussian_people(0.5, 0.3, 80, rng)
    ours = group_parameters("m", PRIORS, z, sweeps=4_000)
    assert (ours.shrunk[1] < z.std(1)).mean() > 0.95


def test_the_population_on_the_scale_of_the_parameter():
    """exp of a normal: mean and standard deviation are known."""
    mean, sd = population(LogNormal(), np.array([0.3]), np.array([0.5]))
    assert mean[0] == pytest.approx(np.exp(0.3 + 0.125), rel=1e-6)
    assert sd[0] == pytest.approx(np.exp(0.3 + 0.125) * np.sqrt(np.exp(0.25) - 1), rel=1e-6)


@pytest.mark.parametrize("prior", [Categorical((0.5, 0.5)), Categorical((0.2, 0.3, 0.5)), Integers(1, 5)], ids=str)
def test_the_population_of_a_parameter_with_levels(prior):
    """The share of each level is that of the normal population between the ends of its step."""
    mu, sigma = (values.reshape(-1) for values in np.meshgrid([-0.8, 0.0, 0.1], [0.05, 0.5, 1.0]))
    ends = norm.ppf(np.cumsum(prior.weights)[:-1])
    shares = np.diff([np.zeros(9), *(norm.cdf(end, mu, sigma) for end in ends), np.ones(9)], axis=0)
    mean, sd = population(prior, mu, sigma)
    assert mean == pytest.approx(prior.levels @ shares, abs=1e-12)
    assert sd == pytest.approx(np.sqrt(np.maximum(prior.levels**2 @ shares - mean**2, 0.0)), abs=1e-6)


def known_group(prior, mu, sigma, draws):
    """Group parameters of which all but nothing is unknown: four chains of draws on the normal scale."""
    rng = np.random.default_rng(draws)
    mus, sigmas = (value + 1e-3 * rng.standard_normal((4, draws, 1)) for value in (mu, sigma))
    return GroupParameters("m", {"x": prior}, mus, sigmas, np.ones(5), np.zeros((2, 5, 1)), np.full(5, 1e3), np.arange(5))


def test_the_larger_mean_is_that_of_the_parameter_itself():
    """exp of N(0, 1) has the mean 1.65, exp of N(0.3, 0.1) the mean 1.36, though 0.3 is above 0."""
    wide, narrow = known_group(LogNormal(), 0.0, 1.0, 50), known_group(LogNormal(), 0.3, 0.1, 50)
    row = compare_groups(wide, narrow, ("wide", "narrow"))[0].row()
    assert row["difference"] == pytest.approx(np.exp(0.5) - np.exp(0.305), abs=0.01)
    assert row["probability_larger"] == 1.0


@pytest.mark.parametrize("draws", [(60, 40), (40, 60)], ids=str)
def test_groups_of_which_there_are_different_numbers_of_draws(draws):
    """Chains of large groups are shorter, and keep other numbers of draws."""
    one, other = (known_group(Uniform(), mu, 0.5, count) for mu, count in zip((0.5, 0.0), draws, strict=True))
    difference = compare_groups(one, other, ("one", "other"))[0]
    assert difference.normal == pytest.approx(np.full(160, 0.5), abs=0.01)


def test_two_groups_that_differ_and_two_that_do_not():
    rng = np.random.default_rng(5)
    one, two, three = (group_parameters("m", PRIORS, gaussian_people(mu, 0.5, 50, rng), sweeps=4_000) for mu in (0.6, -0.4, 0.6))
    assert compare_groups(one, two, ("a", "b"))[0].probability > 0.999
    assert 0.01 < compare_groups(one, three, ("a", "c"))[0].probability < 0.99


def test_the_same_people_differ_more_clearly_than_different_people_do():
    """A change of 0.35 in everybody, small beside the differences between people."""
    rng = np.random.default_rng(6)
    z = 1.0 * rng.standard_normal((50, 1, 1))

    def seen(truth):
        y = truth + 0.4 * rng.standard_normal(truth.shape)
        variance = 1 / (1 + 0.4**-2)
        return variance * y / 0.4**2 + np.sqrt(variance) * rng.standard_normal((50, 2000, 1))

    before, after = seen(z), seen(z + 0.35)
    paired = compare_conditions("m", PRIORS, after, before, ("after", "before"))[0]
    separate = compare_groups(*(group_parameters("m", PRIORS, part, sweeps=4_000) for part in (after, before)), ("after", "before"))[0]
    assert paired.normal.std() < 0.6 * separate.normal.std()
    assert paired.probability > 0.99
    low, high = np.quantile(paired.normal, [0.0005, 0.9995])
    assert low < 0.35 < high


def test_too_few_draws_are_named():
    """With 60 draws of each, someone far from a narrow group has hardly a draw in it."""
    z = gaussian_people(0.0, 0.1, 40, np.random.default_rng(7), noise=1.0, draws=60)
    z[4] += 1.5
    ours = group_parameters("m", PRIORS, z, participants=[f"p{n}" for n in range(40)], sweeps=2000)
    assert "p4" in ours.few
    assert ours.effective.argmin() == 4


def test_the_same_seed_gives_the_same_draws():
    z = gaussian_people(0.0, 1.0, 10, np.random.default_rng(0), draws=200)
    one, other = (group_parameters("m", PRIORS, z, seed=3, sweeps=500) for _ in range(2))
    assert np.array_equal(one.mu, other.mu)


def test_nobody_has_no_group_parameters():
    with pytest.raises(DataError, match="without draws"):
        group_parameters("m", PRIORS, np.zeros((0, 10, 1)))


def test_draws_of_two_conditions_from_the_same_random_numbers_are_as_good_as_any():
    """Evidences of two conditions are computed with one seed. Draws that go up and down together would hide half of what is unknown.

    People differ by 1.58 = sqrt(2 (1 + 0.5^2)) between conditions, so that the mean of 40 is known to 0.25, a little less by the prior.
    """
    rng, noise = np.random.default_rng(8), np.random.default_rng(9).standard_normal((40, 1000, 1))

    def seen():
        y = 0.5 * rng.standard_normal((40, 1, 1)) + rng.standard_normal((40, 1, 1))
        return 0.5 * y + np.sqrt(0.5) * noise

    difference = compare_conditions("m", PRIORS, seen(), seen(), ("calm", "stress"))[0]
    assert 0.19 < difference.normal.std() < 0.31


def test_who_never_follows_a_model_has_no_parameters_of_it():
    z = gaussian_people(0.5, 0.3, 12, np.random.default_rng(10))
    ours = group_parameters("m", PRIORS, z, log_odds=np.array([*[20.0] * 11, -np.inf]), sweeps=500)
    assert np.isnan(ours.shrunk[:, 11]).all()
    assert np.isfinite(ours.shrunk[:, :11]).all()


def test_members_of_another_model_do_not_count_between_conditions():
    """Ten people who do not change, and ten of another model, of whom it would look so."""
    rng = np.random.default_rng(11)
    calm = np.concatenate([gaussian_people(0.0, 0.2, 10, rng, 0.2), gaussian_people(-1.0, 0.2, 10, rng, 0.2)])
    stress = np.concatenate([gaussian_people(0.0, 0.2, 10, rng, 0.2), gaussian_people(1.0, 0.2, 10, rng, 0.2)])
    odds = np.repeat([8.0, -8.0], 10)
    difference = compare_conditions("m", PRIORS, stress, calm, ("stress", "calm"), log_odds=odds)[0]
    assert difference.normal.mean() == pytest.approx(0.0, abs=0.3)
    assert compare_conditions("m", PRIORS, stress, calm, ("stress", "calm"))[0].normal.mean() > 0.7


@pytest.mark.parametrize("ratio", [1.5, 3.0, 1e-9])
def test_somebody_alone_follows_a_model_as_probably_as_the_evidence_says(ratio):
    evidence = np.log([[ratio, 1.0]])
    for prior in ("1/K each", "one each"):
        odds = log_odds(evidence, random_effects(evidence, "ab", prior=prior), 0)
        assert odds[0] == pytest.approx(np.log(ratio), abs=0.15)


def test_a_group_of_three_against_all_ways_in_which_they_can_follow_models():
    """Prior counts of one half each; 2,000 draws of the frequencies are good to 0.15."""
    evidence = np.log([[2.0, 1.0], [5.0, 1.0], [1.0, 1.0]])
    joint = np.zeros((2, 2, 2))
    for who in np.ndindex(2, 2, 2):
        ones = sum(who)
        joint[who] = beta(3.5 - ones, 0.5 + ones) * np.exp(sum(evidence[n, k] for n, k in enumerate(who)))
    exact = [np.log(np.moveaxis(joint, n, 0)[0].sum() / np.moveaxis(joint, n, 0)[1].sum()) for n in range(3)]
    assert log_odds(evidence, random_effects(evidence, "ab"), 0) == pytest.approx(exact, abs=0.15)
