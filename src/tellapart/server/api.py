"""The addresses that the participant's page asks: a few lines each over `sessions.py`.

Everything here runs on the event loop, and only what waits for the database goes to a thread: left to the framework, each request would
go to a thread three times, for the key, for the work and for the answer.
"""

from __future__ import annotations

import re
import unicodedata
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends, Header
from fastapi.responses import JSONResponse
from pydantic import AfterValidator, BaseModel, ConfigDict, Field
from starlette.concurrency import run_in_threadpool as in_thread

from .playing import Begun, Given, Reason, Refused
from .sessions import Saved, Sessions, Started
from .shown import look_of
from .store import Identity

STATUS: dict[Reason, int] = {
    "elsewhere": 401,
    "screened_out": 403,
    "forgotten": 404,
    "questions": 409,
    "order": 409,
    "over": 409,
    "incomplete": 409,
    "expired": 410,
    "invalid": 422,
    "full": 503,
    "paused": 503,
}


def _without_controls(text: str) -> str:
    """A text that a person can have typed: no control characters, no halves of characters; spaces of all kinds and joined ones are fine."""
    if any(unicodedata.category(character) in ("Cc", "Cs") for character in text):
        raise ValueError("a text without control characters")
    return text


Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]{1,64}$")]
Words = Annotated[str, Field(max_length=200), AfterValidator(_without_controls)]
Whole = Annotated[int, Field(ge=-(10**9), le=10**9)]
Number = Annotated[float, Field(allow_inf_nan=False, ge=-1e12, le=1e12)]
Seconds = Annotated[float, Field(allow_inf_nan=False, ge=0, le=86_400)]
Count = Annotated[int, Field(ge=0, le=10**6)]


class _Body(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class Prolific(_Body):
    """What Prolific puts into the address."""

    person: Name
    study: Name | None = None
    submission: Name | None = None


class StartBody(_Body):
    """Who takes part: by Prolific's number, by a personal link, or else by the browser; `again` if they consented before."""

    consent: Literal[True]
    again: bool = False
    browser: Name
    participant: Name | None = None
    prolific: Prolific | None = None

    def identity(self) -> Identity:
        if self.prolific is not None:
            return Identity("prolific", self.prolific.person, self.prolific.study, self.prolific.submission)
        return Identity("browser", self.browser) if self.participant is None else Identity("link", self.participant)


class AnswersBody(_Body):
    """Answers to the questions about the instructions."""

    answers: Annotated[list[Count], Field(max_length=100)]
    failures: Count | None = None


class TrialBody(_Body):
    """The answer of one trial."""

    trial: Count
    answer: Whole | Number | Words | None
    seconds: Seconds | None = None


class TrialsBody(_Body):
    """Answers of trials of one block, in order."""

    position: Count
    attempt: Count
    trials: Annotated[list[TrialBody], Field(min_length=1, max_length=500)]


class DeclineBody(_Body):
    """Who declines; `again` if they did so before."""

    again: bool = False


class SeenBody(_Body):
    """A sign of life."""

    away: bool = False


class Linked(BaseModel):
    """Where to go."""

    link: str | None


class Passed(BaseModel):
    """Were all questions answered right?"""

    passed: bool


class Done(BaseModel):
    """Everything has arrived: so many trials."""

    trials: int
    link: str | None


class Next(BaseModel):
    """The block to play; none if all are done."""

    block: Begun | None


class Refusal(BaseModel):
    """Why something could not be done."""

    reason: str
    link: str | None = None
    place: list[int] | None = None
    fields: list[str] = []


def refusal(refused: Refused) -> JSONResponse:
    """What the page is told."""
    place = None if refused.place is None else list(refused.place)
    return told(STATUS[refused.reason], reason=refused.reason, link=refused.link, place=place)


def told(status: int, **why: Any) -> JSONResponse:
    return JSONResponse(Refusal(**why).model_dump(), status)


async def key_of(authorization: Annotated[str, Header(max_length=200)] = "") -> str:
    """The key that the page holds."""
    match = re.fullmatch(r"Bearer ([A-Za-z0-9_-]{20,64})", authorization)
    if match is None:
        raise Refused("elsewhere")
    return match[1]


Key = Annotated[str, Depends(key_of)]
REFUSALS: dict[int | str, dict[str, Any]] = {code: {"model": Refusal} for code in sorted({*STATUS.values(), 400, 413, 429})}


def participant_api(sessions: Sessions) -> APIRouter:
    """The participant's addresses."""
    api = APIRouter(prefix="/api", responses=REFUSALS)

    @api.get("/experiment")
    async def experiment() -> dict[str, Any]:
        """What the page needs before anybody takes part: words and how the screen is answered, nothing of the design."""
        plan = sessions.plan
        numbers = {"practice": plan.settings.practice, "blocks": plan.task.blocks, "trials": plan.task.trials}
        waits = {"waits": plan.settings.policy_seconds}  # the page is no less patient than the server
        return {"study": plan.study.name, "texts": plan.texts.public(), "screen": look_of(plan), **numbers, **waits}

    @api.post("/start")
    async def start(body: StartBody) -> Started:
        """Consent and take part, or go on."""
        return await in_thread(sessions.start, body.identity(), again=body.again)

    @api.post("/decline")
    async def decline(body: DeclineBody | None = None) -> Linked:
        """Do not consent."""
        return Linked(link=await in_thread(sessions.decline, body is not None and body.again))

    @api.post("/questions")
    async def questions(key: Key, body: AnswersBody) -> Passed:
        """Answer the questions about the instructions."""
        return Passed(passed=await in_thread(sessions.answer, key, body.answers, body.failures))

    @api.post("/practice")
    async def practice(key: Key) -> dict[str, Any]:
        """A few trials that do not count."""
        return await in_thread(sessions.practice, key)

    @api.post("/block")
    async def block(key: Key) -> Next:
        """Begin the present block, or go on in it."""
        return Next(block=await in_thread(sessions.begin, key))

    @api.post("/trials")
    async def trials(key: Key, body: TrialsBody) -> Saved:
        """Record trials. What is acknowledged is on disk."""
        given = [Given(**trial.model_dump()) for trial in body.trials]
        return await in_thread(sessions.save, key, body.position, body.attempt, given)

    @api.post("/finish")
    async def finish(key: Key) -> Done:
        """The end, once every trial is recorded."""
        count, link = await in_thread(sessions.finish, key)
        return Done(trials=count, link=link)

    @api.post("/seen")
    async def seen(key: Key, body: SeenBody) -> dict[str, Any]:
        """A sign of life."""
        await in_thread(sessions.seen, key, body.away)
        return {}

    return api
