"""Streams of random numbers against plain Python with whole numbers."""

import math

import numpy as np
from scipy import stats

from tellapart.models.streams import below, log_gamma_noise, standard_normal, started, uniform

MASK = 2**64 - 1


def mixed(z):
    """The finaliser of splitmix64, as published."""
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
    return z ^ (z >> 31)


class Plain:
    """The same stream, in Python."""

    def __init__(self, state):
        self.state = int(state)

    def uniform(self):
        self.state = (self.state + 0x9E3779B97F4A7C15) & MASK
        return ((mixed(self.state) >> 12) + 0.5) * 2.0**-52


def test_streams_start_where_they_should():
    seeds = np.array([0, 1, 12345, 2**53 - 1])
    assert started(seeds).tolist() == [[mixed(2 * int(seed)), mixed(2 * int(seed) + 1)] for seed in seeds]


def test_numbers_are_those_of_splitmix64():
    stream = started(np.array([7]))[0, 1:].copy()
    plain = Plain(stream[0])
    assert [uniform(stream) for _ in range(50)] == [plain.uniform() for _ in range(50)]
    assert [below(6, stream) for _ in range(50)] == [int(6 * plain.uniform()) for _ in range(50)]
    for _ in range(50):
        expected = math.sqrt(-2 * math.log(plain.uniform())) * math.cos(2 * math.pi * plain.uniform())
        assert abs(standard_normal(stream) - expected) < 1e-12
    assert int(stream[0]) == plain.state


def test_gamma_noise_is_that_of_gamma_numbers():
    """5,000 draws for each of several shapes; Kolmogorov-Smirnov, a false alarm in 1 of 50,000 for each of five."""
    stream = started(np.array([11]))[0, :1].copy()
    for a in (1.0, 1.5, 4.0, 100.0, 1e6):
        g = np.exp([log_gamma_noise(np.log(a), stream) for _ in range(5000)])
        assert stats.kstest(g, stats.gamma(a, scale=1 / a).cdf).pvalue > 2e-5


def test_gamma_noise_of_huge_shapes_is_normal_and_never_nothing():
    stream = started(np.array([12]))[0, :1].copy()
    noise = np.array([log_gamma_noise(60.0, stream) for _ in range(5000)])
    assert stats.kstest(noise * np.exp(30.0), "norm").pvalue > 2e-5
    assert len({log_gamma_noise(1e6, stream) for _ in range(20)}) == 20
    plain = Plain(stream[0])
    near = log_gamma_noise(20.5, stream)  # nothing is rejected: one normal number, no more
    for _ in range(2):
        plain.uniform()
    assert int(stream[0]) == plain.state
    assert near != 0
