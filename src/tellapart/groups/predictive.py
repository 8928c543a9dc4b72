"""Do the models describe what people did? Statistics of their behavior, observed against predicted.

For each model, simulated people with parameters from the prior play twice, with the same parameters: y and y'. A regression of the
statistics T(y') on a description of y is the posterior predictive mean E[T(y') | y], for whatever simulator and without a draw from any
posterior. For a person with data y it says what the model, having seen the person, expects of such a person. Predictions of several models
are averaged by their probabilities.

People whom the models describe differ from their prediction, T(y) - E[T(y') | y], as simulated ones do. Those who are most like a person
before, by the description of y, say how: their second data y' are new data of people like this one, and go the same way. So each
person's p-value is the share of like simulated people who are as far from their predictions. A group is as far as its differences are from
those of like people, and its p-value comes from groups that are put together of like people, one for each person, and treated in the
same way: each of them is compared, by y', with those like it. What is wrong with that comparison, because nobody is quite alike, is wrong
with both, and cancels. Neither assumes that the population follows the prior. A group can be far in one statistic,
or a little in many that go together; its p-value is that of the better of both tests, and accounts for there being two.

References:
    Gelman, Meng & Stern (1996), Posterior predictive assessment of model fitness via realized discrepancies.
    Hjort, Dahl & Steinbakk (2006), Post-processing posterior predictive p values: why predictions must be calibrated.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..behavior import Behavior
from ..models.failures import attempt
from ..priors import sample_priors
from ..progress import Progress, unheard
from .frequencies import Counts, Floats
from .statistics import closed_up, named_statistics

if TYPE_CHECKING:
    from ..estimators.base import Estimator

SIMULATED, LIKE, GROUPS, ALARM = 3_000, 30, 1_000, 0.01
"""People simulated of each model; how many are taken to be like a person; groups put together; and the p-value that is an alarm."""

TOGETHER = 1024
"""People whose inputs or distances are in memory at once."""


@dataclass(frozen=True, eq=False)
class Prediction:
    """Statistics of N people, observed against predicted.

    Arguments:
        names: S statistics.
        models: M models.
        observed: (N, S); NaN where somebody has no such statistic.
        predicted: By each model, (M, N, S).
        averaged: By all models, averaged by their probabilities, (N, S).
        p: How many like simulated people are as far from their predictions, (N, S).
        person_p: How many like simulated people are as far in any statistic: of all of them together, (N,).
        group_z: How far the average difference of the group is from that of simulated groups, in their standard deviations, (S,).
        group_low, group_high: Between which the observed average of the group would lie in 95 % of simulated groups, (S,).
        group_p: How many simulated groups are as far in any statistic: the p-value of all of them together.
        outcomes: Names of the fields that the task gives.
    """

    names: tuple[str, ...]
    models: tuple[str, ...]
    observed: Floats
    predicted: Floats
    averaged: Floats
    p: Floats
    person_p: Floats
    group_z: Floats
    group_low: Floats
    group_high: Floats
    group_p: float
    outcomes: tuple[str, ...] = ()

    @property
    def alarm(self) -> bool:
        """Do the models fail to describe the group?"""
        return self.group_p <= ALARM

    @property
    def worst(self) -> str:
        """The statistic that is described worst."""
        return self.names[int(np.abs(self.group_z).argmax())]

    @property
    def odd_outcomes(self) -> bool:
        """Is it what the task gave, rather than what people did, that is described worst?"""
        return self.worst.removeprefix("log ").startswith(self.outcomes)

    def rows(self) -> list[dict[str, Any]]:
        """One row for each statistic: the group's average, observed and predicted."""
        rows = []
        for s, name in enumerate(self.names):
            by_model = {f"predicted.{model}": average(self.predicted[m, :, s]) for m, model in enumerate(self.models)}
            ends = {"low": float(self.group_low[s]), "high": float(self.group_high[s]), "z": float(self.group_z[s])}
            rows.append(
                {
                    "statistic": name,
                    "observed": average(self.observed[:, s]),
                    "predicted": average(self.averaged[:, s]),
                    **ends,
                    **by_model,
                }
            )
        return rows


class Predictor:
    """What models expect of people whose data have been seen.

    Arguments:
        estimator: Describes behavior, and says how probable models are.
        designs: What people were run at, (N, B, V).
        masks: Which trials of theirs are recorded, gaps closed up, (N, B, T).
        n: Simulated people of each model.
    """

    def __init__(
        self,
        estimator: Estimator,
        designs: Floats,
        masks: NDArray[np.bool_],
        n: int = SIMULATED,
        seed: int = 0,
        progress: Progress = unheard,
    ) -> None:
        self.estimator, rng = estimator, np.random.default_rng(seed)
        question, task = estimator.question, estimator.task
        firsts, seconds, models, drawn_designs = [], [], [], []
        for m, model in enumerate(question.models):
            progress(m, len(question.models) + 1, "simulating people twice", model.name)
            like = rng.integers(0, len(masks), n)
            first, second, kept = _twice(model, designs[like], masks[like], rng, task)
            firsts.append(first)
            seconds.append(second)
            models += [m] * len(first)
            drawn_designs.append(designs[like][kept])
        model_of, where = np.array(models), np.concatenate(drawn_designs)
        first, second = Behavior.concatenate(firsts), Behavior.concatenate(seconds)
        statistics, again = (named_statistics(task, part) for part in (first, second))
        self.names = tuple(statistics)
        self._usual = np.array([float(np.nanmean(values)) if np.isfinite(values).any() else 0.0 for values in statistics.values()])
        raw = self._raw(first, where, statistics)
        self._features = _Features(raw, rng)
        described, target = self._features(raw), self._filled(again)
        # half of them teach what is expected, the others, of whom that has seen nothing, are who people are compared with
        held_out, of = np.arange(len(model_of)) % 2 == 1, [model_of == m for m in range(len(question.models))]
        self._maps = [_ridge(described[one & ~held_out], target[one & ~held_out]) for one in of]
        self.described = self._features.plain(raw[held_out])
        progress(len(question.models), len(question.models) + 1, "simulating people twice", "what was to be expected of them")
        later = {name: values[held_out] for name, values in again.items()}
        seen = self._raw(second[held_out], where[held_out], later)
        self.residual = np.nan_to_num(np.stack(list(later.values()), axis=1) - self._predicted(seen)[1])
        alike = _nearest(self._features.plain(seen), self.described, LIKE + 1)
        self._usually = self._among(_without(alike, np.arange(len(alike))))

    def predict(self, behavior: Behavior, designs: Floats, seed: int = 0) -> Prediction:
        """Check N people."""
        statistics = named_statistics(self.estimator.task, behavior)
        raw = self._raw(behavior, designs, statistics)
        by_model, averaged = self._predicted(raw)
        observed = np.stack(list(statistics.values()), axis=1)
        residual = np.where(np.isfinite(observed), observed - averaged, np.nan)
        like = _nearest(self._features.plain(raw), self.described, LIKE)
        far = np.abs(residual[:, None, :]) <= np.abs(self.residual[like]) + 1e-12
        p = np.where(np.isfinite(residual), (1 + far.sum(1)) / (1 + LIKE), np.nan)
        person_p = self._person(residual, like)
        z, half, centre, group_p = self._group(residual, like, np.random.default_rng(seed))
        expected = np.array([average(averaged[np.isfinite(residual[:, s]), s]) for s in range(len(self.names))]) + centre
        models, outcomes = self.estimator.question.names, tuple(f.name for f in self.estimator.task.outcomes)
        return Prediction(
            self.names, models, observed, by_model, averaged, p, person_p, z, expected - half, expected + half, group_p, outcomes
        )

    def _person(self, residual: Floats, like: Counts) -> Floats:
        """The p-value of all statistics of each person together, (N,)."""
        known = np.isfinite(residual)
        everyone = np.concatenate([np.where(known, residual, 0.0)[:, None], np.where(known[:, None], self.residual[like], 0.0)], axis=1)
        spread = np.maximum(np.sqrt((everyone**2).mean(1, keepdims=True)), 1e-9)
        highest = (np.abs(everyone) / spread).max(2)
        return np.asarray((highest[:, 1:] >= highest[:, :1] - 1e-12).sum(1) + 1) / (1 + LIKE)

    def _group(self, residual: Floats, like: Counts, rng: np.random.Generator) -> tuple[Floats, Floats, Floats, float]:
        """How far the group's averages and squares of residuals are from those of like people: z, half an interval, centre, p.

        Some groups of like people say how far such groups are and how statistics go together; the others are judged by that as the
        people are.
        """
        known, people, size = np.isfinite(residual), np.arange(len(like)), len(self.names)
        far, centre, spread = _distance(np.nan_to_num(residual), *self._among(like), known)
        drawn = (like[people, rng.integers(0, LIKE, len(like))] for _ in range(2 * GROUPS))
        expected, variance = self._usually
        nulls = np.stack([_distance(self.residual[one], expected[one], variance[one], known)[0] for one in drawn])
        usual, width = nulls[:GROUPS].mean(0), np.maximum(nulls[:GROUPS].std(0), 1e-9)
        z, null_z = (far - usual) / width, (nulls - usual) / width
        together = np.linalg.inv(null_z[:GROUPS].T @ null_z[:GROUPS] / GROUPS + 0.1 * np.eye(len(z)))
        judged = np.concatenate([z[None], null_z[GROUPS:]])
        ranks = [_from_the_top(np.abs(judged).max(1)), _from_the_top(np.einsum("gs,st,gt->g", judged, together, judged))]
        best = np.minimum(*ranks)
        return z[:size], (1.96 * width * spread)[:size], (centre + usual * spread)[:size], float((best <= best[0]).mean())

    def _among(self, like: Counts) -> tuple[Floats, Floats]:
        """Mean and variance of residuals and of their squares among like people (N, K), (N, 2 S) each."""
        moments = [_moments(self.residual[one]) for one in like]
        return np.stack([values.mean(0) for values in moments]), np.stack([values.var(0) for values in moments])

    def _predicted(self, raw: Floats) -> tuple[Floats, Floats]:
        """Predictions by each model (M, N, S), and averaged by their probabilities (N, S)."""
        described = self._features(raw)
        by_model = np.stack([described @ weights for weights in self._maps])
        shares = raw[:, : len(self._maps)]
        return by_model, np.einsum("nm,mns->ns", shares, by_model)

    def _raw(self, behavior: Behavior, designs: Floats, statistics: dict[str, Floats]) -> Floats:
        """Model probabilities, learned summaries and statistics of N people, (N, F)."""
        return np.concatenate([*shares_and_summaries(self.estimator, behavior, designs), self._filled(statistics)], axis=1)

    def _filled(self, statistics: dict[str, Floats]) -> Floats:
        """Statistics (N, S), what is unknown being as usual."""
        values = np.stack(list(statistics.values()), axis=1)
        return np.where(np.isfinite(values), values, self._usual)


def check_predictions(
    estimator: Estimator, behavior: Behavior, designs: Floats, *, n: int = SIMULATED, seed: int = 0, progress: Progress = unheard
) -> Prediction:
    """Check what N people did against what the models expect of them.

    Arguments:
        designs: What they were run at, (N, B, V).
        n: Simulated people of each model.
    """
    people = closed_up(behavior)
    return Predictor(estimator, designs, people.mask, n, seed, progress).predict(people, designs, seed)


def shares_and_summaries(estimator: Estimator, behavior: Behavior, designs: Floats) -> tuple[Floats, Floats]:
    """By the network: model probabilities (N, M), 1 if there is one model, and learned summaries (N, S)."""
    import torch

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


def _twice(model: Any, designs: Floats, masks: NDArray[np.bool_], rng: np.random.Generator, task: Any) -> tuple[Behavior, Behavior, Counts]:
    """The same simulated people in two experiments, as many trials of each block as masks say; and which could be simulated."""
    parameters = sample_priors(model.parameters, len(designs), rng)
    plays = [attempt(model, parameters, designs, rng, task) for _ in range(2)]
    kept = np.setdiff1d(np.arange(len(designs)), [place for _, failures in plays for place in failures])
    first, second = (_cut(behavior[kept], masks[kept]) for behavior, _ in plays)
    return first, second, kept


def _cut(behavior: Behavior, masks: NDArray[np.bool_]) -> Behavior:
    """As if each block had ended when the person's did."""
    blocks, trials = masks.shape[1:]
    shorter = behavior.first(blocks=blocks, trials=trials)
    return Behavior(shorter.fields, shorter.mask & masks)


def _ridge(features: Floats, target: Floats, penalty: float = 1e-2) -> Floats:
    """The linear map (F, S) from features (N, F) to targets (N, S) with a small penalty."""
    square = features.T @ features + penalty * len(features) * np.eye(features.shape[1])
    return np.asarray(np.linalg.solve(square, features.T @ target), np.float64)


def _nearest(points: Floats, cloud: Floats, k: int) -> Counts:
    """The `k` of the cloud nearest to each point, (N, k); in so many dimensions a tree gains nothing over all distances."""
    sizes, places = (cloud**2).sum(1), []
    for start in range(0, len(points), TOGETHER):
        distances = sizes - 2 * points[start : start + TOGETHER] @ cloud.T
        places.append(np.argpartition(distances, k, axis=1)[:, :k])
    return np.concatenate(places)


def _without(places: Counts, own: Counts) -> Counts:
    """One place fewer in each row (N, K + 1): its own, or the last."""
    mine = places == own[:, None]
    mine[~mine.any(1), -1] = True
    return np.asarray(places[~mine].reshape(len(places), -1))


def _moments(residual: Floats) -> Floats:
    """Residuals and their squares, (..., 2 S)."""
    return np.concatenate([residual, residual**2], axis=-1)


def _distance(residual: Floats, expected: Floats, variance: Floats, known: NDArray[np.bool_]) -> tuple[Floats, Floats, Floats]:
    """How far a group's averages of residuals (N, S) and of their squares are from what is expected; that, and a standard error, (2 S,).

    Arguments:
        expected: Of each person, (N, 2 S).
        variance: Of each person, (N, 2 S).
        known: Who has which statistic, (N, S).
    """
    counted = np.concatenate([known, known], axis=1)
    n = np.maximum(counted.sum(0), 1)
    observed, centre = (np.where(counted, values, 0.0).sum(0) / n for values in (_moments(residual), expected))
    error = np.maximum(np.sqrt(np.where(counted, variance, 0.0).sum(0)) / n, 1e-9)
    return (observed - centre) / error, centre, error


def _from_the_top(values: Floats) -> Counts:
    """How many are as large, or larger, (G,)."""
    ordered = np.sort(values)
    return np.asarray(len(values) - np.searchsorted(ordered, values, side="left"), np.intp)


def average(values: Floats) -> float:
    """The mean of what is known; NaN if nothing is."""
    known = values[np.isfinite(values)]
    return float(known.mean()) if len(known) else float("nan")
