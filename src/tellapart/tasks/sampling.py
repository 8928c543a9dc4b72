"""Designs drawn at random: anywhere, everywhere, and near others; and data drawn at random."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..behavior import Behavior
from .scaling import from_unit, to_unit
from .space import DesignSpace, Floats

if TYPE_CHECKING:
    from .base import Task


def sample(space: DesignSpace, n: int, rng: np.random.Generator) -> Floats:
    """`n` designs uniform over the scale on which they are searched, (n, B, V)."""
    return from_unit(space, rng.random((n, *space.shape)))


def spread(space: DesignSpace, n: int, rng: np.random.Generator) -> Floats:
    """`n` designs that reach all of the space, edges and corners included, (n, B, V).

    A third are uniform; in a third each value is with some probability, different for each design, at its lowest or
    highest; in a third the values of a block are alike or the blocks are alike.
    """
    unit = rng.random((n, *space.shape))
    kind = rng.integers(0, 3, (n, 1, 1))
    snapped = rng.random(unit.shape) < rng.random((n, 1, 1))
    edge = (rng.random(unit.shape) < rng.random((n, 1, 1))).astype(np.float64)
    alike = np.broadcast_to(unit[:, :1, :], unit.shape)
    if space.symmetry.columns:
        flat = np.where(rng.random((n, 1, 1)) < 0.5, unit[:, :, :1], np.where(snapped[:, :, :1], edge[:, :, :1], unit[:, :, :1]))
        alike = np.where(rng.random((n, 1, 1)) < 0.5, alike, np.broadcast_to(flat, unit.shape))
    return from_unit(space, np.where(kind == 0, unit, np.where(kind == 1, np.where(snapped, edge, unit), alike)))


def near(space: DesignSpace, centres: Floats, width: Floats | float, rng: np.random.Generator) -> Floats:
    """A design near each of the centres (n, B, V): every value moved by a normal number of size `width`, a share of its range."""
    unit = to_unit(space, centres)
    return from_unit(space, unit + width * rng.standard_normal(unit.shape))


def any_behavior(task: Task, n: int, rng: np.random.Generator) -> Behavior:
    """Data that the task could record, at random."""
    shape = (n, task.blocks, task.trials)
    values: dict[str, NDArray[Any]] = {}
    for f in task.fields:
        if f.kind in ("real", "positive"):
            drawn: NDArray[Any] = rng.standard_normal(shape) if f.kind == "real" else rng.lognormal(0.0, 1.0, shape)
        else:
            drawn = rng.integers(0, {"binary": 2, "count": 10}.get(f.kind, f.levels or 1), shape)
        values[f.name] = drawn.astype(f.dtype)
    return Behavior(values)
