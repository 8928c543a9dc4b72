"""The generic exact reference: quasi-random points against closed forms, grids and sums over all that can happen."""

from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest
from scipy.special import betaln, logsumexp

import tellapart as ta
from tellapart.models.base import HasLikelihood
from tellapart.models.gaussian import HiddenNumber
from tellapart.models.quadrature import exact_posterior, log_evidence, log_likelihoods, prior_points
from tellapart.tasks.gaussian import NoisyReadings

EXAMPLES = Path(__file__).parents[2] / "examples"
SHORT = ta.BernoulliBandit(arms=2, blocks=1, trials=8)


@dataclass(frozen=True)
class Coin(ta.Model):
    """Arm 1 with probability p, and nothing but a likelihood: its evidence is a Beta function."""

    name: ClassVar[str] = "coin"

    @property
    def parameters(self):
        return {"p": ta.Beta(2, 3)}

    def simulate(self, parameters, design, rng, task):
        choice = rng.random((len(parameters["p"]), task.blocks, task.trials)) < parameters["p"][:, None, None]
        return ta.Behavior({"choice": choice.astype(int), "reward": np.zeros(choice.shape, int)})

    def log_likelihood(self, parameters, behavior, design, task):
        p, ones = parameters["p"], behavior.fields["choice"].sum((1, 2))
        return ones * np.log(p) + (behavior.mask.sum((1, 2)) - ones) * np.log1p(-p)


def everything(task):
    """Every possible sequence of a binary field, (2^(B T), B, T)."""
    return np.array(list(product([0, 1], repeat=task.blocks * task.trials))).reshape(-1, task.blocks, task.trials)


def test_a_likelihood_is_all_that_is_needed():
    assert isinstance(Coin(), HasLikelihood)
    choice = everything(SHORT)
    behavior = ta.Behavior({"choice": choice, "reward": np.zeros_like(choice)})
    ones = choice.sum((1, 2))
    known = betaln(2 + ones, 3 + 8 - ones) - betaln(2, 3)
    np.testing.assert_allclose(Coin().log_evidence(behavior, [[0.5, 0.5]], SHORT), known, atol=2e-3)
    posterior = Coin().exact_posterior(behavior, [[0.5, 0.5]], SHORT)
    np.testing.assert_allclose(posterior.mean("p"), (2 + ones) / 13, atol=2e-3)


def test_evidence_agrees_with_the_closed_form_of_a_gaussian():
    task, model = NoisyReadings(blocks=2, trials=3), HiddenNumber()
    design, rng = np.array([[0.7], [1.5]]), np.random.default_rng(1)
    behavior = model.simulate(model.sample_prior(200, rng), design, rng, task)
    error = np.abs(log_evidence(model, behavior, design, task) - model.log_evidence(behavior, design, task))
    assert error.mean() < 1e-3
    assert error.max() < 0.1  # somebody in the far tail of the prior, where points are few
    ours, exact = exact_posterior(model, behavior, design, task), model.exact_posterior(behavior, design, task)
    assert np.abs(ours.mean("theta") - exact.mean("theta")).mean() < 1e-3
    assert np.abs(ours.sd("theta") - exact.sd("theta")).mean() < 1e-3


def test_one_design_for_each_participant():
    task, model, rng = NoisyReadings(), HiddenNumber(), np.random.default_rng(1)
    designs = task.baseline(30, rng)
    behavior = model.simulate(model.sample_prior(30, rng), designs, rng, task)
    np.testing.assert_allclose(log_evidence(model, behavior, designs, task), model.log_evidence(behavior, designs, task), atol=0.03)


@pytest.mark.parametrize(("example", "field"), [("retention", "recalled"), ("discounting", "later")])
def test_probabilities_of_all_that_can_happen_sum_to_one(example, field):
    study = ta.Study.from_file(EXAMPLES / example)
    task = type(study.task)(blocks=2, trials=3)
    behavior = ta.Behavior({field: everything(task)})
    design = task.baseline(1, np.random.default_rng(1))[0]
    for model in study.models:
        theta = {name: np.full(len(behavior), values[0]) for name, values in model.sample_prior(1, np.random.default_rng(2)).items()}
        assert logsumexp(model.log_likelihood(theta, behavior, design, task)) == pytest.approx(0, abs=1e-9)
        assert logsumexp(model.log_evidence(behavior, design, task)) == pytest.approx(0, abs=1e-6)


@pytest.mark.parametrize("example", ["retention", "discounting"])
def test_points_are_enough(example):
    """Twice and half as many points give the same evidence, to well below the noise of an information estimate."""
    study, rng = ta.Study.from_file(EXAMPLES / example), np.random.default_rng(3)
    design = study.task.baseline(1, rng)[0]
    for model in study.models:
        behavior = model.simulate(model.sample_prior(60, rng), np.broadcast_to(design, (60, *design.shape)), rng, study.task)
        few, many = (
            logsumexp(log_likelihoods(model, points, behavior, design, study.task), axis=1) - np.log(len(next(iter(points.values()))))
            for points in (prior_points(model, 4096), prior_points(model, 16384))
        )
        assert np.abs(few - many).mean() < 0.02
        assert abs((few - many).mean()) < 0.005


def test_a_model_without_parameters_has_evidence_too():
    class Fair(Coin):
        name = "fair"
        parameters: ClassVar = {}

        def log_likelihood(self, parameters, behavior, design, task):
            return -np.log(2) * behavior.mask.sum((1, 2))

    behavior = ta.Behavior({"choice": np.zeros((3, 1, 8), int), "reward": np.zeros((3, 1, 8), int)})
    np.testing.assert_allclose(Fair().log_evidence(behavior, [[0.5, 0.5]], SHORT), 8 * np.log(0.5))


def test_without_a_likelihood_the_message_says_what_is_missing():
    study = ta.Study.from_file(EXAMPLES / "accumulation")
    rng = np.random.default_rng(1)
    design = study.task.baseline(1, rng)[0]
    with pytest.raises(ta.ModelError, match="log_likelihood"):
        ta.exact_information(study.task, study.models, "discriminate", design, 10, rng)
