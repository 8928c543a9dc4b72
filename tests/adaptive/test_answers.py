"""The learned law of answers, what is known by it, and what next blocks would tell, against likelihoods."""

from copy import copy

import numpy as np
import pytest
import torch
from scipy.stats import binom, hypergeom
from yes_no import Signals, any_slope, exact_yes, flat, knowing, steep

import tellapart as ta
from tellapart.adaptive import belief as belief_module
from tellapart.adaptive.answers import Answers, learn_law, prior_points
from tellapart.adaptive.belief import Said, belief_after, value_of
from tellapart.adaptive.by_answers import ByAnswers
from tellapart.adaptive.codes import Codes
from tellapart.adaptive.gain import Outlook
from tellapart.adaptive.learned import Learning
from tellapart.adaptive.policy import Policy
from tellapart.behavior import Behavior
from tellapart.question import Question
from tellapart.search.amortized import Amortized

GRID = np.linspace(-3, 3, 61)
LATTICE = np.stack(np.meshgrid(np.linspace(-4, 4, 161), np.linspace(-4, 4, 161), indexing="ij"), -1)


def said(signals, answers):
    """Answers 0 or 1 to signals."""
    return Said(np.array(signals, float)[:, None], np.arange(len(signals)), np.eye(2)[np.array(answers, int)])


def entropy(p):
    return -(p * np.log(np.maximum(p, 1e-300)) + (1 - p) * np.log(np.maximum(1 - p, 1e-300)))


def test_codes_of_a_block_count_its_responses():
    codes = Codes("yes", 2, 3)
    assert sorted(codes.counts.tolist()) == [[0, 3], [1, 2], [2, 1], [3, 0]]
    behavior = Behavior({"yes": np.array([[[1, 0, 1]]], np.int8)})
    assert codes.counts[codes.seen(behavior)[0, 0].argmax()].tolist() == [1, 2]


def test_missed_trials_are_some_of_the_block_at_random():
    codes = Codes("yes", 2, 5)
    behavior = Behavior({"yes": np.array([[[1, 1, 0, 0, 0]]], np.int8)}, np.array([[[True, True, True, False, False]]]))
    expected = [hypergeom.pmf(2, 5, yes, 3) for _, yes in codes.counts]
    np.testing.assert_allclose(codes.seen(behavior)[0, 0], expected, atol=1e-12)


def test_a_block_that_was_missed_says_nothing():
    behavior = Behavior({"yes": np.zeros((1, 1, 5), np.int8)}, np.zeros((1, 1, 5), bool))
    assert (Codes("yes", 2, 5).seen(behavior) == 1).all()


def test_tasks_whose_blocks_have_too_many_answers_have_no_codes():
    assert Codes.of(Signals(trials=63)) is not None
    assert Codes.of(Signals(trials=64)) is None


def test_blocks_that_are_as_long_as_the_design_says_have_no_codes():
    """A shorter block would be taken for a whole one of which trials were missed, at a design that was never learned."""

    class Shared(Signals):
        def lengths(self, designs):
            return np.ones(designs.shape[:2], np.intp)

    assert Codes.of(Signals(trials=3)) is not None
    assert Codes.of(Shared(trials=3)) is None


@pytest.mark.parametrize("model", [steep, flat])
def test_the_law_is_the_likelihood(which_model, model):
    answers, m = which_model.way.answers, int(model is flat)
    z = np.linspace(-2.5, 2.5, 41)[:, None]
    with torch.no_grad():
        law = answers.laws[m](torch.from_numpy(z.astype(np.float32)), answers.described(GRID[:, None], 0)[:, None]).exp()[..., 1].numpy()
    assert np.abs(law - exact_yes(model(), GRID, z)).mean() < 0.02


def test_people_who_cannot_be_simulated_are_not_left_out_in_silence():
    """The law is of those who can be: the study says whether that will do, and if most cannot, it never does."""

    @ta.model(name="fails", parameters={"bias": ta.Uniform(0, 1)})
    def fails(parameters, design, rng, task):
        if parameters["bias"] > 0.5:
            raise ValueError("too much bias")
        return {"yes": rng.random((task.blocks, task.trials)) < parameters["bias"]}

    for on_error, message in (("stop", "failed in a simulation"), ("skip", "too many others to be skipped")):
        question = Question((fails(),), "estimate", on_error=on_error)
        answers = Answers(Signals(), question, Codes.of(Signals()), 3)
        with pytest.raises(ta.ModelError, match=message):
            learn_law(answers, 0, 1)


def test_laws_that_are_learned_are_kept_when_learning_is_stopped(tmp_path):
    question, heard = Question((steep(), flat()), "discriminate"), []

    def learn(folder, stopped=""):
        def hear(done, total, stage="", detail=""):
            heard.append(detail)
            if detail == stopped:
                raise KeyboardInterrupt

        folder.mkdir(exist_ok=True)
        Learning(Signals(), question, Amortized(), 1, folder, steps=3).policy(np.zeros((6, 1)), None, hear)
        return [(folder / f"answers-{m}.safetensors").read_bytes() for m in range(2)]

    once = learn(tmp_path / "whole")
    with pytest.raises(KeyboardInterrupt):
        learn(tmp_path / "stopped", "flat")
    assert learn(tmp_path / "stopped") == once
    assert heard == ["steep", "flat", "steep", "flat", "flat"]


def test_the_law_knows_which_block_it_is_where_a_model_does():
    """The task says that blocks can change places, and somebody who gets tired does not agree."""

    def tired(parameters, designs, rng, task):
        yes = parameters["p"][:, None] * 0.5 ** np.arange(task.blocks)
        return {"yes": rng.random((len(designs), task.blocks, task.trials)) < yes[..., None]}

    models = (ta.model(name="tired", parameters={"p": ta.Uniform(0, 1)}, vectorised=True)(tired)(), steep())
    policy = Learning(Signals(), Question(models, "discriminate"), Amortized(), 1, steps=1).policy(np.zeros((6, 1)), None)
    assert policy.way.answers.ordered


def exact_weights(model, z, signals, answers):
    """p(answers | z), (J,)."""
    p = exact_yes(model, signals, z)
    return np.where(np.array(answers)[:, None] == 1, p, 1 - p).prod(0)


def test_what_is_known_is_the_posterior(which_model):
    """Model probabilities and the mean and width of thresholds, against a sum over fine points."""
    told = said([0.0, 1.0, -1.0, 0.5], [1, 1, 0, 0])
    belief = belief_after(which_model.way.answers, told, np.random.default_rng(0))
    z = np.linspace(-5, 5, 2001)[:, None]
    prior = np.exp(-0.5 * z[:, 0] ** 2)
    weights = [prior * exact_weights(model(), z, told.rows[:, 0], [1, 1, 0, 0]) for model in (steep, flat)]
    evidence = np.array([weight.sum() for weight in weights])
    np.testing.assert_allclose(belief.probabilities, evidence / evidence.sum(), atol=0.03)
    for m, weight in enumerate(weights):
        mean = weight @ z[:, 0] / weight.sum()
        assert abs(belief.mean(m)[0] - mean) < 0.05
        assert abs(belief.sd(m)[0] - np.sqrt(weight @ (z[:, 0] - mean) ** 2 / weight.sum())) < 0.05


def test_draws_are_carried_to_a_narrow_posterior(which_threshold, monkeypatch):
    """Where too few points of the prior carry the weight, stages reach the same posterior and evidence as the weighted points."""
    answers, rng = copy(which_threshold.way.answers), np.random.default_rng(1)
    answers.points = answers.points_known = (prior_points(2),)  # all of them, so that the weighted ones are enough
    answers.memory = {}
    signals = rng.uniform(-1, 2, 72)
    told = said(signals, rng.random(72) < 1 / (1 + np.exp(-2.0 * (signals - 0.7))))
    weighted, value = belief_after(answers, told, np.random.default_rng(2)), value_of(answers, told, 0, np.zeros(2), [0, 1], rng)
    assert weighted.draws[0] is answers.points[0]
    monkeypatch.setattr(belief_module, "LEAST", 500)
    staged = belief_after(answers, told, np.random.default_rng(2))
    assert staged.draws[0].shape == (1024, 2)
    assert (np.abs(staged.mean(0) - weighted.mean(0)) < 0.25 * weighted.sd(0)).all()
    assert (np.abs(np.log(staged.sd(0) / weighted.sd(0))) < 0.25).all()
    assert value_of(answers, told, 0, np.zeros(2), [0, 1], np.random.default_rng(2)) == pytest.approx(value, abs=0.2)


@pytest.mark.parametrize("spread", [0.0, 0.6], ids=["draws miss the posterior", "draws cover it"])
def test_what_data_tell_is_not_said_to_be_more_than_it_is(monkeypatch, spread):
    """If draws miss the posterior, the evidence is too low, and values were too high by what was missed. With the truth among the draws,
    1 / Z is 1 / p(answers) on average, here over truths from the exact posterior, and values may be too low. False alarms: 1e-4 each."""
    answers, rng, people = knowing(Question((any_slope(),), "estimate"), Signals(blocks=16)), np.random.default_rng(6), 400
    signals = rng.uniform(-1, 2, 16)
    given = rng.random(16) < exact_yes(any_slope(), signals, np.array([[1.0, 0.5]]))[:, 0]
    z = LATTICE.reshape(-1, 2)
    weight = np.exp(-0.5 * (z**2).sum(1))
    evidence = weight @ exact_weights(any_slope(), z, signals, given) / weight.sum()
    weight = weight * exact_weights(any_slope(), z, signals, given)
    monkeypatch.setattr(belief_module, "DRAWS", 8)
    monkeypatch.setattr(belief_module, "LEAST", 0)
    draws = [1.0, 0.5] + spread * rng.standard_normal((40, 2)) if spread else np.array([[-1.0, 0.0], [-1.2, -0.5], [0.0, 1.0], [2.0, 1.0]])
    answers.points = answers.points_known = (draws,)
    over = np.zeros(people)
    for i, truth in enumerate(z[rng.choice(len(z), people, p=weight / weight.sum())]):
        exact = np.log(exact_weights(any_slope(), truth[None], signals, given)[0] / evidence)
        over[i] = value_of(answers, said(signals, given), 0, truth, [0, 1], np.random.default_rng([7, i])) - exact
    assert over.mean() < 3.7 * over.std() / people**0.5
    ratio = np.exp(over)  # p(answers) / Z, whose tails are long where the posterior is missed
    assert not spread or abs(ratio.mean() - 1) < 3.9 * ratio.std() / people**0.5


def exact_gains(models, shares, draws, weights, signals, about_models):
    """I(v; y) of each signal by likelihood, for weighted draws."""
    p = [exact_yes(model, signals, z) for model, z in zip(models, draws, strict=True)]
    averages = [one @ weight for one, weight in zip(p, weights, strict=True)]
    left = [entropy(a) if about_models else entropy(one) @ w for a, one, w in zip(averages, p, weights, strict=True)]
    whole = sum(share * average for share, average in zip(shares, averages, strict=True))
    return entropy(whole) - sum(share * one for share, one in zip(shares, left, strict=True))


def test_regret_of_the_next_question_about_models(which_model):
    """The chosen signal's exact gain is within 0.005 nats or 2 % of the best one's."""
    for signals, answers in (([], []), ([0.0], [1]), ([0.0, 1.0, -0.5], [1, 0, 1])):
        behavior = Behavior({"yes": np.array(answers, np.int8).reshape(1, -1, 1)}) if answers else which_model.task.nothing(1)
        designs = which_model.plan.copy()
        designs[: len(signals), 0] = signals
        decision = which_model.decide(behavior, designs)[0]
        z = np.linspace(-5, 5, 2001)[:, None]
        weights = [
            np.exp(-0.5 * z[:, 0] ** 2) * (exact_weights(m(), z, np.array(signals), answers) if signals else 1.0) for m in (steep, flat)
        ]
        evidence = np.array([weight.sum() for weight in weights])
        exact = exact_gains(
            (steep(), flat()), evidence / evidence.sum(), (z, z), [w / w.sum() for w in weights], np.append(GRID, decision.row[0]), True
        )
        assert exact[:-1].max() - exact[-1] < max(0.005, 0.02 * exact[:-1].max())


def test_regret_of_the_next_question_about_parameters(which_threshold):
    z = np.stack(np.meshgrid(np.linspace(-4, 4, 161), np.linspace(-4, 4, 161), indexing="ij"), -1).reshape(-1, 2)
    for signals, answers in (([], []), ([0.0, 1.0], [1, 0])):
        behavior = Behavior({"yes": np.array(answers, np.int8).reshape(1, -1, 1)}) if answers else which_threshold.task.nothing(1)
        designs = which_threshold.plan.copy()
        designs[: len(signals), 0] = signals
        decision = which_threshold.decide(behavior, designs)[0]
        weight = np.exp(-0.5 * (z**2).sum(1)) * (exact_weights(any_slope(), z, np.array(signals), answers) if signals else 1.0)
        exact = exact_gains((any_slope(),), [1.0], [z], [weight / weight.sum()], np.append(GRID, decision.row[0]), False)
        assert exact[:-1].max() - exact[-1] < max(0.005, 0.02 * exact[:-1].max())
        assert decision.gain.nats == pytest.approx(exact[-1], abs=0.02)


def test_nuisance_parameters_are_averaged_over(which_threshold, about):
    """What is learned of the threshold alone is less than of both, and a signal far from it tells of neither."""
    answers, question = which_threshold.way.answers, which_threshold.way.question
    belief = belief_after(answers, said([0.0], [1]), np.random.default_rng(0)).some(512)
    some = Question(question.models, "estimate", about=("any-slope.threshold",))
    rows = GRID[:, None]
    both, one = (Outlook(answers, belief, asked).gains(rows, 1).nats for asked in (question, some))
    assert (one < both + 0.01).all()
    assert one.max() > 0.05
    policy = about(which_threshold, some)
    assert policy.decide(which_threshold.task.nothing(1))[0].gain.nats > 0.05


def exact_gains_of_one(asked, signals, answers):
    """I(parameter number `asked`; y | answers) of GRID by likelihood, the other parameter being nuisance."""
    z = LATTICE.reshape(-1, 2)
    weight = np.exp(-0.5 * (z**2).sum(1)) * (exact_weights(any_slope(), z, np.array(signals), answers) if len(signals) else 1.0)
    weight = (weight / weight.sum()).reshape(161, 161)
    p = exact_yes(any_slope(), GRID, z).reshape(-1, 161, 161)
    of_v = weight.sum(1 - asked)
    p_v = (p * weight).sum(2 - asked) / np.maximum(of_v, 1e-300)
    return entropy((p * weight).sum((1, 2))) - entropy(p_v) @ of_v


@pytest.mark.parametrize("asked", ["threshold", "log_slope"])
def test_what_is_learned_of_nuisance_is_not_taken_for_what_is_asked(asked):
    """Gains about one parameter, against a sum over fine points; of the slope little can be learned, so little misleads."""
    some, p = Question((any_slope(),), "estimate", about=(f"any-slope.{asked}",)), int(asked == "log_slope")
    answers, rng = knowing(some, Signals()), np.random.default_rng(4)
    policy = Policy(ByAnswers(answers, some, 3), np.zeros((6, 1)))
    for count in (0, 2, 5):
        signals, given = rng.uniform(-2, 2, count), rng.integers(0, 2, count)
        belief, exact = belief_after(answers, said(signals, given), np.random.default_rng(0)), exact_gains_of_one(p, signals, given)
        gains = Outlook(answers, belief.some(1024), some).gains(GRID[:, None], count)
        assert np.abs(gains.nats - exact).max() < 0.006
        behavior, designs = Behavior({"yes": np.append(given, np.zeros(6 - count)).reshape(1, 6, 1).astype(np.int8)}), policy.plan.copy()
        designs[:count, 0] = signals
        chosen = np.interp(policy.row(behavior, designs, count)[0], GRID, exact)
        assert exact.max() - chosen < max(0.005, 0.02 * exact.max())


def test_a_gain_about_models_is_at_most_their_entropy(which_model):
    answers, question = which_model.way.answers, which_model.way.question
    belief = belief_after(answers, said([0.0, 2.0], [1, 0]), np.random.default_rng(0))
    gains = Outlook(answers, belief, question).gains(GRID[:, None], 2)
    left = -(belief.probabilities * np.log(belief.probabilities)).sum()
    assert (gains.nats < left + 1e-6).all()
    assert (gains.nats > -1e-4).all()


def test_the_value_of_data_is_the_exact_one(which_model):
    """log p(m | y) / p(m) by the learned law, against the likelihood."""
    told, z = said([0.3, -0.7, 1.5], [1, 0, 1]), np.linspace(-5, 5, 2001)[:, None]
    evidence = [np.exp(-0.5 * z[:, 0] ** 2) @ exact_weights(m(), z, told.rows[:, 0], [1, 0, 1]) for m in (steep, flat)]
    exact = np.log(evidence[0] / np.mean(evidence))
    assert value_of(which_model.way.answers, told, 0, np.zeros(1), [], np.random.default_rng(0)) == pytest.approx(exact, abs=0.03)


def test_several_trials_of_a_block_are_counted():
    """The codes of 20 trials with a common chance have a binomial law."""
    codes = Codes("yes", 2, 20)
    assert len(codes.counts) == 21
    rng = np.random.default_rng(0)
    behavior = Behavior({"yes": (rng.random((4000, 1, 20)) < 0.3).astype(np.int8)})
    share = codes.seen(behavior)[:, 0].mean(0)
    expected = binom.pmf(codes.counts[:, 1], 20, 0.3)
    assert (np.abs(share - expected) < 5.5 * np.sqrt(expected * (1 - expected) / 4000) + 1e-3).all()  # 21 tests at 4e-8 each
