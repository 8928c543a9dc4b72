"""Sums of exponentials: SciPy's numbers to the last bit, whatever the shape, the order in memory and the ends."""

import numpy as np
import pytest
from scipy import special

from tellapart.models.logsumexp import logsumexp

RNG = np.random.default_rng(0)
WIDE = RNG.normal(0, 100, (40, 70))
CASES = {
    "one": np.array([3.0]),
    "two": np.array([1.0, 2.0]),
    "whole": np.array([1, 2, 2]),
    "wide": WIDE,
    "turned": WIDE.T,
    "every second": WIDE[::2, ::3],
    "ties": np.round(RNG.normal(0, 2, (5, 30, 4))),
    "single": WIDE.astype(np.float32),
    "impossible": np.where(RNG.random(WIDE.shape) < 0.3, -np.inf, WIDE),
    "all impossible": np.full((3, 4), -np.inf),
    "infinite": np.where(np.eye(4) > 0, np.inf, 0.0),
    "unknown": np.where(np.eye(4) > 0, np.nan, 0.0),
}


@pytest.mark.parametrize("name", CASES)
def test_they_are_those_of_scipy_to_the_last_bit(name):
    values = CASES[name]
    for axis in (None, *range(values.ndim), -1):
        for kept in (False, True):
            ours, theirs = logsumexp(values, axis=axis, keepdims=kept), special.logsumexp(values, axis=axis, keepdims=kept)
            assert ours.dtype == theirs.dtype
            assert ours.shape == theirs.shape
            np.testing.assert_array_equal(ours, theirs, strict=True)
