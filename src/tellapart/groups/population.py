"""Is there any population of people who follow the models that would look like this group?

People need not follow the prior: all may be alike, or half of them of one kind. So a population is fitted to the group: weights of
simulated people, of whatever model, that make the statistics T of the group most probable (nonparametric maximum likelihood by EM,
Laird 1978). For that the law of T given a person's parameters is taken as normal, with a mean that was learned from simulations.

Each person then differs from what is expected of somebody with such statistics, r = T - E[mean | T], and the group by the averages of r
and of r squared; and it is more or less probable.

Whether it differs much is told by groups of new people, simulated with the parameters of the fitted population and fitted anew, as the
group was. That the law is not normal, and its mean not quite known, is as untrue for them: it makes the test weaker, not wrong.

A group can be far in one statistic, or a little in many that go together; the p-value of averages is that of the better of both tests, and
accounts for there being two. But of people who are all alike averages are known so well that they are off from what any of the simulated
people would do, however right the model is. How probable the group is hardly feels that. So both have to speak against the models: the
group's p-value is that of the averages, or a fifth of the share of groups that are as improbable, whichever is larger.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Callable, Sequence

import numba as nb
import numpy as np

from .frequencies import Counts, Floats

SUPPORT = 300
"""Simulated people of each model that a population can consist of."""

SWEEPS = (20, 40, 140)
"""Sweeps of EM. After each number of them, whoever has less than half of one person's weight, had all as much, is left out: most are."""

GROUPS, CLEAR = (100, 300), 0.1
"""Groups drawn from a population: the first number if their p-value is above this one, else the second."""

GUARD = 0.2
"""Averages speak against the models at 1 % only if the group is also among the 5 % that are least probable."""

LARGEST = 100
"""People of a group who are looked at, at most: drawn by lot from a larger one."""

Again = Callable[[int, Counts, Counts], Floats]
"""Statistics (k, S) of new people of a model, with the parameters of given simulated ones, in the place of given people of the group."""


@dataclass(frozen=True, eq=False)
class Fit:
    """A group beside the population that comes nearest.

    Arguments:
        people: Who were looked at, (n,).
        observed: Averages of S statistics, (S,).
        expected: Averages that the population gives to people with such statistics, (S,).
        low, high: How near to that they are in 95 % of groups drawn from it, (S,).
        z: How far the averages are from expected, in standard deviations of such groups, (S,).
        p: How many such groups are as far in any statistic; at least a fifth of those that are as improbable.
    """

    people: Counts
    observed: Floats
    expected: Floats
    low: Floats
    high: Floats
    z: Floats
    p: float


class Population:
    """What people of each model are like.

    Arguments:
        statistics: Of simulated people of each model, (n, S).
        parameters: Theirs, on the normal scale, (n, P).
        contexts: What else their statistics depend on: designs, and how much was recorded, (n, C).
    """

    def __init__(
        self, statistics: Sequence[Floats], parameters: Sequence[Floats], contexts: Sequence[Floats], rng: np.random.Generator
    ) -> None:
        everybody, around = np.concatenate(statistics), np.concatenate(contexts)
        self._centre, self._scale = everybody.mean(0), np.maximum(everybody.std(0), 1e-9)
        self._usual, spread = around.mean(0), around.std(0)
        self._unit = np.where(spread > 1e-9, 1 / np.maximum(spread, 1e-9), 0.0)
        pieces = zip(statistics, parameters, contexts, strict=True)
        self._laws = [_Law(self._told(t), z, self._context(c), rng) for t, z, c in pieces]

    def fit(self, statistics: Floats, contexts: Floats, again: Again, rng: np.random.Generator) -> Fit:
        """The population that is nearest to a group, and how near it is.

        Arguments:
            statistics: (N, S).
            contexts: (N, C).
        """
        people, size = np.sort(rng.permutation(len(statistics))[:LARGEST]), statistics.shape[1]
        nearest = _Nearest(self._laws, self._context(contexts[people]))
        weights, ours, far = nearest(self._told(statistics[people]))
        fits = [(ours, far)]
        for groups in GROUPS:
            drawn = nearest.drawn(weights, groups + 1 - len(fits), lambda m, places, who: again(m, places, people[who]), rng)
            fits += [nearest(self._told(group))[1:] for group in drawn]
            apart = np.stack([one for _, one in fits])
            p = max(_p_value(apart), GUARD * float(np.mean([log_p <= ours + 1e-9 for log_p, _ in fits])))
            if p > CLEAR:
                break
        usual, width = apart[1:].mean(0)[:size], np.maximum(apart[1:].std(0), 1e-9)[:size]
        observed, z, spread = statistics[people].mean(0), (far[:size] - usual) / width, width * self._scale
        expected = observed - z * spread
        return Fit(people, observed, expected, expected - 1.96 * spread, expected + 1.96 * spread, z, p)

    def _told(self, statistics: Floats) -> Floats:
        return np.asarray((statistics - self._centre) / self._scale)

    def _context(self, contexts: Floats) -> Floats:
        return np.asarray((contexts - self._usual) * self._unit)


class _Nearest:
    """Fits populations to groups of people in given contexts.

    Arguments:
        laws: Of M models.
        contexts: (N, C).
    """

    def __init__(self, laws: Sequence[_Law], contexts: Floats) -> None:
        different, where = np.unique(contexts, axis=0, return_inverse=True)
        places = where.ravel() if len(different) > 1 else np.zeros(1, np.intp)
        means = [[law.means(context) for law in laws] for context in different]
        self._n, self._laws, self._means = len(contexts), laws, np.stack([np.concatenate(one) for one in means])[places]
        white = [np.stack([one[m] @ law.root for one in means])[places] for m, law in enumerate(laws)]
        self._white = [(one, (one**2).sum(-1)) for one in white]
        self._model = np.repeat(np.arange(len(laws)), [len(law.support) for law in laws])
        self._place = np.concatenate([np.arange(len(law.support)) for law in laws])

    def __call__(self, told: Floats) -> tuple[Floats, float, Floats]:
        """For statistics (N, S): weights of the population (J,), the average log p, and averages of residuals and their squares, (2 S,)."""
        log_p = np.concatenate([law.log_p(told, *white) for law, white in zip(self._laws, self._white, strict=True)], axis=1).T
        highest = log_p.max(0)
        p = np.exp(log_p - highest)
        weights = _most_probable(p)
        kept = np.flatnonzero(weights)
        share = p[kept].T * weights[kept]
        each = share.sum(1)
        expected = ((share / each[:, None])[:, None] @ self._means[:, kept])[:, 0]
        residual = told - expected
        return weights, float((np.log(each) + highest).mean()), np.concatenate([residual.mean(0), (residual**2).mean(0)])

    def drawn(self, weights: Floats, groups: int, again: Again, rng: np.random.Generator) -> Floats:
        """Statistics of groups of new people from a population, (G, N, S)."""
        chosen = rng.choice(len(weights), groups * self._n, p=weights)
        who, model = np.tile(np.arange(self._n), groups), self._model[chosen]
        statistics = np.zeros((len(chosen), self._means.shape[-1]))
        for m in np.unique(model):
            statistics[model == m] = again(int(m), self._place[chosen[model == m]], who[model == m])
        return statistics.reshape(groups, self._n, -1)


@nb.njit(cache=True, error_model="numpy")  # type: ignore[untyped-decorator]
def _most_probable(p: Any) -> Any:
    """Weights (J,) of people that make a group most probable, by EM; p (J, N) of the group's data given each of them."""
    count, size = p.shape
    kept, weights, total = np.arange(count), np.full(count, 1.0 / count), np.empty(size)
    for sweeps in SWEEPS:
        for _ in range(sweeps):
            total[:] = 0.0
            for k in range(count):
                for n in range(size):
                    total[n] += weights[k] * p[kept[k], n]
            total[:] = 1.0 / (size * total)
            for k in range(count):
                gain = 0.0
                for n in range(size):
                    gain += total[n] * p[kept[k], n]
                weights[k] *= gain
        left = 0  # somebody stays for each person of the group, whose weight of 1 / size is shared by no more than all
        for k in range(count):
            if weights[k] > 0.5 / (size * p.shape[0]):
                kept[left], weights[left] = kept[k], weights[k]
                left += 1
        count = left
    everywhere = np.zeros(p.shape[0])
    everywhere[kept[:count]] = weights[:count] / weights[:count].sum()
    return everywhere


class _Law:
    """Statistics of one model's people, given their parameters and contexts.

    Arguments:
        told: Statistics, (n, S).
        z: Parameters on the normal scale, (n, P).
        contexts: (n, C).
    """

    def __init__(self, told: Floats, z: Floats, contexts: Floats, rng: np.random.Generator, width: int = 100) -> None:
        inputs = np.concatenate([z, contexts], axis=1)
        self._weights, self._offsets = rng.standard_normal((inputs.shape[1], width)), rng.standard_normal(width)
        features = self._features(inputs)
        self._map = ridge(features, told, 1e-3)
        self.support = z[:SUPPORT]
        covariance = np.atleast_2d(np.cov((told - features @ self._map).T))
        covariance += (0.02 * np.trace(covariance) / len(covariance) + 1e-9) * np.eye(len(covariance))
        self.root, self._log_det = np.linalg.cholesky(np.linalg.inv(covariance)), np.linalg.slogdet(covariance)[1]

    def means(self, context: Floats) -> Floats:
        """Of the people that a population can consist of, in a context (C,), (J, S)."""
        return np.asarray(self._features(np.concatenate([self.support, np.tile(context, (len(self.support), 1))], axis=1)) @ self._map)

    def log_p(self, told: Floats, white: Floats, lengths: Floats) -> Floats:
        """log p of statistics (N, S), (N, J), without a constant; of means times `root` (N or 1, J, S), with their squared lengths."""
        ours = told @ self.root
        product = ours @ white[0].T if len(white) == 1 else (white @ ours[..., None])[..., 0]
        return np.asarray(product - 0.5 * ((ours**2).sum(-1)[:, None] + lengths + self._log_det))

    def _features(self, inputs: Floats) -> Floats:
        """Smooth functions of inputs (n, P + C), of which a linear map is learned."""
        return np.concatenate([np.ones((len(inputs), 1)), inputs, np.tanh(inputs @ self._weights + self._offsets)], axis=1)


def ridge(features: Floats, target: Floats, penalty: float) -> Floats:
    """The linear map (F, S) from features (n, F) to targets (n, S) with a small penalty."""
    square = features.T @ features + penalty * len(features) * np.eye(features.shape[1])
    return np.asarray(np.linalg.solve(square, features.T @ target), np.float64)


def _p_value(apart: Floats) -> float:
    """How many groups are as far as the first, itself included, by their farthest value or by all together; (1 + G, 2 S)."""
    z = (apart - apart.mean(0)) / np.maximum(apart.std(0), 1e-9)
    together = np.linalg.inv(z.T @ z / len(z) + 0.1 * np.eye(z.shape[1]))
    best = np.minimum(_from_the_top(np.abs(z).max(1)), _from_the_top(np.einsum("gs,st,gt->g", z, together, z)))
    return float((best <= best[0]).mean())


def _from_the_top(values: Floats) -> Counts:
    """How many are as large, or larger, (G,)."""
    return np.asarray(len(values) - np.searchsorted(np.sort(values), values, side="left"), np.intp)
