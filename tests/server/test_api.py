"""The addresses: what people can do, what they cannot see, and that nothing that is sent makes the server fail."""

import json

import hypothesis
import pytest
import schemathesis
import schemathesis.specs.openapi.checks
from hypothesis import strategies as st
from kit import DESIGN, Clock, bandit, plan_of
from pydantic import ValidationError
from starlette.testclient import TestClient

from tellapart.server.api import TrialBody
from tellapart.server.app import create_app
from tellapart.server.database import Database, sqlite_url
from tellapart.server.settings import Codes, Limits
from tellapart.server.tables import metadata

CHECKS = [
    schemathesis.checks.not_a_server_error,
    schemathesis.specs.openapi.checks.response_schema_conformance,
    schemathesis.specs.openapi.checks.status_code_conformance,
]
TOKEN = {"authorization": "Bearer the-token"}


@pytest.fixture(scope="module")
def plan():
    return plan_of(bandit(trials=4), [DESIGN], codes=Codes(completion="DONE1", screen_out="OUT1", no_consent="NO1"))


@pytest.fixture
def app(plan, sqlite):
    return create_app(plan, sqlite, "the-token", clock=Clock(), seed=1)


@pytest.fixture
def client(app):
    return TestClient(app, raise_server_exceptions=False)


@pytest.fixture(scope="module")
def same_app(plan, tmp_path_factory):
    """For requests that have to be answered rightly whatever was asked before."""
    database = Database(sqlite_url(tmp_path_factory.mktemp("api") / "people.sqlite"))
    yield create_app(plan, database, "the-token", seed=1)
    database.close()


@pytest.fixture(scope="module")
def same_client(same_app):
    return TestClient(same_app, raise_server_exceptions=False)


@pytest.fixture(scope="module")
def schema(same_app):
    schema = schemathesis.openapi.from_dict(same_app.openapi())
    schema.app = same_app
    return schema


def start(client, person="5f2d8c1e9ab0"):
    response = client.post(
        "/api/start", json={"consent": True, "browser": "b", "prolific": {"person": person, "study": "s", "submission": "x"}}
    )
    assert response.status_code == 200
    return {"authorization": f"Bearer {response.json()['key']}"}


def answer(client, headers, trial, place=0, position=0, attempt=0):
    body = {"position": position, "attempt": attempt, "trials": [{"trial": trial, "answer": place, "seconds": 0.4}]}
    return client.post("/api/trials", json=body, headers=headers)


def play(client, headers):
    while (block := client.post("/api/block", headers=headers).json()["block"]) is not None:
        for trial in range(block["trial"], block["trials"]):
            assert answer(client, headers, trial, 1, block["position"], block["attempt"]).status_code == 200


def test_from_start_to_completion_link(client):
    headers = start(client)
    early = client.post("/api/finish", headers=headers)
    assert (early.status_code, early.json()) == (409, {"reason": "incomplete", "link": None, "place": [0, 0, 0], "fields": []})
    play(client, headers)
    link = "https://app.prolific.com/submissions/complete?cc=DONE1"
    assert client.post("/api/finish", headers=headers).json() == {"trials": 8, "link": link}
    again = client.post("/api/start", json={"consent": True, "browser": "other", "prolific": {"person": "5f2d8c1e9ab0"}}).json()
    assert (again["status"], again["link"]) == ("finished", link)


def test_declining_is_counted_and_leaves_no_person(client):
    assert client.post("/api/decline").json()["link"].endswith("cc=NO1")
    assert client.post("/api/decline", json={"again": True}).json()["link"].endswith("cc=NO1")
    state = client.get("/researcher/state", headers=TOKEN).json()
    assert (state["declined"], state["started"]) == (1, 0)


def test_questions_screen_out(sqlite, tmp_path):
    (tmp_path / "texts.toml").write_text('[[question]]\nask = "?"\noptions = ["a", "b"]\nanswer = 1\n')
    (tmp_path / "serve.toml").write_text('questions = 2\n[codes]\nscreen_out = "OUT1"\n')
    client = TestClient(create_app(plan_of(bandit(), [DESIGN], tmp_path), sqlite))
    assert "answer" not in client.get("/api/experiment").json()["texts"]["question"][0]
    headers = start(client)
    assert client.post("/api/block", headers=headers).json()["reason"] == "questions"
    assert client.post("/api/questions", json={"answers": [0]}, headers=headers).json() == {"passed": False}
    out = client.post("/api/questions", json={"answers": [0]}, headers=headers)
    assert (out.status_code, out.json()["link"][-4:]) == (403, "OUT1")
    assert client.post("/api/start", json={"consent": True, "browser": "b", "prolific": {"person": "5f2d8c1e9ab0"}}).status_code == 403
    other = start(client, "other")
    assert client.post("/api/questions", json={"answers": [1]}, headers=other).json() == {"passed": True}
    assert client.post("/api/block", headers=other).status_code == 200


def test_a_wrong_answer_that_was_not_heard_of_counts_once_and_gives_no_further_tries(sqlite, tmp_path):
    (tmp_path / "texts.toml").write_text('[[question]]\nask = "?"\noptions = ["a", "b"]\nanswer = 1\n')
    (tmp_path / "serve.toml").write_text("questions = 2\n")
    client = TestClient(create_app(plan_of(bandit(), [DESIGN], tmp_path), sqlite))
    headers = start(client)

    def answer(place, failures):
        return client.post("/api/questions", json={"answers": [place], "failures": failures}, headers=headers)

    for place in (0, 0, 1):  # a page that claims to know of none is told of the first try, whatever it answers
        assert answer(place, 0).json() == {"passed": False}
    assert answer(0, 1).json()["reason"] == "screened_out"


def test_what_a_participant_sees_tells_nothing_of_the_design_the_future_or_others(client):
    """Everything that the API says in a whole session, searched for what must not be in it."""
    headers = start(client)
    said = [client.get("/api/experiment").text, client.post("/api/practice", headers=headers).text]
    while True:
        block = client.post("/api/block", headers=headers)
        said.append(block.text)
        if block.json()["block"] is None:
            break
        assert block.json()["block"]["stimuli"] == [{}]  # the next trial's, no more
        for trial in range(4):
            said.append(answer(client, headers, trial, 1, block.json()["block"]["position"]).text)
    everything = "\n".join(said)
    for secret in ("seed", "design", "row", "places", "condition", "order", "5f2d8c1e9ab0", "environment", "wslts"):
        assert f'"{secret}"' not in everything
    assert all(str(value) not in everything for row in DESIGN for value in row)


def test_one_participant_cannot_reach_another(client):
    first, second = start(client, "one"), start(client, "two")
    client.post("/api/block", headers=first)
    client.post("/api/block", headers=second)
    answer(client, first, 0)
    assert answer(client, second, 1).json()["place"] == [0, 0, 0]
    for forged in ("Bearer " + "a" * 32, "Bearer ", "bearer x", "", first["authorization"] + "x", first["authorization"][:-1]):
        response = client.post("/api/block", headers={"authorization": forged})
        assert (response.status_code, response.json()["reason"]) == (401, "elsewhere")


def test_replayed_and_reordered_requests_change_nothing(client):
    headers = start(client)
    client.post("/api/block", headers=headers)
    first = answer(client, headers, 0, 2)
    assert answer(client, headers, 2).status_code == 409
    assert answer(client, headers, 0, 0).json()["outcomes"] == first.json()["outcomes"]
    assert answer(client, headers, 1, position=1).status_code == 409
    assert answer(client, headers, 0, attempt=1).status_code == 409
    assert client.get("/researcher/state", headers=TOKEN).json()["people"][0]["trials"] == 1


BAD = [
    {"position": 0, "attempt": 0, "trials": []},
    {"position": 0, "attempt": 0, "trials": [{"trial": 0, "answer": 0, "seconds": -1}]},
    {"position": 0, "attempt": 0, "trials": [{"trial": 0, "answer": 0, "seconds": 1e400}]},
    {"position": 0, "attempt": 0, "trials": [{"trial": 0, "answer": {"$gt": 0}}]},
    {"position": 0, "attempt": 0, "trials": [{"trial": 0, "answer": "0; DROP TABLE trials"}]},
    {"position": 0, "attempt": 0, "trials": [{"trial": 0, "answer": "\x00"}]},
    {"position": 0, "attempt": 0, "trials": [{"trial": 0, "answer": 10**40}]},
    {"position": 0, "attempt": 0, "trials": [{"trial": 0, "answer": True}]},
    {"position": "0", "attempt": 0, "trials": [{"trial": 0, "answer": 0}]},
    {"position": 0, "attempt": 0, "trials": [{"trial": 0, "answer": 0}], "extra": 1},
    {"position": -1, "attempt": 0, "trials": [{"trial": 0, "answer": 0}]},
]


@pytest.mark.parametrize("body", BAD, ids=range(len(BAD)))
def test_bad_answers_are_refused(same_client, body):
    headers = start(same_client)
    same_client.post("/api/block", headers=headers)
    response = same_client.post("/api/trials", content=json.dumps(body), headers={**headers, "content-type": "application/json"})
    assert response.status_code == 422
    assert response.json()["reason"] == "invalid"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        "null",
        '"x"',
        "NaN",
        '{"consent": true, "browser": "' + "9" * 5000 + '"}',
        '{"a":' * 3000,
        "\ud800".encode("utf-8", "surrogatepass"),
    ],
)
def test_bodies_that_are_no_json_of_ours(same_client, text):
    response = same_client.post("/api/start", content=text, headers={"content-type": "application/json"})
    assert response.status_code in (400, 422)
    assert "Traceback" not in response.text


def test_large_bodies_are_refused_before_they_are_read(client):
    assert client.post("/api/start", content=b"x" * 70_000).status_code == 413

    def endless():
        for _ in range(1000):
            yield b"x" * 1000

    assert client.post("/api/start", content=endless()).status_code == 413


@pytest.mark.parametrize(
    "path",
    [
        "/static/../sessions.py",
        "/static/%2e%2e/sessions.py",
        "/static/..%2f..%2fstudy.py",
        "/static//etc/passwd",
        "/screen.js",
        "/docs",
        "/openapi.json",
        "/.env",
        "/participants.sqlite",
        "/researcher.token",
        "/researcher/../participants.sqlite",
    ],
)
def test_there_is_no_way_to_other_files(same_client, path):
    response = same_client.get(path)
    assert response.status_code == 404
    assert "import" not in response.text


def test_every_response_has_the_headers(client):
    for path in ("/", "/api/experiment", "/static/flow.js", "/nowhere", "/researcher/state"):
        headers = client.get(path).headers
        assert "default-src 'none'" in headers["content-security-policy"]
        assert "unsafe" not in headers["content-security-policy"]
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "no-referrer"
        assert headers["cache-control"] in ("no-store", "no-cache")
    assert (
        client.post("/api/start", json={"consent": True, "browser": "x"}, headers={"origin": "https://evil.example"}).headers.get(
            "access-control-allow-origin"
        )
        is None
    )


def test_the_researchers_page_needs_the_token(client):
    for path in ("/researcher/state", "/researcher/data.csv", "/researcher/events"):
        assert client.get(path).status_code == 401
        assert client.get(path, headers={"authorization": "Bearer wrong"}).status_code == 401
    for path, body in (("/researcher/recruiting", {"paused": True}), ("/researcher/simulated", {"name": "x"})):
        assert client.post(path, json=body).status_code == 401
    assert client.post("/researcher/login", json={"token": "wrong"}).status_code == 401
    entered = client.post("/researcher/login", json={"token": "the-token"})
    cookie = entered.headers["set-cookie"]
    assert all(word in cookie for word in ("HttpOnly", "SameSite=strict", "Path=/researcher"))
    assert "the-token" not in cookie
    assert client.get("/researcher/state").status_code == 200
    assert (
        client.post(
            "/researcher/recruiting", content="paused=true", headers={"content-type": "application/x-www-form-urlencoded"}
        ).status_code
        == 422
    )
    assert client.post("/researcher/recruiting", json={"paused": True}).json() == {"paused": True}
    assert client.post("/api/start", json={"consent": True, "browser": "x"}).json()["reason"] == "paused"


def test_tokens_cannot_be_guessed_for_long(client):
    codes = [client.post("/researcher/login", json={"token": f"guess-{i}"}).status_code for i in range(30)]
    assert codes[:9] == [401] * 9
    assert codes[-1] == 429
    assert client.post("/researcher/login", json={"token": "the-token"}).status_code == 200


def test_too_many_requests_are_refused(sqlite):
    limits = Limits(session=(0.001, 5), address=(0.001, 50))
    client = TestClient(create_app(plan_of(bandit(), [DESIGN], limits=limits), sqlite))
    headers = start(client)
    codes = [client.post("/api/seen", json={}, headers=headers).status_code for _ in range(10)]
    assert codes[:4] == [200] * 4
    assert codes[-1] == 429
    assert 429 in [client.get("/api/experiment").status_code for _ in range(60)]


def test_places_cannot_be_taken_by_the_thousand(sqlite):
    client = TestClient(create_app(plan_of(bandit(), [DESIGN], limits=Limits(start=(0.001, 5))), sqlite))
    codes = [client.post("/api/start", json={"consent": True, "browser": f"b{i}"}).status_code for i in range(8)]
    assert codes == [200] * 5 + [429] * 3


def test_nothing_of_the_connection_is_kept(client, sqlite):
    start(client)
    with sqlite.reading() as connection:
        kept = "\n".join(str(row) for table in metadata.sorted_tables for row in connection.execute(table.select()))
    assert "testclient" not in kept
    assert "python-httpx" not in kept


def test_exports_hold_no_number_of_a_platform(client):
    headers = start(client, "5f2d8c1e9ab0")
    play(client, headers)
    text = client.get("/researcher/data.csv", headers=TOKEN).text
    assert "5f2d8c1e9ab0" not in text
    assert text.count("p0001") == 8


def test_the_live_stream_tells_news(app):
    """The generator behind the stream: a state at once, and another when somebody starts."""
    import asyncio

    from tellapart.server.live import Live
    from tellapart.server.researcher import _news

    class Still:
        async def is_disconnected(self):
            return False

    clock = Clock()
    app.state.sessions.clock = clock

    async def listen():
        news = _news(Live(app.state.sessions, app.state.analyst), Still())
        first = json.loads((await anext(news)).removeprefix("data: "))
        start(TestClient(app))
        clock.now += 1
        second = json.loads((await asyncio.wait_for(anext(news), 2)).removeprefix("data: "))
        return first["started"], second["started"], second["active"]

    assert asyncio.run(listen()) == (0, 1, 1)


OPERATIONS = ("experiment", "start", "decline", "questions", "practice", "block", "trials", "finish", "seen")


@pytest.mark.parametrize("keyed", [False, True], ids=["without a key", "with a key"])
@pytest.mark.parametrize("name", OPERATIONS)
def test_every_response_is_as_the_schema_says(same_client, schema, name, keyed):
    """Requests made from the schema, valid and not: the server never fails, and says nothing that it does not declare."""
    operation = schema[f"/api/{name}"]["GET" if name == "experiment" else "POST"]
    headers = start(same_client, name) if keyed else {}

    @hypothesis.given(case=operation.as_strategy())
    @hypothesis.settings(max_examples=25, deadline=None, database=None, suppress_health_check=list(hypothesis.HealthCheck))
    def ask(case):
        response = case.call(headers=headers)
        assert response.status_code < 500 or response.json()["reason"] in ("full", "paused")
        assert "Traceback" not in response.text
        case.validate_response(response, checks=CHECKS)

    ask()


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=8,
)
NEAR = st.fixed_dictionaries(
    {
        "position": st.integers(-1, 3) | JSON,
        "attempt": st.integers(-1, 2) | JSON,
        "trials": st.lists(
            st.fixed_dictionaries(
                {"trial": st.integers(-1, 5) | JSON, "answer": st.integers(-1, 4) | JSON, "seconds": st.floats(0, 5) | JSON}
            ),
            max_size=4,
        )
        | JSON,
    }
)


SEQUENCES = st.lists(
    st.tuples(st.sampled_from(["trials", "questions", "seen", "block", "practice", "finish"]), NEAR | JSON), min_size=1, max_size=8
)


@pytest.mark.parametrize("sequences", [40, pytest.param(400, marks=pytest.mark.slow)])
def test_no_sequence_of_requests_with_a_key_makes_the_server_fail(app, sequences):
    """Other ones each time that the tests are run."""

    @hypothesis.given(bodies=SEQUENCES)
    @hypothesis.settings(max_examples=sequences, deadline=None, database=None, suppress_health_check=list(hypothesis.HealthCheck))
    def ask(bodies):
        client = TestClient(app, raise_server_exceptions=False)
        headers = start(client)
        client.post("/api/block", headers=headers)
        for path, body in bodies:
            response = client.post(f"/api/{path}", content=json.dumps(body), headers={**headers, "content-type": "application/json"})
            assert response.status_code < 500
            assert "Traceback" not in response.text

    ask()


@pytest.mark.parametrize("answer", ["1\u202f000", "caf\u00e9\u00a0!", "\U0001f468\u200d\U0001f469\u200d\U0001f467", "\u3042" * 200])
def test_what_people_can_type_is_taken(answer):
    """A refused answer would be lost: spaces that do not break, joined characters and long words of any script are none."""
    assert TrialBody(trial=0, answer=answer).answer == answer
    assert len(json.dumps([answer] * 50, ensure_ascii=False).encode()) < Limits().body


@pytest.mark.parametrize("answer", ["a\x00", "\n", "\x7f", "\ud800", "x" * 201])
def test_what_nobody_types_is_refused(answer):
    with pytest.raises(ValidationError):
        TrialBody(trial=0, answer=answer)
