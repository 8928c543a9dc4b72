"""A task whose design acts on behavior directly and whose every answer is known: noisy readings of a hidden number."""

import numpy as np
import torch

from tellapart.estimators.base import Goal
from tellapart.journal import Journal
from tellapart.models.gaussian import HiddenNumber
from tellapart.models.simulation import simulate_models
from tellapart.search.amortized import Amortized
from tellapart.tasks.gaussian import NoisyReadings

TASK, MODEL = NoisyReadings(), HiddenNumber()
SETTINGS = {"steps": 500, "batch": 384, "unfinished": 0.0, "survey": 16, "survey_simulations": 100}
SETTINGS |= {"finalists": 2, "finalist_simulations": 1000, "baselines": 2, "baseline_simulations": 100}


def missing(estimator, design, n=4000):
    """The average of log p(theta | y) - log q(theta | y): what the estimate lacks, with no noise but that of the difference."""
    simulations = simulate_models(TASK, [MODEL], design, n, np.random.default_rng(1))
    theta = simulations.parameters["hidden-number.theta"]
    mean, variance = MODEL.posterior_moments(simulations.behavior, design, TASK)
    truth = 0.5 * theta**2 - 0.5 * np.square(theta - mean) / variance - 0.5 * np.log(variance)
    with torch.no_grad():
        bound = estimator.bound(estimator.prepare(simulations, design)).double().numpy()
    return float((truth - bound).mean())


def test_within_two_percent_of_the_analytic_information_and_at_the_analytic_optimum(tmp_path):
    found = Amortized(**SETTINGS).find(Goal("estimate", TASK, (MODEL,)), 1, Journal(tmp_path))
    for signal in (0.2, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0):
        design = np.array([[signal]])
        known = MODEL.information(design, TASK)
        assert abs(missing(found.estimator, design)) < 0.02 * known + 0.002, signal
    best = MODEL.information([[3.0]], TASK)
    assert MODEL.information(found.design, TASK) > 0.98 * best
    assert found.information.nats < best + 4 * found.information.se
