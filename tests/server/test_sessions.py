"""The rules of taking part, on SQLite and on PostgreSQL."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event

import numpy as np
import pytest
from kit import DESIGN, Questions, bandit, choose, plan_of, play_all, play_block, questions, somebody

import tellapart as ta
from tellapart.bandits.budget import BudgetBandit
from tellapart.server import store
from tellapart.server.plan import generator
from tellapart.server.playing import Given, Refused
from tellapart.server.policy import Asking, Remembering
from tellapart.server.sessions import Sessions
from tellapart.server.tables import blocks, trials


def rows(database, table):
    with database.reading() as connection:
        return connection.execute(table.select()).mappings().all()


def refused(reason, call, *args):
    with pytest.raises(Refused) as caught:
        call(*args)
    assert caught.value.reason == reason
    return caught.value


def test_a_whole_session(sessions, database):
    key = sessions.start(somebody()).key
    refused("incomplete", sessions.finish, key)
    assert play_all(sessions, key) == (8, None)
    assert sessions.finish(key) == (8, None)
    assert len(rows(database, trials)) == 8
    assert sessions.start(somebody()).status == "finished"
    refused("over", sessions.begin, sessions.start(somebody()).key)


def test_a_trial_is_recorded_once_whatever_is_sent_again(sessions, database):
    key = sessions.start(somebody()).key
    sessions.begin(key)
    first = sessions.save(key, 0, 0, [choose(0, 1)])
    assert sessions.save(key, 0, 0, [choose(0, 2)]).outcomes == first.outcomes
    both = sessions.save(key, 0, 0, [choose(0, 2), choose(1, 0)])
    assert both.outcomes[0] == first.outcomes[0]
    assert [row["answer"] for row in rows(database, trials)] == [1, 0]
    rest = sessions.save(key, 0, 0, [choose(2), choose(3)])
    assert (rest.position, rest.trial) == (1, 0)
    assert sessions.save(key, 0, 0, [choose(3)]).outcomes == rest.outcomes[1:]


@pytest.mark.parametrize(
    "request_",
    [(0, 0, [choose(1)]), (1, 0, [choose(0)]), (0, 1, [choose(0)]), (0, 0, [choose(0), choose(2)]), (0, 0, [choose(t) for t in range(5)])],
)
def test_trials_out_of_order_are_refused_and_leave_nothing(sessions, database, request_):
    key = sessions.start(somebody()).key
    sessions.begin(key)
    assert refused("order", sessions.save, key, *request_).place == (0, 0, 0)
    assert rows(database, trials) == []


@pytest.mark.parametrize("answer", [3, -1, 1.0, "1", True, float("nan"), 10**30])
def test_answers_that_mean_nothing_are_refused(sessions, database, answer):
    key = sessions.start(somebody()).key
    sessions.begin(key)
    refused("invalid", sessions.save, key, 0, 0, [Given(0, answer, 0.5)])
    assert rows(database, trials) == []


def test_choices_are_unshuffled_and_outcomes_come_from_the_seed(sessions, database):
    """What is recorded can be drawn again from the session's seed and the answers alone."""
    key = sessions.start(somebody()).key
    play_all(sessions, key, np.random.default_rng(3))
    with database.reading() as connection:
        session = store.session_of_person(connection, somebody())
    recorded, begun = rows(database, trials), {row["position"]: row for row in rows(database, blocks)}
    design = np.array(DESIGN)[session.order]
    for position in range(2):
        places = generator(session.seed, "places", position, 0).permutation(3)
        luck = generator(session.seed, "outcomes", position, 0).random(4)
        mine = [row for row in recorded if row["position"] == position]
        assert begun[position]["places"] == places.tolist()
        assert [row["responses"]["choice"] for row in mine] == [places[row["answer"]] for row in mine]
        assert [row["outcomes"]["reward"] for row in mine] == [
            int(luck[t] < design[position, places[row["answer"]]]) for t, row in enumerate(mine)
        ]


def test_missed_trials_are_recorded_as_missed(sessions, database):
    key = sessions.start(somebody()).key
    sessions.begin(key)
    assert sessions.save(key, 0, 0, [Given(0, None, None)]).outcomes == [{}]
    assert rows(database, trials)[0]["missed"]


def test_the_same_person_is_one_participant(sessions):
    first, second = sessions.start(somebody()), sessions.start(somebody())
    assert first.label == second.label
    assert second.resumed
    refused("elsewhere", sessions.begin, first.key)
    assert sessions.begin(second.key).trial == 0


def test_the_same_person_in_parallel_is_one_participant(sessions):
    with ThreadPoolExecutor(8) as threads:
        labels = {started.label for started in threads.map(lambda _: sessions.start(somebody()), range(16))}
    assert len(labels) == 1


def test_who_is_back_soon_goes_on_at_the_trial(sessions, clock):
    key = sessions.start(somebody()).key
    play_block(sessions, key, stop=2)
    clock.advance(minutes=4)
    back = sessions.start(somebody())
    assert (back.position, back.trial, back.again) == (0, 2, False)
    assert sessions.begin(back.key).trial == 2
    assert play_all(sessions, back.key) == (8, None)


def test_who_is_back_later_begins_the_block_anew(sessions, clock, database):
    key = sessions.start(somebody()).key
    play_block(sessions, key)
    play_block(sessions, key, stop=3)
    clock.advance(minutes=6)
    back = sessions.start(somebody())
    assert (back.position, back.trial, back.again) == (1, 0, True)
    refused("order", sessions.save, back.key, 1, 0, [choose(3)])
    assert sessions.begin(back.key).attempt == 1
    assert play_all(sessions, back.key) == (8, None)
    attempts = [(row["position"], row["attempt"]) for row in rows(database, trials)]
    assert {place: attempts.count(place) for place in attempts} == {(0, 0): 4, (1, 0): 3, (1, 1): 4}


def test_answers_that_waited_on_the_device_do_not_make_somebody_back_sooner(sessions, clock, database):
    """A page that is opened again first sends what a closed tab left behind, under the old key."""
    key = sessions.start(somebody()).key
    play_block(sessions, key, stop=2)
    clock.advance(minutes=90)
    sessions.save(key, 0, 0, [choose(2)])
    back = sessions.start(somebody())
    assert (back.position, back.trial, back.again) == (0, 0, True)
    assert len(rows(database, trials)) == 3


def test_who_is_back_too_late_cannot_go_on(sessions, clock):
    sessions.start(somebody())
    clock.advance(hours=2.1)
    refused("expired", sessions.start, somebody())


def test_who_did_everything_gets_the_link_however_late(sessions, clock):
    key = sessions.start(somebody()).key
    while sessions.begin(key) is not None:
        play_block(sessions, key)
    clock.advance(hours=30)
    back = sessions.start(somebody(), again=True)
    assert back.status == "taking part"
    assert sessions.begin(back.key) is None
    assert sessions.finish(back.key)[0] == 8


def test_conditions_are_filled_evenly_by_many_at_once(database):
    """200 starts over 4 conditions, from several threads and two servers."""
    plan = plan_of(bandit(trials=4), [DESIGN, DESIGN[::-1]])
    servers = [Sessions(plan, database), Sessions(plan, database)]
    assert len(plan.conditions) == 4
    with ThreadPoolExecutor(16) as threads:
        list(threads.map(lambda i: servers[i % 2].start(somebody(f"p{i}")), range(200)))
    with database.reading() as connection:
        counts = store.places_taken(connection, store.condition_ids(connection, plan), False, 0.0)
    assert sorted(counts.values()) == [50] * 4


def test_places_of_those_who_left_return(database, clock):
    sessions = Sessions(plan_of(bandit(), [DESIGN], participants=2), database, clock)
    gone, there = sessions.start(somebody("gone")), sessions.start(somebody("there"))
    refused("full", sessions.start, somebody("third"))
    clock.advance(minutes=20)
    sessions.seen(there.key, away=False)
    clock.advance(minutes=20)
    third = sessions.start(somebody("third"))
    with database.reading() as connection:
        assert (
            store.session_of_person(connection, somebody("third")).condition
            == store.session_of_person(connection, somebody("gone")).condition
        )
    assert third.label != gone.label
    play_all(sessions, there.key)
    refused("full", sessions.start, somebody("fourth"))
    assert sessions.start(somebody("gone")).resumed  # who has begun may finish


def test_the_cap_counts_people_whom_an_earlier_design_was_given(database, clock):
    Sessions(plan_of(bandit(), [DESIGN], participants=2), database, clock).start(somebody("before"))
    sessions = Sessions(plan_of(bandit(), [DESIGN[::-1]], participants=2, order="designed"), database, clock)
    sessions.start(somebody("second"))
    refused("full", sessions.start, somebody("third"))


def test_pausing_stops_newcomers_only(sessions, database):
    here = sessions.start(somebody())
    with database.writing() as connection:
        store.change_experiment(connection, paused=True)
    refused("paused", sessions.start, somebody("new"))
    assert play_all(sessions, here.key) == (8, None)


def test_what_is_the_same_is_decided_once(monkeypatch):
    """The first block of everybody, and whoever did the same; what comes later in a design does not matter."""
    asked = []
    task, designs = bandit().task, np.full((2, 3), 0.5)
    policy = Remembering(lambda behavior, designs, block: asked.append(block) or designs[block].copy())
    people = bandit().question.simulate(task, designs, 3, np.random.default_rng(0)).behavior
    for person in range(3):
        policy(people[[person]], designs, 0)
    policy(people[[0]], designs, 0)[:] = 0.9  # what one does with a row is not what another gets
    np.testing.assert_array_equal(policy(people[[0]], np.array([[0.5, 0.5, 0.5], [0.1, 0.2, 0.3]]), 0), designs[0])
    assert asked == [0]
    for person in (0, 1, 0):
        policy(people[[person]], designs, 1)
    assert asked == [0, 1, 1]
    policy(people[[0]], designs + 0.1, 0)
    assert asked == [0, 1, 1, 0]
    monkeypatch.setattr(Remembering, "MOST", 1)
    policy(people[[2]], designs, 1)
    policy(people[[0]], designs, 0)
    assert asked == [0, 1, 1, 0, 1, 0]


def test_who_asks_for_the_same_at_the_same_moment_is_answered_by_one_decision():
    asked, go = [], Event()
    policy = Remembering(lambda behavior, designs, block: asked.append(block) or (go.wait(10) and designs[block]))
    task, designs = bandit().task, np.full((2, 3), 0.5)
    with ThreadPoolExecutor(3) as pool:
        waiting = [pool.submit(policy, task.nothing(1), designs, 0) for _ in range(3)]
        go.set()
    assert asked == [0]
    for future in waiting:
        np.testing.assert_array_equal(future.result(), designs[0])


def test_a_decision_that_failed_is_tried_again():
    given, task = iter(["no number", 0.25]), bandit().task
    policy = Remembering(lambda behavior, designs, block: np.full(3, float(next(given))))
    with pytest.raises(ValueError, match="no number"):
        policy(task.nothing(1), np.full((2, 3), 0.5), 0)
    np.testing.assert_array_equal(policy(task.nothing(1), np.full((2, 3), 0.5), 0), [0.25] * 3)


def test_what_is_asked_for_again_and_again_is_not_forgotten(monkeypatch):
    monkeypatch.setattr(Remembering, "MOST", 2)
    asked, task = [], bandit().task
    policy = Remembering(lambda behavior, designs, block: asked.append(designs[0, 0]))
    for value in (0.5, 0.1, 0.5, 0.2, 0.5):
        policy(task.nothing(1), np.full((2, 3), value), 0)
    assert asked == [0.5, 0.1, 0.2]


def test_a_second_attempt_is_planned_as_the_first_was(clock, database):
    """What was adapted in an attempt that no longer counts is not the plan of the next one."""
    study, given = bandit(), iter([np.full(3, 0.3), None])
    plan = plan_of(study, [DESIGN], policy=lambda behavior, designs, block: next(given), order="designed")
    sessions = Sessions(plan, database, clock)
    play_block(sessions, sessions.start(somebody()).key, stop=2)
    clock.advance(minutes=6)
    sessions.begin(sessions.start(somebody()).key)
    assert [(row["attempt"], row["source"], row["row"]) for row in rows(database, blocks)] == [
        (0, "adapted", [0.3] * 3),
        (1, "planned", DESIGN[0]),
    ]


class Shy(Questions):
    @property
    def screen(self):
        def stimuli(row, trials, rng):
            return [{"options": ["a", "b"], "level": 1 if row[0] < 0.5 else float("nan")}] * trials

        return ta.Screen("choice", stimuli=stimuli)


def test_a_row_that_the_screen_cannot_show_is_not_given(database):
    study = ta.Study(Shy(), questions().models)
    plan = plan_of(study, [[[0.2], [0.3]]], policy=lambda behavior, designs, block: np.array([0.9]), order="designed", practice=0)
    sessions = Sessions(plan, database)
    assert play_all(sessions, sessions.start(somebody()).key)[0] == 8
    assert {(row["source"], "not JSON" in row["why"]) for row in rows(database, blocks)} == {("fallback", True)}


@pytest.mark.parametrize("error", [SystemExit(1), KeyboardInterrupt(), TimeoutError("of its own")])
def test_a_policy_that_gives_up_is_said_to_have(database, error):
    def policy(behavior, designs, block):
        raise error

    sessions = Sessions(plan_of(bandit(), [DESIGN], policy=policy), database)
    assert sessions.begin(sessions.start(somebody()).key).trial == 0
    (block,) = rows(database, blocks)
    assert (block["source"], block["why"]) == ("fallback", f"{type(error).__name__}: {error}")


def test_the_planned_block_keeps_the_rules_of_the_task_after_one_that_was_chosen():
    """A table with a design that the task forbids could not be read afterwards."""
    task, plan = BudgetBandit(arms=2, blocks=3, trials=19, total=30), np.array([[0.2, 0.8, 10.0], [0.3, 0.6, 10.0], [0.1, 0.6, 10.0]])

    def policy(behavior, designs, block):
        return np.array([0.5, 0.5, 5.0]) if block == 0 else 1 / 0

    designs, asking = plan.copy(), Asking(policy, task, 30.0)
    rows = []
    for block in range(3):
        rows.append(asking.row(task.nothing(1), designs, block))
        designs[block] = rows[-1].values
    assert [row.source for row in rows] == ["adapted", "fallback", "fallback"]
    task.design_space.check(designs)
    np.testing.assert_array_equal(designs[1], plan[1])
    np.testing.assert_array_equal(designs[2], [0.1, 0.6, 15.0])
    np.testing.assert_array_equal(asking.row(task.nothing(1), plan, 1).values, plan[1])


def test_a_policy_gives_the_next_block_and_a_late_or_broken_one_does_not_hold_up(database):
    import time

    def policy(behavior, designs, block):
        if block == 0:
            return np.array([0.3, 0.3, 0.3])
        assert behavior.mask.sum() == 4 * block
        if block == 1:
            time.sleep(5)
        return [2.0, 0.0, 0.0] if block == 2 else None

    study = bandit(blocks=4)
    sessions = Sessions(plan_of(study, [[[0.5] * 3] * 4], policy=policy, policy_seconds=0.2, order="designed"), database)
    key = sessions.start(somebody()).key
    assert play_all(sessions, key)[0] == 16
    begun = sorted(rows(database, blocks), key=lambda row: row["position"])
    assert [row["source"] for row in begun] == ["adapted", "fallback", "fallback", "planned"]
    assert begun[0]["row"] == [0.3] * 3
    assert begun[1]["row"] == [0.5] * 3
    assert "0.2 s" in begun[1]["why"]
    assert "not a row" in begun[2]["why"]


def test_a_database_of_another_experiment_is_refused(sessions, database):
    import tellapart as ta

    with pytest.raises(ta.StudyError, match="another experiment"):
        Sessions(plan_of(bandit(trials=5), [DESIGN]), database)


def test_a_database_of_other_design_variables_is_refused(database):
    """Nothing could be exported: the rows of old blocks have other columns."""
    study = questions()
    Sessions(plan_of(study, [[[0.2], [0.8]]]), database)
    wider = ta.DesignSpace(2, (ta.Variable("difference"), ta.Variable("delay")), ta.Symmetry(blocks=True))
    task = type("Wider", (type(study.task),), {"design_space": wider})()
    with pytest.raises(ta.StudyError, match="another experiment"):
        Sessions(plan_of(ta.Study(task, study.models), [[[0.2, 0.1], [0.8, 0.1]]], order="designed", practice=0), database)


@pytest.mark.parametrize("answer", ["0", "none"])
def test_an_answer_that_the_studys_own_code_cannot_read_is_refused(database, answer):
    """Told of a fault of the server, the page would send it for ever, also after a reload."""

    def read(shown, typed):
        return {"second": 1 / int(typed) > 0.5 if typed != "none" else None.second}

    task = type("Typed", (Questions,), {"screen": ta.Screen("number", answer="text", read=read)})()
    sessions = Sessions(plan_of(ta.Study(task, questions().models), [[[0.2], [0.8]]]), database)
    key = sessions.start(somebody()).key
    sessions.begin(key)
    refused("invalid", sessions.save, key, 0, 0, [Given(0, answer, 1.0)])
    assert sessions.save(key, 0, 0, [Given(0, "1", 1.0)]).trial == 1


def test_forgetting_leaves_nothing(sessions, database):
    sessions.start(somebody("keep"))
    key = sessions.start(somebody("5f2d8c1e9ab0")).key
    play_block(sessions, key)
    with database.writing() as connection:
        assert store.forget(connection, "5f2d8c1e9ab0") == ["p0002"]
    database.wipe()
    assert rows(database, trials) == []
    with database.reading() as connection:
        assert store.session_of_person(connection, somebody("5f2d8c1e9ab0")) is None
    assert sessions.start(somebody("new")).label == "p0003"
    if database.is_sqlite:
        files = Path(database.engine.url.database).parent.iterdir()
        assert all(b"5f2d8c1e9ab0" not in file.read_bytes() for file in files)


def test_nobody_is_given_the_block_of_somebody_who_was_forgotten(sessions, database):
    """A database may give the number of a deleted session again; what is held in memory while a block is played must not follow it."""
    for i in range(12):
        key = sessions.start(somebody(f"person-{i}")).key
        sessions.begin(key)
        sessions.save(key, 0, 0, [choose(0, 1)])
        (block,), (trial,) = rows(database, blocks), rows(database, trials)
        assert trial["responses"] == {"choice": block["places"][1]}
        with database.writing() as connection:
            assert len(store.forget(connection, f"p{i + 1:04d}")) == 1
