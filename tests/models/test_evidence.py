"""Evidence of models that only know their likelihood: the points, the parts in which they are asked for, and what is no number."""

from dataclasses import dataclass

import numpy as np
import pytest
from scipy.special import logsumexp

import tellapart as ta
from tellapart.models import evidence
from tellapart.models.evidence import exact_posterior, have_likelihoods, log_evidence, log_likelihoods, prior_points, require_likelihoods
from tellapart.models.hidden_number import HiddenNumber
from tellapart.tasks.readings import NoisyReadings

TASK, DESIGNS = NoisyReadings(1, 2), np.array([[[1.0]], [[0.5]], [[2.0]]])
BEHAVIOR = ta.Behavior({"reading": np.array([[[0.3, 1.0]], [[-1.0, 0.2]], [[2.0, 1.5]]])})
ASKED = []


@dataclass(frozen=True)
class Sum(ta.LikelihoodModel):
    """The sum of two hidden numbers is read; no number at all if the second is above a limit."""

    limit: float = np.inf
    name = "sum"
    parameters = {"a": ta.Normal(), "b": ta.Normal()}  # noqa: RUF012

    def simulate(self, parameters, designs, rng, task):
        raise AssertionError

    def log_likelihood(self, parameters, behavior, designs, task):
        ASKED.append(len(behavior))
        log_p = HiddenNumber().log_likelihood({"theta": parameters["a"] + parameters["b"]}, behavior, designs, task)
        return np.where(parameters["b"] > self.limit, np.nan, log_p)


def plain(n, a, b):
    readings, signal = BEHAVIOR.fields["reading"][n, 0], DESIGNS[n, 0, 0]
    return sum(-0.5 * (reading - signal * (a + b)) ** 2 - 0.5 * np.log(2 * np.pi) for reading in readings)


@pytest.mark.parametrize("together", [1, 7, 12, 20_000])
def test_likelihoods_of_all_pairs_in_parts(monkeypatch, together):
    monkeypatch.setattr(evidence, "TOGETHER", together)
    ASKED.clear()
    a, b = np.array([[0.1, 0.2, 0.3, 0.4, 0.5]]), np.array([[1.0], [2.0], [3.0]])
    found = log_likelihoods(Sum(), {"a": a, "b": b}, BEHAVIOR, DESIGNS, TASK)
    np.testing.assert_allclose(found, [[plain(n, a[0, j], b[n, 0]) for j in range(5)] for n in range(3)])
    assert max(ASKED) <= max(3, together)
    assert sum(ASKED) == 15
    assert len(ASKED) == {1: 5, 7: 3, 12: 2, 20_000: 1}[together]


def test_what_is_no_number_is_told_with_the_parameters():
    with pytest.raises(ta.ModelError, match="is no number") as error:
        log_likelihoods(Sum(1.0), {"a": np.array([[0.1, 0.2]]), "b": np.array([[0.5, 1.5]])}, BEHAVIOR, DESIGNS, TASK)
    assert "nan at {'a': 0.2, 'b': 1.5}" in str(error.value)


def test_evidence_is_the_average_over_points_of_the_prior():
    points = prior_points(Sum(), ("a", "b"))
    assert [len(values) for values in points.values()] == [2**13] * 2
    table = log_likelihoods(Sum(), points, BEHAVIOR, DESIGNS, TASK)
    np.testing.assert_allclose(log_evidence(Sum(), BEHAVIOR, DESIGNS, TASK), logsumexp(table, axis=1) - np.log(2**13))
    for n in range(3):  # y ~ N(0, 1 + 2 d^2 for the common part)
        covariance = np.eye(2) + 2 * DESIGNS[n, 0, 0] ** 2
        y = BEHAVIOR.fields["reading"][n, 0]
        exact = -0.5 * y @ np.linalg.solve(covariance, y) - 0.5 * np.log(np.linalg.det(covariance)) - np.log(2 * np.pi)
        assert log_evidence(Sum(), BEHAVIOR, DESIGNS, TASK)[n] == pytest.approx(exact, abs=0.01)
    posterior = exact_posterior(Sum(), BEHAVIOR, DESIGNS, TASK)
    np.testing.assert_allclose(posterior.weights["a"], np.exp(table - logsumexp(table, axis=1, keepdims=True)))
    np.testing.assert_array_equal(posterior.nodes["b"], points["b"])


def test_parameters_that_are_given_are_not_averaged_over():
    b = np.array([0.2, -0.1, 0.5])
    one = prior_points(Sum(), ("a",))["a"]
    assert len(one) == 2**12
    expected = [logsumexp([plain(n, a, b[n]) for a in one]) - np.log(2**12) for n in range(3)]
    np.testing.assert_allclose(log_evidence(Sum(), BEHAVIOR, DESIGNS, TASK, {"b": b}), expected)
    both = log_evidence(Sum(), BEHAVIOR, DESIGNS, TASK, {"b": b, "a": b})
    np.testing.assert_allclose(both, [plain(n, b[n], b[n]) for n in range(3)])
    np.testing.assert_array_equal(
        log_evidence(HiddenNumber(), BEHAVIOR, DESIGNS, TASK), HiddenNumber().log_evidence(BEHAVIOR, DESIGNS, TASK)
    )
    assert prior_points(Sum(), ()) == {}


def test_models_without_likelihoods_are_named():
    @ta.model(name="riddle", parameters={}, vectorised=True)
    def riddle(parameters, designs, rng, task):
        raise AssertionError

    assert have_likelihoods([Sum(), HiddenNumber()])
    assert not have_likelihoods([Sum(), riddle()])
    assert require_likelihoods([Sum()]) == [Sum()]
    with pytest.raises(ta.ModelError, match="'riddle' has no likelihood"):
        require_likelihoods([Sum(), riddle()])
