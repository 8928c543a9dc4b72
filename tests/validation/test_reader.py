"""The independent reader: what a blind encoder misses is found, and nothing is found where nothing is missing.

Limits are five standard errors of the difference: false-alarm rates are below 1e-6.
"""

from dataclasses import dataclass

import numpy as np
import pytest
import torch
from evidence import DESIGN, TASK, exact

import tellapart as ta
from tellapart.information.between import information_between
from tellapart.networks.sequence import SequenceEncoder
from tellapart.training import Stream, Trainer, TrainingSettings
from tellapart.validation.reader import read_independently, readable

SIDES = ta.BernoulliBandit(arms=3, blocks=2, trials=12)
FAIR = np.full((2, 3), 0.5)

STEPS = 45
"""Of the reader's training: enough to find more than half of what a blind encoder misses."""


@dataclass(frozen=True)
class SideBias(ta.LikelihoodModel):
    """Arms are chosen with softmax(0, b1, b2), whatever they give."""

    name = "side-bias"

    @property
    def parameters(self):
        return {"b1": ta.Normal(), "b2": ta.Normal()}

    def _log_shares(self, parameters):
        logits = np.stack([np.zeros_like(parameters["b1"]), parameters["b1"], parameters["b2"]], axis=-1)
        return logits - np.log(np.exp(logits).sum(-1, keepdims=True))

    def simulate(self, parameters, designs, rng, task):
        shares = np.exp(self._log_shares(parameters)).cumsum(-1)
        luck = rng.random((len(designs), task.blocks, task.trials, 1))
        choice = (luck > shares[:, None, None, :-1]).sum(-1).astype(np.int16)
        chance = np.take_along_axis(designs, choice.astype(int), 2)
        return ta.Behavior({"choice": choice, "reward": (rng.random(choice.shape) < chance).astype(np.int8)})

    def log_likelihood(self, parameters, behavior, designs, task):
        log_shares, choice = self._log_shares(parameters), behavior.fields["choice"]
        return sum(((choice == arm) & behavior.mask).sum((1, 2)) * log_shares[:, arm] for arm in range(3))


class Blind(SequenceEncoder):
    """Sees whether the arm of the trial before was chosen again, and what it gave; not which arm that is."""

    name = "blind"

    def features(self, behavior):
        choice = behavior.fields["choice"]
        again = np.concatenate([np.zeros_like(choice[:, :, :1]), choice[:, :, 1:] == choice[:, :, :-1]], axis=-1)
        features = np.zeros((*choice.shape, len(self.centre)), np.float32)
        features[..., 0], features[..., 1] = again, behavior.fields["reward"]
        return features


def trained(encoder, question, steps):
    torch.manual_seed(0)
    estimator = ta.PosteriorEstimator(question, encoder, hidden=(32, 32), transforms=1, bins=4)
    trainer = Trainer(estimator, TrainingSettings(learning_rate=1e-2, schedule="cosine", clip=1.0), steps)
    trainer.run(Stream(estimator, lambda n, rng: SIDES.baseline(n, rng), 128, (0,), 0.0))
    return estimator.eval()


def missed(estimator, n=600):
    """What the estimator misses of what there is to know, by likelihood."""
    question = estimator.question
    people = question.simulate(SIDES, FAIR, n, np.random.default_rng(5))
    lower, _, _ = information_between(SIDES, question, people, np.random.default_rng(6), draws=256)
    return lower.minus(estimator.pointwise(estimator.prepare(people)))


@pytest.mark.parametrize("blind", [True, False])
def test_what_a_blind_encoder_misses_is_found(blind):
    question = ta.Question((SideBias(),), "estimate")
    encoder = (Blind if blind else SequenceEncoder)(SIDES, summaries=16, width=24, units=8)
    estimator = trained(encoder, question, 60)
    truth = missed(estimator)
    baseline = SIDES.baseline(20, np.random.default_rng(1)) if blind else None
    readings = read_independently(estimator, FAIR, baseline, (3,), STEPS * 256, 1000)
    assert len(readings) == (2 if blind else 1)
    for reading in readings:
        assert (reading.trained, reading.n) == (STEPS * 256, 1000)
        assert reading.gain.nats < truth.nats + 5 * np.hypot(truth.se, reading.gain.se)
        if blind:
            assert truth.nats > 1.0
            assert reading.gain.nats > 0.5 * truth.nats


def test_nothing_is_found_where_nothing_is_missing():
    """From the exact posterior, no more can be learned: a gain of five standard errors would be a false one."""
    (reading,) = read_independently(exact(), DESIGN, None, (4,), 20 * 256, 1000)
    assert reading.gain.nats < 5 * reading.gain.se + 1e-6


def test_a_reader_begins_with_the_estimators_answer():
    (reading,) = read_independently(exact(power=3.0), DESIGN, None, (4,), 0, 300)
    assert reading.gain.nats == pytest.approx(0, abs=1e-6)


def test_only_posteriors_that_are_flows_or_about_models_can_be_read():
    question = ta.Question((ta.AEG(),), "estimate")
    encoder = SequenceEncoder(TASK, summaries=4, width=8, units=4)
    assert readable(ta.PosteriorEstimator(question, encoder))
    assert not readable(ta.NWJEstimator(question, encoder))
    assert readable(ta.NWJEstimator(ta.Question((ta.AEG(), ta.WSLTS())), encoder))
