"""Refine a network near the data at hand, where models have no likelihood.

A network is right on average over simulations from the prior, and people need not be like these. What it should give, p(v | y), does not
depend on how often a y like this one is met in training; only its accuracy does. So it is trained further on simulations of people like
those at hand:

    1. Simulate people from the prior, at the people's designs. The parameters of those nearest to a person, in the network's own
       summaries, are a crude posterior of that person under each model.
    2. Simulate again, half of the parameters from the prior p, half from near these, together from p~. The weight p / p~, at most 2, makes
       up for that; and divided by its average among simulations with like data, which is a function of the data alone and so leaves
       p(v | y) as it is, it keeps the training where people are.
    3. Draw by these weights, train on most of it, and see on the rest what that gained.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from ..behavior import Behavior
from ..models.base import Model
from ..models.failures import attempt
from ..models.simulation import Simulations
from ..progress import Progress, unheard
from ..question import Question
from ..tasks.base import Task
from ..workers import one_thread
from .frequencies import Counts, Floats
from .statistics import cut

if TYPE_CHECKING:
    from ..estimators.base import Estimator

CRUDE, NEAREST = 4_000, 40
"""People of each model that are simulated first, and how many of them are near to a person."""

EACH, HELD_OUT = 16_000, 0.1
"""People of each model that are simulated to train on, and the share of what is drawn that is kept to see what was gained."""

LIKE, EPOCHS, RATE, BATCH = 60, 4, 1e-3, 256

WIDTH = 0.3
"""How far from a nearest one's parameter, on the normal scale, others are drawn."""


@dataclass(frozen=True, eq=False)
class Refinement:
    """A refined network, and what that changed.

    Arguments:
        estimator: The refined one.
        before, after: The bound in nats, on simulations of people like those at hand that had no part in training.
        simulated: How many people were simulated.
    """

    estimator: Estimator
    before: float
    after: float
    simulated: int

    @property
    def words(self) -> str:
        gain = f"rose from {self.before:.3f} to {self.after:.3f} nats" if self.after > self.before else "did not rise: it is used as it was"
        people = f"{self.simulated:,} simulated people like those at hand"
        return f"The network was trained further on {people}; on others of these, information {gain}."


def refine(
    estimator: Estimator, behavior: Behavior, designs: Floats, *, each: int = EACH, seed: int = 0, progress: Progress = unheard
) -> Refinement:
    """Train a copy of the network further, near the data of N people.

    Arguments:
        behavior: Gaps closed up (`statistics.closed_up`).
        designs: (N, B, V).
        each: Simulated people of each model to train on.
    """
    rng, question, task = np.random.default_rng(seed), estimator.question, estimator.task
    progress(0, 10, "refining the network", "simulating people like these")
    crude = _simulate(question, task, [rng.standard_normal((CRUDE, len(m.parameters))) for m in question.models], behavior, designs, rng)
    centres = _centres(estimator, crude, behavior, designs)
    numbers = np.round(np.array(question.prior) * each * len(centres)).astype(int)
    z, weights = zip(*(_proposed(points, n, rng) for points, n in zip(centres, numbers, strict=True)), strict=True)
    pool = _simulate(question, task, list(z), behavior, designs, rng)
    progress(3, 10, "refining the network", "finding those that are like people")
    chosen = _drawn(estimator, pool, np.concatenate([w[kept] for w, kept in zip(weights, pool.kept, strict=True)]), rng)
    apart = rng.random(len(pool.simulations)) < HELD_OUT  # nobody is both trained on and held out, however often drawn
    train, rest = (estimator.prepare(pool.simulations[chosen[apart[chosen] == side]]) for side in (False, True))
    refined = copy.deepcopy(estimator)
    before = estimator.pointwise(rest).estimate().nats
    with one_thread():
        _train(refined, train, seed, lambda done, total: progress(4 + 6 * done // total, 10, "refining the network", "training"))
    after = refined.pointwise(rest).estimate().nats
    kept = refined if after > before else estimator
    return Refinement(kept, before, max(before, after), len(crude.simulations) + len(pool.simulations))


@dataclass(frozen=True, eq=False)
class _Pool:
    """Simulated people, and, for each model, which could be simulated and their parameters on the normal scale, (N_m, P_m)."""

    simulations: Simulations
    kept: list[Counts]
    z: list[Floats]


def _simulate(question: Question, task: Task, z: list[Floats], people: Behavior, designs: Floats, rng: np.random.Generator) -> _Pool:
    """People of each model with given parameters, each at the design and with as many trials as one of the people."""
    parts, places, kept_z, values, within, whose, where = [], [], [], {}, {}, [], []
    for m, (model, points) in enumerate(zip(question.models, z, strict=True)):
        like = rng.integers(0, len(people), len(points))
        behavior, kept = _played(model, points, designs[like], task, rng)
        parts.append(cut(behavior, people.mask[like][kept]))
        places.append(kept)
        kept_z.append(points[kept])
        whose += [m] * len(kept)
        where.append(designs[like][kept])
    model_of = np.array(whose, np.intp)
    for m, model in enumerate(question.models):
        for p, (name, prior) in enumerate(model.parameters.items()):
            column = np.full(len(model_of), np.nan)
            column[model_of == m] = prior.from_normal(kept_z[m][:, p])
            values[f"{model.name}.{name}"] = column
            if prior.discrete:
                within[f"{model.name}.{name}"] = rng.random(len(model_of))
    return _Pool(Simulations(question.models, model_of, values, np.concatenate(where), Behavior.concatenate(parts), within), places, kept_z)


def _played(model: Model, z: Floats, designs: Floats, task: Task, rng: np.random.Generator) -> tuple[Behavior, Counts]:
    """What people with parameters `z` do, and which of them could be simulated."""
    theta = {name: prior.from_normal(z[:, p]) for p, (name, prior) in enumerate(model.parameters.items())}
    behavior, failures = attempt(model, theta, designs, rng, task)
    kept = np.setdiff1d(np.arange(len(z)), list(failures))
    return behavior[kept], kept


def _centres(estimator: Estimator, crude: _Pool, people: Behavior, designs: Floats) -> list[Floats]:
    """Parameters of the simulated people of each model who are nearest to any of the people, (C, P_m) each."""
    scale = _Scale(estimator.summaries(crude.simulations.behavior, crude.simulations.designs))
    points = scale(estimator.summaries(people, designs))
    centres = []
    for m, z in enumerate(crude.z):
        chosen = crude.simulations.model == m
        cloud = scale(estimator.summaries(crude.simulations.behavior[chosen], crude.simulations.designs[chosen]))
        centres.append(z[_nearest(points, cloud, NEAREST)[1].reshape(-1)])
    return centres


def _proposed(centres: Floats, n: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """`n` parameters, half from the prior and half from near `centres`, and their weights prior / proposal."""
    few = centres[rng.choice(len(centres), min(1_000, len(centres)), replace=False)]
    near = few[rng.integers(0, len(few), n)] + WIDTH * rng.standard_normal((n, centres.shape[1]))
    z = np.where(rng.random((n, 1)) < 0.5, near, rng.standard_normal(near.shape))
    log_prior = -0.5 * (z**2).sum(1)
    log_near = np.concatenate([_log_kernel(part, few) for part in np.array_split(z, max(1, n // 1_000))])
    return z, np.exp(log_prior - np.logaddexp(log_prior, log_near) + np.log(2.0))


def _log_kernel(z: Floats, centres: Floats) -> Floats:
    """log density, on the scale of the prior's without its constant, of normals around centres, (N,)."""
    squares = (z**2).sum(1)[:, None] - 2 * z @ centres.T + (centres**2).sum(1)
    return np.asarray(logsumexp(-0.5 * squares / WIDTH**2, axis=1) - np.log(len(centres)) - z.shape[1] * np.log(WIDTH))


def _drawn(estimator: Estimator, pool: _Pool, weights: Floats, rng: np.random.Generator) -> Counts:
    """Simulated people drawn by their weights, divided by the average weight of those with like data."""
    summaries = estimator.summaries(pool.simulations.behavior, pool.simulations.designs)
    described = _Scale(summaries)(summaries)
    like = _nearest(described, described, LIKE)[1]
    relative = weights / weights[like].mean(1)
    return rng.choice(len(relative), len(relative), p=relative / relative.sum())


class _Scale:
    """Summaries as a few uncorrelated numbers of one size."""

    def __init__(self, summaries: NDArray[Any], most: int = 12) -> None:
        values = summaries.astype(np.float64)
        self.centre = values.mean(0)
        sizes, vectors = np.linalg.eigh(np.cov(values - self.centre, rowvar=False) + 1e-9 * np.eye(values.shape[1]))
        self.map = vectors[:, -most:] / np.sqrt(sizes[-most:])

    def __call__(self, summaries: NDArray[Any]) -> Floats:
        return np.asarray((summaries.astype(np.float64) - self.centre) @ self.map)


def _nearest(points: Floats, cloud: Floats, k: int) -> Any:
    from scipy.spatial import cKDTree

    return cKDTree(cloud).query(points, min(k, len(cloud)), workers=-1)


def _train(estimator: Estimator, data: Any, seed: int, progress: Any) -> None:
    from ..training import Epochs, Trainer, TrainingSettings

    source = Epochs(data, BATCH, (seed, 15))
    trainer = Trainer(estimator, TrainingSettings(learning_rate=RATE, schedule="cosine", clip=1.0, pieces=2), EPOCHS * source.steps, seed)
    trainer.run(source, every=20, after=lambda trainer: progress(trainer.step, trainer.steps))
