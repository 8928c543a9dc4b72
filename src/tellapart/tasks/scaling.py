"""The scale on which designs are searched, the unit cube, and how networks see them."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .space import DesignSpace, Floats, Variable


def to_unit(space: DesignSpace, designs: ArrayLike) -> Floats:
    """Designs (..., B, V) on the scale on which they are searched, each value in [0, 1]."""
    array = np.asarray(designs, dtype=np.float64)
    return np.stack([_to_unit(variable, array[..., i]) for i, variable in enumerate(space.variables)], axis=-1)


def from_unit(space: DesignSpace, unit: ArrayLike) -> Floats:
    """Designs in the space from points of the unit cube, (..., B, V)."""
    array = np.clip(np.asarray(unit, dtype=np.float64), 0.0, 1.0)
    return space.repair(np.stack([_from_unit(variable, array[..., i]) for i, variable in enumerate(space.variables)], axis=-1))


def features(space: DesignSpace) -> int:
    """F, how many numbers describe a block's design to a network: one for each variable, one for each category."""
    return sum(map(_features, space.variables))


def describe(space: DesignSpace, designs: Floats) -> NDArray[np.float32]:
    """Designs (..., B, V) as networks see them, (..., B, F): numbers scaled to [-1, 1], categories one-hot."""
    parts = []
    for i, variable in enumerate(space.variables):
        values, count = designs[..., i], _features(variable)
        parts.append(values[..., None] == np.arange(count) if count > 1 else 2.0 * _to_unit(variable, values)[..., None] - 1.0)
    return np.concatenate(parts, axis=-1).astype(np.float32)


def _features(variable: Variable) -> int:
    return len(variable.categories) if len(variable.categories) > 2 else 1


def _to_unit(variable: Variable, values: Floats) -> Floats:
    """Whole numbers lie in the middle of their cells."""
    low, high = variable.low, variable.high
    if variable.log:
        return np.asarray(np.log(values / low) / np.log(high / low))
    return np.asarray((values - low + 0.5) / (high - low + 1.0) if variable.discrete else (values - low) / (high - low))


def _from_unit(variable: Variable, unit: Floats) -> Floats:
    low, high = variable.low, variable.high
    if variable.log:
        values = low * np.exp(unit * np.log(high / low))
        return np.asarray(np.clip(np.round(values) if variable.discrete else values, low, high))
    if variable.discrete:
        return np.asarray(np.minimum(np.floor(low + (high - low + 1.0) * unit), high))
    return np.asarray(low + (high - low) * unit)
