"""A table, understood: the data, and what was understood of them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Mapping

import numpy as np
from numpy.typing import NDArray

from ..behavior import Behavior
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
        played: Where blocks are in the order of play: which blocks of the design each participant has begun, in that order.
    """

    behavior: Behavior
    lines: tuple[tuple[str, str, str], ...]
    designs: Floats | None = None
    groups: Mapping[str, Texts] = field(default_factory=dict)
    conditions: Mapping[str, Texts] = field(default_factory=dict)
    variables: tuple[str, ...] = ()
    source: str = ""
    played: tuple[tuple[int, ...], ...] | None = None

    def in_words(self) -> str:
        """What was understood, as a table for the screen."""
        rows = [("what", "column", "understood as"), *self.lines]
        widths = [max(len(row[i]) for row in rows) for i in (0, 1)]
        return "\n".join(f"{what:<{widths[0]}}  {column:<{widths[1]}}  {reading}" for what, column, reading in rows)

    def to_table(self) -> pd.DataFrame:
        """The long table of tellapart, with groups, conditions and designs in columns of their own."""
        table = self.behavior.to_table(self.groups)
        _, blocks, trials = self.behavior.shape
        columns = {name: np.repeat(values.reshape(-1), trials) for name, values in self.conditions.items()}
        if self.designs is not None:
            columns |= {name: np.repeat(self.designs[:, :blocks, v].reshape(-1), trials) for v, name in enumerate(self.variables)}
        return table.assign(**columns)
