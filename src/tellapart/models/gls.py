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

Likelihood: a filter that carries alpha_z = p(choices so far, z_t = z) from trial to trial,

    alpha_z' <- p(choice | z', gamma) sum_z p(z' | z, r) alpha_z,

and starts every block from the product of all blocks before, halved between the states. The evidence is its average over
8,192 Sobol points of the five parameters.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Callable, ClassVar, Iterator, Mapping

import numba as nb
import numpy as np
from numpy.typing import ArrayLike

from ..behavior import Behavior
from ..priors import Prior, Uniform
from ..tasks.base import Task
from ..threads import in_threads
from .bandit import BanditModel, Convention, check_convention
from .base import ExactPosterior, Floats, Parameters
from .compiled import bandit_simulator, count_from, pick, uniform
from .replay import bandit_replay

_STATES = np.array([0.0, 1.0])
_WEIGHTS = np.array([1.0, 2.0**26])
"""Of the less and the more important of wins and losses; no block has as many trials as the latter."""
SAME, BETTER_WORSE, DILEMMA = 0, 1, 2
STAYS = 2
"""In a description, in place of the reward by which the latent state moved: it did not move."""


@nb.njit(cache=True, forceinline=True)
def situation(wins: Any, losses: Any) -> Any:
    """Which of the three situations the agent is in."""
    most, fewest = wins[0], losses[0]
    for k in range(1, wins.size):
        most, fewest = max(most, wins[k]), min(fewest, losses[k])
    both = 0
    for k in range(wins.size):
        both += wins[k] == most and losses[k] == fewest
    return SAME if both >= 2 else BETTER_WORSE if both == 1 else DILEMMA


@nb.njit(cache=True, forceinline=True)
def best_score(wins: Any, losses: Any, exploit: Any, scratch: Any) -> Any:
    """Write a score of each arm into `scratch`, return the largest: the arms that have it are the target set.

    By wins first and then losses if `exploit`, the other way round if not; outside a dilemma that does not matter.
    """
    # looked up, because "if" would be a branch that the processor guesses wrong half of the time
    per_win, per_loss = _WEIGHTS[np.int64(exploit)], _WEIGHTS[1 - np.int64(exploit)]
    best = -np.inf
    for k in range(wins.size):
        scratch[k] = per_win * wins[k] - per_loss * losses[k]
        best = scratch[k] if scratch[k] > best else best
    return best


@nb.njit(cache=True, forceinline=True)
def _choose(trial: Any, won: Any, wins: Any, losses: Any, theta: Any, released: Any, memory: Any, scratch: Any, stream: Any) -> Any:
    if trial == 1:
        memory[0] = 1.0 if uniform(stream) < 0.5 else 0.0
    case = situation(wins, losses)
    if case == DILEMMA or not released:
        memory[0] = _STATES[np.int64(uniform(stream) < theta[1 + 2 * int(memory[0]) + int(won)])]
    best = best_score(wins, losses, memory[0] == 1.0, scratch)
    all_arms = count_from(scratch, best) == wins.size
    accurate = (uniform(stream) < theta[0]) | all_arms | (released and case == SAME)
    return pick(scratch, best, accurate, stream)


@nb.njit(cache=True, forceinline=True)
def choose_paper(trial: Any, previous: Any, won: Any, wins: Any, losses: Any, theta: Any, memory: Any, scratch: Any, stream: Any) -> Any:
    """Follow the latent state; theta = (gamma, pi_00, pi_01, pi_10, pi_11)."""
    return _choose(trial, won, wins, losses, theta, False, memory, scratch, stream)


@nb.njit(cache=True, forceinline=True)
def choose_released(trial: Any, previous: Any, won: Any, wins: Any, losses: Any, theta: Any, memory: Any, scratch: Any, stream: Any) -> Any:
    """The same by the convention "released"."""
    return _choose(trial, won, wins, losses, theta, True, memory, scratch, stream)


@nb.njit(cache=True, forceinline=True)
def _describe(won: Any, wins: Any, losses: Any, choice: Any, released: Any, scratch: Any, row: Any) -> None:
    arms, case = wins.size, situation(wins, losses)
    for state in range(2):
        best = best_score(wins, losses, state == 1, scratch)
        count, inside = count_from(scratch, best), scratch[choice] == best
        if count == arms or (released and case == SAME):
            row[state] = 2 * arms + count if inside else 3 * arms + 1
        else:
            row[state] = count if inside else arms + count
    row[2] = int(won) if case == DILEMMA or not released else STAYS


@nb.njit(cache=True, forceinline=True)
def describe_paper(previous: Any, won: Any, wins: Any, losses: Any, choice: Any, scratch: Any, row: Any) -> None:
    """Three numbers: how the choice came about in each state (see `emissions`), and the reward by which the state moved."""
    _describe(won, wins, losses, choice, False, scratch, row)


@nb.njit(cache=True, forceinline=True)
def describe_released(previous: Any, won: Any, wins: Any, losses: Any, choice: Any, scratch: Any, row: Any) -> None:
    """The same by the convention "released"."""
    _describe(won, wins, losses, choice, True, scratch, row)


def emissions(gamma: Floats, arms: int) -> Floats:
    """p(choice | state) for every way in which a choice can come about: gamma (J,) to (3 K + 2, J).

    Row 0: the first choice of a block. Row m: one of a target set of m arms. Row K + m: outside of it. Row 2 K + m: one of m
    arms without execution error. Row 3 K + 1: an arm that cannot be chosen.
    """
    rows = np.zeros((3 * arms + 2, len(gamma)))
    rows[0] = 1 / arms
    for m in range(1, arms + 1):
        rows[m], rows[2 * arms + m] = gamma / m, 1 / m
        if m < arms:
            rows[arms + m] = (1 - gamma) / (arms - m)
    return rows


@nb.njit(cache=True, nogil=True, error_model="numpy")
def _filter_each(rows: Any, emission: Any, theta: Any, out: Any) -> None:
    """log p(choices | theta) of each participant: rows (N, B, T, 3), emission (N, 3 K + 2), theta (N, 5), out (N,)."""
    n, blocks, trials, _ = rows.shape
    for i in range(n):
        total = 0.0
        for b in range(blocks):
            explore, exploit = 0.5, 0.5
            for t in range(trials):
                row = rows[i, b, t]
                if row[0] < 0:
                    continue
                if row[0] == 0:
                    total += np.log(emission[i, 0])
                    continue
                if row[2] != STAYS:
                    stay, move = theta[i, 3 + row[2]], theta[i, 1 + row[2]]
                    explore, exploit = explore * (1.0 - move) + exploit * (1.0 - stay), explore * move + exploit * stay
                explore *= emission[i, row[0]]
                exploit *= emission[i, row[1]]
                whole = explore + exploit
                total += np.log(whole)
                if whole > 0.0:
                    explore, exploit = explore / whole, exploit / whole
        out[i] = total


@nb.njit(cache=True, nogil=True, error_model="numpy")
def _filter_nodes(rows: Any, out: Any, emission: Any, theta: Any) -> None:
    """log p(choices | theta_j) at a chunk of nodes: emission (3 K + 2, J), theta (5, J), out (N, J).

    The innermost loops run over nodes, so that the processor handles several at once. Every few trials all are divided by the
    largest, and those 150 orders of magnitude below it, which no sum can notice, are set to zero.
    """
    n, blocks, trials, _ = rows.shape
    size = theta.shape[1]
    explore, exploit = np.empty(size), np.empty(size)
    for i in range(n):
        log_scale, steps = 0.0, 0
        explore[:] = 0.5
        exploit[:] = 0.5
        for b in range(blocks):
            for t in range(trials):
                row = rows[i, b, t]
                if row[0] < 0:
                    continue
                if row[0] == 0:
                    log_scale += np.log(emission[0, 0])
                    for j in range(size):
                        half = 0.5 * (explore[j] + exploit[j])
                        explore[j] = half
                        exploit[j] = half
                    continue
                _step(explore, exploit, emission[row[0]], emission[row[1]], theta, row[2])
                steps += 1
                if steps % 16 == 0:
                    log_scale += _rescale(explore, exploit)
        for j in range(size):
            out[i, j] = log_scale + np.log(explore[j] + exploit[j])


@nb.njit(cache=True, error_model="numpy")
def _step(explore: Any, exploit: Any, seen_explore: Any, seen_exploit: Any, theta: Any, reward: Any) -> None:
    """One trial of the filter at all nodes (J,)."""
    if reward == STAYS:
        for j in range(explore.size):
            explore[j] *= seen_explore[j]
            exploit[j] *= seen_exploit[j]
        return
    move, stay = theta[1 + reward], theta[3 + reward]
    for j in range(explore.size):
        now = explore[j] * move[j] + exploit[j] * stay[j]
        explore[j] = (explore[j] + exploit[j] - now) * seen_explore[j]
        exploit[j] = now * seen_exploit[j]


@nb.njit(cache=True, error_model="numpy")
def _rescale(explore: Any, exploit: Any) -> Any:
    """Divide by the largest of all nodes; returns its log."""
    largest = 0.0
    for j in range(explore.size):
        largest = max(largest, explore[j] + exploit[j])
    if not largest > 0.0:
        return 0.0
    factor = 1.0 / largest
    for j in range(explore.size):
        one, other = explore[j] * factor, exploit[j] * factor
        explore[j] = one if one > 1e-150 else 0.0
        exploit[j] = other if other > 1e-150 else 0.0
    return np.log(largest)


_NODES, _NODE_CHUNK, _CHUNK = 8192, 512, 1024


@lru_cache(maxsize=1)
def _nodes() -> Floats:
    """The Sobol points of (gamma, pi_00, pi_01, pi_10, pi_11), (5, J); always the same ones."""
    from scipy.stats import qmc

    points = qmc.Sobol(5, scramble=True, seed=2021).random(_NODES)
    return np.ascontiguousarray(points.T)


_simulators = {"paper": bandit_simulator(choose_paper), "released": bandit_simulator(choose_released)}
_replays = {"paper": bandit_replay(describe_paper), "released": bandit_replay(describe_released)}


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

    def log_likelihood(self, parameters: Parameters, behavior: Behavior, design: ArrayLike, task: Task) -> Floats:
        values, arms = self._recorded(parameters, behavior, task)
        rows = _replays[self.convention](behavior, arms, 3)
        theta, out = np.ascontiguousarray(self._theta(values)), np.empty(len(rows))
        emission = np.ascontiguousarray(emissions(values["gamma"], arms).T)
        in_threads(_filter_each, len(rows), (rows, emission, theta, out))
        return out

    def log_evidence(self, behavior: Behavior, design: ArrayLike, task: Task) -> Floats:
        return np.concatenate([_log_mean(part) for part in self._at_nodes(behavior, task)])

    def exact_posterior(self, behavior: Behavior, design: ArrayLike, task: Task) -> ExactPosterior:
        with np.errstate(invalid="ignore"):
            parts = [np.exp(part - _log_mean(part)[:, None]) / _NODES for part in self._at_nodes(behavior, task)]
        weights = np.concatenate(parts)
        return ExactPosterior(dict(zip(self.parameters, _nodes(), strict=True)), dict.fromkeys(self.parameters, weights))

    def _at_nodes(self, behavior: Behavior, task: Task) -> Iterator[Floats]:
        """log p(choices | theta_j) at all nodes, (n, J) for one chunk of participants after another."""
        arms = self._arms(behavior, task)
        for start in range(0, max(len(behavior), 1), _CHUNK):
            rows = _replays[self.convention](behavior[start : start + _CHUNK], arms, 3)
            out = np.empty((len(rows), _NODES))
            in_threads(_all_nodes(arms), len(rows), (rows, out))
            yield out


def _all_nodes(arms: int) -> Callable[[Any, Any], None]:
    """The filter over all nodes, a cache-sized chunk of them at a time: fills out (N, J) from rows (N, B, T, 3)."""
    chunks = [np.ascontiguousarray(_nodes()[:, j : j + _NODE_CHUNK]) for j in range(0, _NODES, _NODE_CHUNK)]
    tables = [emissions(theta[0], arms) for theta in chunks]

    def fill(rows: Any, out: Any) -> None:
        for c, (theta, table) in enumerate(zip(chunks, tables, strict=True)):
            _filter_nodes(rows, out[:, c * _NODE_CHUNK : (c + 1) * _NODE_CHUNK], table, theta)

    return fill


def _log_mean(log_values: Floats) -> Floats:
    """log of the mean of exp over the nodes, (n, J) to (n,); -inf where all are zero."""
    largest = log_values.max(axis=1, initial=-np.inf)
    safe = np.where(np.isfinite(largest), largest, 0.0)
    with np.errstate(divide="ignore"):
        return np.asarray(safe + np.log(np.exp(log_values - safe[:, None]).mean(axis=1)))
