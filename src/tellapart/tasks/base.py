"""What participants do: the design space, the recorded fields, the baseline designs.

Shapes: N participants, B blocks, T trials, V design variables. The design space is in `space.py`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any, ClassVar, Sequence

import numpy as np
from numpy.typing import NDArray

from ..behavior import Behavior, Field, read_csv
from ..errors import DataError
from .space import Constraint as Constraint
from .space import DesignSpace as DesignSpace
from .space import Floats as Floats
from .space import Symmetry as Symmetry
from .space import Variable as Variable


class Task(ABC):
    """What participants do.

    A subclass is a frozen dataclass whose fields are the task's settings in a study file.
    """

    name: ClassVar[str]
    """What a study file calls the task."""

    design_label: ClassVar[str] = "value"
    """What the values of a design are, as figures call them."""

    design_acts_through_data: ClassVar[bool] = False
    """True if p(v | y, d) = p(v | y): the design matters only through what is recorded, so that no estimator needs to see it."""

    @property
    @abstractmethod
    def blocks(self) -> int:
        """B."""

    @property
    @abstractmethod
    def trials(self) -> int:
        """T, the trials of the longest block."""

    @property
    @abstractmethod
    def fields(self) -> tuple[Field, ...]:
        """What is recorded at each trial."""

    @property
    @abstractmethod
    def design_space(self) -> DesignSpace:
        """What can be chosen."""

    @abstractmethod
    def baseline(self, n: int, rng: np.random.Generator) -> Floats:
        """`n` designs as the field would choose them by habit, (n, B, V)."""

    def history(self, behavior: Behavior) -> NDArray[np.float32] | None:
        """Each trial in the light of what came before it, (N, B, T, F), or None if the task has no such description.

        Features of a trial must not depend on later trials.
        """
        return None

    def check(self, behavior: Behavior) -> Behavior:
        """`behavior`, or a `DataError` if it is not data of this task. Fewer blocks or trials than the task's are fine."""
        return check_behavior(behavior, self.fields, self.blocks, self.trials)

    def read_table(self, table: Any, source: str = "the data table") -> Behavior:
        """Read the data of this task from a long table (a pandas DataFrame)."""
        return Behavior.from_table(table, self.fields, self.blocks, self.trials, source)

    def read_csv(self, path: str | Path) -> Behavior:
        """Read the data of this task from a CSV file that holds a long table."""
        return self.read_table(read_csv(path), source=str(path))


def check_behavior(behavior: Behavior, fields: Sequence[Field], blocks: int, trials: int) -> Behavior:
    """Raise a `DataError` if `behavior` lacks a field, is too long, or has values that its fields do not allow."""
    names = [f.name for f in fields]
    if sorted(behavior.fields) != sorted(names):
        raise DataError("The data have other fields than the task records.", expected=", ".join(names), got=", ".join(behavior.fields))
    _, b, t = behavior.shape
    if b > blocks or t > trials:
        raise DataError(
            "The data are of a larger task.", expected=f"at most {blocks} blocks of {trials} trials", got=f"{b} blocks of {t} trials"
        )
    for f in fields:
        wrong = behavior.mask & ~f.allows(behavior.fields[f.name])
        if wrong.any():
            place = np.argwhere(wrong)[0]
            raise DataError(
                f"A value of the field '{f.name}' is not one that the task can record.",
                where=f"participant {behavior.participants[place[0]]}, block {place[1]}, trial {place[2]}",
                expected=f.allowed,
                got=f"{behavior.fields[f.name][tuple(place)]} ({int(wrong.sum())} such trials)",
            )
    return behavior
