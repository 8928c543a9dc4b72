"""A bandit's trials in the light of what came before, against a plain loop."""

import numpy as np
import pytest

from tellapart.behavior import Behavior
from tellapart.models.gls import GLS
from tellapart.tasks.bandit import BernoulliBandit
from tellapart.tasks.history import PER_ARM, bandit_history


def simulated(arms=3, blocks=2, trials=12, n=40, seed=0):
    task, model, rng = BernoulliBandit(arms, blocks, trials), GLS(), np.random.default_rng(seed)
    return task, model.simulate(model.sample_prior(n, rng), task.baseline(n, rng), rng, task)


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
    return [*row, rewards[-2], 0.3 * np.log(len(choices))]


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


def test_relabelled_arms_have_the_same_features():
    _, behavior = simulated()
    relabel = np.array([2, 0, 1], np.int16)
    other = Behavior({"choice": relabel[behavior.fields["choice"]], "reward": behavior.fields["reward"]})
    np.testing.assert_array_equal(bandit_history(behavior, 3), bandit_history(other, 3))


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
    assert not features[:, :, 0].any()
    assert features.shape == (40, 2, 12, PER_ARM * 3 + 2)
