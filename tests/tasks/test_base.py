"""What a task says of data: which are its own, and in which words others are refused."""

import numpy as np
import pytest

import tellapart as ta
from tellapart.tasks.base import check_counts

TASK = ta.BernoulliBandit(arms=3, blocks=2, trials=4)


def behavior(blocks=2, trials=4, **other):
    shape = (2, blocks, trials)
    fields = {"choice": np.ones(shape, int), "reward": np.zeros(shape, int), **other}
    return ta.Behavior(fields, participants=np.array(["ann", "bob"]))


@pytest.mark.parametrize(("blocks", "trials"), [(2, 4), (1, 4), (2, 3)])
def test_data_of_the_task_or_of_fewer_trials_are_its_own(blocks, trials):
    data = behavior(blocks, trials)
    assert TASK.check(data) is data


@pytest.mark.parametrize(("blocks", "trials"), [(3, 4), (2, 5), (3, 5)])
def test_data_of_a_larger_task_are_refused(blocks, trials):
    with pytest.raises(ta.DataError) as error:
        TASK.check(behavior(blocks, trials))
    assert f"{blocks} blocks of {trials} trials" in str(error.value)
    assert "at most 2 blocks of 4 trials" in str(error.value)


def test_other_fields_are_refused():
    data = behavior()
    with pytest.raises(ta.DataError, match="other fields"):
        TASK.check(ta.Behavior({"choice": data.fields["choice"]}))


def test_values_that_cannot_be_are_named_unless_nobody_recorded_them():
    data = behavior()
    arms = data.fields["choice"].copy()
    arms[1, 0, 2:] = 3
    with pytest.raises(ta.DataError) as error:
        TASK.check(behavior(choice=arms))
    text = str(error.value)
    assert all(words in text for words in ("'choice'", "participant bob, block 0, trial 2 (counted from 0)", "3 (2 such trials)"))
    mask = np.ones(arms.shape, bool)
    mask[1, 0, 2:] = False
    TASK.check(ta.Behavior({**data.fields, "choice": arms}, mask))


def test_nothing_is_data_of_nobody_in_the_shape_of_the_task():
    nothing = TASK.check(TASK.nothing(3))
    assert nothing.shape == (3, 2, 4)
    assert not nothing.mask.any()
    assert all(
        (values == 0).all() and values.dtype == field.dtype for field, values in zip(TASK.fields, nothing.fields.values(), strict=True)
    )


def test_blocks_are_as_long_as_the_task_says_and_one_design_is_for_one_participant():
    assert TASK.lengths(np.zeros((5, 2, 3))).tolist() == [[4, 4]] * 5
    assert len(TASK.environment(np.zeros((2, 3)), np.random.default_rng(0)).designs) == 1
    assert len(TASK.environment(np.zeros((5, 2, 3)), np.random.default_rng(0)).designs) == 5
    assert ([f.name for f in TASK.responses], [f.name for f in TASK.outcomes]) == (["choice"], ["reward"])


@pytest.mark.parametrize("value", [0, -1, 1.0, True, "2", None])
def test_counts_are_whole_numbers_that_are_large_enough(value):
    with pytest.raises(ta.StudyError, match="'blocks' of the readings must be a whole number"):
        check_counts("the readings", {"blocks": 1}, {"blocks": value, "trials": 0})


def test_counts_that_are_just_large_enough():
    check_counts("the readings", {"blocks": 1, "trials": 2}, {"blocks": 1, "trials": np.int64(2), "other": "anything"})
