"""Every encoder: shapes, missed trials, any length, symmetries."""

import numpy as np
import pytest
import torch

from tellapart.behavior import Behavior
from tellapart.models.aeg import AEG
from tellapart.networks.encoders import BlockEncoder, HistoryEncoder, SequenceEncoder
from tellapart.tasks.bandit import BernoulliBandit

TASK = BernoulliBandit(3, 2, 8)
ALL = [BlockEncoder, HistoryEncoder, SequenceEncoder]
POOLED = [HistoryEncoder, SequenceEncoder]


def behavior(n=20, task=TASK, seed=0):
    model, rng = AEG(), np.random.default_rng(seed)
    return model.simulate(model.sample_prior(n, rng), task.baseline(n, rng), rng, task)


def summaries(encoder, data):
    designs = np.full((len(data), *TASK.design_space.shape), 0.5)
    with torch.no_grad():
        return encoder(encoder.prepare(data, designs)).numpy()


@pytest.mark.parametrize("kind", ALL)
def test_summaries_have_the_promised_shape(kind):
    torch.manual_seed(0)
    encoder = kind(TASK)
    assert summaries(encoder, behavior()).shape == (20, encoder.summaries)


@pytest.mark.parametrize("kind", ALL)
def test_participants_do_not_depend_on_each_other(kind):
    torch.manual_seed(0)
    encoder, data = kind(TASK), behavior()
    np.testing.assert_allclose(summaries(encoder, data)[3:5], summaries(encoder, data[3:5]), rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("kind", POOLED)
def test_trials_that_were_missed_at_the_end_are_as_if_the_block_were_shorter(kind):
    torch.manual_seed(0)
    encoder, data = kind(TASK), behavior()
    mask = np.zeros(data.shape, bool)
    mask[:, :, :5] = True
    np.testing.assert_allclose(
        summaries(encoder, Behavior(data.fields, mask)), summaries(encoder, data.first(trials=5)), rtol=1e-4, atol=1e-6
    )


@pytest.mark.parametrize("kind", POOLED)
def test_blocks_are_exchangeable(kind):
    torch.manual_seed(0)
    encoder, data = kind(TASK), behavior()
    swapped = Behavior({name: values[:, ::-1] for name, values in data.fields.items()})
    np.testing.assert_allclose(summaries(encoder, data), summaries(encoder, swapped), rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("kind", POOLED)
def test_order_within_a_block_matters(kind):
    torch.manual_seed(0)
    encoder, data = kind(TASK), behavior()
    backwards = Behavior({name: values[:, :, ::-1] for name, values in data.fields.items()})
    assert np.abs(summaries(encoder, data) - summaries(encoder, backwards)).max() > 1e-3


def test_the_papers_encoder_takes_shorter_data_as_missed_trials():
    torch.manual_seed(0)
    encoder, data = BlockEncoder(TASK), behavior()
    mask = np.zeros(data.shape, bool)
    mask[:, :1, :5] = True
    short = data.first(blocks=1, trials=5)
    np.testing.assert_allclose(summaries(encoder, Behavior(data.fields, mask)), summaries(encoder, short), rtol=1e-5)
