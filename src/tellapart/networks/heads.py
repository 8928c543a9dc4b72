"""Heads: from summary statistics to what an estimator needs.

Critic      T(v, s), a number for each pair of a variable of interest and summaries; for NWJ and InfoNCE.
Classifier  log q(model | s).
Flow        log q(theta | s) and draws from it; theta on the normal scale, on which its prior is standard normal.
Sketch      the same as a normal density for each parameter: rough, and next to free.
"""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

MOST_LOG_SD = 3.0
"""How far a sketch's standard deviations are from 1 at most, in either direction, as a logarithm."""


def perceptron(widths: list[int], activation: type[nn.Module] = nn.ReLU) -> nn.Sequential:
    """Fully connected layers of the given widths, the activation between them and not after the last."""
    layers: list[nn.Module] = []
    for a, b in pairwise(widths):
        layers += [nn.Linear(a, b), activation()]
    return nn.Sequential(*layers[:-1])


class Critic(nn.Module):
    """The paper's main network: T(v, s) from the concatenation of S summaries and the `variables` numbers that code v."""

    def __init__(self, summaries: int, variables: int, hidden: tuple[int, ...] = (32, 32), activation: type[nn.Module] = nn.ReLU) -> None:
        super().__init__()
        self.variables = variables
        self.network = perceptron([summaries + variables, *hidden, 1], activation)

    def forward(self, v: Tensor, s: Tensor) -> Tensor:
        """T of each pair, (..., N), for v (..., N, D) and s (N, S)."""
        paired = s.expand(*v.shape[:-1], s.shape[-1])
        return self.network(torch.cat([paired, v], dim=-1)).squeeze(-1)


class Classifier(nn.Module):
    """log q(model | s), of M models, from S summaries."""

    def __init__(self, summaries: int, models: int, hidden: tuple[int, ...] = (128,)) -> None:
        super().__init__()
        self.network = nn.Sequential(nn.SiLU(), perceptron([summaries, *hidden, models], nn.SiLU))

    def forward(self, s: Tensor) -> Tensor:
        """Log probabilities (N, M)."""
        return torch.log_softmax(self.network(s), dim=-1)


class Flow(nn.Module):
    """q(theta | s), of P parameters, from S summaries: an autoregressive neural spline flow (Durkan et al. 2019) on the normal scale.

    Arguments:
        transforms: How many splines follow each other.
        hidden: Units of the hidden layers that turn summaries into splines.
        bins: Pieces of a spline.
    """

    sources: ClassVar[tuple[str, ...]] = ("durkan2019neural",)
    """What to cite for it."""

    def __init__(self, summaries: int, parameters: int, transforms: int = 2, hidden: tuple[int, ...] = (128, 128), bins: int = 8) -> None:
        super().__init__()
        import zuko

        self.embed = nn.Sequential(nn.SiLU(), nn.Linear(summaries, hidden[0]), nn.SiLU())
        self.flow = zuko.flows.NSF(parameters, hidden[0], transforms=transforms, hidden_features=hidden, bins=bins, activation=nn.SiLU)
        self.parameters_count = parameters

    def information(self, z: Tensor, s: Tensor) -> Tensor:
        """log q(z | s) / p(z), pointwise (N,), for z (N, P)."""
        log_prior = -0.5 * (z.square() + math.log(2 * math.pi)).sum(-1)
        return self.given(s).log_prob(z) - log_prior

    def given(self, s: Tensor) -> Any:
        """q(theta | s) as a distribution of zuko's, with `log_prob`, `sample`, and the `transform` to where it is standard normal."""
        return self.flow(self.embed(s))

    @torch.no_grad()
    def sample(self, s: Tensor, draws: int, generator: torch.Generator) -> Tensor:
        """`draws` draws of z for each of the summaries, (draws, N, P)."""
        noise = torch.randn(draws, len(s), self.parameters_count, generator=generator).to(s.device)
        z: Tensor = self.given(s).transform.inv(noise)
        return z


class Sketch(nn.Module):
    """q(theta | s, model), each parameter of each model being normal and independent of the others, on the normal scale.

    Arguments:
        summaries: S.
        widths: How many parameters each of the M models has.
    """

    there: Tensor

    def __init__(self, summaries: int, widths: list[int]) -> None:
        super().__init__()
        self.shape = (len(widths), max(widths), 2)
        self.network = nn.Sequential(nn.SiLU(), nn.Linear(summaries, math.prod(self.shape)))
        there = [[float(p < width) for p in range(max(widths))] for width in widths]
        self.register_buffer("there", torch.tensor(there), persistent=False)

    def information(self, z: Tensor, model: Tensor, s: Tensor) -> Tensor:
        """log q(z | s, model) / p(z), pointwise (N,), for z (N, P) and models (N,)."""
        each = self.network(s).unflatten(-1, self.shape)[torch.arange(len(s), device=s.device), model]
        mean, log_sd = each.unbind(-1)
        log_sd = MOST_LOG_SD * torch.tanh(log_sd / MOST_LOG_SD)
        log_q = -0.5 * ((z - mean) * torch.exp(-log_sd)).square() - log_sd
        return ((log_q + 0.5 * z.square()) * self.there[model]).sum(-1)
