"""Simulated participants: agents of the study's own models play the real API.

They go in step: at each trial all agents of a model are asked at once, and their answers are sent side by side, as from so many browsers.
"""

from __future__ import annotations

import http.client
import json
import secrets
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Callable, Iterable, Mapping, Sequence
from urllib.parse import urlsplit

import numpy as np

from ..errors import ModelError, TellapartError
from ..models.base import Floats, Model
from ..models.simulation import turns
from ..priors import sample_priors
from ..progress import Progress, unheard
from . import store
from .agents import ByItself, ByLikelihood, LiveAgents, live_agents
from .plan import Plan
from .policy import planned
from .sessions import Sessions
from .store import Block

TOGETHER = 16
"""Requests under way at once."""
TRIES = 5
"""Of one request, whose answer may have been lost with its connection; every step can be repeated without harm."""


class Client:
    """Asks a server for JSON; each thread has a connection of its own.

    Arguments:
        address: "http://host:port".
    """

    def __init__(self, address: str) -> None:
        self._host, self._local = urlsplit(address).netloc, threading.local()

    def post(self, path: str, key: str, body: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """The answer, or an error if the server refused."""
        headers = {"authorization": f"Bearer {key}", "content-type": "application/json"}
        status, content = self._asked(path, None if body is None else json.dumps(body), headers)
        if status != 200:
            raise TellapartError("The server refused a simulated participant.", where=path, got=f"{status} {content}")
        return content  # type: ignore[no-any-return]

    def _asked(self, path: str, text: str | None, headers: Mapping[str, str]) -> tuple[int, Any]:
        """Ask as a page does: again if the connection broke, for example because the server has closed one that was idle."""
        for tries_left in reversed(range(TRIES)):
            if not hasattr(self._local, "connection"):
                self._local.connection = http.client.HTTPConnection(self._host, timeout=60)
            connection: http.client.HTTPConnection = self._local.connection
            try:
                connection.request("POST", path, text, dict(headers))
                response = connection.getresponse()
                return response.status, json.loads(response.read())
            except (OSError, http.client.HTTPException):
                connection.close()  # the next request opens it again
                if not tries_left:
                    raise
        raise AssertionError("there is at least one try")


@dataclass(frozen=True, eq=False)
class _Person:
    """One simulated participant: label, key, and the design in the order of play, (B, V)."""

    label: str
    key: str
    designs: Floats


class Simulation:
    """N simulated participants of a study.

    Arguments:
        sessions: The experiment; read for what is shown, where agents cannot look at a screen.
        address: Where it is served.
        token: The researcher's.
        rng: Where models, parameters and responses come from.
    """

    def __init__(self, sessions: Sessions, address: str, token: str, rng: np.random.Generator) -> None:
        self._sessions, self._plan, self._token, self._rng = sessions, sessions.plan, token, rng
        self._client, self._threads = Client(address), ThreadPoolExecutor(TOGETHER)
        self._fallbacks: list[str] = []  # why each block that the policy did not give was the planned one

    def run(self, n: int, progress: Progress = unheard) -> dict[str, Any]:
        """Let `n` people take part from start to end, the models taking turns as often as their prior says."""
        question = self._plan.study.question
        counts = np.bincount(turns(np.asarray(question.prior), n), minlength=len(question.models))
        children = self._rng.spawn(len(question.models))
        with self._threads:
            groups = [self._group(m, int(k), rng) for m, k, rng in zip(question.models, counts, children, strict=True) if k]
            for position in range(self._plan.task.blocks):
                for group in groups:
                    self._block(group, position)
                progress(position + 1, self._plan.task.blocks, "", f"part {position + 1}")
            people = [person for group in groups for person in group.people]
            done = self._each(lambda person: self._ask(person, "finish"), people)
        return {
            "participants": n,
            "finished": len(done),
            "trials": sum(d["trials"] for d in done),
            "labels": sorted(p.label for p in people),
            "fallbacks": self._fallbacks,
        }

    def _group(self, model: Model, n: int, rng: np.random.Generator) -> _Group:
        """People of one model, started."""
        theta = sample_priors(model.parameters, n, rng)
        values = [{f"{model.name}.{name}": float(column[i]) for name, column in theta.items()} for i in range(n)]
        people = self._each(lambda parameters: self._start({"model": model.name, "parameters": parameters}), values)
        designs = np.stack([person.designs for person in people])
        agents = live_agents(model, theta, designs, self._plan.task, rng, adaptive=self._plan.policy is not planned)
        return _Group(self._plan, people, designs, agents, rng)

    def _start(self, truth: Mapping[str, Any]) -> _Person:
        started = self._client.post("/researcher/simulated", self._token, {"name": secrets.token_hex(8), "truth": truth})
        with self._sessions.database.reading() as connection:
            session = store.session_of_label(connection, started["label"])
            design = store.design_of(connection, session)
        person = _Person(started["label"], started["key"], design)
        if self._plan.texts.questions:
            self._ask(person, "questions", {"answers": [question.answer for question in self._plan.texts.questions]})
        return person

    def _block(self, group: _Group, position: int) -> None:
        """All of a group play a block, in step."""
        self._each(lambda person: self._ask(person, "block"), group.people)
        with self._sessions.database.reading() as connection:
            blocks = store.blocks_at(connection, [person.label for person in group.people], position)
        self._fallbacks += [block.why for block in blocks if block.source == "fallback"]
        group.adapt(blocks, position)
        for trial in range(max(block.trials for block in blocks)):
            answers = group.answers(blocks, position, trial)
            sent = self._each(lambda pair: self._send(pair[0], position, pair[1]), zip(group.people, answers, strict=True))
            group.learn(sent, position, trial)

    def _send(self, person: _Person, position: int, answer: Mapping[str, Any] | None) -> dict[str, float]:
        """Send an answer; the outcomes. None: the block has no such trial."""
        if answer is None:
            return {}
        saved = self._ask(person, "trials", {"position": position, "attempt": 0, "trials": [answer]})
        return saved["outcomes"][0]  # type: ignore[no-any-return]

    def _ask(self, person: _Person, path: str, body: Mapping[str, Any] | None = None) -> dict[str, Any]:
        return self._client.post(f"/api/{path}", person.key, body)

    def _each(self, function: Callable[[Any], Any], items: Iterable[Any]) -> list[Any]:
        return list(self._threads.map(function, items))


class _Group:
    """The agents of one model, and what they have done."""

    def __init__(self, plan: Plan, people: list[_Person], designs: Floats, agents: LiveAgents, rng: np.random.Generator) -> None:
        self._plan, self.people, self._designs, self._agents, self._rng = plan, people, designs, agents, rng
        self._behavior = plan.task.nothing(len(people))
        self._responses: list[dict[str, float] | None] = []

    def adapt(self, blocks: list[Block], position: int) -> None:
        """Tell the agents what the block turned out to be; those who decided everything beforehand cannot know."""
        rows = np.array([block.row for block in blocks])
        if not isinstance(self._agents, (ByItself, ByLikelihood)) and not np.array_equal(rows, self._designs[:, position]):
            what = "Simulated participants of an adaptive experiment must respond block by block."
            raise ModelError(what, expected="agents, or models with a likelihood", fix="serve the fixed design")
        self._designs[:, position] = rows

    def answers(self, blocks: list[Block], position: int, trial: int) -> list[dict[str, Any] | None]:
        """What each page sends: the answer as on the screen, and how long it took; None where the block has no such trial."""
        self._responses = self._agents.respond(self._behavior, position, trial)
        return [self._answer(block, responses, trial) for block, responses in zip(blocks, self._responses, strict=True)]

    def _answer(self, block: Block, responses: dict[str, float] | None, trial: int) -> dict[str, Any] | None:
        if trial >= block.trials:
            return None
        if responses is None:
            return {"trial": trial, "answer": None, "seconds": None}
        screen = self._plan.screen
        seconds = responses.get(screen.seconds or "") or float(self._rng.lognormal(-0.7, 0.4))
        answer = screen.answer_of(self._plan.task, block.stimuli[trial], responses)
        place = block.places.index(int(answer)) if screen.answer == "choice" else answer
        return {"trial": trial, "answer": place, "seconds": seconds}

    def learn(self, outcomes: Sequence[Mapping[str, float]], position: int, trial: int) -> None:
        """Put down what happened."""
        lengths = self._plan.task.lengths(self._designs)[:, position]
        for i, (responses, came) in enumerate(zip(self._responses, outcomes, strict=True)):
            if responses is not None and trial < lengths[i]:
                self._behavior.record((i, position, trial), {**responses, **came})
        self._agents.learn(outcomes)
