"""The whole application, as a function of what is served and where it is kept."""

from __future__ import annotations

import logging
import secrets
import time
from contextlib import asynccontextmanager
from pathlib import Path
from typing import AsyncIterator, Callable

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from sqlalchemy.exc import OperationalError
from starlette.exceptions import HTTPException
from starlette.staticfiles import StaticFiles

from .analysis import Analyst
from .api import participant_api, refusal, told
from .database import Database
from .guard import HEADERS, Guard, Token
from .live import Live
from .pages import STATIC, pages
from .plan import Plan
from .playing import Refused
from .researcher import researcher_api
from .sessions import Sessions

log = logging.getLogger("tellapart.server")


def create_app(
    plan: Plan,
    database: Database,
    token: str | None = None,
    *,
    run: Path | None = None,
    clock: Callable[[], float] = time.time,
    seed: int | None = None,
) -> FastAPI:
    """The application.

    Arguments:
        plan: What is served.
        database: Where it is kept.
        token: The researcher's; one that nobody knows if not given.
        run: The finished run whose estimator says which model people behave like.
        clock: Seconds since 1970.
        seed: Of the whole experiment, if it is new.
    """
    sessions = Sessions(plan, database, clock, seed)
    analyst = Analyst(sessions, run)
    live = Live(sessions, analyst)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        analyst.start()
        yield
        analyst.stop()

    app = FastAPI(title="tellapart", docs_url=None, redoc_url=None, openapi_url=None, lifespan=lifespan)
    app.state.sessions, app.state.analyst, app.state.live = sessions, analyst, live
    app.add_middleware(Guard, limits=plan.settings.limits)
    app.include_router(participant_api(sessions))
    app.include_router(researcher_api(sessions, live, Token(token or secrets.token_urlsafe(24), plan.settings.limits.token)))
    app.include_router(pages(plan))
    app.mount("/static", StaticFiles(directory=STATIC))
    _explain(app)
    return app


def _explain(app: FastAPI) -> None:
    """What went wrong, in one word; never how the server is built, nor what was sent."""

    @app.exception_handler(Refused)
    async def refused(_: Request, error: Refused) -> JSONResponse:
        return refusal(error)

    @app.exception_handler(RequestValidationError)
    async def invalid(_: Request, error: RequestValidationError) -> JSONResponse:
        places = sorted({".".join(map(str, mistake["loc"])) for mistake in error.errors()})
        return told(422, reason="invalid", fields=places[:20])

    @app.exception_handler(HTTPException)
    async def http(_: Request, error: HTTPException) -> JSONResponse:
        words = {401: "token", 404: "unknown", 405: "method", 429: "too_often"}
        response = told(error.status_code, reason=words.get(error.status_code, "refused"))
        response.headers.update(error.headers or {})
        return response

    @app.exception_handler(Exception)
    async def failed(request: Request, error: Exception) -> JSONResponse:
        if isinstance(error, OperationalError):  # of the database: the disk is full, the file is locked, nobody answers
            log.error("%s %s failed: %s", request.method, request.url.path, str(error.orig).strip())
        else:
            log.error("%s %s failed", request.method, request.url.path, exc_info=error)
        return JSONResponse({"reason": "failed"}, 500, HEADERS)
