"""What works here: versions, cores, threads, graphics card, browser, database."""

from __future__ import annotations

from typing import Iterator

from ..errors import counted
from .frame import command, show

NEEDED = ("torch", "numba", "numpy", "scipy", "botorch", "dask")
FOR_SERVING = ("fastapi", "sqlalchemy", "uvicorn")


@command
def doctor() -> None:
    """Say what works on this machine, and how to mend the rest.

    \b
    Example:
      tellapart doctor --json
    """
    rows = [*_versions(), *_machine(), *_serving()]
    width = max(len(name) for name, _, _ in rows)
    lines = [f"{name:<{width}}  {'yes' if works else 'no ':<3}  {found}" for name, works, found in rows]
    show({name: {"works": works, "found": found} for name, works, found in rows}, "\n".join(lines))


def _versions() -> Iterator[tuple[str, bool, str]]:
    import platform
    import sys

    from .. import __version__

    yield "tellapart", True, __version__
    yield "Python", sys.version_info >= (3, 11), f"{platform.python_version()} on {platform.platform()}"
    for name in NEEDED:
        yield _installed(name, "pip install tellapart")


def _machine() -> Iterator[tuple[str, bool, str]]:
    import tempfile

    import numba
    import torch

    from ..threads import available_cores

    # `numba.get_num_threads` would start its threads, and give torch as many
    threads = f"torch uses {counted(torch.get_num_threads(), 'thread')}, numba {numba.config.NUMBA_NUM_THREADS}"
    yield "cores", True, f"{available_cores()}; {threads}"
    cuda = torch.cuda.is_available()
    yield "graphics card", cuda, torch.cuda.get_device_name(0) if cuda else "none is needed; networks are small and train on processors"
    try:
        with tempfile.TemporaryFile() as file:
            file.write(b"0")
        yield "disk", True, f"files can be written in {tempfile.gettempdir()}"
    except OSError as error:
        yield "disk", False, f"{error}; set TMPDIR to a folder that can be written"


def _serving() -> Iterator[tuple[str, bool, str]]:
    import shutil
    import sqlite3

    for name in FOR_SERVING:
        yield _installed(name, 'for `tellapart serve`: pip install "tellapart[serve]"')
    yield "SQLite", True, f"{sqlite3.sqlite_version}; the database of `tellapart serve` if none is named"
    postgres = _installed("psycopg", 'for PostgreSQL: pip install "tellapart[serve]"')
    yield "PostgreSQL", postgres[1], postgres[2] if not postgres[1] else f"by psycopg {postgres[2]}; give its address with --database"
    browser = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome", "chrome", "firefox", "msedge"))), None)
    yield "browser", browser is not None, browser or "none found on the path; any browser on any machine will do"


def _installed(name: str, fix: str) -> tuple[str, bool, str]:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return name, True, version(name)
    except PackageNotFoundError:
        return name, False, f"not installed; {fix}"
