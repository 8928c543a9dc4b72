"""Do the models describe what people did? Statistics of their behavior, observed against predicted.

For each model, simulated people with parameters from the prior play twice, with the same parameters: y and y'. A regression of the
statistics T(y') on a description of y is the posterior predictive mean E[T(y') | y], for whatever simulator and without a draw from any
posterior. For a person with data y it says what the model, having seen the person, expects of such a person. Predictions of several models
are averaged by their probabilities.

People whom the models describe differ from their prediction, T(y) - E[T(y') | y], as simulated ones do. Those who are most like a person
before, by the description of y, say how: their second data y' are new data of people like this one, and go the same way. So each
person's p-value is the share of like simulated people who are as far from their predictions.

What a single model expects of a person is what its simulated people who are most like them did in y', averaged: of somebody unlike all of
them a regression goes astray. A group is compared with the population of simulated people that comes nearest to it, see `population`.

References:
    Gelman, Meng & Stern (1996), Posterior predictive assessment of model fitness via realized discrepancies.
    Hjort, Dahl & Steinbakk (2006), Post-processing posterior predictive p values: why predictions must be calibrated.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Sequence

import numpy as np
import torch
from numpy.typing import NDArray

from ..behavior import Behavior
from ..estimators.base import Estimator
from ..models.failures import Failure, attempt
from ..models.simulation import stop_unless_skipped
from ..priors import on_normal_scale, sample_priors
from ..progress import Progress, unheard
from .frequencies import Counts, Floats
from .population import Fit, Population, ridge
from .statistics import closed_up, cut, named_statistics

SIMULATED, LIKE, ALARM = 3_000, 30, 0.01
"""People simulated of each model; how many are taken to be like a person; and the p-value that is an alarm."""

PURPOSE = 103
"""Follows the seed: of those who are simulated first, with 0; of the groups by which a group is judged, with 1."""

TOGETHER = 1024
"""People whose inputs or distances are in memory at once."""


@dataclass(frozen=True, eq=False)
class Prediction:
    """Statistics of N people, observed against predicted.

    Arguments:
        names: S statistics.
        models: M models.
        observed: (N, S); NaN where somebody has no such statistic.
        predicted: By each model, (M, N, S): second data of those of its simulated people who are most like a person, averaged.
        p: How many like simulated people are as far from their predictions, (N, S).
        person_p: How many like simulated people are as far in any statistic: of all of them together, (N,).
        group: The group beside the population that comes nearest.
        outcomes: Names of the fields that the task gives.
        failed: How many of the simulated people could not be simulated.
    """

    names: tuple[str, ...]
    models: tuple[str, ...]
    observed: Floats
    predicted: Floats
    p: Floats
    person_p: Floats
    group: Fit
    outcomes: tuple[str, ...] = ()
    failed: int = 0

    @property
    def alarm(self) -> bool:
        """Do the models fail to describe the group?"""
        return self.group.p <= ALARM

    @property
    def worst(self) -> str:
        """The statistic that is described worst."""
        return self.names[int(np.abs(self.group.z).argmax())]

    @property
    def odd_outcomes(self) -> bool:
        """Is it what the task gave, rather than what people did, that is described worst?"""
        return self.worst.removeprefix("log ").startswith(self.outcomes)

    def rows(self) -> list[dict[str, Any]]:
        """One row for each statistic: the group's average, observed and in the nearest population, and as each model predicts it."""
        rows, group = [], self.group
        for s, name in enumerate(self.names):
            by_model = {f"predicted.{model}": average(self.predicted[m, :, s]) for m, model in enumerate(self.models)}
            beside = {"observed": group.observed, "predicted": group.expected, "low": group.low, "high": group.high, "z": group.z}
            rows.append({"statistic": name, **{key: float(values[s]) for key, values in beside.items()}, **by_model})
        return rows


class Predictor:
    """What models expect of people whose data have been seen.

    Arguments:
        estimator: Describes behavior, and says how probable models are.
        designs: What people were run at, (N, B, V).
        masks: Which trials of theirs are recorded, gaps closed up, (N, B, T).
        n: Simulated people of each model; `SIMULATED` if not given.
    """

    def __init__(
        self,
        estimator: Estimator,
        designs: Floats,
        masks: NDArray[np.bool_],
        n: int | None = None,
        seed: int = 0,
        progress: Progress = unheard,
    ) -> None:
        self.estimator, rng, count = estimator, np.random.default_rng([seed, PURPOSE, 0]), SIMULATED if n is None else n
        question, task = estimator.question, estimator.task
        firsts, seconds, models, drawn_designs, normals = [], [], [], [], []
        self._parameters: list[dict[str, Floats]] = []
        self._failed = 0
        for m, model in enumerate(question.models):
            progress(m, len(question.models) + 1, "simulating people twice", model.name)
            like = rng.integers(0, len(masks), count)
            parameters, (first, second), kept, failures = _twice(model, designs[like], masks[like], rng, task)
            self._skip(failures, 2 * count)
            normals.append(on_normal_scale(model.parameters, parameters, len(kept)))
            self._parameters.append(parameters)
            firsts.append(first)
            seconds.append(second)
            models += [m] * len(first)
            drawn_designs.append(designs[like][kept])
        model_of, where = np.array(models), np.concatenate(drawn_designs)
        first, second = Behavior.concatenate(firsts), Behavior.concatenate(seconds)
        statistics, again = (named_statistics(task, part) for part in (first, second))
        # of a block that nobody played there is nothing to say
        self.names = tuple(name for name, values in statistics.items() if np.isfinite(values).any() and np.isfinite(again[name]).any())
        statistics, again = self._known(statistics), self._known(again)
        self._usual = np.array([float(np.nanmean(values)) for values in statistics.values()])
        raw = self._raw(first, where, statistics)
        self._features = _Features(raw, rng)
        described, target = self._features(raw), self._filled(again)
        # half of them teach what is expected, the others, of whom that has seen nothing, are who people are compared with
        held_out, of = np.arange(len(model_of)) % 2 == 1, [model_of == m for m in range(len(question.models))]
        self._maps = [ridge(described[one & ~held_out], target[one & ~held_out], 1e-2) for one in of]
        plain = self._features.plain(raw)
        self.described, self._clouds = plain[held_out], [(plain[one], target[one]) for one in of]
        progress(len(question.models), len(question.models) + 1, "simulating people twice", "what was to be expected of them")
        later = {name: values[held_out] for name, values in again.items()}
        seen = self._raw(second[held_out], where[held_out], later)
        self.residual = np.nan_to_num(np.stack(list(later.values()), axis=1) - self._predicted(seen))
        contexts = _contexts(where, second)
        self._population = Population([target[one] for one in of], normals, [contexts[one] for one in of], rng)

    def predict(self, behavior: Behavior, designs: Floats, seed: int = 0) -> Prediction:
        """Check N people."""
        statistics = self._known(named_statistics(self.estimator.task, behavior))
        raw = self._raw(behavior, designs, statistics)
        averaged = self._predicted(raw)
        observed = np.stack(list(statistics.values()), axis=1)
        residual = np.where(np.isfinite(observed), observed - averaged, np.nan)
        plain = self._features.plain(raw)
        like = _nearest(plain, self.described, LIKE)
        by_model = np.stack([target[_nearest(plain, cloud, min(LIKE, len(cloud) - 1))].mean(1) for cloud, target in self._clouds])
        far = np.abs(residual[:, None, :]) <= np.abs(self.residual[like]) + 1e-12
        p = np.where(np.isfinite(residual), (1 + far.sum(1)) / (1 + LIKE), np.nan)
        person_p = self._person(residual, like)
        group = self._group(behavior, designs, statistics, np.random.default_rng([seed, PURPOSE, 1]))
        models, outcomes = self.estimator.question.names, tuple(f.name for f in self.estimator.task.outcomes)
        return Prediction(self.names, models, observed, by_model, p, person_p, group, outcomes, self._failed)

    def _person(self, residual: Floats, like: Counts) -> Floats:
        """The p-value of all statistics of each person together, (N,)."""
        known = np.isfinite(residual)
        everyone = np.concatenate([np.where(known, residual, 0.0)[:, None], np.where(known[:, None], self.residual[like], 0.0)], axis=1)
        spread = np.maximum(np.sqrt((everyone**2).mean(1, keepdims=True)), 1e-9)
        highest = (np.abs(everyone) / spread).max(2)
        return np.asarray((highest[:, 1:] >= highest[:, :1] - 1e-12).sum(1) + 1) / (1 + LIKE)

    def _group(self, behavior: Behavior, designs: Floats, statistics: dict[str, Floats], rng: np.random.Generator) -> Fit:
        """The group beside the nearest population of simulated people."""
        task, models = self.estimator.task, self.estimator.question.models

        def again(m: int, places: Counts, people: Counts) -> Floats:
            parameters = {name: values[places] for name, values in self._parameters[m].items()}
            played, failures = attempt(models[m], parameters, designs[people], rng, task)
            told = self._filled(self._known(named_statistics(task, cut(played, behavior.mask[people]))))
            told[list(failures)] = self._usual
            self._skip(list(failures.values()), len(people))
            return told

        return self._population.fit(self._filled(statistics), _contexts(designs, behavior), again, rng)

    def _skip(self, failures: Sequence[Failure], n: int) -> None:
        """Go on without those of `n` simulated people who failed, or raise if the study is to stop at them."""
        stop_unless_skipped(failures, n, self.estimator.question.on_error)
        self._failed += len(failures)

    def _predicted(self, raw: Floats) -> Floats:
        """Predictions of each model averaged by their probabilities, (N, S); what one says of people unlike it has no weight."""
        described = self._features(raw)
        by_model = np.stack([described @ weights for weights in self._maps])
        return np.asarray(np.einsum("nm,mns->ns", raw[:, : len(self._maps)], by_model))

    def _known(self, statistics: dict[str, Floats]) -> dict[str, Floats]:
        """Those that somebody can have."""
        return {name: statistics[name] for name in self.names}

    def _raw(self, behavior: Behavior, designs: Floats, statistics: dict[str, Floats]) -> Floats:
        """Model probabilities, learned summaries and statistics of N people, (N, F)."""
        return np.concatenate([*shares_and_summaries(self.estimator, behavior, designs), self._filled(statistics)], axis=1)

    def _filled(self, statistics: dict[str, Floats]) -> Floats:
        """Statistics (N, S), what is unknown being as usual."""
        values = np.stack(list(statistics.values()), axis=1)
        return np.where(np.isfinite(values), values, self._usual)


def check_predictions(
    estimator: Estimator, behavior: Behavior, designs: Floats, *, n: int | None = None, seed: int = 0, progress: Progress = unheard
) -> Prediction:
    """Check what N people did against what the models expect of them.

    Arguments:
        designs: What they were run at, (N, B, V).
        n: Simulated people of each model; `SIMULATED` if not given.
    """
    people = closed_up(behavior)
    return Predictor(estimator, designs, people.mask, n, seed, progress).predict(people, designs, seed)


def shares_and_summaries(estimator: Estimator, behavior: Behavior, designs: Floats) -> tuple[Floats, Floats]:
    """By the network: model probabilities (N, M), 1 if there is one model, and learned summaries (N, S)."""
    shares, summaries = [], []
    with torch.no_grad():
        for part in torch.split(estimator.inputs(behavior, designs), TOGETHER):
            summaries.append(estimator.encoder(part).double().cpu().numpy())
            if estimator.question.about_models:
                shares.append(estimator.log_model_probabilities(part).double().softmax(-1).cpu().numpy())
    return np.concatenate(shares) if shares else np.ones((len(behavior), 1)), np.concatenate(summaries)


class _Features:
    """A description as numbers of one size, and smooth functions of them: what a linear map of predicts well."""

    def __init__(self, raw: Floats, rng: np.random.Generator, width: int = 200) -> None:
        self.centre, spread = raw.mean(0), raw.std(0)
        self.scale = np.where(spread > 1e-9, 1 / np.maximum(spread, 1e-9), 0.0)
        self.weights = rng.standard_normal((raw.shape[1], width)) / np.sqrt(raw.shape[1])
        self.offsets = rng.standard_normal(width)

    def plain(self, raw: Floats) -> Floats:
        return np.asarray(np.clip((raw - self.centre) * self.scale, -6, 6))

    def __call__(self, raw: Floats) -> Floats:
        plain = self.plain(raw)
        return np.concatenate([np.ones((len(raw), 1)), plain, np.tanh(1.5 * plain @ self.weights + self.offsets)], axis=1)


def _twice(
    model: Any, designs: Floats, masks: NDArray[np.bool_], rng: np.random.Generator, task: Any
) -> tuple[dict[str, Floats], list[Behavior], Counts, list[Failure]]:
    """The same simulated people in two experiments, as many trials of each block as masks say: parameters, data, who could be simulated.

    Last come the failures of those who could not.
    """
    parameters = sample_priors(model.parameters, len(designs), rng)
    plays = [attempt(model, parameters, designs, rng, task) for _ in range(2)]
    kept = np.setdiff1d(np.arange(len(designs)), [place for _, failures in plays for place in failures])
    data, failed = [cut(behavior[kept], masks[kept]) for behavior, _ in plays], [one for _, part in plays for one in part.values()]
    return {name: values[kept] for name, values in parameters.items()}, data, kept, failed


def _nearest(points: Floats, cloud: Floats, k: int) -> Counts:
    """The `k` of the cloud nearest to each point, (N, k); in so many dimensions a tree gains nothing over all distances."""
    sizes, places = (cloud**2).sum(1), []
    for start in range(0, len(points), TOGETHER):
        distances = sizes - 2 * points[start : start + TOGETHER] @ cloud.T
        places.append(np.argpartition(distances, k, axis=1)[:, :k])
    return np.concatenate(places)


def _contexts(designs: Floats, behavior: Behavior) -> Floats:
    """What statistics depend on beside the person: the design, and which share of its trials was recorded, (N, B V + 1)."""
    return np.concatenate([designs.reshape(len(designs), -1), behavior.mask.mean((1, 2))[:, None]], axis=1)


def average(values: Floats) -> float:
    """The mean of what is known; NaN if nothing is."""
    known = values[np.isfinite(values)]
    return float(known.mean()) if len(known) else float("nan")
