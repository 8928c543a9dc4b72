"""The paper's search: Bayesian optimization of the information that a freshly trained critic finds at a design.

    1. evaluate `initial` designs that cover the space;
    2. fit a Gaussian process, evaluate the `batch` designs of largest expected improvement, and again, until `evaluations`
       are spent or the recommended design's posterior mean has not improved for `patience` of them;
    3. evaluate the `finalists`, the designs of highest posterior mean, once more with fresh seeds, tell the process, and
       recommend the one of highest posterior mean: never the luckiest evaluation;
    4. evaluate that one with a seed of its own: this information is reported, and this network gives the posteriors.

Evaluation number i has its own seed whoever makes it, and `batch` does not depend on the workers. So the result depends
neither on their number nor on interruptions.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, fields, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Mapping, Sequence

import numpy as np

from ..errors import nearest
from ..information.estimate import Difference, Floats, InformationEstimate
from ..journal import Journal
from ..question import Question
from ..search.base import Alternative, Baseline, Found, Job, Search, check_least, check_setting
from ..tasks.base import Task
from .evaluation import EvaluationSettings, build, evaluate_design
from .presets import PRESETS, preset_for

if TYPE_CHECKING:
    from ..estimators.base import Estimator

WEIGHTS = "final.safetensors"

PURPOSES = ("search", "finalist", "final", "baseline", "given")
"""What evaluations are for; each purpose has its own seeds."""


@dataclass(frozen=True)
class BayesianOptimization(Search):
    """The settings of the search, then those of an evaluation, which are the preset's if not given.

    Arguments:
        evaluations: How many at most.
        initial: How many of them before the Gaussian process decides.
        batch: How many designs it proposes at once; that many workers can be kept busy.
        patience: Stop if the recommended design has not become better for this many evaluations.
        tolerance: What counts as better, in nats.
        finalists: How many designs are evaluated once more.
        baselines: How many of the task's baseline designs are evaluated to compare with.
        preset: One of the paper's, or "auto" for the one that the question asks for; see `paper/presets.py`.
    """

    evaluations: int = 400
    initial: int = 80
    batch: int = 2
    patience: int = 100
    tolerance: float = 0.001
    finalists: int = 4
    baselines: int = 3
    preset: str = "auto"
    bound: Literal["nwj", "infonce"] | None = None
    summaries: int | None = None
    block_hidden: tuple[int, ...] | None = None
    hidden: tuple[int, ...] | None = None
    data_as: Literal["number", "one-hot"] | None = None
    model_as: Literal["number", "one-hot"] | None = None
    scale: Literal["natural", "normal"] | None = None
    draws: int | None = None
    held_out: int | None = None
    minibatch: int | None = None
    epochs: int | None = None
    learning_rate: float | None = None
    weight_decay: float | None = None
    plateau_factor: float | None = None
    plateau_patience: int | None = None
    keep: Literal["last", "best"] | None = None

    name: ClassVar[str] = "bayesopt"
    words: ClassVar[str] = (
        "Designs were proposed by Bayesian optimization. For each, a neural network was trained on fresh simulations to tell data that"
        " belong to a model or its parameters from data that do not; the bound that it reaches is the estimate."
    )
    sources: ClassVar[tuple[str, ...]] = ("balandat2020botorch",)
    trains_at_each_design: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_least(self, evaluations=2, initial=2, batch=1, patience=1, finalists=1, baselines=0)
        check_setting(self, "initial", self.initial <= self.evaluations, f"at most the {self.evaluations} evaluations")
        known = ("auto", *PRESETS)
        check_setting(self, "preset", self.preset in known, ", ".join(known), "is unknown", nearest(self.preset, known))
        for preset in PRESETS.values():
            _check(self._over(preset))

    def settings(self, task: Task, question: Question) -> EvaluationSettings:
        """The settings of an evaluation."""
        return self._over(PRESETS[preset_for(task, question) if self.preset == "auto" else self.preset])

    def _over(self, preset: EvaluationSettings) -> EvaluationSettings:
        given = {f.name: getattr(self, f.name) for f in fields(preset)}
        return replace(preset, **{key: value for key, value in given.items() if value is not None})

    def find(self, job: Job) -> Found:
        from ..training import load_weights

        if job.journal.get("final/00000") is None:
            _Search(self, job).run()
        estimator, journal = self.build(job.task, job.question), job.journal
        load_weights(journal.file(WEIGHTS), estimator)
        design, information = _read(journal.get("final/00000"))
        chosen, finalists = journal.get("chosen"), [_read(entry) for _, entry in journal.items("finalist/")]
        baselines = [_read(entry) for _, entry in journal.items("baseline/")]
        others = [finalists[i] for i in chosen["order"][1:]]
        alternatives = [Alternative(other, estimate, _apart(information, estimate)) for other, estimate in others]
        details: dict[str, Any] = {"method": self.name, "estimator": estimator.name, "encoder": estimator.encoder.name}
        details |= {"settings": asdict(self.settings(job.task, job.question))}
        details |= {key: chosen[key] for key in ("evaluations", "stopped", "mean")}
        compared = _baseline(baselines, information) if baselines else None
        return Found(design, information, estimator, compared, tuple(alternatives), _trace(journal), details)

    def build(self, task: Task, question: Question) -> Estimator:
        return build(task, question, self.settings(task, question))

    def evaluate(self, job: Job, designs: Sequence[Floats], estimator: Estimator | None) -> list[InformationEstimate]:
        """Train at each design. All of them get the same seed, so that equal designs get equal estimates."""
        keys = [f"given/{job.seed}/{json.dumps(design.tolist())}" for design in designs]
        _Search(self, job).make("given", {key: (design, 0) for key, design in zip(keys, designs, strict=True)})
        return [_read(job.journal.get(key))[1] for key in keys]


def _apart(one: InformationEstimate, other: InformationEstimate) -> Difference:
    """The difference of estimates from networks and simulations that have nothing in common."""
    return Difference(one.nats - other.nats, float(np.hypot(one.se, other.se)))


def _baseline(evaluated: Sequence[tuple[Floats, InformationEstimate]], information: InformationEstimate) -> Baseline:
    """Baseline designs, each evaluated by a network and simulations of its own: their spread holds all there is of noise."""
    estimates = tuple(estimate for _, estimate in evaluated)
    values = np.array([estimate.nats for estimate in estimates])
    se = float(values.std(ddof=1) / len(values) ** 0.5) if len(values) > 1 else estimates[0].se
    mean = InformationEstimate(float(values.mean()), se, "lower bound", sum(estimate.n for estimate in estimates))
    return Baseline(np.stack([design for design, _ in evaluated]), estimates, mean, _apart(information, mean))


class _Search:
    """A search that is under way: settings, journal and workers together."""

    def __init__(self, settings: BayesianOptimization, job: Job) -> None:
        self.settings, self.job, self.seed, self.journal = settings, job, job.seed, job.journal
        self.space, self.how = job.space, settings.settings(job.task, job.question)
        self.total = settings.evaluations + settings.finalists + 1 + settings.baselines

    def run(self) -> None:
        """From the journal as it is to the final evaluation."""
        from ..search.surrogate import initial_designs

        designs = list(initial_designs(self.space, self.settings.initial, self.seed))
        self.evaluate("search", designs)
        stopped = None
        while stopped is None:
            proposal = self._proposal(designs)
            stopped = self._stop(len(designs))
            if stopped is None:
                designs += [np.array(design) for design in proposal["designs"]]
                self.evaluate("search", designs)
        finalists = self._finalists(designs)
        self.evaluate("finalist", finalists)
        chosen = self._choose(designs, finalists, stopped)
        if self.settings.baselines:
            self.evaluate("baseline", list(self.job.task.baseline(self.settings.baselines, np.random.default_rng([self.seed, 3]))))
        self.evaluate("final", [finalists[chosen["order"][0]]])

    def evaluate(self, purpose: str, designs: Sequence[Floats]) -> None:
        self.make(purpose, {f"{purpose}/{i:05d}": (design, i) for i, design in enumerate(designs)})

    def make(self, purpose: str, work: Mapping[str, tuple[Floats, int]]) -> None:
        """Evaluate designs, each with the number of its seed, whose keys the journal does not have; journal each as soon as it is there."""
        from ..training import save_tensors

        missing = {key: piece for key, piece in work.items() if self.journal.get(key) is None}
        done, total = (0, len(missing)) if purpose == "given" else (self._evaluated(), self.total)
        asked, place = (self.job.task, self.job.question), PURPOSES.index(purpose)
        pieces = [(*asked, design, self.how, (self.seed, place, number)) for design, number in missing.values()]
        for (key, (design, _)), result in zip(missing.items(), self.job.workers.map(evaluate_design, pieces), strict=True):
            if purpose == "final":
                save_tensors(self.journal.file(WEIGHTS), result.weights)
            entry = {"design": design.tolist(), "information": result.information.to_json(), "seconds": result.seconds}
            self.journal.put_failures(result.failures)
            self.journal.put(key, entry)
            done += 1
            self.job.progress(done, total, "evaluating designs", f"{done} of {total}, {self._standing(purpose, result.information)} nats")

    def _evaluated(self) -> int:
        return sum(1 for purpose in PURPOSES[:-1] for _ in self.journal.items(f"{purpose}/"))

    def _standing(self, purpose: str, latest: InformationEstimate) -> str:
        """The posterior mean of what would be recommended by now, once the process has been asked."""
        means = [entry["mean"] for _, entry in self.journal.items("proposal/")]
        return f"best so far {means[-1]:.3f}" if means and purpose != "given" else f"latest {latest.nats:.3f}"

    def _told(self, designs: Sequence[Floats], finalists: Sequence[Floats] = ()) -> Any:
        """The Gaussian process after these evaluations."""
        from ..search.surrogate import Surrogate

        keys = [f"search/{i:05d}" for i in range(len(designs))] + [f"finalist/{i:05d}" for i in range(len(finalists))]
        nats = [self.journal.get(key)["information"]["nats"] for key in keys]
        return Surrogate(self.space, np.stack([*designs, *finalists]), nats)

    def _proposal(self, designs: Sequence[Floats]) -> Any:
        """What to evaluate after `designs`, and what would be recommended by now."""
        number = len(designs)

        def made() -> dict[str, Any]:
            process, batch = self._told(designs), min(self.settings.batch, self.settings.evaluations - number)
            mean, proposed = process.mean(), process.propose(batch, self.seed + number).tolist() if batch else []
            return {"designs": proposed, "recommended": int(mean.argmax()), "mean": float(mean.max())}

        return self.journal.kept(f"proposal/{number:05d}", made)

    def _stop(self, done: int) -> str | None:
        """Why to stop, if it is time to."""
        if done >= self.settings.evaluations:
            return f"all {done} evaluations made"
        best, since = -np.inf, 0
        for key, entry in self.journal.items("proposal/"):
            if entry["mean"] > best + self.settings.tolerance:
                best, since = entry["mean"], int(key.removeprefix("proposal/"))
        waited = done - since
        return f"no better recommendation in {waited} evaluations" if waited >= self.settings.patience else None

    def _finalists(self, designs: Sequence[Floats]) -> list[Floats]:
        """The evaluated designs of highest posterior mean, no two equal."""

        def made() -> list[Any]:
            mean = self._told(designs).mean()
            _, first = np.unique(np.round(np.stack(designs), 6), axis=0, return_index=True)
            return [designs[i].tolist() for i in sorted(first, key=lambda i: -mean[i])[: self.settings.finalists]]

        return [np.array(design) for design in self.journal.kept("finalists", made)]

    def _choose(self, designs: Sequence[Floats], finalists: Sequence[Floats], stopped: str) -> Any:
        """The finalists in the order of their posterior means, given all evaluations."""

        def made() -> dict[str, Any]:
            mean = self._told(designs, finalists).mean(np.stack(finalists))
            order = np.argsort(-mean, kind="stable").tolist()
            return {"order": order, "mean": float(mean.max()), "stopped": stopped, "evaluations": len(designs)}

        return self.journal.kept("chosen", made)


def _read(entry: Any) -> tuple[Floats, InformationEstimate]:
    return np.array(entry["design"]), InformationEstimate(**entry["information"])


def _trace(journal: Journal) -> list[dict[str, Any]]:
    """Every evaluation of the search and, where the process was asked, what it recommended after it."""
    asked = {int(key.removeprefix("proposal/")) - 1: entry for key, entry in journal.items("proposal/")}
    steps = []
    for i, (_, entry) in enumerate(journal.items("search/")):
        step = {"design": entry["design"], "nats": entry["information"]["nats"], "se": entry["information"]["se"]}
        steps.append(step | ({key: asked[i][key] for key in ("recommended", "mean")} if i in asked else {}))
    return steps


def _check(settings: EvaluationSettings) -> None:
    check_least(settings, summaries=1, held_out=1, minibatch=1, epochs=1, plateau_patience=1, weight_decay=0)
    check_setting(settings, "held_out", settings.held_out < settings.draws, f"fewer than the {settings.draws} draws")
    check_setting(settings, "learning_rate", settings.learning_rate > 0, "a number above 0")
    for key in ("hidden", "block_hidden"):
        check_setting(settings, key, all(units >= 1 for units in getattr(settings, key)), "whole numbers, 1 or more")
