"""What adapting is worth, stopping, two stages, and whether posteriors stay right on adaptively made data."""

from copy import copy
from dataclasses import replace

import numpy as np
import pytest
import torch
from scipy.stats import kstest
from torch import nn
from yes_no import FEW, Signals, any_slope, flat, model_of, steep, with_numbers

import tellapart as ta
from tellapart.adaptive.answers import prior_points
from tellapart.adaptive.belief import Belief
from tellapart.adaptive.learned import Learning
from tellapart.adaptive.looking import Effort
from tellapart.adaptive.playing import play, ranks_of_truth
from tellapart.adaptive.policy import Policy
from tellapart.adaptive.stages import TwoStages, stages_worth
from tellapart.adaptive.stopping import Stopping, calibration_after, calibration_on_the_way, doubts, stop, verdicts
from tellapart.adaptive.worth import worth
from tellapart.cli.adapting import _describe
from tellapart.information.estimate import Difference, Pointwise
from tellapart.question import Question
from tellapart.report.adapting import in_words
from tellapart.search.amortized import Amortized

PEOPLE = 60
"""Simulated participants; the difference that is looked for is then more than four standard errors."""


@pytest.fixture(scope="module", autouse=True)
def fewer_rows_and_draws():
    with with_numbers({**FEW, "tellapart.adaptive.worth.POINTS": 3, "tellapart.adaptive.worth.MOMENTS": 2}):
        yield


def quick(policy):
    """The same policy with one look, of rows that are an eighth apart: what it is worth to look around them is not asked here."""
    return replace(policy, way=replace(policy.way, effort=Effort(3, 0, (), 3, again=0)))


@pytest.fixture(scope="module")
def which_threshold(which_threshold):
    return quick(which_threshold)


@pytest.fixture(scope="module")
def which_model(which_model):
    return quick(which_model)


@pytest.fixture(scope="module")
def adapted(which_threshold):
    """Beside a poor plan: a signal that is above nearly everybody's threshold, six times."""
    return worth(Policy(which_threshold.way, np.full((6, 1), 3.0)), PEOPLE, seed=2)


def test_adapting_pays_beside_a_poor_plan(adapted):
    """Signals near a participant's own threshold tell more; the false alarm rate is 1e-4."""
    assert adapted.difference.nats > 3.7 * adapted.difference.se
    assert adapted.verdict == "worth it"
    assert adapted.equal < 6
    assert adapted.policy.kind == "lower bound"
    assert replace(adapted, limit=1e9).late == ""
    assert "the planned block is" in replace(adapted, limit=1e-9).late


def test_adapting_is_not_worth_it_where_the_plan_cannot_be_bettered(which_threshold):
    """One block: the plan is the best first signal, and there is nothing to adapt to."""
    first = which_threshold.decide(which_threshold.task.nothing(1))[0]
    plan = np.repeat(np.array(first.row)[None], 6, axis=0)
    cut = worth(Policy(which_threshold.way, plan), 3, seed=3)
    assert abs(cut.curve[0][3].nats) < 1e-9
    same = replace(cut, difference=cut.curve[0][3])
    assert same.verdict == "not worth it here"


@pytest.mark.parametrize(
    ("nats", "se", "verdict"),
    [
        (0.3, 0.1, "worth it"),
        (0.3, 0.2, "not clear"),
        (-0.05, 0.14, "not clear"),
        (-0.3, 0.1, "not worth it here"),
        (0.0, 0.0, "not worth it here"),
    ],
)
def test_a_difference_that_is_not_clear_is_not_called_so(adapted, nats, se, verdict):
    """Below 0 by chance is no reason to advise against adapting: 0.2 nats may be behind -0.05 ± 0.14."""
    fixed = replace(adapted.fixed, nats=2.0)
    assert replace(adapted, fixed=fixed, difference=Difference(nats, se)).verdict == verdict


def test_what_is_not_worth_it_is_said_with_its_error_and_the_number_of_people(adapted):
    """On the screen and in the report; and nothing is said of blocks after which adapting had told as much."""
    same = replace(adapted, difference=Difference(0.001, 0.004))
    printed, written = "\n".join(_describe(same, ta.Study(Signals(), any_slope(), "estimate"))), in_words(same.to_json())
    for text in (printed, written):
        assert "not worth it here" in text
        assert "+0.001 ± 0.004" in text
        assert f"{PEOPLE} simulated participants" in text
        assert "as much as" not in text
    assert "as much as" in in_words(adapted.to_json())


@pytest.mark.parametrize(("in_the_end", "equal"), [(0.6, 6), (0.3, None)])
def test_to_tell_as_much_once_by_chance_is_not_to_tell_as_much(which_threshold, monkeypatch, in_the_end, equal):
    """From the number of blocks that is named on, the policy is never below the whole fixed design, which tells 0.4."""

    def points(policy, played, blocks):
        people, told = played.simulations, {1: 0.5, 4: 0.2, 6: in_the_end}
        nats = told[blocks] if (people.designs != policy.plan).any() else 0.4
        return Pointwise(np.full(len(played), nats), people.model, policy.way.question.prior, "lower bound", None, None)

    monkeypatch.setattr("tellapart.adaptive.worth._points", points)
    assert worth(Policy(which_threshold.way, np.zeros((6, 1))), 2, seed=4).equal == equal


def test_what_is_wrong_with_posteriors_is_said_with_what_to_do(adapted):
    assert adapted.doubts == ""
    (first, *others) = adapted.parameters
    wrong = replace(adapted, parameters=(replace(first, verdict="overconfident"), *others))
    assert "any-slope.threshold: overconfident" in wrong.doubts
    assert "steps in [search]" in wrong.to_json()["doubts"]


def failing(on_error):
    """A question about people who cannot be simulated if their threshold is high and they are shown a signal that is."""

    @ta.model(name="any-slope", parameters=any_slope().parameters, vectorised=True)
    def model(parameters, designs, rng, task):
        if ((parameters["threshold"] > 0.6) & (designs > 0.9).any((1, 2))).any():
            raise ValueError("too high")
        return any_slope().simulate(parameters, designs, rng, task)

    return Question((model(),), "estimate", on_error=on_error)


def test_who_fails_at_what_the_policy_gives_is_left_out_of_both_and_counted(which_threshold, about):
    """The fixed design shows everybody a signal of 0, at which nobody fails; who is left is compared with themselves."""
    low = Policy(about(which_threshold, failing("skip")).way, np.zeros((6, 1)))
    found = worth(quick(low), 10, seed=5)
    high = found.dropped.policy
    assert high > 0
    assert (found.dropped.fixed, found.dropped.replaced, found.dropped.of) == (0, 0, 10)
    assert found.policy.n == found.fixed.n == len(found.played) == 10 - high
    assert found.dropped.difference.nats < found.difference.nats
    assert found.to_json()["dropped"]["first"]["error"] == "ValueError: too high"
    assert f"{high} of 10 participants could not be simulated" in str(found.dropped)


def test_who_fails_stops_the_comparison_if_the_study_says_so(which_threshold, about):
    low = Policy(about(which_threshold, failing("stop")).way, np.zeros((6, 1)))
    with pytest.raises(ta.ModelError, match="failed in a simulation"):
        worth(quick(low), 10, seed=5)


def test_posteriors_stay_calibrated_on_adaptive_data(adapted):
    """Ranks of true parameters after all blocks; the questions put to them have a false alarm rate of 0.01, for fixed seeds."""
    assert {part.verdict for part in adapted.parameters} == {"no error found"}


def test_overconfidence_on_adaptive_data_is_noticed(adapted):
    played = adapted.played
    sharpened = replace(played, ranks=np.where(played.ranks < 0.5, played.ranks**2, 1 - (1 - played.ranks) ** 2))
    _, parameters = calibration_after(sharpened, np.full(len(played), 6))
    assert any(part.verdict != "no error found" for part in parameters)


class Sharper(nn.Module):
    """A law that is twice as sure of answers as it should be."""

    def __init__(self, law):
        super().__init__()
        self.law = law

    def forward(self, z, x):
        return torch.log_softmax(2.0 * self.law(z, x), -1)


def test_posteriors_are_checked_before_anybody_is_decided_for(which_model):
    """The false alarm rate of a right law is 0.01."""
    assert doubts(verdicts(calibration_on_the_way(which_model, 1)), "anywhere") == ""
    answers = copy(which_model.way.answers)
    answers._modules = {**answers._modules, "laws": nn.ModuleList(Sharper(law) for law in answers.laws)}
    answers.memory = {}
    sure = replace(which_model, way=replace(which_model.way, answers=answers))
    found = doubts(verdicts(calibration_on_the_way(sure, 1)), "anywhere")
    assert "overconfident" in found
    assert "steps in [search]" in found


def test_participants_stop_when_enough_is_known(which_threshold, adapted):
    question = which_threshold.way.question
    loose, strict = (stop(adapted.played, question, Stopping(narrow=narrow)) for narrow in (0.8, 0.3))
    assert loose.saved[0] > strict.saved[0]
    assert (loose.blocks >= 1).all()
    assert {part.verdict for part in loose.parameters} == {"no error found"}
    known = adapted.played.sd[np.arange(PEOPLE), loose.blocks].max(1)
    assert (known[loose.blocks < 6] <= 0.8).all()


def test_models_are_calibrated_when_participants_stop(which_model):
    """Stated probability and how often it came true; 5 standard errors."""
    question = which_model.way.question
    people = question.simulate(which_model.task, which_model.plan, 40, np.random.default_rng([4, 97]))
    played = play(which_model, people, np.random.default_rng([4, 98]))
    stopped = stop(played, question, Stopping(sure=0.7))
    stated = played.probabilities[np.arange(40), stopped.blocks].max(1)
    assert abs(stopped.accuracy - stated.mean()) < 5 * np.sqrt((stated * (1 - stated)).sum()) / 40
    assert stopped.models.verdict == "no error found"


def test_a_rule_by_which_nobody_can_stop_is_refused():
    with pytest.raises(ta.StudyError, match="Nobody can stop"):
        Stopping(sure=1.5)


def test_two_stages_ask_about_models_then_about_the_winner(which_model):
    rule = TwoStages(which_model.way.question, 2, 0.95, 6)
    belief = which_model.belief(which_model.task.nothing(1), which_model.plan, 0)
    assert rule(belief, 0)[1].goal == "discriminate"
    winner, question = rule(belief, 2)
    assert question.goal == "both"
    assert sorted(winner.probabilities) == [0.0, 1.0]
    certain = replace(belief, probabilities=np.array([0.99, 0.01]))
    assert rule(certain, 0)[1].goal == "both"


def test_two_stages_are_compared_with_a_fixed_second_stage(which_model):
    people = which_model.way.question.simulate(which_model.task, which_model.plan, 6, np.random.default_rng(0))
    found = stages_worth(which_model, TwoStages(which_model.way.question, 3, 0.95, 6), people, seed=1)
    first = found.adaptive.simulations.designs[:, :3]
    np.testing.assert_array_equal(first, found.fixed.simulations.designs[:, :3])
    assert found.gain.se > 0


def test_a_first_stage_that_is_over_early_is_followed_by_the_fixed_second_stage(which_model):
    """Blocks that the policy would choose between the moment when a model is sure and the last block of the first stage are not fixed."""
    people = which_model.way.question.simulate(which_model.task, which_model.plan, 6, np.random.default_rng(0))
    found = stages_worth(which_model, TwoStages(which_model.way.question, 5, 0.6, 6), people, seed=1)
    sure = found.adaptive.probabilities[:, :5].max(-1) >= 0.6
    ends = np.where(sure.any(1), sure.argmax(1), 5)
    assert (ends < 5).any()
    for end, chosen, fixed in zip(ends, found.adaptive.simulations.designs, found.fixed.simulations.designs, strict=True):
        np.testing.assert_array_equal(fixed[:end], chosen[:end])
        np.testing.assert_array_equal(fixed[end:], np.repeat(fixed[end:][:1], 6 - end, axis=0))


class Balanced(Signals):
    """Signals whose sum is 0."""

    @property
    def design_space(self):
        signal = ta.Variable("signal", -3, 3)
        return ta.DesignSpace(self.blocks, [signal], ta.Symmetry(blocks=True), [ta.fixed_total([signal], "signal", self.blocks, 0.0)])

    def baseline(self, n, rng):
        return self.design_space.repair(super().baseline(n, rng))


def test_a_fixed_second_stage_obeys_rules_over_blocks_after_each_first_stage():
    """The sum of the signals is 0 for everybody, whatever the first stage showed them. Nothing has to be learned for that."""
    task, question = Balanced(blocks=3), Question((steep(), flat()), "discriminate")
    policy = quick(Learning(task, question, Amortized(), seed=3, steps=1).policy(np.array([[1.0], [-2.0], [1.0]]), None))
    people = question.simulate(task, policy.plan, 3, np.random.default_rng(0))
    designs = stages_worth(policy, TwoStages(question, 1, 0.95, 3), people, seed=1).fixed.simulations.designs
    assert len(np.unique(designs[:, 0])) > 0
    np.testing.assert_allclose(designs.sum(1), 0.0, atol=0.02)


def test_who_was_run_against_a_rule_is_named():
    task, question = Balanced(blocks=3), Question((steep(), flat()), "discriminate")
    policy = quick(Learning(task, question, Amortized(), seed=3, steps=1).policy(np.array([[1.0], [-2.0], [1.0]]), None))
    people = question.simulate(task, policy.plan, 2, np.random.default_rng(0)).behavior
    with pytest.raises(ta.DesignError, match="participant 1"):
        policy.decide(people, np.array([[[1.0], [-2.0], [1.0]], [[3.0], [3.0], [1.0]]]), 2)


def test_a_second_stage_of_one_participant_has_no_error(which_model):
    """Nor has that of nobody, whose winner was never right."""
    people = which_model.way.question.simulate(which_model.task, which_model.plan, 2, np.random.default_rng(6))
    assert stages_worth(which_model, TwoStages(which_model.way.question, 1, 0.95, 6), people[:1], seed=1).gain is None


def test_two_stages_need_two_models_and_two_blocks(which_threshold):
    with pytest.raises(ta.StudyError, match="two stages"):
        TwoStages(which_threshold.way.question, 2, 0.95, 6)
    with pytest.raises(ta.StudyError, match="no block for the second"):
        TwoStages(Question((ta.AEG(), ta.GLS()), "both"), 2, 0.95, Signals(blocks=2).blocks)
    with pytest.raises(ta.StudyError, match="between 0 and 1"):
        TwoStages(Question((ta.AEG(), ta.GLS()), "both"), 1, 7.0, Signals(blocks=2).blocks)


def test_ranks_of_levels_are_uniform_if_the_posterior_is_right():
    """Before any data the posterior is the prior; by a Kolmogorov-Smirnov test with a false alarm of 1e-4."""
    question = Question((model_of("levels", {"threshold": ta.Integers(0, 2)}, lambda p: 1.0)(),), "estimate")
    people = question.simulate(Signals(1), [[0.0]], 600, np.random.default_rng(1))
    points, ties = prior_points(1), np.random.default_rng(2)
    belief = Belief(np.ones(1), (points,), (np.full(len(points), 1 / len(points)),))
    ranks = [ranks_of_truth(belief, people, i, ties)[0] for i in range(600)]
    assert kstest(ranks, "uniform").pvalue > 1e-4
