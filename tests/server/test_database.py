"""Both kinds of database: migrations, durability, shared commits, addresses."""

import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import func, select
from sqlalchemy.exc import OperationalError

import tellapart as ta
from tellapart.server.database import Database, sqlite_url
from tellapart.server.tables import conditions, metadata


def test_migrations_make_the_tables_that_the_code_expects(database):
    with database.reading() as connection:
        assert compare_metadata(MigrationContext.configure(connection), metadata) == []


def test_opening_again_changes_nothing(url):
    Database(url).close()
    with ThreadPoolExecutor(4) as threads:
        opened = list(threads.map(lambda _: Database(url), range(4)))
    for database in opened:
        with database.reading() as connection:
            assert connection.execute(select(func.count()).select_from(conditions)).scalar() == 0
        database.close()


def test_sqlite_is_durable_and_private(sqlite, tmp_path):
    with sqlite.reading() as connection:
        pragmas = {name: connection.exec_driver_sql(f"PRAGMA {name}").scalar() for name in ("journal_mode", "synchronous", "busy_timeout")}
    assert pragmas == {"journal_mode": "wal", "synchronous": 2, "busy_timeout": 30_000}
    assert (tmp_path / "people.sqlite").stat().st_mode & 0o077 == 0


def add(database, name, fail=False):
    with database.writing() as connection:
        connection.execute(conditions.insert().values(name="x", content=name))
        if fail:
            raise RuntimeError(name)


def names(database):
    with database.reading() as connection:
        return set(connection.execute(select(conditions.c.content)).scalars())


def test_a_failed_write_leaves_nothing_and_spoils_nothing(database):
    """Those who share a commit with somebody who fails are none the worse."""

    def attempt(i):
        try:
            add(database, f"n{i}", fail=i % 5 == 0)
            return True
        except RuntimeError:
            return False

    with ThreadPoolExecutor(16) as threads:
        kept = list(threads.map(attempt, range(100)))
    assert names(database) == {f"n{i}" for i in range(100) if i % 5}
    assert kept == [bool(i % 5) for i in range(100)]


def test_what_was_written_is_there_when_the_writer_is_told(database):
    """Each thread reads back its own write through another connection at once."""

    def write_and_look(i):
        add(database, f"n{i}")
        return f"n{i}" in names(database)

    with ThreadPoolExecutor(16) as threads:
        assert all(threads.map(write_and_look, range(100)))


def test_a_conflict_is_raised_to_who_made_it(database):
    from sqlalchemy.exc import IntegrityError

    add(database, "same")
    with pytest.raises(IntegrityError):
        add(database, "same")
    add(database, "other")
    assert names(database) == {"same", "other"}


def test_two_processes_worth_of_writers_wait_for_each_other(tmp_path):
    """Two doors to one SQLite file, as two servers would have: nobody fails with 'database is locked'."""
    url = sqlite_url(tmp_path / "both.sqlite")
    doors = [Database(url), Database(url)]
    barrier = threading.Barrier(8)

    def work(i):
        barrier.wait()
        for k in range(10):
            add(doors[i % 2], f"{i}-{k}")

    with ThreadPoolExecutor(8) as threads:
        list(threads.map(work, range(8)))
    assert len(names(doors[0])) == 80


def write_too_much(database):
    """As on a disk that is full."""
    with database.writing() as connection:
        pages = connection.exec_driver_sql("PRAGMA page_count").scalar()
        connection.exec_driver_sql(f"PRAGMA max_page_count={pages}")
        connection.execute(conditions.insert().values(name="x", content="large" * 100_000))


def test_nobody_is_told_that_something_is_kept_when_the_disk_is_full(sqlite):
    """SQLite then gives up the whole transaction, and with it what others wrote who share the commit."""
    writer = sqlite._together._connection
    first_wrote, told = threading.Event(), []

    def first():
        try:
            with sqlite.writing() as connection:
                connection.execute(conditions.insert().values(name="x", content="small"))
                first_wrote.set()
                while not sqlite._together._waiting:  # until the second queues behind: they share a commit
                    pass
            told.append("kept")
        except OperationalError:
            told.append("failed")

    thread = threading.Thread(target=first)
    thread.start()
    first_wrote.wait()
    with pytest.raises(OperationalError):
        write_too_much(sqlite)
    thread.join()
    assert (told, names(sqlite)) == (["failed"], set())
    with closing(writer.connection.cursor()) as cursor:
        cursor.execute("PRAGMA max_page_count=1000000")
    add(sqlite, "there is room again")
    assert names(sqlite) == {"there is room again"}


@pytest.mark.parametrize("url", ["mysql://x/y", "nonsense", "sqlite:////no/such/folder/x.sqlite", "postgresql://nobody@127.0.0.1:1/x"])
def test_wrong_addresses_are_explained(url):
    with pytest.raises(ta.StudyError):
        Database(url)
