"""A real policy behind the server: people who answer differently are given different blocks, and the decisions can be made again."""

import sys
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("fastapi", reason="the extra 'serve' is not installed")
sys.path.insert(0, str(Path(__file__).parents[1] / "server"))

from kit import choose, plan_of, somebody
from yes_no import Signals, any_slope, quick

import tellapart as ta
from tellapart.server.collected import collect
from tellapart.server.database import Database, sqlite_url
from tellapart.server.sessions import Sessions

pytestmark = pytest.mark.usefixtures("fewer_rows_and_draws")


@pytest.fixture(scope="module")
def which_threshold(which_threshold):
    return quick(which_threshold)


def answer_all(sessions, key, yes):
    while (begun := sessions.begin(key)) is not None:
        sessions.save(key, begun.position, begun.attempt, [choose(0, int(yes))])


def test_people_who_answer_differently_are_given_different_blocks(which_threshold, tmp_path):
    task, database = Signals(), Database(sqlite_url(tmp_path / "people.sqlite"))
    study = ta.Study(task, any_slope(), "estimate")
    plan = plan_of(study, [which_threshold.plan], policy=which_threshold.row, policy_seconds=60, order="designed")
    sessions = Sessions(plan, database)
    for name in ("yes", "no"):
        answer_all(sessions, sessions.start(somebody(name)).key, name == "yes")
    with database.reading() as connection:
        people = collect(connection, task)
    database.close()
    assert {row["source"] for row in people.rows} == {"adapted"}
    shown = {answer: [row["design.signal"] for row in people.rows if row["yes"] == answer] for answer in (1, 0)}
    assert shown[1][0] == shown[0][0]
    assert shown[1][1:] != shown[0][1:]
    for answers, given in shown.items():
        designs = which_threshold.plan.copy()
        for block in range(task.blocks):
            behavior = ta.Behavior({"yes": np.full((1, task.blocks, 1), answers, np.int8)}, (np.arange(task.blocks) < block)[None, :, None])
            designs[block] = which_threshold.row(behavior, designs, block)
        assert designs[:, 0].tolist() == pytest.approx(given)


def test_what_was_served_is_read_in_the_order_of_play(which_threshold, tmp_path):
    """Exported blocks are numbered as in the design, and a decision looks at what was played first."""
    task, database = Signals(), Database(sqlite_url(tmp_path / "people.sqlite"))
    plan = plan_of(ta.Study(task, any_slope(), "estimate"), [np.linspace(-2, 2, 6)[:, None]], order="counterbalanced")
    sessions = Sessions(plan, database, seed=1)
    for name in range(6):
        key = sessions.start(somebody(str(name))).key
        for position in range(2):
            sessions.begin(key)
            sessions.save(key, position, 0, [choose(0, position)])
    with database.reading() as connection:
        people = collect(connection, task)
    database.close()
    assert not people.behavior.mask[:, :2].all()
    played = ta.understand(people.table(), task, as_played=True)
    np.testing.assert_array_equal(played.behavior.mask[..., 0], [[True, True, False, False, False, False]] * 6)
    np.testing.assert_array_equal(played.behavior.fields["yes"][:, :2, 0], [[0, 1]] * 6)
    assert [one.block for one in which_threshold.decide(played.behavior, played.designs)] == [2] * 6
