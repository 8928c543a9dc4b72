"""Differences that chance does not explain: suspected at a first look, confirmed at a second one."""

import numpy as np
import pytest

from tellapart.models.chance import beyond_chance, standardised


def test_sums_in_units_of_their_root():
    np.testing.assert_allclose(standardised([3.0, -4.0, 0.0, 5.0], [9.0, 4.0, 0.0, 0.0]), [1.0, -2.0, 0.0, 0.0])


@pytest.mark.parametrize(
    ("first", "second", "found"),
    [
        ({"a": 4.0, "b": -4.0}, None, {}),
        ({"a": 4.1, "b": 1.0}, {"a": 5.1, "b": 9.0}, {"a": 5.1}),
        ({"a": 4.1}, {"a": 5.0}, {}),
        ({"a": 4.1}, {"a": -9.0}, {}),
        ({"a": -4.1}, {"a": -5.1}, {"a": -5.1}),
        ({"a": -4.1}, {"b": -5.1}, {}),
        ({"a": 6.0, "b": -5.0, "c": 7.0}, {"a": 6.0, "b": -8.0, "c": 7.0}, {"b": -8.0, "c": 7.0, "a": 6.0}),
    ],
)
def test_what_shows_twice_in_the_same_direction(first, second, found):
    """The second time among four times as many fresh participants, who are simulated only if something is suspected."""
    asked = []

    def sample(seed, n):
        asked.append((seed, n))
        return (first, second)[seed]

    result = beyond_chance(sample, 30)
    assert result == found
    assert list(result) == list(found)
    assert asked == ([(0, 30)] if second is None else [(0, 30), (1, 120)])
