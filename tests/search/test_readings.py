"""A task whose design acts on behavior directly and whose every answer is known: noisy readings of a hidden number."""

import numpy as np
import torch
from small import Narrow, OneSpline

import tellapart as ta
from tellapart.journal import Journal
from tellapart.models.hidden_number import HiddenNumber
from tellapart.tasks.readings import NoisyReadings

TASK, MODEL = NoisyReadings(), HiddenNumber()
SEARCH = ta.Amortized(
    estimator=OneSpline,
    encoder=Narrow,
    steps=240,
    learning_rate=0.02,
    batch=768,
    unfinished=0.0,
    survey=16,
    survey_simulations=100,
    finalists=2,
    finalist_simulations=1000,
    baselines=2,
    baseline_simulations=100,
)
STUDY = ta.Study(TASK, MODEL, "estimate", search=SEARCH)


def missing(estimator, design, n=4000):
    """The average of log p(theta | y) - log q(theta | y): what the estimate lacks, with no noise but that of the difference."""
    simulations = STUDY.question.simulate(TASK, design, n, np.random.default_rng(1))
    theta = simulations.parameters["hidden-number.theta"]
    mean, variance = MODEL.posterior_moments(simulations.behavior, simulations.designs, TASK)
    truth = 0.5 * theta**2 - 0.5 * np.square(theta - mean) / variance - 0.5 * np.log(variance)
    with torch.no_grad():
        bound = estimator.bound(estimator.prepare(simulations)).double().numpy()
    return float((truth - bound).mean())


def test_within_two_percent_of_the_analytic_information_and_at_the_analytic_optimum(tmp_path):
    found = SEARCH.find(ta.Job(TASK, STUDY.question, 1, Journal(tmp_path)))
    for signal in (0.2, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0):
        design = np.array([[signal]])
        analytic = MODEL.information(design, TASK)
        assert abs(missing(found.estimator, design)) < 0.02 * analytic + 0.002, signal
    best = MODEL.information([[3.0]], TASK)
    assert MODEL.information(found.design, TASK) > 0.98 * best
    assert found.information.nats < best + 4 * found.information.se
