"""What a next block is expected to tell about the question, given what is known of the participant.

With p_j the law of the answer for draw j of the posterior, P its average, and P_v the average over draws that share the v asked about,

    gain = I(v; y | data) = H(P) - E H(P_v) = E_j sum_y p_j(y) log P_v(y) / P(y).

If v is the model, P_v averages over the draws of a model; if it is all parameters, it is p_j itself; if it is some of them, it is the
regression of p on those, by polynomials. All candidates face the same draws, so that their differences are more certain than each.

A regression follows what it is fitted to, and so takes a little of what answers tell of nuisance parameters for what they tell of v: with
h_j the leverage of draw j, E p_j log P_v is too high by h_j Var(p_j | v) / (2 P_v), summed over answers. That is subtracted.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations_with_replacement

import numpy as np
import torch
from torch import Tensor

from ..information.estimate import Difference
from ..question import Question
from ..tasks.space import Floats
from .answers import Answers
from .belief import Belief

DEGREES, LEAST = (5, 3), 2
"""Of the polynomials in one parameter and in two, and in more, where others are nuisance."""

RARE = 0.01
"""An answer that is rarer than this, given v, is not told from one that is as rare."""


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
        self._bases = [self._basis(m) for m in range(len(belief.draws))]

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
        values = tuple((v - (one * whole).sum(-1)).double().numpy() for one, v in zip(p, given, strict=True))
        return Gains(values, tuple(share * weight for share, weight in zip(shares, self.belief.weights, strict=True)))

    def _given(self, m: int, p: Tensor, log_p: Tensor, average: Tensor) -> Tensor:
        """What each draw contributes to E sum_y p_j(y) log P_v(y), (C, J)."""
        basis = self._bases[m]
        if not self.question.parameters(m):
            return (p * _log(average)[:, None]).sum(-1)
        if basis is None:
            return (p * log_p).sum(-1)
        weighted = basis * self._weights[m][:, None]

        def regressed(values: Tensor) -> Tensor:
            return torch.einsum("jd,cdo->cjo", basis, torch.einsum("jd,cjo->cdo", weighted, values))

        mean = regressed(p).clamp_min(0.0)
        mean = mean / mean.sum(-1, keepdim=True)
        around = torch.minimum(regressed((p - mean).square()).clamp_min(0.0), mean * (1.0 - mean))
        leverage = (weighted * basis).sum(1, keepdim=True)
        luck = leverage * around / (2.0 * torch.maximum(mean, leverage))
        # a polynomial may come close to 0 where p does not: what p_j adds to P_v, which is 0 on average, is kept from growing there
        return (torch.xlogy(mean, mean) + (p - mean) * mean.clamp_min(RARE).log() - luck).sum(-1)

    def _basis(self, m: int) -> Tensor | None:
        """Polynomials in the parameters asked about, orthonormal over the draws of a model, (J, D), where others are nuisance."""
        asked = self.question.places(m)
        if not asked or len(asked) == len(self.question.models[m].parameters):
            return None
        z, weight = self.answers.known(m, self.belief.draws[m])[:, asked], self.belief.weights[m]
        z = z - weight @ z
        z = z / np.maximum(np.sqrt(weight @ z**2), 1e-6)
        degree = DEGREES[len(asked) - 1] if len(asked) <= len(DEGREES) else LEAST
        powers = [z[:, list(which)].prod(1) for d in range(degree + 1) for which in combinations_with_replacement(range(len(asked)), d)]
        design = np.stack(powers, axis=-1)
        size, direction = np.linalg.eigh((design * weight[:, None]).T @ design)
        some = size > 1e-9 * size[-1]  # a parameter of few levels has fewer polynomials
        return torch.from_numpy((design @ direction[:, some] / np.sqrt(size[some])).astype(np.float32))


def _log(p: Tensor) -> Tensor:
    return p.clamp_min(1e-12).log()
