"""How tight is the bound, without a likelihood? An independent reader looks for what the estimator missed.

A lower bound says nothing of how far below the truth it is: an encoder that cannot see which side was chosen is blind to a
preference for sides, well calibrated, and wrong. So a second network of another build reads the raw data, with no knowledge of the task. It
starts from the estimator's own answer, before a learned law corrects it, and is trained on fresh simulations to improve it:

    models       log r(m | y) = log q(m | y) + f_m(y), normalised, f = 0 at the start;
    parameters   under q, u = T(theta; y) is standard normal, T being the estimator's flow. The reader learns the density of u
                 given y, which is standard normal at the start, and stays so if q is the posterior.

What it learned is then put on top of the corrected answer q', which becomes proportional to q'(v | y) (r / q)^s, each half of the
participants with the share s that is best for the other half: a reader that found what the law knows too gains and loses nothing.

What it gains over the estimator, law and all, on simulations that it has not seen is information that the estimator is known to miss.
Nothing gained is no proof that nothing is missing, but two unlike networks have then failed to find it.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch
import zuko
from torch import Tensor, nn

from ..estimators.base import CHUNK, Estimator, Tilt
from ..information.estimate import Difference, Floats, stratified
from ..models.simulation import Simulations
from ..networks.base import recorded
from ..progress import Progress, unheard
from ..tasks.scaling import describe, features
from .comparison import Reading

BATCH, RATE = 256, 4e-3
UNSEEN = 8000
"""Participants on which the gain is measured, at most; those of a reader that is trained on few are in proportion."""


SHARES = (0.0, 0.25, 0.5, 0.75, 1.0)
"""Of what a reader learned, to be put on top of a corrected answer; the first that is best."""


class _Reader(nn.Module):
    """Raw fields, trial by trial: averages, what follows what, and a recurrent network in both directions; then f(y) and flows of u.

    It reads blocks one after the other, whatever models say of their memory: an estimator believes them.

    Arguments:
        simulations: Some participants, who give fields their scale.
    """

    def __init__(self, estimator: Estimator, simulations: Simulations, units: int = 48, width: int = 128) -> None:
        super().__init__()
        self.task, question = estimator.task, estimator.question
        raw = recorded(self.task, simulations.behavior)[simulations.behavior.mask].astype(np.float64)
        self.centre, self.scale = raw.mean(0), np.maximum(raw.std(0), 1e-12)
        self.fields = raw.shape[1]
        seen = self.fields + features(self.task.design_space) + 1
        self.recurrent = nn.GRU(seen, units, bidirectional=True, batch_first=True)
        self.first = nn.Linear(2 * units + seen + (self.fields + 1) ** 2, width)
        self.models = nn.Sequential(nn.Linear(width, width), nn.SiLU(), nn.Linear(width, len(question.models)))
        counts = [len(question.parameters(m)) for m in range(len(question.models))]
        self.flows = nn.ModuleDict(
            {f"{m}": zuko.flows.MAF(p, width, transforms=2, hidden_features=(64,)) for m, p in enumerate(counts) if p}
        )
        last: list[Any] = [self.models, *(module.hyper for module in self.modules() if hasattr(module, "hyper"))]
        for layers in last:  # to begin with, the estimator's own answer
            nn.init.zeros_(layers[-1].weight)
            nn.init.zeros_(layers[-1].bias)

    def forward(self, simulations: Simulations) -> Tensor:
        """A summary, (N, width), of raw fields on their scale, the design and the mask."""
        inputs = self._inputs(simulations).to(self.first.weight.device)  # (N, B, T, F)
        inputs = inputs.flatten(1, 2)
        mask = inputs[..., -1:]
        total = mask.sum(1).clamp(min=1.0)
        hidden = self.recurrent(inputs)[0]
        raw = torch.cat([inputs[..., : self.fields], mask], dim=-1) * mask
        pairs = torch.einsum("nti,ntj->nij", raw[:, 1:], raw[:, :-1]).flatten(1)
        summary = torch.cat([(hidden * mask).sum(1), (inputs * mask).sum(1), pairs], dim=-1) / total
        return torch.nn.functional.silu(self.first(summary))

    def _inputs(self, simulations: Simulations) -> Tensor:
        mask = simulations.behavior.mask
        fields = np.clip((recorded(self.task, simulations.behavior) - self.centre) / self.scale, -6.0, 6.0) * mask[..., None]
        design = describe(self.task.design_space, simulations.designs)[:, :, None, :]
        parts = [fields, np.broadcast_to(design, (*mask.shape, design.shape[-1])), mask[..., None]]
        return torch.from_numpy(np.concatenate(parts, axis=-1).astype(np.float32))


def read_independently(
    estimator: Estimator,
    design: Floats,
    baseline: Floats | None,
    seed: tuple[int, ...],
    trained: int,
    unseen: int | None = None,
    progress: Progress = unheard,
) -> tuple[Reading, ...]:
    """What an independent reader finds that the estimator missed, at a design (B, V) and over baseline designs (D, B, V) if there are any.

    Arguments:
        estimator: One that can be read, see `readable`.
        seed: Begins the seeds of its simulations, which nothing else uses.
        trained: Participants that it learns from.
        unseen: Participants that the gain is measured on.
    """
    steps = math.ceil(trained / BATCH)
    shares = (1.0,) if baseline is None else (1.0, 0.0)
    unseen = unseen or min(UNSEEN, max(1000, trained // 4))
    habit = design[None] if baseline is None else baseline

    def simulated(purpose: int, number: int, count: int, share: float) -> Simulations:
        rng = np.random.default_rng([*seed, purpose, number])
        drawn = habit[rng.integers(0, len(habit), count)]
        designs = np.where(rng.random((count, 1, 1)) < share, design, drawn)
        return estimator.question.simulate(estimator.task, designs, count, rng, by_lot=purpose == 1)

    scale = simulated(0, 0, 1000, 0.5)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(int(np.random.default_rng(seed).integers(2**62)))
        reader = _Reader(estimator, scale).to(estimator.device)
    optimizer = torch.optim.Adam(reader.parameters(), lr=RATE)
    for step in range(steps):
        simulations = simulated(1, step, BATCH, 0.5)
        loss = -_gain(estimator.quick, reader, simulations).mean()
        optimizer.param_groups[0]["lr"] = RATE * 0.5 * (1 + math.cos(math.pi * step / steps))
        optimizer.zero_grad(set_to_none=True)
        loss.backward()  # type: ignore[no-untyped-call]
        torch.nn.utils.clip_grad_norm_(reader.parameters(), 1.0)
        optimizer.step()
        progress(step + 1, steps, "an independent reader", f"gains {-loss.item():.3f} nats")
    reader.eval()
    return tuple(_measured(estimator, reader, simulated(2 + i, 0, unseen, share), steps) for i, share in enumerate(shares))


def readable(estimator: Estimator) -> bool:
    """Can a reader start from the estimator's answer? Not from posteriors of parameters that are no flows."""
    return estimator.quick.has_flows or not estimator.question.about_parameters


def _measured(estimator: Estimator, reader: _Reader, simulations: Simulations, steps: int) -> Reading:
    """What it finds on simulations that it has not seen: with the share of what it learned that is best for the other half of them."""
    shares, question = torch.tensor(SHARES, device=estimator.device), estimator.question
    parts = [simulations[start : start + CHUNK] for start in range(0, len(simulations), CHUNK)]

    def told_by(by: Estimator, shares: Tensor) -> Floats:
        with torch.no_grad():
            return torch.cat([_told(by, reader, part, shares) for part in parts], dim=1).double().cpu().numpy()

    together = told_by(estimator, shares)
    alone = together[-1] if estimator.quick is estimator else told_by(estimator.quick, shares[-1:])[0]
    # the bound of a critic is less than what its model probabilities tell
    own = together[0] if estimator.quick.has_flows else estimator.pointwise(estimator.prepare(simulations), accuracy=False).values
    chosen, one = np.zeros(len(own), np.intp), np.zeros(len(own), bool)
    for m in range(len(question.models)):  # half of those of each model, who take turns
        one[np.flatnonzero(simulations.model == m)[::2]] = True
    for half in (one, ~one):
        chosen[half] = together[:, ~half].mean(1).argmax()
    told = together[chosen, np.arange(len(own))], alone
    gain, by_itself = (Difference(*stratified(values - own, simulations.model, question.prior)) for values in told)
    return Reading(gain, by_itself, len(simulations), steps * BATCH)


def _gain(estimator: Estimator, reader: _Reader, simulations: Simulations) -> Tensor:
    """log r(v | y) - log q(v | y) of each participant, (N,), for an estimator that is no more than a posterior."""
    told = _told(estimator, reader, simulations, torch.tensor([1.0, 0.0], device=estimator.device))
    return told[0] - told[1]


def _told(estimator: Estimator, reader: _Reader, simulations: Simulations, shares: Tensor) -> Tensor:
    """What is told of each participant if shares (G,) of what the reader learned are put on top of the estimator's answer, (G, N)."""
    quick, batch, summary = estimator.quick, estimator.prepare(simulations), reader(simulations)
    inputs = batch.inputs if quick is estimator else quick.prepare(simulations).inputs

    def parameters(m: int, chosen: Tensor, z: Tensor) -> Tensor:
        with torch.no_grad():
            u: Tensor = quick.flow(inputs[chosen], m).transform(z)
        log_r: Tensor = reader.flows[f"{m}"](summary[chosen]).log_prob(u)
        return log_r + 0.5 * (u.square() + math.log(2 * math.pi)).sum(-1)

    return estimator.tilted(batch, Tilt(shares, reader.models(summary) if estimator.question.about_models else None, parameters))
