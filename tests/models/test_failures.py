"""Failures of simulators: who, and how to see it again; and what cannot be recorded."""

import numpy as np
import pytest

import tellapart as ta
from tellapart.models.failures import Failure, as_python, attempt, impossible, recorded, words
from tellapart.models.simulation import most_skipped, stop_unless_skipped
from tellapart.tasks.readings import NoisyReadings

TASK = ta.BernoulliBandit(2, 1, 3)
FAILURE = Failure("m", {"a": 0.5}, [[0.1, 0.2]], 7, "ValueError: no", "file, line 3")


@pytest.mark.parametrize(
    ("more", "text"),
    [
        ({}, "model.simulate({'a': np.array([0.5])}, np.array([[[0.1, 0.2]]]), np.random.default_rng(7), task)"),
        ({"call": "simulate_one"}, "model.simulate_one({'a': 0.5}, np.array([[0.1, 0.2]]), np.random.default_rng(7), task)"),
        (
            {"call": "go_on_one", "block": 2, "history": "past"},
            "model.go_on_one({'a': 0.5}, past, np.array([[0.1, 0.2]]), 2, np.random.default_rng(7), task)",
        ),
    ],
)
def test_python_that_fails_again(more, text):
    failure = Failure("m", {"a": 0.5}, [[0.1, 0.2]], 7, "ValueError: no", "file, line 3", **more)
    assert failure.reproduction == text
    message = str(failure.as_error())
    assert all(part in message for part in ("'m' failed", "file, line 3", "ValueError: no", "parameters {'a': 0.5}", "seed 7", text))


def test_behavior_as_python():
    mask = np.array([[[True, True, False]]])
    behavior = ta.Behavior({"choice": np.array([[[1, 0, 0]]]), "reward": np.array([[[0, 1, 0]]])}, mask)
    again = eval(as_python(behavior), {"ta": ta, "np": np})
    np.testing.assert_array_equal(again.mask, mask)
    for name, values in behavior.fields.items():
        np.testing.assert_array_equal(again.fields[name], values)


def test_errors_in_a_line():
    assert words(ValueError("no")) == "ValueError: no"
    assert words(ta.ModelError("Wrong.", expected="this", got="that")) == "Wrong. (expected this, got that)"


def made(n=2, **other):
    fields = {"choice": np.zeros((n, 1, 3), int), "reward": np.zeros((n, 1, 3), int)}
    return ta.Behavior({**fields, **other})


def test_what_simulators_return_is_looked_at():
    model = ta.AEG()
    assert impossible(model, made(), TASK, 2) is None
    assert impossible(model, made(choice=np.ones((2, 1, 3))), TASK, 2) is None
    for wrong, message in (({}, "did not return a Behavior"), (ta.Behavior({"choice": np.zeros((2, 1, 3))}), "other fields")):
        with pytest.raises(ta.ModelError, match=message):
            impossible(model, wrong, TASK, 2)
    for n in (1, 3):
        with pytest.raises(ta.ModelError, match="wrong shape"):
            impossible(model, made(), TASK, n)
    choice = np.zeros((2, 1, 3), int)
    choice[1, 0, 2] = 2
    error = impossible(model, made(choice=choice), TASK, 2)
    assert "'choice' that cannot be recorded" in str(error)
    assert "2 in block 0, trial 2 (counted from 0)" in str(error)
    missed = np.ones(choice.shape, bool)
    missed[1, 0, 2] = False
    assert impossible(model, ta.Behavior({"choice": choice, "reward": choice * 0}, missed), TASK, 2) is None


def test_one_participant_is_recorded():
    choice, reward = [[0, 1, 1]], [[1, 0, 1]]
    one = recorded({"choice": choice, "reward": reward}, TASK, "m")
    assert one.shape == (1, 1, 3)
    assert one.mask.all()
    some = recorded({"choice": choice, "reward": reward, "mask": [[True, False, True]]}, TASK, "m")
    assert (some.mask.tolist(), some.fields["choice"].tolist()) == ([[[True, False, True]]], [[[0, 0, 1]]])
    again = recorded(some, TASK, "m")
    assert again.fields["reward"].tolist() == some.fields["reward"].tolist()
    assert again.fields["choice"].dtype == TASK.fields[0].dtype
    for wrong, message in (
        ({"choice": choice}, "must return the fields"),
        ({"choice": choice, "reward": reward, "more": 1}, "must return the fields"),
        (3, "must return the fields"),
        ({"choice": [0, 1, 1], "reward": reward}, "wrong shape"),
        ({"choice": [[0, 1, 5]], "reward": reward}, "cannot be recorded"),
    ):
        with pytest.raises(ta.ModelError, match=message):
            recorded(wrong, TASK, "m")


@ta.model(name="far", parameters={"theta": ta.Normal()}, vectorised=True)
def far(parameters, designs, rng, task):
    if (parameters["theta"] > 1).any():
        raise ValueError("too far")
    return {"reading": parameters["theta"][:, None, None] + 0 * rng.random((len(designs), task.blocks, task.trials))}


def test_those_who_fail_are_found_one_by_one():
    theta, designs = np.array([0.0, 2.0, 0.5, 3.0, 4.0, 1.0]), np.ones((6, 1, 1))
    behavior, failures = attempt(far(), {"theta": theta}, designs, np.random.default_rng(0), NoisyReadings())
    assert list(failures) == [1, 3, 4]
    assert behavior.mask[:, 0, 0].tolist() == [True, False, True, False, False, True]
    assert behavior.fields["reading"][[0, 2, 5], 0, 0].tolist() == [0.0, 0.5, 1.0]
    assert (failures[3].parameters, failures[3].error, failures[3].design) == ({"theta": 3.0}, "ValueError: too far", [[1.0]])
    assert len({failure.seed for failure in failures.values()}) == 3
    for most in (1, 2, 3):
        assert len(attempt(far(), {"theta": theta}, designs, np.random.default_rng(0), NoisyReadings(), most)[1]) == most


def test_a_model_that_fails_only_with_many_is_told():
    @ta.model(name="mixing", parameters={"theta": ta.Normal()}, vectorised=True)
    def mixing(parameters, designs, rng, task):
        if len(designs) > 1:
            raise ValueError("mixed up")
        return {"reading": np.zeros((1, task.blocks, task.trials))}

    with pytest.raises(ta.ModelError, match="fails with 3 participants at once, but with none of them alone"):
        attempt(mixing(), {"theta": np.zeros(3)}, np.ones((3, 1, 1)), np.random.default_rng(0), NoisyReadings())


def test_how_many_may_be_skipped():
    """A twentieth, five standard deviations of such a count, and one."""
    assert [most_skipped(n) for n in (0, 100, 10_000)] == [1, 1 + int(5 + 5 * 5**0.5), 1 + int(500 + 5 * 500**0.5)]
    stop_unless_skipped([], 10, "stop")
    stop_unless_skipped([FAILURE] * 17, 100, "skip")
    with pytest.raises(ta.ModelError, match="failed in a simulation"):
        stop_unless_skipped([FAILURE], 100, "stop")
    with pytest.raises(ta.ModelError, match="18 of 100 so far"):
        stop_unless_skipped([FAILURE] * 18, 100, "skip")
