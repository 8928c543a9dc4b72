"""A real policy behind the server: people who answer differently are given different blocks, and the decisions can be made again."""

import sys
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("fastapi", reason="the extra 'serve' is not installed")
sys.path.insert(0, str(Path(__file__).parents[1] / "server"))

from kit import choose, plan_of, somebody
from yes_no import Signals, any_slope

import tellapart as ta
from tellapart.server.collected import collect
from tellapart.server.database import Database, sqlite_url
from tellapart.server.sessions import Sessions


def answer_all(sessions, key, yes):
    while (begun := sessions.begin(key)) is not None:
        sessions.save(key, begun.position, begun.attempt, [choose(0, int(yes))])


class Shown(Signals):
    """The same on a screen."""

    @property
    def screen(self):
        return ta.Screen("choice", stimuli=lambda row, trials, rng: [{"prompt": f"{row[0]:.2f}", "options": ["no", "yes"]}] * trials)


def test_people_who_answer_differently_are_given_different_blocks(which_threshold, tmp_path):
    task, database = Shown(), Database(sqlite_url(tmp_path / "people.sqlite"))
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
