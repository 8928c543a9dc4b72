"""Do groups of people, or conditions, differ in which models are followed? Both answers are exact.

Different people in each group: one r for all, or one r for each group? Each hypothesis has the evidence that `random_effects` computes;
both are equally probable before the data.

The same people under several conditions: each person has a model in each condition, and so a tuple of models; its evidence is the
product. The tuples make two families, the same model throughout or not, equally frequent before the data (Rigoux et al. 2014). Their
frequencies say how many people change their model.

References:
    Rigoux, Stephan, Friston & Daunizeau (2014), Bayesian model selection for group studies — revisited.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations, product
from typing import Any, Mapping, Sequence

import numpy as np
from scipy.special import expit

from ..errors import DataError
from .frequencies import Floats
from .random_effects import PriorCounts, RandomEffects, frequency_posterior, prior_counts, random_effects, usable

MOST_TUPLES = 30
"""Tuples of models, one for each condition, beyond which it is not asked who changes the model."""


@dataclass(frozen=True, eq=False)
class FrequencyDifference:
    """Whether groups differ in the frequencies of models.

    Arguments:
        groups: Group name to its frequencies.
        probability: That the groups have frequencies of their own, not common ones.
        log_bayes_factor: Of own against common ones.
        error: Two Monte-Carlo standard errors of the latter; 0 if it is exact.
    """

    groups: Mapping[str, RandomEffects]
    probability: float
    log_bayes_factor: float
    error: float = 0.0

    def rows(self, interval: float = 0.9, draws: int = 20_000) -> list[dict[str, Any]]:
        """For each pair of groups and each model: the difference of frequencies with an interval, and how probably it is positive."""
        rng, rows = np.random.default_rng(0), []
        samples = {name: group.sample(draws, rng) for name, group in self.groups.items()}
        for first, second in combinations(self.groups, 2):
            gap = samples[first] - samples[second]
            low, high = np.quantile(gap, [(1 - interval) / 2, (1 + interval) / 2], axis=0)
            for k, model in enumerate(self.groups[first].names):
                who = {"first": first, "second": second, "model": model}
                size = {"difference": float(gap[:, k].mean()), "low": float(low[k]), "high": float(high[k])}
                rows.append({**who, **size, "probability_larger": float((gap[:, k] > 0).mean())})
        return rows


def compare_frequencies(evidence: Mapping[str, Floats], names: Sequence[str], prior: PriorCounts = "1/K each") -> FrequencyDifference:
    """Do groups of different people differ in the frequencies of models?

    Arguments:
        evidence: Group name to log evidences (N_g, K); people without all of them are left out.
    """
    groups = {group: random_effects(values, names, prior=prior) for group, values in evidence.items()}
    together, _ = usable(np.concatenate(list(evidence.values())), names, None)
    common = frequency_posterior(together, prior_counts(np.arange(len(names)), prior))
    factor = sum(group.posterior.log_evidence for group in groups.values()) - common.log_evidence
    variance = common.log_evidence_se**2 + sum(group.posterior.log_evidence_se**2 for group in groups.values())
    return FrequencyDifference(groups, float(expit(factor)), float(factor), 2 * float(np.sqrt(variance)))


def same_model(evidence: Mapping[str, Floats], names: Sequence[str], prior: PriorCounts = "1/K each") -> RandomEffects:
    """How many people follow the same model under all conditions, and how many change: the frequencies of the two families.

    Arguments:
        evidence: Condition name to log evidences (N, K), people in the same order.
    """
    tuples = list(product(range(len(names)), repeat=len(evidence)))
    if len(tuples) > MOST_TUPLES:
        fix = "compare two conditions at a time"
        raise DataError(
            "There are too many conditions to compare at once.", expected=f"at most {MOST_TUPLES} tuples", got=len(tuples), fix=fix
        )
    conditions = list(evidence.values())
    joint = np.stack([sum(values[:, k] for values, k in zip(conditions, one, strict=True)) for one in tuples], axis=1)
    labels = [" then ".join(names[k] for k in one) for one in tuples]
    same = {label for label, one in zip(labels, tuples, strict=True) if len(set(one)) == 1}
    families = {
        "the same model": [label for label in labels if label in same],
        "different models": [label for label in labels if label not in same],
    }
    return random_effects(joint, labels, prior=prior, families=families)
