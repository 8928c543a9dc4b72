"""What a group of people did, in the light of a study's models: everything that a paper reports, computed.

Each person by itself first (`evidence.py`), then the group: frequencies of models, parameters, comparisons, predictions. Nothing here draws
or writes; `report/analysis.py` shows it.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from ..behavior import Behavior
from ..errors import DataError
from ..estimators.base import Estimator
from ..models.evidence import have_likelihoods
from ..posterior import Checks
from ..progress import Progress, unheard
from .contrasts import Comparison, by_conditions, by_groups, carried_over, design_groups
from .evidence import PeopleEvidence, errors_of, likelihood_evidence, network_evidence
from .frequencies import Floats
from .membership import log_odds, parameters_of_models
from .parameters import GroupParameters
from .predictive import Prediction, check_predictions
from .random_effects import LeftOut, PriorCounts, RandomEffects, random_effects
from .refine import Refinement, refine
from .words import warnings_of

Texts = NDArray[Any]


@dataclass(frozen=True)
class AnalysisSettings:
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
class Analysis:
    """What N people did.

    Arguments:
        models: M models.
        participants: N labels of those who are analysed.
        trials: How many trials of each were recorded, (N,).
        missed: How many were not, (N,).
        left_out: Who is not analysed, and why.
        evidence: Of each person for each model.
        probabilities: Model probabilities of each person by itself, (N, M).
        change: How far these are from the network's own, on average and at most, in nats; none if they are, or if there is one model.
        effects: Frequencies of models; none if there is one model.
        families: Frequencies of families.
        parameters: Model name to group parameters.
        comparisons: Of groups, conditions and designs.
        prediction: Observed against predicted.
        trust: Whether people look like the models, if that was checked.
        groups: Name to the group of each person, (N,).
        doubtful: Why somebody's parameters are not to be believed, in words, (N,), empty for most.
        behavior: What was analysed.
        settings: How.
        failed: How many of the people who were simulated for it could not be.
        warnings: What a reader must know before believing the rest.
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
    doubtful: Texts
    behavior: Behavior
    settings: AnalysisSettings
    failed: int = 0
    warnings: tuple[str, ...] = ()

    @property
    def flagged(self) -> NDArray[np.bool_]:
        """Who looks like nothing that the models produce, (N,)."""
        return np.zeros(len(self.participants), bool) if self.trust is None else np.asarray(self.trust.flagged)


def analyse(
    estimator: Estimator,
    behavior: Behavior,
    designs: Floats,
    settings: AnalysisSettings | None = None,
    *,
    groups: Mapping[str, Texts] | None = None,
    orders: Sequence[str] = (),
    conditions: Mapping[str, Texts] | None = None,
    trust: Any = None,
    progress: Progress = unheard,
) -> Analysis:
    """Analyse a group.

    Arguments:
        estimator: Of a finished run.
        designs: What people were run at, (N, B, V).
        groups: Name to the group of each person, (N,).
        orders: Names of groups that are no more than orders of the same blocks, which are not compared.
        conditions: Name to the condition of each block, (N, B).
        trust: Called with behavior and designs, says whether people look like the models.
    """
    settings = settings or AnalysisSettings()
    recorded, question = behavior.mask.sum((1, 2)), estimator.question
    keep, left_out = _kept(behavior, recorded, settings.least_trials)
    people, where = behavior[keep], designs[keep]
    used, refinement = _refined(estimator, people, where, settings, progress)

    def evidence_of(part: Behavior, who: NDArray[np.bool_]) -> PeopleEvidence:
        return _evidence(used, part, where[who], settings, refinement, progress)

    evidence = evidence_of(people, np.ones(len(people), bool))
    possible = np.asarray(np.isfinite(evidence.log_evidence).any(1))
    if not possible.all():
        left_out += tuple(LeftOut(label, "no model can produce these data") for label in people.participants[~possible])
        keep[keep], people, where, evidence = possible, people[possible], where[possible], evidence[possible]
        _somebody(len(people), "somebody whose data a model can produce")
    everybody = np.ones(len(people), bool)
    probabilities = evidence.probabilities(question.prior)
    progress(0, 1, "the group")
    effects, families = _frequencies(evidence, question.names, people.participants, settings)
    sorted_by = {name: values[keep] for name, values in (groups or {}).items()}
    comparisons = [
        by_groups(name, values, question, evidence, effects, settings.prior_counts, settings.seed)
        for name, values in (sorted_by | design_groups(where)).items()
        if name not in orders
    ]
    odds = {name: log_odds(evidence.log_evidence, effects, m) for m, name in enumerate(question.names)} if effects and conditions else {}
    remembered = carried_over(question, estimator.task, settings.seed) if conditions else ""
    comparisons += [
        by_conditions(name, values[keep], question, people, evidence_of, settings.prior_counts, settings.seed, odds, remembered)
        for name, values in (conditions or {}).items()
    ]
    found = Analysis(
        models=question.names,
        participants=people.participants,
        trials=recorded[keep],
        missed=(estimator.task.lengths(where).sum(1) - recorded[keep]).clip(0),
        left_out=left_out + (effects.left_out if effects else ()),
        evidence=evidence,
        probabilities=probabilities,
        change=None if effects is None or evidence.route == "network" else _change(probabilities, estimator, people, where),
        effects=effects,
        families=families,
        parameters=parameters_of_models(question, evidence, effects, people.participants, everybody, settings.seed),
        comparisons=tuple(comparisons),
        # thousands of people are described for it, whom to correct one by one would take an hour, and calibrates whatever describes them
        prediction=check_predictions(estimator.quick, people, where, seed=settings.seed, progress=progress),
        trust=trust(people, where) if trust else None,
        groups=sorted_by,
        doubtful=evidence.doubtful(question),
        behavior=people,
        settings=settings,
    )
    failed = found.prediction.failed + (found.trust.failed if found.trust else 0) + (refinement.failed if refinement else 0)
    found = replace(found, failed=failed)
    return replace(found, warnings=tuple(warnings_of(found)))


def _kept(behavior: Behavior, recorded: NDArray[np.intp], least: int) -> tuple[NDArray[np.bool_], tuple[LeftOut, ...]]:
    """Who has enough trials, and who has not."""
    keep = recorded >= max(least, 1)
    reasons = tuple(
        LeftOut(behavior.participants[n], f"{recorded[n]} trials recorded, fewer than {max(least, 1)}") for n in np.flatnonzero(~keep)
    )
    _somebody(int(keep.sum()), f"somebody with {max(least, 1)} recorded trials or more")
    return keep, reasons


def _somebody(people: int, expected: str) -> None:
    if not people:
        raise DataError("There is nobody to analyse.", expected=expected)


def _refined(
    estimator: Estimator, people: Behavior, designs: Floats, settings: AnalysisSettings, progress: Progress
) -> tuple[Estimator, Refinement | None]:
    """The network, trained further near the people where models have no likelihood."""
    if settings.amortized or have_likelihoods(estimator.question.models):
        return estimator, None
    refinement = refine(estimator, people.closed_up(), designs, seed=settings.seed, progress=progress)
    return refinement.estimator, refinement


def _evidence(
    estimator: Estimator, people: Behavior, designs: Floats, settings: AnalysisSettings, refinement: Refinement | None, progress: Progress
) -> PeopleEvidence:
    if not settings.amortized and have_likelihoods(estimator.question.models):
        return likelihood_evidence(estimator, people, designs, seed=settings.seed, progress=progress)
    found = network_evidence(estimator, people, designs, seed=settings.seed)
    if refinement is None:
        return found
    errors = f" By the number of draws, {errors_of(found.se)}." if found.se.any() else ""
    return PeopleEvidence(found.log_evidence, found.se, found.draws, refinement.route, refinement.words + errors)


def _change(now: Floats, estimator: Estimator, people: Behavior, designs: Floats) -> tuple[float, float]:
    """The divergence of the network's own model probabilities from present ones, on average and at most, in nats."""
    before = network_evidence(estimator, people, designs, 1).probabilities(estimator.question.prior)
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = np.where(now > 0, now * (np.log(now) - np.log(np.maximum(before, 1e-300))), 0.0)
    each = terms.sum(1)
    return float(np.nanmean(each)), float(np.nanmax(each))


def _frequencies(
    evidence: PeopleEvidence, names: Sequence[str], participants: Texts, settings: AnalysisSettings
) -> tuple[RandomEffects | None, RandomEffects | None]:
    """How frequent models are, and families of them, as far as there are several."""
    if len(names) < 2:
        return None, None
    how: dict[str, Any] = {"prior": settings.prior_counts, "participants": participants}
    effects = random_effects(evidence.log_evidence, names, **how)
    return effects, random_effects(evidence.log_evidence, names, families=settings.families, **how) if settings.families else None
