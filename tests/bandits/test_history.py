"""A bandit's trials in the light of what came before, against a plain loop."""

import numpy as np
import pytest

from tellapart.bandits.bernoulli import BernoulliBandit
from tellapart.bandits.gls import GLS
from tellapart.bandits.history import PER_PLACE, bandit_history
from tellapart.behavior import Behavior
from tellapart.priors import sample_priors


def simulated(arms=3, blocks=2, trials=12, n=40, seed=0):
    task, model, rng = BernoulliBandit(arms, blocks, trials), GLS(), np.random.default_rng(seed)
    return task, model.simulate(sample_priors(model.parameters, n, rng), task.baseline(n, rng), rng, task)


def described(choices, rewards, arms):
    """The features of one block's last trial, written out."""
    wins = [sum(r for c, r in zip(choices[:-1], rewards[:-1], strict=True) if c == k) for k in range(arms)]
    losses = [sum(1 - r for c, r in zip(choices[:-1], rewards[:-1], strict=True) if c == k) for k in range(arms)]
    estimate = [(1 + w) / (2 + w + x) for w, x in zip(wins, losses, strict=True)]
    others = sorted((k for k in range(arms) if k != choices[-1]), key=lambda k: (-estimate[k], -wins[k], k != choices[-2]))
    row = []
    for k in [choices[-1], *others]:
        by_wins = max(range(arms), key=lambda j: (wins[j], -losses[j]))
        by_losses = max(range(arms), key=lambda j: (-losses[j], wins[j]))
        row += [0.5 * np.log1p(wins[k]), 0.5 * np.log1p(losses[k]), estimate[k], k == choices[-2]]
        row += [wins[k] == max(wins), losses[k] == min(losses), estimate[k] == max(estimate)]
        row += [(wins[k], losses[k]) == (wins[by_wins], losses[by_wins]), (wins[k], losses[k]) == (wins[by_losses], losses[by_losses])]
    row += [rewards[-2], 0.3 * np.log(len(choices)), rewards[-1]]
    for k in range(arms):
        row += [k == choices[-1], 0.5 * np.log1p(wins[k]), 0.5 * np.log1p(losses[k])]
    return row


@pytest.mark.parametrize("arms", [2, 3, 5])
def test_features_are_those_of_a_plain_loop(arms):
    _, behavior = simulated(arms)
    features = bandit_history(behavior, arms)
    for i in range(len(behavior)):
        for t in range(1, 12):
            choices, rewards = behavior.fields["choice"][i, 1, : t + 1].tolist(), behavior.fields["reward"][i, 1, : t + 1].tolist()
            expected = described(choices, rewards, arms)
            # arms that are alike in everything may stand in either order, and then have the same features
            np.testing.assert_allclose(features[i, 1, t], expected, atol=1e-6)


def test_relabelled_arms_differ_in_their_own_order_alone():
    _, behavior = simulated()
    relabel = np.array([2, 0, 1], np.int16)
    other = Behavior({"choice": relabel[behavior.fields["choice"]], "reward": behavior.fields["reward"]})
    one, two = bandit_history(behavior, 3), bandit_history(other, 3)
    shared = 3 * PER_PLACE + 3
    np.testing.assert_array_equal(one[..., :shared], two[..., :shared])
    by_arm = [features[..., shared:].reshape(*behavior.shape, 3, 3) for features in (one, two)]
    np.testing.assert_array_equal(by_arm[0], by_arm[1][..., relabel, :])


def test_later_trials_do_not_matter():
    _, behavior = simulated()
    whole = bandit_history(behavior, 3)
    np.testing.assert_array_equal(bandit_history(behavior.first(trials=7), 3), whole[:, :, :7])


def test_missed_trials_are_as_if_they_had_never_been():
    _, behavior = simulated(blocks=1)
    keep = np.ones(12, bool)
    keep[[0, 4, 5]] = False
    holes = Behavior(behavior.fields, np.broadcast_to(keep, behavior.shape))
    closed = Behavior({name: values[:, :, keep] for name, values in behavior.fields.items()})
    np.testing.assert_array_equal(bandit_history(holes, 3)[:, :, keep], bandit_history(closed, 3))


def test_the_first_trial_has_nothing_before_it():
    _, behavior = simulated()
    features = bandit_history(behavior, 3)
    assert features.shape == (40, 2, 12, 12 * 3 + 3)
    first = features[:, :, 0]
    expected = np.zeros_like(first)
    expected[..., 9 * 3 + 2] = behavior.fields["reward"][:, :, 0]
    for k in range(3):
        expected[..., 9 * 3 + 3 + 3 * k] = behavior.fields["choice"][:, :, 0] == k
    np.testing.assert_array_equal(first, expected)


@pytest.mark.parametrize("arms", [2, 3, 4])
def test_nothing_is_lost(arms):
    """Each trial by itself tells what was chosen and what it paid, or that it was missed; the first of a block too."""
    _, behavior = simulated(arms, trials=20)
    behavior = Behavior(behavior.fields, np.random.default_rng(1).random(behavior.shape) < 0.8)
    assert not behavior.mask[:, :, 0].all()
    features = bandit_history(behavior, arms)
    trial = features[..., PER_PLACE * arms :]
    chosen = trial[..., 3::3]
    np.testing.assert_array_equal(chosen.sum(-1), behavior.mask)
    np.testing.assert_array_equal(chosen.argmax(-1), behavior.fields["choice"])
    np.testing.assert_array_equal(trial[..., 2], behavior.fields["reward"])
    np.testing.assert_array_equal(features.any(-1), behavior.mask)
