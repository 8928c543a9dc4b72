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


@pytest.mark.parametrize(
    ("make", "expected"),
    [
        (lambda: increasing([DELAY], "delay", 4, gap=121.4), "a gap from 0 to 121.333 for 4 blocks"),
        (lambda: increasing([DELAY], "delay", 1, gap=-1), "a gap from 0 to 364 for 1 blocks"),
        (lambda: increasing([STRENGTH, DELAY], "size", 1), "strength or delay"),
        (lambda: fixed_total([COUNT], "trials", 2, 41), "a total from 0 to 40 for 2 blocks"),
        (lambda: fixed_total([COUNT], "trials", 2, 7.5), "a total from 0 to 40 for 2 blocks"),
        (lambda: fixed_total([STRENGTH], "strength", 3, -3.1), "a total from -3 to 3 for 3 blocks"),
    ],
)
def test_messages_say_what_is_possible(make, expected):
    with pytest.raises(StudyError) as error:
        make()
    assert expected in str(error.value)


def test_words_and_what_is_just_possible():
    """A gap that leaves one design, no gap at all, and totals at the ends."""
    anything = np.random.default_rng(1).uniform(-1, 1, (20, 3, 1))
    tight, loose = increasing([STRENGTH], "strength", 3, gap=1.0), increasing([STRENGTH], "strength", 3)
    assert (tight.words, loose.words) == ("strength increases from block to block by 1 or more", "strength increases from block to block")
    np.testing.assert_allclose(tight.repair(anything), np.broadcast_to([[-1.0], [0.0], [1.0]], anything.shape))
    np.testing.assert_array_equal(loose.repair(anything), np.sort(anything, axis=1))
    for total in (-3, 3):
        rule = fixed_total([STRENGTH], "strength", 3, total)
        assert rule.words == f"strength sums to {total} over blocks"
        np.testing.assert_allclose(rule.repair(anything), total / 3, atol=1e-9)
    before = anything.copy()
    fixed_total([STRENGTH], "strength", 3, 0).repair(before)
    np.testing.assert_array_equal(before, anything)  # what was given is not changed


def test_totals_against_plain_python():
    """Of all values in the box with this total, none is nearer: all are shifted alike, but not beyond the ends."""
    values = np.random.default_rng(2).uniform(-1, 1, (50, 4, 1))
    for total in (-3.5, -1.0, 0.0, 0.7, 3.9):
        repaired = fixed_total([STRENGTH], "strength", 4, total).repair(values)
        for before, after in zip(values[..., 0], repaired[..., 0], strict=True):
            assert after.sum() == pytest.approx(total, abs=1e-9)
            shift = {round(b - a, 9) for a, b in zip(before, after, strict=True) if -1 < b < 1}
            assert len(shift) <= 1
            for one in shift:
                assert all(abs(b - max(-1.0, min(1.0, a + one))) < 1e-8 for a, b in zip(before, after, strict=True))


def test_whole_totals_round_up_the_largest_remainders_and_of_equal_ones_the_first():
    whole = fixed_total([COUNT], "trials", 4, 10)
    for values, expected in [
        ((2, 2, 2, 2), (3, 3, 2, 2)),
        ((0, 1, 2, 4), (1, 2, 3, 4)),
        ((20, 0, 0, 0), (10, 0, 0, 0)),
        ((1, 2, 3, 4), (1, 2, 3, 4)),
    ]:
        np.testing.assert_array_equal(whole.repair(np.array(values, float)[:, None])[:, 0], expected)
    full = fixed_total([COUNT], "trials", 3, 59)
    np.testing.assert_array_equal(full.repair(np.array([[20.0], [20.0], [20.0]]))[:, 0], [20, 20, 19])
