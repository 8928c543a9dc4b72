"""Correct a network near the data at hand by a learned likelihood, where models have none.

A network is right on average over simulations from the prior, and people need not be like these. How probable an answer is, given
parameters and all that came before it, does not depend on the prior (`networks/law.py`): it can be learned from people with any
parameters, and so from some whose parameters are like those of the people at hand.

    1. Simulate people from the prior, at the people's designs and with as many trials as they have, and learn what the network lacks:
       that law, twice, and for parameters that were not asked about a posterior to draw them from.
    2. Draw parameters of each person under each model from that. Go on learning, with half of the people simulated from these; draw again
       when more has been learned.
    3. The laws correct the network's answers (`estimators/likelihood.py`): an equal say for each, unless people from the prior who had no
       part in learning clearly speak for another share, or none. They are the people whom the network knows best, and say little of those
       whom it does not know; so they have to speak against a correction, not for it. What it gained is measured on others: a gain that was
       chosen for being one would be told too large.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, NamedTuple

import numpy as np

from ..behavior import Behavior
from ..models.failures import Failure, attempt
from ..models.simulation import Simulations, stop_unless_skipped
from ..progress import Progress, unheard
from ..question import Question
from ..tasks.base import Task
from ..workers import one_thread
from .frequencies import Floats
from .statistics import cut

if TYPE_CHECKING:
    from ..estimators.base import Batch, Estimator
    from ..estimators.likelihood import LikelihoodEstimator
    from ..information.estimate import Difference

STEPS, SIZE = 2_400, 64
"""Steps of learning, and people simulated for each, of whom all trials are learned from."""

LAWS = 2
"""Laws that are learned from the same people."""

DRAWN = (0.1, 0.25, 0.5)
"""The shares of steps after which parameters of the people at hand are drawn."""

DRAWS = 128
"""Parameters by which a person's answers are corrected, and so many are drawn of each person to simulate people like them."""

MEASURED = 1_000
"""People from the prior on whom it is measured what a correction gains."""


@dataclass(frozen=True, eq=False)
class Refinement:
    """A corrected network, and what that changed.

    Arguments:
        estimator: The corrected one.
        before, after: The bound in nats, on simulated people from the prior who had no part in learning, nor in what was decided.
        se: The standard error of their difference, which is paired.
        used: Are the corrected answers used? Decided by other people than those on whom the bounds were measured.
        simulated: How many people were simulated; 0 if the network is none that can be corrected.
        failed: How many could not be, and were left out.
    """

    estimator: Estimator
    before: float
    after: float
    se: float
    used: bool = False
    simulated: int = 0
    failed: int = 0

    @property
    def route(self) -> str:
        """Whose answers are used: those of the network, unless correcting them was seen to gain something."""
        return "refined network" if self.used else "network"

    @property
    def words(self) -> str:
        question, own = self.estimator.question, f"the estimator '{self.estimator.name}' is none"
        if not self.simulated:
            why = "parameters without all others of their model are none" if self.estimator.quick.has_flows else own
            return f"The answers are the network's own: {why} that a learned likelihood corrects."
        learned = f"How probable each response is was learned from {self.simulated:,} simulated people, some of them like those at hand"
        if not self.used:
            return f"{learned}; on other simulated people that told no more than the network, which is used as it was."
        gain = f"went from {self.before:.3f} to {self.after:.3f} nats ({self.after - self.before:+.3f} ± {self.se:.3f})"
        some = [model.name for m, model in enumerate(question.models) if 0 < len(question.parameters(m)) < len(model.parameters)]
        rest = f" Parameters of {', '.join(some)}, of which some are not asked about, are the network's own." if some else ""
        known = " That is no gain for people like the simulated ones, whom the network knows; it is meant for others."
        why = known if self.after <= self.before else ""
        return f"{learned}, and corrects the network; on simulated people who had no part in that, information {gain}.{why}{rest}"


def refine(
    estimator: Estimator, behavior: Behavior, designs: Floats, *, steps: int = STEPS, seed: int = 0, progress: Progress = unheard
) -> Refinement:
    """The network with a learned likelihood beside it, near the data of N people.

    Arguments:
        behavior: Gaps closed up (`statistics.closed_up`).
        designs: (N, B, V).
        steps: Of learning.
    """
    from ..estimators.likelihood import LikelihoodEstimator
    from ..training import Trainer, TrainingSettings

    if not LikelihoodEstimator.corrects(estimator):
        return Refinement(estimator, 0.0, 0.0, 0.0)
    refined = LikelihoodEstimator.around(estimator, seed, LAWS)
    refined.read = 1.0  # the law is all that learns from trials here
    people = _Like(refined, behavior, designs, steps, seed)
    with one_thread():
        if not isinstance(estimator, LikelihoodEstimator):  # one that has a law knows the scale of what the law sees
            refined.encoder.learn_rest_of_scale(people.simulations(0, near=False).behavior)
        settings = TrainingSettings(refined.learning_rate, refined.optimizer, clip=1.0, pieces=2)
        trainer = Trainer(refined, settings, steps, seed)

        def told(done: int, total: int, stage: str = "", detail: str = "") -> None:
            progress(done, total, "correcting the network", "learning how probable responses are")

        for k, share in enumerate(DRAWN):
            trainer.run(people, round(share * steps), progress=told)
            people.parameters = refined.propose(behavior, designs, DRAWS, np.random.default_rng([seed, 1, k]))
        trainer.run(people, progress=told)
        trainer.settle(people)
        measured = _gain(estimator, refined, people.simulations(steps + MEASURED, near=False, size=MEASURED))
        refined.proposals = DRAWS
    used = float(refined.trust) > 0
    after = measured.before + used * measured.gain.nats
    return Refinement(refined if used else estimator, measured.before, after, measured.gain.se, used, people.simulated, people.failed)


class _Gain(NamedTuple):
    """The bound of a network in nats, and what correcting it gains."""

    before: float
    gain: Difference


def _gain(network: Estimator, refined: Estimator, people: Simulations) -> _Gain:
    before, after = (one.pointwise(one.prepare(people), accuracy=False) for one in (network, refined))
    return _Gain(before.estimate().nats, after.minus(before))


class _Like:
    """A source of training: people from the prior and, where parameters are given, as many with these; at the people's designs.

    Arguments:
        refined: What is trained.
        behavior: Of the people at hand.
        designs: (N, B, V).
        steps: In all; what follows them, by which it is chosen how far the law is trusted, is from the prior.
        seed: With the step, decides everything.
    """

    ahead: ClassVar[bool] = True

    def __init__(self, refined: LikelihoodEstimator, behavior: Behavior, designs: Floats, steps: int, seed: int) -> None:
        self.refined, self.behavior, self.designs, self.steps, self.seed = refined, behavior, designs, steps, seed
        self.parameters: list[Floats] = []
        self.simulated = self.failed = 0

    def batch(self, step: int) -> Batch:
        return self.refined.prepare(self.simulations(step, near=bool(self.parameters) and step < self.steps))

    def simulations(self, step: int, *, near: bool, size: int = SIZE) -> Simulations:
        """People of one step: of the prior, or `near`, half of them with parameters like those of the people at hand."""
        rng, question = np.random.default_rng([self.seed, 0, step]), self.refined.question
        numbers = rng.multinomial(size, question.prior)
        z = [rng.standard_normal((n, len(model.parameters))) for n, model in zip(numbers, question.models, strict=True)]
        for m, points in enumerate(self.parameters if near else []):
            half = len(z[m]) // 2
            z[m][:half] = points[rng.integers(0, len(points), half)]
        people = _simulate(question, self.refined.task, z, self.behavior, self.designs, rng)
        stop_unless_skipped(people.failures, size, question.on_error)
        self.simulated, self.failed = self.simulated + len(people.model), self.failed + len(people.failures)
        return people


def _simulate(question: Question, task: Task, z: list[Floats], people: Behavior, designs: Floats, rng: np.random.Generator) -> Simulations:
    """People of each model with given parameters, each at the design and with as many trials as one of the people; in random order."""
    parts, where, kept_z, whose, failed = [], [], [], list[int](), list[Failure]()
    for m, (model, points) in enumerate(zip(question.models, z, strict=True)):
        like = rng.integers(0, len(people), len(points))
        theta = {name: prior.from_normal(points[:, p]) for p, (name, prior) in enumerate(model.parameters.items())}
        behavior, failures = attempt(model, theta, designs[like], rng, task)
        kept = np.setdiff1d(np.arange(len(points)), list(failures))
        parts.append(cut(behavior[kept], people.mask[like][kept]))
        where.append(designs[like][kept])
        kept_z.append(points[kept])
        whose += [m] * len(kept)
        failed += failures.values()
    model_of, values, within = np.array(whose, np.intp), {}, {}
    for m, model in enumerate(question.models):
        for p, (name, prior) in enumerate(model.parameters.items()):
            column = np.full(len(model_of), np.nan)
            column[model_of == m] = prior.from_normal(kept_z[m][:, p])
            values[f"{model.name}.{name}"] = column
            if prior.discrete:
                within[f"{model.name}.{name}"] = rng.random(len(model_of))
    everybody = Simulations(question.models, model_of, values, np.concatenate(where), Behavior.concatenate(parts), within, tuple(failed))
    return everybody[rng.permutation(len(model_of))]
