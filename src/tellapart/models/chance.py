"""Differences that chance does not explain.

A check of a model compares two draws that are alike if all is well: a recorded outcome with one drawn anew by the task's rules, a
participant with its mirror image. Their difference x is then as often above 0 as below it, given its size. For numbers with
that symmetry

    z = sum x / sqrt(sum x^2),    P(z > c) <= exp(-c^2 / 2)    (signs are tosses of a coin: Hoeffding 1963),

however few, skewed or heavy-tailed they are. A difference counts if it shows twice, the second time in the same direction and among
`AGAIN` times as many fresh participants: by chance at most once in 4 * 10^8 times for each statistic, and so at most once in 10^5 for the
few thousand statistics of all checks of a model together.
"""

from __future__ import annotations

from typing import Any, Callable, Mapping

import numpy as np

from .base import Floats

FIRST, SECOND = 4.0, 5.0
"""The z beyond which a difference is suspected, and beyond which it is confirmed: exp(-8) * 2 exp(-12.5) = 2.5 * 10^-9."""
AGAIN = 4
"""How many times as many participants confirm a suspicion."""


def standardised(totals: Any, squares: Any) -> Floats:
    """z from sums of numbers and sums of their squares; 0 where there is nothing."""
    totals, sizes = np.asarray(totals, dtype=np.float64), np.sqrt(np.asarray(squares, dtype=np.float64))
    return np.where(sizes > 0, totals / np.where(sizes > 0, sizes, 1.0), 0.0)


def beyond_chance(sample: Callable[[int, int], Mapping[str, float]], n: int) -> dict[str, float]:
    """What differs by more than chance, the clearest first: its name and its z.

    Arguments:
        sample: The z of each statistic, by its name, from participants that are simulated for it; of a seed and their number.
        n: Participants of the first look.
    """
    suspected = {name: z for name, z in sample(0, n).items() if abs(z) > FIRST}
    if not suspected:
        return {}
    again = sample(1, AGAIN * n)
    confirmed = {name: again[name] for name, z in suspected.items() if again.get(name, 0.0) * np.sign(z) > SECOND}
    return dict(sorted(confirmed.items(), key=lambda item: -abs(item[1])))
