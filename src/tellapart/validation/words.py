"""The checks in words, the most important first: what the command line prints and the report begins its sections with."""

from __future__ import annotations

import math

from .calibration import Calibration
from .comparison import BaselineComparison, ExactComparison
from .confusion import Confusion
from .recovery import Recovery
from .suite import DesignValidation, Validation


def in_words(validation: Validation) -> list[str]:
    """The checks of a study, a line each."""
    lines = [against_habit(validation.comparison)] if validation.comparison else []
    for part in validation.designs:
        lines += [f"{'At the recommended design' if part.label == 'recommended' else 'Over baseline designs'}:"]
        lines += [f"  {line}" for line in _design_in_words(part)]
    return lines


def _design_in_words(part: DesignValidation) -> list[str]:
    lines = [calibration_in_words(part.calibration)]
    lines += [confusion_in_words(part.confusion)] if part.confusion else []
    lines += [recovery_in_words(one) for one in part.recovery]
    return lines + ([exact_in_words(part.exact)] if part.exact else [])


def against_habit(comparison: BaselineComparison) -> str:
    """Is the recommended design better than those of habit?"""
    gain, se, count = comparison.gain, comparison.gain_se, len(comparison.baseline)
    numbers = f"{comparison.recommended.nats:.3f} nats against {comparison.recommended.nats - gain:.3f} on average ({gain:+.3f} ± {se:.3f})"
    if gain > 2 * se:
        verdict = "tells more than designs chosen by habit"
    elif gain < -2 * se:
        verdict = "tells less than designs chosen by habit, so the search has not found the best"
    else:
        verdict = "tells about as much as designs chosen by habit: here, many designs are equally good"
    return f"The recommended design {verdict}: {numbers}; it is ahead of {round(comparison.share_below * count)} of {count}."


def calibration_in_words(calibration: Calibration) -> str:
    """The verdict, and what it means."""
    often = f"a perfect estimator would be complained about in 1 of {1 / calibration.false_alarm:,.0f} validations"
    text = f"{calibration.verdict.rstrip('.')} ({often})"
    models = calibration.models
    if models and models.verdict in ("overconfident", "underconfident"):
        way = "less" if models.exponent < 1 else "more"
        text += f"; log-odds between models deserve {100 * abs(models.exponent - 1):.0f} % {way} than what is stated"
    return text + "."


def confusion_in_words(confusion: Confusion) -> str:
    """How often the right model is found."""
    return (
        f"The most probable model is the true one for {100 * confusion.accuracy:.1f} ± {100 * confusion.accuracy_se:.1f} % of participants"
        f" (chance: {100 / len(confusion.models):.0f} %); the true model gets a probability of {confusion.expected:.3f} ±"
        f" {confusion.expected_se:.3f} on average."
    )


def recovery_in_words(recovery: Recovery) -> str:
    """How well a parameter is recovered."""
    return (
        f"{recovery.model}.{recovery.parameter}: correlation of true and recovered values {recovery.correlation:.2f}, typical error"
        f" {recovery.rmse:.3f} (without data {recovery.prior_rmse:.3f}), contraction {recovery.contraction:.2f}, the 90 % interval holds"
        f" the true value {100 * recovery.coverage:.0f} ± {100 * recovery.coverage_se:.0f} % of the time."
    )


def exact_in_words(exact: ExactComparison) -> str:
    """How far the estimator is from the exact answer."""
    share = f" ({100 * exact.share:.0f} %)" if exact.share is not None and math.isfinite(exact.share) else ""
    text = (
        f"Against the exact answer, on the same {exact.n} participants: {exact.estimate:.3f} of {exact.exact:.3f} nats{share},"
        f" {exact.gap:.3f} ± {exact.gap_se:.3f} missing"
    )
    if exact.largest_difference is not None:
        text += f"; the shares of participants whose model is recognised differ by at most {exact.largest_difference:.3f}"
        text += f" ± {exact.largest_difference_se:.3f}"
    return text + "."
