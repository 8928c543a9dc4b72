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
from typing import Any, ClassVar, Iterator, Mapping

import numba as nb
import numpy as np

from ..behavior import Behavior
from ..models.base import ExactPosterior, Floats, Parameters
from ..models.compiled import ONLY_CALLED
from ..models.kernel import theta_of
from ..models.streams import uniform
from ..priors import Prior, Uniform
from ..tasks.base import Task
from ..threads import in_threads
from .compiled import FIRST, MISSED, Descriptions, count_from, pick
from .model import BanditModel, Convention

SAME, BETTER_WORSE, DILEMMA = 0, 1, 2
STAYS, STARTS = 2, 3
"""In a description, in place of the reward by which the latent state moved: it did not move; it is drawn anew."""
_MUCH = 2.0**26
"""More than any block has trials: one win or loss of the kind that is looked at first outweighs all of the other."""


@nb.njit(cache=True, forceinline=True, **ONLY_CALLED)
def situation(past: Any) -> Any:
    """Which of the three situations the agent is in."""
    most, fewest, both = 0.0, np.inf, 0
    for k in range(past.wins.size):
        most, fewest = max(most, past.wins[k]), min(fewest, past.losses[k])
    for k in range(past.wins.size):
        both += past.wins[k] == most and past.losses[k] == fewest
    return SAME if both >= 2 else BETTER_WORSE if both == 1 else DILEMMA


@nb.njit(cache=True, forceinline=True, **ONLY_CALLED)
def best_score(past: Any, exploit: Any, scratch: Any) -> Any:
    """Write a score of each arm into `scratch`, return the largest: the arms that have it are the target set.

    By wins first and then losses if `exploit`, the other way round if not; outside a dilemma that does not matter.
    """
    best = -np.inf
    per_win, per_loss = (_MUCH, 1.0) if exploit else (1.0, _MUCH)
    for k in range(scratch.size):
        scratch[k] = per_win * past.wins[k] - per_loss * past.losses[k]
        best = max(best, scratch[k])
    return best


@nb.njit(cache=True, forceinline=True, **ONLY_CALLED)
def choose(past: Any, theta: Any, released: Any, memory: Any, scratch: Any, stream: Any) -> Any:
    """Follow the latent state, which is memory[0]; theta = (gamma, pi_00, pi_01, pi_10, pi_11)."""
    if past.trials == 1:
        memory[0] = uniform(stream) < 0.5
    case = situation(past)
    if case == DILEMMA or not released:
        memory[0] = uniform(stream) < theta[1 + 2 * int(memory[0]) + past.won]
    best = best_score(past, memory[0] == 1.0, scratch)
    certain = count_from(scratch, best) == scratch.size or (released and case == SAME)
    return pick(scratch, best, certain or uniform(stream) < theta[0], stream)


@nb.njit(cache=True, forceinline=True, **ONLY_CALLED)
def describe(past: Any, choice: Any, released: Any, scratch: Any, row: Any) -> None:
    """Three numbers: how the choice came about in each state (see `emissions`), and the reward by which the state moved."""
    arms, case = scratch.size, situation(past)
    for state in range(2):
        best = best_score(past, state == 1, scratch)
        count, inside = count_from(scratch, best), scratch[choice] == best
        if count == arms or (released and case == SAME):
            row[state] = 2 * arms + count if inside else 3 * arms + 1
        else:
            row[state] = count if inside else arms + count
    row[2] = int(past.won) if case == DILEMMA or not released else STAYS


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


def transitions(pi: Floats) -> Floats:
    """p(exploit | state before, what moves it): pi_00, pi_01, pi_10, pi_11 (4, J) to (2, 4, J)."""
    explore = [pi[0], pi[1], np.zeros_like(pi[0]), np.full_like(pi[0], 0.5)]
    exploit = [pi[2], pi[3], np.ones_like(pi[0]), np.full_like(pi[0], 0.5)]
    return np.array([explore, exploit])


@nb.njit(cache=True, error_model="numpy", **ONLY_CALLED)
def _filter(rows: Any, emission: Any, transition: Any, often: Any, out: Any) -> None:
    """log p(choices | theta_j) of one participant: rows (B, T, 2 K), emission (3 K + 2, J), transition (2, 4, J) in, out (J,).

    The innermost loop runs over nodes, so that the processor handles several at once. Every so `often` all are divided by the
    largest, lest they vanish.
    """
    blocks, trials, _ = rows.shape
    explore, exploit = np.full(out.size, 0.5), np.full(out.size, 0.5)
    log_scale, steps = 0.0, 0
    for b in range(blocks):
        for t in range(trials):
            if rows[b, t, 0] == MISSED:
                continue
            seen_explore, seen_exploit = emission[rows[b, t, 0]], emission[rows[b, t, 1]]
            move, stay = transition[0, rows[b, t, 2]], transition[1, rows[b, t, 2]]
            for j in range(out.size):
                now = explore[j] * move[j] + exploit[j] * stay[j]
                explore[j] = (explore[j] * (1.0 - move[j]) + exploit[j] * (1.0 - stay[j])) * seen_explore[j]
                exploit[j] = now * seen_exploit[j]
            steps += 1
            if steps % often == 0:
                log_scale += _rescale(explore, exploit)
    for j in range(out.size):
        out[j] = log_scale + np.log(explore[j] + exploit[j])


@nb.njit(cache=True, error_model="numpy", **ONLY_CALLED)
def _rescale(explore: Any, exploit: Any) -> Any:
    """Divide by the largest of all nodes; returns its log. What is 150 orders of magnitude below it, and slow to compute with, is 0."""
    largest = 0.0
    for j in range(explore.size):
        largest = max(largest, explore[j] + exploit[j])
    if largest == 0.0:
        return 0.0
    for values in (explore, exploit):
        for j in range(values.size):
            values[j] = values[j] / largest if values[j] > 1e-150 * largest else 0.0
    return np.log(largest)


@nb.njit(cache=True, nogil=True)
def _filter_each(rows: Any, out: Any, emission: Any, transition: Any, often: Any) -> None:
    """Every participant, rows (N, B, T, 2 K), out (N, J), at parameters of their own or the same ones: emission (N or 1, 3 K + 2, J),
    transition (N or 1, 2, 4, J)."""
    for i in range(len(rows)):
        own = i % len(emission)
        _filter(rows[i], emission[own], transition[own], often, out[i])


_NODES, _NODE_CHUNK, _CHUNK = 8192, 512, 1024


@lru_cache(maxsize=1)
def _nodes() -> Floats:
    """The Sobol points of (gamma, pi_00, pi_01, pi_10, pi_11), (5, J); always the same ones."""
    from scipy.stats import qmc

    points = qmc.Sobol(5, scramble=True, seed=2021).random(_NODES)
    return np.ascontiguousarray(points.T)


@dataclass(frozen=True)
class GLS(BanditModel):
    """Generalized latent state.

    Arguments:
        convention: "paper", or "released" for the latent dynamics of the authors' released code.
    """

    convention: Convention = "paper"

    name: ClassVar[str] = "gls"
    _choose: ClassVar = choose
    _describe: ClassVar = describe

    @property
    def parameters(self) -> Mapping[str, Prior]:
        return {name: Uniform() for name in ("gamma", "pi_00", "pi_01", "pi_10", "pi_11")}

    def log_likelihood(self, parameters: Parameters, behavior: Behavior, designs: Floats, task: Task) -> Floats:
        theta = theta_of(self, parameters, len(behavior)).T
        rows, arms = self._rows(behavior, task)
        emission, transition = emissions(theta[0], arms), transitions(theta[1:])
        out = np.empty((len(rows), 1))
        each = (np.ascontiguousarray(np.moveaxis(table, -1, 0)[..., None]) for table in (emission, transition))
        in_threads(lambda *slices: _filter_each(*slices, 1), len(rows), (rows, out, *each))
        return out[:, 0]

    def log_evidence(self, behavior: Behavior, designs: Floats, task: Task) -> Floats:
        return np.concatenate([_log_mean(part) for part in self._at_nodes(behavior, task)])

    def exact_posterior(self, behavior: Behavior, designs: Floats, task: Task) -> ExactPosterior:
        with np.errstate(invalid="ignore"):
            weights = np.concatenate([np.exp(part - _log_mean(part)[:, None]) / _NODES for part in self._at_nodes(behavior, task)])
        return ExactPosterior(dict(zip(self.parameters, _nodes(), strict=True)), dict.fromkeys(self.parameters, weights))

    def _at_nodes(self, behavior: Behavior, task: Task) -> Iterator[Floats]:
        """log p(choices | theta_j) at all nodes, (n, J) for one chunk of participants after another."""
        rows, arms = self._rows(behavior, task)
        chunks = [slice(start, start + _NODE_CHUNK) for start in range(0, _NODES, _NODE_CHUNK)]  # small enough for the processor's cache
        tables = [(emissions(_nodes()[0, part], arms)[None], transitions(_nodes()[1:, part])[None]) for part in chunks]

        def fill(rows: Any, out: Any) -> None:
            for part, (emission, transition) in zip(chunks, tables, strict=True):
                _filter_each(rows, out[:, part], emission, transition, 16)

        for start in range(0, max(len(rows), 1), _CHUNK):
            out = np.empty((len(rows[start : start + _CHUNK]), _NODES))
            in_threads(fill, len(out), (rows[start : start + _CHUNK], out))
            yield out

    def _rows(self, behavior: Behavior, task: Task) -> tuple[Descriptions, int]:
        """How each choice came about in each state, and what moved the state, (N, B, T, 2 K); and K."""
        rows, arms = self._described(behavior, task)
        rows[rows[..., 0] == FIRST, :3] = FIRST, FIRST, STARTS
        return rows, arms


def _log_mean(log_values: Floats) -> Floats:
    """log of the mean of exp over the nodes, (n, J) to (n,); -inf where all are zero. Several times as fast as scipy's logsumexp."""
    largest = np.maximum(log_values.max(axis=1), -1e300)
    with np.errstate(divide="ignore"):
        return np.asarray(largest + np.log(np.exp(log_values - largest[:, None]).mean(axis=1)))
