"""Do conclusions differ by group, condition or design?

Groups of different people: each has frequencies and parameters of its own. Conditions: the same people, whose blocks of each condition are
analysed apart. Designs: groups of those who had the same one.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import Any, Callable, Mapping

import numpy as np
from numpy.typing import NDArray

from ..behavior import Behavior
from ..errors import counted
from ..question import Question
from ..tasks.base import Task
from .comparison import MOST_TUPLES, FrequencyDifference, compare_frequencies, same_model
from .evidence import PeopleEvidence
from .frequencies import Floats
from .membership import parameters_of_models
from .memory import memory_of
from .parameters import ParameterDifference, compare_conditions, compare_groups
from .random_effects import PriorCounts, RandomEffects

Texts = NDArray[Any]

FEW_IN_GROUP, MOST_GROUPS, MOST_CONDITIONS = 5, 8, 3
"""A group of fewer people is not compared, and no more groups or conditions than this are."""


@dataclass(frozen=True, eq=False)
class Comparison:
    """How groups of people, conditions or designs differ.

    Arguments:
        name: Of the column that sorts people or blocks, or "design".
        paired: Are they the same people under several conditions?
        frequencies: Do the frequencies of models differ? For different people.
        same: How many follow the same model throughout? For the same people.
        parameters: How much population means differ.
        not_compared: What was not compared, and why.
    """

    name: str
    paired: bool
    frequencies: FrequencyDifference | None = None
    same: RandomEffects | None = None
    parameters: tuple[ParameterDifference, ...] = ()
    not_compared: str = ""

    def differs(self) -> str:
        """What differs, in words; empty if nothing does with a probability of 95 %, over all parameters together."""
        differing = []
        if self.frequencies and self.frequencies.probability > 0.95:
            differing.append(f"the frequencies of models (probability {self.frequencies.probability:.3f})")
        if self.same and self.same.protected[1] > 0.95:
            differing.append(f"the model, for {100 * self.same.frequencies[1]:.0f} % of people")
        least = 0.025 / max(1, len(self.parameters))
        clear = [one for one in self.parameters if min(one.probability, 1 - one.probability) < least]
        differing += [f"{one.model}.{one.parameter} ({one.first} and {one.second})" for one in clear]
        return ", ".join(differing)


def by_groups(
    name: str,
    values: Texts,
    question: Question,
    evidence: PeopleEvidence,
    effects: RandomEffects | None,
    prior: PriorCounts,
    seed: int,
) -> Comparison:
    """Compare groups of different people.

    Arguments:
        values: The group of each person, (N,); those in "" are in none.
        effects: Of everybody together; none if there is one model.
    """
    texts = values.astype(str)
    names, counts = np.unique(texts[texts != ""], return_counts=True)
    labels = [str(label) for label in names[counts >= FEW_IN_GROUP]]
    if not 2 <= len(labels) <= MOST_GROUPS:
        sizes = [f"{label} {count}" for label, count in zip(names, counts, strict=True)]
        listed = ", ".join(sizes[:MOST_GROUPS]) + f", … ({len(sizes)} in all)" * (len(sizes) > MOST_GROUPS)
        return Comparison(name, False, not_compared=f"it takes 2 to {MOST_GROUPS} groups of {FEW_IN_GROUP} or more people, not {listed}")
    who = {label: texts == label for label in labels}
    frequencies = None
    if effects is not None:
        frequencies = compare_frequencies({label: evidence.log_evidence[mask] for label, mask in who.items()}, question.names, prior)
    everybody = np.arange(len(values))
    own = frequencies.groups if frequencies else dict.fromkeys(labels)
    fitted = {label: parameters_of_models(question, evidence, own[label], everybody, mask, seed) for label, mask in who.items()}
    differences = [
        difference
        for first, second in combinations(labels, 2)
        for model in fitted[first]
        for difference in compare_groups(fitted[first][model], fitted[second][model], (first, second))
    ]
    small = [f"{label} ({count})" for label, count in zip(names, counts, strict=True) if count < FEW_IN_GROUP]
    left_out = [f"groups of fewer than {FEW_IN_GROUP} people: {', '.join(small)}"] if small else []
    nowhere = int((texts == "").sum())
    left_out += [f"{counted(nowhere, 'participant')} in no group"] if nowhere else []
    return Comparison(name, False, frequencies, None, tuple(differences), "; ".join(left_out))


def by_conditions(
    name: str,
    values: Texts,
    question: Question,
    people: Behavior,
    evidence_of: Callable[[Behavior, NDArray[np.bool_]], PeopleEvidence],
    prior: PriorCounts,
    seed: int,
    log_odds: Mapping[str, Floats] | None = None,
    remembered: str = "",
) -> Comparison:
    """Compare conditions under which the same people were observed.

    Arguments:
        values: The condition of each block, (N, B).
        evidence_of: The evidence of some of the people, (N,), by a part of their data.
        log_odds: Model name to the log odds that each person follows it and no other, by all their data, (N,); everybody does if not given.
        remembered: Why conditions cannot be taken apart, see `carried_over`.
    """
    if remembered:
        return Comparison(name, True, not_compared=remembered)
    odds = log_odds or {}
    texts = values.astype(str)
    labels = [label for label in dict.fromkeys(texts.reshape(-1).tolist()) if label]
    parts = {label: Behavior(people.fields, people.mask & (texts == label)[:, :, None], people.participants) for label in labels}
    complete = np.logical_and.reduce([part.mask.any((1, 2)) for part in parts.values()])
    if not 2 <= len(labels) <= MOST_CONDITIONS or complete.sum() < FEW_IN_GROUP:
        wanted = f"it takes 2 to {MOST_CONDITIONS} conditions, under all of which {FEW_IN_GROUP} or more people were observed"
        return Comparison(name, True, not_compared=f"{wanted}, not {len(labels)} and {int(complete.sum())}")
    each = {label: evidence_of(part[complete], complete) for label, part in parts.items()}
    tuples, same, left_out = len(question.models) ** len(labels), None, list[str]()
    if not complete.all():
        left_out.append(f"{counted(int((~complete).sum()), 'participant')} without trials under one of the conditions")
    if tuples > MOST_TUPLES:
        left_out.append(
            f"who follows another model under another condition, since there are {tuples} ways to do so, more than {MOST_TUPLES}"
        )
    elif tuples > 1:
        same = same_model({label: one.log_evidence for label, one in each.items()}, question.names, prior)
    differences = [
        difference
        for first, second in combinations(labels, 2)
        for m, model in enumerate(question.names)
        if model in each[first].draws
        for difference in compare_conditions(
            model,
            question.parameters(m),
            each[first].draws[model],
            each[second].draws[model],
            (first, second),
            seed,
            odds[model][complete] if model in odds else None,
        )
    ]
    return Comparison(name, True, None, same, tuple(differences), "; ".join(left_out))


def carried_over(question: Question, task: Task, seed: int) -> str:
    """Why conditions cannot be compared, if a model carries memory from block to block; else empty.

    Its state under one condition was taught by the blocks of the others, with the parameters that it had there: the blocks of a condition
    alone are not what such a model speaks of.
    """
    for model in question.models:
        why = memory_of(model, task, seed)
        if why:
            return (
                f"the model '{model.name}' carries memory from block to block ({why}), so that what somebody does under one condition"
                " depends on what the others taught. If people begin anew in each block, let the model do so (resets=True); else observe"
                " different people under each condition, which are then groups"
            )
    return ""


def design_groups(designs: Floats) -> dict[str, Texts]:
    """Which design each person had, where there are a few of them: "design" to labels (N,)."""
    different, which = np.unique(designs.reshape(len(designs), -1), axis=0, return_inverse=True)
    several = 2 <= len(different) <= MOST_GROUPS
    return {"design": np.array([f"design {n + 1}" for n in which.reshape(-1)], object)} if several else {}
