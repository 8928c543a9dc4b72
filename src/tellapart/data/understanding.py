"""A table, understood: the data, and what was understood of them."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Mapping

import numpy as np
from numpy.typing import NDArray

from ..behavior import Behavior
from .groups import OURS, is_usual
from .raw import Texts

if TYPE_CHECKING:
    import pandas as pd

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Understanding:
    """A table, understood.

    Arguments:
        behavior: The data of N participants.
        lines: What was understood: what, from which column, how.
        designs: What they were run at, (N, B, V), if the table says so.
        groups: Name to a text for each participant, (N,).
        conditions: Name to a text for each participant and block, (N, B).
        variables: Names of the design variables, V.
        source: What to call the table.
        positions: When each participant played each block, counted from 0, -1 for blocks that were not begun, (N, B), if the table says so.
        played: Where blocks are in the order of play: which blocks of the design each participant has begun, in that order.
    """

    behavior: Behavior
    lines: tuple[tuple[str, str, str], ...]
    designs: Floats | None = None
    groups: Mapping[str, Texts] = field(default_factory=dict)
    conditions: Mapping[str, Texts] = field(default_factory=dict)
    variables: tuple[str, ...] = ()
    source: str = ""
    positions: NDArray[np.intp] | None = None
    played: tuple[tuple[int, ...], ...] | None = None

    def in_words(self) -> str:
        """What was understood, as a table for the screen."""
        rows = [("what", "column", "understood as"), *self.lines]
        widths = [max(len(row[i]) for row in rows) for i in (0, 1)]
        return "\n".join(f"{what:<{widths[0]}}  {column:<{widths[1]}}  {reading}" for what, column, reading in rows)

    def order(self) -> NDArray[np.intp] | None:
        """Blocks of the design in the order of play, those that were not begun at the end, (N, B); none if the table says no such order."""
        if self.positions is None:
            return None
        return np.argsort(np.where(self.positions >= 0, self.positions, self.positions.shape[1]), axis=1, kind="stable")

    def orders(self) -> tuple[str, ...]:
        """Groups that are no more than orders of the same blocks, as the conditions of a counterbalanced experiment with one design."""
        order, designs = self.order(), self.designs
        if order is None or designs is None or np.ptp(designs, axis=0).any():
            return ()
        alike = {name: [order[values == group] for group in set(values.tolist())] for name, values in self.groups.items()}
        return tuple(name for name, ways in alike.items() if not any(np.ptp(way, axis=0).any() for way in ways))

    def as_played(self) -> Understanding:
        """The same with blocks in the order of play, those that were not begun at the end; as it is if the table says no such order."""
        order = self.order()
        if self.positions is None or order is None:
            return self
        begun = self.positions >= 0
        return replace(
            self,
            behavior=self.behavior.rearranged(order[:, :, None], 1),
            designs=None if self.designs is None else np.take_along_axis(self.designs, order[:, :, None], 1),
            conditions={name: np.take_along_axis(values, order, 1) for name, values in self.conditions.items()},
            positions=None,
            played=tuple(tuple(map(int, blocks[:count])) for blocks, count in zip(order, begun.sum(1), strict=True)),
        )

    def to_table(self) -> pd.DataFrame:
        """The long table of tellapart, with groups, conditions, designs and the order of play in columns of their own."""
        table = self.behavior.to_table({**{_column(name): sorts for name, sorts in self.groups.items()}, **self.behavior.counting()})
        _, blocks, trials = self.behavior.shape
        columns = {_column(name): np.repeat(values.reshape(-1), trials) for name, values in self.conditions.items()}
        if self.designs is not None:
            columns |= {name: np.repeat(self.designs[:, :blocks, v].reshape(-1), trials) for v, name in enumerate(self.variables)}
        if self.positions is not None:
            import pandas as pd

            columns["position"] = pd.Series(np.repeat(self.positions.reshape(-1), trials)).astype("Int64").replace(-1, pd.NA)
        return table.assign(**columns)


def _column(name: str) -> str:
    """The column of something that sorts people or blocks, by a name that shows it."""
    return name if is_usual(name) else OURS + name
