"""Calibration of the exact posteriors: what is given probability p is right in a share p of the cases."""

import numpy as np
import pytest
from scipy import stats

from tellapart import AEG, GLS, WSLTS, BernoulliBandit, Question
from tellapart.information.exact import log_evidences, log_posterior, model_probabilities
from tellapart.priors import sample_priors

AGENTS = [WSLTS(), AEG(), AEG("released"), GLS(), GLS("released")]
IDS = [f"{agent.name}-{agent.convention}" for agent in AGENTS]
FALSE_ALARM = 1e-4


def worst_bin(probabilities, truth, bins=8):
    """The largest |z| of (number right - sum of probabilities) over bins of probability and models, and its limit.

    The limit gives a false alarm of 1e-4 over all bins. Bins are made of equal variance sum p (1 - p), so that the number
    right is close to normal in each.
    """
    worst, models = 0.0, probabilities.shape[1]
    for m in range(models):
        order = np.argsort(probabilities[:, m])
        p, right = probabilities[order, m], (truth == m)[order]
        spread = np.cumsum(p * (1 - p))
        edges = np.searchsorted(spread, np.linspace(0, spread[-1], bins + 1)[1:-1])
        for part in np.split(np.arange(len(p)), edges):
            worst = max(worst, abs(right[part].sum() - p[part].sum()) / np.sqrt((p[part] * (1 - p[part])).sum()))
    return worst, stats.norm.isf(FALSE_ALARM / 2 / bins / models)


@pytest.fixture(scope="module")
def simulated():
    """Participants of three models at baseline designs, and their log evidence under each."""
    task, question, n = BernoulliBandit(3, 2, 12), Question((WSLTS(), AEG(), GLS())), 6000
    rng = np.random.default_rng(11)
    simulations = question.simulate(task, task.baseline(n, rng), n, rng)
    return task, question, simulations, log_evidences(task, question, simulations.behavior, simulations.designs)


def test_model_posterior_is_calibrated(simulated):
    """z-tests in 8 bins for each of 3 models; false alarm 1e-4."""
    _, question, simulations, evidence = simulated
    worst, limit = worst_bin(np.exp(log_posterior(question, evidence)), simulations.model)
    assert worst < limit


@pytest.mark.parametrize("temperature", [0.6, 1.6])
def test_a_tempered_model_posterior_is_found_out(simulated, temperature):
    _, question, simulations, evidence = simulated
    worst, limit = worst_bin(np.exp(log_posterior(question, evidence / temperature)), simulations.model)
    assert worst > 1.5 * limit


def test_permuted_labels_are_found_out(simulated):
    _, question, simulations, evidence = simulated
    permuted = np.random.default_rng(0).permutation(simulations.model)
    worst, limit = worst_bin(np.exp(log_posterior(question, evidence)), permuted)
    assert worst > 5 * limit


def test_model_probabilities_sum_to_one(simulated):
    task, question, simulations, evidence = simulated
    got = model_probabilities(task, question, simulations.behavior[:50], simulations.designs[:50])
    np.testing.assert_allclose(got.sum(1), 1)
    np.testing.assert_allclose(got, np.exp(log_posterior(question, evidence[:50])), rtol=1e-9)


def test_behavior_that_no_model_can_produce_has_no_posterior():
    question = Question((AEG(), GLS()))
    assert np.isnan(log_posterior(question, np.full((1, 2), -np.inf))).all()
    np.testing.assert_allclose(np.exp(log_posterior(question, np.array([[-np.inf, -5.0]]))), [[0, 1]])


@pytest.mark.parametrize("agent", AGENTS, ids=IDS)
def test_parameter_posteriors_are_calibrated(agent):
    """The posterior probability below the true value is uniform: Kolmogorov-Smirnov, 1,200 participants; false alarm 1e-4."""
    task, rng, n = BernoulliBandit(3, 2, 10), np.random.default_rng(12), 1200
    theta, designs = sample_priors(agent.parameters, n, rng), task.baseline(n, rng)
    posterior = agent.exact_posterior(agent.simulate(theta, designs, rng, task), designs, task)
    for name, values in theta.items():
        np.testing.assert_allclose(posterior.weights[name].sum(1), 1, rtol=1e-9)
        assert stats.kstest(posterior.cdf(name, values), "uniform").pvalue > FALSE_ALARM / len(theta) / len(AGENTS)


@pytest.mark.parametrize("agent", AGENTS[:2], ids=IDS[:2])
def test_a_tempered_parameter_posterior_is_found_out(agent):
    task, rng, n = BernoulliBandit(3, 2, 10), np.random.default_rng(12), 1200
    theta, designs = sample_priors(agent.parameters, n, rng), task.baseline(n, rng)
    posterior = agent.exact_posterior(agent.simulate(theta, designs, rng, task), designs, task)
    name = next(iter(theta))
    sharper = posterior.weights[name] ** 2
    wrong = type(posterior)(posterior.nodes, {name: sharper / sharper.sum(1, keepdims=True)})
    assert stats.kstest(wrong.cdf(name, theta[name]), "uniform").pvalue < 1e-6


def test_posterior_of_stays_is_a_beta_distribution():
    task, rng = BernoulliBandit(2, 2, 20), np.random.default_rng(3)
    agent, designs = WSLTS(), np.full((40, 2, 2), 0.5)
    behavior = agent.simulate(sample_priors(agent.parameters, 40, rng), designs, rng, task)
    stay = behavior.fields["choice"][:, :, 1:] == behavior.fields["choice"][:, :, :-1]
    won = behavior.fields["reward"][:, :, :-1] == 1
    beta = stats.beta((stay & won).sum((1, 2)) + 1, (~stay & won).sum((1, 2)) + 1)
    posterior = agent.exact_posterior(behavior, designs, task)
    np.testing.assert_allclose(posterior.mean("gamma_w"), beta.mean(), atol=1e-9)
    np.testing.assert_allclose(posterior.sd("gamma_w"), beta.std(), atol=1e-9)
    np.testing.assert_allclose(posterior.cdf("gamma_w", np.full(40, 0.4)), beta.cdf(0.4), atol=2e-3)
    np.testing.assert_allclose(posterior.quantile("gamma_w", 0.9), beta.ppf(0.9), atol=2e-3)
