"""Laws of answers that are learned once, in seconds."""

import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent))

from yes_no import FEW, SOON_LEARNED, Signals, any_slope, flat, steep, with_numbers

from tellapart.adaptive.by_answers import ByAnswers
from tellapart.adaptive.learned import Learning
from tellapart.adaptive.policy import Policy
from tellapart.question import Question
from tellapart.search.amortized import Amortized

STEPS = 150


def policy_for(question, task):
    """A policy whose plan is to show all signals evenly."""
    plan = np.linspace(-2, 2, task.blocks)[:, None]
    with with_numbers(SOON_LEARNED):
        return Learning(task, question, Amortized(), seed=3, steps=STEPS).policy(plan, None)


@pytest.fixture(scope="module")
def fewer_rows_and_draws():
    with with_numbers(FEW):
        yield


@pytest.fixture(scope="session")
def which_model():
    """Which of two models?"""
    return policy_for(Question((steep(), flat()), "discriminate"), Signals())


@pytest.fixture(scope="session")
def which_threshold():
    """Which threshold and which slope?"""
    return policy_for(Question((any_slope(),), "estimate"), Signals())


@pytest.fixture
def about():
    """The same policy, asked about something else."""

    def changed(policy, question):
        assert isinstance(policy.way, ByAnswers)
        return Policy(ByAnswers(policy.way.answers, question, policy.way.seed), policy.plan)

    return changed
