"""`tellapart next` and `tellapart adapt`, from a study folder to what they print, and the section of the report."""

import json
import shutil
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from typer.testing import CliRunner
from yes_no import FEW, LITTLE

import tellapart as ta
from tellapart.adaptive.by_answers import ByAnswers
from tellapart.adaptive.decisions import difference, record
from tellapart.cli import app
from tellapart.cli.adapting import _calibration, _line, check_replay
from tellapart.errors import RunError
from tellapart.run import Run
from tellapart.study import Study
from tellapart.tasks.orders import orders_of_play

STUDY = """\
[study]
name = "signals"
goal = "discriminate"
[task]
use = "yes_no:Signals"
blocks = 3
[[models]]
use = "yes_no:steep"
[[models]]
use = "yes_no:flat"
[search]
method = "amortized"
steps = 60
survey = 16
survey_simulations = 50
finalists = 1
finalist_simulations = 100
baselines = 2
baseline_simulations = 50
"""

DATA = "participant,block,trial,yes,design.signal\na,0,0,1,0.5\nb,0,0,0,0.5\nb,1,0,1,1.5\nc,0,0,1,0\nc,1,0,1,1\nc,2,0,1,2\n"


def run(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


@pytest.fixture(autouse=True)
def few_rows(monkeypatch):
    """A signal is one number: few rows are enough for a first look, and few looks after it."""
    monkeypatch.setattr("tellapart.adaptive.by_answers.ByAnswers", partial(ByAnswers, effort=LITTLE))
    for name, number in {**FEW, "tellapart.adaptive.by_answers.EVERYWHERE": 24}.items():
        monkeypatch.setattr(name, number)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("signals")
    shutil.copy(Path(__file__).parent / "yes_no.py", path)
    (path / "study.toml").write_text(STUDY)
    (path / "data.csv").write_text(DATA)
    Run.open(Study.from_file(path), path / "run").design()
    return path


def test_next_prints_a_block_for_each_participant(folder):
    result = run("next", folder, folder / "data.csv")
    assert result.exit_code == 0, result.output
    lines = result.stdout.strip().splitlines()
    assert "a: block 2 of 3: signal" in lines[0]
    assert "over the planned block" in lines[0]
    assert "b: block 3 of 3" in lines[1]
    assert lines[2] == "c: all blocks are done"
    found = json.loads(run("next", folder, folder / "data.csv", "--json").stdout)
    assert found["blocks_counted_from"] == 0
    assert [one and one["block"] for one in found["decisions"]] == [1, 2, None]


def test_next_says_if_posteriors_are_not_right(folder, monkeypatch):
    """Looked for once, and kept."""
    monkeypatch.setattr("tellapart.adaptive.stopping.calibration_on_the_way", lambda policy, seed: pytest.fail("looked for again"))
    (folder / "run" / "on-the-way.json").write_text('["models: overconfident", "steep.threshold: no error found"]')
    last = run("next", folder, folder / "data.csv").stdout.splitlines()[-1]
    assert last.startswith("Posteriors are not right after some of the planned blocks (models: overconfident)")
    assert "more steps in [search]" in json.loads(run("next", folder, folder / "data.csv", "--json").stdout)["doubts"]
    (folder / "run" / "on-the-way.json").write_text('["models: no error found"]')
    assert "not right" not in run("next", folder, folder / "data.csv").stdout


def test_serving_says_if_posteriors_are_not_right(folder):
    pytest.importorskip("fastapi", reason="the extra 'serve' is not installed")
    (folder / "run" / "on-the-way.json").write_text('["models: overconfident"]')
    served = run("serve", folder, "--adaptive", "--simulate", 2)
    assert served.exit_code == 0, served.output
    assert "2 of 2 simulated people finished" in served.stdout
    assert "warning: Posteriors are not right" in served.stdout
    (folder / "run" / "on-the-way.json").write_text('["models: no error found"]')
    assert "warning" not in run("serve", folder, "--adaptive", "--simulate", 2).stdout


def test_decisions_are_kept_and_replayed(folder):
    kept = folder / "next.json"
    assert run("next", folder, folder / "data.csv", "--out", kept).exit_code == 0
    again = run("next", folder, folder / "data.csv", "--replay", kept, "--json")
    assert again.exit_code == 0, again.output
    assert len(json.loads(kept.read_text())["decisions"]) == 2
    (folder / "other.csv").write_text(DATA.replace("a,0,0,1", "a,0,0,0"))
    changed = run("next", folder, folder / "other.csv", "--replay", kept)
    assert changed.exit_code == 2
    assert "participant a: block 2 at" in changed.output


def test_a_table_may_be_sorted_in_any_way(folder):
    """The kept decisions are those of the same people, to the same bytes."""
    header, *rows = DATA.splitlines()
    (folder / "sorted.csv").write_text("\n".join([header, *reversed(rows), ""]))
    assert run("next", folder, folder / "data.csv", "--out", folder / "one.json").exit_code == 0
    again = run("next", folder, folder / "sorted.csv", "--replay", folder / "one.json")
    assert again.exit_code == 0, again.output
    assert "the same bytes" in again.stdout


def test_another_seed_is_another_decision(folder):
    kept = [folder / f"seed-{seed}.json" for seed in (0, 7)]
    assert run("next", folder, folder / "data.csv", "--out", kept[0]).exit_code == 0
    assert run("next", folder, folder / "data.csv", "--seed", 7, "--out", kept[1]).exit_code == 0
    one, other = (json.loads(path.read_text()) for path in kept)
    assert other["seed"] == 7
    assert one["decisions"] != other["decisions"]
    assert run("next", folder, folder / "data.csv", "--seed", 7, "--replay", kept[1]).exit_code == 0


def test_another_plan_is_another_decision_and_is_said_to_be_why(folder):
    kept = folder / "plan.json"
    assert run("next", folder, folder / "data.csv", "--design", "-1; 0; 1", "--out", kept).exit_code == 0
    assert run("next", folder, folder / "data.csv", "--design", "-1; 0; 1", "--replay", kept).exit_code == 0
    forgotten = run("next", folder, folder / "data.csv", "--replay", kept)
    assert forgotten.exit_code == 2
    assert "plan: [[-1.0], [0.0], [1.0]] then, None now" in forgotten.output


@pytest.mark.parametrize("text", [None, "", "{}", "[1]", '{"decisions": [3]}'])
def test_a_replay_of_something_else_is_named(tmp_path, text):
    if text is not None:
        (tmp_path / "kept.json").write_text(text)
    with pytest.raises(RunError, match="decisions"):
        check_replay(tmp_path / "kept.json", record([], {}).replace("[]", "[{}]"))


def test_a_replay_of_nothing_is_named_before_anything_is_decided(folder):
    result = run("next", folder, folder / "data.csv", "--replay", folder / "nothing.json")
    assert result.exit_code == 2
    assert "no such file of decisions" in result.output
    assert "understood as" not in result.output


def test_what_else_differs_in_decisions_for_the_same_row_is_named():
    decision = {"participant": "a", "block": 1, "row": [0.5]}
    kept, again = (json.dumps({"decisions": [{**decision, "gain": {"nats": nats}}]}) for nats in (0.1, 0.2))
    said = "participant a: block 2 at [0.5], gain {'nats': 0.1} then, block 2 at [0.5], gain {'nats': 0.2} now"
    assert difference(kept, again) == said


def test_one_participant_in_python(folder):
    result = Run.finished(Study.from_file(folder), folder / "run").result()
    behavior = ta.Behavior({"yes": [[[1]], [[0]]]}, participants=["p1", "p2"])
    one = result.next_design(behavior, id="p2")
    assert one.participant == "p2"
    assert one == result.next_design(behavior)[1]
    with pytest.raises(ta.DataError, match="no such participant"):
        result.next_design(behavior, id="p9")


def test_blocks_still_to_come_are_compared_with_the_plan(folder):
    """Those that were begun were run at what the table says."""
    result = Run.finished(Study.from_file(folder), folder / "run").result()
    behavior = ta.understand([folder / "data.csv"], result.study.task).behavior
    each = np.stack([result.design] * 3)
    each[0, 0], each[1, :2], each[2] = 0.5, [[0.5], [1.5]], [[0.0], [1.0], [2.0]]
    assert result.next_design([folder / "data.csv"]) == result.next_design(behavior, designs=each)


def test_blocks_still_to_come_are_those_of_the_participants_own_order(folder):
    """Of an experiment that was served counterbalanced: who had the second block and then the first is planned to have the third."""
    result = Run.finished(Study.from_file(folder), folder / "run").result()
    header = "participant,block,position,attempt,trial,yes,design.signal\n"
    (folder / "served.csv").write_text(f"{header}a,1,0,0,0,1,0.5\na,0,1,0,0,0,1.5\nb,2,0,0,0,1,1\nb,1,1,0,0,1,2\n")
    behavior = ta.Behavior({"yes": [[[1], [0]], [[1], [1]]]}, participants=["a", "b"])
    each = np.stack([[[0.5], [1.5], result.design[2]], [[1.0], [2.0], result.design[0]]])
    decisions = result.next_design(behavior, designs=each)
    assert result.next_design([folder / "served.csv"]) == decisions
    assert result.next_design(ta.understand([folder / "served.csv"], result.study.task)) == decisions  # read as designed


def test_orders_of_play_go_on_as_they_began():
    assert orders_of_play([(0, 1), (0,)], 4) == [(0, 1, 2, 3), (0, 1, 2, 3)]  # as designed
    assert orders_of_play([(0, 1), (1,)], 4) == [(0, 1, 3, 2), (1, 2, 0, 3)]  # counterbalanced
    assert orders_of_play([(0, 2), (3,), ()], 4) == [(0, 2, 1, 3), (3, 0, 1, 2), (0, 1, 2, 3)]  # drawn


def test_adapt_says_what_it_is_worth_and_the_report_shows_it(folder):
    (folder / "serve.toml").write_text("policy_seconds = 1e-9\n")  # in which nobody decides
    result = run("adapt", folder, "--n", "20")
    assert result.exit_code == 0, result.output
    assert "a server waits 1e-09 s (policy_seconds of serve.toml)" in result.stdout.splitlines()[-1]
    assert "on stopping" in result.stdout
    assert "paired, 20 simulated participants" in result.stdout
    for word in ("policy", "fixed", "difference", "stopping", "calibration", "a decision", "dapting is"):
        assert word in result.stdout or "not clear" in result.stdout
    kept = json.loads((folder / "run" / "adaptive.json").read_text())
    assert kept["verdict"] in ("worth it", "not worth it here", "not clear")
    from tellapart.report.adapting import given_figure, in_words, worth_figure

    assert "worth it" in in_words(kept)
    assert kept["late"] in in_words(kept)
    worth_figure(kept["curve"])
    given_figure(kept["designs"], ["signal"], [-3], [3], kept["designs"][0])


def test_a_last_block_that_was_missed_is_not_decided_again(folder, tmp_path):
    """If the table says the order of play, it says which blocks were begun; if not, what is assumed is said."""
    table = "participant,block,trial,yes,design.signal,position\na,0,0,1,0.5,0\na,1,0,,1.5,1\nb,0,0,1,0.5,0\nb,1,0,,,\n"
    (tmp_path / "missed.csv").write_text(table)
    found = json.loads(run("next", folder, tmp_path / "missed.csv", "--json").stdout)
    assert [one["block"] for one in found["decisions"]] == [2, 1]
    without = "\n".join(line.rsplit(",", 1)[0] for line in table.splitlines())
    (tmp_path / "without.csv").write_text(without + "\n")
    result = run("next", folder, tmp_path / "without.csv", "--json")
    assert [one["block"] for one in json.loads(result.stdout)["decisions"]] == [1, 1]
    assert "in the last blocks of a, b: taken as not begun" in result.stderr


@pytest.mark.parametrize("people", [0, 1])
def test_a_second_stage_of_which_nothing_is_known_says_so(folder, monkeypatch, people):
    """No error can be told from one participant: it was told as 0."""
    few = SimpleNamespace(gain=None, right=people / 20, people=people, dropped=0)
    monkeypatch.setattr("tellapart.adaptive.stages.stages_worth", lambda *given: few)
    words = run("adapt", folder, "--n", "20", "--stages", "1").stdout
    assert "second stage not known" in words
    assert "±" not in words
    kept = json.loads(run("adapt", folder, "--n", "20", "--stages", "1", "--json").stdout)
    assert kept["gain"] == {"nats": None, "se": None, "n": people}


def test_two_stages_from_the_command_line(folder):
    result = run("adapt", folder, "--n", "20", "--stages", "1", "--json")
    assert result.exit_code == 0, result.output
    assert set(json.loads(result.stdout)) == {"right", "gain", "dropped"}
    assert run("adapt", folder, "--n", "20", "--stages", "3").exit_code == 2


def test_without_a_run_the_fix_is_said(tmp_path, folder):
    shutil.copy(folder / "study.toml", tmp_path)
    shutil.copy(folder / "yes_no.py", tmp_path)
    for command in (("next", tmp_path, folder / "data.csv"), ("adapt", tmp_path)):
        result = run(*command)
        assert result.exit_code == 2
        assert "tellapart design" in result.output


def test_a_next_block_is_counted_as_people_count():
    study = ta.Study(ta.BernoulliBandit(arms=2, blocks=2, trials=5), [ta.WSLTS(), ta.AEG()])
    decision = SimpleNamespace(block=0, row=[0.2, 0.75], gain=SimpleNamespace(nats=0.1, se=0.01), over_planned=None)
    assert _line(study, "p07", decision).startswith("p07: block 1 of 2: arm 1: 0.2, arm 2: 0.75; expected gain 0.100")


def test_a_verdict_is_said_once_with_what_it_is_about():
    parts = [SimpleNamespace(model="m", parameter=name, verdict=verdict) for name, verdict in (("a", "fine"), ("b", "off"), ("c", "fine"))]
    assert _calibration(SimpleNamespace(verdict="fine"), parts) == "fine: models, m.a, m.c; off: m.b"
