"""One evaluation of a design, as the paper makes it: U(d) = max over the network of the bound.

Draw from the prior, simulate at d, train a fresh critic on most of the simulations, and take the bound on those held out.
Everything is a function of the question, the design, the settings and the seed.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Sequence

import numpy as np

from ..information.estimate import Floats, InformationEstimate
from ..models.failures import Failure
from ..question import Question
from ..tasks.base import Task

if TYPE_CHECKING:
    from torch import Tensor

    from ..estimators.base import Batch
    from ..estimators.critic import CriticEstimator
    from ..training import Trainer


@dataclass(frozen=True)
class EvaluationSettings:
    """The settings of an evaluation; the defaults are the paper's for telling models apart.

    Arguments:
        bound: "nwj", as published, or "infonce".
        summaries: Summary statistics of each block.
        block_hidden: Hidden units of the sub-network of each block.
        hidden: Hidden units of the main network.
        data_as: Categories of the data as "number", as published, or "one-hot".
        model_as: The model in v as "number", as published, or "one-hot".
        scale: Parameters in v on their "natural" scale, as published, or on the "normal" one.
        draws: Simulations of an evaluation.
        held_out: How many of them are not trained on.
        minibatch: Simulations a step of training.
        epochs: How often training goes through its simulations.
        learning_rate: Adam's at the start.
        weight_decay: Adam's.
        plateau_factor: By what the learning rate falls on a plateau.
        plateau_patience: How many epochs without a better bound on the held-out simulations make a plateau.
        keep: The weights of the "last" epoch, whose bound on the held-out simulations is the estimate; or those of the "best" epoch
            on the held-out simulations, the estimate being the bound on as many new ones.
    """

    bound: Literal["nwj", "infonce"] = "nwj"
    summaries: int = 6
    block_hidden: tuple[int, ...] = (64, 32)
    hidden: tuple[int, ...] = (32, 32)
    data_as: Literal["number", "one-hot"] = "number"
    model_as: Literal["number", "one-hot"] = "number"
    scale: Literal["natural", "normal"] = "natural"
    draws: int = 50_000
    held_out: int = 10_000
    minibatch: int = 512
    epochs: int = 200
    learning_rate: float = 1e-3
    weight_decay: float = 1e-3
    plateau_factor: float = 0.5
    plateau_patience: int = 25
    keep: Literal["last", "best"] = "last"


@dataclass(frozen=True, eq=False)
class Evaluation:
    """What an evaluation gave.

    Arguments:
        information: The estimate.
        weights: The trained network.
        curve: The bound on the held-out simulations after each epoch.
        seconds: "simulation" and "training".
        failures: Who could not be simulated.
    """

    information: InformationEstimate
    weights: dict[str, Tensor]
    curve: list[float]
    seconds: dict[str, float]
    failures: tuple[Failure, ...]


def build(task: Task, question: Question, settings: EvaluationSettings, seed: int = 0) -> CriticEstimator:
    """A critic with random weights."""
    import torch

    from ..estimators.infonce import InfoNCEEstimator
    from ..estimators.nwj import NWJEstimator
    from .blocks import BlockEncoder

    kind = NWJEstimator if settings.bound == "nwj" else InfoNCEEstimator
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        encoder = BlockEncoder(task, settings.summaries, settings.block_hidden, one_hot=settings.data_as == "one-hot", masked=False)
        estimator = kind(question, encoder, settings.hidden, settings.model_as, settings.scale)
    estimator.complete_only = True
    return estimator


def evaluate_design(task: Task, question: Question, design: Floats, settings: EvaluationSettings, seed: Sequence[int]) -> Evaluation:
    """Simulate at `design` (B, V), train, and estimate."""
    import torch

    for_data, for_split, for_weights, for_training, for_estimate = np.random.SeedSequence(seed).spawn(5)
    estimator = build(task, question, settings, _number(for_weights))
    started, rng = time.perf_counter(), np.random.default_rng(for_data)
    simulations = question.simulate(task, design, settings.draws, rng)
    data, failures = estimator.prepare(simulations), simulations.failures
    simulated = time.perf_counter()
    order = torch.from_numpy(np.random.default_rng(for_split).permutation(len(data)))
    train, held_out = data[order[settings.held_out :]], data[order[: settings.held_out]]
    curve = _train(estimator, train, held_out, settings, _number(for_training))
    if settings.keep == "best":
        simulations = question.simulate(task, design, settings.held_out, rng)
        held_out, failures = estimator.prepare(simulations), failures + simulations.failures
    information = estimator.pointwise(held_out, _number(for_estimate)).estimate()
    seconds = {"simulation": simulated - started, "training": time.perf_counter() - simulated}
    return Evaluation(information, dict(estimator.state_dict()), curve, seconds, failures)


def _train(estimator: CriticEstimator, train: Batch, held_out: Batch, settings: EvaluationSettings, seed: int) -> list[float]:
    """Train in place; the bound on `held_out` after each epoch."""
    import torch

    from ..training import Epochs, Trainer, TrainingSettings

    factor, patience = settings.plateau_factor, settings.plateau_patience
    how = TrainingSettings(settings.learning_rate, "adam", settings.weight_decay, schedule="plateau", factor=factor, patience=patience)
    source = Epochs(train, settings.minibatch, (seed,))
    curve: list[float] = []

    @torch.no_grad()
    def validate(trainer: Trainer) -> None:
        generator = torch.Generator().manual_seed(len(curve))
        curve.append(float(estimator.bound(held_out, generator).double().mean()))
        trainer.told(curve[-1], keep=settings.keep == "best")

    trainer = Trainer(estimator, how, settings.epochs * source.steps, seed)
    trainer.run(source, every=source.steps, after=validate)
    trainer.restore()
    return curve


def _number(seed: np.random.SeedSequence) -> int:
    return int(seed.generate_state(1)[0])
