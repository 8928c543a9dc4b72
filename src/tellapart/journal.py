"""The journal of a run: what has been computed so far, kept so that a stopped run can go on.

Every entry is one transaction that is on the disk before `put` returns, whatever stops the program afterwards. SQLite's
rollback journal is used and not its write-ahead log, because run folders often live on network drives, where the latter
does not work. Entries are JSON, which keeps every float64 exactly; networks are kept in files beside the journal.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any, Callable, Iterator, Sequence

from .errors import RunError

FILE = "journal.sqlite"


class Journal:
    """What a run has computed: keys to JSON values, and files beside them.

    Arguments:
        folder: The run folder; made if it is not there.
    """

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        with self._usable():
            self.folder.mkdir(parents=True, exist_ok=True)
            self._connection = sqlite3.connect(self.folder / FILE, isolation_level=None, timeout=60.0)
            self._connection.execute("PRAGMA synchronous = EXTRA")
            self._connection.execute("CREATE TABLE IF NOT EXISTS entries (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID")

    def get(self, key: str) -> Any:
        """The value of `key`, or None if there is none."""
        row = self._execute("SELECT value FROM entries WHERE key = ?", key).fetchone()
        return None if row is None else json.loads(row[0])

    def put(self, key: str, value: Any) -> None:
        """Keep `value`, which JSON can hold, for good. A value that was there is replaced."""
        text = json.dumps(value, sort_keys=True, allow_nan=False)
        self._execute("INSERT INTO entries VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value", key, text)

    def kept(self, key: str, make: Callable[[], Any]) -> Any:
        """The value of `key`; if there is none, what `make` gives is kept first."""
        if self.get(key) is None:
            self.put(key, make())
        return self.get(key)

    def put_failures(self, failures: Sequence[Any]) -> None:
        """Keep simulations that failed (a `Failure` each), every one of them once, however often it is met."""
        texts = [json.dumps(asdict(failure), sort_keys=True) for failure in failures]
        rows = [(f"failure/{hashlib.blake2b(text.encode(), digest_size=12).hexdigest()}", text) for text in texts]
        with self._usable(), self._connection:  # one transaction: a disk that is waited for once
            self._connection.execute("BEGIN")
            self._connection.executemany("INSERT INTO entries VALUES (?, ?) ON CONFLICT (key) DO NOTHING", rows)

    def items(self, prefix: str = "") -> Iterator[tuple[str, Any]]:
        """Keys that begin with `prefix` and their values, in the order of the keys."""
        rows = self._execute("SELECT key, value FROM entries WHERE substr(key, 1, ?) = ? ORDER BY key", len(prefix), prefix).fetchall()
        return ((key, json.loads(value)) for key, value in rows)

    def file(self, name: str) -> Path:
        """Where a file of this run goes, for example "estimator.safetensors"."""
        return self.folder / name

    def close(self) -> None:
        """Give the file back; nothing is lost if this is never called."""
        self._connection.close()

    def _execute(self, statement: str, *values: Any) -> sqlite3.Cursor:
        with self._usable():
            return self._connection.execute(statement, values)

    @contextmanager
    def _usable(self) -> Iterator[None]:
        try:
            yield
        except (OSError, sqlite3.Error) as error:
            raise RunError(
                "The journal of the run cannot be used.",
                where=str(self.folder / FILE),
                expected="a folder that can be written to, and a journal that tellapart wrote",
                got=str(error),
                fix="make room or lift the protection; if the file is damaged, begin anew with --fresh",
            ) from error
