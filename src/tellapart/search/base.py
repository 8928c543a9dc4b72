"""The contract of a search: from a goal to a design, with the estimator that judged it.

A search is a frozen dataclass whose fields are the settings of the `[search]` section of a study file. All that it
computes goes through a journal, so that a stopped search goes on where it was and ends with the same result: its next
step is a function of the settings, the seed and the journal, never of time or of the number of workers.

A new search is one file in this folder with one class. What is heavy is imported inside methods, so that a study file
can be checked in no time.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Callable, ClassVar, Sequence

import numpy as np
from numpy.typing import NDArray

from ..information.estimate import InformationEstimate
from ..journal import Journal
from ..workers import HERE, Workers

if TYPE_CHECKING:
    from ..estimators.base import Estimator, Goal

Floats = NDArray[np.float64]
Progress = Callable[[int, int, str], None]
"""Called with (done, in all, a few words)."""


@dataclass(frozen=True, eq=False)
class Baseline:
    """What designs chosen by habit would tell: the task's baseline draws, each estimated as the found design is.

    Arguments:
        designs: (n, B, V).
        information: n estimates.
    """

    designs: Floats
    information: tuple[InformationEstimate, ...]

    @property
    def nats(self) -> float:
        """The average over the draws."""
        return float(np.mean([estimate.nats for estimate in self.information]))

    @property
    def se(self) -> float:
        """The standard error of that average over draws of designs."""
        values = [estimate.nats for estimate in self.information]
        return float(np.std(values, ddof=1) / len(values) ** 0.5) if len(values) > 1 else self.information[0].se

    def to_json(self) -> dict[str, Any]:
        values = [estimate.nats for estimate in self.information]
        summary = {"nats": self.nats, "se": self.se, "kind": self.information[0].kind, "lowest": min(values), "highest": max(values)}
        return {**summary, "designs": [{"design": d.tolist(), **e.to_json()} for d, e in zip(self.designs, self.information, strict=True)]}


@dataclass(frozen=True, eq=False)
class Found:
    """What a search found.

    Arguments:
        design: The recommended one, (B, V).
        information: Its information, from simulations that had no part in choosing it.
        estimator: The trained estimator, which gives posteriors at that design.
        baseline: What designs chosen by habit would tell, if asked for.
        alternatives: Other good designs, best first, each with its information.
        trace: The history of the search, a dictionary a step, for figures.
        details: Whatever else a reader of the result should know; JSON can hold it.
    """

    design: Floats
    information: InformationEstimate
    estimator: Estimator
    baseline: Baseline | None = None
    alternatives: tuple[tuple[Floats, InformationEstimate], ...] = ()
    trace: list[dict[str, Any]] = field(default_factory=list)
    details: dict[str, Any] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """All but the estimator; no time in it, so that the same seed gives the same bytes."""
        return {
            "design": self.design.tolist(),
            "information": self.information.to_json(),
            "baseline": None if self.baseline is None else self.baseline.to_json(),
            "alternatives": [{"design": d.tolist(), **e.to_json()} for d, e in self.alternatives],
            "details": self.details,
            "trace": self.trace,
        }


class Search(ABC):
    """How the most informative design is found."""

    name: ClassVar[str]
    """What a study file calls the search: `method = "…"`."""

    @abstractmethod
    def find(self, goal: Goal, seed: int, journal: Journal, progress: Progress | None = None, workers: Workers = HERE) -> Found:
        """The most informative design. Goes on with what the journal has."""

    @abstractmethod
    def load(self, goal: Goal, journal: Journal) -> Found:
        """A finished search from its run folder, with its trained estimator."""

    @abstractmethod
    def evaluate(
        self,
        goal: Goal,
        designs: Sequence[Floats],
        seed: int,
        journal: Journal,
        progress: Progress | None = None,
        workers: Workers = HERE,
    ) -> list[InformationEstimate]:
        """The information of given designs, as this search estimates it."""
