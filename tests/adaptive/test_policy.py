"""Decisions: a function of the past, of the seed and of nothing else; kept and made again."""

import json

import numpy as np
import pytest
from leaks import check_no_leak
from yes_no import quick

import tellapart as ta
from tellapart.adaptive.decisions import difference, record
from tellapart.adaptive.learned import Learning
from tellapart.behavior import Behavior
from tellapart.estimators.nwj import NWJEstimator
from tellapart.search.amortized import Amortized
from tellapart.server.policy import Asking

RNG = np.random.default_rng(0)
EVERYBODY = Behavior({"yes": RNG.integers(0, 2, (4, 3, 1)).astype(np.int8)}, participants=np.array(["a", "b", "c", "d"]))
WHOLE = Behavior({"yes": RNG.integers(0, 2, (1, 6, 1)).astype(np.int8)})

pytestmark = pytest.mark.usefixtures("fewer_rows_and_draws")


@pytest.fixture(scope="module")
def which_model(which_model):
    return quick(which_model)


def test_a_decision_does_not_depend_on_who_else_is_decided_for(which_model):
    together = which_model.decide(EVERYBODY)
    alone = [which_model.decide(EVERYBODY[i])[0] for i in range(4)]
    assert [one.to_json() for one in together] == [one.to_json() for one in alone]


def test_decisions_are_made_again_to_the_same_bytes(which_model):
    kept = record(which_model.decide(EVERYBODY), {"seed": 3})
    assert difference(kept, record(which_model.decide(EVERYBODY), {"seed": 3})) is None
    assert json.loads(kept)["decisions"][0]["block"] == 3


def test_a_changed_decision_is_named(which_model):
    kept = record(which_model.decide(EVERYBODY), {"seed": 3})
    other = Behavior({"yes": 1 - EVERYBODY.fields["yes"]}, participants=EVERYBODY.participants)
    assert "participant a" in difference(kept, record(which_model.decide(other), {"seed": 3}))
    assert "participant d: block 4 at" in difference(kept, record(which_model.decide(EVERYBODY[:3]), {"seed": 3}))
    assert "seed" in difference(kept, record(which_model.decide(EVERYBODY), {"seed": 4}))


def test_decisions_do_not_look_ahead(which_model):
    check_no_leak(which_model.row, which_model.task, WHOLE, which_model.plan, np.random.default_rng(1))


def test_a_planted_leak_is_caught(which_model):
    """A policy that lets the answer of the coming block into its decision."""

    def leaking(behavior, designs, block):
        return which_model.row(behavior, designs, block) + 0.01 * behavior.fields["yes"][0, block, 0]

    with pytest.raises(ta.StudyError, match="cannot know yet"):
        check_no_leak(leaking, which_model.task, WHOLE, which_model.plan, np.random.default_rng(1))


def test_a_server_gets_adapted_rows(which_model):
    """The seam of the live server: the row is one that the task allows, and the data say that it was adapted."""
    asked = Asking(which_model.row, which_model.task, 60.0).row(WHOLE, which_model.plan, 2)
    assert asked.source == "adapted"
    assert asked.values.tolist() == which_model.row(WHOLE, which_model.plan, 2).tolist()


def test_what_to_change_is_what_is_wrong():
    """A run without a posterior is told to leave out its estimator, one at a single design to change its method."""
    task, question = ta.BernoulliBandit(2, 2, 5), ta.Question((ta.WSLTS(), ta.AEG()))
    search = Amortized(estimator=NWJEstimator)
    with pytest.raises(ta.StudyError, match="leave out estimator in"):
        Learning(task, question, search, 1).way(search.build(task, question))
    with pytest.raises(ta.StudyError, match="set method"):
        Learning(task, question, search, 1).way(None)


def test_who_has_done_all_blocks_gets_none(which_model):
    assert which_model.decide(WHOLE) == [None]


def test_the_planned_block_is_a_candidate(which_model):
    for decision in which_model.decide(EVERYBODY):
        assert decision.over_planned.nats >= 0
        assert decision.gain.nats == pytest.approx(decision.planned.nats + decision.over_planned.nats)
