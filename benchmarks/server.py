"""Many people at once, a server that is killed, a network that is cut: what is lost, and how long people wait.

    python benchmarks/server.py            everything, about ten minutes
    python benchmarks/server.py --people 50 --kills 5

Every part prints what it measured and stops if something was lost.

Takes about ten minutes.
"""

import argparse
import asyncio
import json
import os
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from takes import say

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests" / "server"))

from kit import DESIGN, bandit, plan_of, somebody  # noqa: E402
from postgres import missing, postgres  # noqa: E402
from robust import Server, lost_and_duplicated, ordeal  # noqa: E402
from sqlalchemy import select  # noqa: E402

from tellapart.information.exact import model_probabilities  # noqa: E402
from tellapart.models.simulation import simulate_models  # noqa: E402
from tellapart.server import store  # noqa: E402
from tellapart.server.app import create_app  # noqa: E402
from tellapart.server.collected import collect  # noqa: E402
from tellapart.server.database import Database, sqlite_url  # noqa: E402
from tellapart.server.serving import in_background  # noqa: E402
from tellapart.server.sessions import Sessions  # noqa: E402
from tellapart.server.simulated import Simulation  # noqa: E402
from tellapart.server.tables import sessions, trials  # noqa: E402

TEXT = "; ".join(",".join(map(str, row)) for row in DESIGN)


@contextmanager
def databases():
    """An empty database of each kind that there is: its name and URL."""
    with tempfile.TemporaryDirectory() as folder:
        kinds = [("SQLite", sqlite_url(Path(folder) / "people.sqlite"))]
        if missing():
            print(f"({missing()})")
            yield kinds
            return
        with postgres() as url:
            yield [*kinds, ("PostgreSQL", url)]


def milliseconds(times):
    quantiles = np.quantile(times, [0.5, 0.95, 0.99]) * 1000 if times else [np.nan] * 3
    return "median {:.0f} ms, p95 {:.0f} ms, p99 {:.0f} ms".format(*quantiles)


def processor_seconds():
    """Of all servers so far that have ended."""
    times = os.times()
    return times.children_user + times.children_system


def killed_and_cut(name, url, count, kills, cut, trials_each):
    """People take part, one choice about every 1.2 s, while the server is killed and the network is cut."""
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "study.toml").write_text(bandit(trials=trials_each).to_toml())
        words = [sys.executable, "-m", "tellapart.cli", "serve", folder, "--design", TEXT, "--database", url, "--port", "{port}"]
        server, began, worked = Server(words), time.perf_counter(), processor_seconds()
        try:
            people, times = asyncio.run(ordeal(server, count, kills=kills, cut=cut, think=1.2, within=20.0, pause=(2.0, 5.0)))
        finally:
            server.stop()
    database = Database(url)
    with database.reading() as connection:
        columns = (sessions.c.label, trials.c.position, trials.c.attempt, trials.c.trial, trials.c.answer, trials.c.outcomes)
        rows = [tuple(row) for row in connection.execute(select(*columns).join(sessions, sessions.c.id == trials.c.session))]
        finished = list(connection.execute(select(sessions.c.status)).scalars()).count("finished")
    database.close()
    lost, duplicated = lost_and_duplicated(people, rows)
    acknowledged = sum(len(person.acknowledged) for person in people)
    worked = 1000 * (processor_seconds() - worked) / max(acknowledged, 1)
    seconds = time.perf_counter() - began
    print(f"{name}: {count} people, server killed {server.kills} times, network cut for {cut:g} s ({seconds:.0f} s in all)")
    print(f"  {acknowledged} trials acknowledged: {lost} lost, {duplicated} duplicated; {finished} of {count} people finished")
    print(f"  saving a trial     {milliseconds(times.trials)}")
    print(f"  starting a session {milliseconds(times.start)}")
    print(f"  {worked:.1f} ms of processor time for each trial, the server's starts included, whatever else the machine did meanwhile")
    assert (lost, duplicated, finished) == (0, 0, count)


def undisturbed(name, url, count, trials_each):
    killed_and_cut(name, url, count, 0, 0.0, trials_each)


def many_starts(name, url, count=500):
    """Everybody starts at once, through two doors to the database."""
    plan = plan_of(bandit(trials=4), [DESIGN, DESIGN[::-1]])
    database = Database(url)
    doors = [Sessions(plan, database), Sessions(plan, database)]
    began = time.perf_counter()
    with ThreadPoolExecutor(50) as threads:
        list(threads.map(lambda i: doors[i % 2].start(somebody(f"start-{i}")), range(count)))
    seconds = time.perf_counter() - began
    with database.reading() as connection:
        counts = sorted(store.places_taken(connection, store.condition_ids(connection, plan), False, 0.0).values())
    database.close()
    print(f"{name}: {count} simultaneous starts over {len(counts)} conditions: {counts} in {seconds:.1f} s")
    assert max(counts) - min(counts) <= 1


def round_trip(count=150):
    """Simulated people by HTTP against people simulated directly: the log probability of the true model."""
    study = bandit(trials=30)
    with tempfile.TemporaryDirectory() as folder:
        database = Database(sqlite_url(Path(folder) / "people.sqlite"))
        app, began = create_app(plan_of(study, [DESIGN]), database, "token", seed=1), time.perf_counter()
        with in_background(app, "127.0.0.1", 0) as address:
            Simulation(app.state.sessions, address, "token", np.random.default_rng(3)).run(count)
        seconds = time.perf_counter() - began
        with database.reading() as connection:
            people = collect(connection, study.task, simulated=True)
        database.close()
    names = [model.name for model in study.models]
    truth = np.array([names.index(one["model"]) for one in people.truth])
    direct = simulate_models(study.task, study.models, DESIGN, count, np.random.default_rng(4))
    parts = []
    for behavior, designs, which in ((people.behavior, people.designs, truth), (direct.behavior, DESIGN, direct.model)):
        shares = model_probabilities(study.task, study.question, behavior, designs)
        parts.append(np.log(shares[np.arange(count), which]))
    served, simulated = parts
    z = (served.mean() - simulated.mean()) / np.sqrt((served.var() + simulated.var()) / count)
    print(f"round trip: {count} simulated people by HTTP in {seconds:.0f} s; mean log probability of the true model {served.mean():.3f}")
    print(f"  simulated directly {simulated.mean():.3f}; z = {z:.2f}")
    assert abs(z) < 3.3


def news(count=5):
    """From a start to the researcher's page: the delay of the live stream."""
    import http.client

    with tempfile.TemporaryDirectory() as folder:
        database = Database(sqlite_url(Path(folder) / "people.sqlite"))
        app = create_app(plan_of(bandit(), [DESIGN]), database, "token")
        delays = []
        with in_background(app, "127.0.0.1", 0) as address:
            connection = http.client.HTTPConnection(address.removeprefix("http://"))
            connection.request("GET", "/researcher/events", headers={"authorization": "Bearer token"})
            stream = connection.getresponse()
            for i in range(count):
                app.state.sessions.start(somebody(f"news-{i}"))
                began = time.perf_counter()
                while True:
                    line = stream.readline().decode()
                    if line.startswith("data: ") and json.loads(line[6:])["started"] == i + 1:
                        break
                delays.append(time.perf_counter() - began)
                time.sleep(0.7)
            connection.close()
        database.close()
    print(f"researcher's page: news after {1000 * max(delays):.0f} ms at most, of {count}")
    assert max(delays) < 2


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--people", type=int, default=200)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--cut", type=float, default=10.0)
    parser.add_argument("--trials", type=int, default=30)
    given = parser.parse_args()
    with databases() as kinds:
        for name, url in kinds:
            many_starts(name, url)
    with databases() as kinds:
        for name, url in kinds:
            undisturbed(f"{name}, undisturbed", url, given.people, given.trials)
    with databases() as kinds:
        for name, url in kinds:
            killed_and_cut(name, url, given.people, given.kills, given.cut, given.trials)
    news()
    round_trip()


if __name__ == "__main__":
    say(__doc__)
    main()
