"""A PostgreSQL server of our own on a free port, for tests and benchmarks."""

import os
import pwd
import shutil
import socket
import subprocess
import tempfile
from contextlib import contextmanager
from pathlib import Path

PROGRAMS = ("initdb", "pg_ctl")


def missing():
    """Why there is no server to be had, or None."""
    absent = [name for name in PROGRAMS if shutil.which(name) is None]
    if absent:
        return f"PostgreSQL is not installed: no {', '.join(absent)}"
    if os.geteuid() == 0 and _user() is None:
        return "PostgreSQL does not run as root, and there is no user 'postgres' or 'nobody'"
    return None


def _user():
    """Whom to run as: PostgreSQL refuses root."""
    if os.geteuid() != 0:
        return None
    names = [entry.pw_name for entry in pwd.getpwall()]
    return next((name for name in ("postgres", "nobody") if name in names), None)


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@contextmanager
def postgres(durable=True):
    """The URL of a new server, which is gone afterwards; one that need not outlive a power cut does not wait for the disk."""
    folder, user, port = Path(tempfile.mkdtemp(prefix="tellapart-pg-", dir="/tmp")), _user(), free_port()
    if user:
        shutil.chown(folder, user)
    data = folder / "data"

    def run(*words):
        subprocess.run([str(word) for word in words], check=True, capture_output=True, user=user, cwd="/tmp", timeout=120)

    try:
        run("initdb", "-D", data, "-U", "tellapart", "--auth=trust", "--no-sync", "--encoding=UTF8", "--locale=C")
        options = f"-p {port} -c listen_addresses=127.0.0.1 -c unix_socket_directories={folder} -c max_connections=200"
        options += "" if durable else " -c fsync=off -c full_page_writes=off"
        run("pg_ctl", "-D", data, "-w", "-l", folder / "log", "-o", options, "start")
        try:
            yield f"postgresql://tellapart@127.0.0.1:{port}/postgres"
        finally:
            run("pg_ctl", "-D", data, "-m", "immediate", "-w", "stop")
    finally:
        shutil.rmtree(folder, ignore_errors=True)
