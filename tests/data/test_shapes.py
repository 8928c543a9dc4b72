"""Tables in the forms that people have: read at the first try, or after one question."""

import json
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pandas as pd
import pytest
from people import FOUR, THREE, TWO, assert_same, rows_of, simulate, write

import tellapart as ta
from tellapart.data.problems import TableError
from tellapart.data.settings import TableSettings
from tellapart.data.understand import understand


@dataclass(frozen=True)
class Dots(ta.Task):
    """Left or right, and how fast."""

    name: ClassVar[str] = "dots"
    blocks: ClassVar[int] = 1
    trials: ClassVar[int] = 8

    @property
    def fields(self):
        return ta.Field("response", "binary"), ta.Field("rt", "positive")

    @property
    def design_space(self):
        return ta.DesignSpace(1, [ta.Variable("coherence")])

    def baseline(self, n, rng):
        return rng.random((n, 1, 1))


def answered(error):
    """The settings that the first answer of the one question of an error gives."""
    assert not error.problems, error
    assert len(error.questions) == 1, error
    option, _, value = error.questions[0].answers[0][1].partition(" ")
    return TableSettings().with_options(**{option.removeprefix("--"): [value]})


def reading(understanding, what):
    return next(how for one, _, how in understanding.lines if one == what)


def test_our_own_table(tmp_path):
    behavior = simulate(THREE, missed=0.2)
    path = tmp_path / "data.csv"
    behavior.to_table().to_csv(path, index=False)
    assert_same(understand([path], THREE).behavior, behavior)


def test_hbayesdm_two_arms(tmp_path):
    behavior = simulate(TWO)
    rows = [(r["participant"], r["trial"] + 1, r["choice"] + 1, 2 * r["reward"] - 1) for r in rows_of(behavior)]
    found = understand([write(tmp_path / "bandit2arm.txt", ["subjID", "trial", "choice", "outcome"], rows, "\t")], TWO)
    assert_same(found.behavior, behavior)
    assert reading(found, "choice").startswith("counted from 1")
    assert reading(found, "reward").startswith("-1 and 1")


def test_hbayesdm_gain_and_loss(tmp_path):
    behavior = simulate(FOUR)
    rows = [(r["participant"], 100 * r["reward"], -50 * (1 - r["reward"]), r["choice"] + 1) for r in rows_of(behavior)]
    found = understand([write(tmp_path / "bandit4arm.txt", ["subjID", "gain", "loss", "choice"], rows, "\t")], FOUR)
    assert_same(found.behavior, behavior)
    assert [line for line in found.lines if line[0] == "reward"] == [("reward", "gain and loss", "1 if more was gained than lost")]
    assert "order of rows" in reading(found, "trial")


def test_hbayesdm_reversal_with_blocks(tmp_path):
    behavior = simulate(THREE)
    header = ["ExperimentName", "subjID", "block", "trial", "choice", "outcome", "choiceSwitch", "choice.ACC", "choice.RT", "Subject_Block"]
    rows = [
        (
            "prl",
            r["participant"],
            r["block"] + 1,
            r["trial"] + 1,
            r["choice"] + 1,
            2 * r["reward"] - 1,
            0,
            1,
            433,
            f"{r['participant']}_{r['block']}",
        )
        for r in rows_of(behavior)
    ]
    assert_same(understand([write(tmp_path / "prl.txt", header, rows, "\t")], THREE).behavior, behavior)


def test_gershman_exploration(tmp_path):
    """mu1 and mu2 are named like a design, but are no probabilities: they are not used, and that is said."""
    task = ta.BernoulliBandit(2, 2, 6)
    behavior = simulate(task)
    rows = [(r["participant"], r["block"] + 1, r["trial"] + 1, -3, 12, r["choice"] + 1, r["reward"], 612) for r in rows_of(behavior)]
    found = understand([write(tmp_path / "data.csv", ["subject", "block", "trial", "mu1", "mu2", "choice", "reward", "RT"], rows)], task)
    assert_same(found.behavior, behavior)
    assert found.designs is None
    assert "outside of its range" in reading(found, "no design")


def test_designs_in_columns(tmp_path):
    behavior = simulate(THREE)
    rng = np.random.default_rng(0)
    designs = rng.random((3, 2, 3)).round(3)
    rows = [(*r.values(), *designs[i // 12, r["block"]]) for i, r in enumerate(rows_of(behavior))]
    found = understand([write(tmp_path / "d.csv", ["participant", "block", "trial", "choice", "reward", "p1", "p2", "p3"], rows)], THREE)
    np.testing.assert_allclose(found.designs, designs)
    again = tmp_path / "again.csv"
    found.to_table().to_csv(again, index=False)
    np.testing.assert_allclose(understand([again], THREE).designs, designs)


@dataclass(frozen=True)
class Lists(ta.Task):
    """Words that are read or heard."""

    name: ClassVar[str] = "lists"
    blocks: ClassVar[int] = 2
    trials: ClassVar[int] = 2

    @property
    def fields(self):
        return (ta.Field("recalled", "binary"),)

    @property
    def design_space(self):
        return ta.DesignSpace(2, [ta.Variable("delay", 1, 600), ta.Variable("mode", categories=("read", "heard"))])

    def baseline(self, n, rng):
        return np.full((n, 2, 2), [20.0, 0.0])


def test_categories_of_a_design_by_name_or_by_number(tmp_path):
    """A design that is not understood would give way to the recommended one."""
    header = ["participant", "block", "trial", "recalled", "delay", "mode"]
    for modes in (("read", "Heard"), (0, 1), ("0.0", "1.0")):
        rows = [(who, b, t, (b + t) % 2, 20 * (b + 1), modes[b]) for who in "ab" for b in range(2) for t in range(2)]
        found = understand([write(tmp_path / "d.csv", header, rows)], Lists())
        np.testing.assert_array_equal(found.designs, np.full((2, 2, 2), [[20, 0], [40, 1]]))
    table = write(tmp_path / "designs.csv", ["block", "delay", "mode"], [(1, 20, "read"), (2, 40, "heard")])
    found = understand([write(tmp_path / "d.csv", header[:4], [row[:4] for row in rows])], Lists(), designs=table)
    np.testing.assert_array_equal(found.designs, np.full((2, 2, 2), [[20, 0], [40, 1]]))


def test_a_block_that_somebody_did_not_begin_is_no_design_of_its_own(tmp_path):
    """Two designs, with a whole number in each; one person of each stopped after the first block."""
    task = ta.ReversalBandit(arms=2, blocks=2, trials=3)
    designs = np.array([[[0.2, 0.8, 1], [0.8, 0.2, 2]], [[0.3, 0.7, 2], [0.7, 0.3, 1]]])[[0, 1, 0, 1]]
    rows = [
        (label, b, t, (i + t) % 2, t % 2, *designs[i, b])
        for i, label in enumerate("abcd")
        for b in range(1 if label in "cd" else 2)
        for t in range(3)
    ]
    header = ["participant", "block", "trial", "choice", "reward", "arm 0", "arm 1", "reversal"]
    found = understand([write(tmp_path / "d.csv", header, rows)], task)
    np.testing.assert_array_equal(found.designs, designs)


def test_the_design_may_be_empty_where_nothing_was_recorded(tmp_path):
    behavior = simulate(THREE, missed=0.3)
    rows = [(*r.values(), *((None,) * 3 if r["choice"] is None else (0.1, 0.2, 0.3))) for r in rows_of(behavior)]
    header = ["participant", "block", "trial", "choice", "reward", "p1", "p2", "p3"]
    np.testing.assert_array_equal(understand([write(tmp_path / "d.csv", header, rows)], THREE).designs, np.full((3, 2, 3), [0.1, 0.2, 0.3]))
    without = [row if i % 12 >= 6 else (*row[:5], None, None, None) for i, row in enumerate(rows)]
    with pytest.raises(TableError, match="The design is not known in blocks with responses"):
        understand([write(tmp_path / "d.csv", header, without)], THREE)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda rows: rows[1].__setitem__(2, None), "1 rows of the table of designs cannot be understood.*row 3"),
        (lambda rows: rows[1].__setitem__(1, "second"), "1 rows of the table of designs cannot be understood.*row 3"),
        (lambda rows: rows[1].__setitem__(1, 3), "1 rows of the table of designs cannot be understood.*a block from 1 to 2"),
        (lambda rows: rows.append([*rows[1][:2], 0, 0, 0]), "A block has two designs.*row 8"),
        (lambda rows: rows.pop(), "Some participants have no design.*009"),
    ],
)
def test_tables_of_designs_that_are_broken(tmp_path, change, message):
    behavior = simulate(THREE)
    data = write(tmp_path / "d.csv", ["participant", "block", "trial", "choice", "reward"], [r.values() for r in rows_of(behavior)])
    rows = [[label, b + 1, 0.2, 0.5, 0.8] for label in behavior.participants for b in range(2)]
    change(rows)
    table = write(tmp_path / "designs.csv", ["participant", "block", "arm 0", "arm 1", "arm 2"], rows)
    with pytest.raises(TableError, match=f"(?s){message}"):
        understand([data], THREE, designs=table)


def test_impossible_designs_in_a_table_are_all_named_at_once(tmp_path):
    behavior = simulate(THREE)
    data = write(tmp_path / "d.csv", ["participant", "block", "trial", "choice", "reward"], [r.values() for r in rows_of(behavior)])
    rows = [(1, 20, 0.5, 80), (2, 20, 0.5, ""), (2, 0.2, 0.5, 0.8)]
    table = write(tmp_path / "designs.csv", ["block", "arm 0", "arm 1", "arm 2"], rows)
    with pytest.raises(TableError) as error:
        understand([data], THREE, designs=table)
    said = [(problem.what, problem.where.split(" of ")[0]) for problem in error.value.problems]
    assert said == [
        ("1 rows of the table of designs cannot be understood.", "row 3"),
        ("The design variable 'arm 0' is outside of its range.", "row 2, row 3"),
        ("The design variable 'arm 2' is outside of its range.", "row 2"),
    ]
    assert error.value.problems[1].fix == "a number from 0 to 1, not 20"


def test_designs_in_a_table_of_their_own(tmp_path):
    behavior = simulate(THREE)
    data = write(tmp_path / "d.csv", ["participant", "block", "trial", "choice", "reward"], [r.values() for r in rows_of(behavior)])
    designs = np.random.default_rng(0).random((3, 2, 3)).round(3)
    rows = [(label, b + 1, *designs[i, b]) for i, label in enumerate(behavior.participants) for b in range(2)]
    table = write(tmp_path / "designs.csv", ["participant", "block", "arm 0", "arm 1", "arm 2"], rows)
    np.testing.assert_allclose(understand([data], THREE, designs=table).designs, designs)


def test_a_whole_number_with_decimals_is_the_same_person(tmp_path):
    behavior = simulate(THREE)
    rows = [[*r.values()] for r in rows_of(behavior)]
    for i, row in enumerate(rows):
        row[0] = f"{i // 12 + 1}" + ".0" * (i % 2)
    data = write(tmp_path / "d.csv", ["participant", "block", "trial", "choice", "reward"], rows)
    designs = write(tmp_path / "designs.csv", ["participant", "p0", "p1", "p2"], [(f"{n}.0", 0.1 * n, 0.5, 0.8) for n in (1, 2, 3)])
    found = understand([data], THREE, designs=designs)
    assert found.behavior.participants.tolist() == ["1", "2", "3"]
    np.testing.assert_array_equal(found.behavior.fields["choice"], behavior.fields["choice"])
    np.testing.assert_allclose(found.designs[:, 0, 0], [0.1, 0.2, 0.3])


@pytest.mark.parametrize("labels", [("1.0", "1.1", "1"), ("7", "007", "07")])
def test_labels_that_are_no_whole_numbers_are_kept_as_they_are(tmp_path, labels):
    rows = [[labels[i // 12], *list(r.values())[1:]] for i, r in enumerate(rows_of(simulate(THREE)))]
    data = write(tmp_path / "d.csv", ["participant", "block", "trial", "choice", "reward"], rows)
    assert understand([data], THREE).behavior.participants.tolist() == list(labels)


def test_one_file_a_person_with_spaces_in_headers(tmp_path):
    behavior = simulate(TWO, ["01", "02", "10"])
    for label in behavior.participants:
        rows = [
            (r["trial"] + 1, 1000 * r["trial"], ("left", "right")[r["choice"]], 0.5, r["reward"])
            for r in rows_of(behavior)
            if r["participant"] == label
        ]
        write(tmp_path / f"{label}.csv", ["trial number", " time", " side choice", " RT", " observed reward"], rows)
    found = understand([tmp_path], TWO)
    assert_same(found.behavior, behavior)
    assert "names of files" in reading(found, "participant")


def test_psych_ds(tmp_path):
    behavior = simulate(THREE, ["a1", "a2"])
    (tmp_path / "dataset_description.json").write_text(json.dumps({"name": "x", "@type": "Dataset", "variableMeasured": ["choice"]}))
    (tmp_path / "data" / "raw").mkdir(parents=True)
    for label in behavior.participants:
        rows = [(r["block"], r["trial"], r["choice"], r["reward"]) for r in rows_of(behavior) if r["participant"] == label]
        write(tmp_path / "data" / "raw" / f"subject-{label}_session-1_data.csv", ["block", "trial", "choice", "reward"], rows)
    assert_same(understand([tmp_path], THREE).behavior, behavior)


def jspsych_screens(behavior, label, *, subject=True):
    """The screens that one participant saw: fullscreen, instructions, practice, then two screens for each trial, choice and feedback."""
    own = {"subject_id": label} if subject else {}
    screens = [{"trial_type": "fullscreen", "rt": None}, {"trial_type": "instructions", "rt": 5321, "view_history": [{"page_index": 0}]}]
    screens += [{"trial_type": "html-button-response", "phase": "practice", "response": 1, "rt": 700, "reward": 1}]
    for r in rows_of(behavior):
        if r["participant"] == label:
            choice = {
                "trial_type": "html-button-response",
                "phase": "test",
                "stimulus": "<p>?</p>",
                "response": r["choice"],
                "reward": r["reward"] or 0,
            }
            screens += [{**choice, "rt": 650 if r["choice"] is not None else None, "block": r["block"]}]
            screens += [{"trial_type": "html-keyboard-response", "phase": "outcome", "response": None, "rt": None, "trial_duration": 500}]
    return [{**screen, "trial_index": i, "time_elapsed": 900 * i, **own} for i, screen in enumerate(screens)]


def test_jspsych_json_of_several_people(tmp_path):
    """Screens among the trials, a running index, response null where it was too slow, the reward 0 then."""
    behavior = simulate(THREE, missed=0.15)
    path = tmp_path / "jspsych.json"
    path.write_text(json.dumps([jspsych_screens(behavior, label) for label in behavior.participants]))
    found = understand([path], THREE)
    assert_same(found.behavior, behavior)
    assert "practice (3)" in reading(found, "no trials") or any("practice (3)" in how for *_, how in found.lines)


def test_jspsych_json_of_one_person_in_each_file(tmp_path):
    behavior = simulate(THREE, ["p1", "p2"])
    for label in behavior.participants:
        (tmp_path / f"{label}.json").write_text(json.dumps(jspsych_screens(behavior, label, subject=False)))
    assert_same(understand([tmp_path], THREE).behavior, behavior)


def test_jspsych_csv(tmp_path):
    behavior = simulate(THREE, missed=0.1)
    screens = [screen for label in behavior.participants for screen in jspsych_screens(behavior, label)]
    table = pd.DataFrame(screens).astype(object)
    table["response"] = [None if value is None or value != value else str(int(value)) for value in table["response"]]
    table.to_csv(tmp_path / "jspsych.csv", index=False, na_rep="null")
    assert_same(understand([tmp_path / "jspsych.csv"], THREE).behavior, behavior)


def test_feedback_on_a_screen_of_its_own(tmp_path):
    """The outcome is in the row after the response; who it is says `run_id`, as cognition.run writes it."""
    behavior = simulate(THREE)
    screens = []
    for r in rows_of(behavior):
        own = {"run_id": r["participant"], "block": r["block"]}
        screens.append({"trial_type": "html-button-response", "response": r["choice"], "reward": None, **own})
        screens.append({"trial_type": "html-keyboard-response", "response": None, "reward": r["reward"], **own})
    (tmp_path / "a.json").write_text(json.dumps(screens))
    found = understand([tmp_path / "a.json"], THREE)
    assert_same(found.behavior, behavior)
    assert "after its response" in reading(found, "outcomes")
    del screens[5]
    (tmp_path / "b.json").write_text(json.dumps(screens))
    with pytest.raises(TableError, match="'reward' is empty in"):
        understand([tmp_path / "b.json"], THREE)


def test_what_is_nested_is_known_by_its_last_name(tmp_path):
    behavior = simulate(THREE, ["p1"])
    rows = [{"stage": "main", "response": {"choice": r["choice"]}, "shown": {"reward": r["reward"]}} for r in rows_of(behavior)]
    (tmp_path / "a.json").write_text(json.dumps([{"participantId": "p1", "data": [{"type": "consent"}, *rows]}]))
    assert_same(understand([tmp_path / "a.json"], THREE).behavior, behavior)


def test_a_row_for_each_person_is_to_be_turned(tmp_path):
    path = write(tmp_path / "wide.csv", ["participant", "choice_1", "choice_2", "reward_1", "reward_2"], [("a", 0, 1, 1, 0)])
    with pytest.raises(TableError, match="turn choice_1, choice_2 into rows") as caught:
        understand([path], TWO)
    assert len(caught.value.problems) == 2


def test_a_row_for_each_person_is_seen_by_many_numbered_columns(tmp_path):
    path = write(tmp_path / "wide.csv", ["participant", *(f"c{t}" for t in range(1, 13))], [("a", *[0] * 12)])
    with pytest.raises(TableError, match=r"turn c1, c2, c3, … \(12 in all\) into rows"):
        understand([path], TWO)


def test_psychopy_csv(tmp_path):
    """Loops with dots in their names, keys as words, rows of instructions in which nearly all is empty."""
    behavior = simulate(THREE, ["001", "002"])
    header = ["blocks.thisN", "trials.thisN", "key_resp.keys", "key_resp.rt", "reward", "participant", "session", "date", "frameRate"]
    rows = []
    for label in behavior.participants:
        rows.append(("", "", "", "", "", label, 1, "2025-01-01", 60))
        for r in rows_of(behavior):
            if r["participant"] == label:
                rows.append((r["block"], r["trial"], ("left", "down", "right")[r["choice"]], 0.6, r["reward"], label, 1, "2025-01-01", 60))
    assert_same(understand([write(tmp_path / "psychopy.csv", header, rows)], THREE).behavior, behavior)


def test_autora(tmp_path):
    """A frame in which every row is a trial and columns are plain numbers as floats."""
    behavior = simulate(THREE)
    rows = [(r["participant"], float(r["block"]), float(r["trial"]), float(r["choice"]), float(r["reward"])) for r in rows_of(behavior)]
    frame = pd.DataFrame(rows, columns=["participant_id", "block", "trial", "choice", "reward"])
    assert_same(understand(frame, THREE).behavior, behavior)


def test_hssm(tmp_path):
    rng = np.random.default_rng(0)
    response, rt = rng.choice([-1, 1], (3, 8)), rng.uniform(0.3, 1.5, (3, 8)).round(4)
    rows = [(n, "LL", rt[n, t], response[n, t], "theta") for n in range(3) for t in range(8)]
    found = understand([write(tmp_path / "hssm.csv", ["participant_id", "stim", "rt", "response", "dbs"], rows)], Dots())
    np.testing.assert_array_equal(found.behavior.fields["response"][:, 0], response > 0)
    np.testing.assert_allclose(found.behavior.fields["rt"][:, 0], rt)
    assert found.behavior.participants.tolist() == ["0", "1", "2"]


def test_milliseconds_are_asked_about(tmp_path):
    rows = [(n, t, 1 - t % 2, 500 + t) for n in range(2) for t in range(8)]
    path = write(tmp_path / "ms.csv", ["participant", "trial", "response", "rt"], rows)
    with pytest.raises(TableError) as caught:
        understand([path], Dots())
    found = understand([path], Dots(), answered(caught.value))
    assert found.behavior.fields["rt"][0, 0, 0] == pytest.approx(0.5)


@pytest.mark.parametrize("separator", [",", "\t", ";", "|", " "])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp1252"])
def test_separators_and_encodings(tmp_path, separator, encoding):
    behavior = simulate(TWO, ["Jörg", "Åse", "Zoë"])
    path = write(
        tmp_path / "data.csv",
        ["subject", "trial", "choice", "reward"],
        [(r["participant"], r["trial"], r["choice"], r["reward"]) for r in rows_of(behavior)],
        separator,
    )
    path.write_bytes(path.read_text("utf-8").encode(encoding))
    assert_same(understand([path], TWO).behavior, behavior)


def test_trials_that_run_on_over_blocks(tmp_path):
    behavior = simulate(THREE, missed=0.2)
    rows = [(r["participant"], r["block"] + 1, 6 * r["block"] + r["trial"] + 1, r["choice"], r["reward"]) for r in rows_of(behavior)]
    header = ["id", "block", "trial", "choice", "reward"]
    found = understand([write(tmp_path / "a.csv", header, rows)], THREE)
    assert_same(found.behavior, behavior)
    assert "running on" in reading(found, "trial")
    found = understand([write(tmp_path / "b.csv", [header[0], *header[2:]], [(row[0], *row[2:]) for row in rows])], THREE)
    assert_same(found.behavior, behavior)


def test_trials_that_begin_anew_without_a_block_column(tmp_path):
    behavior = simulate(THREE)
    rows = [(r["participant"], r["trial"], r["choice"], r["reward"]) for r in rows_of(behavior)]
    found = understand([write(tmp_path / "a.csv", ["id", "trial", "choice", "reward"], rows)], THREE)
    assert_same(found.behavior, behavior)
    assert "begins anew" in reading(found, "block")


def counted_on(behavior):
    """Rows of participant, trial (running on over blocks, from 1), choice and reward."""
    trials = behavior.shape[2]
    return [[r["participant"], r["block"] * trials + r["trial"] + 1, r["choice"], r["reward"]] for r in rows_of(behavior)]


@pytest.mark.parametrize("order", [(0, 2, 1), (1, 0, 2)], ids=str)
def test_rows_that_changed_places_begin_no_block(tmp_path, order):
    behavior = simulate(THREE)
    rows = counted_on(behavior)
    rows[:3] = [rows[place] for place in order]
    assert_same(understand([write(tmp_path / "data.csv", ["id", "trial", "choice", "reward"], rows)], THREE).behavior, behavior)


def test_a_count_that_begins_anew_may_lack_trials(tmp_path):
    """The first trial of one block, and two of the next."""
    behavior = simulate(THREE)
    behavior.mask[0, 0, 0] = behavior.mask[0, 1, :2] = False
    rows = [[r["participant"], r["trial"] + 1, r["choice"], r["reward"]] for r in rows_of(behavior) if r["choice"] is not None]
    found = understand([write(tmp_path / "data.csv", ["id", "trial", "choice", "reward"], rows)], THREE).behavior
    np.testing.assert_array_equal(found.mask, behavior.mask)


def test_a_row_that_is_there_twice_begins_no_block(tmp_path):
    rows = [row for row in counted_on(simulate(THREE)) if row[1] < 9]
    rows.insert(3, list(rows[3]))
    with pytest.raises(TableError, match="1 row is about a trial that another row is about too"):
        understand([write(tmp_path / "data.csv", ["id", "trial", "choice", "reward"], rows)], THREE)


def test_a_row_that_is_there_twice_is_found_by_a_count_of_all_screens(tmp_path):
    """Three screens a trial: the count says the order only, but it says that a trial is there twice."""
    rows = [
        [r["participant"], r["block"], 7 + 3 * (6 * r["block"] + r["trial"]), r["choice"], r["reward"]]
        for r in rows_of(simulate(THREE))
        if r["trial"] < 5
    ]
    header = ["id", "block", "trial", "choice", "reward"]
    assert understand([write(tmp_path / "data.csv", header, rows)], THREE).behavior.mask.sum() == 30
    with pytest.raises(TableError, match="1 row is about a trial that another row is about too"):
        understand([write(tmp_path / "data.csv", header, [*rows, rows[3]])], THREE)


def test_people_who_are_there_twice_begin_no_block(tmp_path):
    """Trials are counted on over blocks, so that a count that begins anew is a person pasted twice, and nobody else is to blame."""
    rows = counted_on(simulate(THREE))
    twice = [*rows, *(row for row in rows if row[0] == rows[0][0])]
    with pytest.raises(TableError, match="12 rows are about a trial that another row is about too") as caught:
        understand([write(tmp_path / "data.csv", ["id", "trial", "choice", "reward"], twice)], THREE)
    assert f"row 2 and row {len(rows) + 2}" in str(caught.value)


def test_a_file_that_is_given_twice_has_the_same_rows(tmp_path):
    header, rows = ["id", "trial", "choice", "reward"], counted_on(simulate(THREE))
    with pytest.raises(TableError, match="delete the duplicates"):
        understand([write(tmp_path / name, header, rows) for name in ("data.csv", "copy.csv")], THREE)


def test_people_who_share_a_label_are_pointed_at(tmp_path):
    rows = [["a", r["trial"] + 1, r["choice"], r["reward"]] for r in rows_of(simulate(THREE))]
    with pytest.raises(TableError, match="begins anew 5 times") as caught:
        understand([write(tmp_path / "data.csv", ["id", "trial", "choice", "reward"], rows)], THREE)
    assert "row 14" in str(caught.value)
    assert "labels of their own" in str(caught.value)
    rows = [["a", *row[1:]] for row in counted_on(simulate(THREE))]
    with pytest.raises(TableError, match="these rows differ: give people who share a label labels of their own"):
        understand([write(tmp_path / "data.csv", ["id", "trial", "choice", "reward"], rows)], THREE)


def test_a_count_of_blocks_that_is_taken_for_the_trial_is_named(tmp_path):
    """'round' is the trial in many tables; here it is the block, and the message says which column it went by."""
    header = ["subject", "round", "nr", "choice", "reward"]
    rows = [[r["participant"], r["block"] + 1, r["trial"] + 1, r["choice"], r["reward"]] for r in rows_of(simulate(THREE))]
    path = write(tmp_path / "data.csv", header, rows)
    with pytest.raises(TableError, match="if 'round' does not count trials, --columns trial=NAME, and --columns block=NAME"):
        understand([path], THREE)
    columns = {"block": "round", "trial": "nr"}
    assert understand([path], THREE, TableSettings(columns=columns)).behavior.mask.all()


@pytest.mark.parametrize("names", [("1.1", "1.2"), ("3", "4"), ("3.0", "4.0")], ids=str)
def test_blocks_with_numbers_of_their_own(tmp_path, names):
    """A number is one block however it is written: the first person has whole ones."""
    behavior, plain = simulate(THREE), [name.removesuffix(".0") for name in names]
    rows = [
        [r["participant"], (plain if r["participant"] == "007" else names)[r["block"]], r["choice"], r["reward"]] for r in rows_of(behavior)
    ]
    assert_same(understand([write(tmp_path / "data.csv", ["id", "block", "choice", "reward"], rows)], THREE).behavior, behavior)


def test_words_and_truth_values(tmp_path):
    behavior = simulate(THREE)
    rows = [(*list(r.values())[:3], f"Option {'ABC'[r['choice']]}"[-1], bool(r["reward"])) for r in rows_of(behavior)]
    found = understand([write(tmp_path / "a.csv", ["participant", "block", "trial", "chosen", "win"], rows)], THREE)
    assert_same(found.behavior, behavior)
    rows = [(*list(r.values())[:3], f"arm_{r['choice'] + 1}", ("loss", "win")[r["reward"]]) for r in rows_of(behavior)]
    assert_same(
        understand([write(tmp_path / "b.csv", ["participant", "block", "trial", "arm", "outcome"], rows)], THREE).behavior, behavior
    )


def test_words_that_say_nothing_of_their_order_are_asked_about(tmp_path):
    behavior = simulate(THREE)
    rows = [(*list(r.values())[:3], ("red", "blue", "green")[r["choice"]], r["reward"]) for r in rows_of(behavior)]
    path = write(tmp_path / "a.csv", ["participant", "block", "trial", "choice", "reward"], rows)
    with pytest.raises(TableError) as caught:
        understand([path], THREE)
    assert len(caught.value.questions) == 1
    found = understand([path], THREE, TableSettings().with_options(codes=["choice=red,blue,green"]))
    assert_same(found.behavior, behavior)


def test_from_0_or_from_1_is_asked_where_it_cannot_be_told(tmp_path):
    """Nobody chose the first or the last arm: 1 and 2 of 0, 1, 2, 3 or of 1, 2, 3, 4."""
    rows = [("a", t, 1 + t % 2, t % 2) for t in range(10)]
    path = write(tmp_path / "a.csv", ["participant", "trial", "choice", "reward"], rows)
    with pytest.raises(TableError) as caught:
        understand([path], FOUR)
    assert [answer for answer, _ in caught.value.questions[0].answers] == ["from 0", "from 1"]
    found = understand([path], FOUR, answered(caught.value))
    assert found.behavior.fields["choice"].ravel().tolist() == [1 + t % 2 for t in range(10)]


@pytest.mark.parametrize("first", [0, 1])
def test_a_table_may_say_what_its_choices_count_from(tmp_path, first):
    rows = [("a", t, 1 + t % 2, t % 2, first) for t in range(10)]
    path = write(tmp_path / "a.csv", ["participant", "trial", "choice", "reward", "counts_from"], rows)
    found = understand([path], FOUR)
    assert found.behavior.fields["choice"].ravel().tolist() == [1 + t % 2 - first for t in range(10)]
    assert reading(found, "choice").startswith(f"counted from {first}")
    again = tmp_path / "again.csv"
    found.to_table().to_csv(again, index=False)
    assert ("counts_from" in again.read_text()) == (first == 0)
    assert_same(understand([again], FOUR).behavior, found.behavior)


def test_what_choices_count_from_is_said_once(tmp_path):
    rows = [("a", t, 1 + t % 2, t % 2, t % 3) for t in range(10)]
    with pytest.raises(TableError, match=r"(?s)'counts_from' does not say.*0, 1, 2"):
        understand([write(tmp_path / "a.csv", ["participant", "trial", "choice", "reward", "counts_from"], rows)], FOUR)


COUNTED = ["participant", "trial", "choice", "reward", "counts_from"]


@pytest.mark.parametrize(("first", "choices"), [(0, (1, 2, 3, 4)), (1, (0, 1, 2))])
def test_what_choices_count_from_must_be_true(tmp_path, first, choices):
    rows = [("a", t, choices[t % len(choices)], t % 2, first) for t in range(10)]
    with pytest.raises(TableError, match=f"(?s)do not count from {first}.*'counts_from' says {first}"):
        understand([write(tmp_path / "a.csv", COUNTED, rows)], FOUR)


@pytest.mark.parametrize("highest", [2, 4])
def test_a_table_does_not_say_what_the_choices_of_another_count_from(tmp_path, highest):
    ours = write(tmp_path / "a.csv", COUNTED, [("a", t, 1 + t % 2, t % 2, 0) for t in range(10)])
    theirs = write(tmp_path / "b.csv", COUNTED[:4], [("b", t, 1 + t % highest, t % 2) for t in range(10)])
    with pytest.raises(TableError, match="do not count from 0" if highest == 4 else "count from 0 or from 1"):
        understand([ours, theirs], FOUR)
    also_ours = write(tmp_path / "c.csv", COUNTED[:4], [("c", t, t % 4, t % 2) for t in range(10)])
    assert understand([ours, also_ours], FOUR).behavior.fields["choice"][:, 0, :4].tolist() == [[1, 2, 1, 2], [0, 1, 2, 3]]


def test_codes_for_another_table_are_not_taken_for_one_that_says_its_own(tmp_path):
    path = write(tmp_path / "a.csv", COUNTED, [("a", t, 1 + t % 2, t % 2, 0) for t in range(10)])
    with pytest.raises(TableError, match=r"'counts_from' says 0(?s:.*)leave out the codes"):
        understand([path], FOUR, TableSettings().with_options(codes=["choice=1,2,3,4"]))
    found = understand([path], FOUR, TableSettings().with_options(codes=["choice=0,1,2,3"]))
    assert found.behavior.fields["choice"].max() == 2


@pytest.mark.parametrize("zero", ["0.0", "NA"])
def test_what_choices_count_from_is_read_as_other_columns_are(tmp_path, zero):
    path = write(tmp_path / "a.csv", [*COUNTED[:4], "Counts from"], [("a", t, 1 + t % 2, t % 2, zero) for t in range(10)])
    if zero == "NA":
        with pytest.raises(TableError, match="1 question"):
            understand([path], FOUR)
    else:
        assert understand([path], FOUR).behavior.fields["choice"].max() == 2


def test_a_number_for_missed_trials_is_asked_about(tmp_path):
    behavior = simulate(THREE, missed=0.3)
    rows = [(*list(r.values())[:3], -1 if r["choice"] is None else r["choice"], r["reward"] or 0) for r in rows_of(behavior)]
    path = write(tmp_path / "a.csv", ["participant", "block", "trial", "choice", "reward"], rows)
    with pytest.raises(TableError) as caught:
        understand([path], THREE)
    assert_same(understand([path], THREE, answered(caught.value)).behavior, behavior)


def test_an_empty_choice_with_reward_0_is_a_missed_trial(tmp_path):
    behavior = simulate(THREE, missed=0.3)
    rows = [(*list(r.values())[:3], "NA" if r["choice"] is None else r["choice"], r["reward"] or 0) for r in rows_of(behavior)]
    assert_same(
        understand([write(tmp_path / "a.csv", ["participant", "block", "trial", "choice", "reward"], rows)], THREE).behavior, behavior
    )


def test_points_for_wins(tmp_path):
    behavior = simulate(TWO)
    rows = [(r["participant"], r["trial"], r["choice"], 10 * r["reward"]) for r in rows_of(behavior)]
    found = understand([write(tmp_path / "a.csv", ["subject", "trial", "choice", "points"], rows)], TWO)
    assert_same(found.behavior, behavior)
    assert "10 → 1" in reading(found, "reward")


def test_groups_and_conditions(tmp_path):
    behavior = simulate(THREE)
    rows = [(*r.values(), "old" if r["participant"] == "007" else "young", ("calm", "stress")[r["block"]]) for r in rows_of(behavior)]
    found = understand(
        [write(tmp_path / "a.csv", ["participant", "block", "trial", "choice", "reward", "group", "condition"], rows)], THREE
    )
    assert found.groups["group"].tolist() == ["old", "young", "young"]
    assert found.conditions["condition"][0].tolist() == ["calm", "stress"]


def test_a_group_by_any_name(tmp_path):
    rows = [(*r.values(), "old" if r["participant"] == "007" else "young", r["trial"]) for r in rows_of(simulate(THREE))]
    path = write(tmp_path / "a.csv", ["participant", "block", "trial", "choice", "reward", "age band", "cue"], rows)
    assert not understand([path], THREE).groups
    assert understand([path], THREE, TableSettings(columns={"group": "age band"})).groups["age band"].tolist() == ["old", "young", "young"]
    for name, message in (("cue", "sorts neither people nor their blocks"), ("nix", "There is no column 'nix'")):
        with pytest.raises(TableError, match=message):
            understand([path], THREE, TableSettings(columns={"group": name}))


def test_no_group_at_all(tmp_path):
    rows = [(*r.values(), r["participant"]) for r in rows_of(simulate(THREE))]
    path = write(tmp_path / "a.csv", ["participant", "block", "trial", "choice", "reward", "version"], rows)
    assert understand([path], THREE).groups
    assert not understand([path], THREE, TableSettings(columns={"group": "none"})).groups


def test_a_person_with_three_trials_is_named(tmp_path):
    behavior = simulate(THREE)
    rows = [r.values() for r in rows_of(behavior) if r["participant"] != "009" or (r["block"] == 0 and r["trial"] < 3)]
    found = understand([write(tmp_path / "a.csv", ["participant", "block", "trial", "choice", "reward"], rows)], THREE)
    assert reading(found, "few trials") == "009 (3)"


def test_two_columns_for_one_thing_are_asked_about(tmp_path):
    behavior = simulate(TWO)
    rows = [(r["participant"], r["trial"], r["choice"], 1 - r["choice"], r["reward"]) for r in rows_of(behavior)]
    rows[0] = (*rows[0][:3], rows[0][2], rows[0][4])
    path = write(tmp_path / "a.csv", ["participant", "trial", "response", "key", "reward"], rows)
    with pytest.raises(TableError, match="Which column holds choice"):
        understand([path], TWO)
    assert_same(understand([path], TWO, TableSettings(columns={"choice": "response"})).behavior, behavior)


def test_the_section_of_a_study_file(tmp_path):
    behavior = simulate(TWO)
    rows = [(r["participant"], r["trial"], ("blue", "red")[r["choice"]], r["reward"]) for r in rows_of(behavior)]
    path = write(tmp_path / "a.csv", ["who", "trial", "choice", "reward"], rows)
    section = {"columns": {"participant": "who"}, "codes": {"choice": ["blue", "red"]}}
    assert_same(understand([path], TWO, TableSettings.of(section)).behavior, behavior)
    assert TableSettings.of(TableSettings.of(section).written()) == TableSettings.of(section)


@pytest.mark.parametrize(("ending", "package"), [(".xlsx", "openpyxl"), (".parquet", "pyarrow")])
def test_excel_and_parquet(tmp_path, ending, package, monkeypatch):
    behavior, path = simulate(THREE, missed=0.2), tmp_path / f"data{ending}"
    try:
        import importlib

        importlib.import_module(package)
    except ImportError:
        path.write_bytes(b"x")
        with pytest.raises(ta.DataError, match=f"pip install {package}"):
            understand([path], THREE)
        return
    table = behavior.to_table()
    table.to_excel(path, index=False) if ending == ".xlsx" else table.to_parquet(path)
    assert_same(understand([path], THREE).behavior, behavior)


def test_frames_stand_in_for_excel_and_parquet():
    """What both formats hand over is a frame: with missing values and numbers as floats."""
    behavior = simulate(THREE, missed=0.3)
    assert_same(understand(behavior.to_table().convert_dtypes(), THREE).behavior, behavior)


def test_the_order_of_play_is_kept(tmp_path):
    """Blocks were shuffled, and one person stopped after one of them: read as played, from the table and from what import makes of it."""
    behavior = simulate(THREE, ["a", "b"])
    when = {("a", 0): 2, ("a", 1): 1, ("b", 1): 1}
    rows = [(*r.values(), when[r["participant"], r["block"]]) for r in rows_of(behavior) if (r["participant"], r["block"]) in when]
    header = ["participant", "block", "trial", "choice", "reward", "Block Position"]
    found = understand([write(tmp_path / "d.csv", header, rows)], THREE)
    assert reading(found, "order of play") == "of blocks"
    found.to_table().to_csv(tmp_path / "data.csv", index=False)
    for source in ("d.csv", "data.csv"):
        designed, played = (understand([tmp_path / source], THREE, as_played=flag) for flag in (False, True))
        np.testing.assert_array_equal(designed.positions, [[1, 0], [-1, 0]])
        np.testing.assert_array_equal(designed.behavior.mask[:, :, 0], [[True, True], [False, True]])
        np.testing.assert_array_equal(played.behavior.mask[:, :, 0], [[True, True], [True, False]])
        np.testing.assert_array_equal(played.behavior.fields["choice"][0], behavior.fields["choice"][0, ::-1])
        np.testing.assert_array_equal(played.behavior.fields["choice"][1, 0], behavior.fields["choice"][1, 1])
        assert played.played == ((1, 0), (1,))


@pytest.mark.parametrize("position", [lambda r: r["trial"] % 2, lambda r: 1, lambda r: "left"])
def test_a_position_that_is_no_order_of_blocks_is_not_used(tmp_path, position):
    """It changes within a block, or is the same in two blocks, or is no number."""
    rows = [(*r.values(), position(r)) for r in rows_of(simulate(THREE))]
    found = understand([write(tmp_path / "d.csv", ["participant", "block", "trial", "choice", "reward", "position"], rows)], THREE)
    assert found.positions is None
    assert found.as_played() is found


def test_every_column_that_is_not_used_is_named(tmp_path):
    """Also one whose name is a part of another's."""
    rows = [(*r.values(), 0, 500) for r in rows_of(simulate(THREE))]
    found = understand([write(tmp_path / "d.csv", ["participant", "block", "trial", "choice", "reward", "art", "ice"], rows)], THREE)
    assert reading(found, "not used") == "art, ice"


def test_two_columns_whose_names_differ_by_signs_alone_are_two(tmp_path):
    """Neither is dropped: which of them is meant is asked, and the answer counts."""
    behavior = simulate(THREE)
    rows = [list(row.values()) for row in rows_of(behavior)]
    rows = [[*row[:3], 2 - row[3], *row[3:]] for row in rows]
    path = write(tmp_path / "d.csv", ["participant", "block", "trial", "choice", "Choice ", "reward"], rows)
    with pytest.raises(TableError) as error:
        understand([path], THREE)
    assert [option for _, option in error.value.questions[0].answers] == ["--columns choice=choice", "--columns choice=Choice"]
    found = understand([path], THREE, TableSettings(columns={"choice": "Choice"}))
    assert_same(found.behavior, behavior)
    assert "choice" in reading(found, "not used")
    again = write(
        tmp_path / "e.csv", ["participant", "block", "trial", "Choice", "reward"], [[f"x{row[0]}", *row[1:3], *row[4:]] for row in rows]
    )
    both = understand([path, again], THREE, TableSettings(columns={"choice": "Choice"})).behavior  # a file that has one of the two
    np.testing.assert_array_equal(both.fields["choice"], np.tile(behavior.fields["choice"], (2, 1, 1)))


def test_one_column_that_two_files_write_otherwise_is_one(tmp_path):
    behavior, folder = simulate(THREE), tmp_path / "people"
    folder.mkdir()
    headers = ["participant", "block", "trial", "choice", "reward"], ["Participant", "Block", "Trial", "Choice", "Reward "]
    for n, header in enumerate(headers):
        some = behavior[np.arange(len(behavior)) % 2 == n]
        write(folder / f"{n}.csv", header, [list(row.values()) for row in rows_of(some)])
    assert len(understand([folder], THREE).behavior) == len(behavior)


def test_columns_of_json_that_are_shorter_than_others_hide_no_row(tmp_path):
    behavior, path = simulate(THREE), tmp_path / "d.json"
    rows = list(rows_of(behavior))
    columns = {"note": ["once"], **{name: [row[name] for row in rows] for name in rows[0]}}
    path.write_text(json.dumps(columns))
    assert_same(understand([path], THREE).behavior, behavior)


def test_a_cell_may_hold_a_whole_screen(tmp_path):
    behavior = simulate(THREE)
    rows = [[*row.values(), "x" * 150_000] for row in rows_of(behavior)]
    found = understand([write(tmp_path / "d.csv", ["participant", "block", "trial", "choice", "reward", "stimulus"], rows)], THREE)
    assert_same(found.behavior, behavior)


@dataclass(frozen=True)
class Arrows(Dots):
    """Which way, by signs that have no letters."""

    signs: tuple[str, ...] = ("<", ">")

    @property
    def fields(self):
        return (ta.Field("response", "categorical", labels=self.signs),)


@pytest.mark.parametrize("signs", [("<", ">"), ("左", "右"), ("A+", "A-"), ("none", "left"), ("-", "+")])
def test_labels_without_letters_and_labels_that_stand_for_nothing_elsewhere(tmp_path, signs):
    rows = [("a", t, signs[t % 3 > 0]) for t in range(8)]
    found = understand([write(tmp_path / "a.csv", ["participant", "trial", "response"], rows)], Arrows(signs))
    assert found.behavior.mask.all()
    assert found.behavior.fields["response"].ravel().tolist() == [int(t % 3 > 0) for t in range(8)]


def test_words_that_differ_by_signs_only_are_asked_about(tmp_path):
    rows = [("a", t, ("A+", "A-")[t % 2]) for t in range(8)]
    with pytest.raises(TableError, match="Which word"):
        understand([write(tmp_path / "a.csv", ["participant", "trial", "response"], rows)], Arrows(("this", "that")))
    with pytest.raises(TableError, match="Two of the codes"):
        understand([tmp_path / "a.csv"], Arrows(("this", "that")), TableSettings().with_options(codes=["response=A+,a+"]))


@dataclass(frozen=True)
class Recall(Dots):
    """Recalled or not."""

    @property
    def fields(self):
        return (ta.Field("recalled", "binary"),)


@pytest.mark.parametrize(
    ("no", "yes", "said"),
    [("miss", "hit", ()), ("Missed", "Hit", ()), ("-", "+", ["recalled=-,+"]), ("none", "one", ["recalled=none,one"])],
)
def test_a_word_beside_its_opposite_or_among_the_codes_is_no_missed_trial(tmp_path, no, yes, said):
    rows = [("a", t, "" if t == 5 else (no, yes)[t % 2]) for t in range(8)]
    path = write(tmp_path / "a.csv", ["participant", "trial", "recalled"], rows)
    found = understand([path], Recall(), TableSettings().with_options(codes=said)).behavior
    assert found.mask.ravel().tolist() == [t != 5 for t in range(8)]
    assert found.fields["recalled"].ravel().tolist() == [int(t % 2 and t != 5) for t in range(8)]
    if not said:
        assert understand([path], Recall(), TableSettings().with_options(missing=[no])).behavior.mask.sum() == 3


@pytest.mark.parametrize("where", [(7,), (7, 15)])
def test_a_quote_that_is_not_closed_swallows_nobody(tmp_path, where):
    rows = [(person, t, t % 3, t % 2, "fine") for person in "abcdef" for t in range(4)]
    for row in where:
        rows[row] = (*rows[row][:-1], '"good')
    path = write(tmp_path / "a.csv", ["participant", "trial", "choice", "reward", "note"], rows)
    with pytest.raises(ta.DataError, match=f"(?s)quote.*line {where[0] + 2}"):
        understand([path], FOUR)


def test_quoted_cells_may_hold_quotes_and_lines(tmp_path):
    path = write(
        tmp_path / "a.csv", ["participant", "trial", "choice", "note"], [("a", t, t % 2, '"he said ""no"", \nand, went"') for t in range(8)]
    )
    assert understand([path], Recall(), TableSettings().with_options(columns=["recalled=choice"])).behavior.mask.all()


def test_numbered_names_of_blocks_are_in_the_order_of_their_numbers(tmp_path):
    behavior = simulate(THREE)
    rows = [(r["participant"], f"Block {r['block'] + 1}", r["trial"], r["choice"], r["reward"]) for r in rows_of(behavior)]
    rows = rows[6:12] + rows[:6] + rows[12:]  # the first participant began with block 2
    found = understand([write(tmp_path / "a.csv", ["participant", "block", "trial", "choice", "reward"], rows)], THREE)
    assert_same(found.behavior, behavior)
    assert reading(found, "block") == "counted from 1"


def test_people_without_a_row_that_is_a_trial_are_named(tmp_path):
    header = ["participant", "phase", "trial", "choice", "reward"]
    rows = [(person, "practice" if person == "b" else "test", t, t % 4, t % 2) for person in "abc" for t in range(10)]
    found = understand([write(tmp_path / "a.csv", header, rows)], FOUR)
    assert reading(found, "left out") == "people of whom no row is a trial: b"
    chosen = understand([tmp_path / "a.csv"], FOUR, TableSettings().with_options(rows=["phase=practice"]))
    assert reading(chosen, "left out") == "people of whom no row is a trial: a, c"


def test_files_and_people_without_rows_are_named(tmp_path):
    trials = [{"trial": t, "choice": t % 4, "reward": t % 2} for t in range(10)]
    (tmp_path / "a.json").write_text(json.dumps({"a": trials, "b": []}))
    assert reading(understand([tmp_path / "a.json"], FOUR), "no row") == "in b: left out"
    one, two = (write(tmp_path / f"{name}.csv", list(trials[0]), rows) for name, rows in (("c", [r.values() for r in trials]), ("d", [])))
    assert reading(understand([one, two], FOUR), "no row") == "in d.csv: left out"


def test_json_of_several_kinds_loses_nobody(tmp_path):
    trials = [{"participant": "a", "trial": t, "choice": t % 4, "reward": t % 2} for t in range(10)]
    (tmp_path / "a.json").write_text(json.dumps([*trials, [{**row, "participant": "b"} for row in trials]]))
    with pytest.raises(ta.DataError, match="different kinds"):
        understand([tmp_path / "a.json"], FOUR)
    (tmp_path / "b.json").write_text("\n".join([json.dumps(trials), "null"]))
    assert len(understand([tmp_path / "b.json"], FOUR).behavior) == 1


@pytest.mark.parametrize("block", [0, 1])
def test_of_one_block_alone_it_is_asked_which_it_is(tmp_path, block):
    """All stopped after a block with the number 1: the first, counted from 1, or the second, counted from 0."""
    behavior = simulate(THREE)
    rows = [(r["participant"], 1, r["trial"], r["choice"], r["reward"]) for r in rows_of(behavior) if r["block"] == 0]
    path = write(tmp_path / "a.csv", ["participant", "block", "trial", "choice", "reward"], rows)
    with pytest.raises(TableError) as caught:
        understand([path], THREE)
    assert [answer for answer, _ in caught.value.questions[0].answers] == ["from 0", "from 1"]
    codes = ["block=1,2", "block=0,1"][block]
    found = understand([path], THREE, TableSettings().with_options(codes=[codes])).behavior
    np.testing.assert_array_equal(found.mask.all((0, 2)), np.arange(2) == block)


def test_a_block_that_nobody_began_with_is_not_taken_for_the_first(tmp_path):
    behavior = simulate(THREE)
    behavior = ta.Behavior(behavior.fields, behavior.mask & (np.arange(2) == 1)[:, None], behavior.participants)
    table = behavior.to_table(behavior.counting())
    table[table["block"] == 1].to_csv(tmp_path / "a.csv", index=False)
    assert_same(understand([tmp_path / "a.csv"], THREE).behavior, behavior)


def test_codes_of_blocks_name_all_of_them(tmp_path):
    behavior = simulate(THREE)
    rows = [(r["participant"], "BA"[r["block"]], *list(r.values())[2:]) for r in rows_of(behavior)]
    path = write(tmp_path / "a.csv", ["participant", "block", "trial", "choice", "reward"], rows)
    assert_same(understand([path], THREE, TableSettings().with_options(codes=["block=B,A"])).behavior, behavior)
    with pytest.raises(TableError, match=r"(?s)codes given for block do not fit.*also in the column: A"):
        understand([path], THREE, TableSettings().with_options(codes=["block=B,C"]))


@pytest.mark.parametrize("nobody", ["NA", "nan", ""])
def test_nobody_is_called_na(tmp_path, nobody):
    """Neither is who has no label a person of that name, nor are such rows dropped."""
    behavior = simulate(THREE)
    rows = [(nobody if i == 5 else r["participant"], *list(r.values())[1:]) for i, r in enumerate(rows_of(behavior))]
    with pytest.raises(TableError, match="1 rows have no participant"):
        understand([write(tmp_path / "a.csv", ["participant", "block", "trial", "choice", "reward"], rows)], THREE)


def test_two_lists_of_rows_in_one_object_are_not_one(tmp_path):
    rows = list(rows_of(simulate(THREE)))
    path = tmp_path / "a.json"
    path.write_text(json.dumps({"trials": rows[:20], "results": rows[20:]}))
    with pytest.raises(ta.DataError, match="several lists of rows"):
        understand([path], THREE)
    path.write_text(json.dumps({"trials": rows, "results": []}))
    assert understand([path], THREE).behavior.mask.all()


def test_a_group_by_any_name_is_one_in_what_is_imported(tmp_path):
    behavior = simulate(THREE)
    ages = {label: f"{40 + 10 * i}s" for i, label in enumerate(behavior.participants)}
    rows = [(*r.values(), ages[r["participant"]]) for r in rows_of(behavior)]
    path = write(tmp_path / "a.csv", ["participant", "block", "trial", "choice", "reward", "age_band"], rows)
    found = understand([path], THREE, TableSettings().with_options(columns=["group=age_band"]))
    again = tmp_path / "again.csv"
    found.to_table().to_csv(again, index=False)
    assert understand([again], THREE).groups.keys() == {"age_band"}
    assert understand([again], THREE).groups["age_band"].tolist() == found.groups["age_band"].tolist() == list(ages.values())


@pytest.mark.parametrize("codes", ["block=Game 2,Game 1", "block=2,1"])
def test_numbered_names_of_blocks_are_given_as_they_are_or_by_their_numbers(tmp_path, codes):
    behavior = simulate(THREE)
    rows = [(r["participant"], f"Game {2 - r['block']}", *list(r.values())[2:]) for r in rows_of(behavior)]
    path = write(tmp_path / "a.csv", ["participant", "block", "trial", "choice", "reward"], rows)
    assert_same(understand([path], THREE, TableSettings().with_options(codes=[codes])).behavior, behavior)
