"""The law of answers, learned from simulations: how probable is each answer to a block, for each participant that there might be?

    p(code | m, theta, d)

is a small network for each model, trained by maximum likelihood on simulated blocks: parameters drawn from their priors, designs from
all of the space, and half of them from where the network is least sure of the answer, since those are the ones that will be asked. The
law does not depend on how designs were chosen, so they can be chosen from the parameters. No likelihood of a model is used.

The first layer is linear in parameters and design, each apart: for J participants and C designs it is computed J + C times.
"""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.special import ndtri
from scipy.stats import qmc
from torch import Tensor, nn

from ..models.failures import attempt
from ..models.simulation import stop_unless_skipped
from ..networks.heads import perceptron
from ..optimizer import Muon
from ..priors import on_normal_scale, sample_priors
from ..progress import Progress, unheard
from ..question import Question
from ..tasks.base import Task
from ..tasks.sampling import sample, spread
from ..tasks.scaling import describe, features
from ..tasks.space import Floats, Symmetry
from .codes import Codes

WIDTH, TRIES = 64, 4
POINTS = 4096
"""Points of the prior of each model."""

STEPS, EXAMPLES, RATE = 3000, 4096, 2e-2
"""Steps of training for each model, simulated blocks in each, and the learning rate at its peak."""


class Law(nn.Module):
    """log p(code | theta, d) of one model.

    Arguments:
        parameters: P.
        design: How many numbers describe a block's design.
        codes: O.
    """

    def __init__(self, parameters: int, design: int, codes: int) -> None:
        super().__init__()
        self.theta, self.design = nn.Linear(parameters, WIDTH), nn.Linear(design, WIDTH)
        self.rest = nn.Sequential(nn.SiLU(), perceptron([WIDTH, WIDTH, WIDTH, codes], nn.SiLU))

    def forward(self, z: Tensor, x: Tensor) -> Tensor:
        """(..., O) for parameters on the normal scale z (..., P) and described designs x (..., F), which may be broadcast."""
        return torch.log_softmax(self.rest(self.theta(z) + self.design(x)), dim=-1)


class Answers(nn.Module):
    """The laws of all models of a question.

    Arguments:
        seed: Where randomness starts, of first weights and of what is learned from.
        symmetry: The relabellings of designs that change nothing for any model; those of the task if not given.
    """

    def __init__(self, task: Task, question: Question, codes: Codes, seed: int, symmetry: Symmetry | None = None) -> None:
        super().__init__()
        self.task, self.question, self.codes, self.seed = task, question, codes, seed
        self.symmetry = symmetry or task.design_space.symmetry
        self.ordered = not self.symmetry.blocks
        width = features(task.design_space) + self.ordered
        self.points = tuple(prior_points(len(model.parameters)) for model in question.models)
        """Points that represent the prior of each model, (J, P), on the normal scale."""
        self.points_known = tuple(self.known(m, z) for m, z in enumerate(self.points))
        self.memory: dict[tuple[int, int, bytes, bytes], Floats] = {}
        """log p(answer | point) of blocks that were looked up before."""
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            self.laws = nn.ModuleList(Law(len(model.parameters), width, len(codes.counts)) for model in question.models)

    def described(self, rows: Floats, block: NDArray[np.intp] | int) -> Tensor:
        """Designs of single blocks (..., V), as the law sees them; with the block's number where blocks cannot change places."""
        shown = describe(self.task.design_space, rows)
        if self.ordered:
            place = np.broadcast_to(2.0 * np.asarray(block) / max(1, self.task.blocks - 1) - 1.0, shown.shape[:-1])
            shown = np.concatenate([shown, place[..., None].astype(np.float32)], axis=-1)
        return torch.from_numpy(shown)

    def known(self, m: int, z: Floats) -> Floats:
        """Parameters of a model on the normal scale as its law knows them: levels in the middle of their steps, (J, P)."""
        priors = self.question.models[m].parameters.values()
        if not any(prior.discrete for prior in priors):
            return z
        columns = [prior.to_normal(prior.from_normal(z[:, p])) if prior.discrete else z[:, p] for p, prior in enumerate(priors)]
        return np.stack(columns, axis=-1)


def prior_points(parameters: int) -> Floats:
    """Points that represent standard normal numbers, (J, P)."""
    if not parameters:
        return np.zeros((1, 0))
    unit = qmc.Sobol(parameters, rng=np.random.default_rng(0)).random(POINTS)
    return np.asarray(ndtri(np.clip(unit, 1e-9, 1 - 1e-9)))


def learn_law(answers: Answers, m: int, steps: int = STEPS, progress: Progress = unheard) -> None:
    """Learn the law of model number `m`."""
    law = answers.laws[m]
    optimizer = Muon(law.parameters(), RATE)
    for step in range(steps):
        optimizer.param_groups[0]["lr"] = RATE * min(1.0, (step + 1) / (0.05 * steps + 1)) * (0.01 + 0.99 * (1 - step / steps) ** 1.5)
        z, x, code = _simulated(answers, m, step, hard=step > steps // 10)
        loss = nn.functional.nll_loss(law(z, x), code)
        optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
        if step % 50 == 0:
            progress(m * steps + step, len(answers.laws) * steps, "learning how people answer", answers.question.names[m])


def _simulated(answers: Answers, m: int, step: int, hard: bool) -> tuple[Tensor, Tensor, Tensor]:
    """Parameters, described designs and codes of simulated blocks of a model."""
    task, model, rng = answers.task, answers.question.models[m], np.random.default_rng([answers.seed, 71, m, step])
    n = max(1, EXAMPLES // task.blocks)
    theta = sample_priors(model.parameters, n, rng)
    z = torch.from_numpy(on_normal_scale(model.parameters, theta, n).astype(np.float32))
    designs = _designs(answers, m, z, rng, hard)
    behavior, failures = attempt(model, theta, designs, rng, task, None)
    stop_unless_skipped(list(failures.values()), n, answers.question.on_error)
    complete = behavior.mask.sum(2) == task.trials
    complete[list(failures)] = False
    who, block = np.nonzero(complete)
    code = answers.codes.seen(behavior)[who, block].argmax(-1)
    return z[who], answers.described(designs[who, block], block), torch.from_numpy(code)


def _designs(answers: Answers, m: int, z: Tensor, rng: np.random.Generator, hard: bool) -> Floats:
    """Designs everywhere; if `hard`, half of the blocks are, of a few, ones at which the law is unsure of the answer."""
    task, space, n, half = answers.task, answers.task.design_space, len(z), len(z) // 2
    designs = np.where(rng.random((n, 1, 1)) < 0.8, spread(space, n, rng), task.baseline(n, rng))
    if not hard:
        return designs
    tries = np.stack([designs[half:], *(sample(space, n - half, rng) for _ in range(TRIES - 1))])
    with torch.no_grad():
        log_p = answers.laws[m](z[half:, None], answers.described(tries, np.arange(task.blocks)))
        unsure = -(log_p.exp() * log_p).sum(-1).numpy()
    picked = (np.log(unsure + 1e-3) + rng.gumbel(size=unsure.shape)).argmax(0)
    designs[half:] = np.take_along_axis(tries, picked[None, :, :, None], 0)[0]
    return space.repair(designs)
