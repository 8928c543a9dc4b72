"""The training loop: what is trained on, how fast, and going on from a checkpoint to the byte."""

import math
from unittest.mock import patch

import numpy as np
import pytest
import torch

import tellapart as ta
from tellapart.errors import RunError
from tellapart.models.hidden_number import HiddenNumber
from tellapart.tasks.readings import NoisyReadings
from tellapart.tasks.sampling import sample
from tellapart.training import Epochs, Stored, Stream, Trainer, TrainingSettings, load_weights, save_weights, with_missing
from tellapart.workers import one_thread

TASK = NoisyReadings(2, 3)
QUESTION = ta.Question(HiddenNumber(), "estimate")


@ta.model(name="constant", parameters={}, vectorised=True)
def constant(parameters, designs, rng, task):
    return {"reading": rng.standard_normal((len(designs), task.blocks, task.trials))}


def estimator(kind=ta.PosteriorEstimator, seed=0):
    torch.manual_seed(seed)
    return kind(QUESTION, ta.SequenceEncoder(TASK, 8, 8, 2, 1, 1, 4), hidden=(8,))


def stream(trained, size=16, seed=(1,), **more):
    return Stream(trained, lambda n, rng: sample(TASK.design_space, n, rng), size, seed, **more)


def data(n=50):
    return estimator().simulate([[1.0], [2.0]], n, np.random.default_rng(3))


def same(one, other):
    return all(torch.equal(a, b) for a, b in zip((one.inputs, one.model, one.v), (other.inputs, other.model, other.v), strict=True))


# -- sources


def test_a_stream_is_a_function_of_seed_and_step():
    one, again = stream(estimator()), stream(estimator(seed=5))
    assert same(one.batch(7), again.batch(7))
    one.batch(3)
    assert same(one.batch(7), again.batch(7))
    assert not same(one.batch(7), one.batch(8))
    assert not same(one.batch(7), stream(estimator(), seed=(2,)).batch(7))


def test_batches_of_a_stream_give_an_improbable_model_its_share():
    question = ta.Question([HiddenNumber(), constant()], "discriminate", prior=[0.95, 0.05])
    trained = ta.PosteriorEstimator(question, ta.SequenceEncoder(TASK, 8, 8, 2, 1, 1, 4), hidden=(8,))
    rare = [int((stream(trained, 8).batch(step).model == 1).sum()) for step in range(200)]
    # 80 are expected; the standard deviation of a sum of coins of 0.4 is 7: 5 of them, by chance less than once in 10^6
    assert abs(sum(rare) - 80) < 35


def test_an_epoch_visits_everyone_once_each_time_in_another_order():
    source = Epochs(data(), 16, (1,))
    assert source.steps == 4
    epochs = [torch.cat([source.batch(step).v for step in range(4 * epoch, 4 * epoch + 4)]) for epoch in range(2)]
    assert all(torch.equal(values.sort(0).values, source.data.v.sort(0).values) for values in epochs)
    assert not torch.equal(*epochs)
    assert same(source.batch(1), Epochs(data(), 16, (1,)).batch(1))


def test_what_is_stored_is_visited_once_too():
    trained = estimator()
    simulations = QUESTION.simulate(TASK, [[1.0], [2.0]], 50, np.random.default_rng(3))
    source = Stored(trained, simulations, 16, (1,))
    visited = torch.cat([source.batch(step).v for step in range(source.steps)])
    assert torch.equal(visited.sort(0).values, trained.prepare(simulations).v.sort(0).values)
    assert same(source.batch(5), Stored(trained, simulations, 16, (1,)).batch(5))


def test_missing_trials_are_as_if_they_had_never_been():
    simulations = QUESTION.simulate(TASK, [[1.0], [2.0]], 400, np.random.default_rng(3))
    cut = with_missing(simulations, 0.5, np.random.default_rng(1)).behavior
    whole, complete = simulations.behavior.fields["reading"], cut.mask.all((1, 2))
    assert 0.4 < complete.mean() < 0.7
    assert cut.mask.any((1, 2)).mean() > 0.95
    np.testing.assert_array_equal(cut.fields["reading"][complete], whole[complete])
    for i, b in np.argwhere(cut.mask.any(2)):
        left = cut.fields["reading"][i, b][cut.mask[i, b]]
        np.testing.assert_array_equal(left, whole[i, b][: len(left)])
    assert with_missing(simulations, 0.0, np.random.default_rng(1)) is simulations


def test_where_memory_may_go_on_only_the_last_block_that_was_begun_is_left_early():
    """Others are whole but for a few missed trials; who left early and missed none has a beginning of what there was."""
    task = ta.BernoulliBandit(2, 4, 10)
    simulations = ta.Question((ta.AEG(),), "estimate").simulate(task, np.full((4, 2), 0.5), 3000, np.random.default_rng(3))
    cut = with_missing(simulations, 1.0, np.random.default_rng(1), in_order=True).behavior
    played = cut.mask.sum(2)
    begun = (played > 0).sum(1)
    early = begun < 4
    assert early.mean() > 0.4
    assert played[np.arange(4) < begun[:, None] - 1].mean() > 8.5  # up to 30 % are missed, by two thirds of them
    assert np.bincount(played[early, begun[early] - 1], minlength=11)[1:].min() > 50
    whole = early & (cut.mask.reshape(3000, -1).cumprod(1).sum(1) == played.sum(1))
    assert whole.sum() > 300
    seen, there = cut.mask[whole], simulations.behavior.fields["choice"][whole]
    np.testing.assert_array_equal(cut.fields["choice"][whole][seen], there[seen])


def test_failures_are_kept():
    @ta.model(name="fragile", parameters={"p": ta.Uniform(0, 1)}, vectorised=True)
    def fragile(parameters, designs, rng, task):
        if (parameters["p"] > 0.99).any():
            raise ValueError("not with these")
        return {"reading": rng.normal(parameters["p"][:, None, None], 1.0, (len(designs), task.blocks, task.trials))}

    question = ta.Question(fragile(), "estimate", on_error="skip")
    source = stream(ta.PosteriorEstimator(question, ta.SequenceEncoder(TASK, 8, 8, 2, 1, 1, 4), hidden=(8,)), 400)
    batch = source.batch(0)
    assert batch.failed == len(source.failures) > 0
    assert batch.kept[0] == pytest.approx(math.log(400 / (400 + batch.failed)), rel=1e-5)


# -- schedules


def test_the_cosine_rises_then_falls_to_nothing():
    trainer = Trainer(estimator(), TrainingSettings(0.01, warmup=0.1), 100)
    rates = []
    for step in range(100):
        trainer.step = step
        rates.append(trainer.learning_rate)
    assert rates[0] == pytest.approx(0.0005)
    assert int(np.argmax(rates)) == 10
    assert max(rates) == pytest.approx(0.01)
    assert (np.diff(rates[10:]) < 0).all()
    assert rates[-1] < 2e-4


def test_a_plateau_lowers_the_rate_when_patience_is_over():
    trainer = Trainer(estimator(), TrainingSettings(0.01, schedule="plateau", factor=0.5, patience=2), 100)
    assert [trainer.told(value) for value in (1.0, 2.0, 1.9, 2.0)] == [True, True, False, False]
    assert trainer.learning_rate == 0.01
    trainer.told(1.0)
    assert trainer.learning_rate == 0.005
    assert trainer.told(2.1)
    for _ in range(3):
        trainer.told(2.1)
    assert trainer.learning_rate == 0.0025


def test_the_best_weights_are_kept_if_they_are_asked_for():
    trainer = Trainer(estimator(), TrainingSettings(schedule="plateau"), 100)
    weight = trainer.weights[0]
    for value, is_it in ((1.0, 0.25), (2.0, 0.5), (1.5, 0.75)):
        weight.data.fill_(is_it)
        trainer.told(value, keep=value < 2)
    trainer.restore()
    assert (weight == 0.25).all()
    untold = Trainer(estimator(), TrainingSettings(), 100)
    before = untold.weights[0].clone()
    untold.restore()
    assert torch.equal(untold.weights[0], before)


def test_after_is_called_on_time_and_may_stop():
    trainer, steps = Trainer(estimator(), TrainingSettings(), 20), []

    def after(trainer):
        steps.append(trainer.step)
        trainer.stopped = trainer.step >= 9

    trainer.run(Epochs(data(), 16, (1,)), every=3, after=after)
    assert steps == [3, 6, 9]
    assert trainer.step == len(trainer.history) == 9
    assert not trainer.estimator.training


def test_clipping_limits_the_step():
    sizes = []
    for clip in (math.inf, 1e-3):
        trainer = Trainer(estimator(), TrainingSettings(clip=clip), 5)
        with patch.object(
            trainer.optimizer, "step", lambda trainer=trainer: sizes.append(sum(w.grad.square().sum() for w in trainer.weights) ** 0.5)
        ):
            trainer.run(Epochs(data(), 50, (1,)), until=1)
    assert sizes[0] > 1e-2
    assert sizes[1] == pytest.approx(1e-3, rel=1e-3)


def test_the_gradient_in_pieces_is_the_gradient_of_the_whole():
    batch, gradients = data(64), []
    for pieces in (1, 4):
        trainer = Trainer(estimator(), TrainingSettings(pieces=pieces), 5)
        trainer._gradient(batch)
        gradients.append(torch.cat([weight.grad.flatten() for weight in trainer.weights]))
    torch.testing.assert_close(*gradients, rtol=1e-4, atol=1e-6)


# -- checkpoints


@pytest.mark.parametrize("kind", [ta.PosteriorEstimator, ta.NWJEstimator, ta.InfoNCEEstimator], ids=lambda kind: kind.name)
@pytest.mark.parametrize(("schedule", "optimizer"), [("cosine", "muon"), ("plateau", "muon"), ("plateau", "adam")])
def test_a_run_goes_on_from_any_step_to_the_byte(kind, schedule, optimizer, tmp_path):
    settings, steps = TrainingSettings(optimizer=optimizer, schedule=schedule, patience=0, pieces=2), 6

    def judge(trainer):
        trainer.told(trainer.recent(2))

    with one_thread():
        whole = Trainer(estimator(kind), settings, steps, 4)
        whole.run(stream(whole.estimator, incomplete=0.3), every=2, after=judge)
        for stop in range(1, steps):
            first = Trainer(estimator(kind), settings, steps, 4)
            first.run(stream(first.estimator, incomplete=0.3), until=stop, every=2, after=judge)
            first.save(tmp_path / "checkpoint")
            resumed = Trainer(estimator(kind, seed=9), settings, steps, 4)
            resumed.load(tmp_path / "checkpoint")
            assert resumed.step == stop
            resumed.run(stream(resumed.estimator, incomplete=0.3), every=2, after=judge)
            assert resumed.history == whole.history
            assert resumed.learning_rate == whole.learning_rate
            states = resumed.estimator.state_dict(), whole.estimator.state_dict()
            assert all(torch.equal(states[0][name], value) for name, value in states[1].items())


def test_weights_survive_with_all_that_an_estimator_has_learned(tmp_path):
    one, other = estimator(), estimator(seed=3)
    one.encoder.learn_scale(ta.Behavior({"reading": np.random.default_rng(1).normal(50.0, 9.0, (40, 2, 3))}))
    save_weights(tmp_path / "weights", one)
    load_weights(tmp_path / "weights", other)
    behavior = ta.Behavior({"reading": np.random.default_rng(2).normal(50.0, 9.0, (5, 2, 3))})
    np.testing.assert_array_equal(one.eval().summaries(behavior, [[1.0], [2.0]]), other.summaries(behavior, [[1.0], [2.0]]))


@pytest.mark.filterwarnings("ignore:for .*copying from a non-meta parameter")
@pytest.mark.parametrize("optimizer", ["muon", "adam"])
def test_the_moments_of_a_resumed_optimizer_are_where_its_weights_are(optimizer, tmp_path):
    """Torch's `meta` stands for another device. The count of steps stays on the CPU."""
    settings = TrainingSettings(optimizer=optimizer)
    trainer = Trainer(estimator(), settings, 5)
    trainer.run(Epochs(data(), 16, (1,)), until=2)
    trainer.save(tmp_path / "checkpoint")
    elsewhere = Trainer(estimator().to("meta"), settings, 5)
    elsewhere.load(tmp_path / "checkpoint")
    for weight in elsewhere.weights:
        places = {name: moment.device.type for name, moment in elsewhere.optimizer.state[weight].items()}
        assert places.pop("step", "cpu") == "cpu"
        assert set(places.values()) == {"meta"}
    here = Trainer(estimator(), settings, 5)
    here.load(tmp_path / "checkpoint")
    assert all(moment.device.type == "cpu" for weight in here.weights for moment in here.optimizer.state[weight].values())


def test_what_another_version_made_is_refused_with_what_to_do(tmp_path):
    trainer = Trainer(estimator(), TrainingSettings(optimizer="adam"), 5)
    trainer.run(Epochs(data(), 16, (1,)), until=1)
    trainer.save(tmp_path / "checkpoint")
    save_weights(tmp_path / "weights", trainer.estimator)
    wider = ta.PosteriorEstimator(QUESTION, ta.SequenceEncoder(TASK, 8, 9, 2, 1, 1, 4), hidden=(8,))
    for load in (
        lambda: load_weights(tmp_path / "weights", wider),
        lambda: Trainer(wider, TrainingSettings(optimizer="adam"), 5).load(tmp_path / "checkpoint"),
        lambda: Trainer(estimator(), TrainingSettings(optimizer="muon"), 5).load(tmp_path / "checkpoint"),
    ):
        with pytest.raises(RunError, match="another version") as refused:
            load()
        assert "--fresh" in str(refused.value)
