"""Simulated participants who are given what a policy decides.

At each block the policy is asked, then the block is simulated from the participant's true model and parameters, after their own history.
What was known after each block is kept: how probable each model was, and where among the draws the truth lay.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ..behavior import Behavior
from ..models.simulation import Simulations
from ..progress import Progress, unheard
from ..tasks.space import Floats
from .belief import Belief
from .continuations import continued_at
from .policy import Policy


@dataclass(frozen=True, eq=False)
class Played:
    """N simulated participants, and what was known of them on the way.

    Arguments:
        simulations: Who they are, what they were given and what they did.
        probabilities: Of the models after b = 0 … B blocks, (N, B + 1, M).
        ranks: The share of the draws of the true model's parameters that are below the truth, (N, B + 1, P); NaN beyond its parameters.
        sd: The posterior standard deviations on the normal scale, of the most probable model, (N, B + 1, P).
        seconds: How long each decision took, (N, B); in a batch, its share of the time.
    """

    simulations: Simulations
    probabilities: Floats
    ranks: Floats
    sd: Floats
    seconds: Floats

    def __len__(self) -> int:
        return len(self.simulations)


def play(
    policy: Policy, people: Simulations, rng: np.random.Generator, *, designs: Floats | None = None, progress: Progress = unheard
) -> Played:
    """Let simulated participants take part.

    Arguments:
        people: Who they are; what they did is made anew.
        designs: What they are given, (N, B, V), if not what the policy decides.
    """
    task, n, models = policy.task, len(people), people.models
    adaptive, behavior = designs is None, task.nothing(n)
    given = np.repeat(policy.plan[None], n, axis=0) if designs is None else designs
    widest = max(1, *(len(model.parameters) for model in models))
    notes = _Notes(np.zeros((n, task.blocks + 1, len(models))), *(np.full((n, task.blocks + 1, widest), np.nan) for _ in range(2)))
    seconds = np.full((n, task.blocks), np.nan)
    seeds = rng.spawn(task.blocks)
    for block in range(task.blocks):
        start = time.perf_counter()
        if adaptive:
            for i, decision in enumerate(policy.decide(behavior, given, block)):
                assert decision is not None
                given[i, block] = decision.row
        seconds[:, block] = (time.perf_counter() - start) / n
        notes.write(policy, people, behavior, given, block)
        behavior = _block(people, behavior, given, block, seeds[block], policy)
        progress(block + 1, task.blocks, "simulated people take part", "adaptive" if adaptive else "the fixed plan")
    notes.write(policy, people, behavior, given, task.blocks)
    done = replace(people, designs=given, behavior=behavior)
    return Played(done, notes.probabilities, notes.ranks, notes.sd, seconds)


def _block(people: Simulations, behavior: Behavior, designs: Floats, block: int, rng: np.random.Generator, policy: Policy) -> Behavior:
    """Behavior with a further block, each participant's own."""
    task = policy.task
    fields, mask = {name: values.copy() for name, values in behavior.fields.items()}, behavior.mask.copy()
    for m, child in enumerate(rng.spawn(len(people.models))):
        chosen = np.flatnonzero(people.model == m)
        if not len(chosen):
            continue
        done = continued_at(people.models[m], people.truth(m), behavior[chosen], designs[chosen], block, child, task)
        mask[chosen, block] = done.mask[:, block]
        for name, values in done.fields.items():
            fields[name][chosen, block] = values[:, block]
    return Behavior(fields, mask, behavior.participants)


@dataclass(frozen=True, eq=False)
class _Notes:
    """What was known after each block."""

    probabilities: Floats
    ranks: Floats
    sd: Floats

    def write(self, policy: Policy, people: Simulations, behavior: Behavior, designs: Floats, blocks: int) -> None:
        for i in range(len(people)):
            belief, m = policy.belief(behavior[i], designs[i], blocks), int(people.model[i])
            self.probabilities[i, blocks] = belief.probabilities
            best = int(belief.probabilities.argmax())
            self.sd[i, blocks, : belief.draws[best].shape[1]] = belief.sd(best)
            truth = [people.parameters[f"{people.models[m].name}.{name}"][i] for name in people.models[m].parameters]
            self.ranks[i, blocks, : len(truth)] = _ranks(belief, m, people, truth)


def _ranks(belief: Belief, m: int, people: Simulations, truth: list[float]) -> NDArray[np.float64]:
    """The weight of the draws of a model below its true parameters, and half of that at them, (P,)."""
    below = []
    for p, prior in enumerate(people.models[m].parameters.values()):
        draws, value = belief.draws[m][:, p], float(prior.to_normal(truth[p]))
        draws = prior.to_normal(prior.from_normal(draws)) if prior.discrete else draws
        below.append(belief.weights[m] @ ((draws < value) + 0.5 * (draws == value)))
    return np.array(below, np.float64)
