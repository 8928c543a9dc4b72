"""Does a model carry memory from block to block, and if so, can it be continued from what a participant did?

Where each block depends on the participant's parameters alone, the next block is simulated by itself, and blocks can be analysed apart.
An agent with `resets=False` goes on from its state after the blocks that were recorded. Any other model may say that it remembers, and if
it does not, memory is looked for, whatever it says: among simulated participants with the same parameters, is what they do in a block
correlated with what happened in the one before? A model that remembers, and is no agent, cannot be put into the state in which a
participant is, and is refused.

The rules of a task may remember too: a machine that was played empty stays empty. Compiled rules begin anew in each block, all others are
given what was recorded before an agent goes on, whether or not the agent itself remembers. A model that is no agent cannot be put in
front of such rules, and is refused if they do remember. That is tried out: the same block, with the same luck, after other blocks.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm

from ..behavior import Behavior
from ..errors import ModelError
from ..models.agents import Agent
from ..models.base import Model
from ..models.failures import attempt
from ..models.with_priors import shipped_with
from ..priors import sample_priors
from ..tasks.base import Task
from ..tasks.sampling import any_behavior, sample
from ..tasks.space import Floats

GROUPS, EACH = 40, 60
"""Sets of parameters, and participants that share each, among whom memory is looked for."""

FALSE_ALARM = 1e-6
"""How often a model without memory would be refused."""

TRIED = 400
"""Participants who try out whether rules remember."""


def goes_on(model: Model, task: Task) -> Agent | None:
    """The agent behind a model that has to be continued from the participant's history; None if blocks are independent."""
    agent = shipped_with(model)
    return agent if isinstance(agent, Agent) and (not agent.resets or _may_remember(task)) else None


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
    if not last or not _may_remember(task):
        return False
    designs = task.design_space.repair(sample(task.design_space, TRIED, rng))
    once, again = (_played_at_random(task, designs, seed, which) for which in range(2))
    return not all(np.array_equal(once.fields[f.name][:, last], again.fields[f.name][:, last]) for f in task.outcomes)


def _may_remember(task: Task) -> bool:
    """Are the rules of a kind that can go on from block to block?"""
    return bool(task.outcomes) and task.rules.compiled is None


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
    correlation, p = remembers(model, task, np.random.default_rng([seed, 91]))
    told = f"with the same parameters, what it does in a block goes with what happened in the one before (correlation {correlation:.2f})"
    return told if p < FALSE_ALARM else ""


def remembers(model: Model, task: Task, rng: np.random.Generator) -> tuple[float, float]:
    """The largest correlation between a block and the one before it, given parameters and the block's design, and its p-value."""
    n, last = GROUPS * EACH, task.blocks - 1
    group = np.repeat(np.arange(GROUPS), EACH)
    theta = {name: values[group] for name, values in sample_priors(model.parameters, GROUPS, rng).items()}
    designs = task.design_space.repair(sample(task.design_space, n, rng))
    designs[:, last] = designs[group * EACH, last]
    behavior, _ = attempt(model, theta, designs, rng, task, None)
    before = np.concatenate([_counts(behavior, task, last - 1), designs[:, last - 1]], axis=1)
    a, b = _standardised(before, group), _standardised(_counts(behavior, task, last), group)
    together, noise = a.T @ b, np.sqrt((a**2).T @ b**2)  # groups differ in how much they vary, in both blocks alike
    surprise = np.abs(together) / np.maximum(noise, 1e-9)
    p = min(1.0, surprise.size * 2 * norm.sf(surprise.max(initial=0.0)))
    return float(np.abs(together).flat[surprise.argmax()] / n), float(p)


def _counts(behavior: Behavior, task: Task, block: int) -> Floats:
    """What happened in a block: how often each category, or the average of a number, for each field, (N, S)."""
    columns = []
    for f in task.fields:
        values, mask = behavior.fields[f.name][:, block], behavior.mask[:, block]
        discrete = f.kind in ("binary", "categorical")
        parts = [values == level for level in range(f.levels or 2)] if discrete else [np.arcsinh(values.astype(np.float64))]
        columns += [(part * mask).sum(1) / np.maximum(mask.sum(1), 1) for part in parts]
        columns += [np.where(mask[:, 0], part[:, 0], 0.0) for part in parts]
    return np.stack(columns, axis=1)


def _standardised(values: Floats, group: NDArray[np.intp]) -> Floats:
    """Values (N, S) less the averages of their groups, in units of their standard deviations; constant ones are 0."""
    means = np.stack([values[group == g].mean(0) for g in range(GROUPS)])
    left = values - means[group]
    scale = np.sqrt((left**2).mean(0) * (1 - 1 / EACH))
    return np.asarray(np.where(scale > 1e-9, left / np.where(scale > 1e-9, scale, 1.0), 0.0))


def _refused(model: Model, got: str, fix: str) -> ModelError:
    return ModelError(
        f"The model '{model.name}' cannot be continued from what a participant did, so that no next block can be chosen for it.",
        expected="blocks that depend on parameters alone, or an agent",
        got=got,
        fix=fix,
    )
