"""WSLTS: win-stay, lose-Thompson-sample.

After a win stay with probability gamma_w; after a loss shift with probability gamma_l; otherwise the opposite. A shift
is Thompson sampling among the *other* arms: draw x_k ~ Beta((1 + w_k)^lambda, (1 + l_k)^lambda) for every arm but the
previous one and take the largest.

The odds of a Beta(a, b) draw are Gamma(a) / Gamma(b). The exponent can be large, so nothing is raised to a power: with a = (1 + w)^lambda
and b = (1 + l)^lambda,

    logit x = lambda log((1 + w) / (1 + l)) + e_a - e_b,      e_a = log(Gamma(a) draw) - log a.

Two arms are compared by the differences of the first term and of the noise e_a - e_b, added last: arms of equal odds then differ by noise
alone, however small it is.

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
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.special import betaln, log_softmax, softmax, xlog1py, xlogy

from ..behavior import Behavior
from ..models.base import ExactPosterior, Floats, Parameters
from ..models.compiled import ONLY_CALLED
from ..models.kernel import theta_of
from ..models.logsumexp import logsumexp
from ..models.streams import log_gamma_noise, uniform
from ..priors import LogNormal, Prior, Uniform
from ..tasks.base import Task
from .compiled import FIRST, Descriptions
from .model import BanditModel
from .thompson import probability_largest


@nb.njit(cache=True, forceinline=True, **ONLY_CALLED)
def choose(past: Any, theta: Any, released: Any, memory: Any, scratch: Any, stream: Any) -> Any:
    """Stay or shift, and where to; theta = (gamma_w, gamma_l, lambda)."""
    gamma_w, gamma_l, power = theta[0], theta[1], theta[2]
    if uniform(stream) < (gamma_w if past.won else 1.0 - gamma_l):
        return past.previous
    best, best_odds, best_noise = past.previous, 1.0, -np.inf
    for k in range(past.wins.size):
        if k != past.previous:
            wins, losses = 1.0 + past.wins[k], 1.0 + past.losses[k]
            odds, noise = wins / losses, log_gamma_noise(power * np.log(wins), stream) - log_gamma_noise(power * np.log(losses), stream)
            if power * np.log(odds / best_odds) + (noise - best_noise) > 0.0:
                best, best_odds, best_noise = k, odds, noise
    return best


WIN_STAY, WIN_SHIFT, LOSS_STAY, LOSS_SHIFT = 1, 2, 3, 4


@nb.njit(cache=True, forceinline=True, **ONLY_CALLED)
def describe(past: Any, choice: Any, released: Any, scratch: Any, row: Any) -> None:
    """Stay or shift after win or loss; after a shift also the rank of the choice among the other arms, and their wins and losses.

    The other arms are in ascending order of (wins, losses), so that relabelled arms give the same description.
    """
    if choice == past.previous:
        row[0] = WIN_STAY if past.won else LOSS_STAY
        return
    row[0] = WIN_SHIFT if past.won else LOSS_SHIFT
    for k in range(scratch.size):
        rank = 0
        for j in range(scratch.size):
            rank += j != past.previous and (past.wins[j], past.losses[j], j) < (past.wins[k], past.losses[k], k)
        if k != past.previous:
            row[2 + 2 * rank], row[3 + 2 * rank] = past.wins[k], past.losses[k]
        if k == choice:
            row[1] = rank


@dataclass(frozen=True)
class _Transcript:
    """What the likelihood needs of N participants.

    Arguments:
        arms: K.
        counts: How many first choices, wins followed by stay and shift, losses followed by stay and shift, (5, N).
        participant: Whose each of the S shifts is, (S,).
        rank: Which of the other arms was chosen, (S,).
        others: Wins and losses of the other arms, (S, 2 (K - 1)).
    """

    arms: int
    counts: Floats
    participant: NDArray[np.intp]
    rank: Descriptions
    others: Descriptions


_LOG_LAMBDA = np.linspace(-4.9, 4.9, 56)
"""The nodes of log lambda, (J,): all but a millionth of its standard normal prior lies between the first and the last."""
_BETA_POINTS = 128


@dataclass(frozen=True)
class WSLTS(BanditModel):
    """Win-stay, lose-Thompson-sample."""

    name: ClassVar[str] = "wslts"
    _choose: ClassVar = choose
    _describe: ClassVar = describe

    @property
    def parameters(self) -> Mapping[str, Prior]:
        return {"gamma_w": Uniform(), "gamma_l": Uniform(), "lambda": LogNormal()}

    def log_likelihood(self, parameters: Parameters, behavior: Behavior, designs: Floats, task: Task) -> Floats:
        gamma_w, gamma_l, power = theta_of(self, parameters, len(behavior)).T
        seen = self._transcript(behavior, task)
        first, win_stay, win_shift, loss_stay, loss_shift = seen.counts
        stays = xlogy(win_stay, gamma_w) + xlog1py(win_shift, -gamma_w) + xlogy(loss_shift, gamma_l) + xlog1py(loss_stay, -gamma_l)
        shares = _log_largest(seen.others, power[seen.participant, None])[np.arange(len(seen.rank)), 0, seen.rank]
        return np.asarray(stays + np.bincount(seen.participant, shares, minlength=len(behavior)) - first * np.log(seen.arms))

    def log_evidence(self, behavior: Behavior, designs: Floats, task: Task) -> Floats:
        seen = self._transcript(behavior, task)
        first, win_stay, win_shift, loss_stay, loss_shift = seen.counts
        stays = betaln(win_stay + 1, win_shift + 1) + betaln(loss_shift + 1, loss_stay + 1)
        return np.asarray(logsumexp(_at_nodes(seen), axis=1) + stays - first * np.log(seen.arms))

    def exact_posterior(self, behavior: Behavior, designs: Floats, task: Task) -> ExactPosterior:
        seen = self._transcript(behavior, task)
        _, win_stay, win_shift, loss_stay, loss_shift = seen.counts
        points, lengths = np.polynomial.legendre.leggauss(_BETA_POINTS)
        points = (points + 1) / 2
        weights = {
            "gamma_w": _beta_weights(win_stay, win_shift, points, lengths),
            "gamma_l": _beta_weights(loss_shift, loss_stay, points, lengths),
            "lambda": softmax(_at_nodes(seen), axis=1),
        }
        return ExactPosterior({"gamma_w": points, "gamma_l": points, "lambda": np.exp(_LOG_LAMBDA)}, weights)

    def _transcript(self, behavior: Behavior, task: Task) -> _Transcript:
        rows, arms = self._described(behavior, task)
        kinds = rows[..., 0]
        counts = np.stack([(kinds == kind).sum((1, 2)) for kind in (FIRST, WIN_STAY, WIN_SHIFT, LOSS_STAY, LOSS_SHIFT)])
        shifts = (kinds == WIN_SHIFT) | (kinds == LOSS_SHIFT)
        return _Transcript(arms, counts.astype(np.float64), np.nonzero(shifts)[0], rows[shifts, 1], rows[shifts, 2:])


def _log_largest(others: Descriptions, powers: Floats) -> Floats:
    """log P(x_k is the largest) for each of the other arms: wins and losses (C, 2 (K - 1)), lambda (C, J), to (C, J, K - 1).

    Tails end at a probability of about 1e-15, and no arm is impossible: what is rarer counts as that rare.
    """
    probabilities, _ = probability_largest(others[:, ::2], others[:, 1::2], powers)
    return np.asarray(np.log(np.maximum(probabilities, 1e-15)))


def _at_nodes(seen: _Transcript) -> Floats:
    """log of prior weight times the probability of all shifts, at the nodes of lambda; (N, J)."""
    others, kind = np.unique(seen.others, axis=0, return_inverse=True)
    table = _log_largest(others, np.broadcast_to(np.exp(_LOG_LAMBDA), (len(others), _LOG_LAMBDA.size)))
    place = kind.reshape(-1) * (seen.arms - 1) + seen.rank
    shape = seen.counts.shape[1], len(others) * (seen.arms - 1)
    times = coo_array((np.ones(len(place)), (seen.participant, place)), shape).tocsr()
    return np.asarray(times @ table.transpose(0, 2, 1).reshape(-1, _LOG_LAMBDA.size) + log_softmax(-0.5 * _LOG_LAMBDA**2))


def _beta_weights(successes: Floats, failures: Floats, points: Floats, lengths: Floats) -> Floats:
    """The posterior Beta(successes + 1, failures + 1), as weights of the points (J,); (N,) to (N, J)."""
    return np.asarray(softmax(np.outer(successes, np.log(points)) + np.outer(failures, np.log1p(-points)) + np.log(lengths), axis=1))
