"""The checks in words, the most important first: what the command line prints and the report begins its sections with."""

from __future__ import annotations

import math
from typing import Literal

from ..information.estimate import Difference
from .calibration import Calibration
from .comparison import BaselineComparison, ExactComparison, Reading
from .confusion import Confusion
from .recovery import Recovery
from .suite import DesignValidation, Validation

ABOVE = 4
"""By so many standard errors an estimate may be above an upper bound by chance."""

EXACTLY = 1e-6
"""Of a hundredth: what a computer adds to a round number."""

FOUND, BEHIND = 0.01, 0.05
"""Nats that an independent reader has to find to be believed, and that it may be behind the estimator, unless that is chance."""


def in_words(validation: Validation) -> list[str]:
    """The checks of a study, a line each."""
    lines = [against_baseline_in_words(validation.comparison)] if validation.comparison else []
    for part in validation.designs:
        lines += [f"{'At the recommended design' if part.label == 'recommended' else 'Over baseline designs'}:"]
        lines += [f"  {line}" for line in _design_in_words(part)]
    return lines


def _design_in_words(part: DesignValidation) -> list[str]:
    lines = [exact_in_words(part.exact)] if part.exact else []
    lines += [reading_in_words(part.reading)] if part.reading else []
    lines += [] if part.exact or part.reading else ["How much the estimate misses was not looked into."]
    lines += [calibration_in_words(part.calibration)]
    lines += [f"With {who}: {calibration_in_words(one)}" for who, one in part.missed]
    lines += [confusion_in_words(part.confusion)] if part.confusion else []
    lines += [recovery_in_words(one) for one in part.recovery]
    return lines + ([failures_in_words(part.failed)] if part.failed else [])


def against_baseline_in_words(comparison: BaselineComparison) -> str:
    """Is the recommended design better than randomly drawn ones?"""
    gain, count = comparison.gain, len(comparison.baseline)
    if gain.nats > 2 * gain.se:
        verdict = "tells more than randomly drawn comparison designs"
    elif gain.nats < -2 * gain.se:
        verdict = "tells less than randomly drawn comparison designs, so the search has not found the best"
    else:
        verdict = "does not clearly tell more than randomly drawn comparison designs"
    return (
        f"The recommended design {verdict}: {comparison.recommended.nats:.3f} nats against {comparison.mean.nats:.3f} on average;"
        f" on the same participants {gain.nats:+.3f} ± {gain.se:.3f}, ahead of {comparison.ahead} of {count} designs."
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
    """How far the estimator is from what likelihoods tell."""
    if exact.at_most.nats < -ABOVE * exact.at_most.se:
        return (
            f"The estimate, {exact.estimate:.3f} nats, is {-exact.at_most.nats:.3f} ± {exact.at_most.se:.3f} above what likelihoods allow"
            f" for the same {exact.n:,} participants: a model's likelihood is not that of its simulator, and one of them has to be mended."
        )
    if not exact.exact:
        return (
            f"By likelihood the same {exact.n:,} participants tell between {exact.lower:.3f} and {exact.upper:.3f} nats; of that the"
            f" estimate has {exact.estimate:.3f}, and misses at most {exact.at_most.nats:.3f} ± {exact.at_most.se:.3f}."
        )
    share = f" ({100 * exact.share:.0f} %)" if exact.share is not None and math.isfinite(exact.share) else ""
    text = (
        f"Against the exact answer, on the same {exact.n:,} participants: {exact.estimate:.3f} of {exact.middle:.3f} nats{share},"
        f" {exact.gap.nats:.3f} ± {exact.gap.se:.3f} missing"
    )
    if exact.largest_difference is not None:
        text += f"; the shares of participants whose model is recognised differ by at most {exact.largest_difference:.3f}"
        text += f" ± {exact.largest_difference_se:.3f}"
    return text + "."


def reading_in_words(reading: Reading) -> str:
    """What an independent reader found."""
    who = f"An independent reader, trained on {reading.trained:,} participants,"
    gain, alone = reading.gain, Difference(-reading.alone.nats, reading.alone.se)
    measured = f"{gain.nats:.3f} ± {gain.se:.3f} nats on {reading.n:,} others"
    less = f"by itself it tells {alone.nats:.3f} ± {alone.se:.3f} nats less than the estimator"
    behind = f"; {less}" if alone.nats > 0.0005 else ""
    return {
        "more": f"{who} finds {measured} that the estimator misses: train it longer, or give it another encoder.",
        "nothing": f"{who} finds no more than {at_most(gain):.2f} nats on top ({measured}{behind}); what both overlook is not known.",
        "lost": f"{who} learned too little to tell what the estimator misses: {less}, on {reading.n:,} others.",
    }[finding(reading)]


def amount(nats: float, se: float, kind: str, part: DesignValidation | None) -> str:
    """How much a participant tells, and how sure that is: two standard errors less than the estimate at least, between bounds, or with
    what an independent reader found.
    """
    low = max(0.0, nats - 2 * se)
    least = math.floor(100 * low + EXACTLY) / 100
    text = f"at least {least:.2f} nats" if kind == "lower bound" else f"{nats:.2f} nats"
    if part and part.exact and part.exact.at_most.nats >= -ABOVE * part.exact.at_most.se:
        gap = part.exact.at_most
        high = nats + max(0.0, gap.nats + 2 * math.hypot(se, gap.se))
        most = math.ceil(100 * high - EXACTLY) / 100
        same = f"{low:.2f}" == f"{high:.2f}"
        return f"{nats:.2f} nats, as likelihoods confirm," if same else f"between {least:.2f} and {most:.2f} nats"
    found = finding(part.reading) if part and part.reading else "lost"
    if part is None or part.reading is None or found == "lost":
        return text
    gain = part.reading.gain
    more = f"{gain.nats:.2f} more, which the estimator misses" if found == "more" else f"no more than {at_most(gain):.2f} on top"
    return f"{text} (an independent reader finds {more})"


def finding(reading: Reading) -> Literal["more", "nothing", "lost"]:
    """What to make of a reading. A reader that by itself came nowhere near the estimator cannot tell what is missing: it learned nothing
    that is true, or little of what a learned law adds to the answer that it started from.
    """
    if reading.gain.nats > max(FOUND, 3 * reading.gain.se):
        return "more"
    return "lost" if reading.alone.nats < -max(BEHIND, 3 * reading.alone.se) else "nothing"


def at_most(gain: Difference) -> float:
    """The upper end of what was found, in hundredths of a nat."""
    return max(0.01, math.ceil(100 * (gain.nats + 2 * gain.se)) / 100)


def failures_in_words(failed: int) -> str:
    """What skipped participants mean."""
    who = "1 participant could not be simulated and was" if failed == 1 else f"{failed:,} participants could not be simulated and were"
    return f"{who} replaced by others of the same model: all of the above is about participants that the models can simulate."
