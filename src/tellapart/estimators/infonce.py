"""InfoNCE: pick the v that belongs to y out of K + 1.

    I(v; y) >= E[ log e^{T(v_0, y)} / (1 / (K + 1)) sum_{k=0}^{K} e^{T(v_k, y)} ],

where v_0 belongs to y and v_1, …, v_K do not. Less variance than NWJ's, but never more than log(K + 1), and below the truth by about
(E[r^2] - 1) / 2K even for the best T, where r = p(v | y) / p(v) at contrasts. Training needs few contrasts, the estimate many.

References:
    van den Oord, Li & Vinyals (2018), Representation learning with contrastive predictive coding.
"""

from __future__ import annotations

import math
from typing import ClassVar

import torch
from torch import Tensor

from .critic import CriticEstimator


class InfoNCEEstimator(CriticEstimator):
    """T(v, y) and the InfoNCE bound."""

    name: ClassVar[str] = "infonce"
    sources = ("oord2018representation",)
    contrasts: ClassVar[int] = 15
    estimate_contrasts: ClassVar[int] = 255

    def pointwise_bound(self, joint: Tensor, contrast: Tensor) -> Tensor:
        everyone = torch.cat([joint[None], contrast])
        return joint - everyone.logsumexp(0) + math.log(len(everyone))
