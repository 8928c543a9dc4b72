"""Recovery of parameters against plain arithmetic on a few numbers."""

from types import SimpleNamespace

import numpy as np
import pytest

from tellapart import Categorical, Gamma, Integers, Normal, Uniform
from tellapart.models.base import ExactPosterior
from tellapart.validation.recovery import SHOWN, _correlation, _edges, _exactly, averaged_posteriors, recover

TRUTH = np.array([0.1, 0.9, 0.4, 0.6])
DRAWS = np.array([[0.0, 0.1, 0.2, 0.3], [0.5, 0.6, 0.7, 0.8], [0.2, 0.4, 0.4, 0.6], [0.9, 0.7, 0.8, 0.6]])


def test_numbers_of_a_recovery():
    found = recover("m", "p", Uniform(0, 2), TRUTH, DRAWS)
    means = [0.15, 0.65, 0.4, 0.75]
    assert (found.model, found.parameter, found.n) == ("m", "p", 4)
    assert found.truth == pytest.approx(TRUTH)
    assert found.mean == pytest.approx(means)
    assert found.low == pytest.approx([0.015, 0.515, 0.23, 0.615])
    assert found.high == pytest.approx([0.285, 0.785, 0.57, 0.885])
    assert found.rmse == pytest.approx(np.sqrt((0.05**2 + 0.25**2 + 0 + 0.15**2) / 4))
    assert found.prior_rmse == pytest.approx(np.sqrt((0.4**2 + 0.4**2 + 0.1**2 + 0.1**2) / 4))
    assert found.coverage == 0.5  # the first and the third
    assert found.coverage_se == pytest.approx(np.sqrt(0.25 / 4))
    assert found.correlation == pytest.approx(np.corrcoef(TRUTH, means)[0, 1])
    assert found.rank_correlation == pytest.approx(np.corrcoef([1, 4, 2, 3], [1, 3, 2, 4])[0, 1])
    variances = [np.var(row / 2, ddof=1) for row in DRAWS]  # on the percentiles of the prior
    assert found.contraction == pytest.approx(1 - np.mean(variances) * 12, rel=1e-5)


def test_a_true_value_at_the_end_of_an_interval_is_inside():
    found = recover("m", "p", Uniform(), np.array([0.2, 0.2]), np.full((2, 5), 0.2))
    assert (found.coverage, found.coverage_se) == (1.0, pytest.approx(np.sqrt(1e-12 / 2)))
    assert (found.correlation, found.rank_correlation) == (0.0, 0.0)


def test_some_participants_are_shown_one_by_one():
    found = recover("m", "p", Uniform(), np.linspace(0, 1, 500), np.linspace(0, 1, 500)[:, None] + np.zeros((500, 3)))
    assert [len(part) for part in (found.truth, found.mean, found.low, found.high)] == [SHOWN] * 4
    assert found.n == 500


def test_a_correlation_needs_both_to_vary():
    assert _correlation(np.array([1.0, 2.0, 3.0]), np.array([2.0, 4.0, 5.0])) == pytest.approx(np.corrcoef([1, 2, 3], [2, 4, 5])[0, 1])
    assert _correlation(np.ones(3), np.arange(3.0)) == _correlation(np.arange(3.0), np.ones(3)) == 0.0


@pytest.mark.parametrize(
    ("prior", "edges"),
    [
        (Uniform(-1, 3), [-1, 0, 1, 2, 3]),
        (Categorical((0.2, 0.5, 0.3)), [-0.5, 0.5, 1.5, 2.5]),
        (Integers(2, 4), [1.5, 2.5, 3.5, 4.5]),
        (Normal(), np.linspace(*Normal().quantile([0.005, 0.98]), 5)),
        (Gamma(2.0, 1.0), np.linspace(*Gamma(2.0, 1.0).quantile([0.005, 0.98]), 5)),
    ],
    ids=str,
)
def test_bins_cover_nearly_all_of_a_prior(prior, edges):
    np.testing.assert_allclose(_edges(prior, 4), edges)


def test_exact_posteriors_are_averaged_in_bins():
    """Two people with weights on three nodes; a bin has the weight of the nodes in it, over its width."""
    nodes, weights = np.array([0.1, 0.3, 0.9]), np.array([[0.5, 0.5, 0.0], [0.0, 0.4, 0.6]])
    posterior = ExactPosterior({"p": nodes}, {"p": weights})
    edges = np.array([0.0, 0.5, 2.0])
    density, sd = _exactly(posterior, "p", edges)
    below = [ExactPosterior({"p": nodes}, {"p": weights.mean(0, keepdims=True)}).cdf("p", [edge])[0] for edge in edges]
    assert density == pytest.approx([(below[1] - below[0]) / 0.5, (below[2] - below[1]) / 1.5])
    assert sd == pytest.approx(np.mean([np.sqrt(w @ nodes**2 - (w @ nodes) ** 2) for w in weights]))


class People:
    """Participants of two models; nobody follows the first."""

    draws = ({"q": np.zeros((0, 2))}, {"p": np.array([[0.1, 0.3], [0.3, 0.9]]), "k": np.array([[0.0, 1.0], [1.0, 1.0]])}, {})
    task = None
    question = SimpleNamespace(
        models=[SimpleNamespace(name=name) for name in ("none", "some", "empty")],
        parameters=lambda m: ({"q": Uniform()}, {"p": Uniform(), "k": Categorical((0.25, 0.75))}, {})[m],
    )

    class simulations:
        @staticmethod
        def of(m):
            count = (0, 2, 3)[m]
            truth = {"p": np.full(count, 0.2), "k": np.ones(count)}
            return type("Part", (), {"__len__": lambda self: count, "truth": lambda self, m: truth, "behavior": None, "designs": None})()


def test_averaged_posteriors_are_histograms_of_all_draws():
    probability, level = averaged_posteriors(People(), bins=4)
    assert (probability.model, probability.parameter, probability.truth, probability.n) == ("some", "p", 0.2, 2)
    assert probability.edges == pytest.approx([0, 0.25, 0.5, 0.75, 1])
    assert probability.density == pytest.approx([0.25 * 4, 0.5 * 4, 0, 0.25 * 4])
    assert probability.prior == pytest.approx([1, 1, 1, 1])
    assert probability.sd == pytest.approx((0.2 + 0.6) / np.sqrt(2) / 2)
    assert (probability.exact, probability.exact_sd) == (None, None)
    assert (level.edges, level.truth) == ((-0.5, 0.5, 1.5), 1.0)
    assert level.density == pytest.approx([0.25, 0.75])
    assert level.prior == pytest.approx([0.25, 0.75])
