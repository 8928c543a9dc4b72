"""Rows that can come next: rules over several blocks hold with the blocks that were run."""

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import pytest

import tellapart as ta
from tellapart.adaptive.candidates import Candidates

AMOUNT, KIND = ta.Variable("amount", 0, 10), ta.Variable("kind", categories=("a", "b", "c"))
COUNT = ta.Variable("count", 0, 9, kind="integer")


@dataclass(frozen=True)
class Ruled(ta.Task):
    """A task with a design space of one's own."""

    space: ta.DesignSpace

    name: ClassVar[str] = "ruled"

    @property
    def blocks(self):
        return self.space.blocks

    @property
    def trials(self):
        return 1

    @property
    def fields(self):
        return (ta.Field("yes", "binary"),)

    @property
    def design_space(self):
        return self.space

    def baseline(self, n, rng):
        return self.space.repair(rng.uniform(self.space.low, self.space.high, (n, *self.space.shape)))


def candidates(space, run):
    return Candidates(Ruled(space), np.array(run, float).reshape(-1, len(space.variables)))


def test_the_last_block_completes_a_total():
    space = ta.DesignSpace(3, [AMOUNT], constraints=[ta.fixed_total([AMOUNT], "amount", 3, 12)])
    rows = candidates(space, [[2.0], [4.0]]).everywhere(40, np.random.default_rng(0))
    np.testing.assert_allclose(rows, 6.0, atol=0.02)


def test_a_block_in_the_middle_leaves_room_for_the_total():
    space = ta.DesignSpace(3, [AMOUNT], constraints=[ta.fixed_total([AMOUNT], "amount", 3, 12)])
    rows = candidates(space, [[1.0]]).everywhere(200, np.random.default_rng(0))
    assert rows.min() >= 1.0 - 0.02
    assert rows.max() > 8.0
    assert rows.min() < 3.0


def test_values_go_on_increasing():
    space = ta.DesignSpace(3, [AMOUNT], constraints=[ta.increasing([AMOUNT], "amount", 3)])
    rows = candidates(space, [[3.0], [5.0]]).everywhere(100, np.random.default_rng(0))
    assert (rows >= 5.0 - 0.02).all()
    assert rows.max() > 9


@pytest.mark.parametrize("run", [[[2.0]], [[2.0], [4.0]], [[9.0], [0.0]]])
def test_whole_numbers_with_a_total_go_on_by_whatever_is_left(run):
    """By enumeration: a row that something can follow stays as it is, and from any other row one is reached."""
    space = ta.DesignSpace(3, [COUNT], constraints=[ta.fixed_total([COUNT], "count", 3, 12)])
    left = 12 - np.sum(run)
    possible = {row for row in range(10) if (row == left if len(run) == 2 else 0 <= left - row <= 9)}
    for row in range(10):
        got = candidates(space, run).allowed(np.array([[row]], float), np.random.default_rng(row)).item()
        assert got == row if row in possible else got in possible
    assert set(candidates(space, run).everywhere(400, np.random.default_rng(0))[:, 0]) == possible


def test_a_row_that_breaks_no_rule_stays_as_it_is():
    """The planned block is what the gain of another is compared with: it must not be moved to make room for blocks that nobody planned."""
    variables = [AMOUNT, COUNT]
    rules = [ta.increasing(variables, "amount", 4, 1.0), ta.fixed_total(variables, "count", 4, 20)]
    some = candidates(ta.DesignSpace(4, variables, constraints=rules), [[1.0, 9]])
    rows = np.array([[2.0, 0], [5.5, 3], [8.0, 9]])
    np.testing.assert_allclose(some.allowed(rows, np.random.default_rng(0)), rows)
    mended = some.allowed(np.array([[0.5, 5], [9.5, 5]]), np.random.default_rng(0))
    assert mended[0].tolist() == pytest.approx([2.0, 5], abs=0.02)
    assert 2.0 <= mended[1, 0] <= 8.02


def test_what_cannot_be_followed_is_said():
    space = ta.DesignSpace(2, [AMOUNT], constraints=[ta.fixed_total([AMOUNT], "amount", 2, 18)])
    with pytest.raises(ta.DesignError, match="no block is allowed"):
        candidates(space, [[1.0]]).everywhere(20, np.random.default_rng(0))


def test_mixed_variables_stay_what_they_are():
    space = ta.DesignSpace(4, [AMOUNT, KIND, COUNT])
    rng, some = np.random.default_rng(0), candidates(space, [[1.0, 2, 3]])
    rows = np.concatenate([some.everywhere(60, rng), some.around(some.everywhere(60, rng), 0.1, rng)])
    for i, variable in enumerate(space.variables):
        assert variable.allows(rows[:, i]).all()
    assert set(rows[:, 1]) == {0.0, 1.0, 2.0}


def test_exchangeable_variables_are_in_order():
    space = ta.DesignSpace(2, [AMOUNT, AMOUNT, AMOUNT], ta.Symmetry(columns=True))
    some = candidates(space, [])
    assert (np.diff(replace(some, alike=True).everywhere(50, np.random.default_rng(0)), axis=1) >= 0).all()
    assert (np.diff(some.everywhere(50, np.random.default_rng(0)), axis=1) < 0).any()


def test_designs_begin_with_what_was_run():
    space = ta.DesignSpace(3, [AMOUNT])
    designs = candidates(space, [[2.0]]).designs(np.array([[4.0], [5.0]]))
    assert designs[:, :2, 0].tolist() == [[2.0, 4.0], [2.0, 5.0]]


def test_a_row_is_mended_in_what_the_rule_is_about_alone():
    """In the last block the count follows from the others; the amounts are still free to choose."""
    variables = [AMOUNT, COUNT]
    some = candidates(ta.DesignSpace(3, variables, constraints=[ta.fixed_total(variables, "count", 3, 15)]), [[1.0, 2], [1.0, 5]])
    rows = np.column_stack([np.linspace(0, 10, 11), np.arange(11) % 10])
    np.testing.assert_array_equal(some.allowed(rows, np.random.default_rng(0)), np.column_stack([rows[:, 0], np.full(11, 8.0)]))
