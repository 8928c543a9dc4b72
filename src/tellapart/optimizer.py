"""Muon: steps that use all directions of a weight matrix alike.

Adam scales every weight by itself. The gradient of a matrix is then still dominated by a few directions, and the others are learned
late. Muon (Jordan et al. 2024) replaces the momentum M of a matrix, M = U S V^T, by U V^T: same directions, all of the same size. That is
found without a decomposition, by a few steps of an iteration on M M^T that moves all singular values near 1. Biases and other weights
that are no matrices are moved by Adam.

What it gives here is measured by `benchmarks/optimizers.py`.

References:
    Jordan et al. (2024), Muon: an optimizer for hidden layers in neural networks.
    Liu et al. (2025), Muon is scalable for LLM training (that one learning rate serves both).
"""

from __future__ import annotations

import math
from collections import defaultdict
from functools import reduce
from typing import Any, Iterable, Literal

import torch
from torch import Tensor

OptimizerName = Literal["muon", "adam"]

LIKE_ADAM = 0.2
"""The root mean square of a step of Adam's, in learning rates: one learning rate then serves matrices and the rest (Liu et al. 2025)."""

COEFFICIENTS = (3.4445, -4.7750, 2.0315)
"""Of the polynomial a x + b x^3 + c x^5, applied again and again, which moves x in (0, 1] near 1."""

TURNS = 5
"""How often it is applied."""

MOMENTUM, BETAS = 0.95, (0.9, 0.999)
"""How much is kept at each step of a matrix's momentum, and of Adam's two moments."""


class Muon:
    """Muon for matrices, Adam for the rest.

    It has the groups (one) and the state of torch's optimizers and is none of them: to make one imports torch's compiler, which takes
    seconds.

    Arguments:
        weights: What is moved.
        lr: The learning rate.
    """

    def __init__(self, weights: Iterable[Tensor], lr: float) -> None:
        self.param_groups: list[dict[str, Any]] = [{"params": list(weights), "lr": lr}]
        self.state: defaultdict[Tensor, dict[str, Any]] = defaultdict(dict)

    def zero_grad(self) -> None:
        """Forget all gradients."""
        for weight in self.param_groups[0]["params"]:
            weight.grad = None

    @torch.no_grad()
    def step(self) -> None:
        """Move all weights that have a gradient."""
        (group,) = self.param_groups
        # small matrices of one shape are moved together: an operation on them costs more than its arithmetic
        alike: dict[torch.Size, list[tuple[Tensor, Tensor]]] = {}
        for weight in group["params"]:
            if weight.grad is None:
                continue
            if weight.ndim == 2 and min(weight.shape) > 1:
                alike.setdefault(weight.shape, []).append((weight, _ahead(weight.grad, self.state[weight])))
            else:
                weight.sub_(_adam_step(weight.grad, self.state[weight]), alpha=group["lr"])
        for shape, moved in alike.items():
            steps = orthogonal(torch.stack([ahead for _, ahead in moved])) * (LIKE_ADAM * math.sqrt(max(shape)))
            for (weight, _), step in zip(moved, steps, strict=True):
                weight.sub_(step, alpha=group["lr"])


def _ahead(gradient: Tensor, state: dict[str, Any]) -> Tensor:
    """The momentum of a matrix as Nesterov takes it, a step ahead."""
    momentum: Tensor = state.setdefault("momentum", torch.zeros_like(gradient))
    momentum.lerp_(gradient, 1 - MOMENTUM)
    return gradient.lerp(momentum, MOMENTUM)


def _adam_step(gradient: Tensor, state: dict[str, Any]) -> Tensor:
    """Adam's step, for the learning rate 1."""
    first, second = BETAS
    step = state.setdefault("step", torch.zeros(())).add_(1)
    mean: Tensor = state.setdefault("mean", torch.zeros_like(gradient)).lerp_(gradient, 1 - first)
    square: Tensor = state.setdefault("square", torch.zeros_like(gradient)).mul_(second).addcmul_(gradient, gradient, value=1 - second)
    steps = int(step)
    spread: Tensor = (square / (1 - second**steps)).sqrt_() + 1e-8
    return torch.div(mean / (1 - first**steps), spread)


def orthogonal(matrices: Tensor) -> Tensor:
    """U V^T of matrices U S V^T, (..., m, n), nearly: singular values between about 0.7 and 1.2; those far below the largest stay smaller.

    All turns of the iteration are made on the small square M M^T, and M is multiplied once in the end.
    """
    tall = matrices.shape[-2] > matrices.shape[-1]
    wide = matrices.mT if tall else matrices
    wide = wide / (wide.norm(dim=(-2, -1), keepdim=True) + 1e-12)
    a, b, c = COEFFICIENTS
    square = wide @ wide.mT
    turns: list[Tensor] = []
    for _ in range(TURNS):
        if turns:
            square = turns[-1] @ square @ turns[-1]
        turn = c * (square @ square) + b * square
        turn.diagonal(dim1=-2, dim2=-1).add_(a)
        turns.append(turn)
    found: Tensor = reduce(lambda product, turn: turn @ product, turns) @ wide
    return found.mT if tall else found
