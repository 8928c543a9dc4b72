"""The unit scale of searches, and designs as networks see them."""

import numpy as np
import pytest
from spaces import SPACES, each_space

import tellapart as ta
from tellapart.tasks.sampling import sample, spread
from tellapart.tasks.scaling import describe, features, from_unit, to_unit
from tellapart.tasks.text import parse_design


@each_space
def test_unit_scale_and_back(space):
    designs = sample(space, 100, np.random.default_rng(2))
    unit = to_unit(space, designs)
    assert unit.min() >= 0
    assert unit.max() <= 1
    np.testing.assert_allclose(from_unit(space, unit), designs, atol=1e-6)


def test_logarithmic_and_whole_numbers():
    space = SPACES["kinds"]
    middle = from_unit(space, np.full(space.shape, 0.5))[0]
    np.testing.assert_allclose(middle, [365**0.5, 10, 1, np.round(1000**0.5)])
    ends = [from_unit(space, np.full(space.shape, end))[0].tolist() for end in (-1.0, 2.0)]
    assert ends == [[1, 0, 0, 1], [pytest.approx(365), 20, 2, 1000]]


@each_space
def test_networks_see_finite_numbers(space):
    seen = describe(space, spread(space, 50, np.random.default_rng(4)))
    assert seen.shape == (50, space.blocks, features(space))
    assert seen.dtype == np.float32
    assert np.abs(seen).max() <= 1


def test_categories_are_one_hot():
    space = SPACES["kinds"]
    seen = describe(space, parse_design(space, "7,3,loss,10; 30,0,gain,1000"))
    np.testing.assert_array_equal(seen[:, 2:5], [[0, 1, 0], [1, 0, 0]])


def test_networks_see_numbers_from_minus_one_to_one_and_categories_one_by_one():
    shades = ta.Variable("shade", categories=("red", "green", "blue"))
    space = ta.DesignSpace(1, [ta.Variable("x", 0, 4), ta.Variable("t", 1, 100, log=True), shades])
    seen = describe(space, np.array([[[0.0, 10.0, 2.0]], [[4.0, 100.0, 0.0]], [[1.0, 1.0, 1.0]]]))
    assert np.allclose(seen[:, 0], [[-1, 0, 0, 0, 1], [1, 1, 1, 0, 0], [-0.5, -1, 0, 1, 0]])
    assert features(space) == seen.shape[-1]
