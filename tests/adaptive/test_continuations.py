"""Next blocks of a bandit: simulated continuations, read by a network that was trained briefly."""

import numpy as np
import pytest
from test_memory import CarriesOn

import tellapart as ta
from tellapart.adaptive.continuations import ByContinuations
from tellapart.adaptive.leaks import check_no_leak
from tellapart.adaptive.learned import Learning, everything
from tellapart.adaptive.playing import play
from tellapart.parts import find_part
from tellapart.question import Question
from tellapart.search.amortized import Amortized

TASK = ta.BernoulliBandit(arms=2, blocks=2, trials=6)
SEARCH = Amortized(steps=20)
PLAN = np.full((2, 2), 0.5)


def policy_for(question):
    estimator = SEARCH.build(TASK, question).eval()
    return Learning(TASK, question, SEARCH, 1, steps=20).policy(PLAN, estimator)


@pytest.fixture(scope="module")
def which():
    return policy_for(Question((ta.WSLTS(), ta.AEG()), "discriminate"))


@pytest.fixture(scope="module")
def people(which):
    return which.way.question.simulate(TASK, PLAN, 4, np.random.default_rng(0))


def test_a_second_network_knows_all_parameters(which):
    assert isinstance(which.way, ByContinuations)
    assert which.way.state.question == everything(which.way.question)
    assert policy_for(Question((ta.AEG(),), "estimate")).way.state.question.goal == "estimate"


def test_decisions_are_a_function_of_the_past(which, people):
    whole = people.behavior[0]
    check_no_leak(which.row, TASK, whole, PLAN, np.random.default_rng(1))
    together = which.decide(people.behavior, PLAN, 1)
    assert [one.to_json() for one in together] == [which.decide(people.behavior[i], PLAN, 1)[0].to_json() for i in range(4)]


def test_rows_are_within_the_space_and_in_order(which, people):
    for decision in which.decide(people.behavior, PLAN, 1):
        row = np.array(decision.row)
        assert (row >= 0).all()
        assert (row <= 1).all()
        assert (np.diff(row) >= 0).all()
        assert decision.over_planned.nats >= 0


def test_an_agent_with_memory_is_played_from_its_own_history():
    """Also where its answers would be few: a law of single blocks knows no memory."""
    question = Question((CarriesOn(), find_part("model", "q-learning")()), "both")
    policy = policy_for(question)
    played = play(policy, question.simulate(TASK, PLAN, 4, np.random.default_rng(0)), np.random.default_rng(1))
    assert played.simulations.behavior.mask.all()
    assert played.probabilities.shape == (4, 3, 2)
    np.testing.assert_allclose(played.probabilities.sum(2), 1)


def test_a_search_that_knows_one_design_is_refused():
    question = Question((ta.WSLTS(), ta.AEG()), "discriminate")
    with pytest.raises(ta.StudyError, match="knows every design"):
        Learning(TASK, question, ta.BayesianOptimization(), 1).policy(PLAN, None)
