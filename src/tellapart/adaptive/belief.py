"""What is known of a participant so far: weighted draws of model and parameters.

The learned law (`answers.py`) gives the likelihood of the answers so far for any model and parameters. Draws are points of the prior,
weighted by it: in the first blocks of an experiment that is all there is to do. Where the weight would rest on a few of them, draws are
carried from the prior to the posterior in stages: weights p(answers | m, theta)^beta, with beta raised as far as enough draws share the
weight; then draws are chosen anew by their weights and moved about by a random walk that leaves the tempered posterior as it is
(Del Moral, Doucet & Jasra 2006). The product of the mean weights of all stages is the evidence of the model. How much the data of a
simulated participant tell is estimated by other draws, near those (`proposals.py`), so that it can be said in which direction it errs.

All of it is a function of the answers and of a seed.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import torch
from numpy.typing import NDArray

from ..models.logsumexp import logsumexp
from ..tasks.space import Floats
from .answers import Answers
from .proposals import Proposal, root_of_covariance, standard_normal

DRAWS, LEAST = 1024, 60
"""Draws of each model that are carried on in stages, and on how many of them the weight must rest."""

MOVES = 4
"""Steps of the random walk after each stage."""

TOGETHER = 16
"""Blocks whose answers are looked at in one piece."""

REMEMBERED = 4000
"""Blocks that are looked up once."""

NEGLIGIBLE = 1e-3
"""The share of the weight that may be left out for speed."""


@dataclass(frozen=True, eq=False)
class Belief:
    """Weighted draws from the posterior of one participant.

    Arguments:
        probabilities: Of each model, (M,).
        draws: For each model, its parameters on the normal scale, (J, P).
        weights: For each model the weights of its draws, (J,), summing to 1.
    """

    probabilities: Floats
    draws: tuple[Floats, ...]
    weights: tuple[Floats, ...]

    def some(self, most: int) -> Belief:
        """The same belief with `most` draws of each model at most, and none of negligible weight."""
        parts = [_some(z, weight, most) for z, weight in zip(self.draws, self.weights, strict=True)]
        return replace(self, draws=tuple(z for z, _ in parts), weights=tuple(weight for _, weight in parts))

    def mean(self, m: int) -> Floats:
        """The posterior mean of a model's parameters on the normal scale, (P,)."""
        return np.asarray(self.weights[m] @ self.draws[m])

    def sd(self, m: int) -> Floats:
        """Their posterior standard deviations on the normal scale, on which the prior's is 1, (P,)."""
        return np.asarray(np.sqrt(self.weights[m] @ (self.draws[m] - self.mean(m)) ** 2))


@dataclass(frozen=True, eq=False)
class Said:
    """What one participant answered in blocks that were run.

    Arguments:
        rows: What the blocks were run at, (b, V).
        block: Their numbers, (b,).
        seen: p(what was recorded | code), (b, O).
    """

    rows: Floats
    block: NDArray[np.intp]
    seen: Floats


def belief_after(answers: Answers, said: Said, rng: np.random.Generator) -> Belief:
    """The posterior of one participant."""
    draws, weights, evidence = zip(*_posteriors(answers, said, rng), strict=True)
    log_p = answers.question.log_prior + np.array(evidence)
    return Belief(np.exp(log_p - logsumexp(log_p)), draws, weights)


def value_of(answers: Answers, said: Said, m: int, truth: Floats, asked: list[int], rng: np.random.Generator) -> float:
    """log p(answers | v) / p(answers) of a participant of model number `m`, by estimates whose average is not too high.

    If v is the model alone, the evidence of all models is estimated without regard to who the participant is: what comes out is a
    probability of each model, whatever the errors, and such a bound holds (Barber & Agakov 2003). Elsewhere too low an evidence would make
    the value too high, and on average it is: E log Z < log E Z. So the truth takes the place of one of the draws by which p(answers) is
    estimated. The truth is itself a draw from the posterior, so that E 1 / Z is 1 / p(answers), and E log Z is not too low, whatever the
    law (Foster et al. 2020, adaptive contrastive estimation).

    Arguments:
        truth: Its parameters on the normal scale, (P,).
        asked: Which of them are asked about; none if v is the model alone. The others are averaged over.
    """
    if not len(said.rows):
        return 0.0
    parts, evidence = _posteriors(answers, said, rng), []
    for k, ((draws, weights, _), child) in enumerate(zip(parts, rng.spawn(len(parts)), strict=True)):
        evidence.append(_evidence(answers, k, said, Proposal.of(draws, weights), truth if asked and k == m else None, child))
    given = evidence[m]
    if asked:
        z = truth[None] if len(asked) == len(truth) else answers.points[m].copy()
        z[:, asked] = truth[asked]
        score = _log_likelihood(answers, m, said, answers.known(m, z))
        given = logsumexp(score) - np.log(len(score))
    return float(given - logsumexp(answers.question.log_prior + evidence))


def _evidence(answers: Answers, m: int, said: Said, proposal: Proposal, truth: Floats | None, rng: np.random.Generator) -> float:
    """A model's log evidence from draws of a proposal; if `truth` (P,) is given, it takes the place of one of them."""
    if not proposal.centres.shape[1]:
        return float(_log_likelihood(answers, m, said, np.zeros((1, 0)))[0])
    z = proposal.drawn(DRAWS, rng)
    if truth is not None:
        z[0] = truth
    weight = _log_likelihood(answers, m, said, answers.known(m, z)) + standard_normal(z) - proposal.log_density(z)
    return float(logsumexp(weight) - np.log(len(z)))


def _posteriors(answers: Answers, said: Said, rng: np.random.Generator) -> list[tuple[Floats, Floats, float]]:
    return [_posterior(answers, m, said, child) for m, child in enumerate(rng.spawn(len(answers.question.models)))]


def _posterior(answers: Answers, m: int, said: Said, rng: np.random.Generator) -> tuple[Floats, Floats, float]:
    """Draws of one model's parameters (J, P), their weights (J,), and the model's log evidence."""
    z, score, beta, evidence = answers.points[m], _at_points(answers, m, said), 0.0, 0.0
    while True:
        step = _step(score, 1.0 - beta)
        weight = step * score
        evidence += float(logsumexp(weight) - np.log(len(z)))
        beta += step
        if beta == 1.0 and step == 1.0:
            return z, np.exp(weight - logsumexp(weight)), evidence
        root, chosen = _root(z, weight), _systematic(weight, DRAWS, rng)
        z, score = z[chosen], score[chosen]
        for _ in range(MOVES):
            # a step of the random walk that keeps prior times likelihood^beta
            there = z + rng.standard_normal(z.shape) @ root.T
            reached = _log_likelihood(answers, m, said, answers.known(m, there))
            rise = beta * (reached - score) - 0.5 * (there**2 - z**2).sum(1)
            accepted = np.log(rng.random(len(z))) < rise
            z, score = np.where(accepted[:, None], there, z), np.where(accepted, reached, score)
        if beta >= 1.0:
            return z, np.full(len(z), 1 / len(z)), evidence


def _at_points(answers: Answers, m: int, said: Said) -> Floats:
    """log p(answers | theta) at the points of the prior, (J,). Each block is looked up once: the next decision adds one to them."""
    total = np.zeros(len(answers.points[m]))
    for row, block, seen in zip(said.rows, said.block, said.seen, strict=True):
        key = (m, int(block), row.tobytes(), seen.tobytes())
        score = answers.memory.get(key)
        if score is None:
            score = _log_likelihood(answers, m, Said(row[None], np.array([block]), seen[None]), answers.points_known[m])
            if len(answers.memory) >= REMEMBERED:
                answers.memory.clear()
            answers.memory[key] = score
        total += score
    return total


@torch.no_grad()
def _log_likelihood(answers: Answers, m: int, said: Said, known: Floats) -> Floats:
    """log p(answers | theta) of each draw, (J,)."""
    z, total = torch.from_numpy(known.astype(np.float32)), np.zeros(len(known))
    seen = torch.from_numpy(np.log(np.maximum(said.seen, 1e-300)).astype(np.float32))
    for start in range(0, len(said.rows), TOGETHER):
        part = slice(start, start + TOGETHER)
        log_p = answers.laws[m](z, answers.described(said.rows[part], said.block[part])[:, None]) + seen[part, None]
        total += torch.logsumexp(log_p, -1).sum(0).double().numpy()
    return total


def _step(score: Floats, most: float) -> float:
    """How far the likelihood's exponent can be raised, at most by `most`, so that the weight rests on enough draws."""
    if len(score) == 1 or _effective(most * score) >= LEAST:
        return most
    low, high = 0.0, most
    for _ in range(30):
        middle = (low + high) / 2
        low, high = (middle, high) if _effective(middle * score) >= LEAST else (low, middle)
    return max(low, 1e-3 * most)


def _effective(log_weight: Floats) -> float:
    """On how many draws the weight rests."""
    return float(np.exp(2 * logsumexp(log_weight) - logsumexp(2 * log_weight)))


def _systematic(log_weight: Floats, count: int, rng: np.random.Generator) -> NDArray[np.intp]:
    """Which draws are chosen, each as often as its weight says, as nearly as can be, (count,); in random order."""
    height = np.cumsum(np.exp(log_weight - logsumexp(log_weight)))
    places = (np.arange(count) + rng.random()) / count
    return rng.permutation(np.minimum(np.searchsorted(height, places), len(log_weight) - 1))


def _root(z: Floats, log_weight: Floats) -> Floats:
    """How far the steps of a random walk over weighted draws go: a root of a multiple of their covariance, (P, P)."""
    p = z.shape[1]
    if not p:
        return np.zeros((0, 0))
    return np.asarray(root_of_covariance(z, np.exp(log_weight - logsumexp(log_weight))) * (1.7 / p**0.5))


def _some(z: Floats, weight: Floats, most: int) -> tuple[Floats, Floats]:
    """The draws that carry all but a negligible share of the weight; if there are too many, as many as are wanted, spread over them."""
    order = np.argsort(-weight, kind="stable")
    order = order[: int(np.searchsorted(np.cumsum(weight[order]), 1.0 - NEGLIGIBLE)) + 1]
    z, weight = z[order], weight[order] / weight[order].sum()
    if len(z) <= most:
        return z, weight
    line = np.argsort(z[:, 0], kind="stable")  # neighbours in the first parameter stand for each other
    chosen = line[np.minimum(np.searchsorted(np.cumsum(weight[line]), (np.arange(most) + 0.5) / most), len(z) - 1)]
    return z[chosen], np.full(most, 1.0 / most)
