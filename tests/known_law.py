"""Estimators whose law is known: readings of a hidden number with unit noise, or of nothing."""

import numpy as np
import torch
from torch import nn

import tellapart as ta
from tellapart.models.hidden_number import HiddenNumber
from tellapart.tasks.readings import NoisyReadings

TASK, DESIGN = NoisyReadings(1, 2), np.array([[1.0]])


class Readings(nn.Module):
    """The law of readings around scale times theta, with unit noise, as inputs show them: the reading is a response that is a number."""

    def __init__(self, own, scale=1.0):
        super().__init__()
        self.own, self.scale = own, scale

    def forward(self, inputs, z, model):
        reading = inputs[..., self.own + 1]  # after the one option that there is
        theta = z[..., 0] if z.shape[-1] else z.new_zeros(z.shape[:-1])
        return -0.5 * (reading - self.scale * theta[..., None, None]).square().sum((-1, -2))


def silence():
    def log_likelihood(values, behavior, designs, task):
        return -0.5 * (behavior.fields["reading"] ** 2 + np.log(2 * np.pi)).sum((1, 2))

    @ta.model(name="silence", parameters={}, vectorised=True, log_likelihood=log_likelihood)
    def simulate(values, designs, rng, task):
        return {"reading": rng.standard_normal((len(designs), task.blocks, task.trials))}

    return simulate()


def estimator(question, trust=1.0):
    """One whose law is true and whose posterior has learned nothing; `trust` says which of them counts."""
    torch.manual_seed(2)
    made = ta.LikelihoodEstimator(question, ta.SequenceEncoder(TASK, 16, 16, 4, 1, 1, 8)).eval()
    made.law = Readings(made.encoder.own)
    made.trust.fill_(trust)
    return made


ONE = ta.Question((HiddenNumber(),), "estimate")
TWO = ta.Question((HiddenNumber(), silence()), "discriminate", (0.3, 0.7))
BOTH = ta.Question((HiddenNumber(), silence()), "both")
