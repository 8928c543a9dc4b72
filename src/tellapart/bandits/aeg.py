"""AEG: auto-regressive epsilon-greedy.

With probability epsilon explore: the previous arm with probability phi + (1 - phi) / K, each other arm (1 - phi) / K.
Otherwise be greedy: the candidates are the m arms of maximal expected reward. If the previous arm is a candidate it has
probability phi + (1 - phi) / m and each other candidate (1 - phi) / m; if it is not, each candidate has 1 / m.

The expected reward is (1 + w) / (2 + w + l); by the convention "released" it is (1 + w) / (1 + w + l).

Likelihood: a choice is of one of five kinds, given m and K,

    0  another arm than the previous one, no candidate       epsilon (1 - phi) / K
    1  another arm, a candidate, the previous one is not      epsilon (1 - phi) / K + (1 - epsilon) / m
    2  another arm, a candidate, and so is the previous one   epsilon (1 - phi) / K + (1 - epsilon) (1 - phi) / m
    3  the previous arm, no candidate                         epsilon (phi + (1 - phi) / K)
    4  the previous arm, a candidate                          epsilon (phi + (1 - phi) / K) + (1 - epsilon) (phi + (1 - phi) / m)

so that the counts of kinds say all. Each factor is linear in epsilon and in phi: over the unit square Gauss-Legendre
points with twice their number above the number of trials integrate the likelihood without error.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Iterator, Mapping

import numba as nb
import numpy as np
from numpy.typing import NDArray

from ..behavior import Behavior
from ..models.base import ExactPosterior, Floats, Parameters
from ..models.compiled import ONLY_CALLED
from ..models.kernel import theta_of
from ..models.logsumexp import logsumexp
from ..models.streams import uniform
from ..priors import Prior, Uniform
from ..tasks.base import Task
from .compiled import MISSED, Descriptions, count_from, pick
from .model import BanditModel, Convention


@nb.njit(cache=True, forceinline=True, **ONLY_CALLED)
def best_expected(past: Any, released: Any, scratch: Any) -> Any:
    """Write the expected reward of each arm into `scratch`; return the largest."""
    best, prior = 0.0, 1.0 if released else 2.0
    for k in range(scratch.size):
        scratch[k] = (1.0 + past.wins[k]) / (prior + past.wins[k] + past.losses[k])
        best = max(best, scratch[k])
    return best


@nb.njit(cache=True, forceinline=True, **ONLY_CALLED)
def choose(past: Any, theta: Any, released: Any, memory: Any, scratch: Any, stream: Any) -> Any:
    """Explore or exploit; theta = (epsilon, phi)."""
    best = best_expected(past, released, scratch)
    least = 0.0 if uniform(stream) < theta[0] else best  # to explore is to be content with any arm
    if uniform(stream) < theta[1] and scratch[past.previous] >= least:
        return past.previous
    return pick(scratch, least, True, stream)


@nb.njit(cache=True, forceinline=True, **ONLY_CALLED)
def describe(past: Any, choice: Any, released: Any, scratch: Any, row: Any) -> None:
    """One number: 1 + kind * K + m - 1."""
    best = best_expected(past, released, scratch)
    if choice == past.previous:
        kind = 4 if scratch[choice] == best else 3
    elif scratch[choice] == best:
        kind = 2 if scratch[past.previous] == best else 1
    else:
        kind = 0
    row[0] = 1 + kind * scratch.size + count_from(scratch, best) - 1


def log_probabilities(epsilon: Floats, phi: Floats, arms: int) -> Floats:
    """log p of every kind of choice, the first of a block in front: parameters (J,) to (1 + 5 K, J)."""
    explore, away = epsilon * (phi + (1 - phi) / arms), epsilon * (1 - phi) / arms
    rows = [np.full_like(epsilon, 1 / arms)]
    for kind in range(5):
        for m in range(1, arms + 1):
            greedy = (0 * phi, 1 / m + 0 * phi, (1 - phi) / m, 0 * phi, phi + (1 - phi) / m)[kind]
            rows.append((away if kind < 3 else explore) + (1 - epsilon) * greedy)
    with np.errstate(divide="ignore"):
        return np.log(np.stack(rows))


def _counts(kinds: Descriptions, arms: int) -> Floats:
    """How often each kind of choice occurs, (N, B, T) to (N, 1 + 5 K)."""
    return np.stack([(kinds == kind).sum((1, 2)) for kind in range(1 + 5 * arms)], axis=1).astype(np.float64)


def _square(points: int) -> tuple[Floats, Floats, NDArray[np.intp]]:
    """Gauss-Legendre nodes (J,) on (0, 1), and over the unit square log weights (J J,) and the node of each axis, (2, J J)."""
    nodes, weights = np.polynomial.legendre.leggauss(points)
    index = np.indices((points, points), dtype=np.intp).reshape(2, -1)
    return (nodes + 1) / 2, np.log(weights[index[0]] * weights[index[1]] / 4), index


_MOST_POINTS, _POSTERIOR_POINTS, _CHUNK = 128, 96, 1024


@dataclass(frozen=True)
class AEG(BanditModel):
    """Auto-regressive epsilon-greedy.

    Arguments:
        convention: "paper", or "released" for the expected reward of the authors' released code.
    """

    convention: Convention = "paper"

    name: ClassVar[str] = "aeg"
    _choose: ClassVar = choose
    _describe: ClassVar = describe

    @property
    def parameters(self) -> Mapping[str, Prior]:
        return {"epsilon": Uniform(), "phi": Uniform()}

    def log_likelihood(self, parameters: Parameters, behavior: Behavior, designs: Floats, task: Task) -> Floats:
        epsilon, phi = theta_of(self, parameters, len(behavior)).T
        kinds, arms = self._kinds(behavior, task)
        terms = log_probabilities(epsilon, phi, arms)[kinds, np.arange(len(kinds))[:, None, None]]
        return np.asarray(np.where(kinds == MISSED, 0.0, terms).sum((1, 2)))

    def log_evidence(self, behavior: Behavior, designs: Floats, task: Task) -> Floats:
        points = int(min(behavior.shape[1] * behavior.shape[2] // 2 + 1, _MOST_POINTS))
        return np.concatenate([logsumexp(part, axis=1) for part in self._joint(behavior, task, points)])

    def exact_posterior(self, behavior: Behavior, designs: Floats, task: Task) -> ExactPosterior:
        points = _POSTERIOR_POINTS
        epsilon, phi = [], []
        for part in self._joint(behavior, task, points):
            weights = np.exp(part - logsumexp(part, axis=1, keepdims=True)).reshape(-1, points, points)
            epsilon.append(weights.sum(2))
            phi.append(weights.sum(1))
        nodes = _square(points)[0]
        return ExactPosterior({"epsilon": nodes, "phi": nodes}, {"epsilon": np.concatenate(epsilon), "phi": np.concatenate(phi)})

    def _joint(self, behavior: Behavior, task: Task, points: int) -> Iterator[Floats]:
        """log of weight times likelihood at the points of the unit square, (n, J J) for one chunk of participants after another."""
        kinds, arms = self._kinds(behavior, task)
        nodes, log_weights, (first, second) = _square(points)
        counts, table = _counts(kinds, arms), log_probabilities(nodes[first], nodes[second], arms)
        for start in range(0, max(len(counts), 1), _CHUNK):
            yield counts[start : start + _CHUNK] @ table + log_weights

    def _kinds(self, behavior: Behavior, task: Task) -> tuple[Descriptions, int]:
        """The kind of each choice, (N, B, T), and K."""
        rows, arms = self._described(behavior, task)
        return rows[..., 0], arms
