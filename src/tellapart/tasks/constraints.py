"""Rules that a design must obey beyond the range of each value, ready to be given to a `DesignSpace`.

Each brings designs that break it to nearby ones that do not, so that every search can propose anything and still never
leaves the space.
"""

from __future__ import annotations

from typing import Sequence

import numpy as np

from ..errors import StudyError
from .space import Constraint, Floats, Variable


def increasing(variables: Sequence[Variable], name: str, blocks: int, gap: float = 0.0) -> Constraint:
    """A variable increases from block to block, by `gap` at least.

    Arguments:
        variables: All variables of the space, in order.
        name: The one that increases.
    """
    place, variable = _find(variables, name)
    if gap < 0 or gap * (blocks - 1) > variable.high - variable.low:
        most = (variable.high - variable.low) / max(1, blocks - 1)
        raise StudyError(f"'{name}' cannot increase by so much.", expected=f"a gap from 0 to {most:g} for {blocks} blocks", got=gap)
    steps = gap * np.arange(blocks)

    def repair(designs: Floats) -> Floats:
        """Sorted values less their steps must not decrease, and then stay within what the steps leave of the range."""
        room = np.sort(designs[..., place], axis=-1) - steps
        room = np.clip(np.maximum.accumulate(room, axis=-1), variable.low, variable.high - steps[-1])
        return _replaced(designs, place, room + steps)

    words = f"{name} increases from block to block" + (f" by {gap:g} or more" if gap else "")
    return Constraint(words, repair)


def fixed_total(variables: Sequence[Variable], name: str, blocks: int, total: float) -> Constraint:
    """The values of a variable in all blocks sum to `total`.

    Arguments:
        variables: All variables of the space, in order.
        name: The one whose values are summed.
    """
    place, variable = _find(variables, name)
    if not blocks * variable.low <= total <= blocks * variable.high or (variable.discrete and not float(total).is_integer()):
        most = f"from {blocks * variable.low:g} to {blocks * variable.high:g}"
        raise StudyError(f"'{name}' cannot have this total.", expected=f"a total {most} for {blocks} blocks", got=total)

    def repair(designs: Floats) -> Floats:
        values = _projected(designs[..., place], variable, total)
        return _replaced(designs, place, _whole(values, variable, total) if variable.discrete else values)

    return Constraint(f"{name} sums to {total:g} over blocks", repair)


def _find(variables: Sequence[Variable], name: str) -> tuple[int, Variable]:
    names = [variable.name for variable in variables]
    if name not in names:
        raise StudyError(f"There is no design variable '{name}'.", expected=" or ".join(names), got=repr(name))
    return names.index(name), variables[names.index(name)]


def _replaced(designs: Floats, place: int, values: Floats) -> Floats:
    """Designs (..., B, V) with other values (..., B) of one variable."""
    designs = designs.copy()
    designs[..., place] = values
    return designs


def _projected(values: Floats, variable: Variable, total: float) -> Floats:
    """The nearest values (..., B) within the range that sum to the total: one shift for all, found by bisection."""
    width = variable.high - variable.low
    below, above = np.full(values.shape[:-1], -width), np.full(values.shape[:-1], width)
    for _ in range(60):
        middle = (below + above) / 2
        too_small = np.clip(values + middle[..., None], variable.low, variable.high).sum(-1) < total
        below, above = np.where(too_small, middle, below), np.where(too_small, above, middle)
    return np.asarray(np.clip(values + above[..., None], variable.low, variable.high))


def _whole(values: Floats, variable: Variable, total: float) -> Floats:
    """Whole numbers near `values` (..., B) with the same total: the largest remainders are rounded up, of equal ones the first."""
    floor = np.floor(values + 1e-9)
    remainder = np.where(floor < variable.high, np.round(values - floor, 9), -1.0)
    missing = np.round(total - floor.sum(-1)).astype(int)
    rank = np.argsort(np.argsort(-remainder, axis=-1, kind="stable"), axis=-1)
    return np.asarray(floor + (rank < missing[..., None]))
