"""What a group of people did, in the light of a study's models: everything that a paper reports, computed.

Each person by itself first (`evidence.py`), then the group: frequencies of models, parameters, comparisons, predictions. Nothing here draws
or writes; `report/analysis.py` shows it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import combinations
from typing import TYPE_CHECKING, Any, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from ..behavior import Behavior
from ..errors import DataError
from ..models.evidence import have_likelihoods
from ..progress import Progress, unheard
from .comparison import FrequencyDifference, compare_frequencies, same_model
from .evidence import PeopleEvidence, likelihood_evidence, network_evidence
from .frequencies import Floats
from .parameters import GroupParameters, ParameterDifference, compare_conditions, compare_groups, group_parameters
from .predictive import Prediction, check_predictions
from .random_effects import LeftOut, PriorCounts, RandomEffects, random_effects
from .refine import Refinement, refine
from .statistics import closed_up

if TYPE_CHECKING:
    from ..estimators.base import Estimator
    from ..posterior import Checks

Texts = NDArray[Any]

FEW_IN_GROUP, MOST_GROUPS = 5, 8
"""A group of fewer people is not compared, and no more groups than this are."""


@dataclass(frozen=True)
class Settings:
    """How a group is analysed.

    Arguments:
        amortized: Take the network's word, without likelihoods and without refinement.
        prior_counts: Of random effects.
        families: Family name to its models.
        least_trials: People with fewer recorded trials are left out.
        seed: Where randomness starts.
    """

    amortized: bool = False
    prior_counts: PriorCounts = "1/K each"
    families: Mapping[str, Sequence[str]] = field(default_factory=dict)
    least_trials: int = 1
    seed: int = 0


@dataclass(frozen=True, eq=False)
class Comparison:
    """How groups of people, conditions or designs differ.

    Arguments:
        name: Of the column that sorts people or blocks, or "design".
        paired: Are they the same people under several conditions?
        frequencies: Do the frequencies of models differ? For different people.
        same: How many follow the same model throughout? For the same people.
        parameters: How much population means differ.
    """

    name: str
    paired: bool
    frequencies: FrequencyDifference | None = None
    same: RandomEffects | None = None
    parameters: tuple[ParameterDifference, ...] = ()

    def differs(self) -> str:
        """What differs, in words; empty if nothing does with a probability of 95 %."""
        found = []
        if self.frequencies and self.frequencies.probability > 0.95:
            found.append(f"the frequencies of models (probability {self.frequencies.probability:.3f})")
        if self.same and self.same.frequencies[1] > 0.5:
            found.append(f"the model, for {100 * self.same.frequencies[1]:.0f} % of people")
        found += [f"{one.model}.{one.parameter}" for one in self.parameters if min(one.probability, 1 - one.probability) < 0.025]
        return ", ".join(found)


@dataclass(frozen=True, eq=False)
class Analysis:
    """What N people did.

    Arguments:
        models: M models.
        participants: N labels of those who are analysed.
        trials, missed: Of each, (N,).
        left_out: Who is not analysed, and why.
        evidence: Of each person for each model.
        probabilities: Model probabilities of each person by itself, (N, M).
        change: How far these are from the network's own, on average and at most, in nats; none for the network's own.
        effects: Frequencies of models; none if there is one model.
        families: Frequencies of families.
        parameters: Model name to group parameters.
        comparisons: Of groups, conditions and designs.
        prediction: Observed against predicted.
        trust: Whether people look like the models, if that was checked.
        groups: Name to the group of each person, (N,).
        warnings: What a reader must know before believing the rest.
        behavior: What was analysed.
    """

    models: tuple[str, ...]
    participants: Texts
    trials: NDArray[np.intp]
    missed: NDArray[np.intp]
    left_out: tuple[LeftOut, ...]
    evidence: PeopleEvidence
    probabilities: Floats
    change: tuple[float, float] | None
    effects: RandomEffects | None
    families: RandomEffects | None
    parameters: Mapping[str, GroupParameters]
    comparisons: tuple[Comparison, ...]
    prediction: Prediction
    trust: Checks | None
    groups: Mapping[str, Texts]
    warnings: tuple[str, ...]
    behavior: Behavior

    @property
    def flagged(self) -> NDArray[np.bool_]:
        """Who looks like nothing that the models produce, (N,)."""
        return np.zeros(len(self.participants), bool) if self.trust is None else np.asarray(self.trust.flagged)


def analyse(
    estimator: Estimator,
    behavior: Behavior,
    designs: Floats,
    settings: Settings | None = None,
    *,
    groups: Mapping[str, Texts] | None = None,
    conditions: Mapping[str, Texts] | None = None,
    trust: Any = None,
    progress: Progress = unheard,
) -> Analysis:
    """Analyse a group.

    Arguments:
        estimator: Of a finished run.
        designs: What people were run at, (N, B, V).
        groups: Name to the group of each person, (N,).
        conditions: Name to the condition of each block, (N, B).
        trust: Called with behavior and designs, says whether people look like the models.
    """
    settings = settings or Settings()
    expected = estimator.task.lengths(designs).sum(1)
    recorded = behavior.mask.sum((1, 2))
    keep, left_out = _kept(behavior, recorded, settings.least_trials)
    people, where = behavior[keep], designs[keep]
    sorted_by = {name: values[keep] for name, values in (groups or {}).items()}
    of_blocks = {name: values[keep] for name, values in (conditions or {}).items()}
    used, refinement = _refined(estimator, people, where, settings, progress)
    evidence = _evidence(used, people, where, settings, refinement, progress)
    question = estimator.question
    probabilities = evidence.probabilities(question.prior)
    change = (
        None
        if evidence.route == "network"
        else _change(probabilities, network_evidence(estimator, people, where, 1).probabilities(question.prior))
    )
    several = len(question.models) > 1
    progress(0, 1, "the group")
    effects = (
        random_effects(evidence.log_evidence, question.names, prior=settings.prior_counts, participants=people.participants)
        if several
        else None
    )
    families = _families(evidence, question.names, settings) if several else None
    parameters = _parameters(used, evidence, effects, people.participants, np.ones(len(people), bool), settings.seed)
    checks = trust(people, where) if trust else None
    prediction = check_predictions(used, people, where, seed=settings.seed, progress=progress)
    comparisons = [_by_groups(name, values, used, evidence, effects, settings) for name, values in sorted_by.items()]
    comparisons += [_by_conditions(name, values, used, people, where, settings, progress) for name, values in of_blocks.items()]
    by_design = _design_labels(where)
    comparisons += [_by_groups("design", by_design, used, evidence, effects, settings)] if by_design is not None else []
    shown = tuple(one for one in comparisons if one is not None)
    found = Analysis(
        question.names,
        people.participants,
        recorded[keep],
        (expected[keep] - recorded[keep]).clip(0),
        left_out,
        evidence,
        probabilities,
        change,
        effects,
        families,
        parameters,
        shown,
        prediction,
        checks,
        sorted_by,
        (),
        people,
    )
    return _with_warnings(found, settings)


def _kept(behavior: Behavior, recorded: NDArray[np.intp], least: int) -> tuple[NDArray[np.bool_], tuple[LeftOut, ...]]:
    """Who has enough trials, and who has not."""
    keep = recorded >= max(least, 1)
    reasons = tuple(
        LeftOut(behavior.participants[n], f"{recorded[n]} trials recorded, fewer than {max(least, 1)}") for n in np.flatnonzero(~keep)
    )
    if not keep.any():
        raise DataError("There is nobody to analyse.", got=f"{len(behavior)} people", expected=f"{max(least, 1)} recorded trials or more")
    return keep, reasons


def _refined(
    estimator: Estimator, people: Behavior, designs: Floats, settings: Settings, progress: Progress
) -> tuple[Estimator, Refinement | None]:
    """The network, trained further near the people where models have no likelihood."""
    if settings.amortized or have_likelihoods(estimator.question.models):
        return estimator, None
    refinement = refine(estimator, closed_up(people), designs, seed=settings.seed, progress=progress)
    return refinement.estimator, refinement


def _evidence(
    estimator: Estimator, people: Behavior, designs: Floats, settings: Settings, refinement: Refinement | None, progress: Progress
) -> PeopleEvidence:
    if not settings.amortized and have_likelihoods(estimator.question.models):
        return likelihood_evidence(estimator, people, designs, seed=settings.seed, progress=progress)
    found = network_evidence(estimator, people, designs, seed=settings.seed)
    if refinement is None:
        return found
    return PeopleEvidence(found.log_evidence, found.se, found.draws, "refined network", refinement.words)


def _change(now: Floats, before: Floats) -> tuple[float, float]:
    """The divergence of earlier from present probabilities, on average and at most, in nats."""
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = np.where(now > 0, now * (np.log(now) - np.log(np.maximum(before, 1e-300))), 0.0)
    each = terms.sum(1)
    return float(np.nanmean(each)), float(np.nanmax(each))


def _families(evidence: PeopleEvidence, names: Sequence[str], settings: Settings) -> RandomEffects | None:
    if not settings.families:
        return None
    return random_effects(evidence.log_evidence, names, prior=settings.prior_counts, families=settings.families)


def _parameters(
    estimator: Estimator,
    evidence: PeopleEvidence,
    effects: RandomEffects | None,
    participants: Texts,
    who: NDArray[np.bool_],
    seed: int,
) -> dict[str, GroupParameters]:
    """Group parameters of each model, of some of the people."""
    found = {}
    for m, model in enumerate(estimator.question.models):
        if model.name in evidence.draws:
            odds = None if effects is None else _log_odds(evidence.log_evidence[who], effects.frequencies, m)
            priors = estimator.question.parameters(m)
            found[model.name] = group_parameters(model.name, priors, evidence.draws[model.name][who], participants[who], odds, seed)
    return found


def _log_odds(log_evidence: Floats, frequencies: Floats, m: int) -> Floats:
    """That people follow model number `m` and no other, given how frequent models are, (N,)."""
    from scipy.special import logsumexp

    joint = log_evidence + np.log(frequencies)
    others = logsumexp(np.delete(joint, m, axis=1), axis=1)
    with np.errstate(invalid="ignore"):
        return np.asarray(np.nan_to_num(joint[:, m] - others, nan=0.0, posinf=50.0, neginf=-50.0), np.float64)


def _labels(values: Texts) -> list[str]:
    """The groups that are large enough to be compared."""
    names, counts = np.unique(values.astype(str), return_counts=True)
    return [str(name) for name, count in zip(names, counts, strict=True) if count >= FEW_IN_GROUP and name]


def _by_groups(
    name: str, values: Texts, estimator: Estimator, evidence: PeopleEvidence, effects: RandomEffects | None, settings: Settings
) -> Comparison | None:
    """Compare groups of different people."""
    labels = _labels(values)
    if not 2 <= len(labels) <= MOST_GROUPS:
        return None
    who = {label: values.astype(str) == label for label in labels}
    frequencies = None
    if effects is not None:
        parts = {label: evidence.log_evidence[mask] for label, mask in who.items()}
        frequencies = compare_frequencies(parts, estimator.question.names, settings.prior_counts)
    participants = np.arange(len(values))
    fitted = {label: _parameters(estimator, evidence, effects, participants, mask, settings.seed) for label, mask in who.items()}
    differences = [
        difference
        for first, second in combinations(labels, 2)
        for model in fitted[first]
        for difference in compare_groups(fitted[first][model], fitted[second][model], (first, second))
    ]
    return Comparison(name, False, frequencies, None, tuple(differences))


def _by_conditions(
    name: str, values: Texts, estimator: Estimator, people: Behavior, designs: Floats, settings: Settings, progress: Progress
) -> Comparison | None:
    """Compare conditions under which the same people were observed: their data in blocks of each condition, analysed apart."""
    labels = [label for label in dict.fromkeys(values.reshape(-1).astype(str).tolist()) if label]
    if not 2 <= len(labels) <= 3:
        return None
    parts = {}
    for label in labels:
        mask = people.mask & (values.astype(str) == label)[:, :, None]
        parts[label] = Behavior(people.fields, mask, people.participants)
    both = np.logical_and.reduce([part.mask.any((1, 2)) for part in parts.values()])
    if both.sum() < FEW_IN_GROUP:
        return None
    found = {label: _evidence(estimator, part[both], designs[both], settings, None, progress) for label, part in parts.items()}
    several = len(estimator.question.models) > 1
    same = (
        same_model({label: one.log_evidence for label, one in found.items()}, estimator.question.names, settings.prior_counts)
        if several
        else None
    )
    differences = [
        difference
        for first, second in combinations(labels, 2)
        for m, model in enumerate(estimator.question.models)
        if model.name in found[first].draws
        for difference in compare_conditions(
            model.name,
            estimator.question.parameters(m),
            found[first].draws[model.name],
            found[second].draws[model.name],
            (first, second),
            settings.seed,
        )
    ]
    return Comparison(name, True, None, same, tuple(differences))


def _design_labels(designs: Floats) -> Texts | None:
    """Which design each person had, where there are a few of them."""
    different, which = np.unique(designs.reshape(len(designs), -1), axis=0, return_inverse=True)
    if not 2 <= len(different) <= MOST_GROUPS:
        return None
    return np.array([f"design {n + 1}" for n in which.reshape(-1)], object)


def _with_warnings(found: Analysis, settings: Settings) -> Analysis:
    from dataclasses import replace

    from .words import warnings_of

    return replace(found, warnings=tuple(warnings_of(found, settings)))
