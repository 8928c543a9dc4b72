"""Do the data of a participant look like anything that the models can produce?

An estimator always answers, even about data that no model of the study could have produced; its answer then means nothing.
This check compares each participant with participants simulated from the models at the same design and with the same missed
trials. It looks at two descriptions of behavior:

    the learned summaries, which the answer rests on;
    plain statistics of the recorded sequences, which also see what the summaries have learned to ignore.

In each, after whitening, distance is that to the k-th nearest of R simulated participants, in units of what 99 % of those keep
to among themselves; the larger of the two distances counts. Further simulated participants, which had no part in this, say how
often a distance is that large or larger. That share is the p-value, and it is exact: of participants whom the models do describe,
the share that is flagged is the stated false-alarm rate (a conformal test; Vovk, Gammerman & Shafer 2005).

What it cannot see: a participant who behaves as some model with some parameters would, for whatever reason. Someone who chooses at
random is well described by a model that can choose at random.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Iterator

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..behavior import Behavior, Field
from ..models.simulation import simulate_models
from ..posterior import Trust

if TYPE_CHECKING:
    from ..estimators.base import Estimator

Floats = NDArray[np.float64]

FALSE_ALARM = 0.01
"""The share of participants that the models do describe and that are flagged all the same."""

NEIGHBOURS = 5
"""k."""


@dataclass(frozen=True, eq=False)
class View:
    """One description of R simulated participants.

    Arguments:
        centre: (F,).
        whitening: (F, G): makes the cloud's coordinates uncorrelated and of one size.
        cloud: The whitened descriptions, (R, G).
        unit: The distance that 99 % of the cloud keep to among themselves.
    """

    centre: Floats
    whitening: Floats
    cloud: Floats
    unit: float

    @classmethod
    def of(cls, described: Floats) -> View:
        """The view of a cloud that is described by (R, F) numbers; directions that hold the last 0.1 % of its extent are left out."""
        centre = described.mean(0)
        values, vectors = np.linalg.eigh(np.cov(described - centre, rowvar=False))
        wide = np.cumsum(values) > 1e-3 * values.sum()
        whitening = vectors[:, wide] / np.sqrt(values[wide])
        cloud = (described - centre) @ whitening
        among = _nearest(cloud, cloud, NEIGHBOURS + 1)  # the nearest is the participant itself
        return cls(centre, whitening, cloud, max(float(np.quantile(among, 0.99)), 1e-9))

    def distance(self, described: Floats) -> Floats:
        """The distance of each of N described participants from the cloud, (N,)."""
        return np.asarray(_nearest((described - self.centre) @ self.whitening, self.cloud, NEIGHBOURS) / self.unit)


@dataclass(frozen=True, eq=False)
class TrustCheck:
    """What the models' participants look like at a design.

    Arguments:
        design: (B, V).
        views: The two descriptions of the cloud.
        distances: Of the simulated participants that make p-values, ascending.
    """

    design: Floats
    views: tuple[View, ...]
    distances: Floats

    @classmethod
    def of(cls, estimator: Estimator, design: ArrayLike, mask: NDArray[np.bool_] | None = None, n: int = 2000, seed: int = 0) -> TrustCheck:
        """Simulate a cloud of `n` participants, and as many to measure distances with.

        Arguments:
            design: (B, V).
            mask: Which trials are recorded, (B, T); all of them if not given.
        """
        goal, n = estimator.goal, n - n % len(estimator.goal.models)
        behavior = simulate_models(goal.task, goal.models, design, 2 * n, np.random.default_rng([seed, 7])).behavior
        if mask is not None:
            behavior = Behavior({k: v[:, : mask.shape[0], : mask.shape[1]] for k, v in behavior.fields.items()}, _repeat(mask, 2 * n))
        described = describe(estimator, behavior, design)
        views = tuple(View.of(part[:n]) for part in described)
        return cls(np.asarray(design, dtype=np.float64), views, np.sort(_distance(views, tuple(part[n:] for part in described))))

    def p(self, estimator: Estimator, behavior: Behavior, design: ArrayLike) -> Floats:
        """The p-value of each participant, (N,)."""
        distance = _distance(self.views, describe(estimator, behavior, design))
        as_far = len(self.distances) - np.searchsorted(self.distances, distance, side="left")
        return np.asarray((1.0 + as_far) / (1.0 + len(self.distances)))

    def save(self, path: Path) -> None:
        """Write to a safetensors file."""
        from safetensors.numpy import save_file

        arrays: dict[str, Any] = {"distances": self.distances, "design": self.design}
        for i, view in enumerate(self.views):
            arrays |= {f"{i}.centre": view.centre, f"{i}.whitening": view.whitening, f"{i}.cloud": view.cloud}
            arrays[f"{i}.unit"] = np.array([view.unit])
        save_file({name: np.ascontiguousarray(value) for name, value in arrays.items()}, path)

    @classmethod
    def load(cls, path: Path) -> TrustCheck:
        """Read what `save` wrote."""
        from safetensors.numpy import load_file

        a = load_file(path)
        count = sum(name.endswith(".unit") for name in a)
        views = (View(a[f"{i}.centre"], a[f"{i}.whitening"], a[f"{i}.cloud"], float(a[f"{i}.unit"][0])) for i in range(count))
        return cls(a["design"], tuple(views), a["distances"])


def trust(
    estimator: Estimator,
    behavior: Behavior,
    designs: ArrayLike,
    *,
    kept: TrustCheck | None = None,
    false_alarm: float = FALSE_ALARM,
    n: int = 2000,
    seed: int = 0,
) -> Trust:
    """Check each participant.

    Arguments:
        behavior: The data of N participants.
        designs: What they were run at: one design for all (B, V), or one a participant (N, B, V).
        kept: A check for complete data at some design, used for participants to whom that applies.
        false_alarm: The share of participants to flag among those whom the models do describe.
        n: Simulated participants of a cloud; a cloud is made for each pattern of designs and missed trials.
    """
    all_designs = estimator.goal.task.design_space.check_many(designs, len(behavior))
    p = np.ones(len(behavior))
    for mine in _alike(all_designs, behavior.mask):
        design, mask = all_designs[mine[0]], behavior.mask[mine[0]]
        if mask.any():
            complete = bool(mask.all()) and mask.shape == (estimator.goal.task.blocks, estimator.goal.task.trials)
            fits = kept is not None and complete and np.array_equal(kept.design, design)
            check = kept if kept is not None and fits else TrustCheck.of(estimator, design, mask, n, seed)
            p[mine] = check.p(estimator, behavior[mine], design)
    return Trust(p, p <= false_alarm, false_alarm)


def _distance(views: tuple[View, ...], described: tuple[Floats, ...]) -> Floats:
    """The larger of the distances in all views, (N,)."""
    distances = np.stack([view.distance(part) for view, part in zip(views, described, strict=True)])
    return np.asarray(distances.max(axis=0))


def describe(estimator: Estimator, behavior: Behavior, design: ArrayLike) -> tuple[Floats, Floats]:
    """The two descriptions of N participants: learned summaries (N, S) and plain statistics (N, F)."""
    return estimator.summaries(behavior, design).astype(np.float64), plain_statistics(behavior, estimator.goal.task.fields)


def plain_statistics(behavior: Behavior, fields: tuple[Field, ...]) -> Floats:
    """Statistics that anyone would look at first, (N, F), averaged over blocks.

    For a categorical field: how often a choice repeats that of one, two and three trials before, how evenly categories are used, the
    longest run and how much runs differ in length; how often a choice is repeated after each value of each binary field. For the
    others: mean, spread, and how much a trial goes with the one before.
    """
    columns: list[Floats] = []
    binary = [f for f in fields if f.kind == "binary"]
    for field in fields:
        values = behavior.fields[field.name]
        if field.kind == "categorical":
            columns += [_share(_repeats(values, lag), _both(behavior.mask, lag)) for lag in (1, 2, 3) if lag < values.shape[2]]
            columns += [_evenness(values, behavior.mask, field.levels or 1), *_runs(values, behavior.mask)]
            columns += [column for other in binary for column in _repeats_after(values, behavior, other)]
        else:
            columns += _moments(np.log(np.maximum(values, 1e-9)) if field.kind == "positive" else values.astype(np.float64), behavior.mask)
    return np.nan_to_num(np.stack(columns, axis=-1))


def _share(event: NDArray[np.bool_], among: NDArray[np.bool_]) -> Floats:
    """How often an event happens (N, B, T), among the trials that count; a half if none does."""
    hits, trials = (event & among).sum((1, 2)), among.sum((1, 2))
    return np.asarray((hits + 0.5) / (trials + 1.0))


def _repeats(values: NDArray[Any], lag: int) -> NDArray[np.bool_]:
    return np.asarray(values[:, :, lag:] == values[:, :, :-lag])


def _both(mask: NDArray[np.bool_], lag: int) -> NDArray[np.bool_]:
    return np.asarray(mask[:, :, lag:] & mask[:, :, :-lag])


def _repeats_after(values: NDArray[Any], behavior: Behavior, other: Field) -> Iterator[Floats]:
    if values.shape[2] < 2:
        return
    before = behavior.fields[other.name][:, :, :-1]
    for value in (0, 1):
        yield _share(_repeats(values, 1), _both(behavior.mask, 1) & (before == value))


def _evenness(values: NDArray[Any], mask: NDArray[np.bool_], levels: int) -> Floats:
    """The entropy of the categories used within a block, averaged over blocks, (N,)."""
    counts = np.stack([((values == level) & mask).sum(2) for level in range(levels)], axis=-1)
    shares = counts / np.maximum(counts.sum(-1, keepdims=True), 1)
    return np.asarray(-(shares * np.log(np.maximum(shares, 1e-12))).sum(-1).mean(1))


def _runs(values: NDArray[Any], mask: NDArray[np.bool_]) -> tuple[Floats, Floats]:
    """The longest run of one category as a share of the trials, averaged over blocks, and how much runs differ in length; (N,) each.

    The second is the standard deviation of the lengths of all runs over their mean: 0 for someone who changes every fifth trial.
    """
    n, blocks, trials = values.shape
    run, longest = np.zeros((n, blocks)), np.zeros((n, blocks))
    count, total, squares = np.zeros(n), np.zeros(n), np.zeros(n)
    for t in range(trials + 1):
        goes_on = np.zeros((n, blocks), bool)
        if 0 < t < trials:
            goes_on = (values[:, :, t] == values[:, :, t - 1]) & mask[:, :, t] & mask[:, :, t - 1]
        ended = np.where(goes_on, 0.0, run)
        count, total, squares = count + (ended > 0).sum(1), total + ended.sum(1), squares + (ended**2).sum(1)
        run = np.where(goes_on, run + 1.0, mask[:, :, t] if t < trials else 0.0)
        longest = np.maximum(longest, run)
    mean = total / np.maximum(count, 1.0)
    spread = np.sqrt(np.maximum(squares / np.maximum(count, 1.0) - mean**2, 0.0)) / np.maximum(mean, 1e-9)
    return np.asarray((longest / np.maximum(mask.sum(2), 1)).mean(1)), np.asarray(spread)


def _moments(values: Floats, mask: NDArray[np.bool_]) -> list[Floats]:
    """Mean, standard deviation and lag-1 correlation of a field, (N,) each."""
    count = np.maximum(mask.sum((1, 2)), 1)
    mean = (values * mask).sum((1, 2)) / count
    centred = (values - mean[:, None, None]) * mask
    variance = (centred**2).sum((1, 2)) / count
    pairs = _both(mask, 1)
    together = (centred[:, :, 1:] * centred[:, :, :-1] * pairs).sum((1, 2)) / np.maximum(pairs.sum((1, 2)), 1)
    return [mean, np.sqrt(variance), together / np.maximum(variance, 1e-9)]


def _nearest(points: Floats, cloud: Floats, k: int) -> Floats:
    """The distance of each point (N, G) to the `k`-th nearest of the cloud (R, G), (N,)."""
    from scipy.spatial.distance import cdist

    k = min(k, len(cloud))
    parts = [np.partition(cdist(points[start : start + 500], cloud), k - 1, axis=1)[:, k - 1] for start in range(0, len(points), 500)]
    return np.concatenate(parts) if parts else np.zeros(0)


def _alike(designs: Floats, mask: NDArray[np.bool_]) -> Iterator[NDArray[np.intp]]:
    """Participants with the same design and the same missed trials, a group at a time."""
    rows = np.concatenate([designs.reshape(len(mask), -1), mask.reshape(len(mask), -1)], axis=1)
    if len(rows):
        _, group = np.unique(rows, axis=0, return_inverse=True)
        yield from (np.flatnonzero(group.reshape(-1) == g) for g in range(int(group.max()) + 1))


def _repeat(mask: NDArray[np.bool_], n: int) -> NDArray[np.bool_]:
    return np.broadcast_to(mask, (n, *mask.shape)).copy()
