"""Designs near the recommended one: which they are, and whether the stated errors of differences are the real ones."""

import numpy as np
import pytest
from evidence import TASK
from scipy.stats import chi2

from tellapart import Constraint, DesignSpace, Difference, InformationEstimate, Symmetry, Variable, increasing
from tellapart.nearby import Moved, Rounded, along, best_rounding, may_round, move_each, round_design

DESIGN = np.array([[0.134, 0.52, 0.87], [0.31, 0.292, 0.714]])
MIXED = (Variable("sum", 1, 100), Variable("days", 1, 365, kind="integer", log=True), Variable("wait", 0.5, 100, log=True))
COLOURED = DesignSpace(1, [Variable("colour", categories=("red", "green"))])


@pytest.mark.parametrize(("share", "expected"), [(0.1, [[54, 200, 1]]), (0.01, [[54.3, 190, 1.4]])])
def test_numbers_are_rounded_by_their_range_and_on_a_log_scale_by_their_size(share, expected):
    np.testing.assert_allclose(round_design(DesignSpace(1, MIXED), np.array([[54.27, 187, 1.37]]), share), expected)


def test_probabilities_are_rounded_to_tenths_and_hundredths():
    space = TASK.design_space
    np.testing.assert_allclose(round_design(space, DESIGN, 0.1), [[0.1, 0.5, 0.9], [0.3, 0.3, 0.7]])
    np.testing.assert_allclose(round_design(space, DESIGN, 0.01), [[0.13, 0.52, 0.87], [0.31, 0.29, 0.71]])
    assert round_design(COLOURED, np.array([[1.0]]), 0.1) == 1


def test_what_is_rounded_or_moved_obeys_the_rules_of_the_task():
    variables = (Variable("delay", 0, 10),)
    space = DesignSpace(3, variables, constraints=[increasing(variables, "delay", 3, gap=0.7)])
    design = np.array([[1.04], [1.76], [8.0]])
    assert (np.diff(round_design(space, design, 0.1)[:, 0]) >= 0.7).all()
    line = along(space, design, 1, 0, 11)
    np.testing.assert_allclose(line[:, 1, 0], [1.76, 2, 3, 4, 5, 6, 7])  # at least 0.7 after the first and before the last
    assert (line[:, [0, 2]] == design[[0, 2]]).all()
    total = Constraint("values sum to 11", lambda designs: designs + (11 - designs.sum((-2, -1), keepdims=True)) / 3)
    assert len(along(DesignSpace(3, variables, Symmetry(), [total]), np.array([[2.0], [3], [6]]), 0, 0, 11)) == 1


def test_a_category_moves_through_all_others():
    np.testing.assert_array_equal(along(COLOURED, np.array([[1.0]]), 0, 0, 11)[:, 0, 0], [0, 1])


def test_the_error_of_a_loss_is_that_of_repetitions(about_both):
    """100 repetitions with seeds of their own; chi-square test of their variance, false alarm 1e-4. Unpaired, it would be larger."""
    pairs = [may_round(about_both, DESIGN, 100, seed=seed)[0] for seed in range(100)]
    losses, errors = np.array([(one.loss.nats, one.loss.se) for one in pairs]).T
    statistic = ((losses - losses.mean()) ** 2).sum() / (errors**2).mean()
    low, high = chi2.ppf([5e-5, 1 - 5e-5], len(pairs) - 1)
    assert low < statistic < high
    assert np.sqrt((errors**2).mean()) < 0.9 * np.sqrt(2) * pairs[0].information.se


def test_the_errors_along_a_number_are_those_of_repetitions(about_both, monkeypatch):
    """The change at the far end of one number, 30 repetitions; chi-square test of their variance, false alarm 1e-4.

    No other number can be moved: there are as many participants for this one as if all were.
    """
    first = {(0, 0): along(TASK.design_space, DESIGN, 0, 0, 2)}
    monkeypatch.setattr("tellapart.nearby.along", lambda space, design, block, variable, points: first.get((block, variable), design[None]))
    repeated = [move_each(about_both, DESIGN, 3 * 100, 2, seed=seed)[0] for seed in range(30)]
    changes, errors = np.array([(one.change[-1], one.se[-1]) for one in repeated]).T
    low, high = chi2.ppf([5e-5, 1 - 5e-5], len(repeated) - 1)
    assert low < ((changes - changes.mean()) ** 2).sum() / (errors**2).mean() < high


def test_each_number_is_moved_through_its_range_and_stays_itself_at_the_recommended_value(about_both):
    told = []
    moved = move_each(about_both, DESIGN, 6 * 4 * 100, 3, seed=1, progress=lambda *words: told.append(words))
    assert [(one.block, one.variable) for one in moved] == [(b, v) for b in range(2) for v in range(3)]
    for one in moved:
        np.testing.assert_allclose(one.values, sorted([0, 0.5, 1, DESIGN[one.block, one.variable]]))
        here = one.values == DESIGN[one.block, one.variable]
        assert (one.change[here] == 0).all()
        assert (one.se[here] == 0).all()
        assert (one.se[~here] > 0).all()
    assert told[0][-1] == "block 1, arm 1"  # as people count
    assert told[-1][:2] == (6, 6)
    back = Moved.from_json(moved[0].to_json())
    np.testing.assert_array_equal(back.change, moved[0].change)
    assert move_each(about_both, DESIGN, 6 * 3 * 10, 3) == []  # too few participants to draw anything


def test_rounding_is_reproducible_and_read_back(about_both):
    first, second = (may_round(about_both, DESIGN, 200, seed=1) for _ in range(2))
    assert [one.to_json() for one in first] == [one.to_json() for one in second]
    assert Rounded.from_json(first[0].to_json()).to_json() == first[0].to_json()
    assert may_round(about_both, first[0].design, 200) == []  # it is round already


@pytest.mark.parametrize(
    ("loss", "se", "words"),
    [(0.001, 0.001, "Yes, to 0.1"), (-0.002, 0.001, "0.0020 ± 0.0010 nats more"), (0.05, 0.001, "Better not"), (0.004, 0.02, "Perhaps")],
)
def test_the_answer_depends_on_what_is_lost_and_how_sure_that_is(loss, se, words):
    rounded = Rounded(np.array([[0.1]]), InformationEstimate(0.9, 0.01, "lower bound", 1000), Difference(loss, se))
    assert words in rounded.in_words(DesignSpace(1, [Variable("p")]))


def test_the_coarsest_harmless_rounding_is_recommended():
    information = InformationEstimate(0.9, 0.01, "lower bound", 1000)
    coarse, fine = (Rounded(np.array([[x]]), information, Difference(loss, 0.001)) for x, loss in ((0.1, 0.05), (0.13, 0.001)))
    assert best_rounding([coarse, fine]) is fine
    assert best_rounding([fine, coarse]) is fine
    assert best_rounding([coarse]) is coarse
    assert best_rounding([]) is None
