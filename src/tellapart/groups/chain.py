"""Group mean and spread of parameters, by re-weighting draws from individual posteriors.

On the normal scale every parameter's prior is N(0, 1). The hierarchical model says z_np ~ N(mu_p, sigma_p) instead, with mu_p ~ N(0, 1) and
sigma_p half-normal with scale 1. A person's draws z_n1, …, z_nL come from p(y_n | z) N(z; 0, 1), so that

    p(y_n | mu, sigma)  is proportional to  the average over l of w(z_nl),     w(z) = prod_p N(z_p; mu_p, sigma_p) / N(z_p; 0, 1).

The chain picks one of each person's draws by Metropolis steps (propose any other, accept with the ratio of weights), then mu given the
picked ones, which is a normal, and sigma by Metropolis steps on its log. Nothing is simulated and no likelihood is asked for.

A person may be a member of the group with some probability only, if several models compete. Then the odds o_n of membership join in:
a state (member, z) has weight o_n w(z), a state (no member, z) has weight 1.
"""

from __future__ import annotations

from typing import Any

import numba as nb
import numpy as np

PROPOSALS = 4
"""Proposals for each person in a sweep."""


@nb.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def run_chain(z: Any, log_odds: Any, sweeps: Any, burn_in: Any, thinned: Any, rng: Any) -> Any:
    """One chain.

    Arguments:
        z: Draws, (N, L, P).
        log_odds: Of being a member, (N,); inf for sure, -inf for surely not.
        sweeps: After `burn_in` ones; every `thinned`-th is kept.

    Returns mu and sigma of the kept sweeps, (S, P) each; how often each person was a member, (N,); and the sums and sums of squares of the
    picked draws of members, (N, P) each.
    """
    people, count, width = z.shape
    kept = sweeps // thinned
    mus, sigmas = np.empty((kept, width)), np.empty((kept, width))
    times, sums, squares = np.zeros(people), np.zeros((people, width)), np.zeros((people, width))
    mu, sigma = rng.normal(0.0, 0.5, width), np.exp(rng.normal(-0.3, 0.3, width))
    picked, member = np.zeros(people, np.int64), np.ones(people, np.bool_)
    for n in range(people):
        picked[n] = int(rng.random() * count)
        member[n] = log_odds[n] > 0
    for sweep in range(burn_in + sweeps):
        _pick(z, log_odds, mu, sigma, picked, member, rng)
        for p in range(width):
            _hyperparameters(z, p, mu, sigma, picked, member, rng)
        if sweep >= burn_in:
            for n in range(people):
                if member[n]:
                    times[n] += 1
                    for p in range(width):
                        value = z[n, picked[n], p]
                        sums[n, p] += value
                        squares[n, p] += value * value
            if (sweep - burn_in) % thinned == 0 and (sweep - burn_in) // thinned < kept:
                mus[(sweep - burn_in) // thinned], sigmas[(sweep - burn_in) // thinned] = mu, sigma
    return mus, sigmas, times / sweeps, sums, squares


@nb.njit(cache=True)  # type: ignore[untyped-decorator]
def _pick(z: Any, log_odds: Any, mu: Any, sigma: Any, picked: Any, member: Any, rng: Any) -> None:
    """Metropolis steps for each person: another draw and, if that is uncertain, in or out."""
    people, count, width = z.shape
    scale, constant = 1.0 / sigma, -np.log(sigma).sum()
    for n in range(people):
        certain = log_odds[n] == np.inf
        start = constant if certain else constant + log_odds[n]
        now = 0.0
        for step in range(PROPOSALS + 1):
            inside = member[n] if step == 0 else certain or rng.random() < 0.5
            place = picked[n] if step == 0 else int(rng.random() * count)
            then = start if inside else 0.0
            if inside:
                for p in range(width):
                    value = z[n, place, p]
                    distance = (value - mu[p]) * scale[p]
                    then += 0.5 * (value * value - distance * distance)
            if step == 0 or then >= now or rng.random() < np.exp(then - now):
                member[n], picked[n], now = inside, place, then


@nb.njit(cache=True)  # type: ignore[untyped-decorator]
def _hyperparameters(z: Any, p: Any, mu: Any, sigma: Any, picked: Any, member: Any, rng: Any) -> None:
    """mu and sigma of parameter number `p` given the picked draws of members."""
    members, total = 0, 0.0
    for n in range(picked.size):
        if member[n]:
            members += 1
            total += z[n, picked[n], p]
    precision = members / sigma[p] ** 2 + 1.0
    mu[p] = total / sigma[p] ** 2 / precision + rng.normal() / np.sqrt(precision)
    spread = 0.0
    for n in range(picked.size):
        if member[n]:
            spread += (z[n, picked[n], p] - mu[p]) ** 2
    for _ in range(2):
        other = sigma[p] * np.exp(1.7 / np.sqrt(members + 2.0) * rng.normal())
        ratio = _log_sigma(other, members, spread) - _log_sigma(sigma[p], members, spread)
        if ratio >= 0 or rng.random() < np.exp(ratio):
            sigma[p] = other


@nb.njit(cache=True)  # type: ignore[untyped-decorator]
def _log_sigma(sigma: Any, members: Any, spread: Any) -> Any:
    """log density of log sigma, up to a constant."""
    return (1 - members) * np.log(sigma) - 0.5 * spread / sigma**2 - 0.5 * sigma**2
