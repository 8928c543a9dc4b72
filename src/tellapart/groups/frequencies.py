"""What is known of the frequencies of models after the data of a group; what every way of computing it must offer."""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Counts = NDArray[np.intp]


class FrequencyPosterior(ABC):
    """The posterior of frequencies r of K models, of which people have each one: r ~ Dirichlet(alpha), everybody's model ~ r."""

    alpha: Floats
    """Prior counts, (K,)."""

    log_evidence: float
    """log p(y) of the whole group."""

    log_evidence_se: float
    """Its Monte-Carlo standard error; 0 if it is exact."""

    @abstractmethod
    def means(self) -> Floats:
        """E[r | y], (K,)."""

    @abstractmethod
    def quantile(self, k: int, share: float) -> float:
        """The value below which r_k lies with probability `share`."""

    @abstractmethod
    def exceedance(self) -> Floats:
        """P(r_k is the largest | y), (K,)."""

    @abstractmethod
    def error(self) -> float:
        """Two Monte-Carlo standard errors of the least certain of means and exceedance probabilities; 0 if they are exact."""

    @abstractmethod
    def sample(self, n: int, rng: np.random.Generator) -> Floats:
        """`n` draws of r, (n, K)."""

    @abstractmethod
    def grouped(self, members: Counts) -> FrequencyPosterior:
        """The same for families of models; `members` is the family of each model, (K,), counted from 0."""
