"""The result of a run: the found design, and what it can tell."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Callable, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .behavior import Behavior
from .display import bars, table, together
from .errors import DataError, StudyError
from .folder import RunFolder
from .information.estimate import Floats, InformationEstimate
from .models.evidence import have_likelihoods
from .models.symmetry import read_in_order
from .posterior import Posterior, infer
from .progress import Progress, unheard
from .search.base import Alternative, Baseline, Found, Job
from .study import Study
from .tasks.orders import orders_of_play
from .tasks.scaling import to_unit
from .tasks.text import format_design, names_for_people
from .workers import Workers, simulating_with

if TYPE_CHECKING:
    from .adaptive.policy import Policy
    from .adaptive.worth import Worth
    from .data.understanding import Understanding
    from .estimators.base import Estimator
    from .groups.analysis import Analysis, AnalysisSettings
    from .nearby import Moved, Rounded
    from .validation.suite import Validation
    from .validation.trust import Trust


ASSUMED = "The table does not say what people were run at: the recommended design is assumed. If they had another, say so with --design."


@dataclass(frozen=True, eq=False, repr=False)
class DesignResult:
    """The found design, and what it can tell.

    Arguments:
        study: What was asked.
        found: What the search found.
        folder: Where it is kept.
    """

    study: Study
    found: Found
    folder: RunFolder

    @property
    def design(self) -> Floats:
        """The recommended design, (B, V)."""
        return self.found.design

    @property
    def information(self) -> InformationEstimate:
        """The information of the recommended design."""
        return self.found.information

    @property
    def baseline(self) -> Baseline | None:
        """What randomly drawn comparison designs would tell."""
        return self.found.baseline

    @property
    def alternatives(self) -> tuple[Alternative, ...]:
        """Other good designs with their information."""
        return self.found.alternatives

    def __repr__(self) -> str:
        design = format_design(self.study.task.design_space, self.design)
        kept = "" if self.folder.temporary else f"; kept in {self.folder.path}"  # a temporary folder is gone with the result
        return f"DesignResult of '{self.study.name}': {design}, {self.information}{kept}"

    def _repr_html_(self) -> str:
        space, design, baseline = self.study.task.design_space, self.design, self.baseline
        names, unit = names_for_people(space.names), to_unit(space, self.design)
        labels = [[f"{name} {value:.3g}" for name, value in zip(names, row, strict=True)] for row in design]
        texts = [format_design(space, row[None]).split(",") for row in design]
        rows = [[f"block {b + 1}", *texts[b], bars(list(map(float, unit[b])), labels[b])] for b in range(space.blocks)]
        facts = self.information.rows()
        if baseline is not None:
            mean = baseline.mean
            people = "" if mean.accuracy is None else f"the model of {100 * mean.accuracy:.0f} of 100 people, "
            facts += [("randomly drawn designs", f"{people}{mean.nats:.3f} ± {mean.se:.3f} nats on average")]
            facts += [("gain over them", str(baseline.gain))]
        facts += [("designs as good", f"{len(self.alternatives)} more in .alternatives")] if self.alternatives else []
        shown = table(rows, ["", *names, "in its range"], f"The recommended design of '{self.study.name}'")
        facts += [] if self.folder.temporary else [("kept in", str(self.folder.path))]
        return together(shown, table(facts))

    def __str__(self) -> str:
        """A few lines on what was found: what `tellapart design` prints."""
        space, information, baseline = self.study.task.design_space, self.information, self.baseline
        lines = [f"design       {format_design(space, self.design)}"]
        lines += [f"information  {information}{self.study.question.share_of_most(information.nats)}"]
        if baseline is not None:
            nats = [estimate.nats for estimate in baseline.information]
            mean = f"{baseline.mean.nats:z.3f} ± {baseline.mean.se:.3f} nats on average, from {min(nats):z.3f} to {max(nats):z.3f}"
            lines += [f"baseline     {mean}", f"gain         {baseline.gain} over the average baseline design"]
        for other in self.alternatives:
            drawn = " (a baseline design)" if other.drawn else ""
            lines += [f"also good    {format_design(space, other.design)}{drawn}  {other.information.nats:z.3f} nats, {other.in_words}"]
        if information.nats <= 2 * information.se:
            lines += ["caution      nothing was learned: either no design tells anything about this, or the network needs more steps"]
        elif baseline is not None and baseline.gain.nats <= 2 * baseline.gain.se:
            lines += ["caution      not clearly more than randomly drawn designs tell: any of these will do"]
        if self.found.details.get("climbs") == 0:
            lines += ["caution      the best of the designs that were looked at; `survey` is too small for climbs from them to better ones"]
        rest = "all of this is about those that can be, with what is left of the prior (failures.jsonl)"
        for name, count in Counter(failure["model"] for failure in self.folder.failures).items():
            lines += [f"skipped      {name}: {count} participants could not be simulated; {rest}"]
        return "\n".join(lines + ([] if self.folder.temporary else [f"kept in      {self.folder.path}"]))

    def posterior(
        self, data: Any, designs: ArrayLike | None = None, draws: int = 1000, seed: int = 0, progress: Progress = unheard
    ) -> Posterior:
        """Who behaved like which model, with which parameters.

        Arguments:
            data: A `Behavior`, any table (a pandas DataFrame, or a list of files), or what `understand` made of one.
            designs: What participants were run at, if the data do not say it and it was not the recommended design: (B, V) or (N, B, V).
            draws: How many draws from the posterior of parameters.
        """
        people, where = self._people(data, designs)
        posterior = infer(self.found.estimator, people.behavior, where, draws, seed)
        return replace(posterior, trust=self.trust(people.behavior, where, progress))

    def analyse(
        self, data: Any, designs: ArrayLike | None = None, settings: AnalysisSettings | None = None, progress: Progress = unheard
    ) -> Analysis:
        """What a group of people did, and what that says of the population they come from; see `posterior` for the arguments."""
        from .groups.analysis import analyse

        if settings is None or not settings.amortized:
            self._check_likelihoods()
        people, where = self._people(data, designs)
        how: dict[str, Any] = {"groups": people.groups, "orders": people.orders(), "conditions": people.conditions, "progress": progress}
        how["trust"] = lambda behavior, at: self.trust(behavior, at, progress)
        found = analyse(self.found.estimator, people.behavior, where, settings, **how)
        assumed = designs is None and people.designs is None and not isinstance(data, Behavior)
        return replace(found, warnings=(*found.warnings, ASSUMED)) if assumed else found

    def trust(self, data: Any, designs: ArrayLike | None = None, progress: Progress = unheard) -> Trust:
        """Do the data of each participant look like anything that the models can produce?"""
        from .validation.trust import trust

        people, where = self._people(data, designs)
        return trust(self.found.estimator, people.behavior, where, seed=self.study.seed, progress=progress)

    def validate(self, *, seed: int | None = None, progress: Progress = unheard, **settings: Any) -> Validation:
        """The checks of the estimator at the recommended design and at baseline designs.

        Arguments:
            settings: See `tellapart.validation.suite.validate`.
        """
        from .validation.suite import READ, validate

        if settings.get("n_exact") != 0:
            self._check_likelihoods()
        if settings.get("n_reader") is None:  # of those that the estimator learned from, half, if there were few
            settings["n_reader"] = min(READ, self._trained // 2) if self._trained else READ
        checks = validate(
            self.found.estimator,
            self.design,
            information=self.information,
            baseline=self.baseline,
            every_design=not self.study.search.trains_at_each_design,
            seed=self.study.seed if seed is None else seed,
            progress=progress,
            **settings,
        )
        self.folder.write("validation.json", checks.to_json())
        return checks

    def _check_likelihoods(self) -> None:
        """Raise a `ModelError` unless the likelihoods of the models, if all have one, are those of the simulators.

        It is looked at once for a run; after a short training, as briefly.
        """
        models, task, seed = self.study.models, self.study.task, self.study.seed

        def made() -> dict[str, Any]:
            from .testing.likelihoods import PEOPLE, check_likelihoods

            most = self._trained // 8 or PEOPLE
            check_likelihoods(models, task, alone=True, seed=seed, most=most)
            return {"right": [model.name for model in models], "people": min(most, PEOPLE)}

        if have_likelihoods(models):
            self.folder.kept("likelihoods.json", made)

    @property
    def _trained(self) -> int:
        """How many simulated participants the estimator learned from; 0 if that is not known. What else is simulated is a share of it."""
        search, details = self.study.search, self.found.details
        return int(getattr(search, "simulations", 0) or int(details.get("steps", 0)) * getattr(search, "batch", 0))

    def rounded(self) -> Rounded | None:
        """May I round? The design with rounder numbers and what that loses, kept in the run folder.

        The coarsest rounding that loses nothing to speak of, else the finest that was tried. None if no number can be rounder, or the
        estimator knows the recommended design only.
        """
        from .nearby import Rounded, best_rounding, may_round

        if self.study.search.trains_at_each_design:
            return None
        n = min(20_000, max(1000, self._trained // 16))
        return best_rounding([Rounded.from_json(kept) for kept in self._kept("rounded.json", may_round, n)])

    def moved(self, progress: Progress = unheard) -> list[Moved]:
        """How much does each number matter? The information as one number of the design is moved, kept in the run folder.

        None of them if the estimator knows the recommended design only, or was trained on too few simulations to afford it.
        """
        from .nearby import Moved, move_each

        if self.study.search.trains_at_each_design:
            return []
        budget = min(80_000, self._trained // 8)  # some seconds of two cores
        return [Moved.from_json(kept) for kept in self._kept("moved.json", move_each, budget, progress=progress)]

    def curve(self, progress: Progress = unheard) -> list[dict[str, Any]]:
        """Points of the information curve, kept in the run folder; none if the estimator knows experiments of one length only."""
        from .curve import information_curve, reads_any_length

        n = min(4000, max(500, self._trained // 16)) if self._trained else 4000
        return self._kept("curve.json", information_curve, n=n, progress=progress) if reads_any_length(self.found.estimator) else []

    def _kept(self, name: str, make: Callable[..., Sequence[Any]], *given: Any, **more: Any) -> list[Any]:
        """What a file of the run folder lists; if it is not there, it is made of the estimator and the design first."""

        def made() -> list[Any]:
            return [one.to_json() for one in make(self.found.estimator, self.design, *given, seed=self.study.seed, **more)]

        return list(self.folder.kept(name, made))

    def policy(self, progress: Progress = unheard) -> Policy:
        """What gives a participant's next block; what it has to learn is learned once and kept in the run folder."""
        from .adaptive.learned import Learning

        study, files = self.study, self.folder.path if self.folder.path.is_dir() else None
        steps = int(getattr(study.search, "steps", 0))  # a study that is trained briefly learns this briefly too
        learning = Learning(study.task, study.question, study.search, study.seed, files, steps)
        return learning.policy(self.design, self.found.estimator, progress)

    def next_design(
        self, data: Any, id: Any = None, designs: ArrayLike | None = None, seed: int | None = None, progress: Progress = unheard
    ) -> Any:
        """The most informative next block, with what it is expected to tell and how that compares with the fixed plan.

        Arguments:
            data: What participants did so far, blocks in the order of play; see `posterior`.
            id: The label of one participant; if not given, a list with one decision for each of them comes back.
            designs: The plan, if it is not the recommended design: (B, V) or (N, B, V). Blocks that were begun were run at it, unless the
                data say otherwise; those still to come are compared with it, in the order in which the participant would be given them
                (counterbalanced, if the data of an experiment that was served show that).
            seed: Where the randomness of decisions starts; the study's seed if not given.

        Returns:
            A `Decision`, which counts blocks from 0, or None for who has done all blocks.
        """
        from .adaptive.policy import blocks_run

        people = self._understood(data, as_played=True)
        behavior, labels = people.behavior, [str(label) for label in people.behavior.participants]
        if id is not None and str(id) not in labels:
            raise DataError("There is no such participant in the data.", expected=", ".join(labels[:20]), got=str(id))
        chosen = np.arange(len(labels)) if id is None else np.array([labels.index(str(id))])
        each = self._designs(designs, len(labels))
        if people.played is not None:  # each participant's plan: the blocks of the design in the order in which they come
            orders = orders_of_play(people.played, self.study.task.blocks)
            each = np.stack([design[list(order)] for design, order in zip(each, orders, strict=True)])
        nexts = blocks_run(behavior) if people.played is None else np.array([len(begun) for begun in people.played])  # some were missed
        if people.designs is not None:
            each = np.where((np.arange(each.shape[1]) < nexts[:, None])[..., None], people.designs, each)
        policy = self.policy(progress)
        policy = policy if seed is None else replace(policy, way=policy.way.with_seed(seed))
        decisions = policy.decide(behavior[chosen], each[chosen], nexts[chosen], progress)
        return decisions if id is None else decisions[0]

    def next_doubts(self, policy: Policy | None = None) -> str:
        """What is wrong with the posteriors by which next blocks are chosen, and what to do; empty if no error was found.

        It is looked for once, on simulated participants who have done some of the planned blocks, and kept in the run folder. `adapt` looks
        at adaptively made data.

        Arguments:
            policy: What chooses them, if it has been made already.
        """
        from .adaptive.stopping import calibration_on_the_way, doubts, verdicts

        found = self.folder.kept("on-the-way.json", lambda: verdicts(calibration_on_the_way(policy or self.policy(), self.study.seed)))
        return doubts(found, "after some of the planned blocks")

    def adapt(self, n: int = 100, *, seed: int | None = None, limit: float = 1.0, progress: Progress = unheard, **settings: Any) -> Worth:
        """What adapting would be worth: simulated participants with the policy and with the recommended design.

        Arguments:
            n: How many.
            limit: How long a server would wait for a decision, in seconds.
            settings: Of `Stopping`: sure, narrow, least.
        """
        from .adaptive.stopping import Stopping
        from .adaptive.worth import worth

        found = worth(self.policy(progress), n, self.study.seed if seed is None else seed, Stopping(**settings), progress, limit)
        self.folder.write("adaptive.json", found.to_json())
        return found

    def report(self, validation: Validation | None = None, progress: Progress = unheard) -> str:
        """The report as one HTML page.

        Arguments:
            validation: The checks; those of the run folder, or new ones, if not given.
        """
        from .report.page import Content, render
        from .validation.suite import VERSION, Validation

        if validation is None:
            kept = self.folder.read("validation.json") or {}
            validation = Validation.from_json(kept) if kept.get("version") == VERSION else self.validate(progress=progress)
        estimator = self.found.estimator
        content = Content(
            name=self.study.name,
            task=self.study.task,
            question=self.study.question,
            search=self.study.search,
            result=json.loads(json.dumps(self.found.to_json())),
            provenance=self.folder.provenance,
            validation=validation,
            curve=self.curve(progress),
            study_text=self.study.to_toml(),
            failures=self.folder.failures,
            adaptive=self.folder.read("adaptive.json"),
            sources=(*self.study.search.sources, *estimator.sources, *estimator.encoder.sources),
            rounded=self.rounded(),
            moved=self.moved(progress),
        )
        return render(content)

    def summaries(self, data: Any, designs: ArrayLike | None = None) -> NDArray[np.float32]:
        """The learned summary statistics of data, (N, S)."""
        people, where = self._people(data, designs)
        return self.found.estimator.summaries(people.behavior, where)

    def evaluate(
        self, designs: Sequence[ArrayLike], seed: int | None = None, *, workers: int | Workers = 1, progress: Progress = unheard
    ) -> list[InformationEstimate]:
        """The information of other designs, estimated as the found design's was."""
        return evaluate_designs(self.study.with_seed(seed), self.folder, self.found.estimator, designs, workers, progress)

    def to_json(self) -> dict[str, Any]:
        """What the command line prints."""
        found = {key: value for key, value in self.found.to_json().items() if key != "trace"}
        return {**found, "study": self.study.name, "run": str(self.folder.path), "seconds": self.folder.provenance.get("seconds")}

    def _designs(self, designs: ArrayLike | None, n: int) -> Floats:
        """What each of `n` participants was run at, (N, B, V), the recommended design if it is not said.

        Refused if the estimator knows the recommended design only, and it was another.
        """
        space, designs = self.study.task.design_space, self.design if designs is None else designs
        if self.study.search.trains_at_each_design and not np.allclose(np.asarray(designs, dtype=np.float64), self.design, atol=1e-3):
            raise StudyError(
                f"The search '{self.study.search.name}' has trained a network for its recommended design, which knows no other.",
                expected=format_design(space, self.design),
                got="data from another design",
                fix='use method = "amortized", whose network knows every design',
            )
        return space.check_many(designs, n)

    def _people(self, data: Any, designs: ArrayLike | None) -> tuple[Understanding, Floats]:
        """Data in any form, understood, and what each participant was run at; blocks in the order of play if a model may remember them."""
        people = self._understood(data)
        where, order = people.designs if designs is None else designs, people.order()
        if order is not None and self._remember():
            each = np.broadcast_to(np.asarray(self.design if where is None else where, np.float64), (len(order), *self.design.shape))
            people, where = people.as_played(), np.take_along_axis(each, order[:, :, None], 1)
        return people, self._designs(where, len(people.behavior))

    def _remember(self) -> bool:
        """May models carry memory from block to block? A network that knows one design only is not given another order in case they do."""
        from .groups.memory import memory_of

        task, models = self.study.task, self.study.models
        if self.study.search.trains_at_each_design:
            return any(memory_of(model, task, self.study.seed) for model in models)
        return read_in_order(models, task)

    def _understood(self, data: Any, as_played: bool = False) -> Understanding:
        """Data in any form, understood; blocks as in the design, or in the order of play."""
        from .data.understanding import Understanding

        if isinstance(data, Behavior):
            data = Understanding(self.study.task.check(data), ())
        if isinstance(data, Understanding):
            return data.as_played() if as_played else data
        from .data.understand import understand

        data = [data] if isinstance(data, str | Path) else data
        return understand(data, self.study.task, self.study.data, as_played=as_played)


def evaluate_designs(
    study: Study, folder: RunFolder, estimator: Estimator | None, designs: Sequence[ArrayLike], workers: int | Workers, progress: Progress
) -> list[InformationEstimate]:
    """The information of given designs, each (B, V), as the study's search estimates it, with a trained estimator if there is one."""
    checked, helpers = [study.task.design_space.check(design) for design in designs], Workers.of(workers)
    with simulating_with(helpers):
        job = Job(study.task, study.question, study.seed, folder.journal, progress, helpers)
        estimates = study.search.evaluate(job, checked, estimator)
    folder.write_failures()
    return estimates
