"""One estimator for every design, then a search that costs almost nothing.

An estimator is trained once, on a stream of fresh simulations over designs from all of the space. Where designs act on
behavior only through what is recorded, p(v | y, d) = p(v | y), and one network is right for all of them; otherwise it
takes the design as an input. The information of any design is then an average over fresh simulations: no training.

Training goes in rounds under one learning-rate schedule:

    1. designs over the whole space, edges and corners included, and the task's baseline designs: a provisional recommendation;
    2. more of the same;
    3. half of the designs from where the estimator finds information to be high;
    4. half of the designs at the best ones, while the learning rate goes to nothing: the estimator is tuned where it matters.

After each round designs are surveyed: a look at designs everywhere, then climbs from the best, with common random numbers. In the
end the finalists, and the best baseline designs, are estimated again on fresh simulations, and the best is chosen. A last climb from
it says what further search would gain. What is reported comes from further simulations, which had no part in any choice.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, Callable, ClassVar, Sequence

import numpy as np

from ..errors import ModelError, StudyError, counted
from ..information.estimate import Floats, InformationEstimate, Pointwise
from ..models.symmetry import SAY_SO, denied_difference
from ..progress import PROVISIONAL
from ..question import Question
from ..tasks.base import Task
from ..tasks.text import format_design
from ..workers import HERE, one_thread
from .base import Alternative, Baseline, Found, Job, Search, check_least, check_parts, check_setting, part
from .learning import ROUNDS, Plan, seconds_a_step, steps_for
from .survey import Ranked, Surveyor, passes_of

if TYPE_CHECKING:
    from ..estimators.base import Estimator
    from ..networks.base import Encoder

_TRAIN, _SURVEY, _CHOOSE, _REPORT, _BASELINE, _FRESH, _RACE, _AGAIN, _DRAW = range(1, 10)
"""What a seed is for: no two purposes share simulations."""

HABITS = 2
"""How many baseline designs are finalists."""

LOOKS, CLIMBS = (0.15, 0.25, 0.25, 0.1), (0.0, 0.0, 0.25, 0.75)
"""How much of a survey, and of climbing, follows each round of training."""
LAST = 0.5
"""How much climbing follows the choice."""

LOOKED_AT, ESTIMATED = 1 / 6, 3 / 4
"""What participants in surveys, and in estimates by more than the quick part of an estimator, cost beside one that is trained on."""


@dataclass(frozen=True)
class Amortized(Search):
    """Settings of the amortized search.

    Arguments:
        estimator: What is trained: "likelihood", a posterior that a learned likelihood corrects; "posterior", without it, which is what is
            taken where nothing would be corrected, or responses are more than a choice; or a critic bound on the same encoder, "nwj" or
            "infonce".
        encoder: How behavior is summarised: "history" (the task describes its trials), "sequence" (the fields as they are), "blocks" (the
            paper's); if not given, the first of these that the task allows.
        steps: Steps of training; 0 for a default that grows with the number of parameters to be learned.
        batch: Participants in each step.
        learning_rate: At its peak; 0 for the estimator's own: 0.01, and 0.003 for critics, which learn nothing at a higher one.
        simulations: For slow simulators: simulate no more than about this many participants, keep them in the run folder, and
            train in epochs until held-out ones no longer gain. 0: fresh simulations at every step.
        unfinished: The share of participants that are trained on as if they had stopped early or missed trials, so that the same
            network serves shorter experiments and gaps.
        survey: Designs estimated after a round, counted in `survey_simulations`; more of them the more values a design has.
        survey_simulations: Participants that a design is worth on average: an eighth for a look at it in a climb, twice as many for a race.
        finalists: Designs estimated again in the end.
        finalist_simulations: Participants for each of them; twice as many for the report of the chosen one.
        baselines: Designs of the task's baseline to compare with.
        baseline_simulations: Participants for each of them.
        device: "auto", "cpu", "cuda", …
    """

    estimator: type[Estimator] | None = part("estimator")  # noqa: RUF009  (it makes a field, as `field` does)
    encoder: type[Encoder] | None = part("encoder")  # noqa: RUF009
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
    words: ClassVar[str] = (
        "One neural network was trained on simulations over all designs. What it can tell of the truth, on average over simulations it has"
        " never seen, is a lower bound on information. With it, designs were compared at little"
        " cost; the best were compared again on further simulations, and the reported number comes from simulations that had no part in"
        " the choice."
    )
    sources: ClassVar[tuple[str, ...]] = ("balandat2020botorch", "jordan2024muon")

    def __post_init__(self) -> None:
        check_parts(self)
        check_least(self, batch=8, survey=16, survey_simulations=50, finalists=1, finalist_simulations=100)
        check_least(self, baselines=0, baseline_simulations=50, steps=0, learning_rate=0, unfinished=0)
        check_setting(self, "unfinished", self.unfinished <= 1, "a share, 0 to 1", "is more than all participants")
        enough = self.simulations == 0 or self.simulations >= 10_000
        check_setting(self, "simulations", enough, "10,000 or more, or 0", "are too few")
        _check_device(self.device)

    def find(self, job: Job) -> Found:
        # cores work on pieces of a batch and on designs, each on one thread: quicker for networks of this size, and the same bytes
        # whatever the number of cores
        with one_thread():
            return _Finder(self._within_budget(), job).find()

    def seconds(self, job: Job) -> float | None:
        if self.simulations:
            return None  # trained until nothing is gained
        with one_thread():
            finder = _Finder(self, job)
            return finder.total * seconds_a_step(finder.estimator, job, self.batch)

    def build(self, task: Task, question: Question, seed: int = 0) -> Estimator:
        """An untrained estimator."""
        import torch

        from ..networks.history import HistoryEncoder
        from ..networks.sequence import SequenceEncoder

        described = task.history(task.nothing(0)) is not None
        kind, encoder = self._kind(task, question), self.encoder or (HistoryEncoder if described else SequenceEncoder)
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            estimator = kind.for_every_design(question, encoder.for_question(task, question))
        device = ("cuda" if torch.cuda.is_available() else "cpu") if self.device == "auto" else self.device
        try:
            return estimator.to(device)
        except (RuntimeError, AssertionError) as error:  # torch asserts that it was built for the device
            raise _no_device(device, str(error).splitlines()[0]) from None

    def evaluate(self, job: Job, designs: Sequence[Floats], estimator: Estimator | None) -> list[InformationEstimate]:
        from ..estimators.fresh import pointwise_at

        assert estimator is not None
        n, estimates = self._within_budget().finalist_simulations, []
        found = job.workers.map(pointwise_at, [(estimator, design, n, (job.seed, _FRESH)) for design in designs])
        for done, (points, failures) in enumerate(found, 1):
            job.journal.put_failures(failures)
            estimates.append(points.estimate())
            job.progress(done, len(designs), "estimating designs")
        return estimates

    def _within_budget(self) -> Amortized:
        """The settings with which all simulations together stay within the budget: a little more than half is trained on, a fifth
        goes into surveys, and the rest into the comparisons at the end.
        """
        if not self.simulations:
            return self
        share = self.simulations // 20
        each = max(50, min(self.survey_simulations, share * 4 // 64))
        finalists = max(1, min(self.finalists, share // 100 - HABITS))
        return replace(
            self,
            survey_simulations=each,
            survey=max(16, min(self.survey, round(share * 4 / (sum(LOOKS) + sum(CLIMBS) + LAST) / each))),
            finalists=finalists,
            # once to choose, then twice as many for each that is as good as the best, which all of them may be, and for where the last
            # climb led
            finalist_simulations=max(100, min(self.finalist_simulations, share // (finalists + HABITS + 1))),
            baseline_simulations=max(50, min(self.baseline_simulations, share // max(1, self.baselines + 1))),
        )

    def total_steps(self, task: Task, question: Question) -> int:
        """Steps of training: those given, or more of them the more parameters are to be learned."""
        usual = steps_for(question.widest) if question.about_parameters else 4000
        return self.steps or round(usual * self._kind(task, question).share_of_steps(question))

    def _kind(self, task: Task, question: Question) -> type[Estimator]:
        """What is trained."""
        from ..estimators.likelihood import LikelihoodEstimator, pays
        from ..estimators.posterior import PosteriorEstimator

        return self.estimator or (LikelihoodEstimator if pays(task, question) else PosteriorEstimator)


class _Finder:
    """A search being carried out. What it has computed is in the journal; what is not there is computed."""

    def __init__(self, settings: Amortized, job: Job) -> None:
        self.settings, self.job, self.space = settings, job, job.space
        wrong = denied_difference(job.question.models, job.task, job.broken_symmetries.get("blocks", ()))
        if wrong:
            raise ModelError(wrong, fix=SAY_SO)
        # to send a quick simulator's work to other processes costs more than the work
        self.workers = job.workers if settings.simulations else HERE
        self.estimator = settings.build(job.task, job.question, job.seed)
        self.steps = settings.total_steps(job.task, job.question)
        # climbs are for designs of many numbers; how far they lead is measured in participants
        size = self.space.shape[0] * self.space.shape[1]
        self.climbing = settings.survey * settings.survey_simulations * (1.0 if settings.simulations else max(1.0, size / 6) ** 1.5)
        surveyed = sum(LOOKS) * settings.survey * settings.survey_simulations + (sum(CLIMBS) + LAST) * self.climbing
        # the finalists, as many again for the report of those that are good, and the baseline
        estimated = 2 * (settings.finalists + HABITS) * settings.finalist_simulations + settings.baselines * settings.baseline_simulations
        self._price = LOOKED_AT if self.estimator.quick is self.estimator else ESTIMATED
        self._done, self.total = 0, self.steps + self._cost(surveyed, LOOKED_AT) + self._cost(estimated, self._price)

    def find(self) -> Found:
        settings = self.settings
        rate, budget = settings.learning_rate or self.estimator.learning_rate, round(0.55 * settings.simulations)
        plan = Plan(self.estimator, self.job, self.steps, rate, settings.batch, settings.unfinished, budget, _TRAIN)
        good: Floats | None = None
        history: list[float] = []
        for number in range(len(ROUNDS)):
            history = plan.learn(number, good if number > 1 else None, self._tell)
            good = self._survey(number, good)
        assert good is not None
        return self._report(good[: settings.finalists], history)

    def _survey(self, number: int, good: Floats | None) -> Floats:
        """Where information is high, as the estimator sees it after round `number`: (G, B, V), best first."""
        count, participants = round(LOOKS[number] * self.settings.survey), round(CLIMBS[number] * self.climbing)
        keep = self.settings.finalists

        def survey(surveyor: Surveyor) -> Ranked:
            self._tell(round(ROUNDS[number] * self.steps), "surveying designs")
            return surveyor.climb(surveyor.look(count, good, keep), participants, keep)

        kept = self._kept_survey(str(number), number, survey)
        self._done += self._cost(count * self.settings.survey_simulations + participants, LOOKED_AT)
        if number == 0:
            words = (
                f"{format_design(self.space, kept['designs'][0])} tells at least {max(0.0, kept['nats'][0]):.2f} nats; the search goes on"
            )
            self._tell(round(ROUNDS[0] * self.steps), PROVISIONAL, words)
        return np.array(kept["designs"])

    def _climbs(self) -> bool:
        """Are there participants enough for climbs after a round?"""
        settings, most = self.settings, round(max(CLIMBS) * self.climbing)
        return passes_of(self.space, settings.survey_simulations, most, settings.finalists) > 0

    def _kept_survey(self, name: str, number: int, survey: Callable[[Surveyor], Ranked]) -> Any:
        """What a survey found, by a surveyor with simulations of its own; as the journal has it."""

        def made() -> dict[str, Any]:
            seed = (self.job.seed, _SURVEY, number)
            surveyor = Surveyor(self.estimator.quick, self.space, self.settings.survey_simulations, seed, self.workers)
            designs, nats = survey(surveyor)
            self.job.journal.put_failures(surveyor.failures)
            return {"designs": designs.tolist(), "nats": nats.tolist(), "tried": surveyor.tried}

        return self.job.journal.kept(f"survey {name}", made)

    def _report(self, finalists: Floats, history: list[float]) -> Found:
        settings, rng = self.settings, np.random.default_rng([self.job.seed, _DRAW])
        drawn = self.job.task.baseline(settings.baselines, rng) if settings.baselines else np.zeros((0, *self.space.shape))
        at_drawn = self._estimate("baseline", drawn, settings.baseline_simulations, _BASELINE)
        # a drawn design may be as good as anything: the best of them are finalists too
        habits = np.argsort([-points.estimate().nats for points in at_drawn], kind="stable")[:HABITS]
        candidates = np.concatenate([finalists, self.space.canonical(drawn[habits])])
        chosen = self._estimate("finalist", candidates, settings.finalist_simulations, _CHOOSE)
        order = np.argsort([-points.estimate().nats for points in chosen], kind="stable")
        good = [i for i in order if i == order[0] or _as_good(chosen[i], chosen[order[0]])]
        shown, by_habit = list(candidates[good]), [bool(i >= len(finalists)) for i in good]
        further = self._climb_further(shown[0])
        if further is not None:
            shown, by_habit = [further, *shown], [False, *by_habit]
        fresh = self._estimate("recommended", np.stack(shown), 2 * settings.finalist_simulations, _REPORT)
        baseline = None
        if len(drawn):
            purpose = _BASELINE
            if by_habit[0] or (further is not None and by_habit[1]):  # these participants made it a finalist, or what it was climbed from
                purpose = _AGAIN
                at_drawn = self._estimate("baseline", drawn, settings.baseline_simulations, purpose)
            beside = self._estimate("recommended", shown[0][None], settings.baseline_simulations, purpose)[0]
            baseline = Baseline.of(drawn, at_drawn, beside)
        alternatives = [
            Alternative(design, points.estimate(), fresh[0].minus(points), drawn)
            for design, points, drawn in zip(shown[1:], fresh[1:], by_habit[1:], strict=True)
            if _as_good(points, fresh[0])
        ]
        gained = {} if further is None else asdict(fresh[0].minus(fresh[1]))
        tried, encoder = sum(value["tried"] for _, value in self.job.journal.items("survey ")), self.estimator.encoder.name
        details = {"method": settings.name, "estimator": self.estimator.name, "encoder": encoder, "steps": len(history), "tried": tried}
        details |= {"last_climb": {"tried": self.job.journal.get("survey last")["tried"], **gained}}
        details |= {} if self._climbs() else {"climbs": 0}
        details |= {"broken_symmetries": self.job.broken_symmetries} if self.job.broken_symmetries else {}
        ranked = sorted(alternatives, key=lambda one: one.behind.nats)
        return Found(shown[0], fresh[0].estimate(), self.estimator, baseline, tuple(ranked), self._trace(history), details)

    def _climb_further(self, design: Floats) -> Floats | None:
        """Where a last climb from the chosen design leads, if that is better; on simulations of its own."""
        participants = round(LAST * self.climbing)

        def survey(surveyor: Surveyor) -> Ranked:
            self._tell(self.steps, "surveying designs", "a last climb from the best")
            return surveyor.climb((design[None], np.zeros(1)), participants, 1)

        end = np.array(self._kept_survey("last", len(ROUNDS), survey)["designs"][0])
        self._done += self._cost(participants, LOOKED_AT)
        if (end == design).all():
            return None
        there, here = self._estimate("finalist", np.stack([end, design]), self.settings.finalist_simulations, _RACE)
        gain = there.minus(here)
        return end if gain.nats > gain.se else None

    def _cost(self, participants: float, price: float) -> int:
        """Participants that are estimated, in steps of training."""
        return max(1, round(price * participants / self.settings.batch))

    def _estimate(self, what: str, designs: Floats, n: int, purpose: int) -> list[Pointwise]:
        """What participants contribute at several designs, with common random numbers."""
        from ..estimators.fresh import pointwise_at_each

        if not len(designs):
            return []
        self._tell(self.steps, "estimating on fresh simulations", counted(len(designs), f"{what} design"))
        points, failures = pointwise_at_each(self.estimator, designs, n, (self.job.seed, purpose), self.workers)
        self.job.journal.put_failures(failures)
        self._done += self._cost(len(designs) * n, self._price)
        return points

    def _trace(self, history: list[float]) -> list[dict[str, Any]]:
        """The bound as training went on, at a hundred points, then the surveys; for figures."""
        width = max(1, len(history) // 100)
        ends = range(width, len(history) + 1, width)
        training = [{"step": end, "training": float(np.mean(history[end - width : end]))} for end in ends]
        return training + [{"survey": key, **value} for key, value in self.job.journal.items("survey ")]

    def _tell(self, step: int, stage: str, detail: str = "") -> None:
        self.job.progress(min(step + self._done, self.total), self.total, stage, detail)


def _check_device(device: str) -> None:
    """Raise a `StudyError` unless torch has a kind of device of that name; whether this machine has one is asked when it is needed."""
    if device in ("auto", "cpu"):
        return
    import torch

    try:
        torch.device(device)
    except RuntimeError:
        raise _no_device(device, repr(device)) from None


def _no_device(device: str, got: str) -> StudyError:
    expected = '"auto", "cpu", "cuda", "cuda:1", …'
    return StudyError(f"The device '{device}' of the search is not there.", expected=expected, got=got, fix='device = "auto"', key="device")


def _as_good(one: Pointwise, best: Pointwise) -> bool:
    """Is the difference within two standard errors?"""
    behind = best.minus(one)
    return behind.nats <= 2 * behind.se
