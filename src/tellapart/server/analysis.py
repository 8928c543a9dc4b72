"""Which model does each finished participant behave like? Asked in the background, so that nobody who takes part waits for it."""

from __future__ import annotations

import logging
import threading
from pathlib import Path
from typing import Any, Callable

import numpy as np
from numpy.typing import NDArray
from sqlalchemy.exc import DBAPIError

from ..information.exact import model_probabilities
from ..models.evidence import have_likelihoods
from ..run import Run
from ..study import Study
from . import store
from .collected import Collected, collect
from .sessions import Sessions

log = logging.getLogger("tellapart.server")

EVERY = 5.0
"""Seconds between looks for newly finished participants."""

PATIENCE = 60.0
"""Seconds that the server's end waits for a reading that has begun: a thread in compiled code at the interpreter's end aborts it."""

Told = tuple[NDArray[np.float64] | None, NDArray[np.bool_] | None]
"""Model probabilities (N, M), and whose data look like nothing that the models produce, (N,)."""
Reader = Callable[[Collected], Told]


class Analyst:
    """Looks for participants who finished since, and keeps what is said of them.

    Arguments:
        rules: The sessions.
        folder: The run whose estimator is asked; the models' likelihoods if there is none.
    """

    def __init__(self, rules: Sessions, folder: Path | None = None) -> None:
        self._rules, self._folder = rules, folder
        self._told: dict[str, dict[str, Any]] = {}
        self._reader: Reader | None = None
        self._stopped, self._thread = threading.Event(), threading.Thread(target=self._work, name="analyst", daemon=True)
        self.note = "" if can_be_read(rules.plan.study, folder) else "no finished run and no likelihood: nothing is said about models"

    def start(self) -> None:
        if not self.note:
            self._thread.start()

    def stop(self) -> None:
        """Look no more, and end the present look."""
        self._stopped.set()
        if self._thread.is_alive():
            self._thread.join(PATIENCE)

    def about(self, label: str) -> dict[str, Any]:
        """What is said of a participant: probabilities, and a flag."""
        return self._told.get(label, {})

    def summary(self) -> dict[str, Any]:
        """The mean probability of each model over participants, and how many are unlike all of them; None if nobody was asked that.

        Of real people, or, as long as none of them has finished, of simulated ones: never of both.
        """
        everybody, names = list(self._told.values()), self._rules.plan.study.question.names
        simulated = all(one["simulated"] for one in everybody)
        told = [one for one in everybody if one["simulated"] == simulated]
        known = [one["probabilities"] for one in told if one.get("probabilities")]
        flags = [one["unlike"] for one in told if "unlike" in one]
        means = np.mean(known, axis=0).round(4).tolist() if known else []
        return {
            "names": list(names),
            "mean": means,
            "participants": len(known),
            "simulated": simulated and bool(known),
            "unlike": sum(flags) if flags else None,
            "note": self.note,
        }

    def look(self) -> None:
        """Ask about those who finished since."""
        with self._rules.database.reading() as connection:
            there = store.labels_of(connection)
            self._told = {label: told for label, told in self._told.items() if label in there}  # not who was forgotten
            task, but = self._rules.plan.task, set(self._told)
            finished = {simulated: collect(connection, task, simulated=simulated, finished=True, but=but) for simulated in (False, True)}
        for simulated, people in finished.items():
            if len(people.behavior):
                self._told = {**self._told, **self._read(people, simulated)}  # whole, also for a page that asks meanwhile

    def _read(self, people: Collected, simulated: bool) -> dict[str, dict[str, Any]]:
        """What is said of each of some participants, by their labels."""
        self._reader = self._reader or reader_of(self._rules.plan.study, self._folder)
        probabilities, unlike = self._reader(people)
        said: dict[str, dict[str, Any]] = {label: {"simulated": simulated} for label in people.labels}
        for i, told in enumerate(said.values()):
            told |= {} if probabilities is None else {"probabilities": probabilities[i].round(4).tolist()}
            told |= {} if unlike is None else {"unlike": bool(unlike[i])}
        return said

    def _work(self) -> None:
        """Look every now and then. At the usual priority: a thread that has to wait for the processor would hold up all the others."""
        while not self._stopped.wait(EVERY):
            try:
                self.look()
            except DBAPIError:
                log.warning("the analysis could not read the database, and tries again")
            except Exception as error:  # the experiment goes on without it
                self.note = f"the analysis failed: {error}"
                log.exception("the analysis failed")
                return


def can_be_read(study: Study, folder: Path | None) -> bool:
    """Is there anything that tells models apart?"""
    return folder is not None or (study.question.about_models and have_likelihoods(study.models))


def reader_of(study: Study, folder: Path | None) -> Reader:
    """The run's estimator, or the exact reference."""
    if folder is None:
        return lambda people: (model_probabilities(study.task, study.question, people.behavior, people.designs), None)
    import torch

    torch.set_num_threads(1)
    result = Run.finished(study, folder).result()

    def read(people: Collected) -> Told:
        posterior = result.posterior(people.behavior, people.designs, draws=1)
        return (posterior.models.probabilities if posterior.models else None), (posterior.trust.flagged if posterior.trust else None)

    return read
