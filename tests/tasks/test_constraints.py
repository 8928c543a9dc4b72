"""Constraints bring designs to near ones that obey them, and leave alone those that do."""

import numpy as np
import pytest
from spaces import COUNT, DELAY, SPACES, STRENGTH, each_space

from tellapart import StudyError, fixed_total, increasing
from tellapart.tasks.sampling import sample


@each_space
def test_what_obeys_is_left_alone(space):
    designs = sample(space, 200, np.random.default_rng(1))
    for constraint in space.constraints:
        np.testing.assert_allclose(constraint.repair(designs), designs, atol=1e-6)


def test_increasing():
    designs = sample(SPACES["increasing"], 200, np.random.default_rng(1))
    assert (np.diff(designs[..., 0], axis=1) >= 30 - 1e-9).all()
    repaired = SPACES["increasing"].repair(np.array([[300, 0.1], [200, 0.2], [100, 0.3], [10, 0.4]]))
    np.testing.assert_allclose(repaired, [[10, 0.1], [100, 0.2], [200, 0.3], [300, 0.4]])


def test_whole_totals_are_the_nearest():
    repaired = SPACES["whole total"].repair(np.array([[0, 0.0], [0, 3.4], [0, 20.0], [0, 9.0]]))
    assert repaired[:, 1].sum() == 30
    np.testing.assert_array_equal(repaired[:, 1], np.round(repaired[:, 1]))
    assert np.abs(repaired[:, 1] - [0, 3, 20, 9]).max() <= 1


def test_real_totals_are_the_nearest():
    """One shift for all that are not at an end of the range: the projection onto the plane within the box."""
    repaired = SPACES["real total"].repair(np.array([[0.9], [0.2], [-0.1]]))
    np.testing.assert_allclose(repaired[:, 0], [1.0, 0.4, 0.1], atol=1e-6)
    assert sample(SPACES["real total"], 100, np.random.default_rng(1)).sum((1, 2)) == pytest.approx(1.5)


@pytest.mark.parametrize(
    "make",
    [
        lambda: increasing([DELAY], "delay", 4, gap=200),
        lambda: increasing([DELAY], "delay", 4, gap=-1),
        lambda: increasing([DELAY], "dealy", 4),
        lambda: fixed_total([COUNT], "trials", 2, 41),
        lambda: fixed_total([COUNT], "trials", 2, 7.5),
        lambda: fixed_total([STRENGTH], "strength", 2, -2.1),
    ],
)
def test_constraints_that_make_no_sense(make):
    with pytest.raises(StudyError):
        make()
