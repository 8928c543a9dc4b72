"""The law of responses, learned trial by trial: how probable is what a participant did, for any parameters?

    log p(responses | theta) = sum over trials of log p(responses of the trial | all that came before it, theta)

Each trial of each simulated participant is an example, so that far fewer participants are needed than for a posterior, of which a
participant is one example. What comes before a trial acts in two ways. It is seen, as the task describes it (`Task.options`) and in traces
that fade. And it moves a latent state s, one of a few, which nobody sees, as in a hidden Markov model:

    p(choice k | s)     ∝ exp f(k)^T g_s(theta)                     f of what is known of option k before the trial
    p(s' | s)           ∝ exp h^T r_ss'(theta)                      h of what happened in the trial
    alpha_s'            = sum over s of alpha_s p(responses | s) p(s' | s)

f and h are learned from histories, g and r from parameters: products of the two are what most theories' rules look like ("with probability
epsilon, one of those that are not best"), and a history is read once for any number of parameters. States are no claim about the mind:
they mix what a single softmax cannot say, and theories without a latent state need them too. Further responses, such as a response time,
are given choice and state: categories by their probabilities, numbers by a mixture of normal densities on the scale of the encoder. Only
ratios between parameters matter, so that no scale has to be undone, and the law of outcomes, which is the task's, cancels.

Blocks begin anew, unless they are to be read in order: then traces and states go on from block to block, weakened and moved by the break.
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
from .consequences import clock, known_of_options

MIXED = 4
"""Normal densities in the mixture of a response that is a number."""

NARROWEST = 0.02
"""Standard deviation of the narrowest of them, on the scale of the encoder."""

TINY = 1e-30
"""What a probability is at least, relative to the largest, so that it has a logarithm."""


class Trials(Encoder):
    """An encoder's inputs, and beside them what laws of responses see of each trial.

    Arguments:
        encoder: Whose summaries these are.
        in_order: Do laws read blocks one after the other?
    """

    def __init__(self, encoder: Encoder, in_order: bool = False) -> None:
        task, own = encoder.task, len(encoder.centre)
        self.in_order = in_order
        choice, others = responses_of(task)
        options = categories(choice) if choice else 1
        empty = Behavior({f.name: np.zeros((0, 1, 1), f.dtype) for f in task.fields})
        described = self._described(task, empty, choice).shape[-1] if choice else 0
        clocks = 2 if in_order else 1
        widths = [options, *(categories(f) or 1 for f in others), sum(map(field_width, task.outcomes)), options * described, clocks]
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
            parts.append(self._described(task, behavior, choice).reshape(*behavior.shape, self.widths[-2]))
        parts.append(clock(behavior.mask))
        if self.in_order:
            parts.append(clock(behavior.in_one_block().mask).reshape(mask.shape))
        return np.concatenate([self.inner.features(behavior), *(part * mask for part in parts)], axis=-1)

    def _described(self, task: Task, behavior: Behavior, choice: Field) -> NDArray[np.floating[Any]]:
        """What could be known of each option before every trial, (N, B, T, K, F), from its own block and, in order, from all before it."""
        own = options_of(task, behavior, choice)
        if not self.in_order:
            return own
        across = known_of_options(task, behavior.in_one_block(), choice)
        return np.concatenate([own, across.reshape(*own.shape[:-1], across.shape[-1])], axis=-1)

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
        states: S, among which a participant moves unseen.
        terms: J, over which a product of what is learned of a history and of parameters sums.
        traces: Of what happened to each option, each fading at rates of its own.
    """

    def __init__(
        self, trials: Trials, parameters: int, models: int = 1, width: int = 128, states: int = 6, terms: int = 24, traces: int = 8
    ) -> None:
        super().__init__()
        self.parameters_count, self.models = parameters, models
        self.own, self.widths, self.options, self.states, self.terms = trials.own, trials.widths, trials.options, states, terms
        self.in_order = trials.in_order
        *rest, outcomes, described, clocks = trials.widths[1:]
        _, others = responses_of(trials.task)
        self.numbers = [categories(f) == 0 for f in others]
        known = described // self.options + (self.options if self.options > 1 else 0) + clocks + trials.extra - 1
        came = max(1, outcomes + sum(rest))  # where nothing comes of a choice, that it was made
        self.put = nn.Linear(came, traces)
        self.fade = nn.Parameter(torch.linspace(0.0, 4.0, traces).repeat(2, 1))  # of options that were chosen, and of the others
        self.known, self.score = nn.Linear(2 * (known + traces), width), nn.Linear(width, terms)
        self.happened, self.move = nn.Linear(known + traces + came, width), nn.Linear(width, terms)
        seen = 4 * parameters + models
        self.theta = nn.Sequential(nn.Linear(seen, width), nn.SiLU(), nn.Linear(width, width), nn.SiLU())
        self.by_theta = nn.Linear(seen + width, states + terms * states + terms * states**2)
        if self.in_order:
            self.outlast, self.between = nn.Parameter(torch.full((traces,), 2.0)), nn.Linear(seen + width, states**2)
        half = width // 2  # of what is computed for each state and draw
        if others:
            self.taken, self.of_theta = nn.Linear(width, half), nn.Linear(seen + width, states * half)
        given = [half + sum(rest[:i]) for i in range(len(rest))]
        sizes = [3 * MIXED if number else size for number, size in zip(self.numbers, rest, strict=True)]
        heads = [nn.Sequential(nn.Linear(g, half), nn.SiLU(), nn.Linear(half, n)) for g, n in zip(given, sizes, strict=True)]
        self.others = nn.ModuleList(heads)

    def forward(self, inputs: Tensor, z: Tensor, model: Tensor) -> Tensor:
        """(..., N) for inputs (N, B, T, F) of `Trials.prepare`, parameters on the normal scale z (..., N, P or fewer), and models (N,)."""
        n, draws, length = len(inputs), math.prod(z.shape[:-2]), inputs.shape[2]
        if self.in_order:
            inputs = inputs.flatten(1, 2)[:, None]
        seen, mask = inputs[..., self.own :], inputs[..., -1]
        *sizes, _ = self.widths
        chosen, *others, outcomes, described, context = seen[..., :-1].split([*sizes, seen.shape[-1] - 1 - sum(sizes)], dim=-1)
        came = torch.cat([outcomes, *others], dim=-1) if outcomes.shape[-1] or others else torch.ones_like(chosen[..., :1])
        known = self._known(described, context)
        known = torch.cat([known, self._traces(chosen, came, mask, length)], dim=-1)
        hidden = torch.relu(self.known(_with_mean(known)))  # (N, B, T, K, W)
        theta = self._theta(z.reshape(draws, n, z.shape[-1]), model).movedim(0, 1)  # (N, L, W')
        begin, g, r = self.by_theta(theta).split([self.states, self.terms * self.states, self.terms * self.states**2], dim=-1)
        log_p = mask.new_zeros(*mask.shape, self.states, draws)
        if self.options > 1:
            score = self._products(self.score(hidden), g)  # (N, B, T, K, S, L)
            log_p = (score * chosen[..., None, None]).sum(3) - torch.logsumexp(score, dim=3)
        if others:
            taken = self.taken((hidden * chosen[..., None]).sum(-2))[..., None, None, :]
            of_theta = self.of_theta(theta).unflatten(-1, (self.states, -1)).transpose(1, 2)[:, None, None]
            log_p = log_p + self._of_others(torch.relu(taken + of_theta), [other[..., None, None, :] for other in others])
        happened = torch.cat([(known * chosen[..., None]).sum(-2), came], dim=-1)
        moves = self._products(self.move(torch.relu(self.happened(happened))), r)
        between = self.between(theta).transpose(1, 2)[:, None, None] if self.in_order else None
        return _filtered(torch.log_softmax(begin, dim=-1), log_p, moves, mask, length, between).T.reshape(z.shape[:-1])

    def _known(self, described: Tensor, context: Tensor) -> Tensor:
        """What is known of each option before each trial, (N, B, T, K, F)."""
        shape = (*described.shape[:-1], self.options)
        parts = [described.reshape(*shape, described.shape[-1] // self.options), context[..., None, :].expand(*shape, -1)]
        if self.options > 1:
            parts.append(torch.eye(self.options, device=described.device).expand(*shape, -1))
        return torch.cat(parts, dim=-1)

    def _traces(self, chosen: Tensor, came: Tensor, mask: Tensor, length: int) -> Tensor:
        """What happened to each option, as averages that fade: before each trial, (N, B, T, K, traces). Blocks are so long."""
        put = self.put(came)[..., None, :] * chosen[..., None]
        of_chosen, of_others = torch.sigmoid(self.fade)
        keep = torch.where(mask[..., None, None] > 0, torch.where(chosen[..., None] > 0, of_chosen, of_others), 1.0)
        trace, before = torch.zeros_like(put[:, :, 0]), []
        for trial, (kept, new) in enumerate(zip(keep.unbind(2), put.unbind(2), strict=True)):
            if trial and trial % length == 0:
                trace = trace * torch.sigmoid(self.outlast)
            before.append(trace)
            trace = torch.lerp(new, trace, kept)
        return torch.stack(before, dim=2)

    def _theta(self, z: Tensor, model: Tensor) -> Tensor:
        """What is learned of parameters (L, N, P or fewer): as they are, as shares of their prior, and logarithms of the shares."""
        which = nn.functional.one_hot(model, self.models).to(z).expand(*z.shape[:-1], -1)
        z = nn.functional.pad(z, (0, self.parameters_count - z.shape[-1]))
        shares = [torch.special.ndtr(z), 0.5 * torch.special.log_ndtr(z), 0.5 * torch.special.log_ndtr(-z)]
        seen = torch.cat([z, *shares, which], dim=-1)
        return torch.cat([seen, self.theta(seen)], dim=-1)

    def _products(self, history: Tensor, theta: Tensor) -> Tensor:
        """Of a history (N, ..., J) and parameters (N, L, J * D): sums over J, (N, ..., D, L)."""
        n, draws = theta.shape[:2]
        by_term = theta.unflatten(-1, (self.terms, -1)).permute(0, 2, 3, 1).flatten(2)  # (N, J, D * L)
        products = (history / math.sqrt(self.terms)).reshape(n, -1, self.terms) @ by_term
        return products.reshape(*history.shape[:-1], -1, draws)

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

    def __init__(self, laws: Sequence[nn.Module]) -> None:
        super().__init__()
        self.laws = nn.ModuleList(laws)

    def forward(self, inputs: Tensor, z: Tensor, model: Tensor) -> Tensor:
        """As `Law.forward`."""
        return torch.stack([law(inputs, z, model) for law in self.laws]).mean(0)


def _with_mean(known: Tensor) -> Tensor:
    """What is known of each option, and beside it the mean of all."""
    return torch.cat([known, known.mean(-2, keepdim=True).expand_as(known)], dim=-1)


def _filtered(begin: Tensor, log_p: Tensor, moves: Tensor, mask: Tensor, length: int, between: Tensor | None) -> Tensor:
    """log p of all trials, (N, L), trial by trial. Time and states come first in what is computed: sums then run over whole rows.

    Arguments:
        begin: log p of the state in which a block begins, (N, L, S).
        log_p: Of the responses of each trial in each state, (N, B, T, S, L).
        moves: How readily one state follows another after each trial, as logits, (N, B, T, S * S, L).
        mask: Trials that were recorded, (N, B, T); the others are as if they had never been.
        length: Of a block.
        between: How readily one state follows another from block to block, where all blocks are in one, (N, 1, 1, S * S, L).
    """
    states, there = log_p.shape[-2], mask.permute(2, 0, 1)[..., None] > 0
    log_p = torch.where(there[:, None], log_p.permute(2, 3, 0, 1, 4), 0.0)  # (T, S, N, B, L)
    most = log_p.detach().amax(1, keepdim=True)
    p = (log_p - most).exp()
    moves = _transitions(moves, states)  # (T, S, S, N, B, L)
    pause = None if between is None else _transitions(between, states)[0]
    state = begin.exp().permute(2, 0, 1)[:, :, None].expand(p.shape[1:])
    scales = [most.squeeze(1)]
    for trial, (fits, move, recorded) in enumerate(zip(p[:-1], moves[:-1], there[:-1], strict=True), 1):
        after = ((state * fits)[:, None] * move).sum(0)
        scale = torch.where(recorded, after.detach().sum(0).clamp(min=TINY), 1.0)
        state = torch.where(recorded, after / scale, state)
        scales.append(scale.log()[None])
        if pause is not None and trial % length == 0:
            state = (state[:, None] * pause).sum(0)
    return torch.cat(scales).sum((0, 2)) + (state * p[-1]).sum(0).clamp(min=TINY).log().sum(1)


def _transitions(moves: Tensor, states: int) -> Tensor:
    """Probabilities of states after states, (T, S, S, N, B, L), of logits (N, B, T, S * S, L)."""
    return moves.permute(2, 3, 0, 1, 4).contiguous().unflatten(1, (states, states)).softmax(2)


def _mixture(found: Tensor, given: Tensor) -> Tensor:
    """log density of a number under a mixture of normal densities."""
    weight, centre, log_sd = found.chunk(3, dim=-1)
    sd = NARROWEST + nn.functional.softplus(log_sd)
    density = -0.5 * ((given - centre) / sd).square() - sd.log() - 0.5 * math.log(2 * math.pi)
    return torch.logsumexp(torch.log_softmax(weight, dim=-1) + density, dim=-1)
