"""A bandit's trials in the light of what came before.

Each choice is described by what the participant could know when making it, with the chosen arm first and then the others from
the most to the least promising, so that what has the same meaning has the same place: of each arm its wins, losses and estimated reward
(1 + w) / (2 + w + l), whether it is the previous arm, and whether it is best: by wins, by losses, by estimate, by wins and then losses, by
losses and then wins. Then the previous reward and the number of the trial. These speak of arms, wins, losses and the previous choice; no
model's parameters or rules enter.

They do not say which arm is which, and a participant may care: for the left one, or for the red one. So the arms follow once more, in
their own order: whether it was chosen, its wins and losses; and what the choice paid. From these, what was recorded can be read off:
a history loses nothing.
"""

from __future__ import annotations

from typing import Any

import numba as nb
import numpy as np
from numpy.typing import NDArray

from ..behavior import Behavior
from ..threads import in_threads

PER_PLACE, PER_ARM, PER_TRIAL = 9, 3, 3
"""Features of each place in the order of promise, of each arm in the arms' own order, and of the trial."""


def bandit_history(behavior: Behavior, arms: int) -> NDArray[np.float32]:
    """Features of each trial, (N, B, T, 12 K + 3).

    In the first recorded trial of a block, before which there is nothing, all are zero but the choice and what it paid; in a missed trial
    all are zero.
    """
    features = np.zeros((*behavior.shape, (PER_PLACE + PER_ARM) * arms + PER_TRIAL), np.float32)
    in_threads(_describe, len(behavior), (behavior.fields["choice"], behavior.fields["reward"], behavior.mask, features))
    return features


@nb.njit(cache=True, nogil=True)
def _describe(choices: Any, rewards: Any, mask: Any, features: Any) -> None:
    """Fill `features`, participant by participant; missed trials are as if they had never been."""
    n, blocks, trials = choices.shape
    arms = features.shape[3] // (PER_PLACE + PER_ARM)
    wins, losses, order = np.zeros(arms), np.zeros(arms), np.zeros(arms, np.int64)
    for i in range(n):
        for b in range(blocks):
            wins[:], losses[:] = 0.0, 0.0
            previous, reward, seen = -1, 0.0, 0
            for t in range(trials):
                if not mask[i, b, t]:
                    continue
                choice, row = int(choices[i, b, t]), features[i, b, t]
                places, trial = row[: PER_PLACE * arms], row[PER_PLACE * arms :]
                if seen > 0:
                    _rank(choice, previous, wins, losses, order)
                    _describe_places(previous, wins, losses, order, places)
                    trial[0], trial[1] = reward, 0.3 * np.log(1.0 + seen)
                reward = float(rewards[i, b, t])
                trial[2] = reward
                _describe_arms(choice, wins, losses, trial[PER_TRIAL:])
                wins[choice] += reward
                losses[choice] += 1.0 - reward
                previous, seen = choice, seen + 1


@nb.njit(cache=True)
def _rank(choice: Any, previous: Any, wins: Any, losses: Any, order: Any) -> None:
    """The chosen arm, then the others by estimated reward, wins, and whether they are the previous arm."""
    order[0] = choice
    filled = 1
    for k in range(wins.size):
        if k == choice:
            continue
        place = filled
        while place > 1 and _before(k, order[place - 1], previous, wins, losses):
            order[place] = order[place - 1]
            place -= 1
        order[place] = k
        filled += 1


@nb.njit(cache=True)
def _before(j: Any, k: Any, previous: Any, wins: Any, losses: Any) -> Any:
    """Does arm j come before arm k?"""
    one, other = (1.0 + wins[j]) * (2.0 + wins[k] + losses[k]), (1.0 + wins[k]) * (2.0 + wins[j] + losses[j])
    if one != other:
        return one > other
    return wins[j] > wins[k] or (wins[j] == wins[k] and j == previous)


@nb.njit(cache=True)
def _describe_places(previous: Any, wins: Any, losses: Any, order: Any, row: Any) -> None:
    """Nine numbers for each arm, in the given order."""
    most, fewest, highest = -1.0, np.inf, -1.0
    for k in range(wins.size):
        most, fewest = max(most, wins[k]), min(fewest, losses[k])
        highest = max(highest, (1.0 + wins[k]) / (2.0 + wins[k] + losses[k]))
    fewest_of_most, most_of_fewest = np.inf, -1.0
    for k in range(wins.size):
        if wins[k] == most:
            fewest_of_most = min(fewest_of_most, losses[k])
        if losses[k] == fewest:
            most_of_fewest = max(most_of_fewest, wins[k])
    for place in range(order.size):
        k, at = order[place], PER_PLACE * place
        estimate = (1.0 + wins[k]) / (2.0 + wins[k] + losses[k])
        row[at] = 0.5 * np.log(1.0 + wins[k])
        row[at + 1] = 0.5 * np.log(1.0 + losses[k])
        row[at + 2] = estimate
        row[at + 3] = k == previous
        row[at + 4] = wins[k] == most
        row[at + 5] = losses[k] == fewest
        row[at + 6] = estimate == highest
        row[at + 7] = wins[k] == most and losses[k] == fewest_of_most
        row[at + 8] = losses[k] == fewest and wins[k] == most_of_fewest


@nb.njit(cache=True)
def _describe_arms(choice: Any, wins: Any, losses: Any, row: Any) -> None:
    """Three numbers for each arm, in the arms' own order."""
    for k in range(wins.size):
        row[PER_ARM * k] = k == choice
        row[PER_ARM * k + 1] = 0.5 * np.log(1.0 + wins[k])
        row[PER_ARM * k + 2] = 0.5 * np.log(1.0 + losses[k])
