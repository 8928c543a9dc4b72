"""From a study's folder to a running server: which design, which database, whose token."""

from __future__ import annotations

import errno
import os
import secrets
import socket
import tempfile
import threading
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Iterator, Sequence

import numpy as np
import uvicorn
from fastapi import FastAPI

from ..errors import StudyError
from ..files import quoted
from ..progress import Progress
from ..run import Run, recommended
from ..study import Study, study_file
from ..tasks.text import parse_design
from .app import create_app
from .database import Database, sqlite_file, sqlite_url
from .plan import Plan, make_plan
from .policy import Policy, Remembering, planned

PEOPLE, TOKEN, VARIABLE = "participants.sqlite", "researcher.token", "TELLAPART_TOKEN"
"""The database and the token beside the study file, and the variable that can hold the token instead."""
SHORTEST = 16
"""Characters of a token: it is compared however often wrong ones were tried, so that nobody can lock the researcher out."""


@dataclass(frozen=True, eq=False)
class Experiment:
    """A study, ready to be served.

    Arguments:
        doubts: What is wrong with the posteriors by which next blocks are chosen, if they are; empty if no error was found.
    """

    plan: Plan
    database: Database
    token: str
    app: FastAPI
    doubts: str = ""


def prepare(
    path: Path, designs: Sequence[str] = (), url: str | None = None, seed: int | None = None, adaptive: Progress | None = None
) -> Experiment:
    """Everything that serving a study needs.

    Arguments:
        path: The study's folder or file.
        designs: Written out, each a condition; the recommended one if there are none.
        url: Of the database; a SQLite file beside the study if not given.
        seed: Of the whole experiment, if it is new; by chance if not given.
        adaptive: Next blocks are chosen for each participant; told how it goes on while what that needs is learned.
    """
    folder, study = study_file(path).parent, Study.from_file(path)
    run = folder / "run" if (folder / "run" / "result.json").is_file() else None
    wanted = [parse_design(study.task.design_space, text) for text in designs] or [recommended(study, folder / "run")]
    policy, doubts = (planned, "") if adaptive is None else policy_of(study, folder / "run", adaptive)
    plan, database, token = make_plan(study, wanted, folder, policy=policy), open_database(folder, url), token_of(folder)
    if adaptive is not None:
        decide_first_blocks(plan)
    return Experiment(plan, database, token, create_app(plan, database, token, run=run, seed=seed), doubts)


def policy_of(study: Study, run: Path, progress: Progress) -> tuple[Policy, str]:
    """What gives next blocks, and what is wrong with it, if something is."""
    result = Run.finished(study, run).result()
    policy = result.policy(progress)
    return Remembering(policy.row), result.next_doubts(policy)


def decide_first_blocks(plan: Plan) -> None:
    """Ask for everybody's first block beforehand: neither that nor what is made at a first decision keeps a participant waiting."""
    for condition in plan.conditions:
        first = range(plan.task.blocks) if condition.order is None else condition.order[:1]
        for block in first:
            design = np.concatenate([condition.design[[block]], np.delete(condition.design, block, 0)])
            plan.policy(plan.task.nothing(1), design, 0)


def open_database(folder: Path, url: str | None = None, must_exist: bool = False) -> Database:
    """The database of a study."""
    url = url or sqlite_url(folder / PEOPLE)
    file = sqlite_file(url)
    if must_exist and file is not None and not file.is_file():
        fix = f"serve the study first: tellapart serve {quoted(folder)}; or say where its data are with --database"
        raise StudyError("Nobody has taken part in this study yet.", where=str(file), expected="the database of `tellapart serve`", fix=fix)
    return Database(url)


def token_of(folder: Path) -> str:
    """The researcher's token: from the environment, or from a file that is made once and that only its owner can read."""
    file = folder / TOKEN
    given = os.environ.get(VARIABLE)
    if not given and not file.is_file():
        _make_token(file)
    token = given or file.read_text("utf-8").strip()
    if len(token) < SHORTEST:
        where, fix = f"${VARIABLE}" if given else str(file), "make one: openssl rand -base64 24; or delete the file, and it is made anew"
        raise StudyError("The researcher's token can be guessed.", where=where, expected=f"{SHORTEST} characters or more", fix=fix)
    return token


def _make_token(file: Path) -> None:
    """Whole or not at all, also if two servers start at once."""
    descriptor, made = tempfile.mkstemp(dir=file.parent, prefix=file.name)  # only its owner can read it
    with os.fdopen(descriptor, "w") as opened:
        opened.write(secrets.token_urlsafe(24) + "\n")
    with suppress(FileExistsError):
        os.link(made, file)
    os.unlink(made)


def listening(host: str, port: int) -> socket.socket:
    """A socket that people can connect to; `port` 0 is any that is free."""
    try:
        return socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET)
    except OSError as error:
        fix = (
            "choose another --port: something listens to this one" if error.errno == errno.EADDRINUSE else "choose another --host or --port"
        )
        raise StudyError("The server could not be started.", where=f"{host}:{port}", got=error.strerror or error, fix=fix) from None


def address_of(door: socket.socket) -> str:
    """Where a socket is, as a browser asks for it."""
    host, port = door.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def server_of(app: FastAPI) -> uvicorn.Server:
    """The server, which keeps no record of who asked for what."""

    class Server(uvicorn.Server):
        async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
            app.state.live.close()  # streams have no end of their own
            await super().shutdown(sockets)

    quiet: dict[str, Any] = {"access_log": False, "log_level": "warning", "server_header": False, "date_header": False}
    return Server(uvicorn.Config(app, timeout_graceful_shutdown=5, **quiet))


@contextmanager
def in_background(app: FastAPI, host: str, port: int) -> Iterator[str]:
    """Serve while something else is done; the address, on a free port if `port` is 0."""
    server, door = server_of(app), listening(host, port)
    thread = threading.Thread(target=server.run, args=([door],), daemon=True)
    thread.start()
    try:
        yield address_of(door)  # who connects before the server is ready waits
    finally:
        server.should_exit = True
        thread.join(10)
