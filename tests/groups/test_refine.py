"""A learned likelihood corrects a network near the data: for people unlike the prior, and without touching the run's own network."""

from typing import ClassVar

import numpy as np
import pytest
import torch

import tellapart as ta
from tellapart.groups.evidence import network_evidence
from tellapart.groups.predictive import check_predictions
from tellapart.groups.refine import _Gain, _Like, refine
from tellapart.information.estimate import Difference
from tellapart.information.exact import model_probabilities

TASK, PEOPLE = ta.BernoulliBandit(2, 1, 10), 20


class Repeater(ta.LikelihoodModel):
    """Repeats what won, as often as its parameter says; after a loss anything."""

    name = "repeater"
    parameters: ClassVar = {"stay": ta.Uniform(0, 1)}

    def simulate(self, parameters, designs, rng, task):
        choice, reward = np.zeros((2, len(designs), 1, 10), int)
        last, again, everybody = rng.integers(0, 2, len(designs)), 0.5, np.arange(len(designs))
        for t in range(10):
            last = choice[:, 0, t] = np.where(rng.random(len(designs)) < again, last, 1 - last)
            reward[:, 0, t] = rng.random(len(designs)) < designs[everybody, 0, last]
            again = np.where(reward[:, 0, t] == 1, parameters["stay"], 0.5)
        return ta.Behavior({"choice": choice, "reward": reward})

    def log_likelihood(self, parameters, behavior, designs, task):
        choice, reward = (behavior.fields[name][:, 0] for name in ("choice", "reward"))
        stay = np.where(reward[:, :-1] == 1, parameters["stay"][:, None], 0.5)
        return np.log(0.5) + np.log(np.where(choice[:, 1:] == choice[:, :-1], stay, 1 - stay)).sum(1)


class Chance(ta.LikelihoodModel):
    """Any arm."""

    name = "chance"
    parameters: ClassVar = {}

    def simulate(self, parameters, designs, rng, task):
        return Repeater().simulate({"stay": 0.5}, designs, rng, task)

    def log_likelihood(self, parameters, behavior, designs, task):
        return np.full(len(behavior), 10 * np.log(0.5))


QUESTION = ta.Question((Repeater(), Chance()), "discriminate")


@pytest.fixture(autouse=True)
def few_to_judge_by(monkeypatch):
    monkeypatch.setattr("tellapart.groups.refine.MEASURED", 200)
    monkeypatch.setattr("tellapart.estimators.likelihood.JUDGES", 256)


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
    refined = refine(network, behavior, designs, steps=100, progress=lambda *parts: told.append(parts))
    exact = model_probabilities(TASK, QUESTION, behavior, designs[0])
    plain, corrected = (network_evidence(one, behavior, designs, 1).probabilities(QUESTION.prior) for one in (network, refined.estimator))
    apart = [np.abs(probabilities - exact).mean() for probabilities in (plain, corrected)]
    assert apart[0] > 0.2
    assert apart[1] < 0.25 * apart[0]
    assert refined.after > refined.before
    assert refined.route == "refined network"
    assert refined.simulated > 100 * 64
    assert "corrects the network; on simulated people who had no part in that, information went from" in refined.words
    assert f"({refined.after - refined.before:+.3f} ± {refined.se:.3f})" in refined.words
    assert told[-1][0] == told[-1][1] == 100
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


class Biased(torch.nn.Module):
    """A law by which everything is far more probable under the second model, whatever it is."""

    def forward(self, inputs, z, model):
        return 5.0 * model.expand(z.shape[:-1])


def test_one_that_has_a_law_is_judged_by_its_own_answers(people):
    """Not by those of its posterior alone, which tell more here: its law is absurd."""
    behavior, designs = people
    network = untrained(ta.LikelihoodEstimator)
    network.trust.fill_(1.0)
    network.law = Biased()
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


class Clumsy(ta.Model):
    """Chooses any arm, but cannot be simulated where `p` is above `most`."""

    name = "clumsy"
    parameters: ClassVar = {"p": ta.Uniform(0, 1)}
    most = 0.9

    def simulate(self, parameters, designs, rng, task):
        if (parameters["p"] > self.most).any():
            raise ValueError("p is too large")
        choice = rng.integers(0, 2, (len(designs), 1, 10))
        return ta.Behavior({"choice": choice, "reward": (rng.random(choice.shape) < 0.7).astype(int)})


@pytest.mark.parametrize("on_error", ["skip", "stop"])
def test_simulations_that_fail_are_counted_or_stop_it(people, on_error):
    """10 % of a model's people fail, by which at 125 of them there are none once in 500,000 times."""
    behavior, designs = people
    torch.manual_seed(1)
    question = ta.Question((Clumsy(), Chance()), "discriminate", on_error=on_error)
    network = ta.PosteriorEstimator(question, ta.SequenceEncoder(TASK, 16, 16, 4, 1, 1, 8)).eval()
    if on_error == "stop":
        with pytest.raises(ta.ModelError, match="p is too large"):
            refine(network, behavior, designs, steps=2)
        return
    refined = refine(network, behavior, designs, steps=2)
    assert refined.failed > 0
    prediction = check_predictions(network, behavior, designs, n=250)
    assert prediction.failed > 0


def test_a_gain_is_measured_on_people_who_had_no_part_in_learning_nor_in_deciding(people, monkeypatch):
    """Each step has people of its own; those of the last are measured, after all others."""
    behavior, designs = people
    seen, simulations = [], _Like.simulations

    def simulated(self, step, **how):
        seen.append(step)
        return simulations(self, step, **how)

    monkeypatch.setattr(_Like, "simulations", simulated)
    refine(untrained(), behavior, designs, steps=2)
    assert seen[0] == 0  # of these the scale is learned
    assert len(set(seen[1:])) == len(seen[1:])
    assert seen[-1] == max(seen)


def test_where_simulated_people_gain_nothing_it_is_said_whom_a_correction_is_for(people, monkeypatch):
    """The network knows them best: that they are told no better says little of others."""
    behavior, designs = people
    monkeypatch.setattr("tellapart.groups.refine._gain", lambda *parts: _Gain(0.5, Difference(-0.01, 0.015)))
    refined = refine(untrained(), behavior, designs, steps=2)
    assert refined.route == "refined network"
    assert "information went from 0.500 to 0.490 nats (-0.010 ± 0.015). That is no gain for people like the simulated ones" in refined.words
