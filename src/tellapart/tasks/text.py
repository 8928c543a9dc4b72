"""Designs as text: `"0,0,0.6; 1,1,0"`, values separated by commas, blocks by semicolons, categories by their names."""

from __future__ import annotations

from typing import Sequence

import numpy as np
from numpy.typing import ArrayLike

from ..errors import DesignError
from .scaling import from_unit
from .space import DesignSpace, Floats


def parse_design(space: DesignSpace, text: str) -> Floats:
    """Read a design (B, V), or raise a `DesignError` that says how to write one."""
    try:
        rows = [_parse_block(space, block.split(",")) for block in text.strip().strip(";").split(";")]
    except ValueError:
        expected = "numbers separated by ',' and blocks separated by ';'"
        raise DesignError("The design is not made of numbers.", expected=expected, got=repr(text), fix=hint(space)) from None
    widths = sorted({len(row) for row in rows})
    if len(widths) > 1:
        expected, got = f"{len(space.variables)} values in every block", f"blocks of {' and '.join(map(str, widths))} values"
        raise DesignError("The blocks of the design have different numbers of values.", expected=expected, got=got, fix=hint(space))
    return space.check(rows)


def format_design(space: DesignSpace, design: ArrayLike, digits: int = 3) -> str:
    """Write a design so that `parse_design` reads it."""
    rows = np.round(np.asarray(design, dtype=np.float64), digits) + 0.0  # never -0
    return "; ".join(",".join(_format_value(space, value, i) for i, value in enumerate(row)) for row in rows)


def example_design(space: DesignSpace) -> str:
    """The design in the middle of the space, as text."""
    return format_design(space, from_unit(space, np.full(space.shape, 0.5)))


def names_for_people(names: Sequence[str]) -> tuple[str, ...]:
    """Names of design variables as people count: "arm 0", "arm 1", … of data tables are arms 1, 2, … on a page. Other names stay."""
    parts = [(name.rstrip("0123456789"), name[len(name.rstrip("0123456789")) :]) for name in names]
    numbers = {word: [number for other, number in parts if other == word] for word, _ in parts}
    from_zero = {word for word, found in numbers.items() if len(found) > 1 and found == [str(k) for k in range(len(found))]}
    return tuple(f"{word}{int(number) + 1}" if word in from_zero else word + number for word, number in parts)


def hint(space: DesignSpace) -> str:
    """The usual fix of a design that cannot be read."""
    return f'write it as, for example, "{example_design(space)}"'


def _parse_block(space: DesignSpace, words: Sequence[str]) -> list[float]:
    categories = [variable.categories for variable in [*space.variables, *[space.variables[-1]] * len(words)]]
    return [float(names.index(word) if word in names else word) for names, word in zip(categories, map(str.strip, words), strict=False)]


def _format_value(space: DesignSpace, value: float, place: int) -> str:
    categories = space.variables[place].categories if place < len(space.variables) else ()
    if categories and 0 <= value < len(categories) and float(value).is_integer():
        return categories[int(value)]
    return str(np.format_float_positional(value, trim="-"))
