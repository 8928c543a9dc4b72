"""What each answer led to: against a plain loop, with missed trials, and without outcomes."""

import math

import numpy as np
import pytest

import tellapart as ta
from tellapart.networks.consequences import consequences, width_of_consequences
from tellapart.tasks.readings import NoisyReadings

BERNOULLI, GAUSSIAN = ta.BernoulliBandit(3, 2, 9), ta.GaussianBandit(4, 2, 9)


def by_hand(answers, paid, recorded, categories):
    """The description of one block, trial by trial, with lists."""
    past, described = [], []
    for answer, reward, was_recorded in zip(answers, paid, recorded, strict=True):
        if not was_recorded:
            described.append([0.0] * 7 * categories)
            continue
        recent = list(dict.fromkeys(category for category, _ in reversed(past)))
        others = [k for k in recent if k != answer] + [k for k in range(categories) if k not in recent and k != answer]
        paid_by = [[r for k, r in past if k == category] for category in range(categories)]
        counts = [len(rewards) for rewards in paid_by]
        means = [sum(rewards) / len(rewards) if rewards else None for rewards in paid_by]
        best = max((mean for mean in means if mean is not None), default=None)
        row = []
        for category in [answer, *others]:
            ago = next((distance for distance, (k, _) in enumerate(reversed(past)) if k == category), None)
            row += [math.log1p(counts[category]), -1.0 if ago is None else math.log1p(ago)]
            row += [counts[category] == max(counts), counts[category] == min(counts)]
            last = paid_by[category][-1:]
            row += [means[category], means[category] == best, *last] if last else [0.0, 0.0, 0.0]
        described.append(row)
        past.append((answer, reward))
    return described


def people(task, seed=3, n=12):
    rng = np.random.default_rng(seed)
    shape = (n, task.blocks, task.trials)
    reward = rng.integers(0, 2, shape) if task is BERNOULLI else rng.normal(50.0, 20.0, shape)
    return ta.Behavior({"choice": rng.integers(0, task.arms, shape), "reward": reward}, rng.random(shape) > 0.2)


@pytest.mark.parametrize("task", [BERNOULLI, GAUSSIAN], ids=lambda task: task.name)
def test_agrees_with_a_plain_loop(task):
    data = people(task)
    (described,) = consequences(task, data)
    assert described.shape == (*data.shape, width_of_consequences(task))
    for i in range(len(data)):
        for b in range(task.blocks):
            expected = by_hand(data.fields["choice"][i, b], data.fields["reward"][i, b], data.mask[i, b], task.arms)
            np.testing.assert_allclose(described[i, b], expected, rtol=1e-5, atol=1e-6)


def test_other_names_of_the_arms_change_nothing_that_was_seen():
    data = people(BERNOULLI)
    other = ta.Behavior({**data.fields, "choice": np.array([2, 0, 1])[data.fields["choice"]] * data.mask}, data.mask)
    np.testing.assert_array_equal(consequences(BERNOULLI, data)[0], consequences(BERNOULLI, other)[0])


def test_a_trial_is_not_described_by_what_came_later():
    data = people(BERNOULLI)
    early = data.first(blocks=2, trials=5)
    np.testing.assert_array_equal(consequences(BERNOULLI, data)[0][:, :, :5], consequences(BERNOULLI, early)[0])


def test_without_outcomes_there_is_nothing_to_say():
    assert width_of_consequences(NoisyReadings(2, 3)) == 0
    assert consequences(NoisyReadings(2, 3), ta.Behavior({"reading": np.ones((1, 2, 3))})) == []


def test_the_unit_of_an_outcome_does_not_matter():
    """The sequence encoder learns the scale of means and last outcomes too."""
    task, data, inputs = GAUSSIAN, people(GAUSSIAN, n=300), []
    for unit in (1.0, 1e-6, 1e6):
        encoder, scaled = ta.SequenceEncoder(task), ta.Behavior({**data.fields, "reward": unit * data.fields["reward"]}, data.mask)
        encoder.learn_scale(scaled)
        inputs.append(encoder.prepare(scaled, np.zeros((300, *task.design_space.shape))).numpy())
    np.testing.assert_allclose(inputs[0], inputs[1], rtol=1e-3, atol=1e-4)
    np.testing.assert_allclose(inputs[0], inputs[2], rtol=1e-3, atol=1e-4)
