"""Designs that are drawn: always feasible, everywhere, and with the right frequencies."""

import numpy as np
import pytest
from spaces import SPACES, each_space

from tellapart.search.surrogate import initial_designs
from tellapart.tasks.sampling import near, sample, spread
from tellapart.tasks.scaling import to_unit


@each_space
def test_all_that_is_proposed_is_feasible(space):
    rng = np.random.default_rng(1)
    drawn = sample(space, 200, rng)
    for designs in (drawn, spread(space, 300, rng), near(space, drawn, 0.1, rng), initial_designs(space, 50, 1)):
        space.check_many(designs, len(designs))
        np.testing.assert_allclose(space.repair(designs), designs, atol=1e-6)


@pytest.mark.parametrize("draw", [sample, spread])
def test_same_seed_same_bytes(draw):
    one, same, other = (draw(SPACES["kinds"], 10, np.random.default_rng(seed)).tobytes() for seed in (1, 1, 2))
    assert one == same != other


def test_levels_are_equally_probable():
    designs = sample(SPACES["kinds"], 6000, np.random.default_rng(5))
    counts = np.bincount(designs[..., 1].astype(int).ravel(), minlength=21)
    assert counts.min() > 0.8 * counts.mean()
    shares = np.bincount(designs[..., 2].astype(int).ravel()) / designs[..., 2].size
    np.testing.assert_allclose(shares, 1 / 3, atol=0.03)
    assert np.median(designs[..., 0]) == pytest.approx(365**0.5, rel=0.1)


def test_spread_reaches_corners_edges_and_designs_with_equal_values():
    space = SPACES["arms"]
    designs = spread(space, 3000, np.random.default_rng(1))
    at_edge = ((designs == 0) | (designs == 1)).mean((1, 2))
    assert (at_edge == 1).mean() > 0.03
    assert (at_edge == 0).mean() > 0.3
    assert (np.ptp(designs, axis=2) == 0).all(1).mean() > 0.05
    assert (np.ptp(designs, axis=1) == 0).all(1).mean() > 0.05


def test_near_is_near():
    space, rng = SPACES["kinds"], np.random.default_rng(1)
    centres = sample(space, 400, rng)
    moved = np.abs(to_unit(space, near(space, centres, 0.02, rng)) - to_unit(space, centres))[..., 0]
    assert 0.01 < moved.mean() < 0.03
    np.testing.assert_allclose(near(space, centres, 0.0, rng), centres)
