"""How many people follow each model, exactly: people arrive one by one, as in Polya's urn.

After n people with counts c, the next one follows model k with probability (alpha_k + c_k) / (sum alpha + n). The joint probability of
data and counts is carried along for all counts at once,

    P(c + 1_k) += P(c) (alpha_k + c_k) / (sum alpha + n) e[n, k],

and its sum over counts at the end is the evidence of the whole group. The work is N^K / K!.
"""

from __future__ import annotations

from typing import Any, Iterator, Sequence

import numba as nb
import numpy as np

from .frequencies import Counts, Floats
from .mixture import DirichletMixture

LEAST = 1e-6
"""The share of the posterior that the least probable counts may hold together, and which is left out."""


LEAST_ON_THE_WAY = 1e-40
"""Counts at the rim whose share is below this are no longer followed."""


def exact_frequencies(evidence: Floats, constant: float, alpha: Floats) -> DirichletMixture:
    """The posterior of frequencies.

    Arguments:
        evidence: Of each person and model, up to a factor for each person, (N, K).
        constant: The sum of the logs of these factors.
        alpha: Prior counts, (K,).
    """
    order = np.random.default_rng(0).permutation(len(evidence))  # sorted by model, the second half would meet an urn without it
    joint, log_evidence = next(urn(evidence[order], alpha, [len(evidence)]))
    return DirichletMixture(alpha, *probable(joint), constant + log_evidence)


def urn(evidence: Floats, alpha: Floats, sizes: Sequence[int]) -> Iterator[tuple[Floats, float]]:
    """Let people arrive one by one.

    Arguments:
        sizes: When to look, ascending.

    Yields, after that many people: p(c | y), as an array with K - 1 axes over c_1, …, c_{K-1}, and log p(y).
    """
    side, axes = max(sizes) + 1, len(alpha) - 1
    joint, box, here, total = np.zeros(side**axes), np.zeros((axes, 2), np.int64), 0, 0.0
    joint[0] = 1.0
    for size in sizes:
        total += _arrivals(joint, box, side, alpha, evidence, here, size)
        here = size
        cube = joint.reshape([side] * axes)[tuple([slice(size + 1)] * axes)]
        yield cube / cube.sum(), total


def probable(joint: Floats, least: float = LEAST) -> tuple[Counts, Floats]:
    """The counts (C, K) of an array over the first K - 1 of them, and their weights (C,)."""
    flat = joint.reshape(-1)
    order = np.argsort(-flat, kind="stable")
    keep = order[: int(np.searchsorted(np.cumsum(flat[order]), 1 - least)) + 1]
    first = np.stack(np.unravel_index(keep, joint.shape), axis=-1)
    last = joint.shape[0] - 1 - first.sum(-1, keepdims=True)
    return np.concatenate([first, last], axis=1), flat[keep] / flat[keep].sum()


@nb.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _arrivals(joint: Any, box: Any, side: Any, alpha: Any, evidence: Any, first: Any, last: Any) -> Any:
    """Let people `first` to `last` - 1 arrive; log p of their data given those before.

    `joint`, flat over counts below `side`, sums to 1 before and after. It holds nothing that matters outside of `box`, the lowest and
    highest count of each axis, (K - 1, 2).
    """
    total, share = 0.0, 1.0
    for n in range(first, last):
        share = _arrive(joint, box, side, alpha, evidence[n] / share, n)
        total += np.log(share / (alpha.sum() + n))
    joint /= share
    return total


@nb.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _arrive(joint: Any, box: Any, side: Any, alpha: Any, evidence: Any, n: Any) -> Any:
    """Let person number `n` arrive: update `joint` in place, from high counts to low, and `box`; the new sum."""
    axes = alpha.size - 1
    steps = side ** np.arange(axes - 1, -1, -1)
    low, high = np.full(axes, side), np.zeros(axes, np.int64)
    outer, total = np.minimum(box[:, 1] + 1, side - 1), 0.0
    least, last = LEAST_ON_THE_WAY * evidence.max(), axes - 1
    outer[last] = 0
    while True:
        row, lowest, highest = _update_row(joint, box, alpha, evidence, n, outer, steps, least)
        total += row
        if lowest <= highest:
            for k in range(last):
                low[k], high[k] = min(low[k], outer[k]), max(high[k], outer[k])
            low[last], high[last] = min(low[last], lowest), max(high[last], highest)
        k = last - 1  # the next lower row
        while k >= 0 and outer[k] == box[k, 0]:
            outer[k] = min(box[k, 1] + 1, side - 1)
            k -= 1
        if k < 0:
            break
        outer[k] -= 1
    box[:, 0], box[:, 1] = low, high
    return total


@nb.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _update_row(joint: Any, box: Any, alpha: Any, evidence: Any, n: Any, outer: Any, steps: Any, least: Any) -> Any:
    """Update the counts of the last axis for given ones of the others; the sum, and the lowest and highest count that still matters."""
    last = steps.size - 1
    used, start, total, lowest, highest = outer.sum(), (outer * steps).sum(), 0.0, 1, 0
    for count in range(min(box[last, 1] + 1, n + 1 - used), box[last, 0] - 1, -1):
        place = start + count
        value = joint[place] * (alpha[last + 1] + n - used - count) * evidence[last + 1]
        if count > 0:
            value += joint[place - 1] * (alpha[last] + count - 1) * evidence[last]
        for k in range(last):
            if outer[k] > 0:
                value += joint[place - steps[k]] * (alpha[k] + outer[k] - 1) * evidence[k]
        joint[place] = value
        total += value
        if value > least:
            highest = max(highest, count) if lowest <= highest else count
            lowest = count
    return total, lowest, highest
