"""A learned likelihood corrects a network near the data: for people unlike the prior, and without touching the run's own network."""

import numpy as np
import pytest
import torch

import tellapart as ta
from tellapart.groups.evidence import network_evidence
from tellapart.groups.refine import refine
from tellapart.information.exact import model_probabilities

TASK, PEOPLE = ta.BernoulliBandit(2, 1, 10), 40


@ta.agent(name="repeater", parameters={"stay": ta.Uniform(0, 1)})
class Repeater:
    """Repeats what won, as often as its parameter says; after a loss anything."""

    def start(self, arms):
        return np.full(arms, 0.5)

    def choose(self, state):
        return state

    def learn(self, state, choice, reward):
        stay = self.stay if reward == 1 else 0.5
        return np.where(np.arange(2) == choice, stay, 1 - stay)


@ta.agent(name="chance", parameters={})
class Chance:
    """Any arm."""

    def start(self, arms):
        return np.full(arms, 0.5)

    def choose(self, state):
        return state

    def learn(self, state, choice, reward):
        return state


QUESTION = ta.Question((Repeater(), Chance()), "discriminate")


def untrained(kind=ta.PosteriorEstimator):
    """A network that has learned nothing."""
    torch.manual_seed(1)
    return kind(QUESTION, ta.SequenceEncoder(TASK, 16, 16, 4, 1, 1, 8)).eval()


@pytest.fixture(scope="module")
def people():
    """All of them repeat what won nearly always: the corner of the prior."""
    designs = np.full((PEOPLE, 1, 2), 0.7)
    return Repeater().simulate({"stay": np.full(PEOPLE, 0.97)}, designs, np.random.default_rng(2), TASK), designs


def test_people_are_told_apart_by_what_was_learned_beside_a_network_that_knows_nothing(people):
    behavior, designs = people
    network = untrained()
    before = {name: value.clone() for name, value in network.state_dict().items()}
    told = []
    refined = refine(network, behavior, designs, steps=120, progress=lambda *parts: told.append(parts))
    exact = model_probabilities(TASK, QUESTION, behavior, designs[0])
    plain, corrected = (network_evidence(one, behavior, designs, 1).probabilities(QUESTION.prior) for one in (network, refined.estimator))
    apart = [np.abs(probabilities - exact).mean() for probabilities in (plain, corrected)]
    assert apart[0] > 0.2
    assert apart[1] < 0.25 * apart[0]
    assert refined.after > refined.before
    assert refined.route == "refined network"
    assert refined.simulated > 120 * 256
    assert "corrects the network; on other simulated people, information rose from" in refined.words
    assert f"({refined.after - refined.before:+.3f} ± {refined.se:.3f})" in refined.words
    assert told[-1][0] == told[-1][1] == 120
    for name, value in network.state_dict().items():
        assert torch.equal(value, before[name]), name


def test_a_network_without_a_posterior_is_left_as_it_is(people):
    behavior, designs = people
    critic = untrained(ta.InfoNCEEstimator)
    refined = refine(critic, behavior, designs)
    assert refined.estimator is critic
    assert refined.route == "network"
    assert refined.words == "The answers are the network's own: the estimator 'infonce' is none that a learned likelihood corrects."


def test_where_no_answer_would_be_corrected_nothing_is_learned(people):
    """One model, of which one parameter is asked about and one is not."""
    behavior, designs = people
    torch.manual_seed(1)
    question = ta.Question((ta.AEG(),), "estimate", about=("aeg.epsilon",))
    network = ta.PosteriorEstimator(question, ta.SequenceEncoder(TASK, 16, 16, 4, 1, 1, 8)).eval()
    refined = refine(network, behavior, designs)
    assert refined.estimator is network
    assert refined.words.startswith("The answers are the network's own: parameters without all others of their model are none that")


def test_one_that_has_a_law_is_judged_by_its_own_answers(people):
    """Not by those of its posterior alone, which tell more here: its law is absurd."""
    behavior, designs = people
    network = untrained(ta.LikelihoodEstimator)
    network.trust.fill_(1.0)
    with torch.no_grad():
        network.law.score.weight.mul_(300.0)
    refined = refine(network, behavior, designs, steps=2)
    assert refined.before < -0.5


def test_a_law_that_is_not_trusted_changes_nothing_and_is_not_said_to(people, monkeypatch):
    behavior, designs = people
    network = untrained()
    monkeypatch.setattr("tellapart.estimators.likelihood.TRUST", (0.0,))
    refined = refine(network, behavior, designs, steps=2)
    assert refined.estimator is network
    assert refined.after == refined.before
    assert refined.words.endswith("that told no more than the network, which is used as it was.")
