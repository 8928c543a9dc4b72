"""The bound of the paper, after Nguyen, Wainwright and Jordan:

    I(v; y) >= E_{p(v, y)}[T(v, y)] - e^{-1} E_{p(v) p(y)}[e^{T(v, y)}],

with equality at T = 1 + log p(v | y) / p(v), so that the posterior is p(v) e^{T - 1}. Both averages are over samples; a few
contrasts with a large T can therefore move the estimate a lot.

References:
    Nguyen, Wainwright & Jordan (2010), Estimating divergence functionals and the likelihood ratio by convex risk minimization.
    Kleinegesse & Gutmann (2020), Bayesian experimental design for implicit models by mutual information neural estimation.
"""

from __future__ import annotations

from typing import ClassVar

from torch import Tensor

from .critic import LIMIT, CriticEstimator


class NWJEstimator(CriticEstimator):
    """T(v, y) and the bound of Nguyen, Wainwright and Jordan, one contrast for each pair as published."""

    name: ClassVar[str] = "nwj"
    sources = ("nguyen2010estimating",)
    contrasts: ClassVar[int] = 1
    estimate_contrasts: ClassVar[int] = 20

    def pointwise_bound(self, joint: Tensor, contrast: Tensor) -> Tensor:
        return joint - safe_exp(contrast - 1.0).mean(0)


def safe_exp(x: Tensor) -> Tensor:
    """e^x up to x = LIMIT, from there on its tangent: finite for every x up to 10^29, and steep enough to lead back."""
    capped = x.clamp(max=LIMIT)
    return capped.exp() * (1.0 + x - capped)
