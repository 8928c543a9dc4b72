"""Group parameters where models compete: a person counts for the parameters of a model as probably as the person follows it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from .evidence import PeopleEvidence
from .frequencies import Floats
from .parameters import GroupParameters, group_parameters
from .random_effects import RandomEffects

if TYPE_CHECKING:
    from ..question import Question


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
        effects: How frequent models are; none if there is one model.
        participants: N labels.
        who: Which of them are meant, (N,).
    """
    found = {}
    for m, model in enumerate(question.models):
        if model.name in evidence.draws:
            odds = None if effects is None else _log_odds(evidence.log_evidence[who], effects.frequencies, m)
            draws = evidence.draws[model.name][who]
            found[model.name] = group_parameters(model.name, question.parameters(m), draws, participants[who], odds, seed)
    return found


def _log_odds(log_evidence: Floats, frequencies: Floats, m: int) -> Floats:
    """That people follow model number `m` and no other, given how frequent models are, (N,)."""
    joint = log_evidence + np.log(frequencies)
    others = logsumexp(np.delete(joint, m, axis=1), axis=1)
    with np.errstate(invalid="ignore"):
        return np.asarray(np.nan_to_num(joint[:, m] - others, nan=-50.0, posinf=50.0, neginf=-50.0), np.float64)
