"""An analysis in the form that the field keeps posteriors in: ArviZ, with groups for posterior, predictions and observed data."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from ..question import Question
    from .analysis import Analysis


def to_arviz(found: Analysis, question: Question) -> Any:
    """An `InferenceData`: individual draws and model probabilities, the population's draws, predicted and observed statistics, and data."""
    import arviz
    import xarray

    people = {"participant": [str(label) for label in found.participants]}
    posterior: dict[str, Any] = {}
    for m, model in enumerate(question.models):
        if model.name in found.evidence.draws:
            for p, (name, prior) in enumerate(question.parameters(m).items()):
                theta = prior.from_normal(found.evidence.draws[model.name][:, :, p])
                posterior[f"{model.name}.{name}"] = (("chain", "draw", "participant"), theta.T[None])
    draws = max((values[1].shape[1] for values in posterior.values()), default=1)
    if len(found.models) > 1:
        shares = np.broadcast_to(found.probabilities, (1, draws, *found.probabilities.shape))
        posterior["model_probability"] = (("chain", "draw", "participant", "model"), shares)
    statistic = {**people, "statistic": list(found.prediction.names), "model": list(found.models)}
    predicted = {"statistics": (("chain", "draw", "model", "participant", "statistic"), found.prediction.predicted[None, None])}
    fields = {
        name: (("participant", "block", "trial"), np.where(found.behavior.mask, values.astype(np.float64), np.nan))
        for name, values in found.behavior.fields.items()
    }
    groups: dict[str, Any] = {}
    if posterior:
        groups["posterior"] = xarray.Dataset(posterior, {**people, "chain": [0], "draw": np.arange(draws), "model": list(found.models)})
    groups["posterior_predictive"] = xarray.Dataset(predicted, {**statistic, "chain": [0], "draw": [0]})
    observed = {**fields, "statistics": (("participant", "statistic"), found.prediction.observed)}
    groups["observed_data"] = xarray.Dataset(observed, {**people, "statistic": list(found.prediction.names)})
    return arviz.InferenceData(**groups)
