"""The addresses that the researcher's page asks, behind a token."""

from __future__ import annotations

import asyncio
import io
import json
import time
from typing import Annotated, Any, AsyncIterator

from fastapi import APIRouter, Cookie, Depends, Header, HTTPException, Request, Response
from fastapi.responses import StreamingResponse
from pydantic import Field
from starlette.concurrency import run_in_threadpool

from . import store
from .api import Name, Number, Words, _Body
from .collected import collect
from .guard import Token, network_of
from .live import Live
from .sessions import Sessions, Started
from .store import Identity

EVERY, ALIVE = 0.5, 15.0
"""Seconds between looks for news, and between signs of life to the page."""


class LoginBody(_Body):
    token: Annotated[str, Field(max_length=200)]


class RecruitingBody(_Body):
    paused: bool


class Truth(_Body):
    """Whom a simulated participant is simulated from."""

    model: Words
    parameters: dict[Words, Number | None]


class SimulatedBody(_Body):
    name: Name
    truth: Truth | None = None


def researcher_api(sessions: Sessions, live: Live, token: Token) -> APIRouter:
    """The researcher's addresses."""

    def admitted(
        request: Request, tellapart: Annotated[str | None, Cookie()] = None, authorization: Annotated[str | None, Header()] = None
    ) -> None:
        if token.admits(tellapart, authorization):
            return
        raise HTTPException(401 if token.may_try(network_of(request.client)) else 429)

    api = APIRouter(prefix="/researcher", include_in_schema=False)
    behind = [Depends(admitted)]

    @api.post("/login")
    def login(request: Request, body: LoginBody, response: Response) -> dict[str, bool]:
        """The token against a cookie that only this page may use."""
        if not token.right(body.token):
            raise HTTPException(401 if token.may_try(network_of(request.client)) else 429)
        secure = request.url.scheme == "https"
        kept: dict[str, Any] = {"httponly": True, "samesite": "strict", "secure": secure, "max_age": 7 * 86_400}
        response.set_cookie(Token.COOKIE, token.cookie, path=_path(request), **kept)
        return {"welcome": True}

    @api.post("/logout", dependencies=behind)
    def logout(request: Request, response: Response) -> dict[str, bool]:
        response.delete_cookie(Token.COOKIE, path=_path(request))
        return {"welcome": False}

    @api.get("/state", dependencies=behind)
    def state() -> dict[str, Any]:
        return live.state()

    @api.get("/events", dependencies=behind)
    def events(request: Request) -> StreamingResponse:
        return StreamingResponse(_news(live, request), media_type="text/event-stream", headers={"x-accel-buffering": "no"})

    @api.get("/data.csv", dependencies=behind)
    def data(simulated: bool = False) -> Response:
        with sessions.database.reading() as connection:
            table = collect(connection, sessions.plan.task, simulated=simulated).table()
        text = io.StringIO()
        table.to_csv(text, index=False)
        name = f'attachment; filename="{"simulated" if simulated else "data"}.csv"'
        return Response(text.getvalue(), media_type="text/csv", headers={"content-disposition": name})

    @api.post("/recruiting", dependencies=behind)
    def recruiting(body: RecruitingBody) -> dict[str, bool]:
        """Pause, or go on."""
        with sessions.database.writing() as connection:
            store.change_experiment(connection, paused=body.paused)
        return {"paused": body.paused}

    @api.post("/simulated", dependencies=behind)
    def simulated(body: SimulatedBody) -> Started:
        """A simulated participant takes part."""
        truth = None if body.truth is None else body.truth.model_dump()
        return sessions.start(Identity("simulated", body.name), simulated=True, truth=truth)

    return api


def _path(request: Request) -> str:
    """Where the cookie is sent: to these addresses only."""
    return f"{request.scope.get('root_path', '')}/researcher"


async def _news(live: Live, request: Request) -> AsyncIterator[str]:
    """The state whenever it has changed."""
    last, at = "", 0.0
    while not live.closed and not await request.is_disconnected():
        text = json.dumps(await run_in_threadpool(live.state), allow_nan=False)
        if text != last:
            last, at = text, time.monotonic()
            yield f"data: {text}\n\n"
        elif time.monotonic() - at > ALIVE:
            at = time.monotonic()
            yield ": still here\n\n"
        await asyncio.sleep(EVERY)
