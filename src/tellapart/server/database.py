"""SQLite or PostgreSQL behind one door: `reading()` and `writing()`.

SQLite: a journal of writes ahead (WAL), so that readers do not wait; a commit is on disk before it is acknowledged. A transaction that
reads and then writes begins with BEGIN IMMEDIATE: begun otherwise, two of them can read the same state and one then fails, however long
it may wait. A commit waits for the disk, which takes longer than all else; so writers who queue share one (see `_Together`).

PostgreSQL: who reads in order to write locks the row first (`with_for_update`, which SQLite's dialect leaves out).
"""

from __future__ import annotations

import threading
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any, Iterator

from alembic import command
from alembic.config import Config
from sqlalchemy import Connection, Engine, RootTransaction, create_engine, event, text
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, OperationalError

from ..errors import StudyError

WAIT = 30
"""Seconds to wait for another process to finish writing."""


class Database:
    """The database at a URL, brought up to date.

    Arguments:
        url: "sqlite:////path/to/file.sqlite" or "postgresql://user:password@host/name".
    """

    def __init__(self, url: str) -> None:
        self.engine = _engine(url)
        self.is_sqlite = self.engine.dialect.name == "sqlite"
        try:
            self._together = _Together(self.engine) if self.is_sqlite else None
            self._migrate()
        except OperationalError as error:
            where = self.engine.url.render_as_string(hide_password=True)
            raise StudyError("The database cannot be opened.", where=where, got=str(error.orig).strip().splitlines()[0]) from None

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """A connection that sees one state of the data."""
        with self.engine.connect() as connection:
            yield connection

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """A transaction: when the block has ended all of it is kept, durably; if it ended with an error, nothing."""
        with self._together.writing() if self._together else self.engine.begin() as connection:
            yield connection

    def close(self) -> None:
        """Let go of the database."""
        if self._together:
            self._together.close()
        self.engine.dispose()

    def wipe(self) -> None:
        """Make sure that what was deleted is gone from the database's files too; raise if it is not."""
        if self._together:
            with self._together.alone(), closing(self.engine.raw_connection()) as connection:
                connection.cursor().execute("VACUUM").close()
                busy, *_ = connection.cursor().execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
            if busy:
                what = "It is deleted, but the file of writes ahead could not be emptied: somebody is reading."
                where = f"{self.engine.url.database}-wal"
                raise StudyError(what, where=where, fix="stop the server and whatever else reads the database, and run the command again")
            return
        with self.engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
            connection.execute(text("VACUUM FULL sessions, identities, blocks, trials"))

    def _migrate(self) -> None:
        """Bring the tables up to date; several servers may try at once."""
        config = Config()
        config.set_main_option("script_location", str(Path(__file__).with_name("migrations")).replace("%", "%%"))
        with self.writing() as connection:
            if not self.is_sqlite:
                connection.execute(text("SELECT pg_advisory_xact_lock(7355608)"))
            config.attributes["connection"] = connection
            command.upgrade(config, "head")


class _Together:
    """Writers of one process who share commits.

    They take turns on one connection, each in a savepoint. Who finds nobody waiting commits for all who wrote since the last commit; the
    others wait until that is done. So nobody is told that something is kept before it is, and a disk that takes 10 ms for a commit does
    not allow 100 writes a second but as many as come.
    """

    MOST = 64
    """Writers who share a commit at most, so that the first of them does not wait for ever."""

    def __init__(self, engine: Engine) -> None:
        self._connection = engine.connect().execution_options(immediate=True)
        self._turn, self._counting = threading.Lock(), threading.Lock()
        self._waiting = 0
        self._batch: _Batch | None = None

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """A turn, and then the commit that the turn is part of."""
        with self._next():
            batch = self._batch = self._batch or _Batch(self._connection.begin())
            try:
                with self._connection.begin_nested():
                    yield self._connection
                batch.size += 1
            except BaseException as error:
                if not self._in_transaction:  # SQLite gives up the whole transaction when the disk is full or fails
                    batch.error = error
                raise
            finally:
                if self._waiting == 0 or batch.size >= self.MOST or batch.error is not None:
                    self._commit()
        batch.wait()

    @property
    def _in_transaction(self) -> bool:
        return bool(self._connection.connection.dbapi_connection.in_transaction)  # type: ignore[union-attr]

    @contextmanager
    def alone(self) -> Iterator[None]:
        """A turn outside of any transaction."""
        with self._next():
            self._commit()
            yield

    def close(self) -> None:
        with self.alone():
            self._connection.close()

    @contextmanager
    def _next(self) -> Iterator[None]:
        """Wait for one's turn."""
        with self._counting:
            self._waiting += 1
        self._turn.acquire()
        try:
            with self._counting:
                self._waiting -= 1
            yield
        finally:
            self._turn.release()

    def _commit(self) -> None:
        batch, self._batch = self._batch, None
        if batch is not None:
            batch.commit()


class _Batch:
    """Writes that are committed together."""

    def __init__(self, transaction: RootTransaction) -> None:
        self._transaction, self._done = transaction, threading.Event()
        self.error: BaseException | None = None
        self.size = 0

    def commit(self) -> None:
        """Keep what was written; nothing of it if something failed that all share."""
        try:
            if self.error is not None:
                self._transaction.rollback()
            else:
                self._transaction.commit()
        except BaseException as error:
            self.error = self.error or error
            self._transaction.rollback()
        finally:
            self._done.set()

    def wait(self) -> None:
        """Until the commit is done; raise if it failed."""
        self._done.wait()
        if self.error is not None:
            raise self.error


def sqlite_url(file: Path) -> str:
    """The URL of a SQLite file."""
    return URL.create("sqlite", database=str(file.resolve())).render_as_string()


def sqlite_file(url: str) -> Path | None:
    """The file of a SQLite database; None for another kind."""
    parsed = _parsed(url)
    return Path(parsed.database or "") if parsed.get_backend_name() == "sqlite" else None


def _parsed(url: str) -> URL:
    try:
        return make_url(url)
    except ArgumentError:
        expected = "sqlite:////path/to/file.sqlite or postgresql://user:password@host/name"
        raise StudyError("This is no address of a database.", expected=expected, got=repr(url)) from None


def _engine(url: str) -> Engine:
    parsed = _parsed(url)
    kind = parsed.get_backend_name()
    if kind == "sqlite":
        return _sqlite(parsed)
    if kind == "postgresql":
        # a few connections, all of them kept: to open one costs more than a trial does, and more of them would only wait for each other's
        # turn of the processor. None is tried out before it is used: where the database was restarted, a request fails, all are renewed,
        # and the page asks again
        alive = {
            "connect_timeout": 10,
            "keepalives_idle": 30,
            "keepalives_interval": 10,
            "keepalives_count": 3,
            "tcp_user_timeout": WAIT * 1000,
        }
        pool: dict[str, Any] = {"pool_size": 8, "max_overflow": 0, "connect_args": alive}  # a host that vanished is given up soon
        return create_engine(parsed.set(drivername="postgresql+psycopg"), hide_parameters=True, **pool)
    raise StudyError("This kind of database is not served.", expected="sqlite or postgresql", got=kind)


def _sqlite(url: URL) -> Engine:
    """A file that only its owner may read. Who somebody is must not be in a log either, so errors do not tell what was written."""
    if not url.database or url.database == ":memory:":
        raise StudyError("A database in memory would be lost.", expected="sqlite:////path/to/file.sqlite", got=str(url))
    with suppress(OSError):  # SQLite says better what is wrong with a path
        Path(url.database).touch(0o600)
    waiting: dict[str, Any] = {"timeout": WAIT, "check_same_thread": False}
    engine = create_engine(url, connect_args=waiting, pool_size=20, max_overflow=40, hide_parameters=True)

    @event.listens_for(engine, "connect")
    def _prepare(connection: Any, _: Any) -> None:
        connection.isolation_level = None  # we say BEGIN ourselves
        for pragma in ("journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON", f"busy_timeout={int(WAIT * 1000)}", "secure_delete=ON"):
            connection.execute(f"PRAGMA {pragma}")

    @event.listens_for(engine, "begin")
    def _begin(connection: Connection) -> None:
        connection.exec_driver_sql("BEGIN IMMEDIATE" if connection.get_execution_options().get("immediate") else "BEGIN")

    return engine
