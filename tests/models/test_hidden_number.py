"""A hidden number at a task that is not its own."""

import pytest

import tellapart as ta
from tellapart.models.hidden_number import HiddenNumber
from tellapart.testing import check_model


def test_another_task_is_refused_by_name():
    with pytest.raises(ta.ModelError, match="the task 'noisy-readings' only"):
        check_model(HiddenNumber(), ta.BernoulliBandit(2, 2, 4))
