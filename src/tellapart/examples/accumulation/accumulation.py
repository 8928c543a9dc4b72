"""Two-choice decisions with response times: evidence drifts to one of two bounds. Do the bounds stay where they are?

    dx = sensitivity · coherence · dt + dW, from x = 0 until |x| reaches
    fixed bound       height
    collapsing bound  height / (1 + t / half_time)
    response time = time of the decision + non-decision time

There is no closed form for what a collapsing bound does, so there is no likelihood here, and none is needed. The simulator is
compiled by numba; every random number comes from `rng`.

References:
    Ratcliff & McKoon (2008), The diffusion decision model.
    Hawkins et al. (2015), Revisiting the evidence for collapsing boundaries and urgency signals in perceptual decision-making.
"""

from dataclasses import dataclass
from typing import ClassVar

import numba
import numpy as np

import tellapart as ta

STEP, DEADLINE = 0.01, 4.0  # seconds; who has not decided by the deadline has missed the trial


@dataclass(frozen=True)
class MovingDots(ta.Task):
    """Dots of which a share moves to one side (the coherence): which side? How many trials at which coherence?"""

    blocks: int = 3
    trials: int = 40
    total: int = 60

    name: ClassVar[str] = "moving-dots"

    @property
    def fields(self):
        return (ta.Field("correct", "binary"), ta.Field("seconds", "positive"))

    @property
    def design_space(self):
        variables = [ta.Variable("coherence", 0, 0.5), ta.Variable("number", 1, self.trials, kind="integer")]
        rule = ta.fixed_total(variables, "number", self.blocks, self.total)
        return ta.DesignSpace(self.blocks, variables, ta.Symmetry(blocks=True), [rule])

    def baseline(self, n, rng):
        """Equally many trials at levels of the customary series 0, 3.2, 6.4, 12.8, 25.6, 51.2 %, the last one cut to 50 %."""
        levels = [0.0, 0.032, 0.064, 0.128, 0.256, 0.5]
        picks = [np.sort(rng.choice(levels, self.blocks, replace=self.blocks > len(levels))) for _ in range(n)]
        numbers = np.full((n, self.blocks), self.total / self.blocks)
        return self.design_space.repair(np.stack([np.reshape(picks, numbers.shape), numbers], axis=-1))

    def lengths(self, designs):
        """The design says how many trials each block has."""
        return designs[..., 1].astype(int)

    @property
    def screen(self):
        """Dots drawn by `screen.js`; left or right, by arrow keys or buttons."""
        return ta.Screen(
            "screen.js", options=("left", "right"), deadline=DEADLINE, seconds="seconds", feedback=0.5, stimuli=dots, read=was_correct
        )

    def history(self, behavior):
        """Trials are independent of each other: each is described by answer and time."""
        seconds = np.log(np.maximum(behavior.fields["seconds"], 1e-3))
        return np.stack([behavior.fields["correct"], seconds, seconds**2], axis=-1).astype(np.float32)


def dots(row, trials, rng):
    """What each trial of a block shows: dots of which a share moves to a side drawn by chance."""
    return [{"coherence": float(row[0]), "side": int(side), "seed": int(seed)} for side, seed in rng.integers(0, (2, 2**31), (trials, 2))]


def was_correct(shown, side):
    return {"correct": side == shown["side"]}


@numba.njit(cache=True)
def decide(drift, height, half_time, rest, numbers, rng, correct, seconds, mask):
    """Simulate all trials of all participants, in place; drift and numbers (N, B), the others (N,) and (N, B, T)."""
    for i in range(drift.shape[0]):
        for b in range(drift.shape[1]):
            for t in range(numbers[i, b]):
                x, time, bound = 0.0, 0.0, height[i]
                while abs(x) < bound and time < DEADLINE:
                    x += drift[i, b] * STEP + STEP**0.5 * rng.standard_normal()
                    time += STEP
                    bound = height[i] / (1.0 + time / half_time[i])
                correct[i, b, t], seconds[i, b, t], mask[i, b, t] = x > 0, time + rest[i], time < DEADLINE


def accumulate(parameters, designs, rng, task, half_time):
    shape = (len(designs), task.blocks, task.trials)
    correct, seconds, mask = np.zeros(shape, np.int8), np.ones(shape), np.zeros(shape, np.bool_)
    drift = parameters["sensitivity"][:, None] * designs[..., 0]
    decide(drift, parameters["height"], half_time, parameters["rest"], task.lengths(designs), rng, correct, seconds, mask)
    return {"correct": correct, "seconds": seconds, "mask": mask}


PRIORS = {"sensitivity": ta.LogNormal(2.0, 0.4), "height": ta.LogNormal(0.0, 0.3), "rest": ta.Uniform(0.2, 0.5)}


@ta.model(name="fixed-bound", parameters=PRIORS, vectorised=True, resets=True)
def fixed_bound(parameters, designs, rng, task):
    return accumulate(parameters, designs, rng, task, np.full(len(designs), 1e9))


@ta.model(name="collapsing-bound", parameters={**PRIORS, "half_time": ta.LogNormal(0.0, 0.6)}, vectorised=True, resets=True)
def collapsing_bound(parameters, designs, rng, task):
    return accumulate(parameters, designs, rng, task, parameters["half_time"])
