"""A first look at next blocks in milliseconds: the law of answers at points of the prior and at rows everywhere, computed once.

While what is known of a participant is a weight on each point of the prior, the average law at a row is a product of the table with
the weights, and so is what parameters leave unsure.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
import torch
from torch import Tensor

from ..question import Question
from ..tasks.space import Floats
from .answers import Answers
from .belief import Belief

LARGEST = 16_000_000
"""Numbers that the table of a model may hold."""

TOGETHER = 4
"""Rows that are computed at once: few enough for the processor's cache. Of many, memory would be asked for anew at every layer."""


class Table:
    """The laws of answers at rows (C, V).

    Arguments:
        rows: As many as fit are used.
        block: Whose number they have, where blocks cannot change places.
    """

    def __init__(self, answers: Answers, rows: Floats, block: int) -> None:
        self.answers, self.block = answers, block
        size = max(len(points) for points in answers.points) * len(answers.codes.counts)
        self.rows = rows[: max(64, LARGEST // size)]

    @cached_property
    @torch.no_grad()
    def _laws(self) -> list[Tensor]:
        """p, for each model (C, O, J)."""
        pieces, parts = np.array_split(self.rows, max(1, len(self.rows) // TOGETHER)), []
        for law, known in zip(self.answers.laws, self.answers.points_known, strict=True):
            z = torch.from_numpy(known.astype(np.float32))
            laws = [law(z, self.answers.described(piece, self.block)[:, None]).exp() for piece in pieces]
            parts.append(torch.cat([p.transpose(1, 2).contiguous() for p in laws]))
        return parts

    @cached_property
    def _sure(self) -> list[Tensor]:
        """How sure each point is of its answer: sum over codes of p log p, for each model (C, J)."""
        return [torch.xlogy(p, p).sum(1) for p in self._laws]

    def serves(self, belief: Belief) -> bool:
        """Is the belief a weight on each point of the prior?"""
        return all(z is points for z, points in zip(belief.draws, self.answers.points, strict=True))

    def gains(self, belief: Belief, question: Question) -> Floats:
        """The expected gain of each row, (C,). Where parameters are nuisance, what is learned of them counts too."""
        weights = [torch.from_numpy(weight.astype(np.float32)) for weight in belief.weights]
        averages = [p @ weight for p, weight in zip(self._laws, weights, strict=True)]  # (C, O)
        shares = belief.probabilities.astype(np.float32)
        whole = sum((float(share) * one for share, one in zip(shares, averages, strict=True)), torch.zeros(()))
        left = -torch.xlogy(whole, whole).sum(1)
        for m, share in enumerate(shares):
            known = self._sure[m] @ weights[m] if question.parameters(m) else torch.xlogy(averages[m], averages[m]).sum(1)
            left = left + float(share) * known
        return np.asarray(left.double().numpy())
