"""From a study's folder to a running server: which design, which database, whose token."""

from __future__ import annotations

import os
import secrets
import socket
import threading
import time
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Iterator, Sequence

from fastapi import FastAPI

from ..errors import RunError, StudyError
from ..progress import Progress
from ..study import Study, study_file
from ..tasks.space import Floats
from ..tasks.text import parse_design
from .app import create_app
from .database import Database, sqlite_url
from .plan import Plan, make_plan
from .policy import Policy, planned

if TYPE_CHECKING:
    import uvicorn

PEOPLE, TOKEN, VARIABLE = "participants.sqlite", "researcher.token", "TELLAPART_TOKEN"
"""The database and the token beside the study file, and the variable that can hold the token instead."""


@dataclass(frozen=True, eq=False)
class Experiment:
    """A study, ready to be served."""

    plan: Plan
    database: Database
    token: str
    app: FastAPI


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
    policy = planned if adaptive is None else policy_of(study, folder / "run", adaptive)
    plan, database, token = make_plan(study, wanted, folder, policy=policy), open_database(folder, url), token_of(folder)
    return Experiment(plan, database, token, create_app(plan, database, token, run=run, seed=seed))


def policy_of(study: Study, run: Path, progress: Progress) -> Policy:
    """What gives next blocks, asked once beforehand: what is made at its first decision must not keep a participant waiting."""
    from ..run import Run

    result = Run.finished(study, run).result()
    policy = result.policy(progress)
    policy.row(study.task.nothing(1), result.design, 0)
    return policy.row


def recommended(study: Study, run: Path) -> Floats:
    """The design that a finished run recommends, without loading its networks."""
    from ..run import Run

    try:
        return study.task.design_space.check(Run.finished(study, run).folder.read("result.json")["design"])
    except RunError as error:
        fix = f"{error.fix}; or give one with --design"
        raise RunError(error.what, where=error.where, expected=error.expected, got=error.got, fix=fix) from None


def open_database(folder: Path, url: str | None = None, must_exist: bool = False) -> Database:
    """The database of a study."""
    if url is None:
        file = folder / PEOPLE
        if must_exist and not file.is_file():
            fix = "serve the study first, or say where its data are with --database"
            raise StudyError(
                "Nobody has taken part in this study yet.", where=str(file), expected="the database of `tellapart serve`", fix=fix
            )
        url = sqlite_url(file)
    return Database(url)


def token_of(folder: Path) -> str:
    """The researcher's token: from the environment, or from a file that is made once and that only its owner can read."""
    given = os.environ.get(VARIABLE)
    if given:
        return given
    file = folder / TOKEN
    if not file.is_file():
        descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w") as opened:
            opened.write(secrets.token_urlsafe(24) + "\n")
    return file.read_text("utf-8").strip()


def server_of(app: FastAPI, host: str, port: int) -> uvicorn.Server:
    """The server, which keeps no record of who asked for what."""
    import uvicorn

    class Server(uvicorn.Server):
        async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
            app.state.live.close()  # streams have no end of their own
            await super().shutdown(sockets)

    quiet: dict[str, Any] = {"access_log": False, "log_level": "warning", "server_header": False, "date_header": False}
    return Server(uvicorn.Config(app, host=host, port=port, timeout_graceful_shutdown=5, **quiet))


@contextmanager
def in_background(app: FastAPI, host: str, port: int) -> Iterator[str]:
    """Serve while something else is done; the address, on a free port if `port` is 0."""
    server = server_of(app, host, port)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    try:
        while not server.started:
            if not thread.is_alive():
                raise StudyError("The server could not be started.", where=f"{host}:{port}", fix="choose another --port")
            time.sleep(0.05)
        yield "http://{}:{}".format(*server.servers[0].sockets[0].getsockname()[:2])
    finally:
        server.should_exit = True
        thread.join(10)
