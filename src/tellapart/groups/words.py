"""What an analysis says, in words: its conclusion, its warnings, and a paragraph for the methods section."""

from __future__ import annotations

from typing import TYPE_CHECKING, Iterator

import numpy as np
from numpy.typing import NDArray

from ..errors import counted
from .evidence import beyond
from .predictive import ALARM
from .random_effects import RandomEffects, random_effects

if TYPE_CHECKING:
    from .analysis import Analysis
    from .contrasts import Comparison


FEW_TRIALS = 10
"""Fewer trials of a person say little."""

SURE = 0.95
"""The probability from which on a model is said to be the most frequent one (protected exceedance), or somebody's."""


def conclusion(found: Analysis) -> str:
    """The group in a sentence or two."""
    count = len(found.participants)
    people, these, do = (f"{count} people", "these", "do") if count > 1 else ("1 person", "this", "does")
    if found.effects is None:
        rows = [row for group in found.parameters.values() for row in group.rows()]
        told = [(row["parameter"], *(rounded(row[key], 2) for key in ("mean", "mean_low", "mean_high"))) for row in rows]
        means = ", ".join(f"{name} {mean} ({low} to {high})" for name, mean, low, high in told)
        return f"In the population of {these} {people}, the means of {found.models[0]} are: {means}."
    effects = found.effects
    best = int(effects.frequencies.argmax())
    interval = f"{100 * effects.interval:.0f} % interval {100 * effects.low[best]:.0f} to {100 * effects.high[best]:.0f} %"
    share = f"{100 * effects.frequencies[best]:.0f} % ({interval})"
    equal = f"all are equally frequent with probability {effects.omnibus_risk:.3f} (Bayes omnibus risk)"
    sure = f"protected exceedance probability {effects.protected[best]:.3f}; {equal}"
    if effects.protected[best] < SURE:
        return f"{people.capitalize()} {do} not say which model is the most frequent one; {effects.names[best]} leads with {share}; {sure}."
    return f"In the population of {these} {people}, {effects.names[best]} is the most frequent model: {share}; {sure}."


def described(found: Analysis) -> str:
    """Do the models describe the group? In a sentence."""
    prediction = found.prediction
    verdict = (
        "The models do not describe the group" if prediction.alarm else "Nothing speaks against the models as a description of the group"
    )
    return (
        f"{verdict}: the p-value of all statistics together is {prediction.group.p:.3f} (alarm: {ALARM} or less); the one described worst"
        f" is '{prediction.worst}'."
    )


def warnings_of(found: Analysis) -> Iterator[str]:
    """What a reader must know before believing the rest."""
    if found.left_out:
        yield (f"Left out ({len(found.left_out)}): " + "; ".join(f"{one.participant} ({one.reason})" for one in found.left_out[:5]) + ".")
    few = [f"{found.participants[n]} ({_recorded(found, int(n))})" for n in np.flatnonzero(found.trials < FEW_TRIALS)]
    if few:
        yield f"Fewer than {FEW_TRIALS} trials, which say little, are there of {len(few)}: {', '.join(few[:5])}."
    yield from _about_copies(found)
    if found.prediction.alarm:
        words = f"The models do not describe this group (p = {found.prediction.group.p:.3f}); worst is '{found.prediction.worst}'."
        if found.prediction.odd_outcomes:
            yield f"{words} That is given by the task, not by people: were they run at another design? --design or --designs says which."
        else:
            yield f"{words} Frequencies say which model is the best of these, not that it is good."
    yield from _about_flags(found)
    unsure, most = np.flatnonzero(found.evidence.se.max(1) > 0.2), float(found.evidence.se.max())
    if len(unsure):
        who = f"{', '.join(str(found.participants[n]) for n in unsure[:5])}{', …' * (len(unsure) > 5)}"
        yield (
            f"The log evidence of {counted(len(unsure), 'participant')} is uncertain ({who}): standard errors of up to"
            f" {most:.2f}{beyond(most)}."
        )
    if found.failed:
        yield (
            f"{found.failed:,} of the people who were simulated for this could not be simulated, and were left out or replaced: all of it"
            " is about people whom the models can simulate."
        )
    if found.effects is not None and found.effects.omnibus_risk > 0.5:
        yield "That all models are equally frequent is more probable than that they are not."
    doubted = [f"{found.participants[n]} ({found.doubtful[n]})" for n in np.flatnonzero(found.doubtful != "")]
    if doubted:
        who = f"{counted(len(doubted), 'participant')}: {', '.join(doubted[:5])}{', …' * (len(doubted) > 5)}"
        yield f"Parameters are not to be believed of {who}. What is said of these is too narrow, and may be too near to the prior."
    for group in found.parameters.values():
        if group.few:
            yield f"{group.model}: few posterior draws of {len(group.few)} people agree with the group; its parameters are less exact."
        if group.error > 0.1:
            yield f"{group.model}: group parameters have a Monte-Carlo error of {group.error:.2f} posterior standard deviations."
    for one in found.comparisons:
        if one.differs():
            yield f"Conclusions differ by {one.name}: {one.differs()}. What is said of everybody together is an average over these."


def _recorded(found: Analysis, n: int) -> str:
    """How many trials somebody has, and whether these are the first ones: who stopped has missed nothing in between."""
    count, planned, mask = int(found.trials[n]), int(found.trials[n] + found.missed[n]), found.behavior.mask[n].ravel()
    return f"stopped after {count} of {planned}" if count < planned and mask[:count].all() else f"{count}"


def _about_copies(found: Analysis) -> Iterator[str]:
    """People with the same data to the last outcome, where outcomes vary: chance hardly gives these twice."""
    behavior, outcomes = found.behavior, [name for name in found.behavior.fields if name in found.prediction.outcomes]
    alike: dict[bytes, list[str]] = {}
    for n, label in enumerate(found.participants):
        mask = behavior.mask[n]
        varied = any(len(np.unique(behavior.fields[name][n][mask])) > 1 for name in outcomes)
        if varied and mask.sum() >= FEW_TRIALS:
            data = b"".join([mask.tobytes(), *(values[n].tobytes() for values in behavior.fields.values())])
            alike.setdefault(data, []).append(f"{label}")
    for labels in (labels for labels in alike.values() if len(labels) > 1):
        who = f"{', '.join(labels[:5])}{', …' * (len(labels) > 5)}"
        yield f"The data of {len(labels)} people are the same to the last trial: {who}. Was somebody's file copied? Each is counted."


def _about_flags(found: Analysis) -> Iterator[str]:
    """People unlike the models, and whether the conclusion rests on them."""
    count = int(found.flagged.sum())
    if count == 0:
        return
    would = "about 1 % of those whom they describe would"
    counted_too = "They are not left out" if count > 1 else "That person is not left out"
    yield f"{count} of {len(found.flagged)} people look like nothing that the models produce; {would}. {counted_too}."
    if found.effects is not None and count < len(found.flagged) - 1:
        others = random_effects(found.evidence.log_evidence[~found.flagged], found.models, prior=found.settings.prior_counts)
        if others.frequencies.argmax() != found.effects.frequencies.argmax():
            yield f"Without them the most frequent model is another one: {others.names[int(others.frequencies.argmax())]}."


def assigned(found: Analysis) -> str:
    """How many people each model is the most probable one for, and how many of them surely."""
    known = found.probabilities[np.isfinite(found.probabilities).all(1)]
    best = np.bincount(known.argmax(1), minlength=len(found.models))
    each = ", ".join(f"{name} for {count}" for name, count in zip(found.models, best, strict=True))
    sure = int((known.max(1) >= SURE).sum())
    return f"The most probable model is {each} of {len(known)} people; for {sure} of them its probability is {SURE} or more."


def methods(found: Analysis, version: str) -> str:
    """A paragraph for the methods section."""
    trials = found.trials
    counts = f"{between(trials)} trials each, {int(found.missed.sum())} missed in all"
    models = f"the models {', '.join(found.models)}" if len(found.models) > 1 else f"the model {found.models[0]}"
    data = f"Data of {counted(len(found.participants), 'participant')} ({counts})"
    parts = [f"{data} were analysed with tellapart {version} under {models}."]
    reasons = sorted({one.reason for one in found.left_out})
    parts += [f"Left out: {counted(len(found.left_out), 'participant')} ({'; '.join(reasons)})."] if reasons else []
    parts.append(found.evidence.words)
    if found.effects is not None:
        counts = "one in all, shared equally (1/K each)" if found.settings.prior_counts == "1/K each" else "one for each model"
        exact = (
            "computed exactly" if found.effects.error == 0 else f"computed with a Monte-Carlo error of at most {found.effects.error:.4f}"
        )
        parts.append(
            f"Random-effects model selection (Stephan et al. 2009; Rigoux et al. 2014) with prior counts of {counts} was {exact}, not by"
            " the variational approximation."
        )
    if found.parameters:
        parts.append(
            "Group means and spreads are those of a hierarchical model, normal on the scale on which each parameter's prior is standard"
            " normal, with priors N(0, 1) for means and half-normal (scale 1) for spreads, fitted by re-weighting individual draws."
        )
    parts += [_compared(one) for one in found.comparisons if one.frequencies or one.same]
    parts.append(
        f"Predictive checks (after Gelman et al. 1996) compared {len(found.prediction.names)} statistics of the group with those of groups"
        f" simulated from the population of the models' people that comes nearest to it (p = {found.prediction.group.p:.3f})."
    )
    if found.change is not None:
        parts.append(
            f"Model probabilities differ from the network's own by {found.change[0]:.3f} nats on average, {found.change[1]:.2f} at most."
        )
    return " ".join(parts)


def _compared(one: Comparison) -> str:
    """How groups or conditions were compared, and what came out."""
    if one.frequencies:
        groups = "; ".join(f"{group}, {counted(of.people, 'participant')}: {_shares(of)}" for group, of in one.frequencies.groups.items())
        return (
            f"Whether groups by {one.name} have frequencies of their own or common ones was judged by the evidence of both, equally"
            f" probable beforehand: own ones have the probability {one.frequencies.probability:.3f}. Frequencies with"
            f" {100 * next(iter(one.frequencies.groups.values())).interval:.0f} % intervals: {groups}."
        )
    assert one.same
    return (
        f"Whether people follow the same model in all conditions of {one.name} was judged by random effects over tuples of models, in two"
        f" families (Rigoux et al. 2014): {_shares(one.same)}."
    )


def _shares(effects: RandomEffects) -> str:
    """Frequencies with their intervals."""
    rows = zip(effects.names, effects.frequencies, effects.low, effects.high, strict=True)
    return ", ".join(f"{name} {100 * share:.0f} % ({100 * low:.0f} to {100 * high:.0f})" for name, share, low, high in rows)


def between(counts: NDArray[np.intp]) -> str:
    """The least and the most of some counts."""
    low, high = int(counts.min()), int(counts.max())
    return f"{low}" if low == high else f"{low} to {high}"


def rounded(value: float, places: int) -> str:
    """A number in whatever unit: so many decimal places, or of a small one as many digits."""
    return f"{value:.{places}f}" if value == 0 or abs(value) >= 0.1 else f"{value:.{places}g}"
