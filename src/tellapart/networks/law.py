"""The law of responses, learned trial by trial: how probable is what a participant did, for any parameters?

    log p(responses | theta) = sum over trials of log p(responses of the trial | all that came before it, theta)

Each trial of each simulated participant is an example, so that far fewer participants are needed than for a posterior, of which a
participant is one example. What a participant carries from trial to trial is a recurrent state that is moved by what happened and by the
parameters, one for every option with the same weights: values that are learned, a belief about a latent state. Options are described by
what could be known of them (`Task.options`) and by which they are; the first categorical response is a choice among them. Further
responses, such as a response time, are given the choice: categories by their probabilities, numbers by a mixture of normal densities on
the scale of the encoder. Only ratios between parameters matter, so that no scale has to be undone, and the law of outcomes, which is the
task's, cancels.
"""

from __future__ import annotations

import math
from typing import Any, Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from ..behavior import Behavior, Field
from ..tasks.base import Task
from .base import Encoder, categories, field_features, field_width
from .consequences import known_of_options

MIXED = 4
"""Normal densities in the mixture of a response that is a number."""

NARROWEST = 0.02
"""Standard deviation of the narrowest of them, on the scale of the encoder."""


class Trials(Encoder):
    """An encoder's inputs, and beside them what laws of responses see of each trial.

    Arguments:
        encoder: Whose summaries these are.
    """

    def __init__(self, encoder: Encoder) -> None:
        task, own = encoder.task, len(encoder.centre)
        choice, others = responses_of(task)
        options = categories(choice) if choice else 1
        empty = Behavior({f.name: np.zeros((0, 1, 1), f.dtype) for f in task.fields})
        described = options_of(task, empty, choice).shape[-1] if choice else 0
        widths = [options, *(categories(f) or 1 for f in others), sum(map(field_width, task.outcomes)), options * described, 1]
        super().__init__(task, own + sum(widths), encoder.summaries)
        self.inner, self.own, self.widths, self.options = encoder, own, widths, options
        self.name, self.any_length, self.sources = encoder.name, encoder.any_length, encoder.sources  # type: ignore[misc]

    def features(self, behavior: Behavior) -> NDArray[np.floating[Any]]:
        task, mask = self.task, behavior.mask[..., None]
        choice, others = responses_of(task)
        parts = [one_hot(behavior, choice) if choice else np.ones((*behavior.shape, 1), np.float32)]
        parts += [one_hot(behavior, f) if categories(f) else field_features(behavior.fields[f.name], f, one_hot=True) for f in others]
        parts += [field_features(behavior.fields[f.name], f, one_hot=True) for f in task.outcomes]
        if choice:
            parts.append(options_of(task, behavior, choice).reshape(*behavior.shape, self.widths[-2]))
        parts.append(0.3 * np.log1p(np.cumsum(mask, axis=2) - mask))
        return np.concatenate([self.inner.features(behavior), *(part * mask for part in parts)], axis=-1)

    def forward(self, inputs: Tensor) -> Tensor:
        summaries: Tensor = self.inner(torch.cat([inputs[..., : self.own], inputs[..., -self.extra :]], dim=-1))
        return summaries

    def learn_scale(self, behavior: Behavior) -> None:
        super().learn_scale(behavior)
        self.inner.centre.copy_(self.centre[: self.own])
        self.inner.scale.copy_(self.scale[: self.own])

    def learn_rest_of_scale(self, behavior: Behavior) -> None:
        """Learn the range of what laws see alone: that of the encoder is what it was trained with."""
        super().learn_scale(behavior)
        self.centre[: self.own] = self.inner.centre
        self.scale[: self.own] = self.inner.scale


def responses_of(task: Task) -> tuple[Field | None, list[Field]]:
    """The response that is a choice among options, if there is one, and the others."""
    choice = next((f for f in task.responses if categories(f)), None)
    return choice, [f for f in task.responses if f != choice]


def options_of(task: Task, behavior: Behavior, choice: Field) -> NDArray[np.floating[Any]]:
    """What could be known of each option before every trial, (N, B, T, K, F)."""
    described = task.options(behavior)
    return known_of_options(task, behavior, choice) if described is None else described


def one_hot(behavior: Behavior, field: Field) -> NDArray[np.float32]:
    return np.eye(categories(field), dtype=np.float32)[behavior.fields[field.name].astype(np.intp)]


class Law(nn.Module):
    """log p(responses | theta, model), up to what depends on neither: one network for all models, which is told which it is.

    Arguments:
        trials: What is seen of trials.
        parameters: P, of the model that has most.
        models: M.
        width: Of hidden layers.
        units: Of the state of each option.
    """

    def __init__(self, trials: Trials, parameters: int, models: int = 1, width: int = 64, units: int = 24) -> None:
        super().__init__()
        self.parameters_count, self.models = parameters, models
        self.own, self.widths, self.options, self.units = trials.own, trials.widths, trials.options, units
        *rest, outcomes, described, clock = trials.widths[1:]
        context = clock + trials.extra - 1
        _, others = responses_of(trials.task)
        self.numbers = [categories(f) == 0 for f in others]
        known = described // self.options + (self.options if self.options > 1 else 0) + context
        self.theta = nn.Sequential(nn.Linear(parameters + models, width), nn.SiLU())
        self.begin = nn.Linear(width, units)
        self.happened = nn.Linear(2 * known + 1 + outcomes + sum(rest), 3 * units)
        self.by_theta = nn.Linear(width, 3 * units)
        self.again = nn.Linear(2 * units, 3 * units)
        self.known, self.state, self.of_theta = nn.Linear(2 * known, width), nn.Linear(2 * units, width), nn.Linear(width, width)
        self.middle, self.score = nn.Linear(width, width), nn.Linear(width, 1)
        given = [width + sum(rest[:i]) for i in range(len(rest))]
        sizes = [3 * MIXED if number else size for number, size in zip(self.numbers, rest, strict=True)]
        heads = [nn.Sequential(nn.Linear(g, width), nn.SiLU(), nn.Linear(width, n)) for g, n in zip(given, sizes, strict=True)]
        self.others = nn.ModuleList(heads)

    def forward(self, inputs: Tensor, z: Tensor, model: Tensor) -> Tensor:
        """(..., N) for inputs (N, B, T, F) of `Trials.prepare`, parameters on the normal scale z (..., N, P or fewer), and models (N,)."""
        seen, mask = inputs[..., self.own :], inputs[..., -1]
        *sizes, _ = self.widths
        chosen, *others, outcomes, described, context = seen[..., :-1].split([*sizes, seen.shape[-1] - 1 - sum(sizes)], dim=-1)
        known = self._known(described, context)
        which = nn.functional.one_hot(model, self.models).to(z).expand(*z.shape[:-1], -1)
        theta = self.theta(torch.cat([nn.functional.pad(z, (0, self.parameters_count - z.shape[-1])), which], dim=-1))
        states = self._states(known, chosen, torch.cat([outcomes, *others], dim=-1), mask, theta)  # (..., N, B, T, K, U)
        mean = known.mean(-2, keepdim=True).expand_as(known)
        hidden = self.known(torch.cat([known, mean], dim=-1)) + self.of_theta(theta)[..., None, None, None, :]
        hidden = torch.relu(hidden + self.state(_with_mean(states)))
        hidden = hidden + torch.relu(self.middle(hidden))
        log_p = torch.zeros((), device=inputs.device)
        if self.options > 1:
            log_p = (torch.log_softmax(self.score(hidden).squeeze(-1), dim=-1) * chosen).sum(-1)
        if others:
            hidden = (hidden * chosen[..., None]).sum(-2)
            log_p = log_p + self._of_others(hidden, others)
        return (log_p * mask).sum((-1, -2))

    def _known(self, described: Tensor, context: Tensor) -> Tensor:
        """What is known of each option before each trial, (N, B, T, K, F)."""
        shape = (*described.shape[:-1], self.options)
        parts = [described.reshape(*shape, described.shape[-1] // self.options), context[..., None, :].expand(*shape, -1)]
        if self.options > 1:
            parts.append(torch.eye(self.options, device=described.device).expand(*shape, -1))
        return torch.cat(parts, dim=-1)

    def _states(self, known: Tensor, chosen: Tensor, came: Tensor, mask: Tensor, theta: Tensor) -> Tensor:
        """The state of each option before each trial."""
        taken = (known * chosen[..., None]).sum(-2, keepdim=True).expand_as(known)  # what was known of the option that was chosen
        happened = self.happened(torch.cat([known, taken, chosen[..., None], came[..., None, :].expand(*chosen.shape, -1)], dim=-1))
        blocks, options = chosen.shape[1], chosen.shape[3]
        theta = theta.unsqueeze(-2).unsqueeze(-2)  # (..., N, 1, 1, W)
        moved = self.by_theta(theta)
        state = torch.tanh(self.begin(theta)).expand(*theta.shape[:-3], blocks, options, self.units)
        happened, recorded, before = happened.unbind(2), mask[..., None, None].unbind(2), []
        for input, there in zip(happened, recorded, strict=True):
            before.append(state)
            a, b = input + moved, self.again(_with_mean(state))
            gates = torch.sigmoid(a[..., : 2 * self.units] + b[..., : 2 * self.units])
            update, reset = gates.chunk(2, dim=-1)
            new = torch.tanh(a[..., 2 * self.units :] + reset * b[..., 2 * self.units :])
            state = state + there * update * (new - state)
        return torch.stack(before, dim=-3)

    def _of_others(self, hidden: Tensor, others: list[Tensor]) -> Tensor:
        """log p of the responses beside the choice, one after the other."""
        total = torch.zeros((), device=hidden.device)
        for i, (head, given) in enumerate(zip(self.others, others, strict=True)):
            told = [other.expand(*hidden.shape[:-1], -1) for other in others[:i]]
            found = head(torch.cat([hidden, *told], dim=-1))
            total = total + (_mixture(found, given) if self.numbers[i] else (torch.log_softmax(found, dim=-1) * given).sum(-1))
        return total


class Laws(nn.Module):
    """Several laws that learn the same from random starts of their own: what they say on average errs less than what one of them says.

    Arguments:
        laws: The laws. By their mean, each learns as it would alone.
    """

    def __init__(self, laws: Sequence[Law]) -> None:
        super().__init__()
        self.laws = nn.ModuleList(laws)

    def forward(self, inputs: Tensor, z: Tensor, model: Tensor) -> Tensor:
        """As `Law.forward`."""
        return torch.stack([law(inputs, z, model) for law in self.laws]).mean(0)


def _with_mean(states: Tensor) -> Tensor:
    """Each option's state, and beside it the mean of all."""
    return torch.cat([states, states.mean(-2, keepdim=True).expand_as(states)], dim=-1)


def _mixture(found: Tensor, given: Tensor) -> Tensor:
    """log density of a number under a mixture of normal densities."""
    weight, centre, log_sd = found.chunk(3, dim=-1)
    sd = NARROWEST + nn.functional.softplus(log_sd)
    density = -0.5 * ((given - centre) / sd).square() - sd.log() - 0.5 * math.log(2 * math.pi)
    return torch.logsumexp(torch.log_softmax(weight, dim=-1) + density, dim=-1)
