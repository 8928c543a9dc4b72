"""Many people at once, a server that is killed, a network that is cut: what is lost, and how long people wait.

    python benchmarks/server.py            everything, about ten minutes
    python benchmarks/server.py --people 50 --kills 5

Every part prints what it measured and stops if something was lost. With `--keep` it is written to docs/numbers/server.json, and the table
of docs/explanation/nothing-lost.md is printed; tests/test_numbers.py holds the page to it.

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

KEPT = ROOT / "docs" / "numbers" / "server.json"
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
    """Median, 95th and 99th percentile."""
    return (np.quantile(times, [0.5, 0.95, 0.99]) * 1000).tolist() if times else [float("nan")] * 3


def processor_seconds():
    """Of all servers so far that have ended."""
    times = os.times()
    return times.children_user + times.children_system


def killed_and_cut(name, url, kills, cut, count, trials_each):
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
    waits = {"saving a trial": milliseconds(times.trials), "starting a session": milliseconds(times.start)}
    for what, (median, p95, p99) in waits.items():
        print(f"  {what:<18} median {median:.0f} ms, p95 {p95:.0f} ms, p99 {p99:.0f} ms")
    print(f"  {worked:.1f} ms of processor time for each trial, the server's starts included, whatever else the machine did meanwhile")
    assert (lost, duplicated, finished) == (0, 0, count)
    kept = {"people": count, "kills": server.kills, "cut": cut, "acknowledged": acknowledged, "lost": lost, "duplicated": duplicated}
    return kept | {"finished": finished, "milliseconds": waits, "work": worked}


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
    return counts


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


def table(kept):
    """The table of the page."""
    people, kills, cut = (next(iter(kept["with kills"].values()))[name] for name in ("people", "kills", "cut"))
    disturbed = f"the server killed (SIGKILL) {kills} times and the network cut for {cut:g} s"
    starts = list(kept["starts"].values())
    rows = {f"{sum(starts[0])} simultaneous starts over {len(starts[0])} conditions": [", ".join(map(str, counts)) for counts in starts]}
    for part, words in (("undisturbed", f"{people} people at once"), ("with kills", f"the same, {disturbed}")):
        counts = ("acknowledged", "lost", "duplicated", "finished")
        rows[f"{words}: trials acknowledged, lost, duplicated; people finished"] = [
            ", ".join(f"{found[name]:,}" for name in counts) for found in kept[part].values()
        ]
    for what in ("saving a trial", "starting a session"):
        for part in ("undisturbed", "with kills"):
            waits = [found["milliseconds"][what] for found in kept[part].values()]
            rows[f"{what}, {part}: median, 95th percentile"] = [f"{median:.0f} ms, {p95:.0f} ms" for median, p95, _ in waits]
    rows["processor time for each trial, undisturbed"] = [f"{found['work']:.1f} ms" for found in kept["undisturbed"].values()]
    head = f"| | {' | '.join(kept['starts'])} |\n|---|{'---|' * len(kept['starts'])}\n"
    return head + "\n".join(f"| {words} | {' | '.join(cells)} |" for words, cells in rows.items())


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--people", type=int, default=200)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--cut", type=float, default=10.0)
    parser.add_argument("--trials", type=int, default=30)
    parser.add_argument("--keep", action="store_true", help="write docs/numbers/server.json")
    given = parser.parse_args()
    many = (given.people, given.trials)
    parts = {
        "starts": many_starts,
        "undisturbed": lambda name, url: killed_and_cut(f"{name}, undisturbed", url, 0, 0.0, *many),
        "with kills": lambda name, url: killed_and_cut(name, url, given.kills, given.cut, *many),
    }
    kept = {}
    for part, measure in parts.items():
        with databases() as kinds:
            kept[part] = {name: measure(name, url) for name, url in kinds}
    news()
    round_trip()
    if given.keep:
        KEPT.write_text(json.dumps(kept, indent=2) + "\n")
        print(table(kept))


if __name__ == "__main__":
    say(__doc__)
    main()
