"""What the researcher says: settings, texts, conditions, screens."""

from collections import Counter
from hashlib import sha256
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from coins import Coins, bet
from kit import DESIGN, bandit, plan_of, play_block, questions, somebody

import tellapart as ta
from tellapart.scaffold import known_examples
from tellapart.server.collected import collect
from tellapart.server.database import Database, sqlite_url
from tellapart.server.plan import make_plan
from tellapart.server.playing import practice
from tellapart.server.sessions import Sessions
from tellapart.server.settings import Settings, read_settings
from tellapart.server.texts import USUAL, read_texts, write_texts
from tellapart.tasks.orders import williams

EXAMPLES = Path(ta.__file__).parent / "examples"


@pytest.mark.parametrize("blocks", range(2, 8))
def test_counterbalanced_orders_balance_places_and_neighbours(blocks):
    orders = williams(blocks)
    places = Counter((place, block) for order in orders for place, block in enumerate(order))
    pairs = Counter(pair for order in orders for pair in pairwise(order))
    assert len(set(places.values())) == 1
    assert len(pairs) == blocks * (blocks - 1)
    assert len(set(pairs.values())) == 1


def test_conditions_are_designs_in_orders():
    study = bandit()
    assert [c.order for c in plan_of(study, [DESIGN]).conditions] == [(0, 1), (1, 0)]
    assert [c.name for c in plan_of(study, [DESIGN, DESIGN[::-1]]).conditions] == ["A", "B", "C", "D"]
    assert [c.order for c in plan_of(study, [DESIGN], order="designed").conditions] == [(0, 1)]
    drawn = plan_of(study, [DESIGN], order="random").conditions[0]
    assert {tuple(drawn.order_for(seed)) for seed in range(20)} == {(0, 1), (1, 0)}


def test_orders_that_are_alike_are_one_condition():
    same = [[0.2, 0.5, 0.8]] * 2
    assert [c.order for c in plan_of(bandit(), [same]).conditions] == [(0, 1)]
    assert [c.order for c in plan_of(bandit(), [same], order="random").conditions] == [None]
    three = [[0.2, 0.5, 0.8], [0.2, 0.5, 0.8], [0.1, 0.1, 0.9]]
    played = [tuple(three[block][0] for block in c.order) for c in plan_of(bandit(blocks=3), [three]).conditions]
    assert sorted(played) == [(0.1, 0.2, 0.2), (0.2, 0.1, 0.2), (0.2, 0.2, 0.1)]


def test_blocks_that_cannot_change_places_are_left_in_order(monkeypatch):
    study = bandit()
    space = ta.DesignSpace(2, study.task.design_space.variables)
    monkeypatch.setattr(ta.BernoulliBandit, "design_space", property(lambda self: space))
    assert [c.order for c in plan_of(study, [DESIGN]).conditions] == [(0, 1)]
    with pytest.raises(ta.StudyError, match="cannot change places"):
        plan_of(study, [DESIGN], order="random")


@ta.agent(name="carries-on", parameters={"alpha": ta.Uniform(0, 1)}, resets=False)
class CarriesOn:
    def start(self, arms):
        return np.full(arms, 1 / 3)

    def choose(self, state):
        return state

    def learn(self, state, choice, reward):
        state *= 1 - self.alpha
        state[choice] += self.alpha


def test_blocks_do_not_change_places_if_a_model_carries_memory_from_one_to_the_next():
    """Data are read in the order of the design: a participant who played them in another one would be read wrongly."""
    study = ta.Study(bandit().task, [ta.WSLTS(), CarriesOn()])
    assert [c.order for c in plan_of(study, [DESIGN]).conditions] == [(0, 1)]
    with pytest.raises(ta.StudyError, match="matters to carries-on"):
        plan_of(study, [DESIGN], order="counterbalanced")


@pytest.mark.parametrize("kept", [1.0, 0.0])
def test_blocks_of_a_simulator_change_places_only_if_one_says_so_and_no_memory_is_found(kept):
    """It says nothing of its memory: each block begins as the one before it paid. Seeds 0 to 7 notice it, none where there is none."""

    @ta.model(name="learner", parameters={"alpha": ta.Uniform(0.1, 0.9), "beta": ta.Uniform(1, 8)}, vectorised=True)
    def learner(parameters, designs, rng, task):
        environment, values, block = task.environment(designs, rng), np.full((len(designs), 3), 0.5), 0
        while not environment.done:
            if environment.block != block:
                values, block = 0.5 + kept * (values - 0.5), environment.block
            choice = (parameters["beta"][:, None] * values + rng.gumbel(size=values.shape)).argmax(1)
            chosen = np.arange(len(values)), choice
            values[chosen] += parameters["alpha"] * (environment.step({"choice": choice})["reward"] - values[chosen])
        return environment.behavior

    study = ta.Study(ta.BernoulliBandit(3, 2, 20), [ta.WSLTS(), learner()])
    assert [c.order for c in plan_of(study, [DESIGN]).conditions] == [(0, 1)]
    if kept:
        with pytest.raises(ta.StudyError, match="matters to learner"):
            plan_of(study, [DESIGN], order="counterbalanced")
    else:
        assert [c.order for c in plan_of(study, [DESIGN], order="counterbalanced").conditions] == [(0, 1), (1, 0)]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("participant = 3", "unknown"),
        ("participants = -1", "participants"),
        ("order = 'sideways'", "order"),
        ("codes.address = 'javascript:alert(1)'", "address"),
        ("[codes]\nadress = 'https://example.org/{code}'", "did you mean 'address'"),
        ("[codes]\ncompletion = 'C1'\npolicy_seconds = 3", r"belongs above \[codes\]"),
        ("participants = true", "not true or false"),
        ("[limits]\nsession = ['x', 1]", r"'session.0'"),
        ("x = [", "TOML"),
    ],
)
def test_wrong_settings_are_explained(tmp_path, text, words):
    (tmp_path / "serve.toml").write_text(text)
    with pytest.raises(ta.StudyError, match=words):
        read_settings(tmp_path)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[consnet]\nheading = ''", "consent"),
        ("title = 3", "another kind"),
        ("[[question]]\nask = '?'\noptions = ['a', 'b']\nanswer = 2", "question"),
        ("question = 3", "question"),
        ("[question]\nask = '?'\noptions = ['a', 'b']\nanswer = 0", "in two brackets"),
        ("[[question]]\nask = '?'\noption = ['a', 'b']\nanswer = 0", "question 1, options: Field required"),
        ("[instructions]\npages = [1]", "a list of texts"),
        ("[", "TOML"),
    ],
)
def test_wrong_texts_are_explained(tmp_path, text, words):
    (tmp_path / "texts.toml").write_text(text)
    with pytest.raises(ta.StudyError, match=words):
        read_texts(tmp_path)


def test_a_code_that_was_pasted_with_spaces_is_the_code(tmp_path):
    (tmp_path / "serve.toml").write_text("[codes]\ncompletion = ' C1 '")
    assert read_settings(tmp_path).codes.link("completion").endswith("cc=C1")


def test_a_byte_order_mark_is_no_mistake(tmp_path):
    """Some editors on Windows write one before the first line."""
    (tmp_path / "texts.toml").write_text('title = "Mine"', encoding="utf-8-sig")
    (tmp_path / "serve.toml").write_text("practice = 7", encoding="utf-8-sig")
    assert read_texts(tmp_path).words["title"] == "Mine"
    assert read_settings(tmp_path).practice == 7


def test_what_new_writes_is_the_usual_with_the_examples_own_words(tmp_path):
    (tmp_path / "texts.toml").write_text((EXAMPLES / "bandit" / "texts.toml").read_text())
    before = read_texts(tmp_path).words
    write_texts(tmp_path)
    assert read_texts(tmp_path).words == before
    assert read_settings(tmp_path) == Settings()
    assert all(f"[{section}]" in (tmp_path / "texts.toml").read_text() for section in ("consent", "debrief", "network"))
    assert (tmp_path / "texts.toml").read_text().count("\n") > USUAL.read_text().count("\n")


@pytest.mark.parametrize("name", known_examples())
def test_every_example_can_be_served(name):
    study = ta.Study.from_file(EXAMPLES / name)
    design = study.task.baseline(1, np.random.default_rng(1))[0]
    plan = make_plan(study, [design], EXAMPLES / name)
    shown = plan.screen.shown(design[0], 3, np.random.default_rng(0))
    assert len(shown) == 3
    assert plan.texts.words["title"] != "A study of decisions"


def test_examples_read_answers_right():
    """Which answers mean what: sides of dots, typed numbers, sums."""
    rng = np.random.default_rng(0)
    dots, memory, sums = (ta.Study.from_file(EXAMPLES / name).task for name in ("accumulation", "retention", "discounting"))
    shown = dots.screen.shown(np.array([0.2, 10.0]), 1, rng)[0]
    assert dots.screen.responses(dots, shown, shown["side"], 0.7) == {"correct": 1.0, "seconds": 0.7}
    assert dots.screen.responses(dots, shown, 1 - shown["side"], 0.7)["correct"] == 0.0
    assert dots.screen.answer_of(dots, shown, {"correct": 1.0, "seconds": 0.7}) == shown["side"]
    shown = memory.screen.shown(np.array([3.0]), 2, rng)[0]
    assert memory.screen.responses(memory, shown, f" {shown['_number']} ", 1.0) == {"recalled": 1.0}
    assert memory.screen.responses(memory, shown, memory.screen.answer_of(memory, shown, {"recalled": 0.0}), 1.0) == {"recalled": 0.0}
    assert sums.screen.shown(np.array([20.0, 55.5, 0, 7]), 1, rng)[0]["options"] == ["$20.00 today", "$55.50 in 7 days"]


def test_a_task_without_a_screen_has_one_all_the_same():
    class Plain(type(questions().task)):
        screen = ta.Task.screen

    screen = Plain().screen
    assert screen.options == ("no", "yes")
    assert screen.shown(np.array([0.25]), 1, np.random.default_rng(0)) == [{"lines": ["difference: 0.25"]}]


def test_a_screen_that_is_not_there_is_explained(tmp_path, monkeypatch):
    import kit

    monkeypatch.setattr(kit, "SCRIPT", ["nowhere.js"])
    with pytest.raises(ta.StudyError, match=r"nowhere\.js"):
        plan_of(questions(), [[[0.2], [0.8]]], tmp_path)


def shows(**stimulus):
    return lambda row, trials, rng: [stimulus] * trials


@pytest.mark.parametrize(
    ("screen", "words"),
    [
        (ta.Screen(stimuli=lambda row, trials, rng: [{}]), "at each trial"),
        (ta.Screen(stimuli=lambda row, trials, rng: [{}] * 4), "3 stimuli"),  # as many as a block has, but not as many as the practice
        (ta.Screen(stimuli=shows(dots=np.zeros(2))), "not JSON"),
        (ta.Screen(stimuli=shows(dots=1), introduction=lambda row, stimuli: {"n": row}), "not JSON"),
        (ta.Screen(stimuli=shows(dots=float("nan"))), "not JSON"),
        (ta.Screen(read=lambda shown, answer: {"secnd": answer}), "not what the task records"),
        (ta.Screen(options=("no", "yes", "maybe")), "2 for option 3 of 3"),
        (
            ta.Screen(stimuli=lambda row, trials, rng: [{"n": t} for t in range(trials)], read=lambda shown, k: {"second": shown["n"]}),
            "2 for",
        ),
        (ta.Screen(seconds="second"), "which response an answer gives"),
        (ta.Screen(seconds="pace"), "not what the task records"),
        (ta.Screen("number", answer="number", seconds="pace"), "not what the task records"),
        (ta.Screen(stimuli=shows(_right=(0, 1))), "something else when it is read again"),
        (ta.Screen(stimuli=shows(_means={0: 1, 1: 0}), read=lambda shown, k: {"second": shown["_means"][k]}), "keys that are texts"),
        (ta.Screen(stimuli=shows(options=["only one"])), "another number of options"),
        (ta.Screen(stimuli=shows(options=["one", "two", "three"])), "another number of options"),
        (ta.Screen(introduction=lambda row, stimuli: None), "introduction of a block is none"),
        (lambda: ta.Screen(), "@property"),
    ],
)
def test_a_screen_that_cannot_work_is_found_before_anybody_takes_part(screen, words):
    study = questions()
    task = type("Broken", (type(study.task),), {"screen": screen})()
    with pytest.raises(ta.StudyError, match=words):
        plan_of(ta.Study(task, study.models), [[[0.2], [0.8]]])


def test_a_screen_that_cannot_show_the_practice_is_found_before_anybody_takes_part():
    study = questions()
    few = property(lambda task: ta.Screen(stimuli=lambda row, trials, rng: [{}] * 4))
    with pytest.raises(ta.StudyError, match=r"3 stimuli[\s\S]*practice"):
        plan_of(ta.Study(type("Few", (type(study.task),), {"screen": few})(), study.models), [[[0.2], [0.8]]])


def test_the_practice_of_a_task_that_records_response_times_shows_outcomes(tmp_path):
    class Timed(ta.BernoulliBandit):
        name = "timed"
        fields = property(lambda task: (*ta.BernoulliBandit.fields.fget(task), ta.Field("seconds", "positive")))
        screen = property(lambda task: ta.Screen("bandit", seconds="seconds"))

    plan = plan_of(ta.Study(Timed(3, 2, 4), bandit().models, name="timed"), [DESIGN], order="designed")
    sessions = Sessions(plan, Database(sqlite_url(tmp_path / "people.sqlite")))
    assert [len(trial) for trial in sessions.practice(sessions.start(somebody()).key)["outcomes"]] == [3, 3, 3]


def test_a_field_that_would_share_a_column_of_the_table_is_refused(tmp_path):
    study, database = questions(), Database(sqlite_url(tmp_path / "people.sqlite"))
    sessions = Sessions(plan_of(study, [[[0.2], [0.8]]]), database)
    truth = {"model": "guess", "parameters": {}}
    play_block(sessions, sessions.start(somebody(), simulated=True, truth=truth).key)
    with database.reading() as connection:
        columns = collect(connection, study.task).table().columns
    others = [name for name in columns if name not in ("second", "design.difference")]
    assert len(others) == 10
    for name in others:
        task = type("Shared", (type(study.task),), {"fields": (ta.Field(name, "binary"),)})()
        with pytest.raises(ta.StudyError, match=rf"another column[\s\S]*{name}"):
            plan_of(ta.Study(task, study.models), [[[0.2], [0.8]]], order="designed")


class TimedCoins(Coins):
    """Response times are recorded, and an option means what the screen says."""

    @property
    def fields(self):
        return *super().fields, ta.Field("pace", "positive")

    @property
    def screen(self):
        return ta.Screen(options=("one", "other"), seconds="pace", read=lambda shown, option: {"coin": 1 - option})


def test_the_practice_shows_outcomes_whatever_the_task_records():
    plan = plan_of(ta.Study(TimedCoins(), [bet("one"), bet("two")]), [[[0.2, 0.7], [0.5, 0.1]]])
    outcomes = practice(plan, 1)["outcomes"]
    assert [[list(one) for one in trial] for trial in outcomes] == [[["heads"]] * 2] * 3


def test_what_is_vendored_is_as_it_was_published():
    """jsPsych and its plugins as npm has them, each with its version in its name, and their licence."""
    folder = Path(ta.__file__).parent / "server" / "static" / "vendor" / "jspsych"
    sums = dict(reversed(line.split()) for line in (folder / "SHA256SUMS").read_text().splitlines())
    assert sums == {file.name: sha256(file.read_bytes()).hexdigest() for file in folder.glob("*.js")}
    assert "MIT" in (folder / "LICENSE.txt").read_text()
    pages = (folder.parents[1] / "index.html").read_text()
    assert all(name in pages for name in sums)


@pytest.mark.parametrize(
    "words",
    [
        '[pause]\ntext = "{bloks} of {blocks}"\n',
        '[instructions]\npages = ["one", "{bloks}"]\n',
        '[block]\ntext = "{bloks} of { blocks }"\n',
    ],
)
def test_a_number_that_no_page_knows_is_refused(tmp_path, words):
    (tmp_path / "texts.toml").write_text(words)
    with pytest.raises(ta.StudyError) as error:
        read_texts(tmp_path)
    assert "{bloks}" in str(error.value)
    assert "{blocks}" in str(error.value)


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ('[debrief]\ntext = "Your code is {label}"\n', "{blocks}, {points}, {trials}"),
        ('[consent]\nheading = "Part {block}"\n', "{blocks}, {points}, {trials}"),
        ('[block]\nstart = "Start {block}"\n', "no braces: this text is shown as it stands"),
        ('title = "{blocks} parts"\n', "no braces: this text is shown as it stands"),
        ('[trial]\npoints = "{points} of {trials}"\n', "{points}"),
        ('[[question]]\nask = "{block}?"\noptions = ["a", "b"]\nanswer = 1\n', "{blocks}, {points}, {trials}"),
    ],
)
def test_a_number_that_exists_on_another_page_is_refused(tmp_path, words, expected):
    (tmp_path / "texts.toml").write_text(words)
    with pytest.raises(ta.StudyError) as error:
        read_texts(tmp_path)
    assert error.value.expected == expected


def test_the_usual_words_have_no_number_that_their_page_does_not_know(tmp_path):
    (tmp_path / "texts.toml").write_text(USUAL.read_text("utf-8"))
    assert read_texts(tmp_path).public() == read_texts(None).public()


def test_words_of_a_screen_of_ones_own_hold_what_they_like(tmp_path):
    (tmp_path / "texts.toml").write_text('[own]\nhint = "You win {reward}"\n')
    assert read_texts(tmp_path).public()["own"]["hint"] == "You win {reward}"


def test_tables_among_words_of_ones_own_are_kept(tmp_path):
    (tmp_path / "texts.toml").write_text('[own.labels]\nleft = "L"\n[outcomes.money]\n0 = "nothing"\n')
    words = read_texts(tmp_path).public()
    assert words["own"]["labels"] == {"left": "L"}
    assert words["outcomes"] == {"reward": ["Nothing", "+1"], "money": {"0": "nothing"}}


def test_a_design_that_is_given_twice_is_explained():
    with pytest.raises(ta.StudyError, match="Two designs are the same"):
        plan_of(bandit(), [DESIGN, DESIGN])


def test_a_screen_that_changes_what_it_is_given_changes_no_design(monkeypatch):
    def stimuli(row, trials, rng):
        row *= 0.5
        return [{"prompt": "?", "options": ["a", "b"]}] * trials

    study, design = questions(), np.array([[0.8], [0.4]])
    monkeypatch.setattr(type(study.task), "screen", property(lambda task: ta.Screen("choice", stimuli=stimuli)))
    plan = plan_of(study, [design])
    np.testing.assert_array_equal(design, [[0.8], [0.4]])
    np.testing.assert_array_equal(plan.conditions[0].design, [[0.8], [0.4]])
