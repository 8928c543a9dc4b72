"""What encoders keep and forget beyond their contract (`tests/contracts`): blocks, order, units, and the bandit's arms."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from carries_on import CarriesOn

import tellapart as ta
from tellapart.networks.base import field_features
from tellapart.networks.consequences import across_blocks
from tellapart.networks.law import Trials
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


@each_pooled
def test_blocks_that_are_read_in_order_are_not_exchangeable(kind):
    """What came in an earlier block is seen in a later one, and a block that comes later is not seen before."""
    encoder, data = made(kind, in_order=True), behavior()
    swapped = ta.Behavior({name: values[:, ::-1] for name, values in data.fields.items()})
    assert np.abs(summaries(encoder, data) - summaries(encoder, swapped)).max() > 1e-3
    seen = encoder.features(data)
    assert seen.shape[-1] == len(encoder.centre) > len(made(kind).centre)
    changed = ta.Behavior({name: np.concatenate([values[:, :1], values[::-1, 1:]], axis=1) for name, values in data.fields.items()})
    np.testing.assert_array_equal(encoder.features(changed)[:, 0], seen[:, 0])
    changed = ta.Behavior({name: np.concatenate([values[::-1, :1], values[:, 1:]], axis=1) for name, values in data.fields.items()})
    assert (encoder.features(changed)[:, 1] != seen[:, 1]).any()


@each_pooled
def test_blocks_read_in_order_may_be_shorter_or_have_gaps(kind):
    """Missed trials at the ends of blocks are as if blocks were shorter; memory passes over gaps."""
    encoder, data = made(kind, in_order=True), behavior()
    mask = np.zeros(data.shape, bool)
    mask[:, :, :5] = True
    short = data.first(trials=5)
    np.testing.assert_allclose(summaries(encoder, ta.Behavior(data.fields, mask)), summaries(encoder, short), rtol=1e-4, atol=1e-5)


def test_what_all_blocks_so_far_led_to():
    """Against counting by hand, for the answer of each trial: it comes first."""
    data = behavior()
    whole = across_blocks(TASK, data)
    choice, reward = data.fields["choice"], data.fields["reward"]
    for n, b, t in ((0, 0, 0), (1, 0, 5), (2, 1, 0), (3, 1, 7)):
        before = [(int(choice[n, i, j]), int(reward[n, i, j])) for i in range(2) for j in range(8) if (i, j) < (b, t)]
        same = [won for arm, won in before if arm == choice[n, b, t]]
        clock_of_block, given, mean = whole[n, b, t, 0], whole[n, b, t, 1], whole[n, b, t, 1 + 4]
        assert clock_of_block == pytest.approx(0.3 * np.log1p(t))
        assert whole[n, b, t, -1] == pytest.approx(0.3 * np.log1p(len(before)))
        assert given == pytest.approx(np.log1p(len(same)))
        assert mean == pytest.approx(np.mean(same) if same else 0.0)


@pytest.mark.parametrize(("resets", "blocks", "in_order"), [(True, 2, False), (None, 2, True), (False, 2, True), (None, 1, False)])
def test_blocks_are_read_in_order_unless_models_say_that_they_begin_anew(resets, blocks, in_order):
    @ta.model(name="guesser", parameters={}, resets=resets)
    def guesser(parameters, design, rng, task):
        return {}

    task, question = ta.BernoulliBandit(3, blocks, 8), ta.Question((ta.AEG(), guesser()))
    for kind in POOLED:
        assert kind.for_question(task, question).in_order == in_order
    assert ta.LikelihoodEstimator(question, ta.SequenceEncoder(task)).encoder.in_order == in_order
    assert not isinstance(BlockEncoder.for_question(task, question), tuple(POOLED))  # an encoder that knows nothing of it


def test_blocks_that_cannot_change_places_are_read_in_order():
    class Different(ta.BernoulliBandit):
        @property
        def design_space(self):
            return replace(super().design_space, symmetry=ta.Symmetry())

    assert ta.SequenceEncoder.for_question(Different(3, 2, 8), ta.Question((ta.AEG(), ta.WSLTS()))).in_order


@each_pooled
def test_what_is_cut_off_after_a_block_is_not_seen(kind):
    """So that a network may read the first blocks of what was prepared whole."""
    encoder, data, designs = made(kind, in_order=True), behavior(), np.full((20, 2, 3), 0.5)
    for reads in (encoder, Trials(encoder, True)):
        whole, first = reads.prepare(data, designs), reads.prepare(data.first(blocks=1), designs)
        np.testing.assert_array_equal(whole[:, :1], first)


def test_an_encoder_that_describes_trials_in_its_own_way_adds_blocks_up():
    class Own(ta.SequenceEncoder):
        def features(self, behavior):
            return np.zeros((*behavior.shape, len(self.centre)), np.float32)

    task, question = ta.BernoulliBandit(3, 2, 8), ta.Question((ta.AEG(), CarriesOn()))
    encoder = Own.for_question(task, question)
    assert not encoder.in_order
    assert encoder.prepare(task.nothing(2), np.zeros((2, 2, 3))).shape[-1] == len(encoder.centre) + encoder.extra


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
