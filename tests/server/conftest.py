"""What the tests of the server share: both kinds of database, a plan, sessions with a clock that can be set."""

import shutil
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
def tables(tmp_path_factory):
    """A SQLite file with tables and nothing in them; a copy is made in a tenth of the time."""
    file = tmp_path_factory.mktemp("tables") / "people.sqlite"
    Database(sqlite_url(file)).close()
    return file


@pytest.fixture(scope="session")
def postgres_url():
    """A PostgreSQL server of our own, with a database with tables and nothing in them."""
    if missing():
        pytest.skip(missing())
    with postgres(durable=False) as url:
        _tell(url, "CREATE DATABASE tables")
        Database(url.replace("/postgres", "/tables")).close()
        yield url


def _tell(url, command):
    from sqlalchemy import create_engine, text

    engine = create_engine(url.replace("postgresql://", "postgresql+psycopg://"), isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        connection.execute(text(command))
    engine.dispose()


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request, tmp_path):
    """A database of each kind, with nothing in its tables."""
    if request.param == "sqlite":
        shutil.copy(request.getfixturevalue("tables"), tmp_path / "people.sqlite")
        yield sqlite_url(tmp_path / "people.sqlite")
        return
    server, name = request.getfixturevalue("postgres_url"), f"t{abs(hash(request.node.nodeid)) % 10**12}"
    _tell(server, f"CREATE DATABASE {name} TEMPLATE tables")
    yield server.replace("/postgres", f"/{name}")
    _tell(server, f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture
def database(url):
    database = Database(url)
    yield database
    database.close()


@pytest.fixture
def sqlite(tables, tmp_path):
    shutil.copy(tables, tmp_path / "people.sqlite")
    database = Database(sqlite_url(tmp_path / "people.sqlite"))
    yield database
    database.close()


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture(scope="session")
def small_plan():
    """Two blocks of four trials on three arms."""
    return plan_of(bandit(trials=4), [DESIGN])


@pytest.fixture
def sessions(small_plan, database, clock):
    return Sessions(small_plan, database, clock, seed=1)
