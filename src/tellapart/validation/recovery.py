"""Are parameters recovered? True values against posteriors, and what posteriors look like at one true value.

Contraction is 1 - E[posterior variance] / prior variance, measured on the percentiles of the prior. For a uniform prior that
is the parameter's own scale; for a prior with a long tail it keeps a few extreme values from deciding.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from ..models.base import HasLikelihood, Model
from ..priors import Prior
from .answers import Answers, Floats, plain

SHOWN = 300
"""Participants that a recovery keeps one by one, for figures."""


@dataclass(frozen=True)
class Recovery:
    """How well one parameter of one model is recovered.

    Arguments:
        model: Its name.
        parameter: Its name.
        n: Simulated participants.
        correlation: Of true values and posterior means.
        rank_correlation: Of their ranks, which extreme values do not move.
        rmse: Root of the mean squared difference of true values and posterior means.
        prior_rmse: The same for someone who has no data and always says the prior's mean.
        coverage: How often the 90 % interval holds the true value.
        coverage_se: Its standard error.
        contraction: 0: the data taught nothing; 1: all there is to know. See above.
        truth: True values of the first participants.
        mean: Their posterior means.
        low: The 5 % quantiles of their posteriors.
        high: The 95 % quantiles.
    """

    model: str
    parameter: str
    n: int
    correlation: float
    rank_correlation: float
    rmse: float
    prior_rmse: float
    coverage: float
    coverage_se: float
    contraction: float
    truth: tuple[float, ...]
    mean: tuple[float, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]


def recovery(answers: Answers) -> tuple[Recovery, ...]:
    """How well each parameter of each model is recovered."""
    return tuple(
        recover(model.name, name, prior, answers.truth(m)[name], answers.draws[m][name])
        for m, model in enumerate(answers.simulations.models)
        for name, prior in model.parameters.items()
    )


def recover(model: str, parameter: str, prior: Prior, truth: Floats, draws: Floats) -> Recovery:
    """How well one parameter is recovered.

    Arguments:
        truth: (N,).
        draws: From each posterior, (N, L).
    """
    mean = draws.mean(-1)
    low, high = np.quantile(draws, (0.05, 0.95), axis=-1)
    inside = ((truth >= low) & (truth <= high)).astype(np.float64)
    spread = prior.cdf(draws).var(-1, ddof=1).mean()
    return Recovery(
        model,
        parameter,
        len(truth),
        _correlation(truth, mean),
        _correlation(rankdata(truth), rankdata(mean)),
        float(np.sqrt(np.mean((truth - mean) ** 2))),
        float(np.std(truth)),
        float(inside.mean()),
        float(np.sqrt(max(inside.var(), 1e-12) / len(truth))),
        float(1.0 - 12.0 * spread),
        plain(truth[:SHOWN]),
        plain(mean[:SHOWN]),
        plain(low[:SHOWN]),
        plain(high[:SHOWN]),
    )


@dataclass(frozen=True)
class AveragedPosterior:
    """The marginal posterior of a parameter, averaged over participants who all have the same true parameters.

    Arguments:
        model: Its name.
        parameter: Its name.
        truth: The value that all participants have.
        n: How many there are.
        edges: K + 1 edges of bins.
        density: The average density in each bin, (K,).
        prior: The prior density in each bin.
        sd: The average standard deviation of their posteriors.
        exact: The same as `density` by likelihood, where there is one.
        exact_sd: The same as `sd` by likelihood.
    """

    model: str
    parameter: str
    truth: float
    n: int
    edges: tuple[float, ...]
    density: tuple[float, ...]
    prior: tuple[float, ...]
    sd: float
    exact: tuple[float, ...] | None = None
    exact_sd: float | None = None


def averaged_posteriors(answers: Answers, bins: int = 40, exact: bool = False) -> tuple[AveragedPosterior, ...]:
    """Averaged marginal posteriors of answers about participants with given parameters.

    Arguments:
        bins: K.
        exact: Also by likelihood, for models that have one.
    """
    found = []
    for m, model in enumerate(answers.simulations.models):
        own = [_averaged(answers, m, name, prior, bins) for name, prior in model.parameters.items()]
        found += _with_exact(answers, m, model, own) if exact and isinstance(model, HasLikelihood) else own
    return tuple(found)


def _averaged(answers: Answers, m: int, name: str, prior: Prior, bins: int) -> AveragedPosterior:
    truth, draws = answers.truth(m)[name], answers.draws[m][name]
    low, high = prior.quantile([0.0, 1.0])
    if not np.isfinite([low, high]).all():
        low, high = prior.quantile([0.005, 0.98])
    edges = np.linspace(low, high, bins + 1)
    counts, width = np.histogram(draws, edges)[0], edges[1] - edges[0]
    density, before = counts / draws.size / width, np.diff(prior.cdf(edges)) / width
    sd = float(draws.std(-1, ddof=1).mean())
    return AveragedPosterior(answers.names[m], name, float(truth[0]), len(truth), plain(edges), plain(density), plain(before), sd)


def _with_exact(answers: Answers, m: int, model: Model, own: list[AveragedPosterior]) -> list[AveragedPosterior]:
    assert isinstance(model, HasLikelihood)
    mine = answers.simulations.model == m
    designs = answers.designs[mine] if answers.designs.ndim == 3 else answers.designs
    posterior = model.exact_posterior(answers.simulations.behavior[mine], designs, answers.task)
    found = []
    for part in own:
        below = [posterior.cdf(part.parameter, np.full(int(mine.sum()), edge)).mean() for edge in part.edges]
        density = np.diff(below) / np.diff(part.edges)
        found.append(replace(part, exact=plain(density), exact_sd=float(posterior.sd(part.parameter).mean())))
    return found


def _correlation(one: NDArray[np.float64], other: NDArray[np.float64]) -> float:
    """Pearson's; 0 if one of them does not vary."""
    if np.std(one) < 1e-12 or np.std(other) < 1e-12:
        return 0.0
    return float(np.corrcoef(one, other)[0, 1])
