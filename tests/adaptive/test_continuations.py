"""Next blocks of a bandit: simulated continuations, read by a network that was trained briefly."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from leaks import check_no_leak
from test_memory import CarriesOn, fragile
from yes_no import with_numbers

import tellapart as ta
from tellapart.adaptive.candidates import Candidates
from tellapart.adaptive.continuations import ByContinuations
from tellapart.adaptive.gain import Gains
from tellapart.adaptive.learned import Learning
from tellapart.adaptive.looking import best_row
from tellapart.adaptive.playing import play
from tellapart.adaptive.worth import worth
from tellapart.parts import find_part
from tellapart.question import Question, everything
from tellapart.search.amortized import Amortized

TASK = ta.BernoulliBandit(arms=2, blocks=2, trials=6)
SEARCH = Amortized(steps=8)
PLAN = np.full((2, 2), 0.5)


def policy_for(question):
    estimator = SEARCH.build(TASK, question).eval()
    return Learning(TASK, question, SEARCH, 1, steps=8).policy(PLAN, estimator)


@pytest.fixture(scope="module", autouse=True)
def few_to_learn_from():
    """What is asked of decisions here holds whatever was learned."""
    with with_numbers({"tellapart.adaptive.learned.BATCH": 64}):
        yield


@pytest.fixture(scope="module")
def which():
    return policy_for(Question((ta.WSLTS(), ta.AEG()), "discriminate"))


@pytest.fixture(scope="module")
def remembering():
    """About models that go on from block to block."""
    return policy_for(Question((CarriesOn(), find_part("model", "q-learning")()), "both"))


@pytest.fixture
def few_draws(monkeypatch):
    """People are played again from their history for each row and draw; which block is best is not asked of decisions by these."""
    monkeypatch.setattr("tellapart.adaptive.continuations.EVERYWHERE", 6)
    monkeypatch.setattr("tellapart.adaptive.continuations.DRAWS", (4, 8, 16))


@pytest.fixture(scope="module")
def people(which):
    return which.way.question.simulate(TASK, PLAN, 4, np.random.default_rng(0))


def test_a_second_network_knows_all_parameters(which):
    assert isinstance(which.way, ByContinuations)
    assert which.way.state.question == everything(which.way.question)
    assert policy_for(Question((ta.AEG(),), "estimate")).way.state.question.goal == "estimate"


def test_the_order_of_arms_is_kept_where_a_model_remembers_them(which, remembering):
    """What is called the planned block is the planned one, and blocks are looked at in which the arms have changed places."""
    assert which.way.symmetry == ta.Symmetry(columns=True, blocks=True)
    policy = remembering
    assert policy.way.symmetry == ta.Symmetry()
    plan = np.array([[0.1, 0.9], [0.9, 0.1]])
    _, prospects, _, planned, _ = policy._looking(TASK.nothing(1), plan, 1)
    np.testing.assert_array_equal(planned, plan[1])
    assert (np.diff(prospects.everywhere()[0]) < 0).any()


def test_the_second_network_reads_what_the_first_pools(which):
    """What looks at trials is not trained again, so that little has to be learned; the last layer and what follows it are."""
    trained, read = which.way.estimator.encoder, which.way.state.encoder
    weights = dict(trained.named_parameters())
    assert all(torch.equal(weight, weights[name]) for name, weight in read.trained.named_parameters())
    assert not torch.equal(read.last.weight, trained.last.weight)
    assert all(weight.requires_grad for weight in trained.parameters())


def test_the_second_network_is_learned_once_and_goes_on_where_it_was_stopped(tmp_path, monkeypatch):
    """To the same bytes as if it had not been stopped."""
    question = Question((ta.WSLTS(), ta.AEG()), "discriminate")
    monkeypatch.setattr("tellapart.adaptive.learned.KEEP", 3)

    def stop_at(step):
        def heard(done, total, stage="", detail=""):
            assert "once for this study" in stage
            heard.steps += 1
            if done == step:
                raise KeyboardInterrupt

        heard.steps = 0
        return heard

    def learn(folder, heard):
        folder.mkdir(exist_ok=True)
        estimator = SEARCH.build(TASK, question).eval()
        Learning(TASK, question, SEARCH, 1, folder, steps=8).policy(PLAN, estimator, heard)
        return (folder / "parameters.safetensors").read_bytes()

    whole, again = stop_at(0), stop_at(0)
    once = learn(tmp_path / "whole", whole)
    with pytest.raises(KeyboardInterrupt):
        learn(tmp_path / "stopped", stop_at(7))
    assert learn(tmp_path / "stopped", again) == once
    assert (whole.steps, again.steps) == (8, 2)  # kept after 6
    assert learn(tmp_path / "whole", whole) == once
    assert whole.steps == 8
    assert not list(tmp_path.glob("*/parameters-training.safetensors"))


def test_decisions_are_a_function_of_the_past(which, people, few_draws):
    whole = people.behavior[0]
    check_no_leak(which.row, TASK, whole, PLAN, np.random.default_rng(1))

    def known(behavior, designs, block):
        return which._looking(behavior, designs, block)[0].draws[1]

    check_no_leak(known, TASK, whole, PLAN, np.random.default_rng(1))  # rows can be the same by chance, what they rest on cannot
    together = which.decide(people.behavior, PLAN, 1)
    assert [one.to_json() for one in together] == [which.decide(people.behavior[i], PLAN, 1)[0].to_json() for i in range(4)]


def test_a_decision_uses_no_random_numbers_that_threads_share(which, people, few_draws, monkeypatch):
    """The researcher's page draws from networks while people are decided for: by torch's own generator each would change the other."""
    decided = which.row(people.behavior[0], PLAN, 1)
    monkeypatch.setattr(torch, "manual_seed", lambda seed: pytest.fail("torch's generator is one for all threads"))
    np.testing.assert_array_equal(which.row(people.behavior[0], PLAN, 1), decided)


def test_models_are_as_probable_as_the_network_says_that_tells_what_is_learned_of_them(which, people):
    """People are drawn by the same probabilities of models by which it is read what they tell, and which `tellapart posterior` prints."""
    inputs = which.way.estimator.encoder.prepare(people.behavior, np.repeat(PLAN[None], 4, axis=0))
    with torch.no_grad():
        shares = which.way.estimator.log_model_probabilities(inputs).softmax(-1).numpy()
    stated = [which.belief(people.behavior[i], PLAN, 2).probabilities for i in range(4)]
    np.testing.assert_allclose(stated, shares, atol=1e-6)


def test_rows_are_within_the_space_and_in_order(which, people, few_draws):
    for decision in which.decide(people.behavior, PLAN, 1):
        row = np.array(decision.row)
        assert (row >= 0).all()
        assert (row <= 1).all()
        assert (np.diff(row) >= 0).all()


def test_what_a_block_tells_is_said_by_draws_that_had_no_part_in_choosing_it(which, people):
    """If all blocks tell the same, one seems to tell more by luck. That luck is not told: fresh draws are asked, of the same two rows."""
    asked = []

    class Luck:
        def __init__(self, rng):
            self.rng = rng

        def everywhere(self):
            return np.full((8, 2), 0.5), np.zeros(8)

        def gains(self, rows, last):
            return Gains((self.rng.normal(0.3, 1.0, (len(rows), 64)),), (np.full(64, 1 / 64),))

        def afresh(self, rows):
            asked.append(rows)
            return self.gains(rows, True)

    candidates, rng = Candidates(TASK, PLAN[:1]), np.random.default_rng(0)
    found = [best_row(Luck(rng), candidates, PLAN[1], which.way.effort, rng) for _ in range(200)]
    over = np.array([best.over_planned.nats for best in found])
    assert abs(over.mean()) < 4 * 0.18 / 200**0.5  # a difference has a standard deviation of sqrt(2 / 64); false alarm 1e-4
    assert all(len(rows) == 2 for rows in asked)

    prospects = which.way.prospects(which.belief(people.behavior[0], PLAN, 1), people.behavior[0], candidates, which.way.question)
    rows = np.array([[0.1, 0.9], [0.5, 0.5]])
    assert not np.allclose(prospects.afresh(rows).nats, prospects.gains(rows, True).nats, atol=1e-6)


def test_a_block_for_models_is_chosen_by_how_far_their_probabilities_move(which, people):
    """That is never below 0, whichever model a draw has; what the chosen block is said to tell is the bound, which can be."""
    candidates, rows = Candidates(TASK, PLAN[:1]), np.array([[0.1, 0.9], [0.5, 0.5]])
    prospects = which.way.prospects(which.belief(people.behavior[0], PLAN, 1), people.behavior[0], candidates, which.way.question)
    (moved,), (told,) = prospects.gains(rows, True).values, prospects.afresh(rows).values
    assert moved.min() > -1e-9
    assert moved.max() > 0
    assert told.min() < 0


def test_once_the_model_is_given_only_its_parameters_are_learned(people):
    """Whatever the network thinks of models, a second stage does not care: as if the winner were the only one."""
    policy = policy_for(Question((ta.WSLTS(), ta.AEG()), "both"))
    given = replace(policy.belief(people.behavior[0], PLAN, 1), probabilities=np.array([0.0, 1.0]))
    rows = np.array([[0.1, 0.9], [0.5, 0.5]])

    def gains():
        prospects = policy.way.prospects(given, people.behavior[0], Candidates(TASK, PLAN[:1]), policy.way.question)
        return prospects.gains(rows, True).nats

    before = gains()
    with torch.no_grad():
        for weight in policy.way.estimator.classifier.parameters():
            weight.mul_(3.0)
    np.testing.assert_allclose(gains(), before, atol=1e-6)


def test_what_parameters_are_told_is_read_by_one_network(which, people):
    """The model's part must be that of the network that knows parameters, not that of the search's."""
    way = which.way
    before = way.about_parameters(people)
    batch = way.state.prepare(people)
    with torch.no_grad():
        both, model = way.state.bound(batch), way.state.log_model_probabilities(batch.inputs)
    log_q = model.gather(-1, batch.model[:, None])[:, 0] - np.log(0.5)
    np.testing.assert_allclose(before, (both - log_q).numpy(), atol=1e-5)


def test_an_agent_with_memory_is_played_from_its_own_history(remembering, few_draws):
    """Also where its answers would be few: a law of single blocks knows no memory."""
    played = play(remembering, remembering.way.question.simulate(TASK, PLAN, 4, np.random.default_rng(0)), np.random.default_rng(1))
    assert played.simulations.behavior.mask.all()
    assert played.probabilities.shape == (4, 3, 2)
    np.testing.assert_allclose(played.probabilities.sum(2), 1)


@pytest.mark.parametrize("on_error", ["skip", "stop"])
def test_agents_with_memory_who_fail_are_left_out_of_both_and_counted(on_error, few_draws, monkeypatch):
    """The plan never pays, so that nobody fails at it; what the policy gives does, and after two rewards some cannot choose."""
    question = Question((fragile("raises", 2, fast=0.7),), "estimate", on_error=on_error)
    policy = replace(policy_for(question), plan=np.zeros((2, 2)))
    monkeypatch.setattr("tellapart.adaptive.looking.chosen_row", lambda *_: np.ones(2))
    if on_error == "stop":
        with pytest.raises(ta.ModelError, match="failed in a simulation"):
            worth(policy, 6, seed=3)
        return
    found = worth(policy, 6, seed=3)
    assert found.dropped.policy > found.dropped.fixed == 0
    assert found.policy.n == found.fixed.n == len(found.played) == 6 - found.dropped.policy
    assert "too much luck" in found.dropped.first.error


def test_a_search_that_knows_one_design_is_refused():
    question = Question((ta.WSLTS(), ta.AEG()), "discriminate")
    with pytest.raises(ta.StudyError, match="knows every design"):
        Learning(TASK, question, ta.BayesianOptimization(), 1).policy(PLAN, None)
