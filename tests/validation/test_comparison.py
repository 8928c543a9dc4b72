"""Confusion matrices and comparisons against arithmetic on a few participants."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch

from tellapart import AEG, WSLTS, BernoulliBandit, Difference, InformationEstimate, Question
from tellapart.search.base import Baseline
from tellapart.validation.comparison import ExactComparison, LearnedPosterior, _about_models, _proposal, against_baseline
from tellapart.validation.confusion import confusion, confusion_matrix
from tellapart.validation.participants import Participants, ask, plain, take_part

QUESTION = Question((WSLTS(), AEG()), prior=(0.75, 0.25))
MODEL = np.array([0, 0, 0, 1, 1])
ESTIMATED = np.array([[0.9, 0.1], [0.4, 0.6], [0.7, 0.3], [0.2, 0.8], [0.6, 0.4]])


def people(log_probabilities):
    return Participants(None, QUESTION, SimpleNamespace(model=MODEL, failures=("one", "two")), log_probabilities)


def test_a_confusion_matrix():
    found = confusion(people(np.log(ESTIMATED)))
    assert found.counts == ((2, 1), (1, 1))
    np.testing.assert_allclose(found.probabilities, [[2.0 / 3, 1.0 / 3], [0.4, 0.6]])
    assert found.accuracy == pytest.approx(0.75 * 2 / 3 + 0.25 / 2)
    assert found.accuracy_se == pytest.approx(np.sqrt(0.75**2 * (1 / 3) / 3 + 0.25**2 * 0.5 / 2))
    assert found.expected == pytest.approx(0.75 * 2 / 3 + 0.25 * 0.6)
    assert found.expected_se == pytest.approx(
        np.sqrt(0.75**2 * np.var([0.9, 0.4, 0.7], ddof=1) / 3 + 0.25**2 * np.var([0.8, 0.4], ddof=1) / 2)
    )
    assert (found.n, found.chance, found.models) == (5, 0.75, ("wslts", "aeg"))
    np.testing.assert_allclose(found.shares, [[2 / 3, 1 / 3], [0.5, 0.5]])


def test_a_model_that_nobody_follows_has_an_empty_row():
    found = confusion_matrix(QUESTION, np.zeros(2, np.intp), [[0.9, 0.1], [0.3, 0.7]])
    assert found.counts == ((1, 1), (0, 0))
    np.testing.assert_array_equal(found.shares, [[0.5, 0.5], [0.0, 0.0]])
    np.testing.assert_allclose(found.probabilities, [[0.6, 0.4], [0.0, 0.0]])


def test_exact_and_estimated_probabilities_of_models():
    """Divergence, and the largest difference of the shares that are recognised, with its standard error."""
    exact = np.array([[0.8, 0.2], [0.9, 0.1], [0.7, 0.3], [0.1, 0.9], [0.0, 1.0]])
    with np.errstate(divide="ignore"):
        evidence = np.log(exact) - QUESTION.log_prior + np.array([[3.0], [-2.0], [0.0], [1.0], [5.0]])
    divergence, one, other, largest, se = _about_models(people(np.log(ESTIMATED)), evidence)
    each = [sum(p * np.log(p / q) for p, q in zip(*row, strict=True) if p > 0) for row in zip(exact, ESTIMATED, strict=True)]
    assert divergence == pytest.approx(0.75 * np.mean(each[:3]) + 0.25 * np.mean(each[3:]))
    assert (one.counts, other.counts) == (((3, 0), (0, 2)), ((2, 1), (1, 1)))
    assert largest == pytest.approx(0.5)  # of the second model one of two, of the first one of three
    assert se == pytest.approx(0.5 / np.sqrt(2))


@pytest.mark.parametrize(("lower", "upper", "share"), [(0.4, 0.6, 0.45 / 0.5), (0.0, 0.0, None), (-0.2, 0.1, None)])
def test_the_share_of_the_middle_between_bounds(lower, upper, share):
    found = ExactComparison(10, 0.45, lower, upper, True, Difference(0, 0), Difference(0, 0))
    assert found.middle == pytest.approx((lower + upper) / 2)
    assert found.share == (None if share is None else pytest.approx(share))


def test_how_many_baseline_designs_are_behind():
    """By what the recommended design tells of the same participants; one that tells just as much is not behind."""
    estimates = tuple(InformationEstimate(nats, 0.01, "lower bound", 10) for nats in (0.25, 0.5, 0.75, 1.0))
    baseline = Baseline(np.zeros((4, 1, 1)), estimates, InformationEstimate(0.5, 0.01, "lower bound", 40), Difference(0.25, 0.01))
    found = against_baseline(InformationEstimate(2.0, 0.1, "lower bound", 10), baseline)
    assert (found.ahead, found.mean.nats, found.recommended.nats, found.gain.nats) == (2, 0.5, 2.0, 0.25)
    assert found.baseline == estimates


class Flowing:
    """An estimator whose posterior is normal around the mean of the inputs, with a standard deviation of 2."""

    has_flows, device = True, torch.device("cpu")

    def __init__(self, question=None):
        self.question, self.quick = question, self

    def inputs(self, behavior, designs):
        return torch.tensor(behavior)

    def flow(self, inputs, m):
        return torch.distributions.Independent(torch.distributions.Normal(inputs[:, None].expand(-1, 2), 2.0), 1)

    def sample_theta(self, inputs, m, draws, rng):
        return self.flow(inputs, m).mean.expand(draws, -1, -1)


def test_a_learned_posterior_is_drawn_from_and_has_a_density():
    proposal, data = LearnedPosterior(Flowing()), [1.0, 5.0]
    z = proposal.draw(0, data, None, 3, np.random.default_rng(0))
    assert (z.shape, z.dtype) == ((3, 2, 2), np.float64)
    np.testing.assert_array_equal(z[0], [[1, 1], [5, 5]])
    density = proposal.log_density(0, data, None, z + 2.0)
    np.testing.assert_allclose(density, np.full((3, 2), 2 * (-0.5 - np.log(2 * np.sqrt(2 * np.pi)))), rtol=1e-6)


def test_posteriors_are_proposals_if_they_are_of_all_parameters():
    both = Question((WSLTS(), AEG()), "both")
    assert _proposal(Flowing(both)).estimator.question is both
    assert _proposal(Flowing(QUESTION)) is None
    assert _proposal(Flowing(Question((WSLTS(), AEG()), "both", about=("aeg.phi",)))) is None
    closed = Flowing(both)
    closed.has_flows = False
    assert _proposal(closed) is None


# participants


class Telling:
    """An estimator that says what it is given: draws are the number of a participant, in tenths, and of the parameter."""

    task, in_order = "task", False

    def __init__(self, question):
        self.question, self.asked = question, []

    def inputs(self, behavior, designs):
        return torch.arange(len(behavior)) / 10.0

    def log_probabilities(self, inputs, at_once):
        self.asked.append(at_once)
        return torch.stack([inputs, 0 * inputs], -1).double() + 3.0

    def draws(self, inputs, m, count, rng, at_once):
        self.asked.append(at_once)
        return inputs.numpy()[:, None, None] + np.zeros((1, count, 1)) + np.arange(len(self.question.parameters(m)))


def simulations(question):
    return question.simulate(BernoulliBandit(2, 1, 3), [[0.2, 0.5]], 6, np.random.default_rng(1))


def test_an_estimator_is_asked_about_each_by_the_model_they_follow():
    question = Question((WSLTS(), AEG()), "both", about=("wslts.lambda", "aeg.epsilon", "aeg.phi"))
    estimator, made = Telling(question), simulations(question)
    found = ask(estimator, made, np.random.default_rng(0), draws=4)
    assert set(estimator.asked) == {512}
    np.testing.assert_allclose(np.exp(found.log_probabilities[:, 0]), 1 / (1 + np.exp(-np.arange(6) / 10)))
    assert [list(part) for part in found.draws] == [["lambda"], ["epsilon", "phi"]]
    for m, part in enumerate(found.draws):
        who = np.flatnonzero(made.model == m) / 10
        for p, (name, prior) in enumerate(question.parameters(m).items()):
            np.testing.assert_allclose(part[name], np.repeat(prior.from_normal(who + p)[:, None], 4, axis=1), rtol=1e-6)
    assert (len(found), found.failed) == (6, 0)
    chosen = np.array([True, False, True, True, False, True])
    some = found.among(chosen)
    np.testing.assert_array_equal(some.simulations.model, made.model[chosen])
    np.testing.assert_array_equal(some.log_probabilities, found.log_probabilities[chosen])
    np.testing.assert_array_equal(some.draws[1]["phi"], found.draws[1]["phi"][chosen[made.model == 1]])


def test_questions_have_only_the_answers_that_were_asked_for():
    assert ask(Telling(QUESTION), simulations(QUESTION), np.random.default_rng(0)).draws == ()
    one = Question((AEG(),), "estimate")
    found = ask(Telling(one), simulations(one), np.random.default_rng(0))
    assert found.log_probabilities is None
    assert found.draws[0]["phi"].shape == (6, 119)
    assert found.among(np.arange(6) < 2).log_probabilities is None


def test_designs_for_more_participants_than_there_are_will_do():
    estimator = Telling(QUESTION)
    estimator.task = BernoulliBandit(2, 1, 3)
    designs = np.random.default_rng(0).random((9, 1, 2))
    many = take_part(estimator, designs, 6, np.random.default_rng(1)).simulations.designs
    assert {row.tobytes() for row in many} <= {row.tobytes() for row in designs[:6]}
    assert len(many) == 6
    assert take_part(estimator, designs[0], 6, np.random.default_rng(1)).simulations.behavior.mask.all()
    assert not take_part(estimator, designs[0], 6, np.random.default_rng(1), missed=True).simulations.behavior.mask.all()
    assert plain(np.array([1, 2], np.float32)) == (1.0, 2.0)
