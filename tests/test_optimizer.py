"""Muon: against torch's own, which computes in half precision, and against a singular value decomposition; Adam for what is no matrix."""

import copy

import pytest
import torch

from tellapart.optimizer import LIKE_ADAM, Muon, orthogonal
from tellapart.training import TrainingSettings


@pytest.mark.parametrize("shape", [(4, 9), (9, 4), (32, 32), (2, 50), (128, 300)])
def test_singular_values_come_near_one_and_directions_stay(shape):
    matrix = torch.randn(shape, generator=torch.Generator().manual_seed(1))
    left, values, right = torch.linalg.svd(matrix, full_matrices=False)
    found = left.T @ orthogonal(matrix) @ right.T
    inside = values > 0.05 * values.norm()  # what is far smaller than the rest stays smaller
    assert found.diagonal()[inside].min() > 0.6
    assert found.diagonal().max() < 1.3
    torch.testing.assert_close(found, torch.diag(found.diagonal()), atol=2e-4, rtol=0)


@pytest.mark.parametrize("shape", [(6, 11), (11, 6), (40, 3)])
def test_a_matrix_moves_as_by_torchs_own(shape):
    generator = torch.Generator().manual_seed(2)
    ours, theirs = (torch.nn.Parameter(torch.zeros(shape)) for _ in range(2))
    one = Muon([ours], 0.1)
    other = torch.optim.Muon([theirs], 0.1, weight_decay=0.0, momentum=0.95, nesterov=True, adjust_lr_fn="match_rms_adamw")
    for _ in range(4):
        gradient = torch.randn(shape, generator=generator)
        for weight, optimizer in ((ours, one), (theirs, other)):
            weight.grad = gradient.clone()
            optimizer.step()
    assert (
        float((ours - theirs).detach().norm() / theirs.detach().norm()) < 0.05
    )  # half precision has three digits, and the iteration widens what it loses


def test_a_step_of_a_matrix_is_as_long_as_one_of_adams():
    weight = torch.nn.Parameter(torch.zeros(30, 50))
    weight.grad = torch.randn(30, 50, generator=torch.Generator().manual_seed(4))
    Muon([weight], 0.1).step()
    assert float(weight.detach().square().mean().sqrt()) == pytest.approx(0.1 * LIKE_ADAM, rel=0.2)


@pytest.mark.parametrize("shape", [(7,), (1, 5), (5, 1), (2, 3, 4)])
def test_what_is_no_matrix_moves_as_by_adam(shape):
    generator = torch.Generator().manual_seed(3)
    ours = torch.nn.Parameter(torch.randn(shape, generator=generator))
    theirs = copy.deepcopy(ours)
    one, other = Muon([ours], 0.01), torch.optim.Adam([theirs], 0.01)
    for _ in range(5):
        gradient = torch.randn(shape, generator=generator)
        for weight, optimizer in ((ours, one), (theirs, other)):
            weight.grad = gradient.clone()
            optimizer.step()
    torch.testing.assert_close(ours, theirs, rtol=1e-5, atol=1e-6)


def test_a_gradient_of_nothing_moves_nothing():
    weight = torch.nn.Parameter(torch.ones(3, 4))
    weight.grad = torch.zeros(3, 4)
    Muon([weight], 0.1).step()
    torch.testing.assert_close(weight.detach(), torch.ones(3, 4))


def test_muon_has_no_weight_decay():
    from tellapart.training import Trainer

    with pytest.raises(ValueError, match="no weight decay"):
        Trainer(torch.nn.Linear(2, 2), TrainingSettings(optimizer="muon", weight_decay=0.1), 1)


def test_matrices_of_one_shape_move_together_as_they_do_alone():
    """Also one without a gradient in some steps, and one whose gradient is a billion times that of the others."""
    generator = torch.Generator().manual_seed(5)
    together = [torch.nn.Parameter(torch.randn(6, 9, generator=generator)) for _ in range(4)]
    alone = copy.deepcopy(together)
    everybody, each = Muon(together, 0.1), [Muon([weight], 0.1) for weight in alone]
    for step in range(4):
        for i, (one, other) in enumerate(zip(together, alone, strict=True)):
            gradient = torch.randn(6, 9, generator=generator) * (1e9 if i == 1 else 1.0)
            one.grad = other.grad = None if i == 2 and step == 1 else gradient
        everybody.step()
        for optimizer in each:
            optimizer.step()
    for one, other in zip(together, alone, strict=True):
        torch.testing.assert_close(one, other, rtol=0, atol=1e-5)
