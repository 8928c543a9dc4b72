"""What participants do: the design space, the recorded fields, the symmetries.

A design is an array (B, V): B blocks, V design variables a block. Designs may also differ between participants,
(N, B, V); every method that takes a design says which of the two it takes.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..behavior import Behavior, Field, read_csv
from ..errors import DataError, DesignError

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Symmetry:
    """Which relabellings of a design change nothing.

    Arguments:
        columns: The variables of a block may be permuted, in each block apart from the others.
        blocks: The blocks may be permuted.
    """

    columns: bool = False
    blocks: bool = False

    def canonical(self, designs: Floats) -> Floats:
        """The one representative of all equivalents: variables ascending in a block, then blocks in lexicographic order.

        Arguments:
            designs: (..., B, V).
        """
        designs = np.sort(designs, axis=-1) if self.columns else designs
        if not self.blocks:
            return designs
        flat = designs.reshape(-1, *designs.shape[-2:])
        ordered = [design[np.lexsort(design.T[::-1])] for design in flat]
        return np.stack(ordered).reshape(designs.shape) if len(flat) else designs


@dataclass(frozen=True)
class DesignSpace:
    """The settings that can be chosen.

    Arguments:
        blocks: B.
        variables: V names, for example ("arm 0", "arm 1", "arm 2").
        low: The smallest value of each variable, (V,).
        high: The largest value of each variable, (V,).
        symmetry: The relabellings that change nothing.
    """

    blocks: int
    variables: tuple[str, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]
    symmetry: Symmetry = Symmetry()

    @property
    def shape(self) -> tuple[int, int]:
        """(B, V)."""
        return self.blocks, len(self.variables)

    def check(self, design: ArrayLike) -> Floats:
        """`design` as an array (B, V), or a `DesignError` that says what is wrong with it."""
        try:
            array = np.asarray(design, dtype=np.float64)
        except (TypeError, ValueError):
            raise DesignError(
                "The design is not an array of numbers.",
                expected=f"{self.blocks} blocks of {len(self.variables)} numbers",
                got=repr(design)[:80],
                fix=self._hint(),
            ) from None
        if array.ndim != 2 or array.shape[0] != self.blocks:
            raise DesignError(
                "The design has the wrong number of blocks.",
                expected=f"{self.blocks} block(s) of {len(self.variables)} numbers",
                got=f"{array.shape[0]} block(s)" if array.ndim == 2 else f"an array of shape {array.shape}",
                fix=self._hint(),
            )
        if array.shape[1] != len(self.variables):
            raise DesignError(
                "The design has the wrong number of values in a block.",
                expected=f"{len(self.variables)} values a block ({', '.join(self.variables)})",
                got=f"{array.shape[1]} values a block",
                fix=self._hint(),
            )
        outside = ~((array >= self.low) & (array <= self.high))
        if outside.any():
            block, variable = (int(i) for i in np.argwhere(outside)[0])
            raise DesignError(
                "A value of the design is outside its range.",
                where=f"block {block}, {self.variables[variable]} (counted from 0)",
                expected=f"a number from {self.low[variable]:g} to {self.high[variable]:g}",
                got=f"{array[block, variable]:g}",
                fix=self._hint(),
            )
        return array

    def check_many(self, designs: ArrayLike, n: int) -> Floats:
        """One design (B, V) for all, or one a participant (N, B, V), as an array (N, B, V)."""
        if _depth(designs) != 3:
            return np.broadcast_to(self.check(designs), (n, *self.shape))
        array = np.asarray(designs, dtype=np.float64)
        if array.shape != (n, *self.shape):
            raise DesignError(
                "There must be one design for all participants, or one for each.", expected=f"{(n, *self.shape)}", got=str(array.shape)
            )
        if not ((array >= self.low) & (array <= self.high)).all():
            wrong = ~((array >= self.low) & (array <= self.high)).all(axis=(1, 2))
            self.check(array[int(np.argmax(wrong))])
        return array

    def canonical(self, designs: ArrayLike) -> Floats:
        """The representative of each design's equivalents; (..., B, V) in and out."""
        return self.symmetry.canonical(np.asarray(designs, dtype=np.float64))

    def sample(self, n: int, rng: np.random.Generator) -> Floats:
        """`n` designs uniform over the space, (n, B, V)."""
        low, high = np.array(self.low), np.array(self.high)
        return np.asarray(low + (high - low) * rng.random((n, *self.shape)))

    def spread(self, n: int, rng: np.random.Generator) -> Floats:
        """`n` designs that reach all of the space, edges and corners included, (n, B, V).

        A third are uniform; in a third each value is with some probability, different for each design, at its lowest or
        highest; in a third the values of a block are alike or the blocks are alike.
        """
        low, high = np.array(self.low), np.array(self.high)
        unit = rng.random((n, *self.shape))
        kind = rng.integers(0, 3, (n, 1, 1))
        snapped = rng.random(unit.shape) < rng.random((n, 1, 1))
        edge = (rng.random(unit.shape) < rng.random((n, 1, 1))).astype(np.float64)
        alike = np.broadcast_to(unit[:, :1, :], unit.shape)
        if self.symmetry.columns:
            flat = np.where(rng.random((n, 1, 1)) < 0.5, unit[:, :, :1], np.where(snapped[:, :, :1], edge[:, :, :1], unit[:, :, :1]))
            alike = np.where(rng.random((n, 1, 1)) < 0.5, alike, np.broadcast_to(flat, unit.shape))
        chosen = np.where(kind == 0, unit, np.where(kind == 1, np.where(snapped, edge, unit), alike))
        return np.asarray(low + (high - low) * chosen)

    def parse(self, text: str) -> Floats:
        """Read a design written as `"0,0,0.6; 1,1,0"`: values separated by commas, blocks by semicolons."""
        try:
            rows = [[float(value) for value in block.split(",")] for block in text.strip().strip(";").split(";")]
        except ValueError:
            raise DesignError(
                "The design is not made of numbers.",
                expected="numbers separated by ',' and blocks separated by ';'",
                got=repr(text),
                fix=self._hint(),
            ) from None
        widths = sorted({len(row) for row in rows})
        if len(widths) > 1:
            raise DesignError(
                "The blocks of the design have different numbers of values.",
                expected=f"{len(self.variables)} values in every block",
                got=f"blocks of {' and '.join(map(str, widths))} values",
                fix=self._hint(),
            )
        return self.check(rows)

    @staticmethod
    def format(design: ArrayLike, digits: int = 3) -> str:
        """Write a design so that `parse` reads it."""
        rows = np.round(np.asarray(design, dtype=np.float64), digits) + 0.0  # never -0
        return "; ".join(",".join(np.format_float_positional(value, trim="-") for value in row) for row in rows)

    def example(self) -> str:
        """The design in the middle of the space, as `parse` reads it."""
        return self.format([[(low + high) / 2 for low, high in zip(self.low, self.high, strict=True)]] * self.blocks)

    def _hint(self) -> str:
        return f'write it as "{self.example()}"'


class Task(ABC):
    """What participants do.

    A subclass is a frozen dataclass whose fields are the task's settings in a study file.
    """

    name: ClassVar[str]
    """What a study file calls the task."""

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


def _depth(designs: ArrayLike) -> int:
    """The number of axes of `designs`; 0 if it is no array of numbers."""
    try:
        return np.ndim(np.asarray(designs, dtype=np.float64))
    except (TypeError, ValueError):
        return 0


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
