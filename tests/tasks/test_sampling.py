"""Designs that are drawn: always feasible, everywhere, and with the right frequencies."""

from types import SimpleNamespace

import numpy as np
import pytest
from spaces import SPACES, each_space

from tellapart import DesignSpace, Field, Symmetry, Variable
from tellapart.search.surrogate import initial_designs
from tellapart.tasks.sampling import any_behavior, near, sample, spread
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


@pytest.mark.parametrize("alike", [False, True])
def test_spread_has_the_shares_that_it_promises(alike):
    """Uniform, at edges, alike: thirds; of what is alike, half the blocks and half the values where columns are symmetric.

    Shares of 20,000 designs, within 4.5 standard errors; a false alarm in 1 of 10,000 runs.
    """
    space = DesignSpace(2, [Variable("a"), Variable("b")], Symmetry(columns=alike))
    designs = spread(space, 20_000, np.random.default_rng(8))
    low, high = (designs == 0), (designs == 1)
    blocks, flat, inside = (designs[:, 0] == designs[:, 1]).all(1), (designs[..., 0] == designs[..., 1]).all(1), ~(low | high).any((1, 2))

    def share(found, expected):
        assert abs(found.mean() - expected) < 4.5 * np.sqrt(expected * (1 - expected) / len(found))

    # with a uniform probability four values are all snapped in 1 of 5 designs, none in 1 of 5; then all to one edge in 2 of 5
    share(blocks & inside, 1 / 6 if alike else 1 / 3)
    share(inside & ~blocks & ~flat, 1 / 3 + 1 / 15)
    share(low.all((1, 2)) | high.all((1, 2)), (1 / 3) * (1 / 5) * (2 / 5) + (1 / 6 * 1 / 2 * 1 / 3 * 2 / 3 if alike else 0))
    share(low[:, 0, 0], 1 / 12 + (1 / 48 if alike else 0))
    share(high[:, 0, 0], 1 / 12 + (1 / 48 if alike else 0))
    share(flat & inside, (1 / 6) * (1 / 2 + 1 / 2 * 1 / 3) if alike else 1e-9)


def test_any_data_has_the_kinds_of_its_fields():
    task = SimpleNamespace(
        blocks=2,
        trials=300,
        fields=(
            Field("choice", "categorical", 3),
            Field("right", "binary"),
            Field("n", "count"),
            Field("x", "real"),
            Field("rt", "positive"),
        ),
    )
    drawn = any_behavior(task, 3, np.random.default_rng(1)).fields
    assert {name: np.unique(drawn[name]).tolist() for name in ("choice", "right", "n")} == {
        "choice": [0, 1, 2],
        "right": [0, 1],
        "n": [*range(10)],
    }
    assert drawn["x"].min() < 0
    assert drawn["rt"].min() > 0
    assert abs(drawn["x"].mean()) < 4 / np.sqrt(1800)
    assert abs(drawn["x"].std() - 1) < 4 / np.sqrt(3600)
    assert abs(np.log(drawn["rt"]).mean()) < 4 / np.sqrt(1800)
    assert abs(np.log(drawn["rt"]).std() - 1) < 4 / np.sqrt(3600)
    assert all(values.shape == (3, 2, 300) for values in drawn.values())
