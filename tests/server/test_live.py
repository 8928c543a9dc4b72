"""What the researcher sees: who is where, how well people answer, what the models make of them."""

import numpy as np
import pytest
from kit import DESIGN, bandit, choose, plan_of, play_all, play_block, questions, somebody

from tellapart.server import analysis
from tellapart.server.analysis import Analyst
from tellapart.server.live import Live
from tellapart.server.playing import Given
from tellapart.server.sessions import Sessions


@pytest.fixture
def rules(sqlite, clock):
    return Sessions(plan_of(bandit(trials=4), [DESIGN]), sqlite, clock, seed=1)


@pytest.fixture
def live(rules):
    return Live(rules, Analyst(rules))


def counts(live, *states):
    state = live.state()
    return tuple(state[name] for name in states)


def test_states_follow_signs_of_life(rules, live, clock):
    key = rules.start(somebody()).key
    assert counts(live, "started", "active") == (1, 1)
    rules.seen(key, away=True)
    clock.advance(minutes=0.05)
    assert counts(live, "active", "away") == (0, 1)
    rules.seen(key, away=False)
    clock.advance(minutes=1)
    assert counts(live, "active", "away") == (0, 1)
    clock.advance(minutes=40)
    assert counts(live, "away", "left") == (0, 1)
    back = rules.start(somebody()).key
    play_all(rules, back)
    clock.advance(minutes=0.1)
    assert counts(live, "started", "left", "finished") == (1, 0, 1)


def test_simulated_people_are_counted_apart(rules, live):
    rules.start(somebody("s"), simulated=True)
    state = live.state()
    assert state["started"] == 0
    assert [entry["active"] for entry in state["conditions"] if entry["simulated"]] == [1]


def test_quality_of_answers(rules, live):
    key = rules.start(somebody()).key
    rules.begin(key)
    rules.save(key, 0, 0, [choose(0, seconds=0.05), choose(1, seconds=0.4), choose(2, seconds=0.6), Given(3, None, None)])
    person = live.state()["people"][0]
    assert (person["trials"], person["missed"], person["median"], person["fast"]) == (4, 1, 0.4, 0.333)
    assert person["status"] == "in part 2"


def test_trials_are_counted_without_response_times_and_after_the_last_part_there_is_none(rules, live, clock):
    key = rules.start(somebody()).key
    rules.begin(key)
    rules.save(key, 0, 0, [choose(t, seconds=None) for t in range(3)])
    assert live.state()["people"][0]["trials"] == 3
    play_block(rules, key)
    play_block(rules, key)
    clock.advance(minutes=1)
    assert (live.state()["people"][0]["trials"], live.state()["people"][0]["status"]) == (8, "in part 2")


def test_a_page_that_asks_while_people_are_read_sees_those_who_were_read_before(rules, live):
    live._analyst._reader = lambda people: (np.array([[0.2, 0.3, 0.5]] * len(people.labels)), None)
    play_all(rules, rules.start(somebody("a")).key)
    live._analyst.look()
    before, size = live._analyst._told, len(live._analyst._told)
    play_all(rules, rules.start(somebody("b")).key)
    live._analyst.look()
    assert (size, len(before), len(live._analyst._told)) == (1, 1, 2)


def test_model_probabilities_come_in(rules, live):
    play_all(rules, rules.start(somebody()).key)
    assert live.state()["models"]["participants"] == 0
    live._analyst.look()
    models = live.state()["models"]
    assert (models["participants"], len(models["mean"])) == (1, 3)
    assert sum(models["mean"]) == pytest.approx(1, abs=1e-3)
    assert len(live._analyst.about("p0001")["probabilities"]) == 3


def test_what_the_models_make_of_people_is_not_mixed_with_what_they_make_of_simulated_ones(rules, live):
    """Two simulated people are surely of the first model, the real one of the last."""
    first, last = [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]
    live._analyst._reader = lambda people: (np.array([first if label.startswith("s") else last for label in people.labels]), None)
    for name in ("a", "b"):
        play_all(rules, rules.start(somebody(name), simulated=True).key)
    live._analyst.look()
    models = live.state()["models"]
    assert (models["participants"], models["simulated"], models["mean"]) == (2, True, first)
    play_all(rules, rules.start(somebody("c")).key)
    live._analyst.look()
    models = live.state()["models"]
    assert (models["participants"], models["simulated"], models["mean"]) == (1, False, last)


def test_those_unlike_the_models_are_flagged(rules, live, monkeypatch):
    monkeypatch.setattr(
        analysis, "reader_of", lambda study, folder: lambda people: (np.full((len(people.labels), 3), 1 / 3), np.array([True]))
    )
    play_all(rules, rules.start(somebody()).key)
    live._analyst.look()
    assert live.state()["models"]["unlike"] == 1
    assert live._analyst.about("p0001")["unlike"]


def test_an_analysis_that_fails_does_not_stop_the_experiment(rules, live, monkeypatch):
    def broken(study, folder):
        raise RuntimeError("no disk")

    monkeypatch.setattr(analysis, "reader_of", broken)
    monkeypatch.setattr(analysis, "EVERY", 0.01)
    play_all(rules, rules.start(somebody()).key)
    live._analyst.start()
    live._analyst._thread.join(10)
    assert "no disk" in live.state()["models"]["note"]


def test_where_nothing_tells_models_apart_the_page_says_so(sqlite):
    rules = Sessions(plan_of(questions(), [[[0.2], [0.8]]]), sqlite)
    assert "nothing is said about models" in Analyst(rules).summary()["note"]
