"""Does a model treat as equal what the task says is equal?

A task may declare that the variables of a block, or its blocks, can be exchanged (`Symmetry`). A search then looks at one of all the
designs that differ only in that. It is right to do so only if the models agree. They do if participants at an exchanged design, with
blocks and labels changed back, behave like participants at the design itself.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from ..behavior import Behavior, Field
from ..priors import sample_priors
from ..tasks.base import Task
from ..tasks.sampling import sample, spread
from ..tasks.scaling import to_unit
from ..tasks.space import Symmetry
from .base import Floats, Model
from .chance import beyond_chance, standardised
from .failures import attempt

PEOPLE = 8
"""Sets of parameters: an asymmetry of one participant may be another's mirror image, so that averages over the prior show none."""
LEVELS = 12
"""Categories up to which each has a statistic of its own."""


def broken_symmetries(model: Model, task: Task, seed: int = 0, n: int = 400) -> Symmetry:
    """Which of the task's declared symmetries the model does not have: True where one is broken.

    A symmetry that holds is called broken at most once in 10^5 times, see `chance.py`. Who remembers earlier blocks remembers labels: to
    exchange them in one block alone is then no relabelling.

    Arguments:
        n: Participants at designs, and as many at exchanged ones; five times as many if there is a suspicion.
    """
    declared, blocks = task.design_space.symmetry, broken_blocks(model, task, seed, n)
    columns = declared.columns and len(task.design_space.variables) > 1
    remembers = task.blocks > 1 and model.resets is False
    broken = columns and (remembers or all(_broken(model, task, seed, n, "columns", names) for names in _relabellings(task)))
    return Symmetry(broken, blocks)


def broken_by(models: Sequence[Model], task: Task, seed: int) -> dict[str, list[str]]:
    """Which of the task's declared symmetries are broken, and by which models."""
    broken = {model.name: broken_symmetries(model, task, seed, n=200) for model in models}
    kinds = {kind: [name for name, one in broken.items() if getattr(one, kind)] for kind in ("columns", "blocks")}
    return {kind: names for kind, names in kinds.items() if names}


def unbroken(symmetry: Symmetry, broken: Mapping[str, list[str]]) -> Symmetry:
    """What is left of a declared symmetry if some kinds of it are broken."""
    return replace(symmetry, **dict.fromkeys(broken, False))


def broken_blocks(model: Model, task: Task, seed: int = 0, n: int = 400) -> bool:
    """Do blocks that the task says can change places matter to the model in their order?"""
    if not task.design_space.symmetry.blocks or task.blocks == 1:
        return False
    return model.resets is False or _broken(model, task, seed, n, "blocks", ())


def read_in_order(models: Sequence[Model], task: Task) -> bool:
    """Must blocks be read one after the other? Not if there is one alone, or if the task says that they can change places and all models
    that they begin each of them anew.
    """
    alike = task.design_space.symmetry.blocks and all(model.resets for model in models)
    return task.blocks > 1 and not alike


SAY_SO = "say resets=False, or nothing: then blocks are read in order"
"""The usual fix of a model that says without reason that each block begins anew."""


def rules_may_remember(task: Task) -> bool:
    """Are the task's rules of a kind that can go on from block to block?"""
    return bool(task.outcomes) and task.rules.compiled is None


def denied_difference(models: Sequence[Model], task: Task, unlike: Sequence[str]) -> str:
    """What is wrong with a model that says that each block begins anew, and to which blocks are not alike (`unlike`), so that networks
    would add up what differs; empty if there is none. By rules that remember, blocks differ whoever plays.
    """
    denying = [] if rules_may_remember(task) else [model.name for model in models if model.resets and model.name in unlike]
    return f"'{denying[0]}' says that each block begins anew (resets=True), and does not treat blocks alike." if denying else ""


def _relabellings(task: Task) -> list[tuple[str, ...]]:
    """Which fields go with the columns. Categories may stand for columns or only happen to be as many: one of the readings must hold."""
    count = len(task.design_space.variables)
    readings = [
        tuple(f.name for f in fields if (2 if f.kind == "binary" else f.levels) == count) for fields in (task.responses, task.fields, ())
    ]
    return list(dict.fromkeys(readings))


def _broken(model: Model, task: Task, seed: int, n: int, what: str, relabelled: tuple[str, ...]) -> bool:
    """Does exchanging columns or blocks change behavior by more than chance?"""
    space, few = task.design_space, sample_priors(model.parameters, PEOPLE, np.random.default_rng([seed, 0]))

    def differences(again: int, count: int) -> Mapping[str, float]:
        rng, group = np.random.default_rng([seed, 1, again]), np.arange(count) % PEOPLE
        parameters = {name: values[group] for name, values in few.items()}
        designs = np.concatenate([sample(space, count - count // 2, rng), spread(space, count // 2, rng)])
        order = _orders(designs.shape, what, rng)
        axis = 2 if what == "columns" else 1
        at_designs, _ = attempt(model, parameters, designs, rng, task)
        exchanged, _ = attempt(model, parameters, np.take_along_axis(designs, order, axis), rng, task)
        back = _relabel(exchanged, order, relabelled) if what == "columns" else exchanged.rearranged(np.argsort(order, axis=1), 1)
        difference = statistics(at_designs, task) - statistics(back, task)
        following = neighbours(at_designs, task) - neighbours(back, task)
        return _tests(difference, to_unit(space, designs) - 0.5, _weights(model, parameters, group), following)

    return bool(beyond_chance(differences, max(n, 2 * PEOPLE)))


def _orders(shape: tuple[int, ...], what: str, rng: np.random.Generator) -> NDArray[np.intp]:
    """For each participant another order of columns in each block (N, B, V), or of blocks (N, B, 1)."""
    n, blocks, count = shape
    axis, size = (2, (n, blocks, count)) if what == "columns" else (1, (n, blocks, 1))
    order = np.argsort(rng.random(size), axis=axis)
    unchanged = (np.diff(order, axis=axis) > 0).all(axis, keepdims=True)
    return np.where(unchanged, np.flip(order, axis), order)


def _relabel(behavior: Behavior, order: NDArray[np.intp], names: tuple[str, ...]) -> Behavior:
    """Category k of an exchanged design is category order[k] of the design itself."""
    changed = {name: np.take_along_axis(order, behavior.fields[name].astype(np.intp), 2) for name in names}
    return Behavior({name: changed.get(name, values) for name, values in behavior.fields.items()}, behavior.mask)


def statistics(behavior: Behavior, task: Task) -> Floats:
    """What participants did in each block, in numbers, (N, B, F): how often, at first, twice in a row, and with which outcome."""
    columns = {f.name: columns_of(behavior.fields[f.name], f) * behavior.mask[..., None] for f in task.fields}
    parts = [behavior.mask[..., None].mean(2)]
    for values in columns.values():
        twice = (values[:, :, 1:] * values[:, :, :-1]).sum(2) / values.shape[2]
        parts += [values.mean(2), values[:, :, 0], twice, twice.sum(-1, keepdims=True)]
    for response in task.responses:
        for outcome in task.outcomes:
            together = columns[response.name][..., :, None] * columns[outcome.name][..., None, :]
            parts.append(together.mean(2).reshape(*together.shape[:2], -1))
    return np.concatenate(parts, axis=-1)


def neighbours(behavior: Behavior, task: Task) -> Floats:
    """How much each block begins and goes on as the one before it did, and as it paid there, (N, F): what memory leaves behind."""
    parts = [np.zeros((len(behavior.mask), 0))]
    columns = {f.name: columns_of(behavior.fields[f.name], f) * behavior.mask[..., None] for f in task.fields}
    for values in columns.values():
        first, mean = values[:, :, 0], values.mean(2)
        parts += [_alike(mean, first), _alike(values[:, :, -1], first), _alike(mean, mean)]
    for response in task.responses:
        taken = columns[response.name]
        for outcome in task.outcomes:
            for came in np.moveaxis(columns[outcome.name], -1, 0):
                paid = (taken * came[..., None]).mean(2)
                parts += [_alike(paid, taken[:, :, 0]), _alike(paid, taken.mean(2))]
    return np.concatenate(parts, axis=1)


def _alike(before: Floats, after: Floats) -> Floats:
    """The likeness of each block (N, B, C) to the one before it, over blocks, (N, 1)."""
    return np.asarray((before[:, :-1] * after[:, 1:]).sum((1, 2)))[:, None]


def columns_of(values: NDArray[np.generic], field: Field) -> Floats:
    """A field as numbers (..., C): an indicator for each category, or the number itself on a scale on which heavy tails hide nothing."""
    if field.kind == "categorical" and 1 < (field.levels or 1) <= LEVELS:
        return np.asarray(values[..., None] == np.arange(field.levels or 1), dtype=np.float64)
    numbers = np.asarray(values, dtype=np.float64)
    return np.asarray(np.sign(numbers) * np.log1p(np.abs(numbers)))[..., None]


def _weights(model: Model, parameters: Mapping[str, Floats], group: NDArray[np.intp]) -> Floats:
    """By what differences are weighted, (N, W): not at all, by each parameter, and for each set of parameters alone."""
    normal = [prior.to_normal(parameters[name]) for name, prior in model.parameters.items()]
    return np.stack([np.ones(len(group)), *normal, *(group == np.arange(PEOPLE)[:, None])], axis=1)


def _tests(difference: Floats, designs: Floats, weights: Floats, following: Floats) -> dict[str, float]:
    """z of differences (N, B, F): in each block, over blocks, and over blocks with each design variable (N, B, V); of others, (N, F)."""
    rows = [*difference.transpose(1, 0, 2), difference.sum(1), *np.einsum("nbf,nbv->vnf", difference, designs), following]
    x = np.concatenate(rows, axis=1)
    z = standardised(weights.T @ x, weights.T**2 @ x**2)
    return {f"{w} {s}": float(z[w, s]) for w in range(z.shape[0]) for s in range(z.shape[1])}
