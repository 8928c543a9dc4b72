"""One estimator for every design, then a search that costs almost nothing.

An estimator is trained once, on a stream of fresh simulations over designs from all of the space. Where designs act on
behavior only through what is recorded, p(v | y, d) = p(v | y), and one network is right for all of them; otherwise it
takes the design as an input. The information of any design is then an average over fresh simulations: no training.

Training goes in rounds under one learning-rate schedule:

    1. designs over the whole space, edges and corners included, and the task's baseline designs;
    2. half of the designs from where the estimator of round 1 finds information to be high;
    3. half of the designs at the finalists, while the learning rate goes to nothing: the estimator is tuned where it matters.

Between rounds designs are surveyed: estimates with common random numbers, a Gaussian process through them, more designs
where it promises most. In the end the finalists are estimated again on fresh simulations, the best is chosen, and what
is reported for it comes from further simulations, which had no part in the choice.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Callable, ClassVar, Literal, Sequence

import numpy as np
from numpy.typing import NDArray

from ..errors import RunError, StudyError, nearest
from ..information.estimate import InformationEstimate
from ..journal import Journal
from ..tasks.base import Task
from ..workers import HERE, Workers
from .base import Baseline, Floats, Found, Progress, Search

if TYPE_CHECKING:
    from ..estimators.base import Estimator, Goal
    from ..training import Trainer

CHECKPOINT = "training.safetensors"
ESTIMATOR = "estimator.safetensors"

ENCODERS = ("auto", "history", "sequence", "blocks")
ESTIMATORS = ("posterior", "nwj", "infonce")
STEPS = {"discriminate": 6000, "estimate": 9000, "both": 9000}
"""Steps of training if none are given, by goal."""


@dataclass(frozen=True)
class Amortized(Search):
    """Settings of the amortized search.

    Arguments:
        estimator: "posterior", or a critic bound on the same encoder: "nwj", "infonce".
        encoder: "history" (the task describes its trials), "sequence" (the fields as they are), "blocks" (the paper's), or
            "auto": the first that the task allows.
        steps: Steps of training; 0 for the default of the goal.
        batch: Participants a step.
        learning_rate: At its peak.
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

    estimator: str = "posterior"
    encoder: str = "auto"
    steps: int = 0
    batch: int = 256
    learning_rate: float = 5e-3
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
            if value not in known:
                expected = ", ".join(known)
                raise StudyError(f"The {setting} of the search is unknown.", expected=expected, got=repr(value), fix=nearest(value, known))
        for setting, least in (("batch", 8), ("survey", 16), ("survey_simulations", 50), ("finalists", 1), ("finalist_simulations", 100)):
            if getattr(self, setting) < least:
                raise StudyError(f"The '{setting}' of the search is too small.", expected=f"{least} or more", got=getattr(self, setting))

    def find(self, goal: Goal, seed: int, journal: Journal, progress: Progress | None = None, workers: Workers = HERE) -> Found:
        if journal.get("found") is not None:
            return self.load(goal, journal)
        return _Finder(self, goal, seed, journal, progress or (lambda done, total, words: None)).find()

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
            estimates.append(information_at(estimator, design, self.finalist_simulations, (seed, _FRESH, index)))
            if progress:
                progress(index + 1, len(designs), "designs")
        return estimates

    def build(self, goal: Goal, seed: int) -> Estimator:
        """An untrained estimator."""
        import torch

        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            estimator: Estimator = _estimator_class(self.estimator)(goal, _encoder(self.encoder, goal.task))
        device = ("cuda" if torch.cuda.is_available() else "cpu") if self.device == "auto" else self.device
        return estimator.to(device)

    def total_steps(self, goal: Goal) -> int:
        """Steps of training."""
        return self.steps or STEPS[goal.name]


_TRAIN, _SURVEY, _CHOOSE, _REPORT, _BASELINE, _FRESH = range(1, 7)
"""What a seed is for: no two purposes share simulations."""

ROUNDS = (0.5, 0.8, 1.0)
"""Where rounds end, as shares of all steps."""


class _Finder:
    """A search being carried out."""

    def __init__(self, settings: Amortized, goal: Goal, seed: int, journal: Journal, progress: Progress) -> None:
        self.settings, self.goal, self.seed, self.journal = settings, goal, seed, journal
        self.estimator = settings.build(goal, seed)
        self.steps = settings.total_steps(goal)
        self.space = goal.task.design_space
        # a survey or a comparison costs about as much as this many steps of training
        self.cost = max(1, settings.survey * settings.survey_simulations // (4 * settings.batch))
        self.total = self.steps + 4 * self.cost
        self._progress, self._offset = progress, 0

    def find(self) -> Found:
        from ..training import save_weights

        trainer = self._trainer()
        focus: Floats | None = None
        for number, share in enumerate(ROUNDS):
            self._train(trainer, number, focus, round(share * self.steps))
            if number + 1 < len(ROUNDS):
                focus = self._focus(number)
            self._offset += self.cost
        save_weights(self.journal.file(ESTIMATOR), self.estimator)
        assert focus is not None
        return self._report(focus, trainer)

    def _trainer(self) -> Trainer:
        from ..training import Trainer, TrainingSettings

        settings = TrainingSettings(learning_rate=self.settings.learning_rate, schedule="cosine", clip=1.0)
        trainer = Trainer(self.estimator, settings, self.steps, self.seed)
        checkpoint = self.journal.file(CHECKPOINT)
        if checkpoint.exists():
            trainer.load(checkpoint)
        return trainer

    def _train(self, trainer: Trainer, number: int, focus: Floats | None, until: int) -> None:
        from ..training import Stream

        source = Stream(
            self.estimator, _mixture(self.goal.task, focus), self.settings.batch, (self.seed, _TRAIN), unfinished=self.settings.unfinished
        )
        words = ("learning from simulations over all designs", "learning where information is high", "tuning at the finalists")[number]

        def tell(step: int, steps: int, heard: str) -> None:
            self._progress(step + self._offset, self.total, f"{words}: {heard}")

        def keep(trainer: Trainer) -> None:
            trainer.save(self.journal.file(CHECKPOINT))

        trainer.run(source, until, every=250, after=keep, progress=tell)
        keep(trainer)

    def _focus(self, number: int) -> Floats:
        """Where information is high, as the estimator sees it after round `number`: the finalists, (F, B, V)."""
        key = f"survey {number}"
        kept = self.journal.get(key)
        if kept is None:
            self._progress(round(ROUNDS[number] * self.steps) + self._offset, self.total, "surveying designs")
            designs, nats, se = survey(self.estimator, self.settings, (self.seed, _SURVEY, number))
            order = np.argsort(-nats)
            kept = {
                "finalists": distinct(designs[order], self.settings.finalists).tolist(),
                "designs": designs[order[:64]].tolist(),
                "nats": nats[order[:64]].tolist(),
                "se": se[order[:64]].tolist(),
            }
            self.journal.put(key, kept)
        return np.array(kept["finalists"])

    def _report(self, finalists: Floats, trainer: Trainer) -> Found:
        settings = self.settings
        chosen = self._compare("finalists", finalists, settings.finalist_simulations, _CHOOSE)
        order = np.argsort([-estimate.nats for estimate in chosen])
        best = int(order[0])
        self._offset += self.cost
        information = self._compare("report", finalists[best : best + 1], 2 * settings.finalist_simulations, _REPORT)[0]
        baseline_designs = self.goal.task.baseline(settings.baselines, np.random.default_rng([self.seed, _BASELINE]))
        baseline = Baseline(baseline_designs, tuple(self._compare("baseline", baseline_designs, settings.baseline_simulations, _BASELINE)))
        alternatives = [(finalists[i], chosen[i]) for i in order[1:] if _as_good(chosen[i], chosen[best])]
        found = Found(
            finalists[best],
            information,
            self.estimator,
            baseline if settings.baselines else None,
            tuple(alternatives),
            self._trace(trainer),
            {"method": settings.name, "estimator": settings.estimator, "encoder": settings.encoder, "steps": self.steps},
        )
        self.journal.put("found", _kept(found))
        return found

    def _compare(self, what: str, designs: Floats, n: int, purpose: int) -> list[InformationEstimate]:
        """Estimates of several designs with common random numbers, one journal entry each."""
        estimates = []
        for index, design in enumerate(designs):
            key = f"{what} {index:04d}"
            if self.journal.get(key) is None:
                self._progress(self.steps + self._offset, self.total, f"estimating {what} {index + 1} of {len(designs)}")
                self.journal.put(key, information_at(self.estimator, design, n, (self.seed, purpose)).to_json())
            estimates.append(InformationEstimate(**self.journal.get(key)))
        return estimates

    def _trace(self, trainer: Trainer) -> list[dict[str, Any]]:
        """The bound as training went on, then the surveys, for figures."""
        width = max(1, self.steps // 100)
        ends = range(width, len(trainer.history) + 1, width)
        steps = [{"step": end, "training": float(np.mean(trainer.history[end - width : end]))} for end in ends]
        surveys = [{"survey": key, **value} for key, value in self.journal.items("survey ")]
        return steps + [{"survey": s["survey"], "best": s["nats"][0], "designs": len(s["nats"])} for s in surveys]


def information_at(estimator: Estimator, design: Floats, n: int, seed: tuple[int, ...], size: int = 4096) -> InformationEstimate:
    """The estimate of one design from `n` fresh simulations, in pieces, so that memory does not grow with `n`."""
    from ..estimators.base import combine

    pieces = math.ceil(n / size)
    models = len(estimator.goal.models)
    parts = []
    for piece in range(pieces):
        count = n // pieces + (piece < n % pieces)
        count = max(models, count - count % models)
        parts.append(estimator.estimate(estimator.simulate(design, count, np.random.default_rng([*seed, piece])), seed=piece))
    return combine(parts)


def survey(estimator: Estimator, settings: Amortized, seed: tuple[int, ...]) -> tuple[Floats, Floats, Floats]:
    """Estimate many designs, more of them where a Gaussian process through the estimates so far promises most.

    Returns:
        Designs (D, B, V), the process's posterior mean of their information (D,), and its standard deviation (D,).
    """
    task = estimator.goal.task
    rng = np.random.default_rng([*seed, 0])
    half = settings.survey // 2
    designs = task.design_space.canonical(np.concatenate([task.design_space.spread(half - half // 4, rng), task.baseline(half // 4, rng)]))
    estimates = [information_at(estimator, design, settings.survey_simulations, (*seed, 1)) for design in designs]
    for part in np.array_split(np.arange(settings.survey - half), 4):
        process = Process(designs, estimates)
        more = process.propose(_nearby(task, designs, process.mean(designs), 2000, rng), len(part), rng)
        designs = np.concatenate([designs, more])
        estimates += [information_at(estimator, design, settings.survey_simulations, (*seed, 1)) for design in more]
    process = Process(designs, estimates)
    return designs, process.mean(designs), process.sd(designs)


class Process:
    """A Gaussian process (Matérn-5/2, one length scale a design variable) through noisy estimates of information.

    Arguments:
        designs: (D, B, V), canonical.
        estimates: D of them; their standard errors are the noise.
    """

    def __init__(self, designs: Floats, estimates: Sequence[InformationEstimate]) -> None:
        import torch
        from botorch.fit import fit_gpytorch_mll
        from botorch.models import SingleTaskGP
        from gpytorch.kernels import MaternKernel, ScaleKernel
        from gpytorch.mlls import ExactMarginalLogLikelihood

        x = torch.from_numpy(designs.reshape(len(designs), -1))
        y = torch.tensor([[e.nats] for e in estimates], dtype=torch.float64)
        noise = torch.tensor([[e.se**2] for e in estimates], dtype=torch.float64).clamp_min(1e-8)
        self._centre, self._spread = y.mean(), y.std().clamp_min(1e-6)
        kernel = ScaleKernel(MaternKernel(nu=2.5, ard_num_dims=x.shape[-1]))
        self._model = SingleTaskGP(
            x, (y - self._centre) / self._spread, noise / self._spread**2, covar_module=kernel, outcome_transform=None, input_transform=None
        )
        fit_gpytorch_mll(ExactMarginalLogLikelihood(self._model.likelihood, self._model), optimizer_kwargs={"options": {"maxiter": 60}})

    def mean(self, designs: Floats) -> Floats:
        """Posterior mean, (D,)."""
        return self._posterior(designs)[0]

    def sd(self, designs: Floats) -> Floats:
        """Posterior standard deviation, (D,)."""
        return self._posterior(designs)[1]

    def propose(self, candidates: Floats, n: int, rng: np.random.Generator) -> Floats:
        """`n` of the candidates: the best of each of `n` draws from the posterior (Thompson sampling), (n, B, V)."""
        mean, sd = self._posterior(candidates)
        chosen: list[int] = []
        for _ in range(n):
            value = mean + sd * rng.standard_normal(len(mean))
            value[chosen] = -np.inf
            chosen.append(int(value.argmax()))
        return candidates[chosen]

    def _posterior(self, designs: Floats) -> tuple[Floats, Floats]:
        import torch

        with torch.no_grad():
            posterior = self._model.posterior(torch.from_numpy(designs.reshape(len(designs), -1)))
            mean = posterior.mean.squeeze(-1) * self._spread + self._centre
            sd = posterior.variance.clamp_min(0).sqrt().squeeze(-1) * self._spread
        return mean.numpy(), sd.numpy()


def distinct(designs: Floats, n: int, apart: float = 0.05) -> Floats:
    """The first `n` designs of which no two are nearer than `apart` in every value."""
    chosen: list[Floats] = []
    for design in designs:
        if all(np.abs(design - other).max() > apart for other in chosen):
            chosen.append(design)
        if len(chosen) == n:
            break
    return np.array(chosen)


def _nearby(task: Task, designs: Floats, nats: Floats, n: int, rng: np.random.Generator) -> Floats:
    """Candidates: a quarter anywhere, the others around the best designs so far, some values moved to an edge."""
    space = task.design_space
    low, high = np.array(space.low), np.array(space.high)
    best = designs[np.argsort(-nats)[:16]]
    centre = best[rng.integers(0, len(best), n - n // 4)]
    width = (high - low) * rng.choice([0.02, 0.07, 0.2], (len(centre), 1, 1))
    moved = centre + width * rng.standard_normal(centre.shape) * (rng.random(centre.shape) < 0.7)
    edge = np.where(rng.random(centre.shape) < 0.5, low, high)
    moved = np.where(rng.random(centre.shape) < 0.1, edge, moved)
    return space.canonical(np.concatenate([space.spread(n // 4, rng), np.clip(moved, low, high)]))


def _mixture(task: Task, focus: Floats | None) -> Callable[[int, np.random.Generator], NDArray[np.float64]]:
    """Draws the designs of a batch: half over all of the space and half baseline; or half of them near `focus`."""

    def draw(n: int, rng: np.random.Generator) -> NDArray[np.float64]:
        space = task.design_space
        kind = rng.random((n, 1, 1))
        designs = np.where(kind < 0.6, space.spread(n, rng), task.baseline(n, rng))
        if focus is not None:
            near = focus[rng.integers(0, len(focus), n)]
            width = (np.array(space.high) - np.array(space.low)) * np.where(rng.random((n, 1, 1)) < 0.5, 0.0, 0.05)
            near = np.clip(near + width * rng.standard_normal(near.shape), space.low, space.high)
            designs = np.where(rng.random((n, 1, 1)) < 0.5, near, designs)
        return designs

    return draw


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


def _encoder(name: str, task: Task) -> Any:
    from ..networks.encoders import BlockEncoder, HistoryEncoder, SequenceEncoder

    if name == "auto":
        name = "history" if type(task).history is not Task.history else "sequence"
    return {"history": HistoryEncoder, "sequence": SequenceEncoder, "blocks": BlockEncoder}[name](task)


def _estimator_class(name: Literal["posterior", "nwj", "infonce"] | str) -> Any:
    if name == "nwj":
        from ..estimators.nwj import NWJEstimator

        return NWJEstimator
    if name == "infonce":
        from ..estimators.infonce import InfoNCEEstimator

        return InfoNCEEstimator
    from ..estimators.posterior import PosteriorEstimator

    return PosteriorEstimator
