"""The independent reader: what a blind encoder misses is found, and nothing is found where nothing is missing.

Limits are five standard errors of the difference: false-alarm rates are below 1e-6.
"""

from dataclasses import dataclass

import known_law
import numpy as np
import pytest
import torch
from evidence import DESIGN, TASK, ExactEstimator, exact
from known_law import BOTH, ONE
from scipy import stats

import tellapart as ta
from tellapart.information.between import information_between
from tellapart.information.exact import exact_pointwise
from tellapart.networks.base import recorded
from tellapart.networks.sequence import SequenceEncoder
from tellapart.training import Stream, Trainer, TrainingSettings, with_missing
from tellapart.validation.reader import _gain, _Reader, read_independently, readable

SIDES = ta.BernoulliBandit(arms=3, blocks=2, trials=12)
FAIR = np.full((2, 3), 0.5)

BATCH = 128

STEPS = 45
"""Of the reader's training: enough to find more than half of what a blind encoder misses."""


@pytest.fixture(autouse=True)
def fewer_in_each_step(monkeypatch):
    monkeypatch.setattr("tellapart.validation.reader.BATCH", BATCH)


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
    readings = read_independently(estimator, FAIR, baseline, (3,), STEPS * BATCH, 1000)
    assert len(readings) == (2 if blind else 1)
    for reading in readings:
        assert (reading.trained, reading.n) == (STEPS * BATCH, 1000)
        assert reading.gain.nats < truth.nats + 5 * np.hypot(truth.se, reading.gain.se)
        if blind:
            assert truth.nats > 1.0
            assert reading.gain.nats > 0.5 * truth.nats


TEN = ta.BernoulliBandit(arms=2, blocks=10, trials=1)


def repeater(name, again):
    """Chooses what it chose in the block before with probability `again`."""

    @ta.model(name=name, parameters={}, vectorised=True)
    def simulate(values, designs, rng, task):
        changes = rng.random((len(designs), task.blocks)) > again
        changes[:, 0] = rng.random(len(designs)) < 0.5
        choice = (changes.cumsum(1) % 2)[..., None]
        return {"choice": choice, "reward": (rng.random(choice.shape) < 0.5).astype(int)}

    return simulate()


def test_what_goes_on_from_block_to_block_is_found():
    """An estimator that adds blocks up, whatever their order, knows nothing of what one taught for the next."""
    question = ta.Question((repeater("repeats", 0.9), repeater("does not", 0.5)))
    torch.manual_seed(1)
    blind = ta.PosteriorEstimator(question, SequenceEncoder(TEN, summaries=8, width=16, units=8)).eval()
    people = question.simulate(TEN, np.full((10, 2), 0.5), 4000, np.random.default_rng(8))
    same = (np.diff(people.behavior.fields["choice"][:, :, 0], axis=1) == 0).sum(1)
    odds = same * np.log(1.8) + (9 - same) * np.log(0.2)  # of repeating
    exact = np.log(2) - np.logaddexp(0, np.where(people.model == 0, -odds, odds))
    assert exact.mean() > 0.3
    missing = exact.mean() - blind.pointwise(blind.prepare(people)).values.mean()
    (reading,) = read_independently(blind, np.full((10, 2), 0.5), None, (3,), 100 * BATCH, 1000)
    assert reading.gain.nats > 0.5 * missing


def test_nothing_is_found_where_nothing_is_missing():
    """From the exact posterior, no more can be learned: a gain of five standard errors would be a false one."""
    (reading,) = read_independently(exact(), DESIGN, None, (4,), 20 * BATCH, 1000)
    assert reading.gain.nats < 5 * reading.gain.se + 1e-6


class Partial(ExactEstimator):
    """Takes the first of two models for more probable than it is."""

    def log_model_probabilities(self, inputs):
        return torch.log_softmax(super().log_model_probabilities(inputs) + torch.tensor([1.0, 0.0]), -1)


def test_what_is_of_use_to_one_model_and_harms_the_other_is_judged_by_both():
    """Models take turns in simulations: who decides how much of it is used must not be of one model, and who measures it of the other."""
    partial, plain = Partial(exact().question), exact()
    people = plain.question.simulate(TASK, DESIGN, 2000, np.random.default_rng(9))
    values = [one.pointwise(one.prepare(people)) for one in (plain, partial)]
    missing = values[0].minus(values[1])
    (reading,) = read_independently(partial, DESIGN, None, (4,), STEPS * BATCH, 2000)
    assert missing.nats > 0.05
    assert 0.5 * missing.nats < reading.gain.nats < missing.nats + 5 * np.hypot(missing.se, reading.gain.se)


class Corrected(ExactEstimator):
    """Its answer is p(v | y)^power; that before it was corrected knows nothing."""

    @property
    def quick(self):
        return ExactEstimator(self.question, self.task, 0.0)


@pytest.mark.parametrize("power", [0.0, 1.0])
def test_what_a_reader_learned_is_put_on_top_of_a_corrected_answer(power):
    """It starts from an answer that knows nothing: where the corrected one knows all, nothing is found and nothing lost."""
    people = exact().question.simulate(TASK, DESIGN, 1000, np.random.default_rng(9))
    told = exact().pointwise(exact().prepare(people)).estimate()
    (reading,) = read_independently(Corrected(exact().question, power=power), DESIGN, None, (4,), STEPS * BATCH, 1000)
    if power:
        assert -0.001 < reading.gain.nats < 5 * reading.gain.se + 1e-6
        assert reading.alone.nats < -5 * reading.alone.se
    else:
        assert 5 * reading.gain.se < reading.gain.nats < told.nats + 5 * np.hypot(told.se, reading.gain.se)


@pytest.mark.parametrize("goal", ["estimate", "both"])
@pytest.mark.parametrize("lawful", [True, False])
def test_what_a_reader_learned_of_parameters_is_put_on_top_of_what_a_law_corrected(goal, lawful):
    """It starts from a posterior that knows nothing: where the law knows all, nothing is found and nothing lost."""
    question = ONE if goal == "estimate" else BOTH
    made = known_law.estimator(question, trust=1.0 if lawful else 0.0)
    people = question.simulate(known_law.TASK, known_law.DESIGN, 2000, np.random.default_rng(9))
    exact = exact_pointwise(known_law.TASK, question, known_law.DESIGN, 2000, np.random.default_rng(9))
    missing = exact.minus(made.pointwise(made.prepare(people)))
    (reading,) = read_independently(made, known_law.DESIGN, None, (4,), STEPS * BATCH, 2000)
    if lawful:
        assert -0.001 < reading.gain.nats < 5 * reading.gain.se + 1e-6
        assert reading.alone.nats < 5 * reading.alone.se
    else:
        assert 0.5 * missing.nats < reading.gain.nats < missing.nats + 5 * np.hypot(missing.se, reading.gain.se)


def test_a_reader_begins_with_the_estimators_answer():
    (reading,) = read_independently(exact(power=3.0), DESIGN, None, (4,), 0, 300)
    assert reading.gain.nats == pytest.approx(0, abs=1e-6)


def test_no_simulations_are_used_twice(monkeypatch):
    """Those that the gain is measured on are others than those that it learned from, at each design."""
    begun, plain = [], ta.Question.simulate

    def simulate(self, task, designs, n, rng, **given):
        begun.append((tuple(rng.bit_generator.seed_seq.entropy), n, given["by_lot"]))
        return plain(self, task, designs, n, rng, **given)

    estimator, _, _ = reader_of()
    monkeypatch.setattr(ta.Question, "simulate", simulate)
    read_independently(estimator, np.full((2, 2), 0.5), HAND.baseline(3, np.random.default_rng(0)), (4,), 3 * BATCH, 100)
    assert [n for _, n, _ in begun] == [1000, BATCH, BATCH, BATCH, 100, 100]
    assert [by_lot for *_, by_lot in begun] == [False, True, True, True, False, False]
    assert len({seed for seed, *_ in begun}) == len(begun)


def test_only_posteriors_that_are_flows_or_about_models_can_be_read():
    question = ta.Question((ta.AEG(),), "estimate")
    encoder = SequenceEncoder(TASK, summaries=4, width=8, units=4)
    assert readable(ta.PosteriorEstimator(question, encoder))
    assert not readable(ta.NWJEstimator(question, encoder))
    assert readable(ta.NWJEstimator(ta.Question((ta.AEG(), ta.WSLTS())), encoder))


# by hand


def reader_of(question=None):
    torch.manual_seed(0)
    question = question or ta.Question((ta.WSLTS(), ta.AEG()), "both")
    estimator = ta.PosteriorEstimator(question, ta.HistoryEncoder(HAND)).eval()
    people = question.simulate(HAND, [[0.2, 0.8], [0.7, 0.4]], 12, np.random.default_rng(1))
    people = with_missing(people, 0.7, np.random.default_rng(2))
    return estimator, people, _Reader(estimator, people, units=3, width=5)


HAND = ta.BernoulliBandit(arms=2, blocks=2, trials=4)


def test_what_a_reader_sees():
    """Fields on their scale where they were recorded, the design, and whether a trial was."""
    _, people, reader = reader_of()
    raw, mask = recorded(reader.task, people.behavior).astype(np.float64), people.behavior.mask
    np.testing.assert_allclose(reader.centre, raw[mask].mean(0))
    np.testing.assert_allclose(reader.scale, raw[mask].std(0))
    seen = reader._inputs(people).numpy()
    fields = raw.shape[-1]
    assert reader.fields == fields
    np.testing.assert_allclose(seen[..., :fields], np.where(mask[..., None], (raw - reader.centre) / reader.scale, 0.0), atol=1e-5)
    np.testing.assert_array_equal(seen[..., -1], mask)
    assert seen.shape[-1] == reader.recurrent.input_size
    assert (np.ptp(seen[..., fields:-1], axis=(0, 2)) == 0).all()  # one design for all, the same at all trials
    reader.scale = reader.scale * 1e-3
    assert np.abs(reader._inputs(people).numpy()[..., :fields]).max() == 6.0  # nothing is very far out


def test_the_summary_of_a_reader():
    """Averages over recorded trials of what the network and the fields say, and of what follows what."""
    _, people, reader = reader_of()
    inputs = reader._inputs(people)
    with torch.no_grad():
        inputs = inputs.reshape(12, 8, -1)  # blocks one after the other
        hidden = reader.recurrent(inputs)[0]
        for n in range(12):
            there = inputs[n, :, -1]
            total = max(float(there.sum()), 1.0)
            averages = [sum(there[t] * values[n, t] for t in range(8)) for values in (hidden, inputs)]
            raw = torch.cat([inputs[n, :, : reader.fields], there[..., None]], -1) * there[..., None]
            pairs = sum(torch.outer(raw[t], raw[t - 1]) for t in range(1, 8))
            summary = torch.cat([*averages, pairs.flatten()]) / total
            expected = torch.nn.functional.silu(reader.first(summary))
            assert torch.allclose(reader(people)[n], expected, atol=1e-5)


@pytest.mark.parametrize("question", [None, ta.Question((ta.WSLTS(), ta.AEG())), ta.Question((ta.AEG(),), "estimate")])
def test_a_reader_begins_with_the_answer_of_the_estimator_and_its_gain_is_a_log_ratio(question):
    estimator, people, reader = reader_of(question)
    with torch.no_grad():
        np.testing.assert_allclose(_gain(estimator, reader, people), 0, atol=1e-5)
    torch.manual_seed(5)
    for weight in reader.parameters():
        torch.nn.init.normal_(weight, std=0.3)
    batch, expected = estimator.prepare(people), np.zeros(12)
    with torch.no_grad():
        summary = reader(people)
        for n in range(12):
            m = int(people.model[n])
            if estimator.question.about_models:
                log_q = estimator.log_model_probabilities(batch.inputs[n : n + 1])[0]
                log_r = (log_q + reader.models(summary[n])).log_softmax(-1)
                expected[n] += float(log_r[m] - log_q[m])
            if estimator.question.about_parameters:
                theta = batch.v[n : n + 1, : len(estimator.question.parameters(m))]
                u = estimator.flow(batch.inputs[n : n + 1], m).transform(theta)
                normal = stats.norm.logpdf(u.numpy()).sum()
                expected[n] += float(reader.flows[str(m)](summary[n : n + 1]).log_prob(u)[0]) - normal
        np.testing.assert_allclose(_gain(estimator, reader, people), expected, atol=1e-4)
