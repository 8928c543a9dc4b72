"""The generic exact reference: quasi-random points against closed forms, grids and sums over all that can happen."""

from dataclasses import dataclass
from functools import partial
from itertools import product
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest
from scipy.special import betaln, logsumexp
from scipy.stats import qmc

import tellapart as ta
from tellapart.models.evidence import exact_posterior, log_evidence
from tellapart.models.hidden_number import HiddenNumber
from tellapart.priors import quantiles, sample_priors
from tellapart.tasks.readings import NoisyReadings

EXAMPLES = Path(__file__).parents[2] / "examples"
SHORT = ta.BernoulliBandit(arms=2, blocks=1, trials=8)


@dataclass(frozen=True)
class Coin(ta.LikelihoodModel):
    """Arm 1 with probability p, and nothing but a likelihood: its evidence is a Beta function."""

    name: ClassVar[str] = "coin"

    @property
    def parameters(self):
        return {"p": ta.Beta(2, 3)}

    def simulate(self, parameters, designs, rng, task):
        choice = rng.random((len(parameters["p"]), task.blocks, task.trials)) < parameters["p"][:, None, None]
        return ta.Behavior({"choice": choice.astype(int), "reward": np.zeros(choice.shape, int)})

    def log_likelihood(self, parameters, behavior, designs, task):
        p, ones = parameters["p"], behavior.fields["choice"].sum((1, 2))
        return ones * np.log(p) + (behavior.mask.sum((1, 2)) - ones) * np.log1p(-p)


def everything(task):
    """Every possible sequence of a binary field, (2^(B T), B, T)."""
    return np.array(list(product([0, 1], repeat=task.blocks * task.trials))).reshape(-1, task.blocks, task.trials)


def fair(n):
    return np.full((n, 1, 2), 0.5)


class ByPoints(ta.LikelihoodModel):
    """The hidden number with nothing but its likelihood: what points make of a model whose evidence has a closed form."""

    name: ClassVar[str] = "by-points"
    parameters: ClassVar = HiddenNumber().parameters

    def simulate(self, parameters, designs, rng, task):
        return HiddenNumber().simulate(parameters, designs, rng, task)

    def log_likelihood(self, parameters, behavior, designs, task):
        return HiddenNumber().log_likelihood(parameters, behavior, designs, task)


def test_a_likelihood_is_all_that_is_needed():
    choice = everything(SHORT)
    behavior = ta.Behavior({"choice": choice, "reward": np.zeros_like(choice)})
    ones = choice.sum((1, 2))
    expected = betaln(2 + ones, 3 + 8 - ones) - betaln(2, 3)
    np.testing.assert_allclose(log_evidence(Coin(), behavior, fair(len(choice)), SHORT), expected, atol=2e-3)
    posterior = exact_posterior(Coin(), behavior, fair(len(choice)), SHORT)
    np.testing.assert_allclose(posterior.mean("p"), (2 + ones) / 13, atol=2e-3)


def test_evidence_agrees_with_the_closed_form_of_a_gaussian():
    task, model = NoisyReadings(blocks=2, trials=3), HiddenNumber()
    designs, rng = np.tile([[0.7], [1.5]], (200, 1, 1)), np.random.default_rng(1)
    behavior = model.simulate(sample_priors(model.parameters, 200, rng), designs, rng, task)
    error = np.abs(log_evidence(ByPoints(), behavior, designs, task) - model.log_evidence(behavior, designs, task))
    assert error.mean() < 1e-3
    assert error.max() < 0.1  # somebody in the far tail of the prior, where points are few
    ours, exact = exact_posterior(ByPoints(), behavior, designs, task), model.exact_posterior(behavior, designs, task)
    assert np.abs(ours.mean("theta") - exact.mean("theta")).mean() < 1e-3
    assert np.abs(ours.sd("theta") - exact.sd("theta")).mean() < 1e-3


def test_one_design_for_each_participant():
    task, model, rng = NoisyReadings(), HiddenNumber(), np.random.default_rng(1)
    designs = task.baseline(30, rng)
    behavior = model.simulate(sample_priors(model.parameters, 30, rng), designs, rng, task)
    points = log_evidence(ByPoints(), behavior, designs, task)
    np.testing.assert_allclose(points, model.log_evidence(behavior, designs, task), atol=0.03)


@pytest.mark.parametrize(("example", "field"), [("retention", "recalled"), ("discounting", "later")])
def test_probabilities_of_all_that_can_happen_sum_to_one(example, field):
    study = ta.Study.from_file(EXAMPLES / example)
    task = type(study.task)(blocks=2, trials=3)
    behavior = ta.Behavior({field: everything(task)})
    designs = np.repeat(task.baseline(1, np.random.default_rng(1)), len(behavior), axis=0)
    for model in study.models:
        drawn = sample_priors(model.parameters, 1, np.random.default_rng(2))
        theta = {name: np.full(len(behavior), values[0]) for name, values in drawn.items()}
        assert logsumexp(model.log_likelihood(theta, behavior, designs, task)) == pytest.approx(0, abs=1e-9)
        assert logsumexp(log_evidence(model, behavior, designs, task)) == pytest.approx(0, abs=1e-6)


def points_of(power, model, names):
    """2^power points of the prior, as `prior_points` makes them."""
    unit = qmc.Sobol(len(names), rng=np.random.default_rng(0)).random_base2(power)
    return quantiles({name: model.parameters[name] for name in names}, unit)


@pytest.mark.parametrize("example", ["retention", "discounting"])
def test_points_are_enough(example, monkeypatch):
    """Twice and half as many points give the same evidence, to well below the noise of an information estimate."""
    study, rng = ta.Study.from_file(EXAMPLES / example), np.random.default_rng(3)
    designs = np.repeat(study.task.baseline(1, rng), 20, axis=0)
    for model in study.models:
        behavior = model.simulate(sample_priors(model.parameters, 20, rng), designs, rng, study.task)
        evidence = []
        for power in (12, 14):
            monkeypatch.setattr("tellapart.models.evidence.prior_points", partial(points_of, power))
            evidence.append(log_evidence(model, behavior, designs, study.task))
        few, many = evidence
        assert np.abs(few - many).mean() < 0.02
        assert abs((few - many).mean()) < 0.005


def test_a_model_without_parameters_has_evidence_too():
    class Fair(Coin):
        name = "fair"
        parameters: ClassVar = {}

        def log_likelihood(self, parameters, behavior, designs, task):
            return -np.log(2) * behavior.mask.sum((1, 2))

    behavior = ta.Behavior({"choice": np.zeros((3, 1, 8), int), "reward": np.zeros((3, 1, 8), int)})
    np.testing.assert_allclose(log_evidence(Fair(), behavior, fair(3), SHORT), 8 * np.log(0.5))


def test_without_a_likelihood_the_message_says_what_is_missing():
    study = ta.Study.from_file(EXAMPLES / "accumulation")
    rng = np.random.default_rng(1)
    design = study.task.baseline(1, rng)[0]
    with pytest.raises(ta.ModelError, match="log_likelihood"):
        ta.exact_information(study, design, 10, rng)
