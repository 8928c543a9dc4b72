"""The Gaussian process over designs: it finds the top of a hill, and knows that equivalent designs are one."""

import numpy as np
import pytest
import torch

from tellapart import BernoulliBandit
from tellapart.search.surrogate import Surrogate, canonical, initial_designs


def hill(noise, rng):
    """A noisy hill over designs of two arms, the truth, and the designs."""
    space = BernoulliBandit(arms=2, blocks=1).design_space
    designs = initial_designs(space, 48, 0)
    truth = -np.square(designs - [0.3, 0.8]).sum((1, 2))
    return Surrogate(space, designs, truth + noise * rng.standard_normal(48)), truth, designs


def test_it_finds_the_top_of_a_noisy_hill_and_not_its_luckiest_point():
    surrogate, truth, designs = hill(0.02, np.random.default_rng(0))
    assert truth[surrogate.mean().argmax()] > np.sort(truth)[-4]
    proposed = surrogate.propose(2, seed=1)
    assert proposed.shape == (2, 1, 2)
    assert np.array_equal(proposed, surrogate.space.canonical(proposed))
    assert np.abs(proposed - [0.3, 0.8]).max(axis=(1, 2)).min() < 0.15
    assert np.array_equal(proposed, surrogate.propose(2, seed=1))
    assert surrogate.mean(designs[:3, :, ::-1]) == pytest.approx(surrogate.mean(designs[:3]))


def test_random_readings_of_it_choose_candidates_near_the_top():
    """Ten different candidates, the same ones for the same seed; most of them better than nine in ten of all."""
    surrogate, _, _ = hill(0.02, np.random.default_rng(0))
    candidates = np.sort(np.random.default_rng(1).random((400, 1, 2)), axis=-1)
    height = -np.square(candidates - [0.3, 0.8]).sum((1, 2))
    chosen = surrogate.thompson(candidates, 10, seed=3)
    assert len(np.unique(chosen, axis=0)) == 10
    assert np.median(-np.square(chosen - [0.3, 0.8]).sum((1, 2))) > np.quantile(height, 0.9)
    np.testing.assert_array_equal(chosen, surrogate.thompson(candidates, 10, seed=3))


def test_tensors_and_arrays_have_the_same_canonical_form():
    space = BernoulliBandit(arms=3, blocks=4).design_space
    designs = np.random.default_rng(0).random((5, 7, 4, 3)).round(1)
    assert np.array_equal(canonical(torch.from_numpy(designs), space).numpy(), space.canonical(designs))
