"""Delay discounting: would you rather have the smaller sum sooner, or the larger one later? What A after D days is worth:

    exponential   A · exp(-k · D)                                 Samuelson (1937)
    hyperbolic    A / (1 + k · D)                                 Mazur (1987)
    present bias  A now; A · beta · exp(-k · D) if D > 0          Laibson (1997), quasi-hyperbolic

The later sum is chosen with probability 1 / (1 + exp(-(value later - value sooner) / temperature)).
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.special import expit

import tellapart as ta

# fmt: off
CUSTOM = np.array([
    (54, 55, 117), (55, 75, 61), (19, 25, 53), (31, 85, 7), (14, 25, 19), (47, 50, 160), (15, 35, 13), (25, 60, 14), (78, 80, 162),
    (40, 55, 62), (11, 30, 7), (67, 75, 119), (34, 35, 186), (27, 50, 21), (69, 85, 91), (49, 60, 89), (80, 85, 157), (24, 35, 29),
    (33, 80, 14), (28, 30, 179), (34, 50, 30), (25, 30, 80), (41, 75, 20), (54, 60, 111), (54, 80, 30), (22, 25, 136), (20, 55, 7),
], float)
# fmt: on
"""The 27 questions of Kirby, Petry & Bickel (1999): so many dollars tonight, or so many dollars in so many days?"""


@dataclass(frozen=True)
class Questions(ta.Task):
    """`blocks` questions, each asked `trials` times: a sum after some days (or today), or a larger one after more days."""

    blocks: int = 6
    trials: int = 4

    name: ClassVar[str] = "delay-discounting"

    @property
    def fields(self):
        return (ta.Field("later", "binary"),)

    @property
    def design_space(self):
        sums = [ta.Variable("smaller sum", 1, 100), ta.Variable("larger sum", 1, 100)]
        days = [ta.Variable("first day", 0, 60, kind="integer"), ta.Variable("days between", 1, 365, kind="integer", log=True)]
        rule = ta.Constraint("the smaller sum is at most the larger sum", _in_order)
        return ta.DesignSpace(self.blocks, [*sums, *days], ta.Symmetry(blocks=True), [rule])

    def baseline(self, n, rng):
        """Some of the customary questions, in which the smaller sum is for tonight."""
        picks = [CUSTOM[rng.choice(len(CUSTOM), self.blocks, replace=self.blocks > len(CUSTOM))] for _ in range(n)]
        smaller, larger, days = np.moveaxis(np.reshape(picks, (n, self.blocks, 3)), -1, 0)
        return np.stack([smaller, larger, np.zeros_like(days), days], axis=-1)

    @property
    def screen(self):
        """The two sums, in an order of its own for each participant and question; one question after the other, without breaks."""
        return ta.Screen("choice", shuffled=True, breaks=False, stimuli=sums)

    def history(self, behavior):
        """Answers are independent of each other: a trial is described by the answer."""
        return behavior.fields["later"][..., None].astype(np.float32)


def sums(row, trials, rng):
    """What a question shows: the sooner sum, then the later one, as the field's 0 and 1."""
    smaller, larger, first, between = row
    options = [f"${amount:.2f} {when(days)}" for amount, days in ((smaller, first), (larger, first + between))]
    return [{"options": options}] * trials


def when(days):
    return "today" if days == 0 else "tomorrow" if days == 1 else f"in {days:.0f} days"


def _in_order(designs):
    return np.concatenate([np.sort(designs[..., :2], axis=-1), designs[..., 2:]], axis=-1)


def model_of_choice(name, worth, priors):
    """A model in which A after D days is worth worth(parameters, D) · A, and its likelihood."""

    def advantage(parameters, designs):
        """By how much, in units of the temperature, the later sum is worth more, (N, blocks, 1)."""
        p = {key: values[:, None] for key, values in parameters.items()}
        smaller, larger, first, between = np.moveaxis(designs, -1, 0)
        difference = larger * worth(p, first + between) - smaller * worth(p, first)
        return (difference / p["temperature"])[..., None]

    def log_likelihood(parameters, behavior, designs, task):
        x = advantage(parameters, designs)[:, : behavior.shape[1], 0]
        later, asked = (behavior.mask & (behavior.fields["later"] == 1)).sum(2), behavior.mask.sum(2)
        return -(later * np.logaddexp(0.0, -x) + (asked - later) * np.logaddexp(0.0, x)).sum(1)

    def simulate(parameters, designs, rng, task):
        return {"later": rng.random((len(designs), task.blocks, task.trials)) < expit(advantage(parameters, designs))}

    simulate.__name__ = simulate.__qualname__ = name.replace("-", "_")
    priors = {**priors, "temperature": ta.LogNormal(1.5, 0.8)}
    return ta.model(name=name, parameters=priors, vectorised=True, log_likelihood=log_likelihood, resets=True)(simulate)


K = ta.LogNormal(-4.5, 1.5)  # a rate of 0.011 a day, give or take a factor of 4.5
exponential = model_of_choice("exponential", lambda p, days: np.exp(-p["k"] * days), {"k": K})
hyperbolic = model_of_choice("hyperbolic", lambda p, days: 1 / (1 + p["k"] * days), {"k": K})
present_bias = model_of_choice(
    "present-bias", lambda p, days: np.where(days > 0, p["beta"] * np.exp(-p["k"] * days), 1.0), {"k": K, "beta": ta.Beta(4, 2)}
)
