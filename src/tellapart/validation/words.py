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
    lines += [f"With missed trials: {calibration_in_words(part.missed)}"] if part.missed else []
    lines += [confusion_in_words(part.confusion)] if part.confusion else []
    lines += [recovery_in_words(one) for one in part.recovery]
    lines += [exact_in_words(part.exact)] if part.exact else []
    return lines + ([failures_in_words(part.failed)] if part.failed else [])


def against_habit(comparison: BaselineComparison) -> str:
    """Is the recommended design better than those of habit?"""
    gain, count = comparison.gain, len(comparison.baseline)
    if gain.nats > 2 * gain.se:
        verdict = "tells more than designs chosen by habit"
    elif gain.nats < -2 * gain.se:
        verdict = "tells less than designs chosen by habit, so the search has not found the best"
    else:
        verdict = "tells about as much as designs chosen by habit: here, many designs are equally good"
    return (
        f"The recommended design {verdict}: {comparison.recommended.nats:.3f} nats against {comparison.mean.nats:.3f} on average;"
        f" on the same participants {gain.nats:+.3f} ± {gain.se:.3f}, ahead of {comparison.ahead} of {count}."
    )


def calibration_in_words(calibration: Calibration) -> str:
    """The verdict, how many participants it rests on, and what it would have noticed."""
    who, models = f"{calibration.n:,} simulated participants", calibration.models
    text = f"In {who}: {'; '.join(calibration.complaints)}" if calibration.complaints else f"No error found in {who}"
    if models and models.verdict in ("overconfident", "underconfident"):
        way = "less" if models.exponent < 1 else "more"
        text += f"; log-odds between models deserve {100 * abs(models.exponent - 1):.0f} % {way} than what is stated"
    sizes = _noticed(calibration)
    text += f". Noticed in 9 of 10 validations would be {', and '.join(sizes)}" if sizes else ""
    return f"{text}. A perfect estimator would be complained about in 1 of {1 / calibration.false_alarm:,.0f}."


def _noticed(calibration: Calibration) -> list[str]:
    """The sizes of error that would be noticed."""
    sizes = []
    if calibration.models:
        low, high = calibration.models.noticed
        ways = [f"overstated by {100 * (1 / low - 1):.0f} %"] if low else []
        ways += [f"understated by {100 * (1 - 1 / high):.0f} %"] if high else []
        sizes += [f"log-odds between models {' or '.join(ways)}"] if ways else []
    widths = [part.noticed for part in calibration.parameters if part.by == "value"]
    narrow, wide = [low for low, _ in widths if low], [high for _, high in widths if high]
    if widths and len(narrow) == len(wide) == len(widths):
        sizes.append(f"posteriors of a parameter {100 * (1 - min(narrow)):.0f} % too narrow or {100 * (max(wide) - 1):.0f} % too wide")
    return sizes


def confusion_in_words(confusion: Confusion) -> str:
    """How often the right model is found."""
    return (
        f"The most probable model is the true one for {100 * confusion.accuracy:.1f} ± {100 * confusion.accuracy_se:.1f} % of participants"
        f" (chance: {100 * confusion.chance:.0f} %); the true model gets a probability of {confusion.expected:.3f} ±"
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


def failures_in_words(failed: int) -> str:
    """What skipped participants mean."""
    who = "1 participant could not be simulated and was" if failed == 1 else f"{failed:,} participants could not be simulated and were"
    return f"{who} replaced by others of the same model: all of the above is about participants that the models can simulate."
