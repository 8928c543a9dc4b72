"""What is said of numbers: between bounds, what a reader found, and no comfort where none is due."""

from dataclasses import replace

import pytest

from tellapart.information.estimate import Difference
from tellapart.validation.calibration import Calibration
from tellapart.validation.comparison import ExactComparison, Reading
from tellapart.validation.suite import DesignValidation
from tellapart.validation.words import amount, at_most, exact_in_words, finding, reading_in_words

EXACT = ExactComparison(500, 0.91, 0.92, 0.92, True, Difference(0.01, 0.001), Difference(0.01, 0.001))
NOTHING = Calibration(500, 1e-3, None, ())


def read(nats, se=0.001):
    return Reading(Difference(nats, se), 8000, 230_000)


def part(exact=None, reading=None):
    return DesignValidation("recommended", None, 500, 0, None, None, (), (), NOTHING, (), exact, reading)


@pytest.mark.parametrize(
    ("gain", "se", "word"),
    [(0.02, 0.001, "more"), (0.02, 0.01, "nothing"), (0.005, 0.001, "nothing"), (-0.005, 0.001, "nothing"), (-0.3, 0.01, "lost")],
)
def test_what_a_reading_means(gain, se, word):
    assert finding(read(gain, se)) == word


def test_what_was_not_found_is_stated_to_the_safe_side():
    assert at_most(Difference(0.0, 0.001)) == 0.01
    assert at_most(Difference(-0.2, 0.001)) == 0.01
    assert at_most(Difference(0.011, 0.005)) == pytest.approx(0.03)


def test_the_lead_says_how_sure_it_is():
    assert amount(0.917, "lower bound", None) == "at least 0.92 nats"
    assert amount(0.917, "exact", None) == "0.92 nats"
    assert amount(0.917, "lower bound", part(EXACT)) == "between 0.92 and 0.93 nats"
    assert amount(0.92, "lower bound", part(replace(EXACT, at_most=Difference(0.0, 0.0)))) == "0.92 nats, as likelihoods confirm,"
    assert amount(0.917, "lower bound", part(reading=read(0.002))) == (
        "at least 0.92 nats (an independent reader finds no more than 0.01 on top)"
    )
    assert "finds 0.85 more, which the estimator misses" in amount(1.22, "lower bound", part(reading=read(0.85)))


def test_a_reader_that_learned_nothing_gives_no_comfort():
    assert amount(0.917, "lower bound", part(reading=read(-0.3))) == "at least 0.92 nats"
    assert "learned too little" in reading_in_words(read(-0.3))
    assert "not known" in reading_in_words(read(0.0))


def test_an_estimate_above_the_truth_is_called_wrong():
    above = replace(EXACT, at_most=Difference(-0.2, 0.01))
    assert "above what likelihoods allow" in exact_in_words(above)
    assert "between" not in amount(1.1, "lower bound", part(above))


def test_bounds_that_do_not_agree_are_not_called_exact():
    wide = replace(EXACT, lower=0.85, upper=1.05, exact=False, at_most=Difference(0.14, 0.01))
    assert "between 0.850 and 1.050 nats" in exact_in_words(wide)
    assert "exact answer" not in exact_in_words(wide)
    assert amount(0.91, "lower bound", part(wide)) == "between 0.91 and 1.07 nats"
