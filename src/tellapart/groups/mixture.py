"""The posterior of frequencies as what it is: a mixture of Dirichlet distributions over how many people follow each model.

With everybody's model given, only the counts c = (c_1, …, c_K) matter, and r ~ Dirichlet(alpha + c). So everything follows from
p(c | y), which `urn.py` computes.

If X_k ~ Gamma(a_k, 1), then X / sum X ~ Dirichlet(a), so that the probability that frequency k is the largest is

    P_k = the integral over x of Gamma(x; a_k) times the product over j ≠ k of P(X_j < x).

All a_k are prior counts plus whole numbers: densities and distribution functions are tabulated once. On the scale log x, where they
are smooth and fall off at both ends, equal steps converge faster than any power of their number.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy.optimize import brentq
from scipy.special import betainc, gammainc, gammaln
from scipy.stats import gamma

from .frequencies import Counts, Floats, FrequencyPosterior

NODES, CHUNK = 160, 20_000


@dataclass(frozen=True, eq=False)
class DirichletMixture(FrequencyPosterior):
    """Frequencies given which counts are how probable.

    Arguments:
        alpha: Prior counts, (K,).
        counts: C vectors of counts, (C, K).
        weights: Their probabilities, (C,).
        log_evidence: log p(y) of the group.
    """

    alpha: Floats
    counts: Counts
    weights: Floats
    log_evidence: float
    log_evidence_se: float = 0.0

    def means(self) -> Floats:
        a = self.alpha + self.weights @ self.counts
        return np.asarray(a / a.sum())

    def quantile(self, k: int, share: float) -> float:
        """A mixture of Beta distributions, inverted."""
        weights = np.bincount(self.counts[:, k], self.weights)
        count = np.flatnonzero(weights)
        a = self.alpha[k] + count
        b = self.alpha.sum() + self.counts[0].sum() - a
        return float(brentq(lambda x: weights[count] @ betainc(a, b, x) - share, 0.0, 1.0, xtol=1e-9))

    def exceedance(self) -> Floats:
        return np.asarray(self.weights @ largest(self.alpha, self.counts))

    def error(self) -> float:
        return 0.0

    def sample(self, n: int, rng: np.random.Generator) -> Floats:
        chosen = self.counts[rng.choice(len(self.weights), n, p=self.weights)]
        shares = rng.standard_gamma(self.alpha + chosen) + 1e-300
        return np.asarray(shares / shares.sum(-1, keepdims=True))

    def grouped(self, members: Counts) -> DirichletMixture:
        alpha = np.asarray(np.bincount(members, self.alpha), np.float64)
        sums = np.stack([self.counts[:, members == family].sum(1) for family in range(len(alpha))], axis=1)
        counts, place = np.unique(sums, axis=0, return_inverse=True)
        weights = np.asarray(np.bincount(place.reshape(-1), self.weights), np.float64)
        return DirichletMixture(alpha, counts, weights, self.log_evidence)


def largest(alpha: Floats, counts: Counts) -> Floats:
    """For each of the counts (C, K), the probability that each frequency is the largest, (C, K)."""
    density, below = _tables(tuple(alpha.tolist()), int(counts[0].sum()))
    shares = np.empty(counts.shape)
    for start in range(0, len(counts), CHUNK):
        part = counts[start : start + CHUNK]
        cdfs = [below[k][part[:, k]] for k in range(len(alpha))]
        for k in range(len(alpha)):
            others = density[k][part[:, k]]
            for j in range(len(alpha)):
                others = others if j == k else others * cdfs[j]
            shares[start : start + CHUNK, k] = others.sum(1)
    return np.asarray(shares / shares.sum(1, keepdims=True))


@lru_cache(maxsize=256)
def _tables(alpha: tuple[float, ...], people: int) -> tuple[list[Floats], list[Floats]]:
    """For each model, density times step, and distribution function, of Gamma(alpha_k + c), c = 0 … N; (N + 1, NODES) each.

    The largest of K is rarely below what one with an equal share of the total would be, and rarely above the total.
    """
    total = sum(alpha) + people
    ends = gamma.ppf(1e-10, total / len(alpha)), gamma.isf(1e-10, total)
    log_x = np.linspace(np.log(max(ends[0], 1e-30)), np.log(ends[1]), NODES)
    x, step = np.exp(log_x), log_x[1] - log_x[0]
    made = {a: _gammas(a, people, log_x, x, step) for a in set(alpha)}
    return [made[a][0] for a in alpha], [made[a][1] for a in alpha]


def _gammas(alpha: float, people: int, log_x: Floats, x: Floats, step: float) -> tuple[Floats, Floats]:
    a = (alpha + np.arange(people + 1))[:, None]
    return np.exp(a * log_x - x - gammaln(a)) * step, np.asarray(gammainc(a, x))
