"""Parameters that are levels: the bound on the dequantised scale is a bound on information about the levels."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch

from tellapart import Behavior, Categorical, Model, PosteriorEstimator, Question, SequenceEncoder
from tellapart.tasks.readings import NoisyReadings
from tellapart.training import Stream, Trainer, TrainingSettings


@dataclass(frozen=True)
class Switch(Model):
    """Readings of a hidden 0 or 1 that are all but free of noise: log 2 nats, and no more."""

    name: ClassVar[str] = "switch"

    @property
    def parameters(self):
        return {"on": Categorical((0.5, 0.5))}

    def simulate(self, parameters, designs, rng, task):
        on = parameters["on"][:, None, None]
        return Behavior({"reading": on + 0.01 * rng.standard_normal((len(on), task.blocks, task.trials))})


def test_a_hidden_level_is_worth_its_entropy_and_no_more():
    torch.manual_seed(1)
    task = NoisyReadings()
    estimator = PosteriorEstimator(Question(Switch(), "estimate"), SequenceEncoder(task, 8, 8, 2), hidden=(16,), transforms=1)
    source = Stream(estimator, lambda n, rng: task.baseline(n, rng), 128, (1,))
    Trainer(estimator, TrainingSettings(learning_rate=1e-2, pieces=1), 300, 1).run(source)
    estimate = estimator.pointwise(estimator.simulate([[1.0]], 4000, np.random.default_rng(2))).estimate()
    assert 0.9 * np.log(2) < estimate.nats < np.log(2) + 3 * estimate.se
    behavior = Behavior({"reading": np.array([[[0.0]], [[1.0]]])})
    z = estimator.sample_theta(estimator.inputs(behavior, [[1.0]]), 0, 200, np.random.default_rng(3))
    levels = Switch().parameters["on"].from_normal(z[:, :, 0].numpy())
    np.testing.assert_allclose(levels.mean(0), [0.0, 1.0], atol=0.05)


def test_the_same_simulations_have_the_same_place_in_a_step():
    estimator = PosteriorEstimator(Question(Switch(), "estimate"), SequenceEncoder(NoisyReadings(), 8, 8, 2), hidden=(16,), transforms=1)
    one, same, other = (estimator.simulate([[1.0]], 50, np.random.default_rng(seed)).v for seed in (1, 1, 2))
    assert torch.equal(one, same)
    assert not torch.equal(one, other)
    assert len(torch.unique(one)) == 50
