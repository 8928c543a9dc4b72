"""The design space: the settings that can be chosen, the relabellings that change nothing, the rules that must hold.

A design is an array (B, V): B blocks, V design variables a block. Designs may also differ between participants,
(N, B, V); every method that takes a design says which of the two it takes. Searches work on the unit cube, to which every
variable has a scale of its own.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Callable, Literal, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import DesignError, StudyError

Floats = NDArray[np.float64]
VariableKind = Literal["real", "integer", "categorical"]
KINDS = ("real", "integer", "categorical")

_ROUNDING = 2e-3
"""How far, as a share of its range, a value may be from obeying a constraint: designs are written with three digits."""


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
class Variable:
    """One setting of a block.

    Arguments:
        name: What designs, reports and messages call it.
        low: Its smallest value.
        high: Its largest value.
        kind: "real", "integer" (whole numbers), or "categorical" (0 … categories - 1).
        categories: Names of the categories; they take the place of `low`, `high` and `kind`.
        log: Is it searched on a logarithmic scale, as delays and intervals are?
    """

    name: str
    low: float = 0.0
    high: float = 1.0
    kind: VariableKind = "real"
    categories: tuple[str, ...] = ()
    log: bool = False

    def __post_init__(self) -> None:
        if self.categories:
            object.__setattr__(self, "categories", tuple(self.categories))
            object.__setattr__(self, "kind", "categorical")
            object.__setattr__(self, "low", 0.0)
            object.__setattr__(self, "high", len(self.categories) - 1.0)
        where = f"the design variable '{self.name}'"
        if self.kind not in KINDS:
            raise StudyError("The kind of a variable is unknown.", where=where, expected=", ".join(KINDS), got=repr(self.kind))
        if not (np.isfinite(self.low) and np.isfinite(self.high) and self.low < self.high):
            raise StudyError("A variable has no range.", where=where, expected="low < high, both finite", got=f"{self.low} to {self.high}")
        if self.kind != "real" and not (float(self.low).is_integer() and float(self.high).is_integer()):
            raise StudyError(
                "A variable of whole numbers has other bounds.", where=where, expected="whole numbers", got=(self.low, self.high)
            )
        if self.log and self.low <= 0:
            raise StudyError("A variable on a logarithmic scale must be positive.", where=where, expected="low > 0", got=self.low)

    @property
    def discrete(self) -> bool:
        return self.kind != "real"

    @property
    def allowed(self) -> str:
        """The values that it takes, in words."""
        if self.categories:
            return " or ".join(f"{i} ({name})" for i, name in enumerate(self.categories))
        return f"a {'whole ' if self.discrete else ''}number from {self.low:g} to {self.high:g}"

    def allows(self, values: Floats) -> NDArray[np.bool_]:
        """Which of `values` it can take; same shape."""
        inside = (values >= self.low) & (values <= self.high)
        return np.asarray(inside & (values == np.round(values)) if self.discrete else inside)

    def to_unit(self, values: Floats) -> Floats:
        """Values on the scale on which they are searched, [0, 1]; whole numbers in the middle of their cells."""
        if self.discrete and not self.log:
            return np.asarray((values - self.low + 0.5) / (self.high - self.low + 1.0))
        if self.log:
            return np.asarray(np.log(values / self.low) / np.log(self.high / self.low))
        return np.asarray((values - self.low) / (self.high - self.low))

    def from_unit(self, unit: Floats) -> Floats:
        """Back from [0, 1]; what lies outside is brought to the edge."""
        unit = np.clip(unit, 0.0, 1.0)
        if self.discrete and not self.log:
            return np.asarray(np.minimum(np.floor(self.low + (self.high - self.low + 1.0) * unit), self.high))
        if self.log:
            values = self.low * np.exp(unit * np.log(self.high / self.low))
            return np.asarray(np.clip(np.round(values) if self.discrete else values, self.low, self.high))
        return np.asarray(self.low + (self.high - self.low) * unit)

    def parse(self, text: str) -> float:
        """A value as it is written in a design: a number, or the name of a category."""
        word = text.strip()
        return float(self.categories.index(word)) if word in self.categories else float(word)


@dataclass(frozen=True)
class Constraint:
    """What must hold of a design beyond the range of each value. Ready-made ones are in `tasks/constraints.py`.

    Arguments:
        words: What must hold, for messages: "the delays increase from block to block".
        repair: Brings designs (..., B, V) to nearby ones for which it holds, and leaves those alone for which it holds.
    """

    words: str
    repair: Callable[[Floats], Floats]


@dataclass(frozen=True)
class DesignSpace:
    """The settings that can be chosen.

    Arguments:
        blocks: B.
        variables: V names, for example ("arm 0", "arm 1", "arm 2").
        low: The smallest value of each variable, (V,).
        high: The largest value of each variable, (V,).
        symmetry: The relabellings that change nothing.
        constraints: What must hold beyond the ranges; applied in this order. They must not tell symmetric designs apart.
        described: The variables in full; real numbers on a linear scale if not given. See `DesignSpace.of`.
    """

    blocks: int
    variables: tuple[str, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]
    symmetry: Symmetry = Symmetry()
    constraints: tuple[Constraint, ...] = ()
    described: tuple[Variable, ...] = ()

    def __post_init__(self) -> None:
        if not self.described:
            made = tuple(Variable(*bounds) for bounds in zip(self.variables, self.low, self.high, strict=True))
            object.__setattr__(self, "described", made)

    @classmethod
    def of(
        cls, blocks: int, variables: Sequence[Variable], symmetry: Symmetry | None = None, constraints: Sequence[Constraint] = ()
    ) -> DesignSpace:
        """A space of real, whole or categorical variables, the same in each of `blocks` blocks."""
        names, low, high = (tuple(getattr(v, key) for v in variables) for key in ("name", "low", "high"))
        return cls(blocks, names, low, high, symmetry or Symmetry(), tuple(constraints), tuple(variables))

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
        wrong = ~self._allowed(array)
        if wrong.any():
            block, variable = (int(i) for i in np.argwhere(wrong)[0])
            raise DesignError(
                "A value of the design is outside its range.",
                where=f"block {block}, {self.variables[variable]} (counted from 0)",
                expected=self.described[variable].allowed,
                got=f"{array[block, variable]:g}",
                fix=self._hint(),
            )
        return self._obeying(array)

    def _allowed(self, designs: Floats) -> NDArray[np.bool_]:
        """Which values lie in their ranges, (..., B, V)."""
        if not any(v.discrete for v in self.described):
            return np.asarray((designs >= self.low) & (designs <= self.high))
        return np.stack([v.allows(designs[..., i]) for i, v in enumerate(self.described)], axis=-1)

    def _obeying(self, array: Floats) -> Floats:
        """`array` (B, V), or the design within rounding of it, if all constraints hold; else a `DesignError`."""
        for constraint in self.constraints:
            repaired = constraint.repair(array)
            distance = np.abs(repaired - array) / (np.array(self.high) - np.array(self.low))
            if distance.max() > _ROUNDING:
                raise DesignError(
                    "The design breaks a rule of the task.",
                    expected=constraint.words,
                    got=self.format(array),
                    fix=f'the nearest that does not: "{self.format(self.repair(array))}"',
                )
            array = repaired
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
        allowed = self._allowed(array)
        if not allowed.all():
            self.check(array[int(np.argmax(~allowed.all(axis=(1, 2))))])
        for constraint in self.constraints:
            distance = np.abs(constraint.repair(array) - array) / (np.array(self.high) - np.array(self.low))
            if distance.max(initial=0.0) > _ROUNDING:
                self.check(array[int(distance.max((1, 2)).argmax())])
        return array

    def canonical(self, designs: ArrayLike) -> Floats:
        """The representative of each design's equivalents, every constraint obeyed; (..., B, V) in and out."""
        return self.symmetry.canonical(self.repair(np.asarray(designs, dtype=np.float64)))

    def repair(self, designs: Floats) -> Floats:
        """The designs nearby that lie in the space: within ranges, whole where they must be, all constraints obeyed; (..., B, V)."""
        designs = np.clip(designs, self.low, self.high)
        for i, variable in enumerate(self.described):
            if variable.discrete:
                designs[..., i] = np.round(designs[..., i])
        for constraint in self.constraints:
            designs = constraint.repair(designs)
        return designs

    def to_unit(self, designs: ArrayLike) -> Floats:
        """Designs (..., B, V) on the scale on which they are searched, each value in [0, 1]."""
        array = np.asarray(designs, dtype=np.float64)
        return np.stack([v.to_unit(array[..., i]) for i, v in enumerate(self.described)], axis=-1)

    def from_unit(self, unit: ArrayLike) -> Floats:
        """Designs in the space from points of the unit cube, (..., B, V)."""
        array = np.asarray(unit, dtype=np.float64)
        return self.repair(np.stack([v.from_unit(array[..., i]) for i, v in enumerate(self.described)], axis=-1))

    @property
    def features(self) -> int:
        """F, how many numbers describe a block's design to a network: one for each variable, one for each category."""
        return sum(_features(v) for v in self.described)

    def describe(self, designs: Floats) -> NDArray[np.float32]:
        """Designs (..., B, V) as networks see them, (..., B, F): numbers scaled to [-1, 1], categories one-hot."""
        parts = []
        for i, variable in enumerate(self.described):
            values = designs[..., i]
            one_hot = _features(variable) > 1
            parts.append(
                values[..., None] == np.arange(_features(variable)) if one_hot else 2.0 * variable.to_unit(values)[..., None] - 1.0
            )
        return np.concatenate(parts, axis=-1).astype(np.float32)

    def sample(self, n: int, rng: np.random.Generator) -> Floats:
        """`n` designs uniform over the scale on which they are searched, (n, B, V)."""
        return self.from_unit(rng.random((n, *self.shape)))

    def spread(self, n: int, rng: np.random.Generator) -> Floats:
        """`n` designs that reach all of the space, edges and corners included, (n, B, V).

        A third are uniform; in a third each value is with some probability, different for each design, at its lowest or
        highest; in a third the values of a block are alike or the blocks are alike.
        """
        unit = rng.random((n, *self.shape))
        kind = rng.integers(0, 3, (n, 1, 1))
        snapped = rng.random(unit.shape) < rng.random((n, 1, 1))
        edge = (rng.random(unit.shape) < rng.random((n, 1, 1))).astype(np.float64)
        alike = np.broadcast_to(unit[:, :1, :], unit.shape)
        if self.symmetry.columns:
            flat = np.where(rng.random((n, 1, 1)) < 0.5, unit[:, :, :1], np.where(snapped[:, :, :1], edge[:, :, :1], unit[:, :, :1]))
            alike = np.where(rng.random((n, 1, 1)) < 0.5, alike, np.broadcast_to(flat, unit.shape))
        return self.from_unit(np.where(kind == 0, unit, np.where(kind == 1, np.where(snapped, edge, unit), alike)))

    def parse(self, text: str) -> Floats:
        """Read a design written as `"0,0,0.6; 1,1,0"`: values separated by commas, blocks by semicolons."""
        try:
            rows = [self._parse_block(block.split(",")) for block in text.strip().strip(";").split(";")]
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

    def _parse_block(self, values: Sequence[str]) -> list[float]:
        known = [*self.described, *[self.described[-1]] * len(values)]
        return [variable.parse(value) for variable, value in zip(known, values, strict=False)]

    def format(self, design: ArrayLike, digits: int = 3) -> str:
        """Write a design so that `parse` reads it."""
        rows = np.round(np.asarray(design, dtype=np.float64), digits) + 0.0  # never -0
        return "; ".join(",".join(self._format_value(value, i) for i, value in enumerate(row)) for row in rows)

    def _format_value(self, value: float, variable: int) -> str:
        categories = self.described[variable].categories if variable < len(self.described) else ()
        if categories and 0 <= value < len(categories) and float(value).is_integer():
            return categories[int(value)]
        return str(np.format_float_positional(value, trim="-"))

    def example(self) -> str:
        """The design in the middle of the space, as `parse` reads it."""
        return self.format(self.from_unit(np.full(self.shape, 0.5)))

    def _hint(self) -> str:
        return f'write it as "{self.example()}"'


def _features(variable: Variable) -> int:
    """Numbers that describe a variable to a network."""
    return len(variable.categories) if len(variable.categories) > 2 else 1


def _depth(designs: ArrayLike) -> int:
    """The number of axes of `designs`; 0 if it is no array of numbers."""
    try:
        return np.ndim(np.asarray(designs, dtype=np.float64))
    except (TypeError, ValueError):
        return 0
