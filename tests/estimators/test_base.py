"""Batches of participants, and data that an estimator does not take."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch

import tellapart as ta
from tellapart.estimators.base import Batch, Estimator, check_complete

TASK = ta.BernoulliBandit(2, 2, 3)


def batch(n, kept, failed, start=0):
    inputs = torch.arange(start, start + n, dtype=torch.float32)[:, None, None, None].expand(n, 1, 1, 2)
    return Batch(inputs, torch.arange(n) % 2, torch.arange(n)[:, None] * 10.0, torch.tensor(kept).log(), failed)


def test_some_of_a_batch_by_number_slice_or_mask():
    whole = batch(5, [0.5, 1.0], 2)
    for which in (torch.tensor([3, 1]), slice(1, 4), torch.tensor([True, False, False, True, True])):
        some = whole[which]
        for name in ("inputs", "model", "v"):
            assert torch.equal(getattr(some, name), getattr(whole, name)[which])
        assert torch.equal(some.kept, whole.kept)
        assert some.failed == 2


def test_batches_one_after_the_other():
    """Shares that could be simulated are averaged as shares."""
    whole = Batch.concatenate([batch(3, [0.5, 1.0], 2), batch(3, [1.0, 0.8], 1, start=3)])
    assert whole.inputs[:, 0, 0, 0].tolist() == [0, 1, 2, 3, 4, 5]
    assert (whole.model.tolist(), whole.failed, len(whole)) == ([0, 1, 0, 0, 1, 0], 3, 6)
    np.testing.assert_allclose(whole.kept.exp(), [0.75, 0.9])


def replace_of(namespace, **other):
    return SimpleNamespace(**{**vars(namespace), **other})


def test_the_share_that_could_be_simulated_is_that_of_each_model():
    class Plain(Estimator):
        bound = log_model_probabilities = sample_theta = None

        def code(self, simulations):
            return np.zeros((len(simulations.model), 1), np.float32)

    class Encoder(torch.nn.Module):
        task = TASK

        def __init__(self):
            super().__init__()
            self.weight = torch.nn.Parameter(torch.zeros(1))

        def prepare(self, behavior, designs):
            return torch.zeros(6, 2, 3, 1)

    simulations = SimpleNamespace(
        models=range(3),
        model=np.array([0, 0, 0, 1, 1, 1]),
        failed=lambda: np.array([1, 0, 4]),
        failures=range(5),
        behavior=None,
        designs=None,
    )
    made = Plain(None, Encoder()).prepare(simulations)
    np.testing.assert_allclose(made.kept.exp(), [3 / 4, 1, 1 / 4], rtol=1e-6)
    alone = replace_of(simulations, model=np.array([0, 0, 0, 0, 0, 1]), failed=lambda: np.array([0, 0, 0]))
    np.testing.assert_array_equal(Plain(None, Encoder()).prepare(alone).kept, [0, 0, 0])  # one of a model, or none, and no failure
    assert (made.failed, made.model.tolist()) == (5, [0, 0, 0, 1, 1, 1])


def behavior(blocks=2, trials=3, missing=()):
    mask = np.ones((2, blocks, trials), bool)
    for place in missing:
        mask[place] = False
    return ta.Behavior({"choice": np.zeros(mask.shape, int), "reward": np.zeros(mask.shape, int)}, mask, np.array(["ann", "bob"]))


def test_complete_data_are_complete():
    check_complete(behavior(), TASK)


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (behavior(missing=[(1, 1, 2)]), ("participant bob, block 1", "2 trials in this block")),
        (behavior(missing=[(0, 0, 0), (0, 0, 1), (1, 1, 1)]), ("participant ann, block 0", "1 trial in this block")),
        (behavior(blocks=1), ("participant ann, block 1", "0 trials in this block")),
        (behavior(trials=2), ("participant ann, block 0", "2 trials in this block")),
    ],
)
def test_a_missing_trial_is_named(data, words):
    with pytest.raises(ta.DataError) as error:
        check_complete(data, TASK)
    assert all(word in str(error.value) for word in (*words, "2 blocks of 3 trials for each participant"))


def test_draws_of_some_participants_at_a_time_are_draws_of_all():
    class Counting:
        def sample_theta(self, inputs, model, count, rng):
            return inputs.expand(count, len(inputs), 2)

    people = torch.arange(5.0)[:, None]
    drawn = Estimator.draws(Counting(), people, 0, 3, np.random.default_rng(0), at_once=2)
    np.testing.assert_array_equal(drawn, people.numpy()[:, None].repeat(3, 1).repeat(2, 2))
