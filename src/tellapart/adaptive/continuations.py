"""The next block where it can go in many ways: simulated continuations, read by the trained network.

Draws (m, theta) from the network's posterior given the data so far go on to a candidate block: y ~ p(y | m, theta, history, d). With q the
network's posterior of what is asked,

    gain = I(v; y | data) >= E log q(v | data, y) / q(v | data) - (what the network misses of the posterior given the data),

the bound of the search, after what was seen. All candidates are played by the same draws from the same random numbers. Where v is the
model, a block is chosen by

    E sum over m of q(m | data, y) log q(m | data, y) / q(m | data),

which is the same if q is the posterior, and which far fewer draws are enough for, since it does not hang on which model each draw has;
what the chosen block is said to tell is the bound.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Callable, Sequence

import numpy as np
import torch
from numpy.typing import NDArray

from ..behavior import Behavior
from ..estimators.base import Batch, Estimator
from ..groups.memory import goes_on
from ..models.base import Model
from ..models.failures import Failure, attempt
from ..models.simulation import Simulations, turns
from ..question import Question, which_model
from ..tasks.base import Task
from ..tasks.space import Floats, Symmetry
from ..threads import available_cores
from .belief import Belief
from .candidates import Candidates
from .gain import Gains
from .looking import Effort

EVERYWHERE = 32
"""Rows of the first look."""

DRAWS = (48, 96, 256)
"""Draws from the posterior for the first look, for looking around, and for the last word: what two cores manage in half a second."""

LOOKING, TELLING = (81, 85), (88, 89)
"""Streams of random numbers, of people and of what they do next: by which a block is chosen, and by which it is said what it tells."""


Learned = Callable[[Behavior, Floats], Floats]
"""What draws tell who did this (J, B, T) at these designs (J, B, V), (J,)."""


@dataclass(frozen=True, eq=False)
class ByContinuations:
    """Decides by simulated continuations.

    Arguments:
        estimator: Gives the posterior of what is asked.
        state: Gives the posterior of all parameters of a model; may be the same.
        seed: Where randomness starts.
        symmetry: The relabellings of designs that change nothing for any model.
    """

    estimator: Estimator
    state: Estimator
    seed: int
    symmetry: Symmetry
    effort: Effort = field(default=Effort(kept=3, each=4, widths=(0.08,), finalists=3, along=0.0, again=0))

    @property
    def task(self) -> Task:
        return self.estimator.task

    @property
    def question(self) -> Question:
        return self.estimator.question

    def with_seed(self, seed: int) -> ByContinuations:
        """The same with other random numbers."""
        return replace(self, seed=seed)

    def belief(self, behavior: Behavior, designs: Floats, blocks: int) -> Belief:
        """What is known of one participant (1, B, T) after the first blocks of a design (B, V)."""
        return self.drawn(behavior, designs, blocks, LOOKING[0])

    @torch.no_grad()
    def drawn(self, behavior: Behavior, designs: Floats, blocks: int, stream: int) -> Belief:
        """The same by the draws of a stream of random numbers."""
        rng, state = np.random.default_rng([self.seed, stream, blocks]), self.state
        past = behavior.until(blocks)
        inputs = state.encoder.prepare(past, designs[None]).to(state.device)
        shares = self._model_probabilities(past, designs)
        draws = []
        for m, model in enumerate(state.question.models):
            z = np.zeros((DRAWS[2], 0))
            if model.parameters:
                z = state.sample_theta(inputs, m, DRAWS[2], rng)[:, 0].double().cpu().numpy()
            draws.append(z)
        return Belief(shares, tuple(draws), tuple(np.full(len(z), 1 / len(z)) for z in draws))

    def _model_probabilities(self, behavior: Behavior, designs: Floats) -> Floats:
        """Of one participant, (M,), by the network that tells what is learned of models."""
        if not self.state.question.about_models:
            return np.ones(1)
        reader = self.reader(which_model(self.question))
        inputs = reader.encoder.prepare(behavior, designs[None]).to(reader.device)
        return np.asarray(reader.log_model_probabilities(inputs).double().softmax(-1)[0].cpu().numpy())

    def prospects(self, belief: Belief, behavior: Behavior, candidates: Candidates, question: Question) -> _Prospects:
        """What next blocks are expected to tell about a question: that of the estimator, or that of the state."""
        return _Prospects(self, question, belief, behavior, candidates)

    @torch.no_grad()
    def values(self, simulations: Simulations, question: Question) -> Floats:
        """log q(v | y) / p(v) of simulated participants, (N,)."""
        reader = self.reader(question)
        return told(reader, question, reader.prepare(simulations))

    @torch.no_grad()
    def about_parameters(self, simulations: Simulations) -> Floats:
        """log q(theta | m, y) / p(theta) of simulated participants, (N,), by the network that knows all parameters."""
        question, batch = self.state.question, self.state.prepare(simulations)
        return told(self.state, question, batch) - told(self.state, which_model(question), batch)

    def reader(self, question: Question) -> Estimator:
        """Who knows about a question: the estimator about its own and about models if that is part of it, the state about all others."""
        models = question.goal == "discriminate" and self.estimator.question.about_models
        return self.estimator if models or question == self.estimator.question else self.state


def told(reader: Estimator, question: Question, batch: Batch) -> Floats:
    """log q(v | y) / p(v) of a batch, (N,); from a reader who knows of parameters too if the question is about models alone."""
    if question.goal == "discriminate" and reader.question.goal != "discriminate":
        log_q = reader.chunked(lambda part: reader.log_model_probabilities(part.inputs), batch).double().cpu().numpy()
        model = batch.model.cpu().numpy()
        return np.asarray(log_q[np.arange(len(model)), model] - question.log_prior[model])
    return np.asarray(reader.chunked(reader.bound, batch).double().cpu().numpy())


class _Prospects:
    """What next blocks are expected to tell of one participant.

    Arguments:
        stream: Of random numbers, of what is done next.
    """

    def __init__(
        self, by: ByContinuations, question: Question, belief: Belief, behavior: Behavior, candidates: Candidates, stream: int = LOOKING[1]
    ) -> None:
        self._by, self._question, self._belief, self._candidates, self._stream = by, question, belief, candidates, stream
        self._behavior = behavior.until(candidates.block)

    def everywhere(self) -> tuple[Floats, Floats]:
        rows = self._candidates.everywhere(EVERYWHERE, np.random.default_rng([self._by.seed, 83, self._candidates.block]))
        return rows, self._gains(rows, DRAWS[0]).nats

    def gains(self, rows: Floats, last: bool) -> Gains:
        return self._gains(rows, DRAWS[2] if last else DRAWS[1])

    def afresh(self, rows: Floats) -> Gains:
        fresh = self._by.drawn(self._behavior, self._candidates.designs(rows)[0], self._candidates.block, TELLING[0])
        belief = replace(fresh, probabilities=self._belief.probabilities)
        return _Prospects(self._by, self._question, belief, self._behavior, self._candidates, TELLING[1])._gains(rows, DRAWS[2])

    @torch.no_grad()
    def _gains(self, rows: Floats, draws: int) -> Gains:
        """Of rows (C, V): each is played by all draws of all models, as often as the models are probable."""
        by, block, shares = self._by, self._candidates.block, np.maximum(self._belief.probabilities, 1e-6)
        which = np.sort(turns(shares / shares.sum(), draws))
        z = [drawn[np.arange((which == m).sum()) % len(drawn)] for m, drawn in enumerate(self._belief.draws)]
        theta = [
            {name: prior.from_normal(part[:, p]) for p, (name, prior) in enumerate(model.parameters.items())}
            for model, part in zip(by.question.models, z, strict=True)
        ]
        everybody = self._behavior[np.zeros(draws, np.intp)]
        designs = np.repeat(self._candidates.designs(rows)[:, None], draws, axis=1)
        learned = self._divergence(everybody, designs[0]) if self._by_divergence else self._bound_over(everybody, designs[0], which, z)

        def played(each: Floats) -> Floats:
            rngs = [np.random.default_rng([by.seed, self._stream, block, m]) for m in range(len(theta))]
            with torch.no_grad():
                # of draws that cannot be simulated at a row nothing is recorded: it tells nothing of them
                done, _ = with_block(by.question.models, which, theta, everybody, each, block, rngs, by.task)
                return learned(done, each)

        values = np.stack(list(_rows_at_once().map(played, designs)))
        return Gains((values,), (np.full(draws, 1.0 / draws),))

    @property
    def _by_divergence(self) -> bool:
        """Is a block being chosen to tell models apart?"""
        return self._stream == LOOKING[1] and self._question.goal == "discriminate"

    def _divergence(self, behavior: Behavior, designs: Floats) -> Learned:
        """How far the model probabilities of draws move from those of what was done so far, `behavior` (J, B, T)."""
        now = self._log_models(behavior[:1], designs[:1])

        def learned(behavior: Behavior, designs: Floats) -> Floats:
            after = self._log_models(behavior, designs)
            return np.asarray((np.exp(after) * (after - now)).sum(1))

        return learned

    def _log_models(self, behavior: Behavior, designs: Floats) -> Floats:
        """log q(m | y), (J, M)."""
        reader = self._by.reader(self._question)
        inputs = reader.encoder.prepare(self._read(behavior, reader), designs).to(reader.device)
        return np.asarray(reader.log_probabilities(inputs).cpu().numpy())

    def _bound_over(self, behavior: Behavior, designs: Floats, which: NDArray[np.intp], z: list[Floats]) -> Learned:
        """How much more is told of each draw than by what was done so far, `behavior` (J, B, T)."""
        now = self._bound(behavior, designs, which, z)
        return lambda behavior, designs: self._bound(behavior, designs, which, z) - now

    def _read(self, behavior: Behavior, reader: Estimator) -> Behavior:
        """Without later blocks where that is possible: nothing is recorded in them, and to read nothing takes as long."""
        return behavior.first(blocks=self._candidates.block + 1) if reader.encoder.any_length else behavior

    def _bound(self, behavior: Behavior, designs: Floats, which: NDArray[np.intp], z: list[Floats]) -> Floats:
        """log q(v | y) / p(v) of each draw, (J,)."""
        reader = self._by.reader(self._question)
        question = reader.question
        v = np.zeros((len(which), max(1, question.widest)), np.float32)
        for m in range(len(question.models)):
            asked = question.places(m)
            v[which == m, : len(asked)] = z[m][:, asked]
        inputs = reader.encoder.prepare(self._read(behavior, reader), designs)
        kept = torch.zeros(len(question.models))
        batch = Batch(inputs, torch.from_numpy(which.astype(np.int64)), torch.from_numpy(v), kept).to(reader.device)
        values = told(reader, self._question, batch)
        settled = self._belief.probabilities.max() == 1.0 and question.about_models and self._question.about_parameters
        return values - told(reader, which_model(question), batch) if settled else values  # where the model is given, it is not learned


@cache
def _rows_at_once() -> ThreadPoolExecutor:
    """Rows are looked at on all cores; what each is found to tell does not depend on the others."""
    # each thread of its own on one core: what `one_thread` says elsewhere does not reach threads that exist already
    return ThreadPoolExecutor(available_cores(), thread_name_prefix="rows", initializer=torch.set_num_threads, initargs=(1,))


def with_block(
    models: Sequence[Model],
    which: NDArray[np.intp],
    theta: Sequence[dict[str, Floats]],
    behavior: Behavior,
    designs: Floats,
    block: int,
    rngs: Sequence[np.random.Generator],
    task: Task,
) -> tuple[Behavior, dict[int, Failure]]:
    """Behavior (N, B, T) with what participants do in a block, after their own history, and who could not be simulated and did nothing.

    Arguments:
        which: The model of each participant, (N,).
        theta: For each model the parameters of its participants, name to (n,).
        designs: (N, B, V).
        rngs: For each model.
    """
    fields, mask, failures = {name: values.copy() for name, values in behavior.fields.items()}, behavior.mask.copy(), dict[int, Failure]()
    for m, (model, parameters, rng) in enumerate(zip(models, theta, rngs, strict=True)):
        chosen = np.flatnonzero(which == m)
        if len(chosen):
            agent = goes_on(model, task)
            if agent is None:
                done, failed = attempt(model, parameters, designs[chosen], rng, task, None)
            else:
                done, failed = agent.go_on(parameters, behavior[chosen], designs[chosen], block, rng, task)
            failures |= {int(chosen[i]): failure for i, failure in failed.items()}
            mask[chosen, block] = done.mask[:, block]
            for name, values in done.fields.items():
                fields[name][chosen, block] = values[:, block]
    return Behavior(fields, mask, behavior.participants), failures
