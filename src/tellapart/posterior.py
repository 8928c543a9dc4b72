"""Posteriors of participants: which model, with which parameters.

`infer` turns data into a `Posterior` by way of a trained estimator, for any number of participants at once. Tables are
for spreadsheets; `to_arviz` gives the form in which the field keeps posteriors, with the participant as a dimension.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Mapping, Protocol, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .behavior import Behavior
from .display import ROWS, legend, note, shares, table, together
from .errors import counted

if TYPE_CHECKING:
    import pandas as pd

    from .estimators.base import Estimator

Floats = NDArray[np.float64]

EDGE = 3.5
"""Standard deviations of the prior, on the normal scale, beyond which simulated people are 1 in 2,000, and a network has seen few."""

FOLLOWED = 0.1
"""A model that is less probable than this for somebody says nothing of them that matters."""

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

    def in_words(self, person: int) -> str:
        """The parameters of one participant, by number: posterior mean and 5–95 % interval of each."""
        ends = {name: np.quantile(draws[person], QUANTILES[::2]) for name, draws in self.draws.items()}
        return ", ".join(f"{name} {self.draws[name][person].mean():.3g} ({low:.3g} to {high:.3g})" for name, (low, high) in ends.items())

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


class Checks(Protocol):
    """What is known of whether the data look like the models'; see `validation/trust.py`."""

    @property
    def flagged(self) -> NDArray[np.bool_]:
        """Whose data look like nothing that the models produce, (N,)."""

    @property
    def failed(self) -> int:
        """How many of the people who were simulated for it could not be."""

    def columns(self) -> dict[str, Any]:
        """Columns of a table with one row for each participant."""


@dataclass(frozen=True, eq=False)
class Posterior:
    """What is known of N participants after their data.

    Arguments:
        participants: N labels.
        models: Which model, for questions about models.
        parameters: Model name to its parameters, for questions about parameters.
        trust: Whether the data look like the models', where that was asked.
        trials: How many trials of each were recorded, (N,), where that is known.
        missed: How many were not, (N,).
        doubtful: Why the parameters of somebody are not to be believed, (N,), empty for most; see `at_the_edge`.
    """

    participants: NDArray[Any]
    models: ModelPosterior | None = None
    parameters: Mapping[str, ParameterPosterior] = field(default_factory=dict)
    trust: Checks | None = None
    trials: NDArray[np.intp] | None = None
    missed: NDArray[np.intp] | None = None
    doubtful: NDArray[Any] | None = None

    def __len__(self) -> int:
        return len(self.participants)

    def _repr_html_(self) -> str:
        people, models, shown = len(self), self.models, range(min(len(self), ROWS))
        columns: dict[str, list[Any]] = {"participant": list(self.participants[:ROWS])}
        best = models.most_probable if models else []
        if models:
            values = models.probabilities
            columns["most probable"] = [f"{best[i]} ({100 * values[i].max():.0f} %)" for i in shown]
            columns["probabilities"] = [shares(values[i].tolist(), models.names) for i in shown]
        if self.parameters:
            told = [[part for name, part in self.parameters.items() if not models or name == best[i]] for i in shown]
            columns["parameters"] = ["; ".join(part.in_words(i) for part in told[i]) for i in shown]
        if self.trust:
            columns["unlike the models"] = ["yes" if self.trust.flagged[i] else "no" for i in shown]
        parts = [table(zip(*columns.values(), strict=True), list(columns), counted(people, "participant"))]
        parts += [legend(models.names)] if models else []
        parts += [note("Parameters: posterior mean, and the 5 to 95 % interval.")] if self.parameters else []
        more = f"{people - ROWS} more are not shown; all are in to_table()."
        return together(*parts, *([note(more)] if people > ROWS else []))

    @property
    def model_probabilities(self) -> pd.DataFrame:
        """One row for each participant, one column for each model."""
        import pandas as pd

        if self.models is None:
            raise AttributeError("This posterior is about the parameters of one model: see `parameters`.")
        index = pd.Index(self.participants, name="participant")
        return pd.DataFrame(self.models.probabilities, index, list(self.models.names))

    def to_table(self) -> pd.DataFrame:
        """One row for each participant: model probabilities, mean, sd and quantiles of parameters, do the data look like the models'?"""
        import pandas as pd

        columns: dict[str, Any] = {"participant": self.participants}
        columns |= {name: counts for name, counts in (("trials", self.trials), ("missed", self.missed)) if counts is not None}
        columns |= self.models.columns() if self.models else {}
        for part in self.parameters.values():
            columns |= part.columns()
        columns |= {"doubtful": self.doubtful} if self.parameters and self.doubtful is not None else {}
        columns |= self.trust.columns() if self.trust else {}
        return pd.DataFrame(columns)

    def samples_table(self) -> pd.DataFrame:
        """One row for each draw: participant, draw, then a column "model.parameter" for each parameter."""
        import pandas as pd

        flat = {f"{part.model}.{name}": draws for part in self.parameters.values() for name, draws in part.draws.items()}
        count = next(iter(flat.values())).shape[1] if flat else 0
        index = {"participant": np.repeat(self.participants, count), "draw": np.tile(np.arange(count), len(self))}
        return pd.DataFrame({**index, **{name: draws.reshape(-1) for name, draws in flat.items()}})

    def to_arviz(self) -> Any:
        """ArviZ's `InferenceData`: "model.parameter" with dimensions (chain, draw, participant), and "model_probability" with
        (chain, draw, participant, model), the same at every draw.
        """
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)  # of what its next version will be like
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


def at_the_edge(draws: Mapping[str, tuple[Sequence[str], Floats]], probabilities: Floats) -> NDArray[Any]:
    """Whose posterior by a network lies where it has seen hardly anybody: which parameters, in words, (N,), empty for most.

    There a network's posterior is too narrow and too near to the prior, also if a learned likelihood corrects it.

    Arguments:
        draws: Model name to its parameters and their draws on the normal scale, (N, L, P).
        probabilities: Of the models, in the same order, (N, M).
    """
    texts = np.full(len(probabilities), "", object)
    for m, (model, (names, z)) in enumerate(draws.items()):
        far = np.abs(z.mean(1)) > EDGE
        for n in np.flatnonzero(far.any(1) & (probabilities[:, m] >= FOLLOWED)):
            listed = ", ".join(f"{model}.{name}" for name, beyond in zip(names, far[n], strict=True) if beyond)
            texts[n] += f"{'; ' if texts[n] else ''}{listed} beyond {EDGE:g} standard deviations of the prior"
    return texts


def infer(estimator: Estimator, behavior: Behavior, designs: ArrayLike, draws: int = 1000, seed: int = 0) -> Posterior:
    """The posterior of each participant.

    Arguments:
        estimator: A trained one.
        behavior: The data of N participants.
        designs: What they were run at: one design for all (B, V), or one a participant (N, B, V).
        draws: L, for questions about parameters.
    """
    estimator, question, people = estimator.careful, estimator.question, behavior.participants
    inputs, rng = estimator.inputs(behavior, designs), np.random.default_rng(seed)
    models, parameters, normal = None, {}, {}
    if question.about_models:
        models = ModelPosterior(estimator.log_probabilities(inputs).softmax(-1).cpu().numpy(), question.names, people)
    for m, model in enumerate(question.models):
        priors = question.parameters(m)
        if priors:
            z = estimator.draws(inputs, m, draws, rng)
            theta = {name: prior.from_normal(z[..., p]) for p, (name, prior) in enumerate(priors.items())}
            parameters[model.name] = ParameterPosterior(model.name, theta, people)
        normal[model.name] = (tuple(priors), z if priors else np.zeros((len(people), 1, 0)))
    trials = behavior.mask.sum((1, 2))
    where = np.asarray(designs, np.float64)
    missed = (estimator.task.lengths(np.broadcast_to(where, (len(people), *where.shape[-2:]))).sum(-1) - trials).clip(0)
    doubtful = at_the_edge(normal, models.probabilities if models else np.ones((len(people), 1)))
    return Posterior(people, models, parameters, trials=trials, missed=missed, doubtful=doubtful)
