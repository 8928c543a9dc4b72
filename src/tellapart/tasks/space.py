"""The design space: the settings that can be chosen, the relabellings that change nothing, the rules that must hold.

A design is an array (B, V): B blocks, V design variables in each. How designs are written is in `text.py`, on which scale they
are searched in `scaling.py`, how they are drawn in `sampling.py`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Callable, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import DesignError, StudyError, counted

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
        order = np.lexsort(np.moveaxis(designs, -1, 0)[::-1])  # by the last key first
        return np.take_along_axis(designs, order[..., None], -2)


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
        if self.discrete and not (float(self.low).is_integer() and float(self.high).is_integer()):
            got = (self.low, self.high)
            raise StudyError("A variable of whole numbers has other bounds.", where=where, expected="whole numbers", got=got)
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


@dataclass(frozen=True)
class Constraint:
    """What must hold of a design beyond the range of each value. Ready-made ones are in `constraints.py`.

    Arguments:
        words: What must hold, for messages: "the delays increase from block to block".
        repair: Brings designs (..., B, V) to nearby ones for which it holds, and leaves those alone for which it holds.
    """

    words: str
    repair: Callable[[Floats], Floats]


@dataclass(frozen=True)
class DesignSpace:
    """The settings that can be chosen, the same variables in each block.

    Arguments:
        blocks: B.
        variables: V of them.
        symmetry: The relabellings that change nothing.
        constraints: What must hold beyond the ranges; applied in this order. They must not tell symmetric designs apart.
    """

    blocks: int
    variables: tuple[Variable, ...]
    symmetry: Symmetry = Symmetry()
    constraints: tuple[Constraint, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "variables", tuple(self.variables))
        object.__setattr__(self, "constraints", tuple(self.constraints))

    @property
    def shape(self) -> tuple[int, int]:
        """(B, V)."""
        return self.blocks, len(self.variables)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the V variables."""
        return tuple(variable.name for variable in self.variables)

    @property
    def low(self) -> Floats:
        """The smallest value of each variable, (V,)."""
        return np.array([variable.low for variable in self.variables])

    @property
    def high(self) -> Floats:
        """The largest value of each variable, (V,)."""
        return np.array([variable.high for variable in self.variables])

    def check(self, design: ArrayLike) -> Floats:
        """`design` as an array (B, V), or a `DesignError` that says what is wrong with it."""
        array, (blocks, count) = self._numbers(design), self.shape
        if array.ndim != 2 or array.shape[0] != blocks:
            got = counted(array.shape[0], "block") if array.ndim == 2 else f"an array of shape {array.shape}"
            raise self._mistake("has the wrong number of blocks", self._whole, got)
        if array.shape[1] != count:
            expected = f"{counted(count, 'value')} in each block ({', '.join(self.names)})"
            raise self._mistake("has the wrong number of values in a block", expected, f"{counted(array.shape[1], 'value')} in each block")
        wrong = ~self._allowed(array)
        if wrong.any():
            block, v = (int(i) for i in np.argwhere(wrong)[0])
            where = f"block {block}, {self.names[v]} (counted from 0)"
            raise self._mistake("has a value outside its range", self.variables[v].allowed, f"{array[block, v]:g}", where, array)
        return self._obeying(array)

    def check_many(self, designs: ArrayLike, n: int) -> Floats:
        """One design (B, V) for all, or one for each participant (N, B, V), as an array (N, B, V)."""
        array = self._numbers(designs)
        if array.ndim != 3:
            return np.broadcast_to(self.check(array), (n, *self.shape))
        if array.shape != (n, *self.shape):
            expected, got = f"{(n, *self.shape)}", str(array.shape)
            raise DesignError("There must be one design for all participants, or one for each.", expected=expected, got=got)
        allowed = self._allowed(array)
        if not allowed.all():
            self.check(array[int(np.argmax(~allowed.all(axis=(1, 2))))])
        self._obeying(array)
        return array

    def canonical(self, designs: ArrayLike) -> Floats:
        """The representative of each design's equivalents, every constraint obeyed; (..., B, V) in and out."""
        return self.symmetry.canonical(self.repair(np.asarray(designs, dtype=np.float64)))

    def repair(self, designs: Floats) -> Floats:
        """The designs nearby that lie in the space: within ranges, whole where they must be, all constraints obeyed; (..., B, V)."""
        designs, discrete = np.clip(designs, self.low, self.high), [variable.discrete for variable in self.variables]
        designs[..., discrete] = np.round(designs[..., discrete])
        for constraint in self.constraints:
            designs = constraint.repair(designs)
        return designs

    def _allowed(self, designs: Floats) -> NDArray[np.bool_]:
        """Which values lie in their ranges, (..., B, V)."""
        return np.stack([v.allows(designs[..., i]) for i, v in enumerate(self.variables)], axis=-1)

    def _obeying(self, designs: Floats) -> Floats:
        """Designs (..., B, V), or those within rounding of them, if all constraints hold; else a `DesignError`."""
        from .text import format_design

        for constraint in self.constraints:
            repaired = constraint.repair(designs)
            distance = (np.abs(repaired - designs) / (self.high - self.low)).max((-2, -1))
            if (distance > _ROUNDING).any():
                worst = designs.reshape(-1, *self.shape)[distance.argmax()]
                fix, got = f'the nearest that does not: "{format_design(self, self.repair(worst))}"', format_design(self, worst)
                raise DesignError("The design breaks a rule of the task.", expected=constraint.words, got=got, fix=fix)
            designs = repaired
        return designs

    def _numbers(self, designs: ArrayLike) -> Floats:
        """`designs` as an array of whatever shape, or a `DesignError` if they are none."""
        try:
            return np.asarray(designs, dtype=np.float64)
        except (TypeError, ValueError):
            raise self._mistake("is not an array of numbers", self._whole, repr(designs)[:80]) from None

    @property
    def _whole(self) -> str:
        """What a design is made of, in words."""
        blocks, count = self.shape
        return f"{counted(blocks, 'block')} of {counted(count, 'number')}"

    def _mistake(self, what: str, expected: str, got: str, where: str | None = None, meant: Floats | None = None) -> DesignError:
        """The fix is the design that is nearest to what was meant, if that is known and finite, or an example."""
        from .text import format_design, hint

        near = meant is not None and np.isfinite(meant).all()
        fix = f'the nearest that does not: "{format_design(self, self.repair(meant))}"' if near and meant is not None else hint(self)
        return DesignError(f"The design {what}.", where=where, expected=expected, got=got, fix=fix)
