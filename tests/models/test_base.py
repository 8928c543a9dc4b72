"""Parameters that are given to a model, and exact posteriors as weighted nodes, by hand."""

import numpy as np
import pytest

import tellapart as ta
from tellapart.models.base import ExactPosterior

NODES = np.array([3.0, 1.0, 2.0])
WEIGHTS = np.array([[0.2, 0.5, 0.3], [0.0, 0.0, 1.0]])
POSTERIOR = ExactPosterior({"p": NODES}, {"p": WEIGHTS})


def test_moments_of_weighted_nodes():
    np.testing.assert_allclose(POSTERIOR.mean("p"), [0.6 + 0.5 + 0.6, 2.0])
    np.testing.assert_allclose(POSTERIOR.sd("p"), [np.sqrt(0.2 * 9 + 0.5 + 0.3 * 4 - 1.7**2), 0.0])


def test_the_probability_below_a_value_counts_half_of_a_node():
    """0.25 below 1, 0.65 below 2, 0.9 below 3; a straight line between them, 0 and 1 outside."""
    for value, expected in ((0.9, 0.0), (1.0, 0.25), (1.5, 0.45), (2.0, 0.65), (3.0, 0.9), (3.1, 1.0)):
        assert POSTERIOR.cdf("p", [value, 2.0])[0] == pytest.approx(expected)
    assert POSTERIOR.cdf("p", [1.0, 2.0])[1] == pytest.approx(0.5)
    np.testing.assert_allclose(POSTERIOR.quantile("p", 0.45), [1.5, 1.9])


def test_parameters_are_arrays_of_one_length():
    given = ta.AEG().check_parameters({"phi": 0.5, "epsilon": [0.1]})
    assert {name: values.tolist() for name, values in given.items()} == {"epsilon": [0.1], "phi": [0.5]}
    for wrong in ({"phi": [0.1, 0.2], "epsilon": [0.1]}, {"phi": [[0.1]], "epsilon": [[0.1]]}):
        with pytest.raises(ta.ModelError, match="arrays of one length"):
            ta.AEG().check_parameters(wrong)
    for wrong in ({"phi": 0.5}, {"phi": 0.5, "epsilon": 0.5, "more": 1.0}, {"phi": 0.5, "eps": 0.5}):
        with pytest.raises(ta.ModelError, match="not the ones given"):
            ta.AEG().check_parameters(wrong)


def test_parameters_have_independent_priors():
    with pytest.raises(ta.ModelError, match="draws its parameters itself"):

        class Own(ta.AEG):
            def sample_prior(self, n, rng):
                return {}
