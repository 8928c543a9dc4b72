"""Heads: from summary statistics to what an estimator needs.

Critic      T(v, s), a number for each pair of a variable of interest and summaries; for NWJ and InfoNCE.
Classifier  log q(model | s).
Flow        log q(theta | s) and draws from it; theta on the normal scale, on which its prior is standard normal.
Normals     the same as a mixture of normal densities: draws cost next to nothing.
Sketch      the same as a normal density for each parameter: rough, and next to free.
"""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

AS_BEFORE = 0.02
"""The weight of the prior in a mixture of normal densities, at least: nothing that can be is left out."""

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


class Normals(nn.Module):
    """q(theta | s), of P parameters, as a mixture of the prior and of normal densities: rougher than a flow, but quick to draw from.

    Each density is that of a z for which A (z - m) is standard normal, A being lower triangular with a positive diagonal.

    Arguments:
        summaries: S.
        parameters: P.
        densities: K, beside the prior.
        hidden: Units of the hidden layer.
    """

    def __init__(self, summaries: int, parameters: int, densities: int = 4, hidden: int = 128) -> None:
        super().__init__()
        self.parameters_count = parameters
        self.sizes = [densities + 1, densities * parameters, densities * parameters**2]
        self.network = nn.Sequential(nn.SiLU(), nn.Linear(summaries, hidden), nn.SiLU(), nn.Linear(hidden, sum(self.sizes)))

    def forward(self, s: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """log weights (N, K + 1), the first of the prior; m (N, K, P) and A (N, K, P, P)."""
        weights, centre, matrix = self.network(s).split(self.sizes, dim=-1)
        log_weights = torch.log_softmax(weights, dim=-1)
        prior = torch.logaddexp(log_weights[:, :1], log_weights.new_tensor(math.log(AS_BEFORE)))
        log_weights = torch.log_softmax(torch.cat([prior, log_weights[:, 1:]], dim=-1), dim=-1)
        matrix = matrix.unflatten(-1, (-1, self.parameters_count, self.parameters_count))
        return log_weights, centre.unflatten(-1, (-1, self.parameters_count)), _with_exponential_diagonal(matrix)

    def information(self, z: Tensor, s: Tensor) -> Tensor:
        """log q(z | s) / p(z), pointwise (..., N), for z (..., N, P)."""
        log_weights, centre, matrix = self(s)
        away = ((z[..., None, :] - centre)[..., None, :] * matrix).sum(-1)
        log_densities = -0.5 * away.square().sum(-1) + matrix.diagonal(dim1=-2, dim2=-1).log().sum(-1)
        log_prior = -0.5 * z.square().sum(-1, keepdim=True)
        return torch.logsumexp(log_weights + torch.cat([log_prior, log_densities], dim=-1), dim=-1) - log_prior.squeeze(-1)

    @torch.no_grad()
    def sample(self, s: Tensor, draws: int, generator: torch.Generator) -> Tensor:
        """`draws` draws of z for each of the summaries, (draws, N, P)."""
        log_weights, centre, matrix = self(s)
        shape = (draws, len(s), 1)
        noise = torch.randn(*shape[:2], self.parameters_count, generator=generator).to(s.device)
        chosen = (log_weights.exp().cumsum(-1) < torch.rand(shape, generator=generator).to(s.device)).sum(-1).clamp(max=centre.shape[1])
        prior = nn.functional.one_hot(chosen, log_weights.shape[-1])[..., 0, None] > 0
        k = (chosen - 1).clamp(min=0)
        who = torch.arange(len(s), device=s.device).expand_as(k)
        spread = torch.linalg.solve_triangular(matrix, torch.eye(self.parameters_count, device=s.device), upper=False)
        drawn = centre[who, k] + (spread[who, k] @ noise[..., None]).squeeze(-1)
        return torch.where(prior, noise, drawn)


def _with_exponential_diagonal(matrix: Tensor) -> Tensor:
    """Lower triangular matrices with a diagonal of exp(what is given there), within bounds."""
    diagonal = MOST_LOG_SD * torch.tanh(matrix.diagonal(dim1=-2, dim2=-1) / MOST_LOG_SD)
    return matrix.tril(-1) + torch.diag_embed(diagonal.exp())


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
