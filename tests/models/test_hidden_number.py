"""A hidden number against the normal distributions of scipy, and at a task that is not its own."""

import numpy as np
import pytest
from scipy import stats

import tellapart as ta
from tellapart.models.hidden_number import HiddenNumber
from tellapart.tasks.readings import NoisyReadings
from tellapart.testing import check_model

TASK = NoisyReadings(2, 3)
DESIGNS = np.array([[[0.5], [2.0]], [[1.0], [0.0]], [[3.0], [1.5]]])
MASK = np.array([[[1, 1, 1], [1, 1, 1]], [[1, 1, 0], [1, 1, 1]], [[0, 0, 0], [1, 0, 0]]], bool)
THETA = np.array([0.4, -1.3, 2.0])
READINGS = np.random.default_rng(0).standard_normal((3, 2, 3)) + DESIGNS * THETA[:, None, None]
BEHAVIOR = ta.Behavior({"reading": READINGS}, MASK)


def recorded(n):
    """Signals and readings of the trials that one participant was seen in."""
    signal = np.broadcast_to(DESIGNS[n], (2, 3))[MASK[n]]
    return signal, READINGS[n][MASK[n]]


def test_likelihood_evidence_and_posterior_are_those_of_normal_distributions():
    model = HiddenNumber()
    likelihood = model.log_likelihood({"theta": THETA}, BEHAVIOR, DESIGNS, TASK)
    evidence = model.log_evidence(BEHAVIOR, DESIGNS, TASK)
    mean, variance = model.posterior_moments(BEHAVIOR, DESIGNS, TASK)
    exact = model.exact_posterior(BEHAVIOR, DESIGNS, TASK)
    for n in range(3):
        signal, readings = recorded(n)
        assert likelihood[n] == pytest.approx(stats.norm(signal * THETA[n]).logpdf(readings).sum())
        covariance = np.eye(len(signal)) + np.outer(signal, signal)
        assert evidence[n] == pytest.approx(stats.multivariate_normal(np.zeros(len(signal)), covariance).logpdf(readings))
        gain = np.linalg.solve(covariance, signal)  # by the covariance of readings and theta, not by precisions
        assert (mean[n], variance[n]) == (pytest.approx(gain @ readings), pytest.approx(1 - gain @ signal))
        nodes, weights = exact.nodes["theta"], exact.weights["theta"][n]
        assert (nodes @ weights, weights.sum()) == (pytest.approx(mean[n], abs=1e-6), pytest.approx(1))
        assert (nodes - mean[n]) ** 2 @ weights == pytest.approx(variance[n], rel=1e-6)


def test_information_is_the_log_of_how_much_narrower_the_posterior_is():
    assert HiddenNumber.information([[0.5], [2.0]], TASK) == pytest.approx(0.5 * np.log(1 + 3 * (0.25 + 4)))


def test_simulations_are_readings_with_unit_noise():
    """Of 40,000 readings; within 4.5 standard errors, a false alarm in 1 of 30,000 runs."""
    task, design = NoisyReadings(2, 10), np.array([[0.5], [2.0]])
    theta = np.tile([1.5, -0.5], 1000)
    readings = (
        HiddenNumber().simulate({"theta": theta}, np.broadcast_to(design, (2000, 2, 1)), np.random.default_rng(2), task).fields["reading"]
    )
    noise = readings - design * theta[:, None, None]
    assert abs(noise.mean((0, 2))).max() < 4.5 / np.sqrt(20_000)
    assert abs(noise.std() - 1) < 4.5 / np.sqrt(80_000)


def test_another_task_is_refused_by_name():
    with pytest.raises(ta.ModelError, match="the task 'noisy-readings' only"):
        check_model(HiddenNumber(), ta.BernoulliBandit(2, 2, 4))
