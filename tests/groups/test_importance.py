"""Importance sampling in rounds, against integrals on a grid and in closed form, where the prior alone finds next to nothing."""

from types import SimpleNamespace

import numpy as np
import pytest
from scipy.special import logsumexp
from scipy.stats import multivariate_normal

import tellapart as ta
from tellapart.groups.evidence import likelihood_evidence
from tellapart.groups.importance import Weighted, sharpened
from tellapart.parts import find_part


def gaussian(people, size, seed):
    """Likelihoods of people whose posterior is a thousand times smaller than the prior or more: how many parameters there
    are, how to score draws, and log p(y), (N,)."""
    rng = np.random.default_rng(seed)
    centres = 0.7 * rng.standard_normal((people, size))
    roots = 0.07 * (np.eye(size) + 0.5 * rng.standard_normal((people, size, size)))
    noise = [root @ root.T + 1e-4 * np.eye(size) for root in roots]

    def score(who, z):
        return np.stack([multivariate_normal.logpdf(z[i], centres[n], noise[n]).reshape(-1) for i, n in enumerate(who)])

    exact = [multivariate_normal.logpdf(c, np.zeros(size), s + np.eye(size)) for c, s in zip(centres, noise, strict=True)]
    return size, score, np.array(exact)


def two_peaks(people, seed):
    """The same for likelihoods with two narrow peaks, far apart, of which one holds a third."""
    rng = np.random.default_rng(seed)
    centres = np.array([[-1.0, 0.5], [1.2, -0.3]]) + 0.3 * rng.standard_normal((people, 2, 2))
    weights = np.log([1 / 3, 2 / 3])

    def score(who, z):
        apart = ((z[:, :, None] - centres[who][:, None]) ** 2).sum(-1)
        return logsumexp(weights - 0.5 * apart / 0.1**2 - np.log(2 * np.pi * 0.1**2), axis=-1)

    spread = 1 + 0.1**2
    return 2, score, logsumexp(weights - 0.5 * (centres**2).sum(-1) / spread - np.log(2 * np.pi * spread), axis=-1)


@pytest.mark.parametrize("problem", [gaussian(60, 2, 1), gaussian(60, 4, 2), two_peaks(60, 3)], ids=["2", "4", "two peaks"])
def test_the_stated_error_is_the_error(problem):
    """Over 60 people the average square of error over stated error is 1, within 5 standard errors of sqrt(2 / 60) each."""
    size, score, exact = problem
    rng = np.random.default_rng(5)
    z = rng.standard_normal((60, 2000, size))
    first = Weighted(z, score(np.arange(60), z))
    better = sharpened(first, score, rng)
    assert np.median(first.se) > 0.1
    assert better.se.max() < 0.1
    assert (((better.log_evidence - exact) / better.se) ** 2).mean() < 1 + 5 * np.sqrt(2 / 60)
    assert np.abs(better.log_evidence - exact).max() < 0.3


def test_draws_are_from_the_posterior():
    """Of both peaks, as often as they should be: within 5 standard errors, at least 400 of 2,000 draws counting."""
    _, score, _ = two_peaks(1, 3)
    rng = np.random.default_rng(0)
    z = rng.standard_normal((1, 2000, 2))
    draws = sharpened(Weighted(z, score(np.arange(1), z)), score, rng).resampled(rng)[0]
    grid = np.stack(np.meshgrid(*[np.linspace(-4, 4, 801)] * 2), axis=-1).reshape(1, -1, 2)
    density = np.exp(score(np.arange(1), grid)[0] - 0.5 * (grid[0] ** 2).sum(-1))
    share = density[grid[0, :, 0] < 0].sum() / density.sum()
    assert abs((draws[:, 0] < 0).mean() - share) < 5 * np.sqrt(share * (1 - share) / 400)


def test_people_whom_the_first_draws_tell_enough_of_are_left_as_they_are():
    rng = np.random.default_rng(0)
    z = rng.standard_normal((3, 1000, 1))
    first = Weighted(z, np.stack([np.zeros(1000), np.full(1000, -np.inf), -0.5 * ((z[2, :, 0] - 1) / 0.001) ** 2]))
    better = sharpened(first, lambda who, z: -0.5 * ((z[..., 0] - 1) / 0.001) ** 2, rng)
    np.testing.assert_array_equal(better.z[:2], first.z[:2])
    np.testing.assert_array_equal(better.log_weights[:2], first.log_weights[:2])
    assert first.se[2] > 0.5
    assert better.se[2] < 0.1


@pytest.mark.parametrize("name", ["q-learning", "choice-kernel"])
def test_evidence_of_people_with_hundreds_of_trials_in_a_study_about_models(name):
    """Against an integral on a grid, which one of 91 points confirms to 0.001. Ten people: fails once in 10^5 times."""
    task, design = ta.BernoulliBandit(3, 2, 100), np.array([[0.2, 0.5, 0.8], [0.7, 0.4, 0.3]])
    model, where = find_part("model", name)(), np.broadcast_to(design, (10, 2, 3))
    people = ta.simulate_models(task, [model], design, 10, np.random.default_rng(7)).behavior
    study = SimpleNamespace(question=ta.Question((model, ta.AEG()), "discriminate"), task=task)
    study.quick = study
    ours = likelihood_evidence(study, people, where, draws=1000)
    points, step = np.linspace(-4.5, 4.5, 51, retstep=True)
    z = np.stack(np.meshgrid(points, points), axis=-1).reshape(-1, 2)
    theta = {name: prior.from_normal(z[:, p]) for p, (name, prior) in enumerate(model.parameters.items())}
    log_prior = -0.5 * (z**2).sum(1) - np.log(2 * np.pi) + 2 * np.log(step)
    each = [np.full(len(z), n) for n in range(10)]
    exact = np.array([logsumexp(model.log_likelihood(theta, people[who], where[who], task) + log_prior) for who in each])
    apart = (ours.log_evidence[:, 0] - exact) / ours.se[:, 0]
    assert ours.se.max() < 0.06
    assert np.abs(apart).max() < 5
    assert (apart**2).mean() < 1 + 5 * np.sqrt(2 / 10)
