"""What the tests of the server share: both kinds of database, a plan, sessions with a clock that can be set."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

pytest.importorskip("fastapi", reason="the extra 'serve' is not installed")

from kit import DESIGN, Clock, bandit, plan_of
from postgres import missing, postgres

from tellapart.server.database import Database, sqlite_url
from tellapart.server.sessions import Sessions


@pytest.fixture(scope="session")
def postgres_url():
    """A PostgreSQL server of our own."""
    if missing():
        pytest.skip(missing())
    with postgres() as url:
        yield url


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request, tmp_path):
    """An empty database of each kind."""
    if request.param == "sqlite":
        yield sqlite_url(tmp_path / "people.sqlite")
        return
    from sqlalchemy import create_engine, text

    server = request.getfixturevalue("postgres_url")
    admin = create_engine(server.replace("postgresql://", "postgresql+psycopg://"), isolation_level="AUTOCOMMIT")
    name = f"t{abs(hash(request.node.nodeid)) % 10**12}"
    with admin.connect() as connection:
        connection.execute(text(f"CREATE DATABASE {name}"))
    yield server.replace("/postgres", f"/{name}")
    with admin.connect() as connection:
        connection.execute(text(f"DROP DATABASE {name} WITH (FORCE)"))
    admin.dispose()


@pytest.fixture
def database(url):
    database = Database(url)
    yield database
    database.close()


@pytest.fixture
def sqlite(tmp_path):
    database = Database(sqlite_url(tmp_path / "people.sqlite"))
    yield database
    database.close()


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def sessions(database, clock):
    """Two blocks of four trials on three arms."""
    return Sessions(plan_of(bandit(trials=4), [DESIGN]), database, clock, seed=1)
