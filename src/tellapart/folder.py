"""The folder of a run, as files: JSON that is written whole or not at all, and the journal.

journal.sqlite          what has been computed; a stopped run goes on from it
*.safetensors           trained networks
study.json              what the run is of: task, models, question, seed, settings, and a fingerprint of the user's own code
result.json             the design, its information, the history of the search; the same bytes for the same study
failures.jsonl          simulations that failed and were skipped, if the study says so
provenance.json         versions, machine and times
likelihoods.json        that the models' likelihoods are those of the simulators, if they are used
validation.json         the checks of `tellapart validate`
curve.json              information against the number of trials
rounded.json            what the design with rounder numbers tells
moved.json              information as each number of the design is moved
on-the-way.json         whether posteriors are right by which next blocks are chosen
adaptive.json           what adapting would be worth, of `tellapart adapt`
lock                    held by whoever carries out the run
"""

from __future__ import annotations

import json
import shutil
import sqlite3
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Callable, Iterator

from .errors import RunError
from .files import written_whole
from .journal import FILE, Journal

LOCK = "lock"
"""An empty database: SQLite locks files on all systems, and on the network drives where journals work."""


@dataclass(frozen=True)
class RunFolder:
    """Where everything about a run is kept.

    Arguments:
        path: The folder.
        temporary: What deletes it when it is gone itself, if nothing is to be kept.
    """

    path: Path
    temporary: TemporaryDirectory[str] | None = field(default=None, repr=False)

    @property
    def journal(self) -> Journal:
        """What has been computed."""
        return Journal(self.path)

    @property
    def estimator(self) -> Path:
        """The weights of the trained estimator."""
        return self.path / "estimator.safetensors"

    def has(self, name: str) -> bool:
        """Is there such a file?"""
        return (self.path / name).is_file()

    def read(self, name: str) -> Any:
        """The content of a JSON file; None if there is none."""
        return json.loads((self.path / name).read_text("utf-8")) if self.has(name) else None

    def write(self, name: str, content: Any) -> None:
        """Write a JSON file."""
        with written_whole(self.path / name) as temporary:
            temporary.write_text(dumps(content) + "\n", "utf-8")

    def kept(self, name: str, make: Callable[[], Any]) -> Any:
        """The content of a JSON file; if there is none, what `make` gives is written first."""
        if not self.has(name):
            self.write(name, make())
        return self.read(name)

    @property
    def provenance(self) -> dict[str, Any]:
        """What the search was carried out with, and how long it took; empty if it is not finished."""
        return dict(self.read("provenance.json") or {})

    @property
    def failures(self) -> list[dict[str, Any]]:
        """The simulations that failed and were skipped."""
        file = self.path / "failures.jsonl"
        return [json.loads(line) for line in file.read_text("utf-8").splitlines()] if file.is_file() else []

    def write_failures(self) -> None:
        """What the journal has of simulations that failed, as a file that can be read, one line for each."""
        failures = [entry for _, entry in self.journal.items("failure/")]
        if failures:
            with written_whole(self.path / "failures.jsonl") as temporary:
                temporary.write_text("".join(json.dumps(entry, sort_keys=True) + "\n" for entry in failures), "utf-8")

    def clear(self) -> None:
        """Delete the run, but only what is one: never a folder with something else in it."""
        if not self.path.exists() or not any(self.path.iterdir()):
            return
        if not self.has("study.json") and not self.has(FILE):
            raise RunError("This is no run folder; it is not emptied.", where=str(self.path), fix="choose another folder")
        with self.alone():
            pass
        shutil.rmtree(self.path)

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Nobody else carries out the run meanwhile; a `RunError` if somebody does. If the program is killed, its lock is gone too."""
        where = str(self.path)
        try:
            connection = sqlite3.connect(self.path / LOCK, timeout=0.0, isolation_level=None)
            connection.execute("BEGIN EXCLUSIVE")
        except sqlite3.DatabaseError as error:
            if error.sqlite_errorcode != sqlite3.SQLITE_BUSY:
                fix = f"make it writable, and delete the file {LOCK} in it if it is damaged"
                raise RunError("The run folder cannot be locked.", where=where, got=str(error), fix=fix) from error
            fix = "wait until it ends, or stop it: this one then goes on from there"
            raise RunError("Another command carries out this run.", where=where, fix=fix) from None
        with closing(connection):
            yield


def dumps(content: Any) -> str:
    """JSON in one form, so that equal contents are equal bytes."""
    return json.dumps(content, indent=1, sort_keys=True, allow_nan=False)
