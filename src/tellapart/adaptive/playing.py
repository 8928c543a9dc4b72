"""Simulated participants who are given what a policy decides.

At each block the policy is asked, then the block is simulated from the participant's true model and parameters, after their own history.
What was known after each block is kept: how probable each model was, and where among the draws the truth lay.

Somebody may be simulated well at one design and fail at the one that is chosen for them. If the study says "stop" (`on_error`), that is
an error; if it says "skip", they go on without the block, and who they are is kept for whoever compares.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from typing import Collection, Mapping

import numpy as np

from ..models.failures import Failure
from ..models.simulation import Simulations, stop_unless_skipped
from ..progress import Progress, unheard
from ..tasks.space import Floats
from .belief import Belief
from .continuations import with_block
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
        failures: Who could not be simulated at what they were given: participant's number to the first failure.
    """

    simulations: Simulations
    probabilities: Floats
    ranks: Floats
    sd: Floats
    seconds: Floats
    failures: Mapping[int, Failure] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.simulations)

    def without(self, dropped: Collection[int]) -> Played:
        """All participants but some."""
        if not dropped:
            return self
        left = np.setdiff1d(np.arange(len(self)), list(dropped))
        failures = {int(np.searchsorted(left, i)): failure for i, failure in self.failures.items() if i not in dropped}
        return Played(self.simulations[left], self.probabilities[left], self.ranks[left], self.sd[left], self.seconds[left], failures)


def play(
    policy: Policy, people: Simulations, rng: np.random.Generator, *, designs: Floats | None = None, progress: Progress = unheard
) -> Played:
    """Let simulated participants take part.

    Arguments:
        people: Who they are; what they did is made anew.
        designs: What they are given, (N, B, V), if not what the policy decides.
    """
    task, n, models = policy.task, len(people), people.models
    adaptive, behavior, failures = designs is None, task.nothing(n), dict[int, Failure]()
    given = np.repeat(policy.plan[None], n, axis=0) if designs is None else designs
    widest = max(1, *(len(model.parameters) for model in models))
    probabilities, seconds = np.zeros((n, task.blocks + 1, len(models))), np.full((n, task.blocks), np.nan)
    ranks, sd = (np.full((n, task.blocks + 1, widest), np.nan) for _ in range(2))

    def note(blocks: int) -> None:
        """What is known after so many blocks."""
        for i, m in enumerate(people.model):
            belief = policy.belief(behavior[i], given[i], blocks)
            best = int(belief.probabilities.argmax())
            probabilities[i, blocks], sd[i, blocks, : belief.draws[best].shape[1]] = belief.probabilities, belief.sd(best)
            ranks[i, blocks, : len(models[m].parameters)] = ranks_of_truth(belief, people, i, ties)

    def heard(done: int, total: int, stage: str = "", detail: str = "") -> None:
        progress(block * n + done, task.blocks * n, "simulated people take part", "adaptive" if adaptive else "the fixed plan")

    truth, seeds, (ties,) = [people.truth(m) for m in range(len(models))], rng.spawn(task.blocks), rng.spawn(1)
    for block in range(task.blocks):
        start = time.perf_counter()
        if adaptive:
            for i, decision in enumerate(policy.decide(behavior, given, block, heard)):
                assert decision is not None
                given[i, block] = decision.row
        seconds[:, block] = (time.perf_counter() - start) / n
        note(block)
        rngs = seeds[block].spawn(len(models))
        behavior, failed = with_block(models, people.model, truth, behavior, given, block, rngs, task)
        failures = {**failed, **failures}
        stop_unless_skipped(list(failures.values()), n, policy.way.question.on_error)
        heard(n, n)
    note(task.blocks)
    return Played(replace(people, designs=given, behavior=behavior), probabilities, ranks, sd, seconds, failures)


def ranks_of_truth(belief: Belief, people: Simulations, i: int, ties: np.random.Generator) -> list[float]:
    """The weight of the draws of participant `i`'s model below its true parameters, and a random share of that at them, (P,).

    Many draws are at the true level of a parameter that has levels: with any fixed share, ranks of a right posterior were not uniform.
    """
    below, m = [], people.model[i]
    for p, (name, prior) in enumerate(people.models[m].parameters.items()):
        draws, value = belief.draws[m][:, p], float(prior.to_normal(people.parameters[f"{people.models[m].name}.{name}"][i]))
        draws = prior.to_normal(prior.from_normal(draws)) if prior.discrete else draws
        below.append(float(belief.weights[m] @ ((draws < value) + ties.random() * (draws == value))))
    return below
