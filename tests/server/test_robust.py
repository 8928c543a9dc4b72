"""Nothing lost: the server is killed and the network is cut while people take part."""

import asyncio
import sys
from pathlib import Path

from robust import Forked, lost_and_duplicated, ordeal
from sqlalchemy import select

from tellapart.server.database import Database
from tellapart.server.tables import sessions, trials


def kept(url):
    """Every trial in the database, and everybody's status."""
    database = Database(url)
    with database.reading() as connection:
        columns = (sessions.c.label, trials.c.position, trials.c.attempt, trials.c.trial, trials.c.answer, trials.c.outcomes)
        rows = [tuple(row) for row in connection.execute(select(*columns).join(sessions, sessions.c.id == trials.c.session))]
        statuses = list(connection.execute(select(sessions.c.status)).scalars())
    database.close()
    return rows, statuses


def test_nothing_acknowledged_is_lost_when_the_server_is_killed_and_the_network_cut(url):
    server = Forked([sys.executable, Path(__file__).with_name("coins.py"), url])
    people, _ = asyncio.run(ordeal(server, 12, kills=2, cut=0.5, think=0.2, within=0.5, pause=(0.5, 1.0)))
    server.stop()
    rows, statuses = kept(url)
    assert server.kills == 2
    assert lost_and_duplicated(people, rows) == (0, 0)
    assert statuses == ["finished"] * 12
    assert len(rows) == 12 * 10
    assert sum(len(person.acknowledged) for person in people) > 100
