"""The posterior of frequencies by importance sampling, for more people and models than the exact way can do.

A short Gibbs run (everybody's model given r, then r given the counts) gives counts c_1, …, c_J. The mixture of Dirichlet(alpha + c_j) is
close to the posterior, which is such a mixture itself. Draws from it are independent, and weighted by p(y | r) p(r) / mixture(r): their
average weight is p(y), without bias, and the spread between batches of draws says how large the Monte-Carlo error is. Batches are
added until it is as small as it should be.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numba as nb
import numpy as np
from scipy.special import gammaln

from ..models.logsumexp import logsumexp
from .frequencies import Counts, Floats, FrequencyPosterior

CHAINS, BURN_IN, THINNED, TIMES = 16, 200, 40, 6
"""Of the Gibbs run: independent chains, sweeps of each that are thrown away, sweeps between counts that are kept, how many those are."""

WIDER = 0.6
"""Counts are taken as if there were fewer people, so that a few of them cover the posterior without gaps."""

BATCH, FIRST, MOST = 8_000, 8, 80
"""Draws in a batch, and how many batches are made at least and at most."""


@dataclass(frozen=True, eq=False)
class WeightedFrequencies(FrequencyPosterior):
    """Weighted draws of frequencies.

    Arguments:
        alpha: Prior counts, (K,).
        draws: H batches of draws, (H, L, K).
        log_weights: log p(y, r) / proposal(r), (H, L).
    """

    alpha: Floats
    draws: Floats
    log_weights: Floats

    @property
    def log_evidence(self) -> float:  # type: ignore[override]
        return float(logsumexp(self.log_weights) - np.log(self.log_weights.size))

    @property
    def log_evidence_se(self) -> float:  # type: ignore[override]
        batches = np.exp(logsumexp(self.log_weights, axis=1) - np.log(self.log_weights.shape[1]) - self.log_evidence)
        return float(batches.std(ddof=1) / np.sqrt(len(batches)))

    def means(self) -> Floats:
        return np.asarray(np.einsum("hl,hlk->k", self._weights(), self.draws))

    def quantile(self, k: int, share: float) -> float:
        r, weights = self.draws[..., k].reshape(-1), self._weights().reshape(-1)
        order = np.argsort(r)
        return float(np.interp(share, np.cumsum(weights[order]) - 0.5 * weights[order], r[order]))

    def exceedance(self) -> Floats:
        return np.asarray(np.bincount(self.draws.argmax(-1).reshape(-1), self._weights().reshape(-1), len(self.alpha)), np.float64)

    def error(self) -> float:
        """From the influence of each batch on ratios of averages."""
        weights = self._weights()
        best = self.draws.argmax(-1)[..., None] == np.arange(len(self.alpha))
        each = np.concatenate([self.draws, best], axis=-1)
        centre = np.einsum("hl,hlk->k", weights, each)
        influence = np.einsum("hl,hlk->hk", weights, each - centre)
        return float(2 * np.sqrt((influence**2).sum(0) * len(each) / (len(each) - 1)).max())

    def sample(self, n: int, rng: np.random.Generator) -> Floats:
        return np.asarray(self.draws.reshape(-1, len(self.alpha))[rng.choice(self.log_weights.size, n, p=self._weights().reshape(-1))])

    def grouped(self, members: Counts) -> WeightedFrequencies:
        alpha = np.asarray(np.bincount(members, self.alpha), np.float64)
        draws = np.stack([self.draws[..., members == family].sum(-1) for family in range(len(alpha))], axis=-1)
        return WeightedFrequencies(alpha, draws, self.log_weights)

    def _weights(self) -> Floats:
        weights = np.exp(self.log_weights - self.log_weights.max())
        return np.asarray(weights / weights.sum())


def sampled_frequencies(evidence: Floats, constant: float, alpha: Floats, accuracy: float, seed: int) -> WeightedFrequencies:
    """The posterior of frequencies.

    Arguments:
        evidence: Of each person and model, up to a factor for each person, (N, K).
        constant: The sum of the logs of these factors.
        alpha: Prior counts, (K,).
        accuracy: Two standard errors that means and exceedance probabilities may have.
    """
    rng = np.random.default_rng(seed)
    a = alpha + WIDER * _gibbs(evidence, alpha, CHAINS, BURN_IN, THINNED, TIMES, rng).reshape(-1, len(alpha))
    draws: list[Floats] = []
    log_weights: list[Floats] = []
    while True:
        r = rng.standard_gamma(a[rng.integers(0, len(a), BATCH)]) + 1e-300
        r /= r.sum(-1, keepdims=True)
        draws.append(r)
        target = np.log(r @ evidence.T).sum(1) + _log_dirichlet(np.log(r), alpha[None])[:, 0]
        log_weights.append(constant + target - _log_sum(_log_dirichlet(np.log(r), a)) + np.log(len(a)))
        if len(draws) >= FIRST and len(draws) % FIRST == 0:
            posterior = WeightedFrequencies(alpha, np.stack(draws), np.stack(log_weights))
            if posterior.error() <= accuracy or len(draws) >= MOST:
                return posterior


def _log_dirichlet(log_r: Floats, a: Floats) -> Floats:
    """log density of each of L frequencies, given as logs (L, K), under each of J Dirichlet distributions (J, K); (L, J)."""
    return np.asarray(log_r @ (a - 1).T + gammaln(a.sum(1)) - gammaln(a).sum(1))


def _log_sum(values: Floats) -> Floats:
    """log of the sum of exp over the last axis; quicker than the careful one of SciPy."""
    highest = values.max(-1)
    return np.asarray(highest + np.log(np.exp(values - highest[..., None]).sum(-1)))


@nb.njit(cache=True)  # type: ignore[untyped-decorator]
def _gibbs(evidence: Any, alpha: Any, chains: Any, burn_in: Any, thinned: Any, times: Any, rng: Any) -> Any:
    """Counts from independent chains, (chains, times, K)."""
    people, models = evidence.shape
    kept, below, counts = np.zeros((chains, times, models), np.int64), np.empty(models), np.zeros(models, np.int64)
    for chain in range(chains):
        r = np.full(models, 1.0 / models)
        for sweep in range(burn_in + thinned * times):
            counts[:] = 0
            for n in range(people):
                total = 0.0
                for k in range(models):
                    total += r[k] * evidence[n, k]
                    below[k] = total
                u, k = rng.random() * total, 0
                while k < models - 1 and u >= below[k]:
                    k += 1
                counts[k] += 1
            for k in range(models):
                r[k] = rng.standard_gamma(alpha[k] + counts[k]) + 1e-300
            r /= r.sum()
            if sweep >= burn_in:
                kept[chain, (sweep - burn_in) // thinned] = counts
    return kept
