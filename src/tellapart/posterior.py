"""Posteriors of participants: which model, with which parameters.

`infer` turns data into a `Posterior` by way of a trained estimator, for any number of participants at once. Tables are
for spreadsheets; `to_arviz` gives the form in which the field keeps posteriors, with the participant as a dimension.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Mapping

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .behavior import Behavior

if TYPE_CHECKING:
    import pandas as pd
    from torch import Tensor

    from .estimators.base import Estimator

Floats = NDArray[np.float64]

QUANTILES = (0.05, 0.5, 0.95)
"""The quantiles of a parameter that tables show, in columns q05, q50 and q95."""


@dataclass(frozen=True, eq=False)
class ModelPosterior:
    """How probable each model is.

    Arguments:
        probabilities: (N, M), rows sum to 1.
        names: M models.
        participants: N labels.
    """

    probabilities: Floats
    names: tuple[str, ...]
    participants: NDArray[Any]

    @property
    def most_probable(self) -> list[str]:
        """The most probable model of each participant."""
        return [self.names[m] for m in self.probabilities.argmax(-1)]

    def columns(self) -> dict[str, Any]:
        """A column "probability.model" for each model, and the most probable one."""
        shares = {f"probability.{name}": self.probabilities[:, m] for m, name in enumerate(self.names)}
        return {"most_probable": self.most_probable, **shares}


@dataclass(frozen=True, eq=False)
class ParameterPosterior:
    """Draws from the posterior of one model's parameters, given that it is the model.

    Arguments:
        model: Its name.
        draws: Parameter name to draws (N, L). Draw number l of all parameters is one draw of the joint posterior.
        participants: N labels.
    """

    model: str
    draws: Mapping[str, Floats]
    participants: NDArray[Any]

    def mean(self, name: str) -> Floats:
        """Posterior mean of a parameter, (N,)."""
        return np.asarray(self.draws[name].mean(-1))

    def sd(self, name: str) -> Floats:
        """Posterior standard deviation of a parameter, (N,)."""
        return np.asarray(self.draws[name].std(-1))

    def quantile(self, name: str, q: ArrayLike) -> Floats:
        """Posterior quantiles of a parameter: (N,) for a number, (Q, N) for Q of them."""
        return np.asarray(np.quantile(self.draws[name], np.asarray(q, dtype=np.float64), axis=-1))

    def columns(self) -> dict[str, Any]:
        """Columns "model.parameter.mean", ".sd", ".q05", ".q50" and ".q95"."""
        columns: dict[str, Any] = {}
        for name in self.draws:
            columns |= {f"{self.model}.{name}.mean": self.mean(name), f"{self.model}.{name}.sd": self.sd(name)}
            for q, values in zip(QUANTILES, self.quantile(name, QUANTILES), strict=True):
                columns[f"{self.model}.{name}.q{round(100 * q):02d}"] = values
        return columns


@dataclass(frozen=True, eq=False)
class Trust:
    """Do the data look like anything that the models can produce? See `validation/trust.py`.

    Arguments:
        p: The share of simulated participants that look as strange as this one or stranger, (N,).
        flagged: Is that share at most the false-alarm rate? (N,).
        false_alarm: The share that is flagged among participants whom the models do describe.
    """

    p: Floats
    flagged: NDArray[np.bool_]
    false_alarm: float

    def columns(self) -> dict[str, Any]:
        """Columns "unlike_models" and its p-value."""
        return {"unlike_models": self.flagged, "unlike_models.p": self.p}


@dataclass(frozen=True, eq=False)
class Posterior:
    """What is known of N participants after their data.

    Arguments:
        participants: N labels.
        models: Which model, for goals about models.
        parameters: Model name to its parameters, for goals about parameters.
        trust: Whether the data look like the models', where that was asked.
    """

    participants: NDArray[Any]
    models: ModelPosterior | None = None
    parameters: Mapping[str, ParameterPosterior] = field(default_factory=dict)
    trust: Trust | None = None

    def __len__(self) -> int:
        return len(self.participants)

    @property
    def model_probabilities(self) -> pd.DataFrame:
        """A row a participant, a column a model."""
        import pandas as pd

        if self.models is None:
            raise AttributeError("This posterior is about the parameters of one model: see `parameters`.")
        index = pd.Index(self.participants, name="participant")
        return pd.DataFrame(self.models.probabilities, index, list(self.models.names))

    def to_table(self) -> pd.DataFrame:
        """A row a participant: model probabilities, mean, sd and quantiles of parameters, and whether the data look like the models'."""
        import pandas as pd

        columns: dict[str, Any] = {"participant": self.participants}
        columns |= self.models.columns() if self.models else {}
        for part in self.parameters.values():
            columns |= part.columns()
        columns |= self.trust.columns() if self.trust else {}
        return pd.DataFrame(columns)

    def samples_table(self) -> pd.DataFrame:
        """A row a draw: participant, draw, then a column "model.parameter" for each parameter."""
        import pandas as pd

        flat = {f"{part.model}.{name}": draws for part in self.parameters.values() for name, draws in part.draws.items()}
        count = next(iter(flat.values())).shape[1] if flat else 0
        index = {"participant": np.repeat(self.participants, count), "draw": np.tile(np.arange(count), len(self))}
        return pd.DataFrame({**index, **{name: draws.reshape(-1) for name, draws in flat.items()}})

    def to_arviz(self) -> Any:
        """ArviZ's `InferenceData`: "model.parameter" with dimensions (chain, draw, participant), and "model_probability" with
        (chain, draw, participant, model), the same at every draw.
        """
        import arviz
        import xarray

        arrays = {f"{part.model}.{name}": draws.T[None] for part in self.parameters.values() for name, draws in part.draws.items()}
        count = next(iter(arrays.values())).shape[1] if arrays else 1
        dimensions = ("chain", "draw", "participant")
        variables: dict[str, Any] = {name: (dimensions, values) for name, values in arrays.items()}
        coordinates: dict[str, Any] = {"chain": [0], "draw": np.arange(count), "participant": self.participants}
        if self.models:
            shares = np.broadcast_to(self.models.probabilities, (1, count, *self.models.probabilities.shape))
            variables["model_probability"] = ((*dimensions, "model"), shares)
            coordinates["model"] = list(self.models.names)
        return arviz.InferenceData(posterior=xarray.Dataset(variables, coordinates))


def infer(estimator: Estimator, behavior: Behavior, designs: ArrayLike, draws: int = 1000, seed: int = 0) -> Posterior:
    """The posterior of each participant.

    Arguments:
        estimator: A trained one.
        behavior: The data of N participants.
        designs: What they were run at: one design for all (B, V), or one a participant (N, B, V).
        draws: L, for goals about parameters.
    """
    import torch

    goal, people = estimator.goal, behavior.participants
    inputs, rng = estimator.inputs(behavior, designs), np.random.default_rng(seed)
    models, parameters = None, {}
    with torch.no_grad():
        if goal.about_models:
            shares = torch.cat([estimator.log_model_probabilities(part) for part in _parts(inputs)]).double().softmax(-1)
            models = ModelPosterior(shares.cpu().numpy(), tuple(model.name for model in goal.models), people)
        if goal.about_parameters:
            for m, model in enumerate(goal.models):
                z = torch.cat([estimator.sample_theta(part, m, draws, rng) for part in _parts(inputs)], dim=1).cpu().numpy()
                theta = {name: prior.from_normal(z[:, :, p].T) for p, (name, prior) in enumerate(model.parameters.items())}
                parameters[model.name] = ParameterPosterior(model.name, theta, people)
    return Posterior(people, models, parameters)


def _parts(inputs: Tensor) -> list[Tensor]:
    return [inputs[start : start + CHUNK] for start in range(0, len(inputs), CHUNK)]


CHUNK = 1024
"""Participants that go through a network at once."""
