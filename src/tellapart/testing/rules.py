"""Do the outcomes that a model records follow the task's rules, and are they the ones that its participants learned from?

**The law.** At each trial, given all that was recorded before and the response, the recorded outcome and one drawn anew by the rules
have the same distribution. So their difference, times any number that was known before the outcome, is as often above 0 as below.
Such numbers are the response, the one before it, the design, the previous outcome, the trial, and products of these. Where the rules
themselves remember luck that nobody records (a chance that wanders), that holds only at the first trial, and whenever there is none.

**Nothing unrecorded.** Where the design acts only through what is recorded (`design_acts_through_data`), two participants with the
same parameters and the same recorded past do not differ in what they do next, whatever their designs are. So the difference of their
responses times the difference of their designs, or of the outcomes that they could expect, is as often above 0 as below: at the first
trial, when there is no past, and at the few that follow, before which many have the same. It is not, if outcomes are drawn a second time
for the record, or if participants know the design.

Both are judged as `models/chance.py` says.
"""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..behavior import Behavior, Field
from ..models.base import Floats
from ..models.chance import standardised
from ..models.symmetry import columns_of
from ..tasks.base import Task
from ..tasks.environment import Environment, Values
from ..tasks.scaling import to_unit

Named = list[tuple[str, Floats]]
"""Numbers (N,), each with the words for it; no words where there is no condition."""

EARLY, DRAWS = 5, 16
"""The trials of the first block at which participants are compared, and draws that an expected outcome is the average of."""


def departures_from_law(task: Task, behavior: Behavior, designs: Floats, rng: np.random.Generator) -> dict[str, float]:
    """How far recorded outcomes are from the task's law: the name of a statistic and its z."""
    environment, twin = (task.environment(designs, luck) for luck in rng.spawn(2))
    unit, sums = to_unit(task.design_space, designs) - 0.5, dict[str, NDArray[Any]]()
    while not environment.done:
        responses, recorded, missed = _present(environment, behavior)
        if environment.block == environment.trial == 0 or not _hidden_luck(environment, twin):
            fresh, third = environment.draw(responses), environment.draw(responses)
            known = _known(environment, responses, unit[:, environment.block])
            for f in task.outcomes:
                for words, difference in _differences(f, recorded[f.name], fresh[f.name], third[f.name]):
                    for more, weight in known:
                        x = np.where(missed, 0.0, difference * weight)
                        sums.setdefault(words + more, np.zeros(2))[:] += x.sum(), (x * x).sum()
        for one in (environment, twin):
            one.follow(responses, recorded, missed)
    return {name: float(standardised(*total)) for name, total in sums.items()}


def draws_outcomes(task: Task, behavior: Behavior, designs: Floats, rng: np.random.Generator) -> bool:
    """Do the rules leave anything to chance, so that participants who respond as recorded may see other outcomes?"""
    environment, twin = (task.environment(designs, luck) for luck in rng.spawn(2))
    while task.outcomes and not environment.done:
        responses, recorded, missed = _present(environment, behavior)
        one, other = environment.draw(responses), twin.draw(responses)
        if any((one[f.name] != other[f.name])[~missed].any() for f in task.outcomes):
            return True
        for each in (environment, twin):
            each.follow(responses, recorded, missed)
    return False


def _hidden_luck(environment: Environment, twin: Environment) -> bool:
    """Do the rules remember luck that is not recorded, so that their law given the past is unknown? Another's luck was then another."""
    return any(not np.array_equal(values, twin.state[name]) for name, values in environment.state.items())


def _present(environment: Environment, behavior: Behavior) -> tuple[Values, Values, NDArray[np.bool_]]:
    """Responses and outcomes that were recorded at the present trial, and who missed it."""
    task, at = environment.task, np.s_[:, environment.block, environment.trial]
    responses, outcomes = ({f.name: behavior.fields[f.name][at] for f in fields} for fields in (task.responses, task.outcomes))
    return responses, outcomes, ~behavior.mask[at]


def _differences(field: Field, recorded: Floats, fresh: Floats, third: Floats) -> Named:
    """Recorded outcomes against fresh ones (N,): of categories how often each came, of numbers their size and their spread."""
    if field.kind == "categorical":
        pairs = zip(columns_of(recorded, field).T, columns_of(fresh, field).T, strict=True)
        return [(f"'{field.name}' is {_label(field, k)}", a - b) for k, (a, b) in enumerate(pairs)]
    one, other, centre = (values.astype(np.float64) for values in (recorded, fresh, third))
    size: Named = [(f"'{field.name}' is larger", one - other)]
    return size if field.kind == "binary" else [*size, (f"'{field.name}' spreads more", (one - centre) ** 2 - (other - centre) ** 2)]


def _known(environment: Environment, responses: Values, designs: Floats) -> Named:
    """What was known before the outcome, (N,) each."""
    task, trial = environment.task, environment.trial
    ones: Named = [("", np.ones(len(designs)))]
    conditions, others = list(ones), Named()
    for f in task.responses:
        conditions += _conditions(f, responses[f.name], " where")
        if trial:
            before = environment.before(f.name)[:, -1]
            conditions += _conditions(f, before, " after")
            others.append((f" after the same '{f.name}'", (before == responses[f.name]).astype(np.float64)))
    others += [(f" the larger the last '{f.name}'", environment.before(f.name)[:, -1].astype(np.float64)) for f in task.outcomes if trial]
    others += [
        (" later in a block", np.full(len(designs), trial + 1.0)),
        (" in later blocks", np.full(len(designs), environment.block + 0.5)),
    ]
    variables = [(f" the larger '{name}'", designs[:, v]) for v, name in enumerate(task.design_space.names)]
    return others + [(a + b, x * y) for (a, x), (b, y) in product(conditions, ones + variables)]


def _conditions(field: Field, values: NDArray[Any], word: str) -> Named:
    """A response as what outcomes may depend on."""
    numbers = columns_of(values, field).T
    if len(numbers) > 1:
        return [(f"{word} '{field.name}' is {_label(field, k)}", column) for k, column in enumerate(numbers)]
    return [(f"{word} '{field.name}' is {_label(field, 1) if field.kind == 'binary' else 'large'}", numbers[0] - numbers[0].mean())]


def _label(field: Field, category: int) -> str:
    return field.labels[category] if field.labels else str(category)


def unrecorded_effects(
    task: Task, behavior: Behavior, designs: Floats, group: NDArray[np.intp], rng: np.random.Generator
) -> dict[str, float]:
    """How far responses depend on the design beyond what is recorded: the name of a statistic and its z.

    Arguments:
        group: Who has the same parameters, (N,).
    """
    environment, variables = task.environment(designs, rng), to_unit(task.design_space, designs)[:, 0]
    names, expected = [f"'{name}'" for name in task.design_space.names], np.zeros((len(designs), 0))
    sums: dict[str, NDArray[Any]] = {}
    for trial in range(min(EARLY, int(environment.lengths[:, 0].min()))):
        one, other = _alike(task, behavior, trial, group, rng)
        known = np.concatenate([variables, expected], axis=1)
        across = known[one] - known[other]
        for words, numbers in _responses(task, behavior, trial):
            x = (numbers[one] - numbers[other])[:, None] * across
            for people, total in _by_group(x, group[one]).items():
                for name, pair in zip([*names, *(f"the expected '{f.name}'" for f in task.outcomes)], total.T, strict=False):
                    sums.setdefault(f"{words} depends on {name}{people}", np.zeros(2))[:] += pair
        expected = _expected(environment, behavior)
    return {name: float(standardised(*total)) for name, total in sums.items()}


def _responses(task: Task, behavior: Behavior, trial: int) -> Named:
    """What participants did at a trial of the first block, (N,) each: which response, and whether it is the one before."""
    named = Named()
    for f in task.responses:
        values = behavior.fields[f.name][:, 0]
        named += _conditions(f, values[:, trial], "that")
        if trial and f.kind in ("categorical", "binary"):
            named.append((f"that '{f.name}' is the one before", (values[:, trial] == values[:, trial - 1]).astype(np.float64)))
    return named


def _by_group(x: Floats, group: NDArray[np.intp]) -> dict[str, Floats]:
    """Sums of numbers and of their squares, (2, V) each, over all pairs (P, V) and over those with each set of parameters."""
    every = {"": np.ones(len(x), bool), **{f" (parameters {g})": group == g for g in np.unique(group)}}
    return {words: np.stack([x[chosen].sum(0), (x[chosen] ** 2).sum(0)]) for words, chosen in every.items()}


def _expected(environment: Environment, behavior: Behavior) -> Floats:
    """The outcomes that responses were to be expected to have at the present trial, (N, outcomes); then goes on to the next."""
    responses, recorded, missed = _present(environment, behavior)
    draws = [environment.draw(responses) for _ in range(DRAWS)]
    environment.follow(responses, recorded, missed)
    columns = [np.mean([draw[f.name] for draw in draws], axis=0) for f in environment.task.outcomes]
    return np.stack(columns, axis=1) if columns else np.zeros((len(behavior), 0))


def _alike(
    task: Task, behavior: Behavior, trial: int, group: NDArray[np.intp], rng: np.random.Generator
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Pairs of participants, (P,) and (P,), with the same parameters and the same recorded past before a trial of the first block.

    Real numbers are never the same: neighbours then, if there is one such number. With more of them nobody is alike.
    """
    past = np.s_[:, 0, :trial]
    exact = [group, *behavior.mask[past].T]
    real: list[NDArray[Any]] = []
    for f in task.fields:
        (real if f.kind in ("real", "positive") else exact).extend(behavior.fields[f.name][past].T)
    recorded = np.flatnonzero(behavior.mask[:, 0, trial])
    if len(real) > 1 or not len(recorded):
        return np.zeros(0, np.intp), np.zeros(0, np.intp)
    keys = np.stack(exact)[:, recorded]
    order = np.lexsort([real[0][recorded] if real else rng.random(len(recorded)), *keys])
    new = np.concatenate([[True], (keys[:, order[1:]] != keys[:, order[:-1]]).any(0)])
    start = np.maximum.accumulate(np.where(new, np.arange(len(order)), 0))
    first = np.flatnonzero((np.arange(len(order)) - start) % 2 == 0)
    first = first[first + 1 < len(order)]
    first = first[~new[first + 1]]
    return recorded[order[first]], recorded[order[first + 1]]
