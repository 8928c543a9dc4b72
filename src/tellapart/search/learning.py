"""How the one estimator of an amortized search is trained, a round at a time.

`learn_from_stream` trains on fresh simulations that are never seen again. `learn_from_budget` is for slow simulators: it
keeps what was simulated and trains on it in epochs, until held-out simulations no longer gain.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Callable, Sequence

import numpy as np

from ..information.estimate import Floats
from ..models.simulation import Simulations
from ..question import Question
from ..tasks.base import Task
from ..tasks.sampling import near, spread
from .base import Job

if TYPE_CHECKING:
    from ..estimators.base import Estimator
    from ..training import Trainer

CHECKPOINT = "training.safetensors"
CHECKPOINT_EVERY = 250

ROUNDS = (0.12, 0.5, 0.8, 1.0)
"""Where rounds end, as shares of all training. After the first there is a provisional recommendation."""

STAGES = (*["learning from simulations over all designs"] * 2, "learning where information is high", "tuning at the best designs")

CHUNK = 250
"""Simulations of a slow model that are made, kept and lost together."""

SCALE = 500
"""Simulations from which the scale of features is learned."""

TRIED = 16
"""Steps from which the time of training is judged."""

Tell = Callable[[int, str, str], None]
"""Called with the steps done, the stage and how it stands."""


@dataclass(frozen=True, eq=False)
class Mixture:
    """Draws the designs to train on: some over all of the space, some baseline, and half of them near `focus` if there is one.

    Arguments:
        focus: Designs where information is high, (F, B, V).
    """

    task: Task
    focus: Floats | None = None

    def __call__(self, n: int, rng: np.random.Generator) -> Floats:
        """`n` designs, (n, B, V)."""
        space = self.task.design_space
        designs = np.where(rng.random((n, 1, 1)) < 0.75, spread(space, n, rng), self.task.baseline(n, rng))
        if self.focus is None:
            return designs
        centres = self.focus[rng.integers(0, len(self.focus), n)]
        around = near(space, centres, np.where(rng.random((n, 1, 1)) < 0.5, 0.0, 0.05), rng)
        return np.where(rng.random((n, 1, 1)) < 0.5, around, designs)


@dataclass(frozen=True, eq=False)
class Plan:
    """How an estimator is trained.

    Arguments:
        estimator: What is trained, in place.
        job: For which search.
        steps: Of training, in all rounds.
        rate: The learning rate at its peak.
        batch: Participants in each step.
        unfinished: The share of participants that are trained on as if they had stopped early or missed trials.
        budget: Participants that may be simulated for training; 0 for as many as are needed.
        purpose: Begins the seeds of training.
    """

    estimator: Estimator
    job: Job
    steps: int
    rate: float
    batch: int
    unfinished: float
    budget: int
    purpose: int

    def learn(self, number: int, focus: Floats | None, tell: Tell) -> list[float]:
        """Carry out round `number`; the bound at every step, or epoch, of all rounds so far."""
        return (learn_from_budget if self.budget else learn_from_stream)(self, number, Mixture(self.job.task, focus), tell)


def steps_for(parameters: int) -> int:
    """Steps of training that a posterior of so many parameters needs."""
    return 1000 + 1800 * parameters


def seconds_a_step(estimator: Estimator, job: Job, batch: int) -> float:
    """How long a step of training takes here, simulations included."""
    from ..training import Stream, Trainer, TrainingSettings

    trainer = Trainer(estimator, TrainingSettings(optimizer=estimator.optimizer, pieces=2), TRIED)
    source = Stream(estimator, Mixture(job.task), batch, (job.seed, 0))
    trainer.run(source, 4)  # compilers and caches
    began = perf_counter()
    trainer.run(source)
    return (perf_counter() - began) / (TRIED - 4)


def learn_from_stream(plan: Plan, number: int, designs: Mixture, tell: Tell) -> list[float]:
    """Train up to the end of a round on fresh simulations."""
    from ..training import Stream, Trainer, TrainingSettings

    file = plan.job.journal.file(CHECKPOINT)
    how = TrainingSettings(plan.rate, plan.estimator.optimizer, clip=1.0, pieces=2)
    trainer = Trainer(plan.estimator, how, plan.steps, plan.job.seed)
    if file.exists():
        trainer.load(file)
    elif number == 0:
        learn_scale(plan, designs)
    source = Stream(plan.estimator, designs, plan.batch, (plan.job.seed, plan.purpose), plan.unfinished)

    def keep(trainer: Trainer) -> None:
        new = [*source.failures]
        plan.job.journal.put_failures(new)
        del source.failures[: len(new)]
        trainer.save(file)

    end = round(ROUNDS[number] * plan.steps)
    if trainer.step < end:
        trainer.run(
            source,
            end,
            every=CHECKPOINT_EVERY,
            after=keep,
            progress=lambda done, total, stage="", detail="": tell(done, STAGES[number], detail),
        )
        keep(trainer)
    if number == len(ROUNDS) - 1:
        trainer.settle(source)
        keep(trainer)
    return trainer.history


def learn_scale(plan: Plan, designs: Mixture) -> None:
    """Let the encoder learn in which range features lie, from simulations that nothing else uses."""
    rng = np.random.default_rng([plan.job.seed, plan.purpose, 0, SCALE])
    simulations = plan.job.question.simulate(plan.job.task, designs(SCALE, rng), SCALE, rng)
    plan.job.journal.put_failures(simulations.failures)
    plan.estimator.encoder.learn_scale(simulations.behavior)


def learn_from_budget(plan: Plan, number: int, designs: Mixture, tell: Tell) -> list[float]:
    """Train on all simulations made so far, those of this round being made first, until held-out ones say stop."""
    from ..training import load_weights, save_weights

    journal = plan.job.journal
    kept = journal.file(f"round-{number}.safetensors")
    files = _stored(plan, number, designs, tell)
    if not kept.exists():
        # a chunk is held out in all rounds or in none: what training has seen says nothing about what it has learned
        train, held_out = (_together(plan, [f for i, f in enumerate(files) if (i % 10 == 9) == out]) for out in (False, True))
        if number == 0:
            plan.estimator.encoder.learn_scale(train.behavior)
        journal.put(f"history {number}", _early_stopping(plan, train, held_out, number, tell))
        save_weights(kept, plan.estimator)
    load_weights(kept, plan.estimator)
    return [value for n in range(number + 1) for value in journal.get(f"history {n}")]


def _early_stopping(plan: Plan, train: Simulations, held_out: Simulations, number: int, tell: Tell) -> list[float]:
    """Train in epochs, keep the weights of the best; the bound on `held_out` after each."""
    from ..training import Stored, Trainer, TrainingSettings

    source = Stored(plan.estimator, train, min(plan.batch, len(train)), (plan.job.seed, plan.purpose, number), plan.unfinished)
    how = TrainingSettings(plan.rate / 2, plan.estimator.optimizer, schedule="plateau", patience=4, clip=1.0, pieces=2)
    trainer, unseen = Trainer(plan.estimator, how, max(plan.steps, source.steps), plan.job.seed), plan.estimator.prepare(held_out)
    curve: list[float] = []

    def validate(trainer: Trainer) -> None:
        plan.estimator.eval()
        curve.append(plan.estimator.pointwise(unseen, accuracy=False).estimate().nats)
        plan.estimator.train()
        trainer.told(curve[-1], keep=True)
        trainer.stopped = trainer.learning_rate < how.learning_rate / 50
        tell(round(ROUNDS[number] * trainer.step), STAGES[number], f"information {max(curve):.3f} on held-out simulations")

    trainer.run(source, every=source.steps, after=validate)
    trainer.restore()
    plan.estimator.settle([unseen])
    return curve


def _stored(plan: Plan, number: int, designs: Mixture, tell: Tell) -> list[Path]:
    """The files of all simulations of the budget up to this round; those that are missing are made, by the workers, and kept."""
    job = plan.job
    ends = [max(10, math.ceil(share * plan.budget / CHUNK)) for share in ROUNDS]
    files = [job.journal.file(f"simulations/{index:05d}.safetensors") for index in range(ends[number])]
    missing = [index for index, file in enumerate(files) if not file.exists()]
    pieces = [(job.task, job.question, designs, (job.seed, plan.purpose, index)) for index in missing]
    for done, (index, made) in enumerate(zip(missing, job.workers.map(_simulate_chunk, pieces), strict=True)):
        job.journal.put_failures(made.failures)
        made.save(files[index])
        tell(0, "simulating", f"{(done + 1) * CHUNK} of {len(missing) * CHUNK} participants")
    return files


def stored(folder: Path | None) -> list[Path]:
    """The files of the simulations that were kept in a run folder, in order; none if there is no folder."""
    return sorted((folder / "simulations").glob("*.safetensors")) if folder else []


def _together(plan: Plan, files: Sequence[Path]) -> Simulations:
    """The simulations of several files as one."""
    return Simulations.concatenate([Simulations.load(file, plan.job.question.models) for file in files])


def _simulate_chunk(task: Task, question: Question, designs: Mixture, seed: tuple[int, ...]) -> Simulations:
    """A chunk of the budget; a function of its seed alone, wherever it is made."""
    rng = np.random.default_rng(seed)
    return question.simulate(task, designs(CHUNK, rng), CHUNK, rng, by_lot=True)
