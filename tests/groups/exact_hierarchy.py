"""The hierarchical posterior of AEG by another way: likelihoods on a grid, hyperparameters by importance sampling, no individual draws."""

import numpy as np
from scipy.special import ndtr
from scipy.stats import multivariate_t

from tellapart import AEG, BernoulliBandit

TASK = BernoulliBandit(arms=3, blocks=2, trials=30)
GRID = np.linspace(-4.6, 4.6, 93)


def simulate_group(people, mu, sigma, seed):
    """AEG people whose parameters on the normal scale are N(mu, sigma); their behavior and z, (N, 2)."""
    rng = np.random.default_rng(seed)
    z = np.asarray(mu) + np.asarray(sigma) * rng.standard_normal((people, 2))
    theta = ndtr(z)
    designs = TASK.baseline(people, rng)
    return AEG().simulate({"epsilon": theta[:, 0], "phi": theta[:, 1]}, designs, rng, TASK), z


def likelihoods(behavior):
    """p(y | z), up to a factor for each person, on the grid, (N, G, G)."""
    theta, people = ndtr(GRID), np.arange(len(behavior))
    log_p = np.empty((len(people), len(GRID), len(GRID)))
    for g, epsilon in enumerate(theta):
        everybody = np.repeat(people, len(theta))
        parameters = {"epsilon": np.full(len(everybody), epsilon), "phi": np.tile(theta, len(people))}
        designs = np.zeros((len(everybody), *TASK.design_space.shape))
        log_p[:, g] = AEG().log_likelihood(parameters, behavior[everybody], designs, TASK).reshape(len(people), -1)
    return np.exp(log_p - log_p.max((1, 2), keepdims=True))


def individual_draws(likelihood, draws, rng):
    """Exact draws of z from each person's posterior under the prior N(0, 1), jittered within a cell of the grid, (N, draws, 2)."""
    width, step = len(GRID), GRID[1] - GRID[0]
    prior = np.exp(-0.5 * GRID**2)
    weights = (likelihood * prior[:, None] * prior).reshape(len(likelihood), -1)
    z = np.empty((len(likelihood), draws, 2))
    for n, row in enumerate(weights):
        chosen = rng.choice(row.size, draws, p=row / row.sum())
        z[n] = GRID[np.stack(np.divmod(chosen, width), -1)] + step * (rng.random((draws, 2)) - 0.5)
    return z


def log_hyperposterior(likelihood, h):
    """log p(y, mu, log sigma) at hyperparameters (S, 4): mu of both, then log sigma of both."""
    mu, sigma = h[:, :2], np.exp(h[:, 2:])
    first, second = (np.exp(-0.5 * ((GRID - mu[:, p, None]) / sigma[:, p, None]) ** 2) / sigma[:, p, None] for p in (0, 1))
    total = np.zeros(len(h))
    for person in likelihood:
        total += np.log(np.maximum(((first @ person) * second).sum(1), 1e-300))
    return total - 0.5 * (mu**2).sum(1) + (h[:, 2:] - 0.5 * sigma**2).sum(1)


def hyperposterior(likelihood, seed, n=30_000):
    """Weighted draws: mu and sigma (S, 4), and weights (S,)."""
    rng = np.random.default_rng(seed)
    centre, spread = np.array([0.0, 0.0, -0.3, -0.3]), np.diag([0.3, 0.3, 0.3, 0.3]) ** 2
    for size in (2_000, 2_000, 4_000, n):
        proposal = multivariate_t(centre, spread, df=6)
        h = proposal.rvs(size, random_state=rng)
        log_w = log_hyperposterior(likelihood, h) - proposal.logpdf(h)
        w = np.exp(log_w - log_w.max())
        w /= w.sum()
        tempered = w if 1 / (w**2).sum() > 100 else w**0.3 / (w**0.3).sum()
        centre = tempered @ h
        spread = (h - centre).T @ ((h - centre) * tempered[:, None]) * 1.3 + 1e-4 * np.eye(4)
    assert 1 / (w**2).sum() > 0.2 * n
    return np.concatenate([h[:, :2], np.exp(h[:, 2:])], axis=1), w
