"""What a next block is expected to tell about the question, given what is known of the participant.

With p_j the law of the answer for draw j of the posterior, P its average, and P_v the average over draws that share the v asked about,

    gain = I(v; y | data) = H(P) - E H(P_v) = E_j sum_y p_j(y) log P_v(y) / P(y).

If v is the model, P_v averages over the draws of a model; if it is all parameters, it is p_j itself; if it is some of them, it averages
over the draws that are nearest in those. All candidates face the same draws, so that their differences are more certain than each.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from ..information.estimate import Difference
from ..question import Question
from ..tasks.space import Floats
from .answers import Answers
from .belief import Belief

NEIGHBOURS = 32
"""Draws that count as sharing a value of parameters, where others are nuisance."""


@dataclass(frozen=True, eq=False)
class Gains:
    """What each draw contributes to the expected gain of each candidate.

    Arguments:
        values: For each model (C, J).
        weights: For each model those of its draws, (J,), summing over all models to 1.
    """

    values: tuple[Floats, ...]
    weights: tuple[Floats, ...]

    @property
    def nats(self) -> Floats:
        """The expected gain of each candidate, (C,)."""
        return np.asarray(sum(values @ weight for values, weight in zip(self.values, self.weights, strict=True)))

    def of(self, candidate: int) -> Difference:
        """The expected gain of a candidate, with the standard error that comes from the number of draws."""
        return self._estimate([values[candidate] for values in self.values])

    def minus(self, one: int, other: int) -> Difference:
        """By how much one candidate is expected to tell more than another; from the same draws."""
        return self._estimate([values[one] - values[other] for values in self.values])

    def _estimate(self, parts: list[Floats]) -> Difference:
        pairs = list(zip(parts, self.weights, strict=True))
        nats = float(sum(part @ weight for part, weight in pairs))
        return Difference(nats, float(sum(((part - nats) * weight) @ ((part - nats) * weight) for part, weight in pairs) ** 0.5))


class Outlook:
    """Expected gains for one participant, by the learned law."""

    def __init__(self, answers: Answers, belief: Belief, question: Question) -> None:
        self.answers, self.belief, self.question = answers, belief, question
        self._known = [torch.from_numpy(answers.known(m, z).astype(np.float32)) for m, z in enumerate(belief.draws)]
        self._weights = [torch.from_numpy(weight.astype(np.float32)) for weight in belief.weights]
        self._alike = [self._neighbours(m) for m in range(len(belief.draws))]

    @torch.no_grad()
    def gains(self, rows: Floats, block: int) -> Gains:
        """Of candidate rows (C, V) for a block."""
        x = self.answers.described(rows, block)[:, None]
        log_p = [self.answers.laws[m](z, x) for m, z in enumerate(self._known)]  # for each model (C, J, O)
        p = [one.exp() for one in log_p]
        averages = [torch.einsum("cjo,j->co", one, weight) for one, weight in zip(p, self._weights, strict=True)]
        shares = self.belief.probabilities
        whole = _log(sum((float(share) * one for share, one in zip(shares, averages, strict=True)), torch.zeros(())))[:, None]
        given = [self._given(m, p[m], log_p[m], averages[m]) for m in range(len(p))]
        values = tuple((one * (v - whole)).sum(-1).double().numpy() for one, v in zip(p, given, strict=True))
        return Gains(values, tuple(share * weight for share, weight in zip(shares, self.belief.weights, strict=True)))

    def _given(self, m: int, p: Tensor, log_p: Tensor, average: Tensor) -> Tensor:
        """log P_v, (C, J or 1, O)."""
        asked, count = self.question.parameters(m), len(self.answers.question.models[m].parameters)
        if not asked:
            return _log(average)[:, None]
        if len(asked) == count:
            return log_p
        alike = self._alike[m]
        assert alike is not None
        # an average that holds the draw itself knows something of its nuisance parameters: 1 / (2 neighbours) of what one without it lacks
        itself = alike == torch.arange(len(alike))[:, None]
        weight = self._weights[m][alike] * torch.where(itself, 0.5, 1.0)
        return _log(torch.einsum("cjko,jk->cjo", p[:, alike], weight / weight.sum(1, keepdim=True)))

    def _neighbours(self, m: int) -> Tensor | None:
        """For each draw of a model those that are nearest in the parameters asked about, (J, neighbours), where others are nuisance."""
        names = list(self.answers.question.models[m].parameters)
        asked = [names.index(name) for name in self.question.parameters(m)]
        if not asked or len(asked) == len(names):
            return None
        z = self._known[m][:, asked]
        z = z / z.std(0).clamp_min(1e-6)
        return torch.cdist(z, z).topk(min(NEIGHBOURS, len(z)), largest=False).indices


def _log(p: Tensor) -> Tensor:
    return p.clamp_min(1e-12).log()
