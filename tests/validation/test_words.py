"""What is said of numbers: between bounds, what a reader found, and no comfort where none is due."""

from dataclasses import replace
from types import SimpleNamespace

import pytest

from tellapart.information.estimate import Difference
from tellapart.validation.calibration import Calibration
from tellapart.validation.comparison import ExactComparison, Reading
from tellapart.validation.suite import DesignValidation
from tellapart.validation.words import (
    against_baseline_in_words,
    amount,
    at_most,
    calibration_in_words,
    exact_in_words,
    failures_in_words,
    finding,
    in_words,
    reading_in_words,
)

EXACT = ExactComparison(500, 0.91, 0.92, 0.92, True, Difference(0.01, 0.001), Difference(0.01, 0.001))
NOTHING = Calibration(500, 1e-3, None, ())


def read(nats, se=0.001, alone=None):
    """What was found; or nothing, by a reader that by itself is so far behind."""
    return Reading(Difference(nats if alone is None else 0.0, se), Difference(nats if alone is None else alone, se), 8000, 230_000)


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
    assert amount(0.917, 0.0, "lower bound", None) == "at least 0.91 nats"  # never more than is known
    assert amount(0.92, 0.0, "lower bound", None) == "at least 0.92 nats"
    assert amount(1.0975, 0.0005, "lower bound", None) == "at least 1.09 nats"
    assert amount(0.917, 0.0, "exact", None) == "0.92 nats"
    assert amount(0.917, 0.01, "lower bound", None) == "at least 0.89 nats"
    assert amount(0.917, 0.01, "lower bound", part(EXACT)) == "between 0.89 and 0.95 nats"  # the errors of both
    assert amount(0.917, 0.0, "lower bound", part(EXACT)) == "between 0.91 and 0.93 nats"
    assert amount(0.92, 0.0, "lower bound", part(replace(EXACT, at_most=Difference(0.0, 0.0)))) == "0.92 nats, as likelihoods confirm,"
    assert amount(0.917, 0.0, "lower bound", part(reading=read(0.002))) == (
        "at least 0.91 nats (an independent reader finds no more than 0.01 on top)"
    )
    assert "finds 0.85 more, which the estimator misses" in amount(1.22, 0.0, "lower bound", part(reading=read(0.85)))


def test_a_reader_that_learned_nothing_gives_no_comfort():
    assert amount(0.917, 0.0, "lower bound", part(reading=read(-0.3))) == "at least 0.91 nats"
    assert "learned too little" in reading_in_words(read(-0.3))
    assert "not known" in reading_in_words(read(0.0))
    assert "by itself it tells 0.300 ± 0.001 nats less than the estimator, on 8,000 others" in reading_in_words(read(-0.3))
    assert "on top (0.000 ± 0.001 nats on 8,000 others; by itself it tells 0.020 ± 0.001 nats less" in reading_in_words(
        read(0, alone=-0.02)
    )
    assert "by itself" not in reading_in_words(read(0.0))


def test_an_estimate_above_the_truth_is_called_wrong():
    above = replace(EXACT, at_most=Difference(-0.2, 0.01))
    assert "above what likelihoods allow" in exact_in_words(above)
    assert "between" not in amount(1.1, 0.0, "lower bound", part(above))


def test_bounds_that_do_not_agree_are_not_called_exact():
    wide = replace(EXACT, lower=0.85, upper=1.05, exact=False, at_most=Difference(0.14, 0.01))
    assert "between 0.850 and 1.050 nats" in exact_in_words(wide)
    assert "exact answer" not in exact_in_words(wide)
    assert amount(0.91, 0.0, "lower bound", part(wide)) == "between 0.91 and 1.07 nats"


def calibrated(models=None, parameters=(), complaints=()):
    return SimpleNamespace(n=1500, false_alarm=1e-3, complaints=complaints, models=models, parameters=parameters)


def about_models(verdict="no error found", exponent=1.0, noticed=(0.8, 1.25)):
    return SimpleNamespace(verdict=verdict, exponent=exponent, noticed=noticed)


def about_parameter(low, high, by="value"):
    return SimpleNamespace(by=by, noticed=(low, high))


END = " A perfect estimator would be complained about in 1 of 1,000."
NOTICED = ". Noticed in 9 of 10 validations would be "
LOG_ODDS, WIDTHS = (
    "log-odds between models overstated by 25 % or understated by 20 %",
    "posteriors of a parameter 30 % too narrow or 60 % too wide",
)


@pytest.mark.parametrize(
    ("calibration", "text"),
    [
        (calibrated(), "No error found in 1,500 simulated participants."),
        (calibrated(about_models()), f"No error found in 1,500 simulated participants{NOTICED}{LOG_ODDS}."),
        (
            calibrated(about_models(noticed=(None, 1.25))),
            f"No error found in 1,500 simulated participants{NOTICED}log-odds between models understated by 20 %.",
        ),
        (
            calibrated(about_models(noticed=(0.8, None))),
            f"No error found in 1,500 simulated participants{NOTICED}log-odds between models overstated by 25 %.",
        ),
        (calibrated(about_models(noticed=(None, None))), "No error found in 1,500 simulated participants."),
        (
            calibrated(about_models(), (about_parameter(0.7, 1.3), about_parameter(0.8, 1.6), about_parameter(None, None, "distance"))),
            f"No error found in 1,500 simulated participants{NOTICED}{LOG_ODDS}, and {WIDTHS}.",
        ),
        (calibrated(None, (about_parameter(0.7, 1.3), about_parameter(None, 1.6))), "No error found in 1,500 simulated participants."),
        (calibrated(None, (about_parameter(0.7, None), about_parameter(0.8, 1.6))), "No error found in 1,500 simulated participants."),
        (
            calibrated(about_models("overconfident", 0.7), complaints=("this is wrong", "and that")),
            "In 1,500 simulated participants: this is wrong; and that; log-odds between models deserve 30 % less than what is stated"
            f"{NOTICED}{LOG_ODDS}.",
        ),
        (
            calibrated(about_models("underconfident", 1.4), complaints=("this is wrong",)),
            "In 1,500 simulated participants: this is wrong; log-odds between models deserve 40 % more than what is stated"
            f"{NOTICED}{LOG_ODDS}.",
        ),
        (
            calibrated(about_models("incomplete", 0.7), complaints=("this is wrong",)),
            f"In 1,500 simulated participants: this is wrong{NOTICED}{LOG_ODDS}.",
        ),
    ],
)
def test_a_calibration_in_words(calibration, text):
    assert calibration_in_words(calibration) == text + END


@pytest.mark.parametrize(
    ("gain", "words"),
    [(0.02, "does not clearly tell more"), (0.021, "tells more"), (-0.02, "does not clearly tell more"), (-0.021, "tells less")],
)
def test_a_gain_is_clear_beyond_two_standard_errors(gain, words):
    comparison = SimpleNamespace(
        gain=Difference(gain, 0.01), baseline=(1, 2, 3), ahead=2, recommended=SimpleNamespace(nats=0.75), mean=SimpleNamespace(nats=0.5)
    )
    text = against_baseline_in_words(comparison)
    assert text.startswith(f"The recommended design {words} than randomly drawn comparison designs")
    assert text.endswith(f"0.750 nats against 0.500 on average; on the same participants {gain:+.3f} ± 0.010, ahead of 2 of 3 designs.")


def test_an_exact_comparison_in_words():
    text = "Against the exact answer, on the same 500 participants: 0.910 of 0.920 nats (99 %), 0.010 ± 0.001 missing"
    assert exact_in_words(EXACT) == f"{text}."
    more = "; the shares of participants whose model is recognised differ by at most 0.050 ± 0.010."
    assert exact_in_words(replace(EXACT, largest_difference=0.05, largest_difference_se=0.01)) == text + more
    assert "%" not in exact_in_words(replace(EXACT, lower=0.0, upper=0.0))
    between = exact_in_words(replace(EXACT, exact=False, upper=0.95, at_most=Difference(0.04, 0.002)))
    assert "tell between 0.920 and 0.950 nats" in between
    assert "the estimate has 0.910, and misses at most 0.040 ± 0.002" in between


@pytest.mark.parametrize(("nats", "wrong"), [(-0.04, False), (-0.0401, True), (0.04, False)])
def test_above_by_four_standard_errors_is_not_by_chance(nats, wrong):
    compared = replace(EXACT, at_most=Difference(nats, 0.01))
    assert ("above what likelihoods allow" in exact_in_words(compared)) == wrong
    assert amount(0.9, 0.0, "lower bound", part(compared)).startswith("at least") == wrong


def test_how_far_a_reading_is_nothing():
    assert [finding(read(nats, 0.01)) for nats in (0.03, 0.0301)] == ["nothing", "more"]
    assert [finding(read(nats, 0.0)) for nats in (0.01, 0.0101)] == ["nothing", "more"]
    assert [finding(read(0.0, 0.02, alone)) for alone in (-0.06, -0.0601)] == ["nothing", "lost"]
    assert [finding(read(0.0, 0.0, alone)) for alone in (-0.05, -0.0501)] == ["nothing", "lost"]
    assert at_most(Difference(0.099, 0.02)) == pytest.approx(0.14)
    assert at_most(Difference(0.101, 0.02)) == pytest.approx(0.15)


def test_each_design_has_its_lines_and_says_what_was_not_looked_into():
    confusion = SimpleNamespace(accuracy=0.8, accuracy_se=0.01, chance=0.5, expected=0.7, expected_se=0.005)
    recovered = SimpleNamespace(
        model="m", parameter="p", correlation=0.9, rmse=0.1, prior_rmse=0.3, contraction=0.8, coverage=0.9, coverage_se=0.01
    )
    whole = replace(part(EXACT), confusion=confusion, recovery=(recovered,), failed=2, missed=(("few missed", NOTHING),))
    validation = SimpleNamespace(comparison=None, designs=(whole, replace(part(), label="baseline")))
    lines = in_words(validation)
    assert lines[0] == "At the recommended design:"
    starts = (
        "Against the exact",
        "No error found",
        "With few missed: No error",
        "The most probable model is the true one for 80.0 ± 1.0 %",
        "m.p: ",
    )
    assert all(line.startswith(f"  {start}") for line, start in zip(lines[1:6], starts, strict=True))
    assert "the 90 % interval holds the true value 90 ± 1 % of the time." in lines[5]
    assert lines[6] == f"  {failures_in_words(2)}"
    assert lines[6].startswith("  2 participants could not be simulated and were replaced")
    assert lines[7] == "Over baseline designs:"
    assert lines[8] == "  How much the estimate misses was not looked into."
    assert len(lines) == 10
    assert "not looked into" not in " ".join(in_words(SimpleNamespace(comparison=None, designs=(part(reading=read(0.0)),))))
