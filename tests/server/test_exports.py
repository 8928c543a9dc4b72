"""What people did, and the design, for other programs."""

import csv
import json
import shutil

import numpy as np
import pandas as pd
import pytest
from kit import DESIGN, Clock, bandit, plan_of, play_all, play_block, questions, somebody, swaps

import tellapart as ta
from tellapart.server.collected import collect
from tellapart.server.exports import check_format, export_people, export_plan
from tellapart.server.exports.design import described, identifier, write_conditions
from tellapart.server.exports.jspsych import write_folder
from tellapart.server.exports.psychds import problems, write_psychds
from tellapart.server.serving import open_database
from tellapart.server.sessions import Sessions


@pytest.fixture(scope="module")
def taken_part(tmp_path_factory):
    """A study folder whose experiment three people took part in: one finished, one began a block anew, one left."""
    folder, study, clock = tmp_path_factory.mktemp("study"), bandit(trials=4), Clock()
    (folder / "study.toml").write_text(study.to_toml())
    database = open_database(folder)
    sessions = Sessions(plan_of(study, [DESIGN]), database, clock)
    play_all(sessions, sessions.start(somebody("5f2d8c1e9ab0")).key)
    play_block(sessions, sessions.start(somebody("b")).key, stop=3)
    clock.advance(minutes=10)
    play_all(sessions, sessions.start(somebody("b")).key)
    play_block(sessions, sessions.start(somebody("c")).key, stop=2)
    database.close()
    return folder


@pytest.fixture
def folder(taken_part, tmp_path):
    """A copy of it."""
    return shutil.copytree(taken_part, tmp_path, dirs_exist_ok=True)


def read(folder):
    return ta.Study.from_file(folder)


def test_the_table_is_data_of_the_study(folder, tmp_path):
    out = tmp_path / "data.csv"
    result = export_people(folder, read(folder), "table", out)
    assert (result["participants"], result["trials"], result["earlier"]) == (3, 18, 3)
    behavior = ta.understand([out], read(folder).task).behavior
    assert behavior.mask.sum(axis=(1, 2)).tolist() == [8, 8, 2]
    table = pd.read_csv(out)
    assert list(table.columns[:5]) == ["participant", "block", "trial", "choice", "reward"]
    assert table.groupby("participant").finished.first().tolist() == [True, True, False]
    for _, row in table.iterrows():
        assert row[[f"design.arm {k}" for k in range(3)]].tolist() == DESIGN[row.block]
    assert len(pd.read_csv(tmp_path / "data.earlier-attempts.csv")) == 3
    assert "5f2d8c1e9ab0" not in out.read_text()


@pytest.mark.parametrize("arms", [{0, 1}, {1}, {1, 2}, {2}, {0, 1, 2}])
@pytest.mark.parametrize("format", ["table", "psych-ds"])
def test_what_is_exported_can_be_read_whatever_was_chosen(folder, tmp_path, arms, format, monkeypatch):
    """Nobody may have chosen the first arm: that choices count from 0 is told, not asked."""
    whole, chosen = collect, sorted(arms)

    def some_arms(*what, **settings):
        people = whole(*what, **settings)
        for i, row in enumerate(people.rows):
            row["choice"] = chosen[i % len(chosen)]
        values = people.behavior.fields["choice"]
        values[people.behavior.mask] = np.resize(chosen, people.behavior.mask.sum())
        return people

    monkeypatch.setattr("tellapart.server.exports.collect", some_arms)
    out = tmp_path / ("out" if format == "psych-ds" else "out.csv")
    export_people(folder, read(folder), format, out)
    behavior = ta.understand([out], read(folder).task).behavior
    assert set(behavior.fields["choice"][behavior.mask].tolist()) == arms


def test_only_those_who_finished(folder, tmp_path):
    assert export_people(folder, read(folder), "table", tmp_path / "x.csv", finished=True)["participants"] == 2


def test_psych_ds_satisfies_its_rules(folder, tmp_path):
    out = tmp_path / "dataset"
    export_people(folder, read(folder), "psych-ds", out)
    assert problems(out) == []
    assert sorted(file.name for file in (out / "data").iterdir())[0] == "subject-p0001_session-1_data.csv"
    assert "5f2d8c1e9ab0" not in "".join(file.read_text() for file in out.rglob("*") if file.is_file())
    assert len(pd.read_csv(out / "materials" / "earlier-attempts.csv")) == 3
    assert (out / "README.md").read_text().endswith("in `materials/earlier-attempts.csv`.\n")


BREAK = {
    "MISSING_DATASET_DESCRIPTION": lambda d: (d / "dataset_description.json").unlink(),
    "INVALID_JSON_FORMATTING": lambda d: (d / "dataset_description.json").write_text("{"),
    "JSON_ENCODING_ERROR": lambda d: (d / "dataset_description.json").write_bytes(b'{"name": "\xff"}'),
    "MISSING_DATA_DIRECTORY": lambda d: shutil.rmtree(d / "data"),
    "MISSING_DATAFILE": lambda d: [file.unlink() for file in (d / "data").iterdir()],
    "FILENAME_KEYWORD_FORMATTING_ERROR": lambda d: (d / "data" / "subject1_data.csv").write_text("participant\n1\n"),
    "CSV_HEADER_MISSING": lambda d: (d / "data" / "subject-x_data.csv").write_text(""),
    "CSV_HEADER_REPEATED": lambda d: (d / "data" / "subject-x_data.csv").write_text("trial,trial\n1,2\n"),
    "CSV_HEADER_LENGTH_MISMATCH": lambda d: (d / "data" / "subject-x_data.csv").write_text("block,trial\n1\n"),
    "CSV_COLUMN_MISSING_FROM_METADATA": lambda d: (d / "data" / "subject-x_data.csv").write_text("colour\nred\n"),
    "CSV_FORMATTING_ERROR": lambda d: (d / "data" / "subject-x_data.csv").write_bytes(b"trial\n\xff\n"),
    "ROWID_VALUES_NOT_UNIQUE": lambda d: (d / "data" / "subject-x_data.csv").write_text("row_id\n1\n1\n"),
    "JSON_KEY_REQUIRED: description": lambda d: described_without(d, "description"),
    "JSON_KEY_REQUIRED: @context": lambda d: described_without(d, "@context"),
    "MISSING_DATASET_TYPE": lambda d: described_without(d, "@type"),
    "INCORRECT_DATASET_TYPE": lambda d: described_with(d, {"@type": "Book"}),
    "VARIABLE_MISSING_FROM_CSV_COLUMNS: colour": lambda d: described_with(d, {"variableMeasured": ["colour"]}),
}


def described_with(folder, changes, without=()):
    file = folder / "dataset_description.json"
    content = {**json.loads(file.read_text()), **changes}
    file.write_text(json.dumps({key: value for key, value in content.items() if key not in without}))


def described_without(folder, key):
    described_with(folder, {}, (key,))


@pytest.mark.parametrize("problem", BREAK)
def test_the_checker_finds_every_breach(folder, tmp_path, problem):
    out = tmp_path / "dataset"
    export_people(folder, read(folder), "psych-ds", out)
    BREAK[problem](out)
    assert any(found.startswith(problem) for found in problems(out))


def test_the_design_as_json_and_conditions(tmp_path):
    plan = plan_of(bandit(trials=4), [DESIGN])
    content = described(plan)
    assert content["conditions"][1] == {"name": "B", "order": [1, 0], "design": DESIGN, "trials": [4, 4]}
    write_conditions(plan, tmp_path / "c.csv", 1)
    rows = list(csv.DictReader((tmp_path / "c.csv").open()))
    assert [row["arm_0"] for row in rows] == ["0.137", "0.828", "0.828", "0.137"]
    assert all(name.isidentifier() for name in rows[0])
    assert [identifier(name) for name in ("smaller sum", "2nd", "class", "größe")] == ["smaller_sum", "_2nd", "_class", "gr_e"]


def test_categories_are_handed_over_by_their_names(tmp_path):
    plan = plan_of(swaps(), [[[5, 1], [7, 0]]], order="designed")
    assert described(plan)["categories"] == {"thing": ["mug", "pen"]}
    write_conditions(plan, tmp_path / "c.csv", 1)
    assert [row["thing"] for row in csv.DictReader((tmp_path / "c.csv").open())] == ["pen", "mug"]


def test_psych_ds_says_what_numbers_stand_for(sqlite, tmp_path):
    study = swaps()
    sessions = Sessions(plan_of(study, [[[5, 1], [7, 0]]]), sqlite)
    play_all(sessions, sessions.start(somebody()).key)
    with sqlite.reading() as connection:
        people = collect(connection, study.task)
    write_psychds(study, people, people, tmp_path / "out")
    content = json.loads((tmp_path / "out" / "dataset_description.json").read_text())
    words = {variable["name"]: variable["description"] for variable in content["variableMeasured"]}
    assert words["choice"] == "Response: 0 (keep) or 1 (swap)."
    assert words["design.thing"] == "Setting of the block: thing, 0 (mug) or 1 (pen)."


def test_the_handed_over_folder_is_whole(tmp_path):
    write_folder(plan_of(bandit(trials=4), [DESIGN]), tmp_path / "out", 1)
    experiment = json.loads((tmp_path / "out" / "experiment.json").read_text())
    block = experiment["conditions"][0]["sequences"][0][0]
    places = [int(means["choice"]) for means in block["means"][0]]
    assert sorted(places) == [0, 1, 2]
    assert block["pay"] == [block["row"][place] for place in places]
    assert not (tmp_path / "out" / "static" / "server.js").exists()
    with pytest.raises(ta.StudyError, match="taken"):
        write_folder(plan_of(bandit(), [DESIGN]), tmp_path / "out", 1)


def test_rules_that_only_the_server_knows_cannot_be_handed_over(tmp_path):
    from coins import plan

    with pytest.raises(ta.StudyError, match="rules that only the server knows"):
        write_folder(plan(), tmp_path / "out", 1)


def test_a_number_that_is_typed_elsewhere_is_handed_back_by_the_name_of_its_field(tmp_path):
    class Guessing(type(questions().task)):
        fields = property(lambda task: (ta.Field("guess", "real"),))
        screen = property(lambda task: ta.Screen("number", answer="number"))

    task = Guessing()
    write_folder(plan_of(ta.Study(task, questions().models), [[[0.2], [0.8]]], practice=1, order="designed"), tmp_path / "out", 1)
    assert json.loads((tmp_path / "out" / "experiment.json").read_text())["screen"]["field"] == "guess"
    assert "[this.all.screen.field]: answer" in (tmp_path / "out" / "main.js").read_text()


def test_what_there_is_not_is_explained(folder, tmp_path):
    from tellapart.server.serving import open_database

    with pytest.raises(ta.DataError, match="psych-ds"):
        check_format("psychds")
    with pytest.raises(ta.DataError, match="no data"):
        export_people(folder, read(folder), "table", tmp_path / "x.csv", simulated=True)
    with pytest.raises(ta.RunError, match="no design yet"):
        export_plan(folder, read(folder), "json", tmp_path / "x.json")
    empty = tmp_path / "empty"
    empty.mkdir()
    (empty / "study.toml").write_text(bandit().to_toml())
    with pytest.raises(ta.StudyError, match="Nobody has taken part"):
        export_people(empty, read(empty), "table", tmp_path / "x.csv")
    open_database(empty).close()
    with pytest.raises(ta.DataError, match="--simulate 20"):
        export_people(empty, read(empty), "table", tmp_path / "x.csv", simulated=True)


def test_missed_trials_are_empty_in_the_table(sqlite):
    from tellapart.server.playing import Given

    sessions = Sessions(plan_of(questions(), [[[0.2], [0.8]]]), sqlite)
    key = sessions.start(somebody()).key
    sessions.begin(key)
    sessions.save(key, 0, 0, [Given(0, None, None), Given(1, 1, 0.4)])
    with sqlite.reading() as connection:
        people = collect(connection, questions().task)
    table = people.table()
    assert table.second.isna().tolist() == [True, False]
    assert people.behavior.mask.sum() == 1
    assert np.isnan(people.designs[0]).sum() == 1
