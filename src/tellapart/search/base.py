"""The contract of a search: from a question to a design, with the estimator that judged it.

A search is a frozen dataclass whose fields are the settings of the `[search]` section of a study file. All that it
computes goes through a journal, so that a stopped search goes on where it was and ends with the same result: its next
step is a function of the settings, the seed and the journal, never of time or of the number of workers.

A new search is one file in this folder with one class. What is heavy is imported inside methods, so that a study file
can be checked in no time.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import asdict, dataclass, field, fields, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Mapping, Sequence

import numpy as np

from ..errors import StudyError
from ..information.estimate import Difference, Floats, InformationEstimate, Pointwise, stratified
from ..journal import Journal
from ..models.symmetry import broken_by, unbroken
from ..parts import KINDS, PartKind
from ..progress import Progress, unheard
from ..question import Question
from ..tasks.base import Task
from ..tasks.space import DesignSpace
from ..workers import HERE, Workers

if TYPE_CHECKING:
    from ..estimators.base import Estimator


def part(kind: PartKind) -> Any:
    """A setting whose value is a class, which study files name: an encoder, an estimator. None if it is not given."""
    return field(default=None, metadata={"part": kind})


def check_parts(search: Any) -> None:
    """Raise a `StudyError` unless the settings of a search that are parts are classes of their kind."""
    for setting in fields(search):
        value, kind = getattr(search, setting.name), setting.metadata.get("part")
        if kind is not None and value is not None and not (isinstance(value, type) and issubclass(value, KINDS[kind].parent)):
            expected = f"a class derived from tellapart.{KINDS[kind].parent.__name__}"
            what = f"The '{setting.name}' of the search must be a class."
            raise StudyError(what, expected=expected, got=repr(value), fix="names are for study files", key=setting.name)


def check_setting(settings: Any, key: str, holds: bool, expected: str, wrong: str = "is impossible", fix: str | None = None) -> None:
    """Raise a `StudyError` unless what must hold of a setting of a search does; it says what is wrong with it, and what is expected."""
    if not holds:
        raise StudyError(f"The '{key}' of the search {wrong}.", expected=expected, got=getattr(settings, key), fix=fix, key=key)


def check_least(settings: Any, **least: float) -> None:
    """Raise a `StudyError` unless settings of a search are as large as this, or larger."""
    for key, value in least.items():
        check_setting(settings, key, getattr(settings, key) >= value, f"{value} or more", "is too small")


@dataclass(frozen=True, eq=False)
class Job:
    """A search to be carried out: the workers do it, the journal keeps everything, and `progress` is told."""

    task: Task
    question: Question
    seed: int
    journal: Journal
    progress: Progress = unheard
    workers: Workers = HERE

    @cached_property
    def broken_symmetries(self) -> dict[str, list[str]]:
        """Which symmetries that the task declares are broken by which models."""
        return broken_by(self.question.models, self.task, self.seed)

    @cached_property
    def space(self) -> DesignSpace:
        """The task's design space, with the symmetries that all models have: a design stands for its equivalents only in these."""
        space = self.task.design_space
        return replace(space, symmetry=unbroken(space.symmetry, self.broken_symmetries))


@dataclass(frozen=True, eq=False)
class Baseline:
    """What randomly drawn comparison designs would tell: the task's baseline draws, each estimated as the found design is.

    Arguments:
        designs: (n, B, V).
        information: n estimates.
        mean: The average over draws of designs; its standard error is over draws and over simulated participants.
        gain: What the recommended design tells more than that average, on the same participants.
    """

    designs: Floats
    information: tuple[InformationEstimate, ...]
    mean: InformationEstimate
    gain: Difference

    @classmethod
    def of(cls, designs: Floats, points: Sequence[Pointwise], recommended: Pointwise) -> Baseline:
        """From what the same participants contribute at each baseline design and at the recommended one."""
        table = np.stack([one.spread for one in points])
        mean = _over_designs(table, points[0])
        gain = Difference(*_over_designs(recommended.spread - table, points[0]))
        estimates = tuple(one.estimate() for one in points)
        first = estimates[0]
        accuracy = None if first.accuracy is None else float(np.mean([e.accuracy for e in estimates]))
        return cls(designs, estimates, InformationEstimate(*mean, first.kind, first.n * len(points), accuracy), gain)

    def to_json(self) -> dict[str, Any]:
        values = [estimate.nats for estimate in self.information]
        summary = {**self.mean.to_json(), "lowest": min(values), "highest": max(values), "gain": asdict(self.gain)}
        return {**summary, "designs": [{"design": d.tolist(), **e.to_json()} for d, e in zip(self.designs, self.information, strict=True)]}

    @classmethod
    def from_json(cls, kept: Mapping[str, Any]) -> Baseline:
        designs = np.array([entry["design"] for entry in kept["designs"]])
        return cls(designs, tuple(map(_estimate_in, kept["designs"])), _estimate_in(kept), Difference(**kept["gain"]))


def _estimate_in(kept: Mapping[str, Any]) -> InformationEstimate:
    """The estimate of an entry that holds more than that."""
    return InformationEstimate(**{one.name: kept[one.name] for one in fields(InformationEstimate) if one.name in kept})


def _over_designs(table: Floats, like: Pointwise) -> tuple[float, float]:
    """The average of values (D, N) of D drawn designs and N participants, who are the same at all designs, and its standard error.

    Designs and participants are two crossed samples. Their variances of means both hold the variance of what is left, once too often.
    """
    count = len(table)
    mean, over_people = stratified(table.mean(0), like.model, like.prior)
    if count == 1:
        return mean, over_people
    left = table - table.mean(0)
    means = [stratified(row, like.model, like.prior) for row in left]
    over_designs = float(np.var([m for m, _ in means], ddof=1)) / count
    twice = float(np.mean([se**2 for _, se in means])) / (count - 1)
    return mean, float(np.sqrt(max(over_people**2 + over_designs - twice, over_people**2)))


@dataclass(frozen=True, eq=False)
class Alternative:
    """Another good design.

    Arguments:
        design: (B, V).
        information: Its information.
        behind: What the recommended design tells more, on the same participants; about nothing.
        drawn: Is it a baseline draw?
    """

    design: Floats
    information: InformationEstimate
    behind: Difference
    drawn: bool = False

    @property
    def in_words(self) -> str:
        """How far behind it is; or ahead, if it did better on these participants, who had no part in the choice."""
        far = f"{abs(self.behind.nats):.3f} ± {self.behind.se:.3f} nats"
        return f"{far} {'behind' if self.behind.nats >= 0 else 'ahead'}"

    def to_json(self) -> dict[str, Any]:
        return {"design": self.design.tolist(), **self.information.to_json(), "behind": asdict(self.behind), "drawn": self.drawn}

    @classmethod
    def from_json(cls, kept: Mapping[str, Any]) -> Alternative:
        return cls(np.array(kept["design"]), _estimate_in(kept), Difference(**kept["behind"]), kept["drawn"])


@dataclass(frozen=True, eq=False)
class Found:
    """What a search found.

    Arguments:
        design: The recommended one, (B, V).
        information: Its information, from simulations that had no part in choosing it.
        estimator: The trained estimator, which gives posteriors at that design.
        baseline: What randomly drawn comparison designs would tell, if asked for.
        alternatives: Other good designs, best first.
        trace: The history of the search, a dictionary for each step, for figures.
        details: Whatever else a reader of the result should know; JSON can hold it.
    """

    design: Floats
    information: InformationEstimate
    estimator: Estimator
    baseline: Baseline | None = None
    alternatives: tuple[Alternative, ...] = ()
    trace: Sequence[Mapping[str, Any]] = ()
    details: Mapping[str, Any] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """All but the estimator; no time in it, so that the same seed gives the same bytes."""
        return {
            "design": self.design.tolist(),
            "information": self.information.to_json(),
            "baseline": None if self.baseline is None else self.baseline.to_json(),
            "alternatives": [alternative.to_json() for alternative in self.alternatives],
            "details": dict(self.details),
            "trace": list(self.trace),
        }

    @classmethod
    def from_json(cls, kept: Mapping[str, Any], estimator: Estimator) -> Found:
        """Back from `to_json`, with the trained estimator."""
        return cls(
            np.array(kept["design"]),
            InformationEstimate(**kept["information"]),
            estimator,
            kept["baseline"] and Baseline.from_json(kept["baseline"]),
            tuple(map(Alternative.from_json, kept["alternatives"])),
            kept["trace"],
            kept["details"],
        )


class Search(ABC):
    """How the most informative design is found."""

    name: ClassVar[str]
    """What a study file calls the search: `method = "…"`."""

    words: ClassVar[str] = ""
    """How it finds a design and what its estimates are, in a sentence or two, for the report."""

    sources: ClassVar[tuple[str, ...]] = ()
    """What to cite for it: keys of `report/sources.bib`, or BibTeX."""

    trains_at_each_design: ClassVar[bool] = False
    """Is a network trained anew at each design? Then it knows that design only, and `evaluate` needs no finished search."""

    @abstractmethod
    def find(self, job: Job) -> Found:
        """The most informative design. Goes on with what the journal has."""

    def seconds(self, job: Job) -> float | None:
        """About how long `find` would take on this machine, judged by a short try; None if there is no telling."""
        return None

    @abstractmethod
    def build(self, task: Task, question: Question) -> Estimator:
        """An estimator like the one that `find` trains, whose weights are then read from the run folder."""

    @abstractmethod
    def evaluate(self, job: Job, designs: Sequence[Floats], estimator: Estimator | None) -> list[InformationEstimate]:
        """The information of given designs, as this search estimates it; with the trained estimator, if the search is finished."""
