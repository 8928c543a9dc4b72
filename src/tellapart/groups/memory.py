"""Does a model carry memory from block to block, and if so, can it be continued from what a participant did?

Where each block depends on the participant's parameters alone, the next block is simulated by itself, and blocks can be analysed apart.
An agent with `resets=False` goes on from its state after the blocks that were recorded. Any other model may say that it remembers, and if
it does not, memory is looked for, whatever it says: among simulated participants with the same parameters, does what they do in a block
go with what happened in an earlier one? A model that remembers, and is no agent, cannot be put into the state in which a
participant is, and is refused.

The rules of a task may remember too: a machine that was played empty stays empty. Compiled rules begin anew in each block, all others are
given what was recorded before an agent goes on, whether or not the agent itself remembers. A model that is no agent cannot be put in
front of such rules, and is refused if they do remember. That is tried out: the same block, with the same luck, after other blocks.
"""

from __future__ import annotations

import numpy as np

from ..behavior import Behavior
from ..errors import ModelError
from ..models.agents import Agent
from ..models.base import Model
from ..models.chance import beyond_chance, standardised
from ..models.failures import attempt
from ..models.symmetry import rules_may_remember
from ..models.with_priors import shipped_with
from ..priors import sample_priors
from ..tasks.base import Task
from ..tasks.sampling import any_behavior, sample
from ..tasks.space import Floats

PEOPLE = 2400
"""Participants, four of each set of parameters, among whom memory is looked for; four times as many if there is a suspicion."""

MANY = 12
"""Categories beyond which a response is looked at as a number."""

TRIED = 400
"""Participants who try out whether rules remember."""


def goes_on(model: Model, task: Task) -> Agent | None:
    """The agent behind a model that has to be continued from the participant's history; None if blocks are independent."""
    agent = shipped_with(model)
    return agent if isinstance(agent, Agent) and (not agent.resets or rules_may_remember(task)) else None


def check_memory(model: Model, task: Task, seed: int) -> None:
    """Raise a `ModelError` if the model, or the rules it plays by, remember earlier blocks and it cannot be continued."""
    agent = goes_on(model, task)
    if agent and agent.roles.latent and not agent.resets:
        got = "an agent that draws something that nobody sees (latent=True) and keeps it from block to block (resets=False)"
        raise _refused(model, got, "let each block begin anew: resets=True")
    if agent:
        return
    if rules_remember(task, seed):
        got = f"rules of the task '{task.name}' by which a block goes on from what happened in the ones before it"
        raise _refused(model, got, "write it as an agent: @ta.agent(…), which is given the rules as its participant left them")
    why = memory_of(model, task, seed)
    if why:
        raise _refused(model, why, "write it as an agent, whose state after any history is known: @ta.agent(…, resets=False)")


def rules_remember(task: Task, seed: int) -> bool:
    """Do the rules of a task let a block depend on what happened in the ones before it?

    Participants give random responses before the last block, and others at a second try; in the last block both times the same ones, with
    the same luck. If rules begin anew, outcomes are the same.
    """
    last, rng = task.blocks - 1, np.random.default_rng([seed, 94])
    if not last or not rules_may_remember(task):
        return False
    designs = task.design_space.repair(sample(task.design_space, TRIED, rng))
    once, again = (_played_at_random(task, designs, seed, which) for which in range(2))
    return not all(np.array_equal(once.fields[f.name][:, last], again.fields[f.name][:, last]) for f in task.outcomes)


def _played_at_random(task: Task, designs: Floats, seed: int, again: int) -> Behavior:
    """Random responses; those of the last block, and its luck, do not depend on `again`."""
    environment, last = task.environment(designs, np.random.default_rng([seed, 95])), task.blocks - 1
    before, after = (any_behavior(task, len(designs), np.random.default_rng([seed, *which])).fields for which in ((96, again), (97,)))
    while not environment.done:
        at = np.s_[:, environment.block, environment.trial]
        if environment.block == last and environment.trial == 0:
            environment.rng = np.random.default_rng([seed, 98])
        environment.step({f.name: (after if environment.block == last else before)[f.name][at] for f in task.responses})
    return environment.behavior


def memory_of(model: Model, task: Task, seed: int) -> str:
    """How it is known that a model carries memory from block to block, in words; empty if it does not."""
    if model.resets is False:
        return "resets=False"
    if task.blocks == 1 or isinstance(shipped_with(model), Agent):
        return ""
    z = remembers(model, task, seed)
    return f"with the same parameters, what it does in a block goes with what happened in an earlier one (z = {z:.0f})" if z else ""


def remembers(model: Model, task: Task, seed: int, n: int = PEOPLE) -> float:
    """How clearly what is done in a block goes with what happened before it, given parameters and the block's design: z; 0 if that may be
    chance, which is called memory at most once in 10^5 times (see `models/chance.py`).

    Of four participants with the same parameters, a and b are what two of them did before and in a block: (a1 - a2) (b1 - b2) is as often
    above 0 as below it if neither knows of the other. So is its product with that of the other two, which shows a memory that some have
    for repeating and others for changing.
    """
    found = beyond_chance(lambda look, count: _signs(model, task, np.random.default_rng([seed, 91, look]), count // 4), n)
    return max((abs(z) for z in found.values()), default=0.0)


def _signs(model: Model, task: Task, rng: np.random.Generator, fours: int) -> dict[str, float]:
    """z of each pair of what happened before a block and what was done in it, among so many times four participants."""
    four, everybody, space = np.repeat(np.arange(fours), 4), np.arange(4 * fours), task.design_space
    block = (1 + np.arange(fours) % (task.blocks - 1))[four]
    theta = {name: values[four] for name, values in sample_priors(model.parameters, fours, rng).items()}
    drawn = space.repair(sample(space, 4 * fours, rng))
    designs = drawn.copy()
    designs[everybody, block] = drawn[4 * four, block]
    moved = np.abs(space.repair(designs) - designs).max((1, 2))  # what is put together may break a rule
    kept = (moved <= 1e-9 * np.abs(designs).max()).reshape(-1, 4).all(1)
    designs = np.where(kept[four][:, None, None], designs, drawn[4 * four])
    behavior, failed = attempt(model, theta, designs, rng, task, None)
    told = _told(behavior, task)
    there = ~np.isin(np.arange(fours), [i // 4 for i in failed])
    seen = np.concatenate([told, designs], axis=2)
    before = {
        "the block before": (seen[everybody, block - 1], block > 0),
        "two blocks before": (seen[everybody, block - 2], block > 1),
        "the first block": (seen[:, 0], block > 1),
        "all blocks before": (np.cumsum(seen, axis=1)[everybody, block - 1], block > 1),
    }
    z: dict[str, float] = {}
    for when, (earlier, known) in before.items():
        (a, other), (b, another) = (_apart(values * (known & there[four])[:, None]) for values in (earlier, told[everybody, block]))
        alike = standardised(a.T @ b + other.T @ another, (a**2).T @ b**2 + (other**2).T @ another**2)
        own = standardised((a * other).T @ (b * another), ((a * other) ** 2).T @ (b * another) ** 2)
        for kind, table in (("alike", alike), ("each in an own way", own)):
            z |= {f"{when}, {kind}: {i}, {j}": float(value) for (i, j), value in np.ndenumerate(table)}
    return z


def _apart(values: Floats) -> tuple[Floats, Floats]:
    """Of each four participants, the differences of two and of the other two."""
    first, second, third, fourth = (values[i::4] for i in range(4))
    return first - second, third - fourth


def _told(behavior: Behavior, task: Task) -> Floats:
    """What happened in each block, (N, B, S): how much was recorded; for each field how often each category, or the average of a number,
    first, and last; and how alike trials are that follow each other.
    """
    mask = behavior.mask
    columns, both = [mask.mean(2)], mask[:, :, 1:] & mask[:, :, :-1]
    first, last = mask.argmax(2), mask.shape[2] - 1 - mask[:, :, ::-1].argmax(2)
    for f in task.fields:
        values, count = behavior.fields[f.name], 2 if f.kind == "binary" else f.levels or 0
        discrete = f.kind in ("binary", "categorical") and count <= MANY
        levels = range(1, count) if count == 2 else range(count)
        for part in [values == level for level in levels] if discrete else [np.arcsinh(values.astype(np.float64))]:
            part = part * mask
            columns.append(part.sum(2) / np.maximum(mask.sum(2), 1))
            columns += [np.take_along_axis(part, where[..., None], 2)[..., 0] for where in (first, last)]
        plain = values if discrete else np.arcsinh(np.where(mask, values, 0).astype(np.float64))
        follow = plain[:, :, 1:] == plain[:, :, :-1] if discrete else plain[:, :, 1:] * plain[:, :, :-1]
        columns.append((follow * both).sum(2) / np.maximum(both.sum(2), 1))
    return np.stack(columns, axis=-1).astype(np.float64)


def _refused(model: Model, got: str, fix: str) -> ModelError:
    return ModelError(
        f"The model '{model.name}' cannot be continued from what a participant did, so that no next block can be chosen for it.",
        expected="blocks that depend on parameters alone, or an agent",
        got=got,
        fix=fix,
    )
