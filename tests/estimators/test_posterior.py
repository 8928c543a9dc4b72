"""The posterior bound: a prior over models, nuisance parameters, participants that cannot be simulated, and other devices.

Where a test compares with a random spread it does so at 4.5 standard errors: 1 of 100,000 draws of the seeds would fail.
"""

import numpy as np
import pytest
import torch
import torch.fx.experimental._config
from scipy.special import ndtr

import tellapart as ta
from tellapart.information.exact import exact_pointwise
from tellapart.tasks.readings import NoisyReadings
from tellapart.tasks.sampling import sample
from tellapart.training import Stream, Trainer, TrainingSettings
from tellapart.workers import one_thread

TASK = NoisyReadings(1, 2)
DESIGN = np.array([[2.0]])


def readings(name, parameters, mean, fails=None):
    """A model whose readings have unit noise around mean(parameters), with its likelihood; those of who fails are no numbers."""

    def log_likelihood(values, behavior, designs, task):
        residual = behavior.fields["reading"] - mean(values)[:, None, None]
        return -0.5 * (residual**2 + np.log(2 * np.pi)).sum((1, 2))

    @ta.model(name=name, parameters=parameters, vectorised=True, log_likelihood=log_likelihood)
    def simulate(values, designs, rng, task):
        reading = mean(values)[:, None, None] + rng.standard_normal((len(designs), task.blocks, task.trials))
        return {"reading": reading if fails is None else np.where(fails(values)[:, None, None], np.nan, reading)}

    return simulate()


LOW, MIDDLE, HIGH = (
    readings(name, {"x": ta.Normal(0, 0.5)}, lambda v, m=m: m + v["x"]) for name, m in (("low", -2), ("middle", 0), ("high", 2))
)
SUM = readings("sum", {"a": ta.Normal(), "b": ta.Normal()}, lambda v: v["a"] + v["b"])


def trained(question, steps=100, kind=ta.PosteriorEstimator):
    torch.manual_seed(1)
    estimator = kind.for_every_design(question, ta.SequenceEncoder(TASK, 16, 16, 4, 1, 1, 8))
    with one_thread():
        trainer = Trainer(estimator, TrainingSettings(0.03, "muon", clip=2.0), steps, 1)
        trainer.run(Stream(estimator, lambda n, rng: sample(TASK.design_space, n, rng), 256, (1,)))
    return estimator


def estimated(estimator, n=6000):
    return estimator.pointwise(estimator.simulate(DESIGN, n, np.random.default_rng(5))).estimate()


def between(estimate, truth, share):
    """At least a share of the truth, and not above it beyond noise."""
    noise = 4.5 * np.hypot(estimate.se, truth.se)
    return share * truth.nats - noise < estimate.nats < truth.nats + noise


def test_models_that_are_not_equally_probable():
    question = ta.Question((LOW, MIDDLE, HIGH), prior=(0.6, 0.3, 0.1))
    estimator = trained(question)
    truth = exact_pointwise(TASK, question, DESIGN, 6000, np.random.default_rng(5)).estimate()
    estimate = estimated(estimator)
    assert truth.nats < question.most
    assert between(estimate, truth, 0.97)
    nothing = estimator.encoder.prepare(TASK.nothing(3), np.broadcast_to(DESIGN, (3, 1, 1)))
    data = question.simulate(TASK, DESIGN, 4000, np.random.default_rng(6))
    with torch.no_grad():
        shares = estimator.log_model_probabilities(estimator.inputs(data.behavior, DESIGN)).exp().numpy()
        assert torch.isfinite(estimator.log_model_probabilities(nothing)).all()
    np.testing.assert_allclose(shares.mean(0), question.prior, atol=0.03)
    assert estimate.accuracy == pytest.approx(truth.accuracy, abs=0.03)


@pytest.mark.parametrize(
    ("question", "asked", "aside"),
    [
        (ta.Question((LOW, MIDDLE, HIGH)), 0, [1, 1, 1]),
        (ta.Question((LOW, SUM)), 0, [1, 2]),
        (ta.Question((LOW, SUM), "both", about=("sum.b",)), 1, [1, 1]),
        (ta.Question((SUM,), "estimate", about=("sum.b",)), 1, [1]),
        (ta.Question((SUM,), "estimate"), 2, None),
    ],
)
def test_what_is_learned_on_the_side_is_no_part_of_the_bound(question, asked, aside):
    torch.manual_seed(0)
    estimator = ta.PosteriorEstimator.for_every_design(question, ta.SequenceEncoder(TASK, 16, 16, 4, 1, 1, 8))
    assert ([len(estimator.rest.parameters(m)) for m in range(len(question.models))] if estimator.rest else None) == aside
    batch = estimator.simulate(DESIGN, 300, np.random.default_rng(1))
    assert batch.v.shape[1] == asked + max(aside or [0])
    loss, bound = estimator.loss(batch), estimator.bound(batch)
    torch.testing.assert_close(loss, -bound.mean())
    if aside:
        weights = [estimator.encoder.last.weight, *estimator.sketch.parameters()]
        of_loss, of_bound = (torch.autograd.grad(value, weights, allow_unused=True) for value in (loss, -bound.mean()))
        assert not torch.equal(of_loss[0], of_bound[0])
        assert all(gradient is not None for gradient in of_loss[1:])
        assert all(gradient is None for gradient in of_bound[1:])


def test_parameters_that_nobody_asks_about_are_learned_on_the_side():
    """The exact posterior of x under each model is normal, and 2 readings of unit noise tell 0.5 log(1 + 2 / 4) = 0.203 nats of it."""
    estimator = trained(ta.Question((LOW, MIDDLE, HIGH)))
    batch = estimator.simulate(DESIGN, 20_000, np.random.default_rng(7))
    with torch.no_grad():
        told = estimator.sketch.information(batch.v, batch.model, estimator.encoder(batch.inputs)).double().numpy()
    noise = 4.5 * told.std() / np.sqrt(len(told))
    assert 0.9 * 0.203 - noise < told.mean() < 0.203 + noise


def test_an_estimator_that_returns_the_prior_finds_nothing():
    question = ta.Question((LOW, MIDDLE, HIGH), prior=(0.6, 0.3, 0.1))
    estimator = ta.PosteriorEstimator(question, ta.SequenceEncoder(TASK, 16, 16, 4, 1, 1, 8))
    last = estimator.classifier.network[-1][-1]
    torch.nn.init.zeros_(last.weight)
    last.bias.data = torch.tensor(question.log_prior, dtype=torch.float32)
    assert estimated(estimator).nats == pytest.approx(0.0, abs=1e-6)


def test_nuisance_parameters_are_averaged_over():
    """y = a + b + noise with T = 2: about both 1/2 log(1 + 4), about a alone 1/2 log(5 / 3)."""
    about = ta.Question(SUM, "estimate", about=("sum.a",))
    truth = exact_pointwise(TASK, about, DESIGN, 1000, np.random.default_rng(5)).estimate()
    assert truth.nats == pytest.approx(0.5 * np.log(5 / 3), abs=4.5 * truth.se)
    estimator = trained(about)
    estimate = estimated(estimator)
    assert abs(estimate.nats - 0.5 * np.log(5 / 3)) < 0.03 * 0.5 * np.log(5 / 3) + 4.5 * estimate.se
    data = ta.Behavior({"reading": np.full((1, 1, 2), 1.5)})
    z = estimator.sample_theta(estimator.inputs(data, DESIGN), 0, 4000, np.random.default_rng(1))
    assert z.shape == (4000, 1, 1)
    assert z.mean().item() == pytest.approx(1.5 * 2 / 5, abs=0.1)  # the mean of y tells a + b with noise 1/2: half of the shrunk sum
    assert z.std().item() == pytest.approx(np.sqrt(3 / 5), rel=0.1)


@pytest.mark.parametrize("kind", [ta.PosteriorEstimator, ta.NWJEstimator], ids=lambda kind: kind.name)
def test_information_about_those_that_can_be_simulated(kind):
    """Participants with theta > 2 fail and are skipped: the bound stays below the information about the others, whose prior is cut off."""
    whole = readings("whole", {"theta": ta.Normal()}, lambda v: 2 * v["theta"])
    cut = readings("cut", {"theta": ta.Normal()}, lambda v: 2 * v["theta"], fails=lambda v: v["theta"] > 2)
    question = ta.Question(cut, "estimate", on_error="skip")
    estimator = trained(question, kind=kind)
    simulations = question.simulate(TASK, DESIGN, 4000, np.random.default_rng(5))
    batch = estimator.prepare(simulations)
    kept = 4000 / (4000 + len(simulations.failures))
    assert kept == pytest.approx(ndtr(2), abs=0.01)
    assert batch.kept.exp().item() == pytest.approx(kept)
    theta, y = simulations.truth(0)["theta"], simulations.behavior
    points = np.linspace(-6, 2, 2001)
    likelihood = np.stack([whole.log_likelihood({"theta": np.full(4000, x)}, y, simulations.designs, TASK) for x in points[::20]], axis=1)
    prior = np.exp(-0.5 * points[::20] ** 2)
    evidence = np.log((np.exp(likelihood) * prior).sum(1) / prior.sum())
    truth = (whole.log_likelihood({"theta": theta}, y, simulations.designs, TASK) - evidence).mean()
    estimate = estimator.pointwise(batch).estimate()
    assert estimate.failed == len(simulations.failures)
    assert 0.85 * truth < estimate.nats < truth + 4.5 * estimate.se


def test_what_is_kept_is_told_for_each_model():
    fragile = readings("fragile", {"x": ta.Normal(0, 0.5)}, lambda v: v["x"], fails=lambda v: v["x"] > 1.2)
    question = ta.Question((LOW, fragile), "both", on_error="skip")
    estimator = ta.PosteriorEstimator(question, ta.SequenceEncoder(TASK, 8, 8, 2, 1, 1, 4), hidden=(8,))
    batch = estimator.simulate(DESIGN, 4000, np.random.default_rng(1))
    assert batch.kept[0] == 0
    assert batch.kept[1].exp().item() == pytest.approx(ndtr(2.4), abs=0.01)
    joined = type(batch).concatenate([batch, batch])
    assert (len(joined), joined.failed) == (8000, 2 * batch.failed)
    torch.testing.assert_close(joined.kept, batch.kept)


@pytest.mark.parametrize("kind", [ta.PosteriorEstimator, ta.NWJEstimator, ta.InfoNCEEstimator], ids=lambda kind: kind.name)
@pytest.mark.parametrize("goal", ["discriminate", "both"])
def test_no_estimator_mixes_devices(kind, goal):
    """On torch's `meta` device, which computes nothing and refuses tensors of another device."""
    with torch.fx.experimental._config.patch(meta_nonzero_assume_all_nonzero=True):
        question = ta.Question((LOW, SUM), goal)
        estimator = kind.for_every_design(question, ta.SequenceEncoder(TASK, 8, 8, 2, 1, 1, 4))
        batch = estimator.simulate(DESIGN, 40, np.random.default_rng(1)).to("meta")
        estimator.to("meta")
        assert estimator.bound(batch, torch.Generator()).device.type == "meta"
        estimator.loss(batch, torch.Generator()).backward()
        with torch.no_grad():
            bound, influence = estimator.measure(batch, 1)
            assert {part.device.type for part in (bound, influence) if part is not None} == {"meta"}
            assert estimator.log_model_probabilities(batch.inputs).device.type == "meta"
            if goal == "both":
                assert estimator.sample_theta(batch.inputs, 1, 5, np.random.default_rng(1)).shape == (5, 40, 2)
