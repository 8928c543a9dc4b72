"""An analysis in the form that the field keeps posteriors in: ArviZ, with groups for posterior, predictions and observed data."""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray

from ..posterior import ModelPosterior, ParameterPosterior, Posterior
from ..question import Question
from .analysis import Analysis


def to_arviz(found: Analysis, question: Question) -> Any:
    """An `InferenceData`: individual draws and model probabilities, predicted and observed statistics, and data."""
    people, parameters = np.array([str(label) for label in found.participants]), {}
    for m, model in enumerate(question.models):
        if model.name in found.evidence.draws:
            priors, z = question.parameters(m), found.evidence.draws[model.name]
            theta = {name: prior.from_normal(z[:, :, p]) for p, (name, prior) in enumerate(priors.items())}
            parameters[model.name] = ParameterPosterior(model.name, theta, people)
    models = ModelPosterior(found.probabilities, found.models, people) if len(found.models) > 1 else None
    data, behavior = Posterior(people, models, parameters).to_arviz(), found.behavior
    predicted = {"statistics": (("chain", "draw", "model", "participant", "statistic"), found.prediction.predicted[None, None])}
    observed: dict[str, Any] = {"statistics": (("participant", "statistic"), found.prediction.observed)}
    for name, values in behavior.fields.items():
        observed[name] = (("participant", "block", "trial"), np.where(behavior.mask, values.astype(np.float64), np.nan))
    names = {"participant": people, "statistic": list(found.prediction.names)}
    data.add_groups(
        posterior_predictive=xarray.Dataset(predicted, {**names, "model": list(found.models), "chain": [0], "draw": [0]}),
        observed_data=xarray.Dataset(observed, names),
    )
    return data
