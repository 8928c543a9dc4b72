"""Outcomes that are written elsewhere than in one column beside the response."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .raw import RawTable, Texts, number, plain


def net_outcome(table: RawTable) -> tuple[str, Texts] | None:
    """Outcomes in two columns, what was gained and what was lost, as hBayesDM has them for tasks with several arms.

    The name of the two columns, and "1" where more was gained than lost, however losses are signed; None if there are no such columns.
    """
    columns = {plain(name): name for name in table.columns}
    if not {"gain", "loss"} <= set(columns):
        return None
    gain, loss = table[columns["gain"]], table[columns["loss"]]
    net = []
    for won, lost in zip(gain, loss, strict=True):
        a, b = number(won), number(lost)
        net.append("" if a is None or b is None else "1" if a - abs(b) > 0 else "0")
    return f"{columns['gain']} and {columns['loss']}", np.array(net, object)


def from_later_rows(labels: Texts, answered: NDArray[np.bool_], empty: NDArray[np.bool_], texts: Texts) -> Texts | None:
    """Outcomes in the row after the response, as experiments have them that show feedback on a screen of its own.

    The outcome of each response, from the one row that has one before the next response; None if it is not so throughout.

    Arguments:
        labels: Whose row each is, (R,).
        answered: Rows with a response, (R,).
        empty: Rows without an outcome, (R,).
        texts: Outcomes, (R,).
    """
    if not answered.any() or not empty[answered].all() or empty.all():
        return None
    moved = np.full(len(texts), "", object)
    for label in dict.fromkeys(labels.tolist()):
        rows = np.flatnonzero(labels == label)
        responses, outcomes = rows[answered[rows]], rows[~empty[rows]]
        if not np.array_equal(np.searchsorted(responses, outcomes), np.arange(1, len(responses) + 1)):
            return None
        moved[responses] = texts[outcomes]
    return moved
