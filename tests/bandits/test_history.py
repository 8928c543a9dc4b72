"""A bandit's trials in the light of what came before, against a plain loop."""

import numpy as np
import pytest

from tellapart.bandits.bernoulli import BernoulliBandit
from tellapart.bandits.gls import GLS
from tellapart.bandits.history import PER_PLACE, bandit_history, bandit_options
from tellapart.behavior import Behavior
from tellapart.priors import sample_priors


def simulated(arms=3, blocks=2, trials=12, n=40, seed=0):
    task, model, rng = BernoulliBandit(arms, blocks, trials), GLS(), np.random.default_rng(seed)
    return task, model.simulate(sample_priors(model.parameters, n, rng), task.baseline(n, rng), rng, task)


def average(numbers, weight):
    """An average over a while, which begins at 0: the last number has the largest weight."""
    value = 0.0
    for number in numbers:
        value += weight * (number - value)
    return value


def described(choices, rewards, arms, binary=True):
    """The features of one block's last trial, written out."""
    past = list(zip(choices[:-1], rewards[:-1], strict=True))
    paid = [[r for c, r in past if c == k] for k in range(arms)]
    wins, losses = [sum(numbers) for numbers in paid], [sum(1 - r for r in numbers) for numbers in paid]
    if binary:
        estimate = [(1 + w) / (2 + w + x) for w, x in zip(wins, losses, strict=True)]
    else:
        estimate = [sum(numbers) / max(len(numbers), 1) for numbers in paid]
    lately = [
        [average(paid[k], 0.6), average(paid[k], 0.2), *(average([c == k for c, _ in past], weight) for weight in (0.6, 0.2))]
        for k in range(arms)
    ]
    others = sorted(
        (k for k in range(arms) if k != choices[-1]),
        key=lambda k: (-estimate[k], -len(paid[k]), k != choices[-2], [-number for number in lately[k]]),
    )
    row = []
    for k in [choices[-1], *others]:
        if binary:
            by_wins = max(range(arms), key=lambda j: (wins[j], -losses[j]))
            by_losses = max(range(arms), key=lambda j: (-losses[j], wins[j]))
            row += [0.5 * np.log1p(wins[k]), 0.5 * np.log1p(losses[k]), estimate[k]]
            row += [wins[k] == max(wins), losses[k] == min(losses), estimate[k] == max(estimate)]
            row += [(wins[k], losses[k]) == (wins[by_wins], losses[by_wins]), (wins[k], losses[k]) == (wins[by_losses], losses[by_losses])]
        else:
            counts, tried = [len(numbers) for numbers in paid], bool(paid[k])
            best = max(estimate[j] for j in range(arms) if paid[j])
            ago = len(past) - max((t + 1 for t, (c, _) in enumerate(past) if c == k), default=0)
            row += [0.5 * np.log1p(counts[k]), paid[k][-1] if tried else 0.0, estimate[k], tried and estimate[k] == best]
            row += [counts[k] == max(counts), counts[k] == min(counts), tried, 0.5 * np.log1p(ago)]
        row += [k == choices[-2], *lately[k]]
    row += [rewards[-2], 0.3 * np.log(len(choices)), rewards[-1]]
    for k in range(arms):
        numbers = [0.5 * np.log1p(wins[k]), 0.5 * np.log1p(losses[k])] if binary else [0.5 * np.log1p(len(paid[k])), estimate[k]]
        row += [k == choices[-1], *numbers]
    return row


def numbers_for(behavior, seed=3):
    """The same choices with rewards that are numbers."""
    return Behavior({**behavior.fields, "reward": np.random.default_rng(seed).normal(0.5, 0.3, behavior.shape)}, behavior.mask)


def with_holes():
    """Which trials are kept, behavior in which the others were missed, and the same as if they had never been."""
    _, behavior = simulated(blocks=1)
    keep = np.ones(12, bool)
    keep[[0, 4, 5]] = False
    closed = Behavior({name: values[:, :, keep] for name, values in behavior.fields.items()})
    return keep, Behavior(behavior.fields, np.broadcast_to(keep, behavior.shape)), closed


@pytest.mark.parametrize("binary", [True, False])
@pytest.mark.parametrize("arms", [2, 3, 5, 10])
def test_features_are_those_of_a_plain_loop(arms, binary):
    _, behavior = simulated(arms)
    behavior = behavior if binary else numbers_for(behavior)
    features = bandit_history(behavior, arms, binary)
    for i in range(len(behavior)):
        for t in range(1, 12):
            choices, rewards = behavior.fields["choice"][i, 1, : t + 1].tolist(), behavior.fields["reward"][i, 1, : t + 1].tolist()
            np.testing.assert_allclose(features[i, 1, t], described(choices, rewards, arms, binary), atol=1e-6)


@pytest.mark.parametrize("binary", [True, False])
@pytest.mark.parametrize("arms", [2, 3, 5])
def test_options_are_described_as_they_would_be_if_chosen(arms, binary):
    _, behavior = simulated(arms, n=10)
    behavior = behavior if binary else numbers_for(behavior)
    options = bandit_options(behavior, arms, binary)
    assert not options[:, :, 0].any()
    for i in range(len(behavior)):
        for t in range(1, 12):
            choices, rewards = behavior.fields["choice"][i, 1, : t + 1].tolist(), behavior.fields["reward"][i, 1, : t + 1].tolist()
            for k in range(arms):
                expected = [*described([*choices[:-1], k], rewards, arms, binary)[:PER_PLACE], rewards[-2]]
                np.testing.assert_allclose(options[i, 1, t, k], expected, atol=1e-6)


def test_options_pass_over_missed_trials():
    keep, holes, closed = with_holes()
    np.testing.assert_array_equal(bandit_options(holes, 3)[:, :, keep], bandit_options(closed, 3))
    assert not bandit_options(holes, 3)[:, :, ~keep].any()


@pytest.mark.parametrize("binary", [True, False])
def test_relabelled_arms_differ_in_their_own_order_alone(binary):
    _, behavior = simulated()
    behavior = behavior if binary else numbers_for(behavior)
    relabel = np.array([2, 0, 1], np.int16)
    other = Behavior({"choice": relabel[behavior.fields["choice"]], "reward": behavior.fields["reward"]})
    one, two = bandit_history(behavior, 3, binary), bandit_history(other, 3, binary)
    shared = 3 * PER_PLACE + 3
    np.testing.assert_array_equal(one[..., :shared], two[..., :shared])
    by_arm = [features[..., shared:].reshape(*behavior.shape, 3, 3) for features in (one, two)]
    np.testing.assert_array_equal(by_arm[0], by_arm[1][..., relabel, :])


def test_later_trials_do_not_matter():
    _, behavior = simulated()
    whole = bandit_history(behavior, 3)
    np.testing.assert_array_equal(bandit_history(behavior.first(trials=7), 3), whole[:, :, :7])


def test_missed_trials_are_as_if_they_had_never_been():
    keep, holes, closed = with_holes()
    np.testing.assert_array_equal(bandit_history(holes, 3)[:, :, keep], bandit_history(closed, 3))


def test_the_first_trial_has_nothing_before_it():
    _, behavior = simulated()
    features = bandit_history(behavior, 3)
    assert features.shape == (40, 2, 12, 16 * 3 + 3)
    first = features[:, :, 0]
    expected = np.zeros_like(first)
    expected[..., PER_PLACE * 3 + 2] = behavior.fields["reward"][:, :, 0]
    for k in range(3):
        expected[..., PER_PLACE * 3 + 3 + 3 * k] = behavior.fields["choice"][:, :, 0] == k
    np.testing.assert_array_equal(first, expected)


@pytest.mark.parametrize("binary", [True, False])
@pytest.mark.parametrize("arms", [2, 3, 10])
def test_nothing_is_lost(arms, binary):
    """Each trial by itself tells what was chosen and what it paid, or that it was missed; the first of a block too."""
    _, behavior = simulated(arms, trials=20)
    behavior = behavior if binary else numbers_for(behavior)
    behavior = Behavior(behavior.fields, np.random.default_rng(1).random(behavior.shape) < 0.8)
    assert not behavior.mask[:, :, 0].all()
    features = bandit_history(behavior, arms, binary)
    trial = features[..., PER_PLACE * arms :]
    chosen = trial[..., 3::3]
    np.testing.assert_array_equal(chosen.sum(-1), behavior.mask)
    np.testing.assert_array_equal(chosen.argmax(-1), behavior.fields["choice"])
    np.testing.assert_array_equal(trial[..., 2], behavior.fields["reward"].astype(np.float32))
    np.testing.assert_array_equal(features.any(-1), behavior.mask)
