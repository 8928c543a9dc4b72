"""The pages in a real browser: by keyboard, by touch, reloaded, offline, closed, twice at once."""

import shutil
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import kit
import numpy as np
import pytest
from kit import DESIGN, QuickBandit, plan_of, questions, quick

import tellapart as ta
from tellapart import understand
from tellapart.server import store
from tellapart.server.app import create_app
from tellapart.server.collected import collect
from tellapart.server.exports.jspsych import write_folder
from tellapart.server.serving import in_background

sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="there is no chromium")

PERSON = "?PROLIFIC_PID=5f2d8c1e9ab0&STUDY_ID=s1&SESSION_ID=x1"
PHONE = {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True}


@pytest.fixture(scope="module")
def browser():
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--process-per-site"])
        yield browser
        browser.close()


@contextmanager
def serving(study, design, database, folder=None, **settings):
    settings = {"practice": 1, "codes": {"completion": "DONE1"}, **settings}
    app = create_app(
        plan_of(study, [design], folder, **settings) if folder is None else plan_of(study, [design], folder), database, "the-token"
    )
    with in_background(app, "127.0.0.1", 0) as address:
        yield address


@pytest.fixture
def bandit(sqlite):
    with serving(quick(), DESIGN, sqlite) as address:
        yield address


@pytest.fixture
def asked(sqlite):
    with serving(questions(), [[0.2], [0.8]], sqlite, practice=0) as address:
        yield address


@pytest.fixture(scope="module")
def all_pages(browser):
    """One context for the file: each server has a port, and so a storage, of its own; an open page keeps its process for the next one."""
    context = browser.new_context(reduced_motion="reduce")
    context.new_page()
    return context


@pytest.fixture
def context(all_pages):
    yield all_pages
    all_pages.set_offline(False)
    all_pages.clear_cookies()
    for page in all_pages.pages[1:]:
        page.close()


def watched(page, address):
    """Everything that the page does wrong: errors, broken policies, requests to anybody else."""
    wrong = []
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on(
        "console",
        lambda message: wrong.append(message.text) if message.type in ("error", "warning") and "net::" not in message.text else None,
    )
    page.on("request", lambda request: None if request.url.startswith((address, "data:", "blob:")) else wrong.append(request.url))
    return wrong


def consent(page, address, query=PERSON):
    page.goto(f"{address}/{query}")
    page.get_by_role("button", name="I agree").click()


def to_first_trial(page):
    """Instructions, practice, and the page before the first block, by Enter."""
    page.get_by_role("heading", name="How it works").wait_for()
    page.keyboard.press("Enter")
    if (
        page.get_by_role("button", name="Practise").or_(ready(page)).or_(page.get_by_role("button", name="Start")).first.inner_text()
        == "Practise"
    ):
        page.keyboard.press("Enter")
        choose(page, "1")
    page.get_by_role("button", name="Start").wait_for()
    page.keyboard.press("Enter")


def ready(page):
    return page.locator(".options:not(.done) .option").first


def choose(page, key):
    """Answer a trial, and wait until the next one or a page is there."""
    ready(page).wait_for()
    before = where(page)
    page.keyboard.press(key)
    page.wait_for_function(
        "before => document.getElementById('bar').hidden || document.getElementById('where').textContent !== before",
        arg=before,
        polling=20,
    )


def where(page):
    return page.locator("#where").inner_text()


def people(database):
    with database.reading() as connection:
        return collect(connection, quick().task).rows


def test_a_whole_run_by_keyboard(context, bandit, sqlite):
    page = context.new_page()
    page.emulate_media(reduced_motion="no-preference")
    wrong = watched(page, bandit)
    consent(page, bandit)
    to_first_trial(page)
    for key in "123":
        choose(page, key)
    page.get_by_role("heading", name="Part 2 of 2").wait_for()
    page.keyboard.press("Enter")
    for key in "321":
        choose(page, key)
    assert page.locator("#link").count() == 0
    page.get_by_role("heading", name="What this was about").wait_for()
    page.keyboard.press("Enter")
    page.locator("#link").wait_for()
    assert page.locator("#link").get_attribute("href") == "https://app.prolific.com/submissions/complete?cc=DONE1"
    assert len(people(sqlite)) == 6
    assert all(row["finished"] for row in people(sqlite))
    assert wrong == []


def test_a_whole_run_by_touch_on_a_phone(browser, bandit, sqlite):
    context = browser.new_context(**PHONE, reduced_motion="reduce")
    page = context.new_page()
    wrong = watched(page, bandit)
    page.goto(bandit)
    for name in ("I agree", "Next", "Practise"):
        page.get_by_role("button", name=name).tap()
    for part in range(2):
        if part == 0:
            ready(page).tap()
        page.get_by_role("button", name="Start" if part == 0 else "Go on").tap()
        for trial in range(3):
            page.get_by_text(f"{trial + 1} of 3").wait_for()
            ready(page).wait_for()
            assert page.evaluate("document.documentElement.scrollWidth") <= 390
            box = page.locator(".option").nth(trial).bounding_box()
            assert min(box["width"], box["height"]) >= 44
            page.locator(".option").nth(trial).tap()
            assert page.evaluate("document.getAnimations().length") == 0
    page.get_by_role("button", name="Finish").tap()
    page.get_by_role("heading", name="All done").wait_for()
    assert len(people(sqlite)) == 6
    assert wrong == []
    context.close()


def test_a_reload_goes_on_where_it_was(context, bandit, sqlite):
    page = context.new_page()
    consent(page, bandit)
    to_first_trial(page)
    choose(page, "1")
    choose(page, "2")
    page.get_by_text("3 of 3").wait_for()
    page.reload()
    page.get_by_role("button", name="Go on").click()
    ready(page).wait_for()
    assert "3 of 3" in where(page)
    assert len(people(sqlite)) == 2


def test_offline_in_the_middle_loses_nothing(context, asked, sqlite):
    """A task without outcomes goes on offline; the answers wait on the device, and arrive when the network is back."""
    page = context.new_page()
    consent(page, asked)
    to_first_trial(page)
    choose(page, "1")
    context.set_offline(True)
    for key in "21":
        choose(page, key)
    ready(page).wait_for()
    page.keyboard.press("2")
    page.get_by_text("No connection").wait_for()
    assert len(outbox(page)) == 3
    context.set_offline(False)
    page.get_by_role("button", name="Go on").click()
    ready(page).wait_for()
    assert outbox(page) == []
    with sqlite.reading() as connection:
        assert len(collect(connection, questions().task).rows) == 4


OUTBOX = "JSON.parse(Object.entries(localStorage).find(([key]) => key.endsWith('outbox'))?.[1] ?? '[]')"


def outbox(page):
    return page.evaluate(OUTBOX)


def put_into_outbox(page, entries):
    """Put entries, a JavaScript expression, in the place of what waits on the device."""
    box = "Object.keys(localStorage).find((key) => key.endsWith('outbox'))"
    page.evaluate(f"() => localStorage.setItem({box}, JSON.stringify({entries}))")


def test_an_outcome_that_cannot_be_fetched_is_waited_for(context, bandit, sqlite):
    page = context.new_page()
    consent(page, bandit)
    to_first_trial(page)
    context.set_offline(True)
    ready(page).wait_for()
    page.keyboard.press("2")
    page.get_by_text("No connection").wait_for()
    assert people(sqlite) == []
    context.set_offline(False)
    page.get_by_text("2 of 3").wait_for()
    assert len(people(sqlite)) == 1


def closed_and_opened(context, page, address):
    """A tab is closed, the network comes back, and the participant opens the page again."""
    page.close()
    context.set_offline(False)
    page = context.new_page()
    page.goto(f"{address}/{PERSON}")
    page.get_by_role("button", name="Go on").click()
    return page


def test_a_closed_tab_leaves_nothing_unsent_for_good(context, asked, sqlite):
    page = context.new_page()
    consent(page, asked)
    to_first_trial(page)
    context.set_offline(True)
    choose(page, "1")
    choose(page, "2")
    page = closed_and_opened(context, page, asked)
    page.get_by_text("Question 2").wait_for()
    with sqlite.reading() as connection:
        assert len(collect(connection, questions().task).rows) == 2


def test_an_answer_that_cannot_be_kept_takes_none_with_it_that_was_given_before(context, asked, sqlite):
    page = context.new_page()
    consent(page, asked)
    to_first_trial(page)
    context.set_offline(True)
    for key in "121":
        choose(page, key)
    put_into_outbox(page, f"({OUTBOX}).map((entry) => (entry.trial === 2 ? {{ ...entry, answer: 1e13 }} : entry))")
    page = closed_and_opened(context, page, asked)
    page.get_by_text("Question 2").wait_for()
    assert outbox(page) == []
    with sqlite.reading() as connection:
        assert len(collect(connection, questions().task).rows) == 2


def test_however_many_old_answers_are_refused_a_new_one_is_kept_at_once(context, asked, sqlite):
    page = context.new_page()
    consent(page, asked)
    to_first_trial(page)
    choose(page, "1")
    page.get_by_text("Question 1").wait_for()
    old = "(attempt, trials) => trials.map((trial) => ({ label: 'p0001', position: 0, attempt, trial, answer: 0, seconds: 1 }))"
    put_into_outbox(page, f"[...({old})(0, Array.from({{ length: 300 }}, (_, i) => i + 50)), ...({old})(7, [1, 2])]")
    page = closed_and_opened(context, page, asked)
    page.get_by_text("Question 1").wait_for()
    assert outbox(page) == []
    with page.expect_response("**/api/trials"):  # the very next one
        choose(page, "2")
    page.get_by_text("Question 2").wait_for()
    with sqlite.reading() as connection:
        assert len(collect(connection, questions().task).rows) == 2


def test_who_was_forgotten_is_asked_for_consent_again(context, bandit, sqlite):
    page = context.new_page()
    consent(page, bandit)
    to_first_trial(page)
    choose(page, "1")
    with sqlite.writing() as connection:
        store.forget(connection, "p0001")
    page.reload()
    page.get_by_role("button", name="I agree").wait_for()
    assert people(sqlite) == []
    page.get_by_role("button", name="I agree").click()
    page.get_by_role("heading", name="How it works").wait_for()


def test_who_declines_twice_is_counted_once(context, bandit, sqlite):
    page = context.new_page()
    for _ in range(2):
        page.goto(f"{bandit}/{PERSON}")
        page.get_by_role("button", name="I do not take part").click()
        page.get_by_text("You chose not to take part").wait_for()  # the server has heard of it
    with sqlite.reading() as connection:
        assert store.the_experiment(connection).declined == 1


def test_a_wrong_answer_whose_reply_is_lost_on_the_way_counts_once(context, sqlite, tmp_path):
    (tmp_path / "texts.toml").write_text('[[question]]\nask = "?"\noptions = ["no", "yes"]\nanswer = 1\n')
    (tmp_path / "serve.toml").write_text("questions = 2\npractice = 0\n")
    replies = []

    def lose_the_first(route):
        replies.append(route.fetch())
        if len(replies) == 1:
            route.abort()
        else:
            route.fulfill(response=replies[-1])

    with serving(questions(), [[0.2], [0.8]], sqlite, tmp_path) as address:
        page = context.new_page()
        page.route("**/api/questions", lose_the_first)
        consent(page, address)
        for answer in ("no", "yes"):
            page.get_by_role("button", name="Next").click()
            page.get_by_label(answer).check()
            page.get_by_role("button", name="Check").click()
            if answer == "no":
                page.get_by_text("Not all of your answers were right").wait_for()
                page.get_by_role("button", name="Next").click()
        page.get_by_role("button", name="Start").wait_for()


FILL = """() => { let number = 0; for (let size = 1 << 20; size; size >>= 1)
  try { for (;;) localStorage.setItem(`full-${number++}`, "x".repeat(size)); } catch { /* a smaller one may fit */ } }"""


@pytest.mark.parametrize("kind", ["bandit", "asked"])
def test_a_storage_that_is_full_does_not_hold_up(context, kind, sqlite, request):
    """What the device cannot keep is kept in memory, not read back as it was before."""
    address = request.getfixturevalue(kind)
    page = context.new_page()
    consent(page, address)
    to_first_trial(page)
    choose(page, "1")
    ready(page).wait_for()
    page.evaluate(FILL)
    for _ in range(2 if kind == "bandit" else 3):
        choose(page, "2")
    page.get_by_role("heading", name="Part 2 of 2").wait_for()
    with sqlite.reading() as connection:
        assert len(collect(connection, (quick() if kind == "bandit" else questions()).task).rows) == (3 if kind == "bandit" else 4)


def test_two_tabs_are_one_participant(context, bandit, sqlite):
    first = context.new_page()
    consent(first, bandit)
    to_first_trial(first)
    choose(first, "1")
    ready(first).wait_for()
    second = context.new_page()
    second.goto(f"{bandit}/{PERSON}")
    second.get_by_role("button", name="Go on").click()
    choose(second, "2")
    ready(second).wait_for()
    first.bring_to_front()
    first.keyboard.press("3")
    first.get_by_role("heading", name="Open in another place").wait_for()
    assert len(people(sqlite)) == 2
    first.get_by_role("button", name="Go on here instead").click()
    first.get_by_role("button", name="Go on").click()
    ready(first).wait_for()
    assert "3 of 3" in where(first)
    assert {row["participant"] for row in people(sqlite)} == {"p0001"}


def test_two_devices_are_one_participant(browser, bandit, sqlite):
    contexts = [browser.new_context(), browser.new_context(**PHONE)]
    laptop, phone = (context.new_page() for context in contexts)
    consent(laptop, bandit)
    to_first_trial(laptop)
    choose(laptop, "1")
    ready(laptop).wait_for()
    consent(phone, bandit)
    phone.get_by_role("button", name="Go on").tap()
    ready(phone).wait_for()
    assert "2 of 3" in where(phone)
    with sqlite.reading() as connection:
        assert store.the_experiment(connection).number == 1
    for context in contexts:
        context.close()


def test_the_researchers_page_shows_people_as_they_come_and_go(context, bandit):
    page = context.new_page()
    wrong = watched(page, bandit)
    page.goto(f"{bandit}/researcher#token=stale")  # a link from before the token was made anew
    page.get_by_text("This is not the token").wait_for()
    page.get_by_label("Token").fill("wrong")
    page.keyboard.press("Enter")
    page.get_by_text("This is not the token").wait_for()
    page.get_by_label("Token").fill("the-token")
    page.keyboard.press("Enter")
    tile = page.locator(".tile", has_text="started").locator("b")
    tile.wait_for()
    assert tile.inner_text() == "0"
    other = context.new_page()
    consent(other, bandit)
    other.get_by_role("heading", name="How it works").wait_for()
    page.wait_for_function("() => document.querySelector('[data-name=started] b').textContent === '1'", timeout=5000, polling=20)
    other.close()
    page.wait_for_function("() => document.querySelector('[data-name=away] b').textContent === '1'", timeout=5000, polling=20)
    page.get_by_role("button", name="Pause recruiting").click()
    page.get_by_role("button", name="Resume recruiting").wait_for()
    assert [text for text in wrong if "401" not in text] == []
    late = context.browser.new_context().new_page()
    consent(late, bandit, "")
    late.get_by_role("heading", name="Not right now").wait_for()
    late.context.close()


SCREEN = """
export function trial({ stimulus }) {
  return { type: jsPsychHtmlButtonResponse, stimulus: `<p>${stimulus.prompt}</p>`, choices: stimulus.options, css_classes: ["own"] };
}
"""


def test_a_screen_of_ones_own(context, sqlite, tmp_path, monkeypatch):
    """A `screen.js` beside the study, made of a plain jsPsych plugin."""
    monkeypatch.setattr(kit, "SCRIPT", ["screen.js"])
    (tmp_path / "screen.js").write_text(SCREEN)
    (tmp_path / "serve.toml").write_text("practice = 0\n")
    with serving(questions(), [[0.2], [0.8]], sqlite, tmp_path) as address:
        page = context.new_page()
        wrong = watched(page, address)
        consent(page, address)
        to_first_trial(page)
        page.locator(".own").get_by_role("button", name="second").click()
        page.get_by_text("Question 1").wait_for()
        page.wait_for_function(f"() => ({OUTBOX}).length === 0")
        with sqlite.reading() as connection:
            assert [row["second"] for row in collect(connection, questions().task).rows] == [1]
        assert wrong == []


def test_words_never_become_markup(context, sqlite, tmp_path):
    (tmp_path / "texts.toml").write_text("[consent]\nheading = '<img src=x onerror=alert(1)>'\ntext = '<b>bold</b> and **strong**'\n")
    with serving(questions(), [[0.2], [0.8]], sqlite, tmp_path) as address:
        page = context.new_page()
        page.goto(address)
        page.get_by_role("heading", name="<img src=x onerror=alert(1)>").wait_for()
        assert page.locator(".page p").first.inner_html() == "&lt;b&gt;bold&lt;/b&gt; and <strong>strong</strong>"
        assert page.locator("img").count() == 0


def test_a_link_that_cannot_be_used_is_said_to_be(context, bandit, sqlite):
    """Taken for nobody's, it would make one participant of all who open it on a computer."""
    page = context.new_page()
    for query in ("?PROLIFIC_PID={{%PROLIFIC_PID%}}", "?participant=", "?participant=anna@example.org"):
        page.goto(f"{bandit}/{query}")
        page.get_by_role("heading", name="This link is not complete").wait_for()
        assert page.get_by_role("button").count() == 0
    page.goto(f"{bandit}/?utm_source=letter")
    page.get_by_role("button", name="I agree").wait_for()


@contextmanager
def plain_server(folder):
    """A web server that knows nothing of tellapart."""
    handler = partial(SimpleHTTPRequestHandler, directory=str(folder))
    handler.log_message = lambda *_: None
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()


def test_the_handed_over_folder_runs_on_any_server(context, tmp_path):
    """Played from start to end, reloaded in between; the file at the end is data of the task."""
    study = quick()
    write_folder(plan_of(study, [DESIGN], practice=1), tmp_path / "out", 1)
    with plain_server(tmp_path / "out") as address:
        page = context.new_page()
        wrong = watched(page, address)
        consent(page, address, "/index.html")
        to_first_trial(page)
        choose(page, "1")
        page.reload()
        page.get_by_role("button", name="Go on").or_(ready(page)).first.wait_for()
        if not page.locator(".option").count():
            page.keyboard.press("Enter")
        if page.get_by_role("button", name="Start").count():
            page.keyboard.press("Enter")
        for part in range(2):
            for key in "123":
                choose(page, key)
            if part == 0:
                page.get_by_role("button", name="Go on").click()
        page.get_by_role("heading", name="What this was about").wait_for()
        with page.expect_download() as download:
            page.keyboard.press("Enter")
        page.get_by_role("heading", name="All done").wait_for()
        file = tmp_path / "data.csv"
        download.value.save_as(file)
        table = understand([file], study.task)
        assert table.behavior.mask.all()
        assert table.designs[0].tolist() == DESIGN  # also where the folder holds several designs
        assert wrong == []


def test_the_handed_over_folder_writes_no_formulas_and_keeps_people_apart(context, tmp_path):
    write_folder(plan_of(quick(), [DESIGN], practice=1), tmp_path / "out", 1)
    with plain_server(tmp_path / "out") as address:
        page = context.new_page()
        page.goto(f"{address}/index.html?PROLIFIC_PID==1%2B1")
        page.get_by_role("heading", name="This link is not complete").wait_for()
        for person in ("anna", "bert"):
            consent(page, address, f"index.html?PROLIFIC_PID={person}")
            page.get_by_role("heading", name="How it works").wait_for()
        with page.expect_download() as download:
            page.evaluate("import('./save.js').then(({ save }) => save([{ answer: '=1+1', number: -2, said: 'a\\rb' }], true))")
        download.value.save_as(tmp_path / "data.csv")
        assert (tmp_path / "data.csv").read_bytes() == b'answer,number,said\n\'=1+1,-2,"a\rb"\n'


JATOS = """window.kept = null; window.calls = 0;
window.jatos = { onLoad: (f) => f(), endStudyWithoutRedirect: async () => { window.ended = true; },
  submitResultData: async (text) => { window.calls += 1; if (window.calls % 2) throw new Error("no network"); window.kept = text; } };"""


def test_on_jatos_what_is_lost_on_the_way_is_sent_again(context, tmp_path):
    """Every other message is lost: no trial is, and none is there twice."""
    write_folder(plan_of(quick(), [DESIGN], practice=1), tmp_path / "out" / "publix", 1)
    (tmp_path / "out" / "publix" / "jatos.js").write_text(JATOS)
    with plain_server(tmp_path / "out") as address:
        page = context.new_page()
        page.goto(f"{address}/publix/index.html")
        page.get_by_role("button", name="I agree").wait_for()
        rows = "[...Array(n).keys()].map((trial) => ({ trial }))"
        send = f"async ([n, done]) => {{ const {{ save }} = await import('./save.js'); await save({rows}, done); }}"
        page.evaluate(send, [1, False])
        assert page.evaluate("window.kept") is None
        page.evaluate(send, [2, False])
        assert page.evaluate("window.kept") == '{"trial":0}\n{"trial":1}\n'
        page.evaluate(send, [3, True])
        assert page.evaluate("window.kept") == '{"trial":0}\n{"trial":1}\n{"trial":2}\n'
        assert page.evaluate("window.ended")


def test_the_handed_over_folder_passes_over_a_block_without_trials(context, tmp_path):
    class Gap(QuickBandit):
        def lengths(self, designs):
            return np.tile([0, 3], (len(designs), 1))

    write_folder(plan_of(ta.Study(Gap(3, 2, 3), quick().models), [DESIGN], practice=1, order="designed"), tmp_path / "out", 1)
    with plain_server(tmp_path / "out") as address:
        page = context.new_page()
        consent(page, address, "/index.html")
        to_first_trial(page)
        for key in "123":
            choose(page, key)
        page.get_by_role("heading", name="What this was about").wait_for()
