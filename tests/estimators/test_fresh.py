"""Fresh participants for an estimate: how many, from which seeds, and the same for all designs."""

import math
from types import SimpleNamespace

import numpy as np
import pytest

from tellapart.estimators import fresh
from tellapart.information.estimate import Pointwise


class Counting:
    """An estimator whose participants are random numbers."""

    def __init__(self, models):
        self.sizes, self.seeds, self.task = [], [], "task"
        self.question = SimpleNamespace(models=range(models), simulate=self.simulate)

    def simulate(self, task, design, size, rng):
        self.sizes.append(size)
        return SimpleNamespace(values=rng.random(size) + np.sum(design), failures=(f"failure {len(self.sizes)}",))

    def prepare(self, simulations):
        return simulations.values

    def pointwise(self, batch, seed, accuracy):
        self.seeds.append((seed, accuracy))
        return Pointwise(batch, np.zeros(len(batch), np.intp), (1.0,), "lower bound")


@pytest.mark.parametrize(
    ("n", "models", "sizes"),
    [(100, 1, [100]), (100, 3, [102]), (1, 3, [6]), (4096, 2, [4096]), (4097, 2, [2050] * 2), (9000, 1, [3000] * 3)],
)
def test_about_so_many_in_pieces_of_whole_models(n, models, sizes):
    estimator = Counting(models)
    points, failures = fresh.pointwise_at(estimator, np.zeros((1, 1)), n, (4, 5), accuracy=False)
    assert estimator.sizes == sizes
    assert estimator.seeds == [(piece, False) for piece in range(len(sizes))]
    expected = [np.random.default_rng([4, 5, piece]).random(size) for piece, size in enumerate(sizes)]
    np.testing.assert_array_equal(points.values, np.concatenate(expected))
    assert failures == tuple(f"failure {i + 1}" for i in range(len(sizes)))
    assert len(points.values) >= n > len(points.values) - models * (math.ceil(n / fresh.PIECE) + 5)


@pytest.mark.parametrize("count", [1, 2])
def test_each_design_meets_the_same_participants(count):
    """By threads here or by workers elsewhere."""
    workers = SimpleNamespace(count=count, map=lambda function, given: [function(*one) for one in given])
    designs = [np.full((1, 1), value) for value in (0.0, 10.0, 20.0)]
    estimator = Counting(2)
    points, failures = fresh.pointwise_at_each(estimator, designs, 50, (7,), workers, accuracy=False)
    for design, one in zip(designs, points, strict=True):
        np.testing.assert_allclose(one.values, np.random.default_rng([7, 0]).random(50) + design.item())
    assert len(failures) == 3
    assert estimator.seeds == [(0, False)] * 3
