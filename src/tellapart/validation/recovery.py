"""Are parameters recovered? True values against posteriors, and what posteriors look like at one true value.

Contraction is 1 - E[posterior variance] / prior variance, measured on the percentiles of the prior. For a uniform prior that
is the parameter's own scale; for a prior with a long tail it keeps a few extreme values from deciding.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Iterator

import numpy as np
from scipy.stats import rankdata

from ..information.estimate import Floats
from ..models.base import ExactPosterior, LikelihoodModel
from ..models.evidence import exact_posterior
from ..priors import Prior
from .participants import Participants, plain

SHOWN = 300
"""Participants that a recovery keeps one by one, for figures."""

BINS = 40
"""Of an averaged posterior, unless the parameter has levels."""


@dataclass(frozen=True)
class Recovery:
    """How well one parameter of one model is recovered.

    Arguments:
        correlation: Of true values and posterior means.
        rank_correlation: Of their ranks, which extreme values do not move.
        rmse: Root of the mean squared difference of true values and posterior means.
        prior_rmse: The same for someone who has no data and always says the prior's mean.
        coverage, coverage_se: How often the 90 % interval holds the true value.
        contraction: 0: the data taught nothing; 1: all there is to know. See above.
        truth, mean: True values of the first participants, and their posterior means.
        low, high: The 5 % and the 95 % quantiles of their posteriors.
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


def recovery(participants: Participants) -> tuple[Recovery, ...]:
    """How well each parameter that was asked about is recovered."""
    question, simulations = participants.question, participants.simulations
    return tuple(
        recover(question.names[m], name, question.parameters(m)[name], simulations.truth(m)[name], draws)
        for m, parameters in enumerate(participants.draws)
        for name, draws in parameters.items()
    )


def recover(model: str, parameter: str, prior: Prior, truth: Floats, draws: Floats) -> Recovery:
    """How well one parameter is recovered: true values (N,) and draws from each posterior (N, L)."""
    mean = draws.mean(-1)
    low, high = np.quantile(draws, (0.05, 0.95), axis=-1)
    inside = ((truth >= low) & (truth <= high)).astype(np.float64)
    percentiles = prior.cdf(prior.quantile((np.arange(1000) + 0.5) / 1000))  # uniform, but for a prior over levels
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
        float(1.0 - prior.cdf(draws).var(-1, ddof=1).mean() / percentiles.var()),
        *(plain(values[:SHOWN]) for values in (truth, mean, low, high)),
    )


@dataclass(frozen=True)
class AveragedPosterior:
    """The marginal posterior of a parameter, averaged over participants who all have the same true parameters.

    Arguments:
        truth: The value that all participants have.
        edges: K + 1 edges of bins.
        density, prior: The average posterior density and the prior density in each bin, (K,).
        sd: The average standard deviation of their posteriors.
        exact, exact_sd: The same as `density` and `sd` by likelihood, where there is one.
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


def averaged_posteriors(participants: Participants, bins: int = BINS, exact: bool = False) -> tuple[AveragedPosterior, ...]:
    """Averaged marginal posteriors of participants with given parameters.

    Arguments:
        bins: K.
        exact: Also by likelihood, for models that have one.
    """
    return tuple(part for m in range(len(participants.draws)) for part in _averaged_of(participants, m, bins, exact))


def _averaged_of(participants: Participants, m: int, bins: int, exact: bool) -> Iterator[AveragedPosterior]:
    """Those of model number `m`."""
    question, part, drawn = participants.question, participants.simulations.of(m), participants.draws[m]
    model, posterior = question.models[m], None
    if not len(part) or not drawn:
        return
    if exact and isinstance(model, LikelihoodModel):
        posterior = exact_posterior(model, part.behavior, part.designs, participants.task)
    for name, prior in question.parameters(m).items():
        draws, edges = drawn[name], _edges(prior, bins)
        width = edges[1] - edges[0]
        density, before = np.histogram(draws, edges)[0] / draws.size / width, np.diff(prior.cdf(edges)) / width
        truth, sd = float(part.truth(m)[name][0]), float(draws.std(-1, ddof=1).mean())
        by_likelihood = _exactly(posterior, name, edges) if posterior else (None, None)
        yield AveragedPosterior(model.name, name, truth, len(part), plain(edges), plain(density), plain(before), sd, *by_likelihood)


def _edges(prior: Prior, bins: int) -> Floats:
    """The edges of bins over nearly all of a prior, (K + 1,); a bin for each of its levels, if it has some."""
    low, high = prior.quantile([0.0, 1.0])
    if not np.isfinite([low, high]).all():
        low, high = prior.quantile([0.005, 0.98])
    return np.arange(low - 0.5, high + 1.0) if prior.discrete else np.linspace(low, high, bins + 1)


def _exactly(posterior: ExactPosterior, name: str, edges: Floats) -> tuple[tuple[float, ...], float]:
    """The average density of a parameter's exact posteriors in bins, and their average standard deviation."""
    average = ExactPosterior(posterior.nodes, {name: posterior.weights[name].mean(0, keepdims=True)})
    below = [average.cdf(name, [edge])[0] for edge in edges]
    return plain(np.diff(below) / np.diff(edges)), float(posterior.sd(name).mean())


def _correlation(one: Floats, other: Floats) -> float:
    """Pearson's; 0 if one of them does not vary."""
    if np.std(one) < 1e-12 or np.std(other) < 1e-12:
        return 0.0
    return float(np.corrcoef(one, other)[0, 1])
