"""Group parameters: the mean and the spread of each parameter in the population, from individual posteriors (`chain.py`).

Everything is computed on the normal scale and told on the parameter's own: the population's mean and standard deviation of theta, where
theta = quantile(Phi(z)) and z ~ N(mu, sigma).

Two groups of people have hyperparameters of their own, and the difference of their means is that of independent draws. The same
people under two conditions: with z and z' of one parameter, s = (z + z') / √2 and d = (z - z') / √2 have standard normal priors again,
so that the group mean of d, and with it that of the difference √2 d, follows by the same chain.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

from ..errors import DataError
from ..priors import Levels, Prior
from ..threads import available_cores
from .chain import run_chain
from .evidence import FEW
from .frequencies import Floats

CHAINS, BURN_IN, KEPT = 4, 500, 4_000
"""Independent chains; sweeps of each that are thrown away, and how many are kept at most."""

MOST_SWEEPS, LEAST_SWEEPS, WORK = 40_000, 2_000, 4_000_000
"""Sweeps of a chain: so many that sweeps times people is `WORK`, within limits."""


@dataclass(frozen=True, eq=False)
class GroupParameters:
    """The population's mean and spread of the parameters of one model.

    Arguments:
        model: Its name.
        priors: Parameter name to its prior, P of them.
        mu, sigma: Draws of the hyperparameters on the normal scale, (H, S, P): H chains of S draws.
        membership: The probability of each person to follow the model, in the light of the group, (N,).
        shrunk: Each person's posterior mean and standard deviation on the normal scale in the light of the group, (2, N, P); NaN for who
            never follows the model.
        effective: How many of each person's draws carry the weight, (N,).
        participants: N labels.
    """

    model: str
    priors: Mapping[str, Prior]
    mu: Floats
    sigma: Floats
    membership: Floats
    shrunk: Floats
    effective: Floats
    participants: NDArray[Any]

    def draws(self, name: str) -> tuple[Floats, Floats]:
        """Draws of the population's mean and standard deviation of a parameter, on its own scale, (H S,) each."""
        p = list(self.priors).index(name)
        return population(self.priors[name], self.mu[..., p].reshape(-1), self.sigma[..., p].reshape(-1))

    def middle(self, name: str) -> Floats:
        """Between which values of a parameter two thirds of the population are, (2,)."""
        p = list(self.priors).index(name)
        mu, sigma = (float(np.median(values[..., p])) for values in (self.mu, self.sigma))
        return np.asarray(self.priors[name].from_normal(np.array([mu - sigma, mu + sigma])))

    @property
    def error(self) -> float:
        """The largest Monte-Carlo standard error of a posterior mean of mu or sigma, in units of its posterior standard deviation."""
        both = np.concatenate([self.mu, self.sigma], axis=-1)
        return float((both.mean(1).std(0, ddof=1) / np.sqrt(len(both)) / both.std((0, 1))).max())

    @property
    def few(self) -> list[Any]:
        """People of whom too few draws carry the weight: their posteriors hardly overlap with the group, or the group is very narrow."""
        return [person for person, count in zip(self.participants, self.effective, strict=True) if count < FEW]

    def rows(self, interval: float = 0.9) -> list[dict[str, Any]]:
        """One row for each parameter: mean and spread in the population with intervals."""
        return [{"model": self.model, "parameter": name, **summary(*self.draws(name), interval)} for name in self.priors]


def summary(mean: Floats, spread: Floats, interval: float) -> dict[str, float]:
    """Posterior means and intervals of the population's mean and spread."""
    ends = np.array([(1 - interval) / 2, (1 + interval) / 2])
    row: dict[str, float] = {}
    for label, values in (("mean", mean), ("spread", spread)):
        low, high = np.quantile(values, ends)
        row |= {label: float(values.mean()), f"{label}_sd": float(values.std()), f"{label}_low": float(low), f"{label}_high": float(high)}
    return row


def population(prior: Prior, mu: Floats, sigma: Floats) -> tuple[Floats, Floats]:
    """Mean and standard deviation of a parameter whose normal scale is N(mu, sigma), for each of S pairs; (S,) each."""
    if isinstance(prior, Levels):
        shares = np.diff(ndtr((ndtri(prior.edges) - mu[:, None]) / sigma[:, None]), axis=1)
        mean = shares @ prior.levels
        return mean, np.sqrt(((prior.levels - mean[:, None]) ** 2 * shares).sum(1))
    nodes, weights = np.polynomial.hermite_e.hermegauss(31)
    weights = weights / weights.sum()
    theta = prior.from_normal(mu[:, None] + sigma[:, None] * nodes)
    mean = theta @ weights
    return mean, np.sqrt(np.maximum(theta**2 @ weights - mean**2, 0.0))


def group_parameters(
    model: str,
    priors: Mapping[str, Prior],
    z: Floats,
    participants: Sequence[Any] | NDArray[Any] | None = None,
    log_odds: Floats | None = None,
    seed: int = 0,
    *,
    sweeps: int | None = None,
) -> GroupParameters:
    """The population's mean and spread of each parameter of a model.

    Arguments:
        priors: Parameter name to its prior, P of them.
        z: Draws from each person's posterior on the normal scale, under the prior N(0, 1), (N, L, P).
        log_odds: That each person follows this model and no other, (N,); everybody does if not given.
        sweeps: Of each of four chains; as many as the number of people suggests if not given.
    """
    people, count, width = z.shape
    if people == 0 or count == 0 or width != len(priors):
        expected = f"draws of {len(priors)} parameters for each of one person or more"
        raise DataError(f"There are no group parameters of '{model}' without draws.", expected=expected, got=z.shape)
    draws = np.ascontiguousarray(z, np.float64)
    odds = np.full(people, np.inf) if log_odds is None else np.asarray(log_odds, dtype=np.float64)
    sweeps = min(max(WORK // people, LEAST_SWEEPS), MOST_SWEEPS) if sweeps is None else sweeps
    generators, thinned = np.random.default_rng(seed).spawn(CHAINS), max(1, sweeps // KEPT)
    with ThreadPoolExecutor(available_cores()) as pool:
        chains = list(pool.map(lambda rng: run_chain(draws, odds, sweeps, BURN_IN, thinned, rng), generators))
    mu, sigma = (np.stack([chain[i] for chain in chains]) for i in (0, 1))
    times, sums, squares = (sum(chain[i] for chain in chains) for i in (2, 3, 4))
    visits = np.where(times > 0, times * sweeps, np.nan)[:, None]
    mean = sums / visits
    return GroupParameters(
        model,
        dict(priors),
        mu,
        sigma,
        times / CHAINS,
        np.stack([mean, np.sqrt(np.maximum(squares / visits - mean**2, 0.0))]),
        effective_draws(draws, mu.mean((0, 1)), sigma.mean((0, 1))),
        np.arange(people) if participants is None else np.asarray(participants),
    )


def effective_draws(z: Floats, mu: Floats, sigma: Floats) -> Floats:
    """How many of each person's draws (N, L, P) carry the weight if the group is N(mu, sigma), (N,)."""
    log_w = 0.5 * (z**2 - ((z - mu) / sigma) ** 2).sum(-1)
    w = np.exp(log_w - log_w.max(1, keepdims=True))
    return np.asarray(w.sum(1) ** 2 / (w**2).sum(1))


@dataclass(frozen=True, eq=False)
class ParameterDifference:
    """How much a population mean differs between two groups of people or two conditions.

    Arguments:
        model, parameter: Whose.
        first, second: The two groups or conditions.
        draws: Of the difference of population means, first minus second, on the parameter's own scale, (S,).
        normal: The same on the normal scale.
        paired: Are they the same people under two conditions?
    """

    model: str
    parameter: str
    first: str
    second: str
    draws: Floats = field(repr=False)
    normal: Floats = field(repr=False)
    paired: bool = False

    @property
    def probability(self) -> float:
        """That the first population's mean is the larger one, on the parameter's own scale."""
        return float((self.draws > 0).mean())

    def row(self, interval: float = 0.9) -> dict[str, Any]:
        low, high = np.quantile(self.draws, [(1 - interval) / 2, (1 + interval) / 2])
        who = {"model": self.model, "parameter": self.parameter, "first": self.first, "second": self.second, "paired": self.paired}
        return {
            **who,
            "difference": float(self.draws.mean()),
            "low": float(low),
            "high": float(high),
            "probability_larger": self.probability,
        }


def compare_groups(first: GroupParameters, second: GroupParameters, names: tuple[str, str]) -> list[ParameterDifference]:
    """The differences of population means between two groups of different people, one for each parameter."""
    rng, sizes = np.random.default_rng(0), [group.mu[..., 0].size for group in (first, second)]
    one, other = (rng.permutation(size)[: min(sizes)] for size in sizes)  # draws of the two are independent: any pairing will do
    differences = []
    for p, name in enumerate(first.priors):
        own = first.draws(name)[0][one] - second.draws(name)[0][other]
        normal = first.mu[..., p].reshape(-1)[one] - second.mu[..., p].reshape(-1)[other]
        differences.append(ParameterDifference(first.model, name, *names, own, normal))
    return differences


def compare_conditions(
    model: str,
    priors: Mapping[str, Prior],
    first: Floats,
    second: Floats,
    names: tuple[str, str],
    seed: int = 0,
    log_odds: Floats | None = None,
) -> list[ParameterDifference]:
    """The differences of population means between two conditions under which the same people were observed.

    Arguments:
        first, second: Draws from each person's posterior under each condition, on the normal scale, (N, L, P) each, people in one order.
            The order of draws means nothing: those of two conditions may come from the same random numbers, and are paired anew.
        log_odds: That each person follows this model and no other, (N,); everybody does if not given.
    """
    paired = np.random.default_rng(seed).permuted(np.tile(np.arange(second.shape[1]), (len(second), 1)), axis=1)
    second = np.take_along_axis(second, paired[..., None], 1)
    rotated = np.concatenate([first + second, first - second], axis=-1) / np.sqrt(2.0)
    halves = {f"{name} {half}": prior for half in ("sum", "difference") for name, prior in priors.items()}
    both = group_parameters(model, halves, rotated, log_odds=log_odds, seed=seed)
    differences = []
    for p, (name, prior) in enumerate(priors.items()):
        s, d, spread_s, spread_d = (v[..., q].reshape(-1) for v in (both.mu, both.sigma) for q in (p, p + len(priors)))
        spread = np.sqrt((spread_s**2 + spread_d**2) / 2)
        means = [population(prior, (s + sign * d) / np.sqrt(2.0), spread)[0] for sign in (1, -1)]
        differences.append(ParameterDifference(model, name, *names, means[0] - means[1], np.sqrt(2.0) * d, paired=True))
    return differences
