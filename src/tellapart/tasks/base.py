"""What participants do: the design space, the recorded fields, the rules, the baseline designs.

Shapes, here and everywhere: N participants, B blocks, T trials, V design variables.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ..behavior import Behavior, Field
from ..errors import DataError, StudyError
from .environment import Environment, NoOutcomes
from .screen import Screen, screen_of
from .space import DesignSpace, Floats


class Task(ABC):
    """What participants do.

    A subclass is a frozen dataclass whose fields are the task's settings in a study file.
    """

    name: ClassVar[str]
    """What a study file calls the task."""

    rules: ClassVar[type[Environment]] = NoOutcomes
    """How outcomes come about; a task whose fields are all responses has none."""

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
        """`n` randomly drawn comparison designs, by the custom of the field where there is one, (n, B, V)."""

    def history(self, behavior: Behavior) -> NDArray[np.float32] | None:
        """Each trial in the light of what came before it, (N, B, T, F), or None if the task has no such description.

        Features of a trial must not depend on later trials.
        """
        return None

    def options(self, behavior: Behavior) -> NDArray[np.float32] | None:
        """What could be known of each option before every trial, (N, B, T, K, F), where the first categorical response is a choice among K.

        None if the task has no such description: then it is what each option led to so far. It must not depend on the trial itself.
        """
        return None

    def lengths(self, designs: Floats) -> NDArray[np.intp]:
        """How many trials each block has at designs (N, B, V), (N, B); T if the design has no say in it."""
        return np.full(designs.shape[:2], self.trials, np.intp)

    @property
    def screen(self) -> Screen:
        """How a trial looks in a browser; made from the fields and the design variables if the task does not declare it."""
        return screen_of(self)

    @property
    def responses(self) -> tuple[Field, ...]:
        """The fields that the participant gives."""
        return tuple(f for f in self.fields if f.by == "participant")

    @property
    def outcomes(self) -> tuple[Field, ...]:
        """The fields that the task gives."""
        return tuple(f for f in self.fields if f.by == "task")

    def environment(self, designs: Floats, rng: np.random.Generator) -> Environment:
        """The rules in motion, for participants at designs (N, B, V); a design (B, V) is for one participant."""
        array = np.asarray(designs, dtype=np.float64)
        return self.rules(self, array if array.ndim == 3 else array[None], rng)

    def check(self, behavior: Behavior) -> Behavior:
        """`behavior`, or a `DataError` if it is not data of this task. Fewer blocks or trials than the task's are fine."""
        names = [f.name for f in self.fields]
        if sorted(behavior.fields) != sorted(names):
            got = ", ".join(behavior.fields)
            raise DataError("The data have other fields than the task records.", expected=", ".join(names), got=got)
        _, b, t = behavior.shape
        if b > self.blocks or t > self.trials:
            expected = f"at most {self.blocks} blocks of {self.trials} trials"
            raise DataError("The data are of a larger task.", expected=expected, got=f"{b} blocks of {t} trials")
        for f in self.fields:
            wrong = behavior.mask & ~f.allows(behavior.fields[f.name])
            if wrong.any():
                place = np.argwhere(wrong)[0]
                raise DataError(
                    f"A value of the field '{f.name}' is not one that the task can record.",
                    where=f"participant {behavior.participants[place[0]]}, block {place[1]}, trial {place[2]} (counted from 0)",
                    expected=f.allowed,
                    got=f"{behavior.fields[f.name][tuple(place)]} ({int(wrong.sum())} such trials)",
                )
        return behavior

    def nothing(self, n: int) -> Behavior:
        """`n` participants of whom nothing was recorded."""
        shape = (n, self.blocks, self.trials)
        return Behavior({f.name: np.zeros(shape, f.dtype) for f in self.fields}, np.zeros(shape, bool))


def check_counts(task: str, least: dict[str, int], settings: dict[str, Any]) -> None:
    """Raise a `StudyError` unless each of the settings is a whole number, at least as large as it must be."""
    for setting, lowest in least.items():
        value = settings[setting]
        if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < lowest:
            what = f"The '{setting}' of {task} must be a whole number."
            raise StudyError(what, expected=f"{lowest} or more", got=repr(value), key=setting)
