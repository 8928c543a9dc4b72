"""Group parameters where models compete: a person counts for the parameters of a model as probably as the person follows it."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..models.logsumexp import logsumexp
from ..question import Question
from .evidence import PeopleEvidence
from .frequencies import Floats
from .parameters import GroupParameters, group_parameters
from .random_effects import RandomEffects

FREQUENCIES = 2_000
"""Draws of the frequencies of models, over which it is averaged who follows which."""


def parameters_of_models(
    question: Question,
    evidence: PeopleEvidence,
    effects: RandomEffects | None,
    participants: NDArray[Any],
    who: NDArray[np.bool_],
    seed: int,
) -> dict[str, GroupParameters]:
    """Model name to its group parameters, of those of N people who are meant.

    Arguments:
        effects: How frequent models are among those who are meant; none if there is one model.
        participants: N labels.
        who: Which of them are meant, (N,).
    """
    found = {}
    for m, model in enumerate(question.models):
        if model.name in evidence.draws:
            odds = None if effects is None else log_odds(evidence.log_evidence[who], effects, m)
            draws = evidence.draws[model.name][who]
            found[model.name] = group_parameters(model.name, question.parameters(m), draws, participants[who], odds, seed)
    return found


def log_odds(log_evidence: Floats, effects: RandomEffects, m: int) -> Floats:
    """That people follow model number `m` and no other, given the group, (N,).

    Averaged over the frequencies that the group leaves possible. Their mean would count a person twice, who is one of the group: alone,
    somebody with odds of 3 would be given odds of 5.
    """
    with np.errstate(divide="ignore"):
        log_r = np.log(effects.sample(FREQUENCIES, np.random.default_rng(0)))
    odds = np.empty(len(log_evidence))
    for n, one in enumerate(log_evidence):
        joint = one + log_r
        with np.errstate(invalid="ignore"):
            shares = joint - logsumexp(joint, axis=1, keepdims=True)
            odds[n] = logsumexp(shares[:, m]) - logsumexp(np.delete(shares, m, axis=1))
    return np.asarray(np.nan_to_num(odds, nan=-50.0, posinf=50.0, neginf=-50.0), np.float64)
