"""The units of what is recorded do not matter to an encoder."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest
import torch

import tellapart as ta
from tellapart.models.hidden_number import HiddenNumber
from tellapart.search.learning import Mixture
from tellapart.tasks.readings import NoisyReadings
from tellapart.training import Stream, Trainer, TrainingSettings


@dataclass(frozen=True)
class InUnits(HiddenNumber):
    """A hidden number whose readings are written in other units, from another zero."""

    unit: float = 1.0
    zero: float = 0.0
    name: ClassVar[str] = "in-units"

    def simulate(self, parameters, designs, rng, task):
        behavior = HiddenNumber.simulate(self, parameters, designs, rng, task)
        return ta.Behavior({"reading": self.zero + self.unit * behavior.fields["reading"]})


def trained(model, steps=60):
    task = NoisyReadings(1, 4)
    question = ta.Question((model,), "estimate")
    torch.manual_seed(0)
    estimator = ta.PosteriorEstimator(question, ta.SequenceEncoder(task, 16, 16, 4, 1, 1, 8))
    designs = Mixture(task)
    rng = np.random.default_rng(5)
    estimator.encoder.learn_scale(question.simulate(task, designs(500, rng), 500, rng).behavior)
    Trainer(estimator, TrainingSettings(0.04, "muon", clip=1.0), steps, 0).run(Stream(estimator, designs, 128, (1,)))
    return estimator.pointwise(estimator.simulate(np.array([[2.0]]), 2000, np.random.default_rng(2))).estimate()


@pytest.mark.parametrize(("unit", "zero"), [(0.001, 0.0), (1000.0, 1e9)])
def test_units_do_not_matter(unit, zero):
    """Small units; and large ones, a million of them from zero."""
    known = HiddenNumber.information([[2.0]], NoisyReadings(1, 4))
    got = trained(InUnits(unit, zero))
    assert got.nats > 0.9 * known
    assert got.nats < known + 4.5 * got.se


def test_a_scale_survives_the_weights(tmp_path):
    from tellapart.training import load_weights, save_weights

    task = NoisyReadings(1, 3)
    first, second = (ta.PosteriorEstimator(ta.Question((HiddenNumber(),), "estimate"), ta.SequenceEncoder(task)) for _ in range(2))
    behavior = ta.Behavior({"reading": 1000 + 7 * np.random.default_rng(0).standard_normal((50, 1, 3))})
    first.encoder.learn_scale(behavior)
    assert float(first.encoder.scale[0]) == pytest.approx(7, rel=0.3)
    save_weights(tmp_path / "weights.safetensors", first)
    load_weights(tmp_path / "weights.safetensors", second)
    designs = np.ones((50, 1, 1))
    assert torch.equal(first.encoder.prepare(behavior, designs), second.encoder.prepare(behavior, designs))
    assert float(first.encoder.prepare(behavior, designs)[..., 0].abs().max()) < 5


def test_categories_and_yes_or_no_stay_as_they_are():
    task = ta.BernoulliBandit(2, 1, 5)
    encoder = ta.SequenceEncoder(task)
    behavior = ta.Behavior({"choice": np.array([[[0, 1, 1, 0, 1]]]), "reward": np.array([[[1, 0, 1, 1, 0]]])})
    encoder.learn_scale(behavior)
    assert torch.equal(encoder.scale[:3], torch.ones(3))
    assert torch.equal(encoder.centre[:3], torch.zeros(3))
