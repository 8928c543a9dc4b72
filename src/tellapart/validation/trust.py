"""Do the data of a participant look like anything that the models can produce?

An estimator always answers, even about data that no model of the study could have produced; its answer then means nothing. This check
compares each participant with participants simulated from each model at the same design. It looks at two descriptions of behavior:

    the learned summaries, which the answer rests on;
    plain statistics of the recorded sequences, which also see what the summaries have learned to ignore.

In each, after whitening, distance is that to the k-th nearest of a cloud of simulated participants of a model; the larger of the two
distances counts. Further simulated participants of that model, who had no part in this and have missed the same trials, say how often a
distance is that large or larger. That share is the p-value under the model (a conformal test; Vovk, Gammerman & Shafer 2005), and who
has a p-value of at most the false-alarm rate under every model is flagged. What holds: of participants simulated from any one of the
models, with parameters from its prior, at most the stated share is flagged. That is an average over the prior: at parameter values that
are rare under it, more may be flagged. It does not depend on who else is in the data.

Missed trials. Where models miss none, a missed trial is as if it had never been: someone with 28 trials in a block is compared with
the first 28 of simulated participants; or rather with 27, since a few numbers of trials serve everyone, and more trials than such a
number are left out. Where models miss trials themselves (a deadline), missing is behavior and stays where it is. But a participant who
missed the end of a block may also have stopped there: both are looked at, and the larger p-value counts.

What it cannot see: a participant who behaves as some model with some parameters would, for whatever reason. Someone who chooses at
random is well described by a model that can choose at random.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Callable, Iterator, Mapping

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.spatial.distance import cdist

from ..behavior import Behavior
from ..estimators.base import Estimator
from ..information.estimate import Floats
from ..models.simulation import Simulations, simulate_models
from ..progress import Progress, unheard
from ..tasks.base import Task
from ..threads import available_cores
from ..workers import one_thread
from .statistics import Mask, plain_statistics

FALSE_ALARM = 0.01
"""The share that is flagged, at most, of participants simulated from a model."""

NUMBER, CLOUD = 1200, 600
"""Simulated participants of each model, and how many of them are the cloud; half of them if they are fewer."""

NEIGHBOURS = 5
"""k."""

FLOOR = 0.1
"""Directions in which a standardised cloud hardly extends count as if it had this variance there."""

SHARES = (0.9, 0.75, 0.6, 0.45, 0.3, 0.2, 0.1)
"""Of participants who missed trials, so much of each block is compared, or three trials, two, one or none."""

PURPOSE = 102
"""Follows the seed of all that is simulated here."""


@dataclass(frozen=True, eq=False)
class Trust:
    """Do the data look like anything that the models can produce?

    Arguments:
        p: The largest of a participant's p-values, (N,).
        flagged: Is that at most the false-alarm rate? (N,).
        false_alarm: The share that is flagged, at most, of participants simulated from a model with parameters from its prior.
        by_model: Model name to the share of its simulated participants that look as strange as this one or stranger, (N,).
        failed: How many participants could not be simulated, so that others took their places.
    """

    p: Floats
    flagged: NDArray[np.bool_]
    false_alarm: float
    by_model: Mapping[str, Floats] = field(default_factory=dict)
    failed: int = 0

    def columns(self) -> dict[str, Any]:
        """Columns "unlike_models", its p-value, and that under each model."""
        each = {f"unlike_models.p.{name}": p for name, p in self.by_model.items()}
        return {"unlike_models": self.flagged, "unlike_models.p": self.p, **each}


def trust(
    estimator: Estimator,
    behavior: Behavior,
    designs: ArrayLike,
    *,
    kept: Simulations | None = None,
    false_alarm: float = FALSE_ALARM,
    n: int = NUMBER,
    seed: int = 0,
    progress: Progress = unheard,
) -> Trust:
    """Check each participant.

    Arguments:
        behavior: The data of N participants.
        designs: What they were run at: one design for all (B, V), or one for each (N, B, V).
        kept: What `simulate_references` gave for one of the designs, so that it is not simulated again.
        n: Simulated participants of each model, for each design.
        seed: Where their randomness starts.
    """
    task, names = estimator.task, estimator.question.names
    people, where = whole(task.check(behavior), task), task.design_space.check_many(designs, len(behavior))
    p, failed, done = np.zeros((len(behavior), len(names))), 0, 0
    with one_thread(), ThreadPoolExecutor(available_cores()) as pool:
        for chosen in _alike(where):
            same = kept is not None and np.array_equal(kept.designs[0], where[chosen[0]])
            simulated = kept if kept is not None and same else simulate_references(estimator, where[chosen[0]], n, seed)
            references = _References(estimator, simulated)
            for rows, m, values in pool.map(lambda job: job(), references.jobs(people[chosen])):
                p[chosen[rows], m] = np.maximum(p[chosen[rows], m], values)
                progress(done, len(behavior), "comparing with simulated participants", f"{len(rows)} at once")
            done, failed = done + len(chosen), failed + len(simulated.failures)
            progress(done, len(behavior), "comparing with simulated participants")
    p[p == 0.0] = 1.0  # nothing to compare
    largest = p.max(1)
    return Trust(largest, largest <= false_alarm, false_alarm, dict(zip(names, p.T, strict=True)), failed)


def simulate_references(estimator: Estimator, design: ArrayLike, n: int = NUMBER, seed: int = 0) -> Simulations:
    """`n` participants of each model at a design (B, V), to compare others with."""
    question, rng = estimator.question, np.random.default_rng([seed, PURPOSE])
    return simulate_models(estimator.task, question.models, design, n * len(question.models), rng, on_error=question.on_error)


@dataclass(frozen=True, eq=False)
class View:
    """One description of a cloud of R simulated participants.

    Arguments:
        centre: (F,).
        whitening: (F, F): makes the cloud's coordinates uncorrelated and of one size.
        cloud: The whitened descriptions, (R, F).
        digits: Of distances. One less where the cloud is a point, from which rounding, too, is a distance.
    """

    centre: Floats
    whitening: Floats
    cloud: Floats
    digits: int = 3

    @classmethod
    def of(cls, described: Floats) -> View:
        """The view of a cloud that is described by (R, F) numbers. The root mean square of what is whitened is 1; 0 if all are alike."""
        centre, scale, size = described.mean(0), described.std(0), np.abs(described).max(0)
        varies = scale > 1e-5 * size  # what varies by rounding only does not vary
        scale = np.where(varies, scale, np.where(size > 0, size, 1.0))
        values, vectors = np.linalg.eigh(np.atleast_2d(np.cov((described - centre) / scale, rowvar=False)))
        whitening = vectors / scale[:, None] / np.sqrt(np.maximum(values, FLOOR))
        cloud = (described - centre) @ whitening
        # a cloud that is a point, whose participants all do the same, has no size; that of rounding would make all others strange
        extent = float(np.sqrt((cloud**2).sum(1).mean())) if varies.any() else 1.0
        return cls(centre, whitening / extent, cloud / extent, 3 if varies.any() else 2)

    def distance(self, described: Floats) -> Floats:
        """The distance of each of N described participants from the cloud, (N,); rounded, since equal behavior is to be equally far."""
        k = min(NEIGHBOURS, len(self.cloud)) - 1
        apart = cdist((described - self.centre) @ self.whitening, self.cloud)
        return np.asarray(np.round(np.partition(apart, k, axis=1)[:, k], self.digits), dtype=np.float64)


class _References:
    """Simulated participants of each model at one design, from `simulate_references`, and what others look like beside them."""

    def __init__(self, estimator: Estimator, simulations: Simulations) -> None:
        self.estimator, self.design, mask = estimator, simulations.designs[0], simulations.behavior.mask
        self.models = [simulations.of(m).behavior for m in range(len(simulations.models))]
        self.exists: Mask = np.asarray(mask.any(0))
        self.misses = bool((self.exists & ~mask).any())

    def jobs(self, people: Behavior) -> Iterator[Callable[[], tuple[NDArray[np.intp], int, Floats]]]:
        """Comparisons that do not depend on each other: each gives places of people, a model, and their p-values under it."""
        people = people if self.misses else people.closed_up()
        whole = [np.broadcast_to(self.exists, people.mask.shape)] if self.misses else []
        for shown in (self.reached(people.mask), *whole):
            for rows in _alike(shown):
                if (people.mask & shown)[rows].any():
                    described = self.describe(people[rows], shown[rows[0]])
                    yield from (partial(self.compare, rows, m, described, shown[rows[0]]) for m in range(len(self.models)))

    def reached(self, mask: Mask) -> Mask:
        """The trials of each participant up to the last recorded one of a block, or some of them; all if all are complete, (N, B, T)."""
        end, lengths = _reach(mask & self.exists), _reach(self.exists[None])[0]
        complete = (end == lengths).all(1)
        for b, length in enumerate(lengths):
            numbers = np.unique([0, 1, 2, 3, *(int(share * length) for share in SHARES)])
            less = numbers[np.searchsorted(numbers, end[:, b], side="right") - 1]
            end[:, b] = np.where(complete, length, less)
        return np.asarray(self.exists & (np.arange(mask.shape[2]) < end[:, :, None]))

    def compare(self, rows: NDArray[np.intp], m: int, described: tuple[Floats, ...], shown: Mask) -> tuple[NDArray[np.intp], int, Floats]:
        """The p-values under model `m` of people who are described, looking at the trials (B, T) that are shown."""
        simulated, size = self.describe(self.models[m], shown), min(CLOUD, len(self.models[m]) // 2)
        views = [View.of(part[:size]) for part in simulated]
        usual, distance = (
            np.max([view.distance(part) for view, part in zip(views, parts, strict=True)], axis=0)
            for parts in ([part[size:] for part in simulated], described)
        )
        return rows, m, (1.0 + (usual >= distance[:, None]).sum(1)) / (1.0 + len(usual))

    def describe(self, behavior: Behavior, shown: Mask) -> tuple[Floats, Floats]:
        """The two descriptions of N participants: learned summaries (N, S) and plain statistics (N, F)."""
        blocks, trials = (int(np.flatnonzero(shown.any(axis))[-1]) + 1 for axis in (1, 0))
        seen = Behavior(behavior.fields, behavior.mask & shown).first(blocks=blocks, trials=trials)
        summaries = self.estimator.summaries(seen, self.design).astype(np.float64)
        return summaries, plain_statistics(seen, self.estimator.task.fields, shown[:blocks, :trials])


def _reach(mask: Mask) -> NDArray[np.intp]:
    """How many trials of each block it took up to the last recorded one, (N, B)."""
    return np.where(mask.any(2), mask.shape[2] - mask[:, :, ::-1].argmax(2), 0)


def whole(behavior: Behavior, task: Task) -> Behavior:
    """Behavior with all blocks and trials of the task, those beyond its own being missed."""
    _, blocks, trials = behavior.shape
    more = ((0, 0), (0, task.blocks - blocks), (0, task.trials - trials))
    fields = {name: np.pad(values, more) for name, values in behavior.fields.items()}
    return Behavior(fields, np.pad(behavior.mask, more), behavior.participants)


def _alike(rows: NDArray[Any]) -> Iterator[NDArray[np.intp]]:
    """The places of equal rows (N, …), a group at a time."""
    if len(rows):
        _, group = np.unique(rows.reshape(len(rows), -1), axis=0, return_inverse=True)
        order = np.argsort(group.reshape(-1), kind="stable")
        yield from np.split(order, np.flatnonzero(np.diff(group.reshape(-1)[order])) + 1)
