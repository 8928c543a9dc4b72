"""One estimator for every design, then a search that costs almost nothing.

An estimator is trained once, on a stream of fresh simulations over designs from all of the space. Where designs act on
behavior only through what is recorded, p(v | y, d) = p(v | y), and one network is right for all of them; otherwise it
takes the design as an input. The information of any design is then an average over fresh simulations: no training.

Training goes in rounds under one learning-rate schedule:

    1. designs over the whole space, edges and corners included, and the task's baseline designs;
    2. half of the designs from where the estimator of round 1 finds information to be high;
    3. half of the designs at the finalists, while the learning rate goes to nothing: the estimator is tuned where it matters.

Between rounds designs are surveyed: estimates with common random numbers, a Gaussian process through them, more designs
where it promises most. In the end the finalists, and the best baseline designs, are estimated again on fresh simulations, the best is
chosen, and what is reported for it comes from further simulations, which had no part in the choice.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Sequence

import numpy as np
from numpy.typing import NDArray

from ..errors import RunError, StudyError, nearest
from ..information.estimate import InformationEstimate
from ..journal import Journal
from ..tasks.base import Task
from ..workers import HERE, Workers, one_thread
from .base import Baseline, Floats, Found, Progress, Search
from .survey import information_at, informations, survey

if TYPE_CHECKING:
    from ..estimators.base import Batch, Estimator, Goal
    from ..models.simulation import Simulations
    from ..training import Trainer

CHECKPOINT = "training.safetensors"
CHECKPOINT_EVERY = 250
ESTIMATOR = "estimator.safetensors"

ENCODERS = ("auto", "history", "sequence", "blocks")
ESTIMATORS = ("posterior", "nwj", "infonce")


@dataclass(frozen=True)
class Amortized(Search):
    """Settings of the amortized search.

    Arguments:
        estimator: "posterior", or a critic bound on the same encoder: "nwj", "infonce"; or a class of your own.
        encoder: "history" (the task describes its trials), "sequence" (the fields as they are), "blocks" (the paper's), or
            "auto": the first that the task allows; or a class of your own.
        steps: Steps of training; 0 for a default that grows with the number of parameters to be learned.
        batch: Participants a step.
        learning_rate: At its peak; 0 for the estimator's own: 0.01, and 0.003 for critics, which learn nothing at a higher one.
        simulations: For slow simulators: simulate no more than about this many participants, keep them in the run folder, and
            train in epochs until held-out ones no longer gain. 0: fresh simulations at every step.
        unfinished: The share of participants that are trained on as if they had stopped early, so that the same network
            serves shorter experiments.
        survey: Designs estimated between rounds.
        survey_simulations: Participants for each of them.
        finalists: Designs estimated again in the end.
        finalist_simulations: Participants for each of them, and for the report of the chosen one.
        baselines: Designs of the task's baseline to compare with.
        baseline_simulations: Participants for each of them.
        device: "auto", "cpu", "cuda", …
    """

    estimator: str | type[Any] = "posterior"
    encoder: str | type[Any] = "auto"
    steps: int = 0
    batch: int = 256
    learning_rate: float = 0.0
    simulations: int = 0
    unfinished: float = 0.2
    survey: int = 256
    survey_simulations: int = 1000
    finalists: int = 8
    finalist_simulations: int = 10_000
    baselines: int = 25
    baseline_simulations: int = 2000
    device: str = "auto"

    name: ClassVar[str] = "amortized"

    def __post_init__(self) -> None:
        for setting, value, known in (("estimator", self.estimator, ESTIMATORS), ("encoder", self.encoder, ENCODERS)):
            if isinstance(value, str) and value not in known:
                expected = f'{", ".join(known)}, or "my_module:MyClass" for your own'
                raise StudyError(
                    f"The '{setting}' of the search is unknown.", expected=expected, got=repr(value), fix=nearest(value, known)
                )
        if self.simulations and self.simulations < 10_000:
            raise StudyError("The 'simulations' of the search are too few.", expected="10,000 or more, or 0", got=self.simulations)
        for setting, least in (("batch", 8), ("survey", 16), ("survey_simulations", 50), ("finalists", 1), ("finalist_simulations", 100)):
            if getattr(self, setting) < least:
                raise StudyError(f"The '{setting}' of the search is too small.", expected=f"{least} or more", got=getattr(self, setting))

    def find(self, goal: Goal, seed: int, journal: Journal, progress: Progress | None = None, workers: Workers = HERE) -> Found:
        if journal.get("found") is not None:
            return self.load(goal, journal)
        # cores work on pieces of a batch and on designs, each on one thread: quicker for networks of this size, and the same bytes
        # whatever the number of cores
        with one_thread():
            return _Finder(self.within_budget(), goal, seed, journal, progress or (lambda done, total, words: None), workers).find()

    def load(self, goal: Goal, journal: Journal) -> Found:
        from ..training import load_weights

        kept = journal.get("found")
        if kept is None:
            raise RunError("The search has not finished.", where=str(journal.folder), fix="run `tellapart design`: it goes on where it was")
        estimator = self.build(goal, 0)
        load_weights(journal.file(ESTIMATOR), estimator)
        baseline = kept["baseline"] and Baseline(
            np.array(kept["baseline"]["designs"]), tuple(InformationEstimate(**e) for e in kept["baseline"]["information"])
        )
        alternatives = tuple((np.array(d), InformationEstimate(**e)) for d, e in kept["alternatives"])
        information = InformationEstimate(**kept["information"])
        return Found(np.array(kept["design"]), information, estimator, baseline, alternatives, kept["trace"], kept["details"])

    def evaluate(
        self,
        goal: Goal,
        designs: Sequence[Floats],
        seed: int,
        journal: Journal,
        progress: Progress | None = None,
        workers: Workers = HERE,
    ) -> list[InformationEstimate]:
        estimator = self.load(goal, journal).estimator
        estimates = []
        for index, design in enumerate(designs):
            estimates.append(information_at(estimator, design, self.within_budget().finalist_simulations, (seed, _FRESH)))
            if progress:
                progress(index + 1, len(designs), "designs")
        return estimates

    def within_budget(self) -> Amortized:
        """The settings with which all simulations together stay within the budget: three fifths of it are trained on, a fifth
        goes into surveys, and a fifth into the comparisons at the end.
        """
        if not self.simulations:
            return self
        share = self.simulations // 20
        each = max(50, min(self.survey_simulations, share * 2 // 32))
        return replace(
            self,
            survey_simulations=each,
            survey=max(16, min(self.survey, share * 2 // each)),
            finalist_simulations=max(100, min(self.finalist_simulations, share // (self.finalists + HABITS + 2) * 3)),
            baseline_simulations=max(50, min(self.baseline_simulations, share // max(1, self.baselines))),
        )

    def build(self, goal: Goal, seed: int) -> Estimator:
        """An untrained estimator."""
        import torch

        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            estimator: Estimator = _estimator_class(self.estimator).for_every_design(goal, _encoder(self.encoder, goal.task))
        device = ("cuda" if torch.cuda.is_available() else "cpu") if self.device == "auto" else self.device
        return estimator.to(device)

    def total_steps(self, goal: Goal) -> int:
        """Steps of training: those given, or more of them the more parameters are to be learned."""
        return self.steps or (2000 + 1250 * goal.widest if goal.about_parameters else 6500)


_TRAIN, _SURVEY, _CHOOSE, _REPORT, _BASELINE, _FRESH = range(1, 7)
"""What a seed is for: no two purposes share simulations."""

ROUNDS = (0.5, 0.8, 1.0)
"""Where rounds end, as shares of all training."""

WORDS = ("learning from simulations over all designs", "learning where information is high", "tuning at the finalists")

HABITS = 2
"""How many baseline designs are finalists."""

CHUNK = 250
"""Simulations of a slow model that are made, kept and lost together."""


class _Finder:
    """A search being carried out. What it has computed is in the journal; what is not there is computed."""

    def __init__(self, settings: Amortized, goal: Goal, seed: int, journal: Journal, progress: Progress, workers: Workers) -> None:
        self.settings, self.goal, self.seed, self.journal = settings, goal, seed, journal
        # to send a quick simulator's work to other processes costs more than the work
        self.workers = workers if settings.simulations else HERE
        self.estimator = settings.build(goal, seed)
        self.steps, self.rate = settings.total_steps(goal), settings.learning_rate or self.estimator.learning_rate
        # a survey, and each of the two comparisons at the end, cost about as much as this many steps of training
        self.cost = max(1, settings.survey * settings.survey_simulations // (4 * settings.batch))
        self._progress, self._done, self._total = progress, 0, self.steps + 4 * self.cost

    def find(self) -> Found:
        from ..training import save_weights

        learn = self._learn_from_budget if self.settings.simulations else self._learn_from_stream
        focus: Floats | None = None
        history: list[float] = []
        for number in range(len(ROUNDS)):
            history = learn(number, focus)
            if number + 1 < len(ROUNDS):
                focus = self._survey(number)
        save_weights(self.journal.file(ESTIMATOR), self.estimator)
        assert focus is not None
        return self._report(focus, history)

    def _learn_from_stream(self, number: int, focus: Floats | None) -> list[float]:
        """Train up to the end of a round on fresh simulations; the bound at every step so far."""
        from ..training import Stream, Trainer, TrainingSettings

        if number == 0:
            how = TrainingSettings(learning_rate=self.rate, schedule="cosine", clip=1.0, pieces=2)
            self.trainer = Trainer(self.estimator, how, self.steps, self.seed)
            if self.journal.file(CHECKPOINT).exists():
                self.trainer.load(self.journal.file(CHECKPOINT))
        source = Stream(self.estimator, self._mixture(focus), self.settings.batch, (self.seed, _TRAIN), self.settings.unfinished)
        self.trainer.run(
            source,
            round(ROUNDS[number] * self.steps),
            every=CHECKPOINT_EVERY,
            after=lambda trainer: trainer.save(self.journal.file(CHECKPOINT)),
            progress=lambda step, _, words: self._tell(step, f"{WORDS[number]}: {words}"),
        )
        self.trainer.save(self.journal.file(CHECKPOINT))
        return self.trainer.history

    def _learn_from_budget(self, number: int, focus: Floats | None) -> list[float]:
        """Train on all simulations made so far, those of this round being made first, until held-out ones say stop."""
        from ..training import load_weights, save_weights

        data = self._stored(number, focus)
        kept = self.journal.file(f"round-{number}.safetensors")
        if not kept.exists():
            held_out = len(data) // 10
            self.journal.put(f"history {number}", self._early_stopping(data[held_out:], data[:held_out], number))
            save_weights(kept, self.estimator)
        load_weights(kept, self.estimator)
        return [value for n in range(number + 1) for value in self.journal.get(f"history {n}")]

    def _early_stopping(self, train: Batch, held_out: Batch, number: int) -> list[float]:
        """Train in epochs, keep the weights of the best; the bound on `held_out` after each."""
        import torch

        from ..training import Epochs, Trainer, TrainingSettings

        source = Epochs(train, min(self.settings.batch, len(train)), (self.seed, _TRAIN, number))
        how = TrainingSettings(learning_rate=self.rate / 2, schedule="plateau", patience=4, clip=1.0, pieces=2)
        trainer = Trainer(self.estimator, how, max(self.steps, source.steps), self.seed)
        curve: list[float] = []
        best: dict[str, Any] = {}

        def validate(trainer: Trainer) -> None:
            self.estimator.eval()
            curve.append(self.estimator.estimate(held_out).nats)
            self.estimator.train()
            if trainer.told(curve[-1]):
                best.update({name: value.clone() for name, value in self.estimator.state_dict().items()})
            trainer.stopped = trainer.learning_rate < how.learning_rate / 50
            self._tell(round(ROUNDS[number] * trainer.step), f"{WORDS[number]}: information {max(curve):.3f} on held-out simulations")

        trainer.run(source, every=source.steps, after=validate)
        self.estimator.load_state_dict(best)
        return [float(value) for value in torch.tensor(curve, dtype=torch.float64)]

    def _stored(self, number: int, focus: Floats | None) -> Batch:
        """All simulations of the budget up to this round; those that are missing are made, by the workers, and kept."""
        from ..estimators.base import Batch
        from ..models.simulation import Simulations

        chunks = [math.ceil(share * 0.6 * self.settings.simulations / CHUNK) for share in (0.0, *ROUNDS)]
        files = [self.journal.file(f"simulations/{index:05d}.safetensors") for index in range(chunks[number + 1])]
        missing = [index for index, file in enumerate(files) if not file.exists()]
        pieces = [(self.goal, self._mixture(focus), (self.seed, _TRAIN, index)) for index in missing]
        for done, (index, (made, designs)) in enumerate(zip(missing, self.workers.map(_simulate_chunk, pieces), strict=True)):
            made.save(files[index], designs)
            self._tell(0, f"simulating: {(done + 1) * CHUNK} of {len(missing) * CHUNK} participants")
        batches = [self.estimator.prepare(*Simulations.load(file, self.goal.models)) for file in files]
        return Batch.concatenate(batches)

    def _survey(self, number: int) -> Floats:
        """Where information is high, as the estimator sees it after round `number`: (F, B, V)."""
        key = f"survey {number}"
        if self.journal.get(key) is None:
            self._tell(round(ROUNDS[number] * self.steps), "surveying designs")
            settings = self.settings
            found = survey(self.estimator, settings.survey, settings.survey_simulations, (self.seed, _SURVEY, number), self.workers)
            self.journal.put(key, {"finalists": found.best(settings.finalists).tolist(), **found.to_json()})
        self._done += self.cost
        return np.array(self.journal.get(key)["finalists"])

    def _report(self, finalists: Floats, history: list[float]) -> Found:
        settings, baseline = self.settings, self._baseline()
        if baseline is not None:  # habit may be as good as anything: its best designs are finalists too
            habits = baseline.designs[np.argsort([-estimate.nats for estimate in baseline.information], kind="stable")[:HABITS]]
            finalists = np.concatenate([finalists, self.goal.task.design_space.canonical(habits)])
        chosen = self._compare("finalist", finalists, settings.finalist_simulations, _CHOOSE)
        order = np.argsort([-estimate.nats for estimate in chosen], kind="stable")
        best = order[0]
        information = self._compare("report", finalists[best : best + 1], 2 * settings.finalist_simulations, _REPORT)[0]
        found = Found(
            finalists[best],
            information,
            self.estimator,
            baseline,
            tuple((finalists[i], chosen[i]) for i in order[1:] if _as_good(chosen[i], chosen[best])),
            self._trace(history),
            {"method": settings.name, **{part: _name(getattr(settings, part)) for part in ("estimator", "encoder")}, "steps": len(history)},
        )
        self.journal.put("found", _kept(found))
        return found

    def _baseline(self) -> Baseline | None:
        """What designs chosen by habit would tell."""
        designs = self.goal.task.baseline(self.settings.baselines, np.random.default_rng([self.seed, _BASELINE]))
        self._done += self.cost
        estimates = self._compare("baseline", designs, self.settings.baseline_simulations, _BASELINE)
        return Baseline(designs, tuple(estimates)) if estimates else None

    def _compare(self, what: str, designs: Floats, n: int, purpose: int) -> list[InformationEstimate]:
        """Estimates of several designs with common random numbers, kept together."""
        if self.journal.get(what) is None:
            self._tell(self.steps, f"estimating {len(designs)} {what} design{'s' if len(designs) > 1 else ''} on fresh simulations")
            estimates = informations(self.estimator, designs, n, (self.seed, purpose), self.workers)
            self.journal.put(what, [estimate.to_json() for estimate in estimates])
        return [InformationEstimate(**estimate) for estimate in self.journal.get(what)]

    def _trace(self, history: list[float]) -> list[dict[str, Any]]:
        """The bound as training went on, at a hundred points, then the surveys; for figures."""
        width = max(1, len(history) // 100)
        ends = range(width, len(history) + 1, width)
        training = [{"step": end, "training": float(np.mean(history[end - width : end]))} for end in ends]
        return training + [{"survey": key, **value} for key, value in self.journal.items("survey ")]

    def _mixture(self, focus: Floats | None) -> Mixture:
        return Mixture(self.goal.task, focus)

    def _tell(self, step: int, words: str) -> None:
        self._progress(min(step + self._done, self._total), self._total, words)


@dataclass(frozen=True, eq=False)
class Mixture:
    """Draws the designs to train on: some over all of the space, some baseline, and half of them near `focus` if there is one.

    Arguments:
        focus: Designs where information is high, (F, B, V).
    """

    task: Task
    focus: Floats | None = None

    def __call__(self, n: int, rng: np.random.Generator) -> NDArray[np.float64]:
        """`n` designs, (n, B, V)."""
        space = self.task.design_space
        designs = np.where(rng.random((n, 1, 1)) < 0.75, space.spread(n, rng), self.task.baseline(n, rng))
        if self.focus is None:
            return designs
        near = space.to_unit(self.focus[rng.integers(0, len(self.focus), n)])
        width = np.where(rng.random((n, 1, 1)) < 0.5, 0.0, 0.05)
        near = space.from_unit(near + width * rng.standard_normal(near.shape))
        return np.where(rng.random((n, 1, 1)) < 0.5, near, designs)


def _simulate_chunk(goal: Goal, designs: Mixture, seed: tuple[int, ...]) -> tuple[Simulations, Floats]:
    """A chunk of the budget; a function of its seed alone, wherever it is made."""
    rng = np.random.default_rng(seed)
    drawn = designs(CHUNK, rng)
    return goal.simulate(drawn, CHUNK, rng), drawn


def _as_good(one: InformationEstimate, best: InformationEstimate) -> bool:
    """Is the difference within two standard errors?"""
    return best.nats - one.nats <= 2 * math.hypot(one.se, best.se)


def _kept(found: Found) -> dict[str, Any]:
    return {
        "design": found.design.tolist(),
        "information": found.information.to_json(),
        "baseline": found.baseline
        and {"designs": found.baseline.designs.tolist(), "information": [e.to_json() for e in found.baseline.information]},
        "alternatives": [[d.tolist(), e.to_json()] for d, e in found.alternatives],
        "trace": found.trace,
        "details": found.details,
    }


def _name(part: str | type[Any]) -> str:
    return part if isinstance(part, str) else part.__name__


def _encoder(name: str | type[Any], task: Task) -> Any:
    from ..networks.encoders import BlockEncoder, HistoryEncoder, SequenceEncoder

    if isinstance(name, type):
        return name(task)
    if name == "auto":
        name = "history" if type(task).history is not Task.history else "sequence"
    return {"history": HistoryEncoder, "sequence": SequenceEncoder, "blocks": BlockEncoder}[name](task)


def _estimator_class(name: str | type[Any]) -> Any:
    if isinstance(name, type):
        return name
    if name == "nwj":
        from ..estimators.nwj import NWJEstimator

        return NWJEstimator
    if name == "infonce":
        from ..estimators.infonce import InfoNCEEstimator

        return InfoNCEEstimator
    from ..estimators.posterior import PosteriorEstimator

    return PosteriorEstimator
