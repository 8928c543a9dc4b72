"""Outcomes that are written in two columns, what was gained and what was lost, as hBayesDM does for tasks with several arms."""

from __future__ import annotations

import numpy as np

from .raw import RawTable, Texts, number, plain


def net_outcome(table: RawTable) -> tuple[str, Texts] | None:
    """The name of the two columns and their sum as texts, if there are such columns; losses count as negative however they are signed."""
    columns = {plain(name): name for name in table.columns}
    if not {"gain", "loss"} <= set(columns):
        return None
    gain, loss = table[columns["gain"]], table[columns["loss"]]
    net = []
    for won, lost in zip(gain, loss, strict=True):
        a, b = number(won), number(lost)
        net.append("" if a is None or b is None else "1" if a - abs(b) > 0 else "0")
    return f"{columns['gain']} and {columns['loss']}", np.array(net, object)
