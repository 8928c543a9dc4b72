"""Sixty broken tables: each is answered by one message that names all that is wrong with it, with a fix for each."""

from itertools import combinations, cycle

import pytest
from people import THREE, rows_of, simulate, write

from tellapart import DataError
from tellapart.data.problems import TableError
from tellapart.data.settings import TableSettings
from tellapart.data.understand import understand

LETTERS = cycle("abcde")
HEADER = ["participant", "block", "trial", "choice", "reward"]


def table():
    """A sound table as a header and rows of texts."""
    return list(HEADER), [[str(value) for value in row.values()] for row in rows_of(simulate(THREE))]


def put(column, row, text):
    """A breakage that writes a text into one cell."""

    def breakage(header, rows):
        rows[row][header.index(column)] = text

    return breakage


def everywhere(column, change):
    """A breakage that changes all cells of a column."""

    def breakage(header, rows):
        for row in rows:
            row[header.index(column)] = change(row[header.index(column)])

    return breakage


def rename(column, name):
    def breakage(header, rows):
        header[header.index(column)] = name

    return breakage


def ragged(header, rows):
    rows[7].append("surplus")


def duplicate(header, rows):
    rows.append(list(rows[3]))


def third_block(header, rows):
    rows += [["007", "2", *row[2:]] for row in rows[:6]]


BREAKAGES = {
    "participant": {
        "no label": (put("participant", 4, ""), "1 rows have no participant"),
        "no column of labels": (rename("participant", "xyz"), "No column is named like participant"),
    },
    "place": {
        "trial is a word": (put("trial", 9, "nine"), "is no count of trials"),
        "trial is empty": (put("trial", 9, ""), "is no count of trials"),
        "trial is a fraction": (put("trial", 9, "2.5"), "is no count of trials"),
        "trial twice": (duplicate, "about a trial that another row is about too"),
        "block is empty": (put("block", 2, ""), "The column 'block' is empty in 1 rows"),
        "a block too many": (third_block, "has 3 blocks, and the task 2"),
    },
    "choice": {
        "an arm too many": (put("choice", 5, "7"), "Does 7 stand for a missed trial"),
        "two odd numbers": (lambda h, r: (put("choice", 5, "7")(h, r), put("choice", 6, "9")(h, r)), "are no 3 categories"),
        "a fraction": (put("choice", 5, "0.5"), "are no 3 categories"),
        "a word among numbers": (put("choice", 5, "oops"), "both numbers and words"),
        "no column of choices": (rename("choice", "qqq"), "No column is named like choice"),
        "words without an order": (
            everywhere("choice", lambda text: {"0": "red", "1": "tan", "2": "blue"}[text]),
            "Which word of 'choice'",
        ),
        "too many words": (everywhere("choice", lambda text: f"{next(LETTERS)}x"), "5 different words"),
    },
    "reward": {
        "empty beside a choice": (put("reward", 11, ""), "is empty in 1 rows in which there is a response"),
        "a word among numbers": (put("reward", 11, "bad"), "both numbers and words"),
        "three numbers": (put("reward", 11, "5"), "are not two numbers"),
        "1 and 2": (everywhere("reward", lambda text: str(int(text) + 1)), "Which number of 'reward'"),
        "no column of rewards": (rename("reward", "zzz"), "No column is named like reward"),
    },
    "file": {
        "a row too long": (ragged, "have more or fewer values than the header"),
    },
}

SINGLE = [((group, name),) for group, items in BREAKAGES.items() for name in items]
"""What is wrong with each table: pairs of where and what."""

PAIRS = [
    ((a, x), (b, y)) for a, b in combinations(["choice", "reward", "participant", "file"], 2) for x in BREAKAGES[a] for y in BREAKAGES[b]
]
TRIPLES = [
    (("choice", x), ("reward", y), ("place", z))
    for (x, y, z) in zip(
        BREAKAGES["choice"], [*BREAKAGES["reward"], "1 and 2", "three numbers"], [*BREAKAGES["place"], "trial twice"], strict=False
    )
]
BROKEN = SINGLE + TRIPLES + PAIRS[:: max(1, len(PAIRS) // 33)]


def test_there_are_sixty():
    assert len(BROKEN) >= 60
    assert len(set(BROKEN)) == len(BROKEN)


@pytest.mark.parametrize("wrong", BROKEN, ids=lambda wrong: " + ".join(f"{group}: {name}" for group, name in wrong))
def test_everything_that_is_wrong_is_named_at_once(tmp_path, wrong):
    header, rows = table()
    expected = []
    for group, name in sorted(wrong, key=lambda pair: pair[1].startswith("no column")):  # renaming last: others look for the column
        breakage, message = BREAKAGES[group][name]
        breakage(header, rows)
        expected.append(message)
    with pytest.raises(TableError) as caught:
        understand([write(tmp_path / "data.csv", header, rows)], THREE)
    message = str(caught.value)
    for text in expected:
        assert text in message
    assert len(caught.value.problems) + len(caught.value.questions) == len(wrong)
    assert all(problem.fix for problem in caught.value.problems)
    assert all(question.answers for question in caught.value.questions)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("empty.csv", b"", "nothing in the data table"),
        ("blank.csv", b"\n\n", "nothing in the data table"),
        ("header.csv", b"participant,trial,choice,reward\n", "There is no row"),
        ("numbers.csv", b"1,2,3\n4,5,6\n", "holds numbers, not names"),
        ("twice.csv", b"participant,choice,choice,reward\na,1,1,1\n", "more than once"),
        ("binary.csv", b"\x00\x01\x02\x03", "is not text"),
        ("broken.json", b'[{"choice": 1,]', "not valid JSON"),
        ("empty.json", b"[]", "no row"),
        ("photo.png", b"x", "This kind of file is unknown"),
        ("half.tsv", b"\xff\xfea", "cannot be read"),
        ("half.json", b"\xff\xfe{", "cannot be read"),
        ("deep.json", b"[" * 100_000, "cannot be read"),
    ],
)
def test_files_that_are_no_tables(tmp_path, name, content, message):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(DataError, match=message):
        understand([tmp_path / name], THREE)


def test_files_that_are_not_there(tmp_path):
    with pytest.raises(DataError, match="no such data file"):
        understand([tmp_path / "nowhere.csv"], THREE)
    with pytest.raises(DataError, match="no data file in the folder"):
        understand([tmp_path], THREE)


def test_answers_that_do_not_fit(tmp_path):
    header, rows = table()
    path = write(tmp_path / "data.csv", header, rows)
    wrong = TableSettings(columns={"reward": "nix"}, codes={"choice": ("left", "right")}, rows={"phase": ("test",)})
    with pytest.raises(TableError) as caught:
        understand([path], THREE, wrong)
    for text in ("There is no column 'nix'", "The codes given for choice do not fit", "There is no column 'phase'"):
        assert text in str(caught.value)
    with pytest.raises(DataError, match="cannot be understood"):
        TableSettings().with_options(columns=["choice"])


@pytest.mark.parametrize("text", ["nan", "inf"])
@pytest.mark.parametrize("column", ["block", "trial", "choice"])
def test_numbers_that_are_none_are_named(tmp_path, column, text):
    header, rows = table()
    put(column, 4, text)(header, rows)
    put("reward", 4, "1")(header, rows)
    path = write(tmp_path / "data.csv", header, rows)
    if (column, text) == ("choice", "nan"):
        assert not understand([path], THREE).behavior.mask[0, 0, 4]
        return
    with pytest.raises(TableError, match=text):
        understand([path], THREE)


def test_settings_about_nothing_are_named(tmp_path):
    header, rows = table()
    settings = TableSettings(columns={"chioce": "choice"}, codes={"rewrad": ("0", "1")})
    with pytest.raises(TableError) as caught:
        understand([write(tmp_path / "data.csv", header, rows)], THREE, settings)
    assert [problem.where for problem in caught.value.problems] == ["--columns chioce=…", "--codes rewrad=…"]


def test_decimal_commas_between_commas(tmp_path):
    path = tmp_path / "data.csv"
    path.write_text("participant,trial,choice,reward\n" + "".join(f"a,{t},0,{t % 2},0\n" for t in range(1, 9)))
    with pytest.raises(TableError, match="decimal commas, save the table with semicolons") as caught:
        understand([path], THREE)
    assert "There is no row" not in str(caught.value)


def test_a_name_with_spaces_is_to_be_quoted(tmp_path):
    header, rows = table()
    header[header.index("choice")] = "machine taken"
    with pytest.raises(TableError, match='--columns choice="NAME"'):
        understand([write(tmp_path / "data.csv", header, rows)], THREE)


def test_rows_that_may_or_may_not_be_trials(tmp_path):
    """Twice as many rows as trials, of two kinds of task: which are meant?"""
    header, rows = table()
    both = [[*row, task] for task in ("bandit", "nback") for row in rows]
    path = write(tmp_path / "data.csv", [*header, "task"], both)
    with pytest.raises(TableError, match="Which rows are trials"):
        understand([path], THREE)
    found = understand([path], THREE, TableSettings(rows={"task": ("bandit",)}))
    assert found.behavior.mask.all()
