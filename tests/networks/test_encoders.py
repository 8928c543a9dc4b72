"""What encoders keep and forget beyond their contract (`tests/contracts`): blocks, order, units, and the bandit's arms."""

import numpy as np
import pytest
import torch

import tellapart as ta
from tellapart.networks.base import field_features
from tellapart.paper.blocks import BlockEncoder
from tellapart.priors import sample_priors
from tellapart.tasks.readings import NoisyReadings

TASK = ta.BernoulliBandit(3, 2, 8)
POOLED = [ta.HistoryEncoder, ta.SequenceEncoder]
each_pooled = pytest.mark.parametrize("kind", POOLED, ids=lambda kind: kind.name)


def behavior(n=20, task=TASK, seed=0):
    model, rng = ta.AEG(), np.random.default_rng(seed)
    return model.simulate(sample_priors(model.parameters, n, rng), task.baseline(n, rng), rng, task)


def made(kind, task=TASK, **settings):
    torch.manual_seed(0)
    return kind(task, **settings).eval()


def summaries(encoder, data):
    designs = np.full((len(data), *encoder.task.design_space.shape), 0.5)
    with torch.no_grad():
        return encoder(encoder.prepare(data, designs)).numpy()


@each_pooled
def test_blocks_are_exchangeable(kind):
    encoder, data = made(kind), behavior()
    swapped = ta.Behavior({name: values[:, ::-1] for name, values in data.fields.items()})
    np.testing.assert_allclose(summaries(encoder, data), summaries(encoder, swapped), rtol=1e-4, atol=1e-6)


@each_pooled
def test_order_within_a_block_matters(kind):
    encoder, data = made(kind), behavior()
    backwards = ta.Behavior({name: values[:, :, ::-1] for name, values in data.fields.items()})
    assert np.abs(summaries(encoder, data) - summaries(encoder, backwards)).max() > 1e-3


def test_the_papers_encoder_takes_shorter_data_as_missed_trials():
    encoder, data = made(BlockEncoder), behavior()
    mask = np.zeros(data.shape, bool)
    mask[:, :1, :5] = True
    short = data.first(blocks=1, trials=5)
    np.testing.assert_allclose(summaries(encoder, ta.Behavior(data.fields, mask)), summaries(encoder, short), rtol=1e-5)


@pytest.mark.parametrize("unit", [1.0, 1000.0, 0.001])
def test_the_unit_of_a_real_field_does_not_matter(unit):
    """Once the scale has been learned; the same network gives the same summaries for the same data in other units."""
    task, readings = NoisyReadings(2, 3), np.random.default_rng(1).normal(3.0, 2.0, (200, 2, 3))
    results = []
    for factor in (1.0, unit):
        encoder = made(ta.SequenceEncoder, task)
        encoder.learn_scale(ta.Behavior({"reading": factor * readings}))
        results.append(summaries(encoder, ta.Behavior({"reading": factor * readings[:20]})))
    np.testing.assert_allclose(*results, rtol=1e-3, atol=1e-5)


def test_an_extreme_value_does_not_drown_the_others():
    task = NoisyReadings(1, 4)
    encoder = made(ta.SequenceEncoder, task)
    readings = np.random.default_rng(1).standard_normal((200, 1, 4))
    encoder.learn_scale(ta.Behavior({"reading": readings}))
    readings[0, 0, 0] = 1e9
    inputs = encoder.prepare(ta.Behavior({"reading": readings}), np.ones((200, 1, 1)))
    assert torch.isfinite(inputs).all()
    assert inputs.abs().max() < 30


def test_fields_as_numbers():
    values = np.array([0, 2])
    np.testing.assert_array_equal(field_features(values, ta.Field("f", "categorical", 3), one_hot=True), [[1, 0, 0], [0, 0, 1]])
    np.testing.assert_array_equal(field_features(values, ta.Field("f", "categorical", 3), one_hot=False), [[0], [2]])
    np.testing.assert_allclose(field_features(values, ta.Field("f", "count"), one_hot=True), np.log1p(values)[:, None], rtol=1e-6)
    assert np.isfinite(field_features(np.array([0.0, 2.0]), ta.Field("f", "positive"), one_hot=True)).all()
