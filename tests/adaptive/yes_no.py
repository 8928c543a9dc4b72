"""The smallest adaptive experiment with known answers: is a signal above a participant's threshold?"""

from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import pytest
import torch
from scipy.special import expit
from torch import nn
from torch.nn.functional import logsigmoid

import tellapart as ta
from tellapart.adaptive.answers import Answers
from tellapart.adaptive.codes import Codes
from tellapart.adaptive.looking import Effort

SOON_LEARNED = {"tellapart.adaptive.answers.EXAMPLES": 1024, "tellapart.adaptive.answers.POINTS": 1024}
"""Examples in a step of training, and points of the prior: the law of one answer to one number is soon learned, and known from few."""

LOOKED_AT = {"tellapart.adaptive.by_answers.EVERYWHERE": 48, "tellapart.adaptive.by_answers.SOME": 64}
FEW = {**SOON_LEARNED, **LOOKED_AT, "tellapart.adaptive.belief.DRAWS": 256}
"""Rows and draws too: what tells most is found among few, and two numbers at most are not known."""


@contextmanager
def with_numbers(numbers):
    """These numbers in the place of those that modules have."""
    with pytest.MonkeyPatch.context() as patch:
        for name, number in numbers.items():
            patch.setattr(name, number)
        yield


LITTLE = Effort(4, 4, (0.1,), 3)
"""A signal is one number: few looks find a good one."""


def quick(policy):
    """The same policy with few looks."""
    return replace(policy, way=replace(policy.way, effort=LITTLE))


@dataclass(frozen=True)
class Signals(ta.Task):
    """`blocks` signals, each shown `trials` times."""

    blocks: int = 6
    trials: int = 1

    name: ClassVar[str] = "signals"

    @property
    def fields(self):
        return (ta.Field("yes", "binary"),)

    @property
    def design_space(self):
        return ta.DesignSpace(self.blocks, [ta.Variable("signal", -3, 3)], ta.Symmetry(blocks=True))

    def baseline(self, n, rng):
        return rng.uniform(-3, 3, (n, self.blocks, 1))

    @property
    def screen(self):
        return ta.Screen("choice", stimuli=lambda row, trials, rng: [{"prompt": f"{row[0]:.2f}", "options": ["no", "yes"]}] * trials)

    def history(self, behavior):
        return behavior.fields["yes"][..., None].astype(np.float32)


def model_of(name, priors, slope):
    """A model in which yes has the probability 1 / (1 + exp(-slope (signal - threshold)))."""

    def chance(parameters, designs):
        steep = slope(parameters)
        steep = steep[:, None, None] if np.ndim(steep) else steep
        return expit(steep * (designs - parameters["threshold"][:, None, None]))

    def simulate(parameters, designs, rng, task):
        return {"yes": rng.random((len(designs), task.blocks, task.trials)) < chance(parameters, designs)}

    def log_likelihood(parameters, behavior, designs, task):
        p = np.clip(chance(parameters, designs)[:, : behavior.shape[1], 0], 1e-12, 1 - 1e-12)
        yes, asked = (behavior.mask & (behavior.fields["yes"] == 1)).sum(2), behavior.mask.sum(2)
        return (yes * np.log(p) + (asked - yes) * np.log1p(-p)).sum(1)

    simulate.__name__ = simulate.__qualname__ = name
    return ta.model(name=name, parameters=priors, vectorised=True, log_likelihood=log_likelihood)(simulate)


THRESHOLD = {"threshold": ta.Normal(0, 1)}
steep = model_of("steep", THRESHOLD, lambda p: 4.0)
flat = model_of("flat", THRESHOLD, lambda p: 1.0)
any_slope = model_of("any-slope", {**THRESHOLD, "log_slope": ta.Normal(0.7, 0.7)}, lambda p: np.exp(p["log_slope"]))


def exact_yes(model, signal, z):
    """The probability of yes to signals (C,) for parameters on the normal scale (J, P), (C, J)."""
    threshold = z[:, 0]
    slope = {"steep": 4.0, "flat": 1.0}.get(model.name)
    slope = np.exp(0.7 + 0.7 * z[:, 1]) if slope is None else slope
    return expit(slope * (np.asarray(signal)[:, None] - threshold))


class ExactLaw(nn.Module):
    """The law of answers of `any_slope`, not learned but known."""

    def forward(self, z, x):
        steep = torch.exp(0.7 + 0.7 * z[..., 1]) * (3.0 * x[..., 0] - z[..., 0])
        return torch.stack([logsigmoid(-steep), logsigmoid(steep)], dim=-1)


def knowing(question, task):
    """Answers whose law is known, of a question about `any_slope`."""
    answers = Answers(task, question, Codes.of(task), 3)
    answers.laws = nn.ModuleList([ExactLaw()])
    return answers
