"""A group beside the population that comes nearest: statistics are noise, whoever plays."""

import numpy as np
import pytest

from tellapart.groups.population import Population


@pytest.mark.parametrize(("noise", "offset", "alarm"), [(1.0, 0.0, False), (0.5, 0.4, False), (1.0, 1.5, True)])
def test_averages_alone_raise_no_alarm(noise, offset, alarm):
    """Of people who are much alike averages are off by many standard errors, though each of them is as probable as anybody."""
    rng = np.random.default_rng(3)
    z = rng.standard_normal((1000, 1))
    population = Population([rng.standard_normal((1000, 4))], [z], [np.zeros((1000, 1))], rng)
    group = noise * rng.standard_normal((30, 4)) + offset
    found = population.fit(group, np.zeros((30, 1)), lambda m, places, who: rng.standard_normal((len(who), 4)), rng)
    assert (found.p <= 0.01) == alarm
    assert (np.abs(found.z).max() > 2) == (offset > 0)
