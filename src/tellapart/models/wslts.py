"""WSLTS: win-stay, lose-Thompson-sample.

After a win stay with probability gamma_w; after a loss shift with probability gamma_l; otherwise the opposite. A shift
is Thompson sampling among the *other* arms: draw x_k ~ Beta((1 + w_k)^lambda, (1 + l_k)^lambda) for every arm but the
previous one and take the largest.

A Beta(a, b) draw has odds Gamma(a) / Gamma(b), and the arm of the largest odds is the one to take. The exponent can be large:
where a and b are, nothing is raised to a power. With a = (1 + w)^lambda and b = (1 + l)^lambda,

    logit x = lambda log((1 + w) / (1 + l)) + e_a - e_b,      e_a = log(Gamma(a) draw) - log a,

and two arms are compared by the difference of the two terms apart, so that arms of equal odds differ by noise alone
however small it is.

Likelihood: the numbers of stays and shifts after wins and losses enter as powers,

    p(choices | theta) = gamma_w^a (1 - gamma_w)^b gamma_l^c (1 - gamma_l)^d  prod over shifts of P(x_choice is the largest),

so that the posterior is a product of Beta(a + 1, b + 1), Beta(c + 1, d + 1) and a one-dimensional posterior of lambda, whose
integral is the trapezoid rule in log lambda (for a smooth integrand that dies away on both sides it converges faster than any power).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Mapping

import numba as nb
import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import betaln, logsumexp, xlog1py, xlogy

from ..behavior import Behavior
from ..priors import LogNormal, Prior, Uniform
from ..tasks.base import Task
from .bandit import BanditModel
from .base import ExactPosterior, Floats, Parameters
from .compiled import bandit_simulator, standard_normal, uniform
from .replay import FIRST, bandit_replay
from .thompson import probability_largest

_LOGS = np.log1p(np.arange(256.0))
_NEEDLE = 20.0
"""log a from which a Gamma(a) draw differs so little from a that the difference is computed by itself."""


@nb.njit(cache=True, forceinline=True)
def log_one_plus(count: Any) -> Any:
    """log(1 + count), looked up for the counts that occur."""
    return _LOGS[int(count)] if count < 256.0 else np.log1p(count)


@nb.njit(cache=True, forceinline=True)
def surely_accepted(c: Any, x: Any) -> Any:
    """A lower bound of exp(log_acceptance)."""
    s = c * x
    return 1.0 - (0.0834 + 0.069 * (abs(s) - s)) * (s * s) * (x * x)


@nb.njit(cache=True, forceinline=True)
def log_acceptance(c: Any, d: Any, x: Any) -> Any:
    """log of the probability at which d (1 + c x)^3, for a standard normal x, is accepted as a Gamma draw."""
    v = 1.0 + c * x
    return 0.5 * x * x + d * (1.0 - v * v * v + 3.0 * np.log(v)) if v > 0.0 else -np.inf


@nb.njit(cache=True, forceinline=True)
def gamma(c: Any, d: Any, stream: Any) -> Any:
    """A Gamma(a) draw for a >= 1, given d = a - 1/3 and c = 1 / (3 sqrt(d)); Marsaglia and Tsang (2000).

    Their test that spares the logarithms is u < 1 - 0.0331 x^4 for every a. This one lets more pass, and ever more as a grows; what
    passes would be accepted anyway (a test compares the two on a grid), and what has v <= 0 does not pass.
    """
    while True:
        x, u = standard_normal(stream), uniform(stream)
        if u < surely_accepted(c, x) or np.log(u) < log_acceptance(c, d, x):
            v = 1.0 + c * x
            return d * (v * v * v)


@nb.njit(cache=True, forceinline=True)
def gamma_of_count(count: Any, power: Any, memory: Any, stream: Any) -> Any:
    """A Gamma((1 + count)^power) draw; what depends on the count alone is computed once a participant."""
    place = 2 * int(count)
    if memory[place] == 0.0:
        d = np.exp(power * log_one_plus(count)) - 1.0 / 3.0
        memory[place], memory[place + 1] = 1.0 / (3.0 * np.sqrt(d)), d
    return gamma(memory[place], memory[place + 1], stream)


@nb.njit(cache=True)
def centred_log_gamma(log_a: Any, stream: Any) -> Any:
    """log(Gamma(a) draw) - log a for a >= 1, given log a."""
    if log_a < _NEEDLE:
        d = np.exp(log_a) - 1.0 / 3.0
        return np.log(gamma(1.0 / (3.0 * np.sqrt(d)), d, stream)) - log_a
    # 1 / sqrt(a); the limit keeps it above zero, so that even then there is noise to tell arms of equal odds apart
    root = np.exp(-0.5 * min(log_a, 1300.0))
    third = root * root / 3.0
    # the proposal of `gamma`, accepted with probability 1 - O(1 / a) by a test that would have lost its digits
    return 3.0 * np.log1p(root * standard_normal(stream) / (3.0 * np.sqrt(1.0 - third))) + np.log1p(-third)


@nb.njit(cache=True)
def thompson_among_needles(previous: Any, wins: Any, losses: Any, power: Any, stream: Any) -> Any:
    """Thompson sampling among the other arms where a and b are too large for products: on the logit scale."""
    best, best_noise = -1, 0.0
    for k in range(wins.size):
        if k == previous:
            continue
        noise = centred_log_gamma(power * log_one_plus(wins[k]), stream) - centred_log_gamma(power * log_one_plus(losses[k]), stream)
        if best >= 0:
            odds_ratio = ((1.0 + wins[k]) * (1.0 + losses[best])) / ((1.0 + losses[k]) * (1.0 + wins[best]))
            if power * np.log(odds_ratio) + (noise - best_noise) <= 0.0:
                continue
        best, best_noise = k, noise
    return best


@nb.njit(cache=True, forceinline=True)
def choose(trial: Any, previous: Any, won: Any, wins: Any, losses: Any, theta: Any, memory: Any, scratch: Any, stream: Any) -> Any:
    """Stay or shift, and where to; theta = (gamma_w, gamma_l, lambda)."""
    if uniform(stream) < (theta[0] if won else 1.0 - theta[1]):
        return previous
    arms = wins.size
    if arms == 2:
        return 1 - previous
    if theta[2] * log_one_plus(trial) > _NEEDLE:
        return thompson_among_needles(previous, wins, losses, theta[2], stream)
    choice, best = previous, 0.0
    for step in range(1, arms):
        k = previous + step
        k = k - arms if k >= arms else k
        odds = gamma_of_count(wins[k], theta[2], memory, stream) / gamma_of_count(losses[k], theta[2], memory, stream)
        choice = k if odds > best else choice
        best = odds if odds > best else best
    return choice


WIN_STAY, WIN_SHIFT, LOSS_STAY, LOSS_SHIFT = 1, 2, 3, 4


@nb.njit(cache=True, forceinline=True)
def describe(previous: Any, won: Any, wins: Any, losses: Any, choice: Any, scratch: Any, row: Any) -> None:
    """Stay or shift after win or loss; after a shift also the rank of the choice among the other arms, and their wins and losses.

    The other arms are in ascending order of (wins, losses), so that relabelled arms give the same description.
    """
    if choice == previous:
        row[0] = WIN_STAY if won else LOSS_STAY
        return
    row[0] = WIN_SHIFT if won else LOSS_SHIFT
    for k in range(wins.size):
        if k == previous:
            continue
        rank = 0
        for j in range(wins.size):
            ahead = wins[j] < wins[k] or (wins[j] == wins[k] and (losses[j] < losses[k] or (losses[j] == losses[k] and j < k)))
            rank += j != previous and ahead
        row[2 + 2 * rank] = int(wins[k])
        row[3 + 2 * rank] = int(losses[k])
        if k == choice:
            row[1] = rank


@dataclass(frozen=True)
class _Transcript:
    """What the likelihood needs of N participants.

    Arguments:
        counts: How many first choices, wins followed by stay and shift, losses followed by stay and shift, (N, 5).
        participant: Whose each of the S shifts is, ascending, (S,).
        rank: Which of the other arms was chosen, (S,).
        wins, losses: Of the other arms, (S, K - 1).
    """

    counts: Floats
    participant: NDArray[np.intp]
    rank: NDArray[np.int32]
    wins: NDArray[np.int32]
    losses: NDArray[np.int32]


_replay = bandit_replay(describe)


def _transcript(behavior: Behavior, arms: int) -> _Transcript:
    n, blocks, trials = behavior.shape
    rows = _replay(behavior, arms, 2 * arms).reshape(n, blocks * trials, 2 * arms)
    kinds = rows[:, :, 0]
    counts = np.stack([(kinds == kind).sum(1) for kind in (FIRST, WIN_STAY, WIN_SHIFT, LOSS_STAY, LOSS_SHIFT)], axis=1)
    shifts = (kinds == WIN_SHIFT) | (kinds == LOSS_SHIFT)
    shifted = rows[shifts]
    return _Transcript(counts.astype(np.float64), np.nonzero(shifts)[0], shifted[:, 1], shifted[:, 2::2], shifted[:, 3::2])


def _distinct(columns: NDArray[np.int32]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """A row of each distinct kind, (C,), and the kind of every row, (S,); columns (S, D) hold whole numbers from 0."""
    kind = np.zeros(len(columns), np.int64)
    first = np.zeros(0, np.intp)
    for column in columns.T:
        _, first, kind = np.unique(kind * (int(column.max(initial=0)) + 1) + column, return_index=True, return_inverse=True)
    return first, kind


@nb.njit(cache=True, nogil=True)
def _add_rows(participant: Any, index: Any, table: Any, out: Any) -> None:
    """out[participant] += table[index], row by row."""
    for s in range(participant.size):
        row, into = table[index[s]], out[participant[s]]
        for j in range(row.size):
            into[j] += row[j]


_NODES, _REACH, _BETA_POINTS, _CHUNK = 56, 4.9, 128, 8192

_simulate = bandit_simulator(choose, lanes=1)


@dataclass(frozen=True)
class WSLTS(BanditModel):
    """Win-stay, lose-Thompson-sample."""

    name: ClassVar[str] = "wslts"
    _simulators: ClassVar = {"paper": _simulate}

    @property
    def parameters(self) -> Mapping[str, Prior]:
        return {"gamma_w": Uniform(), "gamma_l": Uniform(), "lambda": LogNormal()}

    def log_likelihood(self, parameters: Parameters, behavior: Behavior, design: ArrayLike, task: Task) -> Floats:
        values, arms = self._recorded(parameters, behavior, task)
        seen = _transcript(behavior, arms)
        first, win_stay, win_shift, loss_stay, loss_shift = seen.counts.T
        total = -first * np.log(arms) + xlogy(win_stay, values["gamma_w"]) + xlog1py(win_shift, -values["gamma_w"])
        total += xlogy(loss_shift, values["gamma_l"]) + xlog1py(loss_stay, -values["gamma_l"])
        if arms > 2:
            probabilities, _ = probability_largest(seen.wins, seen.losses, values["lambda"][seen.participant, None])
            with np.errstate(divide="ignore"):
                terms = np.log(probabilities[np.arange(len(seen.rank)), 0, seen.rank])
            total += np.bincount(seen.participant, terms, minlength=len(behavior))
        return np.asarray(total)

    def log_evidence(self, behavior: Behavior, design: ArrayLike, task: Task) -> Floats:
        arms = self._arms(behavior, task)
        return np.concatenate([self._log_evidence(part, arms) for part in _chunks(behavior)])

    def _log_evidence(self, behavior: Behavior, arms: int) -> Floats:
        seen = _transcript(behavior, arms)
        first, win_stay, win_shift, loss_stay, loss_shift = seen.counts.T
        stays = betaln(win_stay + 1, win_shift + 1) + betaln(loss_shift + 1, loss_stay + 1)
        return np.asarray(logsumexp(self._at_nodes(seen, arms), axis=1) + stays - first * np.log(arms))

    def exact_posterior(self, behavior: Behavior, design: ArrayLike, task: Task) -> ExactPosterior:
        arms = self._arms(behavior, task)
        parts = [_transcript(part, arms) for part in _chunks(behavior)]
        log_lambda = np.concatenate([self._at_nodes(part, arms) for part in parts])
        _, win_stay, win_shift, loss_stay, loss_shift = np.concatenate([part.counts for part in parts]).T
        points, lengths = np.polynomial.legendre.leggauss(_BETA_POINTS)
        points = (points + 1) / 2
        weights = {
            "gamma_w": _beta_weights(win_stay, win_shift, points, lengths),
            "gamma_l": _beta_weights(loss_shift, loss_stay, points, lengths),
            "lambda": np.exp(log_lambda - logsumexp(log_lambda, axis=1, keepdims=True)),
        }
        return ExactPosterior({"gamma_w": points, "gamma_l": points, "lambda": np.exp(_log_lambda())}, weights)

    def _at_nodes(self, seen: _Transcript, arms: int) -> Floats:
        """log of prior weight times the probability of all shifts, at the nodes of lambda; (N, J)."""
        nodes = _log_lambda()
        log_weights = -0.5 * nodes**2
        out = np.tile(log_weights - logsumexp(log_weights), (len(seen.counts), 1))
        if arms > 2 and len(seen.rank):
            row, kind = _distinct(np.concatenate([seen.wins, seen.losses], axis=1))
            powers = np.broadcast_to(np.exp(nodes), (len(row), len(nodes)))
            probabilities, _ = probability_largest(seen.wins[row], seen.losses[row], powers)
            with np.errstate(divide="ignore"):
                table = np.log(np.ascontiguousarray(probabilities.transpose(0, 2, 1))).reshape(-1, len(nodes))
            _add_rows(seen.participant, kind * (arms - 1) + seen.rank, table, out)
        return out


def _log_lambda() -> Floats:
    """The nodes of log lambda, (J,): all but a millionth of its standard normal prior lies between the first and the last."""
    return np.linspace(-_REACH, _REACH, _NODES)


def _beta_weights(successes: Floats, failures: Floats, points: Floats, lengths: Floats) -> Floats:
    """The posterior Beta(successes + 1, failures + 1), as weights of the points (J,); (N,) to (N, J)."""
    log_weights = np.multiply.outer(successes, np.log(points)) + np.multiply.outer(failures, np.log1p(-points)) + np.log(lengths)
    return np.asarray(np.exp(log_weights - logsumexp(log_weights, axis=1, keepdims=True)))


def _chunks(behavior: Behavior) -> list[Behavior]:
    """The participants in chunks whose tables fit in memory."""
    return [behavior[start : start + _CHUNK] for start in range(0, max(len(behavior), 1), _CHUNK)]
