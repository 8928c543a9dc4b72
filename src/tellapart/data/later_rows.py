"""Outcomes that are written in the row after the response, as experiments do that show feedback on a screen of its own."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .raw import Texts


def from_later_rows(labels: Texts, answered: NDArray[np.bool_], empty: NDArray[np.bool_], texts: Texts) -> Texts | None:
    """The outcome of each response from the one row that has one before the next response; None if it is not so throughout.

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
