"""Attacks beside those in `test_api.py`: on limits, on other people's data by way of the researcher, on disks, clocks and files."""

import logging
import sqlite3
import threading
import time
from contextlib import closing, contextmanager

import numpy as np
import pytest
from kit import DESIGN, Questions, bandit, choose, plan_of, play_all, play_block, questions, somebody
from sqlalchemy.exc import OperationalError
from starlette.testclient import TestClient
from typer.testing import CliRunner

import tellapart as ta
from tellapart.cli import app as commands
from tellapart.server import analysis, store
from tellapart.server import database as databases
from tellapart.server.analysis import Analyst
from tellapart.server.app import create_app
from tellapart.server.collected import collect
from tellapart.server.database import Database, sqlite_url
from tellapart.server.guard import Buckets, network_of
from tellapart.server.playing import Given, Refused
from tellapart.server.serving import SHORTEST, listening, open_database, token_of
from tellapart.server.sessions import Sessions
from tellapart.server.settings import Limits
from tellapart.server.store import Identity


def link(code):
    return Identity("link", code)


def test_a_code_that_looks_like_a_label_does_not_make_somebody_else_forgotten(sessions, database):
    """Who opens `?participant=p0001` and then asks to be forgotten by that code must not delete the first participant's data."""
    victim = sessions.start(somebody("victim"))
    attacker = sessions.start(link(victim.label))
    with database.writing() as connection:
        assert store.forget(connection, f"link:{victim.label}") == [attacker.label]
        assert store.labels_of(connection) == {victim.label}
        assert store.forget(connection, victim.label) == [victim.label]


def test_a_label_takes_only_the_participant_who_has_it(sessions, database):
    victim = sessions.start(somebody("victim"))
    other = sessions.start(link(victim.label))
    with database.writing() as connection:
        assert store.forget(connection, victim.label) == [victim.label]
        assert store.labels_of(connection) == {other.label}


def test_who_is_forgotten_is_forgotten_by_the_analysis_too(sessions):
    play_all(sessions, sessions.start(somebody()).key)
    analyst = Analyst(sessions)
    analyst._reader = lambda people: (np.full((len(people.labels), 3), 1 / 3), None)
    analyst.look()
    assert analyst.summary()["participants"] == 1
    with sessions.database.writing() as connection:
        store.forget(connection, "p0001")
    analyst.look()
    assert analyst.summary()["participants"] == 0


def test_the_analysis_goes_on_after_a_database_that_was_away(sessions, monkeypatch):
    """Restarted, it breaks the connections that were kept; the first to use one fails."""
    read, met = sessions.database.reading, threading.Event()

    def away_once():
        if met.is_set():
            return read()
        met.set()
        raise OperationalError("SELECT", {}, ConnectionError("terminated"))

    play_all(sessions, sessions.start(somebody()).key)
    monkeypatch.setattr(analysis, "EVERY", 0.01)
    monkeypatch.setattr(sessions.database, "reading", away_once)
    analyst, told = Analyst(sessions), threading.Event()
    analyst._reader = lambda people: told.set() or (np.full((len(people.labels), 3), 1 / 3), None)
    analyst.start()
    assert told.wait(30)
    analyst.stop()
    assert analyst.summary()["participants"] == 1
    assert analyst.note == ""


def test_the_server_ends_after_a_reading_that_has_begun(sessions, monkeypatch):
    """A thread that is in compiled code while the interpreter ends aborts the process: "terminate called without an active exception"."""
    play_all(sessions, sessions.start(somebody()).key)
    monkeypatch.setattr(analysis, "EVERY", 0.01)
    app, begun = create_app(sessions.plan, sessions.database), threading.Event()
    analyst = app.state.analyst
    analyst._reader = lambda people: begun.set() or time.sleep(0.2) or (np.full((len(people.labels), 3), 1 / 3), None)
    with TestClient(app):
        assert begun.wait(30)
    assert not analyst._thread.is_alive()
    assert analyst.summary()["participants"] == 1


def test_forgetting_while_somebody_reads_says_that_traces_are_left(tmp_path, monkeypatch):
    """The file of writes ahead cannot be emptied under a reader's feet; run again without the reader, the command empties it."""
    monkeypatch.setattr(databases, "WAIT", 0.1)
    (tmp_path / "study.toml").write_text(bandit().to_toml())
    database = open_database(tmp_path)
    Sessions(plan_of(bandit(), [DESIGN]), database).start(somebody("5f2d8c1e9ab0"))
    run = CliRunner()
    with closing(sqlite3.connect(tmp_path / "participants.sqlite")) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT * FROM identities").fetchall()
        left = run.invoke(commands, ["forget", str(tmp_path), "p0001"])
    assert left.exit_code == 2
    assert "could not be emptied" in left.output
    database.close()
    unknown = run.invoke(commands, ["forget", str(tmp_path), "p0001"]).output
    assert "no such participant" in unknown
    assert "fix:      see the labels: tellapart export" in unknown
    assert all(b"5f2d8c1e9ab0" not in file.read_bytes() for file in tmp_path.glob("participants*"))


def test_an_old_export_of_earlier_attempts_does_not_outlive_the_next_export(sessions, clock, tmp_path):
    from tellapart.server.collected import collect
    from tellapart.server.exports.table import write_table

    def export():
        with sessions.database.reading() as connection:
            people, earlier = (collect(connection, sessions.plan.task, earlier=earlier) for earlier in (False, True))
        return write_table(sessions.plan.study, people, earlier, tmp_path / "data.csv")

    play_all(sessions, sessions.start(somebody("stays")).key)
    play_block(sessions, sessions.start(somebody("leaves")).key, stop=2)
    clock.advance(minutes=6)
    play_block(sessions, sessions.start(somebody("leaves")).key)
    assert len(export()) == 2
    with sessions.database.writing() as connection:
        store.forget(connection, "leaves")
    assert export() == [tmp_path / "data.csv"]
    assert not (tmp_path / "data.earlier-attempts.csv").exists()


def test_two_servers_with_other_designs_on_one_database_call_no_two_conditions_the_same(database):
    first = Sessions(plan_of(bandit(trials=4), [DESIGN], order="designed"), database)
    second = Sessions(plan_of(bandit(trials=4), [DESIGN[::-1]], order="designed"), database)
    with database.reading() as connection:
        assert store.condition_names(connection, [*first.conditions, *second.conditions]) == ["A", "B"]
    assert first.conditions != second.conditions


def test_a_clock_that_goes_back_or_jumps_ahead_loses_nobody(sessions, clock):
    key = sessions.start(somebody()).key
    play_block(sessions, key, stop=2)
    clock.advance(hours=-30)
    back = sessions.start(somebody())
    assert (back.trial, back.again) == (2, False)
    assert sessions.begin(back.key).trial == 2
    clock.advance(hours=30)
    assert play_all(sessions, back.key)[0] == 8


@pytest.mark.parametrize("count", [1, 3])
def test_a_response_time_that_the_task_records_cannot_be_left_out(sqlite, count):
    """It would be recorded as a thousandth of a second, which nobody needed."""

    class Timed(type(questions().task)):
        @property
        def fields(self):
            return (*super().fields, ta.Field("seconds", "positive"))

        @property
        def screen(self):
            return ta.Screen("choice", field="second", seconds="seconds")

    study = ta.Study(Timed(), [guess_in_time()], goal="estimate", name="timed")
    sessions = Sessions(plan_of(study, [[[0.2], [0.8]]]), sqlite)
    key = sessions.start(somebody()).key
    sessions.begin(key)
    with pytest.raises(Refused, match="invalid"):
        sessions.save(key, 0, 0, [Given(t, 0, None) for t in range(count)])
    assert sessions.save(key, 0, 0, [choose(0)]).trial == 1


@ta.model(name="guess-in-time", parameters={"bias": ta.Uniform(0, 1)}, vectorised=True)
def guess_in_time(parameters, designs, rng, task):
    shape = (len(designs), task.blocks, task.trials)
    return {"second": rng.random(shape) < parameters["bias"][:, None, None], "seconds": rng.gamma(2, 0.3, shape)}


def test_a_network_of_new_addresses_counts_as_one():
    assert network_of(("2001:db8:1:2::1", 1)) == network_of(("2001:db8:1:2:ffff::9", 1)) != network_of(("2001:db8:1:3::1", 1))
    assert network_of(("fe80::1%eth0", 1)) == "fe80::/64"
    assert network_of(("::ffff:10.0.0.1", 1)) == network_of(("10.0.0.1", 1)) == "10.0.0.1"
    assert (network_of(("testclient", 1)), network_of(None)) == ("testclient", "")


def test_limits_hold_when_many_ask_at_once():
    buckets = Buckets((0.0, 50), clock=lambda: 0.0)
    allowed = []
    threads = [threading.Thread(target=lambda: allowed.extend(buckets.allows("x") for _ in range(50))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(allowed) == 50


def test_the_number_who_declined_cannot_be_driven_up_for_long(sqlite):
    client = TestClient(create_app(plan_of(bandit(), [DESIGN], limits=Limits(start=(0.001, 5))), sqlite))
    responses = [client.post("/api/decline") for _ in range(8)]
    assert [response.status_code for response in responses] == [200] * 5 + [429] * 3
    assert int(responses[-1].headers["content-length"]) == len(responses[-1].content)


def test_limits_are_by_the_address_that_a_trusted_proxy_gives_and_by_no_other(sqlite):
    """As uvicorn wraps the application: who is not the proxy can claim any address, and is not believed."""
    from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware

    app = create_app(plan_of(bandit(), [DESIGN], limits=Limits(start=(0.001, 2))), sqlite)

    def starts(trusted, first):
        client = TestClient(ProxyHeadersMiddleware(app, trusted), client=("10.9.8.7", 1))
        codes = []
        for i in range(first, first + 4):
            headers = {"x-forwarded-for": f"192.0.2.{i}"}
            codes.append(client.post("/api/start", json={"consent": True, "browser": f"b{i}"}, headers=headers).status_code)
        return codes

    assert starts("127.0.0.1", 0) == [200, 200, 429, 429]
    assert starts("10.9.8.0/24", 10) == [200] * 4


def test_a_fault_tells_the_log_nothing_about_anybody(sqlite, caplog, monkeypatch):
    app = create_app(plan_of(bandit(), [DESIGN]), sqlite)
    client = TestClient(app, raise_server_exceptions=False)
    with sqlite.writing() as connection:
        connection.exec_driver_sql("DROP TABLE identities")
    with caplog.at_level(logging.INFO):
        response = client.post("/api/start", json={"consent": True, "browser": "b", "prolific": {"person": "5f2d8c1e9ab0"}})
    assert (response.status_code, response.json()["reason"]) == (500, "failed")
    assert "identities" in caplog.text
    assert "5f2d8c1e9ab0" not in caplog.text


def test_a_database_that_is_locked_is_waited_for_and_then_works_again(tmp_path, monkeypatch):
    monkeypatch.setattr(databases, "WAIT", 0.1)
    database = Database(sqlite_url(tmp_path / "people.sqlite"))
    sessions = Sessions(plan_of(bandit(), [DESIGN]), database)
    with closing(sqlite3.connect(tmp_path / "people.sqlite", isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(OperationalError, match="locked"):
            sessions.start(somebody())
        other.execute("ROLLBACK")
    assert sessions.start(somebody()).label == "p0001"
    database.close()


def test_files_are_the_owners_alone_and_tokens_cannot_be_short(tmp_path, monkeypatch):
    Database(f"sqlite:///{tmp_path}/given.sqlite").close()
    assert (tmp_path / "given.sqlite").stat().st_mode & 0o077 == 0
    made = token_of(tmp_path)
    assert made == token_of(tmp_path)
    assert (tmp_path / "researcher.token").stat().st_mode & 0o077 == 0
    assert sorted(file.name for file in tmp_path.iterdir()) == ["given.sqlite", "researcher.token"]
    monkeypatch.setenv("TELLAPART_TOKEN", "x" * (SHORTEST - 1))
    with pytest.raises(ta.StudyError, match="guessed"):
        token_of(tmp_path)


def test_a_database_in_memory_and_one_that_is_not_there_are_refused(tmp_path):
    with pytest.raises(ta.StudyError, match="memory"):
        Database("sqlite://")
    with pytest.raises(ta.StudyError, match="Nobody has taken part"):
        open_database(tmp_path, f"sqlite:///{tmp_path}/typo.sqlite", must_exist=True)
    assert list(tmp_path.iterdir()) == []


def test_a_port_that_is_taken_is_said_to_be():
    with listening("127.0.0.1", 0) as door, pytest.raises(ta.StudyError, match="something listens"):
        listening("127.0.0.1", door.getsockname()[1])


def test_simulated_people_go_on_when_the_server_closes_an_idle_connection(sqlite):
    """As a server does after five seconds."""
    from tellapart.server.serving import in_background
    from tellapart.server.simulated import Client

    with in_background(create_app(plan_of(bandit(), [DESIGN]), sqlite, "the-token"), "127.0.0.1", 0) as address:
        client = Client(address)
        first = client.post("/researcher/simulated", "the-token", {"name": "x"})
        client._local.connection.sock.shutdown(2)
        assert client.post("/researcher/simulated", "the-token", {"name": "x"})["label"] == first["label"]


def test_a_request_that_is_overtaken_does_not_begin_the_next_block_with_the_row_of_this_one(database):
    """Asked twice for a block, as a page does that was not heard; by the time the first is answered, the whole block was played."""
    asked = []

    def policy(behavior, designs, block):
        asked.append(block)
        if len(asked) == 1:
            play_block(sessions, key)
        return None

    sessions = Sessions(plan_of(bandit(), [DESIGN], policy=policy, policy_seconds=60.0, order="designed"), database)
    key = sessions.start(somebody()).key
    with pytest.raises(Refused, match="order"):
        sessions.begin(key)
    assert sessions.begin(key).position == 1
    with database.reading() as connection:
        assert store.design_of(connection, store.session_of_person(connection, somebody())).tolist() == DESIGN


def rewards_first_certain_then_impossible(database, clock):
    """A policy whose first row always rewards and whose later ones never do, so that outcomes tell which row was played."""
    rows = iter([[1.0] * 3] + [[0.0] * 3] * 9)
    return Sessions(plan_of(bandit(), [DESIGN], policy=lambda *_: next(rows), policy_seconds=60.0), database, clock)


def begin_and_save_in_a_commit_that_fails(sessions, key, monkeypatch):
    """As on a full disk, where the answers of all who share a commit are given up."""
    failures = iter([None, OSError("the disk is full")])
    with monkeypatch.context() as patch, sessions.database.writing() as connection:

        @contextmanager
        def shared():
            yield connection
            if failure := next(failures):
                raise failure

        patch.setattr(sessions.database, "writing", shared)
        sessions.begin(key)
        sessions.save(key, 0, 0, [choose(0)])


def test_a_block_whose_commit_failed_is_not_played_from_memory(database, clock, monkeypatch):
    """Begun again, it may be another one."""
    sessions = rewards_first_certain_then_impossible(database, clock)
    key = sessions.start(somebody()).key
    with pytest.raises(OSError, match="full"):
        begin_and_save_in_a_commit_that_fails(sessions, key, monkeypatch)
    sessions.begin(key)
    assert sessions.save(key, 0, 0, [choose(0)]).outcomes == [{"reward": 0}]


def test_who_gets_a_label_again_from_a_backup_plays_a_block_of_their_own(database, clock):
    """A backup of PostgreSQL can be put in place while the server runs, and then knows less than the server's memory."""
    sessions = rewards_first_certain_then_impossible(database, clock)
    key = sessions.start(somebody("before")).key
    sessions.begin(key)
    assert sessions.save(key, 0, 0, [choose(0)]).outcomes == [{"reward": 1}]
    with database.writing() as connection:
        store.forget(connection, "p0001")
        store.change_experiment(connection, number=0)
    clock.advance(minutes=1)
    after = sessions.start(somebody("after"))
    sessions.begin(after.key)
    assert after.label == "p0001"
    assert sessions.save(after.key, 0, 0, [choose(0)]).outcomes == [{"reward": 0}]


def test_a_number_that_no_table_can_hold_is_refused_and_spoils_nobodys_data(sqlite):
    task = type("Counted", (Questions,), {"fields": (ta.Field("k", "count"),), "screen": ta.Screen("number", answer="number")})()
    rules = Sessions(plan_of(ta.Study(task, questions().models), [[[0.2], [0.8]]], order="designed"), sqlite)
    key = rules.start(Identity("link", "typist")).key
    rules.begin(key)
    for number in (2**31, 10**12):
        with pytest.raises(Refused, match="invalid"):
            rules.save(key, 0, 0, [Given(0, number, 1.0)])
    rules.save(key, 0, 0, [Given(0, 2**31 - 1, 1.0)])
    with sqlite.reading() as connection:
        assert collect(connection, task).table()["k"].tolist() == [2**31 - 1]
