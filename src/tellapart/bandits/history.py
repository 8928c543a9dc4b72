"""A bandit's trials in the light of what came before.

Each choice is described by what the participant could know when making it, with the chosen arm first and then the others from
the most to the least promising, so that what has the same meaning has the same place. Of each arm:

    wins and losses        their numbers, the estimated reward (1 + w) / (2 + w + l), whether it is best: by wins, by losses, by
                           estimate, by wins and then losses, by losses and then wins
    rewards that are       how often it was chosen, its last and its mean reward, whether it is best by mean, chosen most often,
    numbers                least often, never, and how long ago
    both                   whether it is the previous arm; what it paid and how often it was chosen lately, over a short and a long while

Then the previous reward and the number of the trial. These speak of arms, rewards and choices; no model's parameters or rules enter.

They do not say which arm is which, and a participant may care: for the left one, or for the red one. So the arms follow once more, in
their own order: whether it was chosen, its wins and losses, or how often it was chosen and its mean; and what the choice paid. From
these, what was recorded can be read off: a history loses nothing.
"""

from __future__ import annotations

from typing import Any

import numba as nb
import numpy as np
from numpy.typing import NDArray

from ..behavior import Behavior
from ..models.compiled import ONLY_CALLED
from ..threads import in_threads

PER_PLACE, PER_ARM, PER_TRIAL = 13, 3, 3
"""Features of each place in the order of promise, of each arm in the arms' own order, and of the trial."""

SHORT, LONG = 0.6, 0.2
"""What is lately: the weight of the last trial in an average over a short while, and over a long one."""


def bandit_history(behavior: Behavior, arms: int, binary: bool = True) -> NDArray[np.float32]:
    """Features of each trial, (N, B, T, 16 K + 3).

    In the first recorded trial of a block, before which there is nothing, all are zero but the choice and what it paid; in a missed trial
    all are zero.

    Arguments:
        binary: Are rewards wins and losses, or numbers?
    """
    return _described(behavior, arms, binary, ranked=True)


def bandit_options(behavior: Behavior, arms: int, binary: bool = True) -> NDArray[np.float32]:
    """The same features of each arm before every trial, in the arms' own order, and the previous reward, (N, B, T, K, 14)."""
    options, described = np.empty((*behavior.shape, arms, PER_PLACE + 1), np.float32), _described(behavior, arms, binary, ranked=False)
    options[..., :PER_PLACE] = described[..., : PER_PLACE * arms].reshape(*behavior.shape, arms, PER_PLACE)
    options[..., PER_PLACE] = described[..., PER_PLACE * arms, None]
    return options


def _described(behavior: Behavior, arms: int, binary: bool, ranked: bool) -> NDArray[np.float32]:
    """Features of each trial; of arms in the order of promise if they are `ranked`, else in their own."""
    features = np.zeros((*behavior.shape, (PER_PLACE + PER_ARM) * arms + PER_TRIAL), np.float32)
    # of one type and layout, whatever was recorded: for each other one, everything would be compiled again
    given = (behavior.fields["choice"], np.int64), (behavior.fields["reward"], np.float64), (behavior.mask, np.bool_)
    arrays = *(np.ascontiguousarray(values, kind) for values, kind in given), features
    counted = 0.5 * np.log1p(np.arange(behavior.shape[2] + 1))
    in_threads(lambda *slices: _describe(*slices, binary, ranked, counted), len(behavior), arrays)
    return features


@nb.njit(cache=True, nogil=True)
def _describe(choices: Any, rewards: Any, mask: Any, features: Any, binary: Any, ranked: Any, counted: Any) -> None:
    """Fill `features`, participant by participant; missed trials are as if they had never been.

    Arguments:
        counted: How networks see a count, 0.5 log(1 + n) for n = 0 … T, (T + 1,).
    """
    n, blocks, trials = choices.shape
    arms = features.shape[3] // (PER_PLACE + PER_ARM)
    known, lately, order = np.zeros((4, arms)), np.zeros((4, arms)), np.arange(arms)
    none = int(np.int64(0))  # for a literal, each function would be compiled a second time
    for i in range(n):
        for b in range(blocks):
            known[:], lately[:] = 0.0, 0.0
            previous, reward, seen = none - 1, 0.0, none
            for t in range(trials):
                if not mask[i, b, t]:
                    continue
                choice, row = int(choices[i, b, t]), features[i, b, t]
                places, trial = row[: PER_PLACE * arms], row[PER_PLACE * arms :]
                if seen > 0:
                    if ranked:
                        _rank(choice, previous, known, lately, binary, order)
                    _describe_places(previous, known, lately, binary, order, places, seen, counted)
                    trial[0], trial[1] = reward, 0.6 * counted[seen]
                reward = float(rewards[i, b, t])
                trial[2] = reward
                _describe_arms(choice, known, binary, trial[PER_TRIAL:], counted)
                seen += 1
                _learn(choice, reward, seen, known, lately)
                previous = choice


@nb.njit(cache=True, **ONLY_CALLED)
def _learn(choice: Any, reward: Any, seen: Any, known: Any, lately: Any) -> None:
    """Bring up to date what is known of each arm.

    Arguments:
        known: How often it was chosen, the sum of its rewards, the last of them, and when that was, (4, K).
        lately: Its average reward over a short and a long while, and how often it was chosen over both, (4, K).
    """
    known[0, choice] += 1.0
    known[1, choice] += reward
    known[2, choice], known[3, choice] = reward, seen
    for place, weight in ((0, SHORT), (1, LONG)):
        lately[place, choice] += weight * (reward - lately[place, choice])
        for k in range(lately.shape[1]):
            lately[2 + place, k] += weight * ((1.0 if k == choice else 0.0) - lately[2 + place, k])


@nb.njit(cache=True, **ONLY_CALLED)
def _estimate(known: Any, k: Any, binary: Any) -> Any:
    """What arm k is expected to pay; of one that was never chosen, if rewards are numbers, 0."""
    if binary:
        return (1.0 + known[1, k]) / (2.0 + known[0, k])
    return known[1, k] / max(known[0, k], 1.0)


@nb.njit(cache=True, **ONLY_CALLED)
def _rank(choice: Any, previous: Any, known: Any, lately: Any, binary: Any, order: Any) -> None:
    """The chosen arm, then the others by estimated reward, how often they were chosen, whether they are the previous arm, and lately."""
    order[0] = choice
    filled = 1
    for k in range(order.size):
        if k == choice:
            continue
        place = filled
        while place > 1 and _before(k, order[place - 1], previous, known, lately, binary):
            order[place] = order[place - 1]
            place -= 1
        order[place] = k
        filled += 1


@nb.njit(cache=True, **ONLY_CALLED)
def _before(j: Any, k: Any, previous: Any, known: Any, lately: Any, binary: Any) -> Any:
    """Does arm j come before arm k?"""
    one, other = _estimate(known, j, binary), _estimate(known, k, binary)
    if one != other:
        return one > other
    if known[0, j] != known[0, k]:
        return known[0, j] > known[0, k]
    if (j == previous) != (k == previous):
        return j == previous
    for number in range(4):
        if lately[number, j] != lately[number, k]:
            return lately[number, j] > lately[number, k]
    return False


@nb.njit(cache=True, **ONLY_CALLED)
def _describe_places(previous: Any, known: Any, lately: Any, binary: Any, order: Any, row: Any, seen: Any, counted: Any) -> None:
    """All numbers of each arm, in the given order."""
    if binary:
        _describe_wins(known, order, row, counted)
    else:
        _describe_numbers(known, order, row, seen, counted)
    for place in range(order.size):
        k, at = order[place], PER_PLACE * place + 8
        row[at] = k == previous
        for number in range(4):
            row[at + 1 + number] = lately[number, k]


@nb.njit(cache=True, **ONLY_CALLED)
def _describe_wins(known: Any, order: Any, row: Any, counted: Any) -> None:
    """Eight numbers for each arm, in the given order: of wins and losses."""
    most, fewest, highest = -1.0, np.inf, -1.0
    for k in range(order.size):
        most, fewest = max(most, known[1, k]), min(fewest, known[0, k] - known[1, k])
        highest = max(highest, _estimate(known, k, True))
    fewest_of_most, most_of_fewest = np.inf, -1.0
    for k in range(order.size):
        if known[1, k] == most:
            fewest_of_most = min(fewest_of_most, known[0, k] - known[1, k])
        if known[0, k] - known[1, k] == fewest:
            most_of_fewest = max(most_of_fewest, known[1, k])
    for place in range(order.size):
        k, at = order[place], PER_PLACE * place
        wins, losses, estimate = known[1, k], known[0, k] - known[1, k], _estimate(known, k, True)
        row[at] = counted[int(wins)]
        row[at + 1] = counted[int(losses)]
        row[at + 2] = estimate
        row[at + 3] = wins == most
        row[at + 4] = losses == fewest
        row[at + 5] = estimate == highest
        row[at + 6] = wins == most and losses == fewest_of_most
        row[at + 7] = losses == fewest and wins == most_of_fewest


@nb.njit(cache=True, **ONLY_CALLED)
def _describe_numbers(known: Any, order: Any, row: Any, seen: Any, counted: Any) -> None:
    """Eight numbers for each arm, in the given order: of rewards that are numbers."""
    most, fewest, highest = 0.0, np.inf, -np.inf
    for k in range(order.size):
        most, fewest = max(most, known[0, k]), min(fewest, known[0, k])
        if known[0, k] > 0:
            highest = max(highest, _estimate(known, k, False))
    for place in range(order.size):
        k, at = order[place], PER_PLACE * place
        estimate, tried = _estimate(known, k, False), known[0, k] > 0
        row[at] = counted[int(known[0, k])]
        row[at + 1] = known[2, k]
        row[at + 2] = estimate
        row[at + 3] = tried and estimate == highest
        row[at + 4] = known[0, k] == most
        row[at + 5] = known[0, k] == fewest
        row[at + 6] = tried
        row[at + 7] = counted[int(seen - known[3, k])]


@nb.njit(cache=True, **ONLY_CALLED)
def _describe_arms(choice: Any, known: Any, binary: Any, row: Any, counted: Any) -> None:
    """Three numbers for each arm, in the arms' own order."""
    for k in range(known.shape[1]):
        row[PER_ARM * k] = k == choice
        row[PER_ARM * k + 1] = counted[int(known[1, k] if binary else known[0, k])]
        row[PER_ARM * k + 2] = counted[int(known[0, k] - known[1, k])] if binary else _estimate(known, k, False)
