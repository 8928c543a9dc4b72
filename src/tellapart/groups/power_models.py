"""How many people does it take to say which model is the most frequent one, or that two groups differ in that?

Analysed as `random_effects.py` does, exactly; a study of n people is a stage of the urn on its way to more, so that all sizes cost little
more than the largest.
"""

from __future__ import annotations

from math import factorial
from typing import Any, Sequence

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit

from ..errors import DataError
from .frequencies import Counts, Floats
from .mixture import largest
from .power import MOST_PEOPLE, STAGES, PowerCurve, Stages, power_curve
from .random_effects import PriorCounts, prior_counts
from .urn import probable, urn

MOST_WORK = 3e7
"""N^K / K! up to which a size is tried: 560 people and 3 models, 160 and 4."""


def most_frequent_model(
    model: Counts,
    log_evidence: Floats,
    frequencies: ArrayLike,
    names: Sequence[str],
    *,
    certainty: float = 0.95,
    prior: PriorCounts = "1/K each",
    stages: Stages = STAGES,
    **settings: Any,
) -> PowerCurve:
    """How often the protected exceedance probability of the truly most frequent model is at least `certainty`.

    Arguments:
        model: The true model of each simulated person, (N,).
        log_evidence: What the study would learn of them, up to a constant for each person, (N, K).
        frequencies: Of the models in the population, (K,).
        settings: See `power_curve`.
    """
    r, evidence = _checked(frequencies, names), _relative(log_evidence)
    first = [name for name, share in zip(names, r, strict=True) if share > r.max() - 1e-9]
    if len(first) > 1:
        fix = "let one of them be more frequent, or ask whether two groups differ"
        raise DataError("No model is the most frequent one in that population.", got=f"{' and '.join(first)}: {r.max():g} each", fix=fix)
    leader, alpha = int(r.argmax()), prior_counts(np.arange(len(r)), prior)

    def right(rng: np.random.Generator, sizes: Sequence[int]) -> list[bool]:
        group = evidence[_drawn(model, r, rng)]
        equal = np.cumsum(np.log(group.mean(1)))
        return [
            _protected(joint, log_p, equal[n - 1], alpha)[leader] >= certainty
            for n, (joint, log_p) in zip(sizes, urn(group, alpha, sizes), strict=True)
        ]

    shares = ", ".join(f"{name} {100 * share:.0f} %" for name, share in zip(names, r, strict=True))
    conclusion = (
        f"{names[leader]} is the most frequent model (population: {shares}); protected exceedance probability at least {certainty:g}"
    )
    return power_curve(conclusion, right, people=_people(model, evidence, r), stages=_feasible(stages, len(r)), **settings)


def frequencies_differ(
    model: Counts,
    log_evidence: Floats,
    first: ArrayLike,
    second: ArrayLike,
    names: Sequence[str],
    *,
    certainty: float = 0.95,
    prior: PriorCounts = "1/K each",
    stages: Stages = STAGES,
    **settings: Any,
) -> PowerCurve:
    """How often the probability that two groups have different frequencies is at least `certainty`; see `most_frequent_model`.

    Arguments:
        first, second: Frequencies of the models in the two populations, (K,).
    """
    one, two, evidence = _checked(first, names), _checked(second, names), _relative(log_evidence)
    alpha = prior_counts(np.arange(len(names)), prior)

    def right(rng: np.random.Generator, sizes: Sequence[int]) -> list[bool]:
        groups = [evidence[_drawn(model, r, rng)] for r in (one, two)]
        both = np.stack(groups, axis=1).reshape(-1, len(names))  # one of each in turn: the first 2 n are both groups of n
        own = [[log_p for _, log_p in urn(group, alpha, sizes)] for group in groups]
        common = [log_p for _, log_p in urn(both, alpha, [2 * n for n in sizes])]
        return [bool(expit(a + b - c) >= certainty) for a, b, c in zip(*own, common, strict=True)]

    shares = ", ".join(f"{name} {100 * a:.0f} and {100 * b:.0f} %" for name, a, b in zip(names, one, two, strict=True))
    conclusion = f"two groups differ in the frequencies of models ({shares}); probability at least {certainty:g}"
    people = _people(model, evidence, one, two)
    return power_curve(conclusion, right, groups=2, people=people, stages=_feasible(stages, len(names), 2), **settings)


def _protected(joint: Floats, log_p: float, log_equal: float, alpha: Floats) -> Floats:
    """Protected exceedance probabilities, (K,), given the urn and the log evidence of equal frequencies."""
    counts, weights = probable(joint, 1e-4)
    risk = float(expit(log_equal - log_p))
    return np.asarray(weights @ largest(alpha, counts) * (1 - risk) + risk / len(alpha))


def _feasible(stages: Stages, models: int, groups: int = 1) -> Stages:
    """The sizes that can be analysed some hundred times."""
    kept = [[n for n in stage if float(groups * n) ** models / factorial(models) <= MOST_WORK] for stage in stages]
    return [stage for stage in kept if stage]


def _relative(log_evidence: Floats) -> Floats:
    """Evidences as numbers up to 1, (N, K)."""
    return np.asarray(np.exp(log_evidence - log_evidence.max(1, keepdims=True)))


def _checked(frequencies: ArrayLike, names: Sequence[str]) -> Floats:
    r = np.asarray(frequencies, dtype=np.float64)
    if r.shape != (len(names),) or not (r >= 0).all() or abs(r.sum() - 1) > 1e-6:
        expected = f"{len(names)} numbers that sum to 1, for {', '.join(names)}"
        raise DataError("These are no frequencies of the models.", expected=expected, got=np.array2string(r))
    return r


def _people(model: Counts, evidence: Floats, first: Floats, second: Floats | None = None) -> float:
    """How many people groups are drawn from, in effect: n / people is how surely a sum over n of them is known, as a share of its variance.

    What is summed is taken to be the probabilities of a person's models, of two groups their difference. Which models people follow is
    drawn anew for each study; so only what varies among people of one model is that of the simulated people, and of two groups only
    where one has more people of a model than the other.
    """
    shares = [first] if second is None else [first, second]
    probable = evidence * np.mean(shares, axis=0)
    probable = probable / probable.sum(1, keepdims=True)
    present = [m for m in range(len(first)) if (model == m).any()]
    each = {m: probable[model == m] for m in present}
    varies = {m: float(group.var(0).sum()) for m, group in each.items()}
    spread = 0.0
    for r in shares:
        centre = sum(r[m] * each[m].mean(0) for m in present)
        spread += sum(float(r[m]) * (varies[m] + float(((each[m].mean(0) - centre) ** 2).sum())) for m in present)
    weight = first if second is None else first - second
    unsure = sum(float(weight[m]) ** 2 * varies[m] / len(each[m]) for m in present)
    return spread / unsure if unsure > 0 else np.inf


def _drawn(model: Counts, frequencies: Floats, rng: np.random.Generator) -> Counts:
    """People of a population, each of a model drawn by its frequency."""
    wanted = rng.choice(len(frequencies), MOST_PEOPLE, p=frequencies)
    chosen = np.empty(MOST_PEOPLE, np.intp)
    for m in np.unique(wanted):
        candidates = np.flatnonzero(model == m)
        if not len(candidates):
            raise DataError("There is nobody of a model that the population holds.", got=f"model number {m}")
        chosen[wanted == m] = rng.choice(candidates, int((wanted == m).sum()))
    return chosen
