"""What a policy has to learn before it can decide, learned once for a study and kept in its run folder.

Where the answer of a block is one of a few, that is the law of answers; the search's network is not needed. Elsewhere it is the network of
the search, and where that does not know all parameters (the question is about models, or some parameters are nuisance) a second network
that does, from which participants are drawn that are like the one who takes part. It reads what the search's network pools of trials
(`networks/frozen.py`), which is learned in a minute or two: a network of its own needs ten times as long.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Callable

import numpy as np

from ..errors import StudyError
from ..groups.memory import check_memory, goes_on
from ..models.simulation import Simulations
from ..models.symmetry import broken_by, unbroken
from ..progress import Progress, unheard
from ..question import Question, everything
from ..search.base import Search
from ..search.learning import Mixture, stored
from ..tasks.base import Task
from ..tasks.space import Floats, Symmetry
from ..workers import one_thread
from .codes import Codes
from .policy import Policy, Way

if TYPE_CHECKING:
    from torch import nn

    from ..estimators.base import Estimator
    from .answers import Answers

ANSWERS, PARAMETERS, TRAINING = "answers-{}.safetensors", "parameters.safetensors", "parameters-training.safetensors"
"""What is kept in the run folder: the law of answers of each model, and the second network; the last one while that is learned, so that
it goes on where it was stopped."""

UNFINISHED = 0.5
"""The share of participants of whom the second network sees the first blocks only."""

MOST, BATCH, KEEP = 600, 512, 50
"""Steps of training of the second network, at most; participants in each; steps after which it is kept."""

EPOCHS = 3
"""How often each participant of a slow simulator is learned from, at most: more often, and they would be learned by heart."""


@dataclass(frozen=True, eq=False)
class Learning:
    """What is learned from.

    Arguments:
        task, question, search: The study's.
        seed: Where randomness starts.
        folder: Where what was learned is kept; nothing is if None.
        steps: Of training, for the law of each model and for a second network; 0 for the defaults.
    """

    task: Task
    question: Question
    search: Search
    seed: int
    folder: Path | None = None
    steps: int = 0

    def policy(self, plan: Floats, estimator: Estimator | None, progress: Progress = unheard) -> Policy:
        """The policy of the study.

        Arguments:
            plan: The fixed design, (B, V).
            estimator: That of the run.
        """
        for model in self.question.models:
            check_memory(model, self.task, self.seed)
        with one_thread():
            return Policy(self.way(estimator, progress), np.asarray(plan, np.float64))

    def way(self, estimator: Estimator | None, progress: Progress = unheard) -> Way:
        """By answers where they are few and blocks are independent, else by continuations."""
        from .by_answers import ByAnswers
        from .continuations import ByContinuations

        codes = None if any(goes_on(model, self.task) for model in self.question.models) else Codes.of(self.task)
        if codes is not None:
            return ByAnswers(self._answers(codes, progress), self.question, self.seed)
        estimator = self._checked(estimator)
        complete = everything(self.question)
        state = estimator if complete == self.question else self._state(estimator, complete, progress)
        return ByContinuations(estimator, state, self.seed, self._symmetry)

    @property
    def _symmetry(self) -> Symmetry:
        """What the task declares and no model breaks."""
        return unbroken(self.task.design_space.symmetry, broken_by(self.question.models, self.task, self.seed))

    def _answers(self, codes: Codes, progress: Progress) -> Answers:
        """The law of answers, kept model by model."""
        from .answers import STEPS, Answers, learn_law

        answers = Answers(self.task, self.question, codes, self.seed, self._symmetry)
        for m, law in enumerate(answers.laws):
            self._once(ANSWERS.format(m), law, partial(learn_law, answers, m, self.steps or STEPS, progress))
        return answers.eval()

    def _state(self, estimator: Estimator, complete: Question, progress: Progress) -> Estimator:
        """A network for the model and all parameters, which reads what a trained one pools."""
        import torch

        from ..estimators.posterior import PosteriorEstimator
        from ..networks.frozen import FrozenEncoder

        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(self.seed)
            network = PosteriorEstimator(complete, FrozenEncoder(estimator.encoder)).to(estimator.device)
        self._once(PARAMETERS, network, lambda: self._learn_parameters(network, progress))
        if self.folder is not None:
            (self.folder / TRAINING).unlink(missing_ok=True)
        return network

    def _learn_parameters(self, network: Estimator, progress: Progress) -> None:
        """Train the second network, or go on training it."""
        from ..training import Stored, Stream, Trainer, TrainingSettings

        def heard(done: int, total: int, stage: str = "", detail: str = "") -> None:
            progress(done, total, "learning parameters, once for this study", detail)

        def keep(trainer: Trainer) -> None:
            if kept is not None:
                trainer.save(kept)

        kept, steps = self.folder / TRAINING if self.folder else None, min(self.steps or MOST, MOST)
        source: Stored | Stream = Stream(network, Mixture(self.task), BATCH, (self.seed, 93), UNFINISHED)
        if getattr(self.search, "simulations", 0) and (files := stored(self.folder)):  # a slow simulator: what the search has simulated
            people = Simulations.concatenate([Simulations.load(file, self.question.models) for file in files])
            source = Stored(network, people, BATCH, (self.seed, 93), UNFINISHED)
            steps = min(steps, EPOCHS * source.steps)
        trainer = Trainer(network, TrainingSettings(network.learning_rate, network.optimizer, clip=1.0), steps, self.seed)
        if kept is not None and kept.is_file():
            trainer.load(kept)
        trainer.run(source, every=KEEP, after=keep, progress=heard)

    def _once(self, name: str, network: nn.Module, learn: Callable[[], None]) -> None:
        """Give a network the weights that are kept in the folder; else let it learn, and keep them."""
        from ..training import load_weights, save_weights

        file = self.folder / name if self.folder else None
        if file is not None and file.is_file():
            load_weights(file, network)
            return
        learn()
        if file is not None:
            save_weights(file, network)

    def _checked(self, estimator: Estimator | None) -> Estimator:
        """The network of the run, which must know every design and unfinished participants, and give the posterior."""
        from ..estimators.posterior import PosteriorEstimator

        if estimator is not None and isinstance(estimator.quick, PosteriorEstimator) and not self.search.trains_at_each_design:
            return estimator.quick
        got, change = self.search.name, 'set method = "amortized"'
        if estimator is not None and not self.search.trains_at_each_design:
            got, change = f'estimator = "{estimator.name}"', "leave out estimator"
        raise StudyError(
            "Next blocks are chosen by a network that knows every design and gives the posterior.",
            expected='method = "amortized" with the estimator "likelihood" or "posterior"',
            got=got,
            fix=f"{change} in [search], then `tellapart design STUDY --fresh`",
        )
