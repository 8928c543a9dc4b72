"""GLS: generalized latent state.

A latent state z, 0 explore or 1 exploit, starts as a fair coin and on every later trial is 1 with probability
pi[z, r], where z and r are the previous state and reward. The arms that have both the most wins and the fewest losses
decide the situation:

    same          two or more do: they are the target set.
    better-worse  one does: it is the target set.
    dilemma       none does. Exploit: of the arms with most wins those with fewest losses. Explore: of the arms with
                  fewest losses those with most wins.

If the target set is all arms, choose uniformly. Otherwise with probability gamma uniformly from the target set, and with
1 - gamma uniformly from the rest.

By the convention "released" the state moves on dilemma trials only, and there is no execution error in a same situation.
With all pi = 1/2 this is the latent-state model of Lee et al. (2011); with pi_1. = 1 exploitation is absorbing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Mapping

import numba as nb

from ..priors import Prior, Uniform
from .bandit import BanditModel, Convention, check_convention
from .compiled import bandit_simulator, below, pick, uniform

SAME, BETTER_WORSE, DILEMMA = 0, 1, 2


@nb.njit(cache=True)
def situation(wins: Any, losses: Any) -> Any:
    """Which of the three situations the agent is in."""
    most, fewest = wins[0], losses[0]
    for k in range(1, wins.size):
        most, fewest = max(most, wins[k]), min(fewest, losses[k])
    both = 0
    for k in range(wins.size):
        both += wins[k] == most and losses[k] == fewest
    return SAME if both >= 2 else BETTER_WORSE if both == 1 else DILEMMA


@nb.njit(cache=True)
def target_set(wins: Any, losses: Any, exploit: Any, scratch: Any) -> Any:
    """Mark the target set in `scratch`, return its size. Outside a dilemma the state `exploit` does not matter."""
    best_first, best_second, count = -1e300, -1e300, 0
    for k in range(wins.size):
        first, second = (wins[k], -losses[k]) if exploit else (-losses[k], wins[k])
        if first > best_first or (first == best_first and second > best_second):
            best_first, best_second, count = first, second, 0
        count += first == best_first and second == best_second
    for k in range(wins.size):
        first, second = (wins[k], -losses[k]) if exploit else (-losses[k], wins[k])
        scratch[k] = 1.0 if first == best_first and second == best_second else 0.0
    return count


@nb.njit(cache=True)
def _choose(trial: Any, won: Any, wins: Any, losses: Any, theta: Any, released: Any, memory: Any, scratch: Any, stream: Any) -> Any:
    if trial == 1:
        memory[0] = 1.0 if uniform(stream) < 0.5 else 0.0
    case = situation(wins, losses)
    if case == DILEMMA or not released:
        exploit = uniform(stream) < theta[1 + 2 * int(memory[0]) + int(won)]
        memory[0] = 1.0 if exploit else 0.0
    count = target_set(wins, losses, memory[0] == 1.0, scratch)
    arms = wins.size
    if count == arms:
        return below(arms, stream)
    accurate = (released and case == SAME) or uniform(stream) < theta[0]
    return pick(scratch, count, 1.0, stream) if accurate else pick(scratch, arms - count, 0.0, stream)


@nb.njit(cache=True)
def choose_paper(trial: Any, previous: Any, won: Any, wins: Any, losses: Any, theta: Any, memory: Any, scratch: Any, stream: Any) -> Any:
    """Follow the latent state; theta = (gamma, pi_00, pi_01, pi_10, pi_11)."""
    return _choose(trial, won, wins, losses, theta, False, memory, scratch, stream)


@nb.njit(cache=True)
def choose_released(trial: Any, previous: Any, won: Any, wins: Any, losses: Any, theta: Any, memory: Any, scratch: Any, stream: Any) -> Any:
    """The same by the convention "released"."""
    return _choose(trial, won, wins, losses, theta, True, memory, scratch, stream)


_simulators = {"paper": bandit_simulator(choose_paper), "released": bandit_simulator(choose_released)}


@dataclass(frozen=True)
class GLS(BanditModel):
    """Generalized latent state.

    Arguments:
        convention: "paper", or "released" for the latent dynamics of the authors' released code.
    """

    convention: Convention = "paper"

    name: ClassVar[str] = "gls"
    _simulators: ClassVar = _simulators

    def __post_init__(self) -> None:
        check_convention(self.name, self.convention)

    @property
    def parameters(self) -> Mapping[str, Prior]:
        return {name: Uniform() for name in ("gamma", "pi_00", "pi_01", "pi_10", "pi_11")}
