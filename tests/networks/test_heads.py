"""Heads: shapes, normalised probabilities, and a flow whose draws follow its density."""

import numpy as np
import pytest
import torch
from scipy import stats

from tellapart.networks.heads import AS_BEFORE, Classifier, Critic, Flow, Normals, Sketch, perceptron


def test_probabilities_sum_to_one():
    torch.manual_seed(0)
    shares = Classifier(5, 3)(torch.randn(7, 5)).exp()
    assert shares.shape == (7, 3)
    torch.testing.assert_close(shares.sum(-1), torch.ones(7))


def test_a_critic_pairs_every_v_with_every_participant():
    torch.manual_seed(0)
    critic, v, s = Critic(5, 2), torch.randn(4, 7, 2), torch.randn(7, 5)
    scores = critic(v, s)
    assert scores.shape == (4, 7)
    torch.testing.assert_close(scores[2, 3], critic(v[2, 3:4], s[3:4])[0])


def test_layers():
    assert [type(layer).__name__ for layer in perceptron([3, 4, 5, 1])] == ["Linear", "ReLU", "Linear", "ReLU", "Linear"]


@pytest.mark.parametrize("make", [lambda: Flow(3, 1, transforms=2, hidden=(16,)), lambda: Normals(3, 1, 3, 16)], ids=["flow", "normals"])
def test_a_density_and_its_draws_follow_it(make):
    """One parameter: the density integrates to 1, and the share of draws below a point is its integral up to there."""
    torch.manual_seed(0)
    head, s = make(), torch.randn(1, 3)
    grid = torch.linspace(-12, 12, 4001)
    with torch.no_grad():
        for weight in head.parameters():
            weight.mul_(1.5)  # densities that are clearly not the prior
        gain = head.information(grid[:, None], s.expand(4001, 3)).double().numpy()
        draws = head.sample(s, 20_000, torch.Generator().manual_seed(0))
    assert draws.shape == (20_000, 1, 1)
    assert np.abs(gain[1500:-1500]).max() > 0.1
    z = grid.double().numpy()
    density = np.exp(gain) * stats.norm.pdf(z)
    cumulative = np.concatenate([[0.0], np.cumsum((density[1:] + density[:-1]) / 2 * np.diff(z))])
    assert abs(cumulative[-1] - 1) < 1e-3
    below = (draws.numpy().ravel()[:, None] <= z[::200]).mean(0)
    assert np.abs(below - cumulative[::200]).max() < np.sqrt(np.log(2e6) / 40_000)


def test_normals_of_several_parameters():
    """The volume under them is 1, draws have their mean and covariance (at 4.5 standard errors), and the prior keeps its share."""
    torch.manual_seed(1)
    head, s, axis = Normals(3, 2, 3, 16), torch.randn(2, 3), torch.linspace(-9, 9, 301)
    with torch.no_grad():
        for weight in head.parameters():
            weight.mul_(1.5)
        grid = torch.cartesian_prod(axis, axis)
        both = head.information(grid[:, None].expand(-1, 2, -1), s)
        z = head.sample(s, 40_000, torch.Generator().manual_seed(2)).double()
        log_weights = head(s)[0]
    density = both.double().exp() * torch.exp(-0.5 * grid.double().square().sum(-1, keepdim=True)) / (2 * np.pi) * (18 / 300) ** 2
    torch.testing.assert_close(density.sum(0), torch.ones(2, dtype=torch.float64), atol=1e-3, rtol=0)
    mean = density.T @ grid.double()
    square = torch.einsum("gn,gp,gq->npq", density, grid.double(), grid.double())
    assert ((z.mean(0) - mean).abs() < 4.5 * z.std(0) / 200).all()
    products = z[..., None] * z[..., None, :]
    assert ((products.mean(0) - square).abs() < 4.5 * products.std(0) / 200).all()
    assert (log_weights.exp()[:, 0] >= AS_BEFORE / (1 + AS_BEFORE) - 1e-6).all()
    torch.testing.assert_close(log_weights.exp().sum(-1), torch.ones(2))


def test_a_sketch_is_a_density_of_the_parameters_that_a_model_has():
    torch.manual_seed(0)
    sketch, s, z = Sketch(3, [2, 1, 0]), torch.randn(1, 3), torch.linspace(-9, 9, 1201)
    with torch.no_grad():
        one = sketch.information(torch.stack([z, torch.full_like(z, 7.0)], -1), torch.full((1201,), 1), s.expand(1201, 3))
        none = sketch.information(torch.randn(4, 2), torch.full((4,), 2), s.expand(4, 3))
        grid = torch.cartesian_prod(z[::8], z[::8])
        two = sketch.information(grid, torch.zeros(len(grid), dtype=torch.int64), s.expand(len(grid), 3))
    area = float(torch.trapezoid(one.double().exp() * torch.exp(-0.5 * z.double() ** 2) / np.sqrt(2 * np.pi), z.double()))
    volume = float((two.double().exp() * torch.exp(-0.5 * grid.double().square().sum(-1))).sum() / (2 * np.pi)) * (8 * 18 / 1200) ** 2
    assert abs(area - 1) < 1e-4
    assert abs(volume - 1) < 1e-3
    assert (none == 0).all()
