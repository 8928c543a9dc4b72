"""Files that are written whole or not at all, and how their paths are written in commands.

What is written goes to a temporary file beside the wanted one, which is then renamed in one step. Whoever reads the wanted
file sees all of the old content or all of the new, never half, whatever stops the program.
"""

from __future__ import annotations

import os
import secrets
import shlex
import subprocess
from contextlib import contextmanager
from pathlib import Path
from typing import Iterator

from .errors import DataError


@contextmanager
def written_whole(path: str | Path) -> Iterator[Path]:
    """Give a temporary path to write to; rename it to `path` when the block ends without an error.

    That `path` can be written is made sure of first, so that nobody computes for an hour what cannot be kept.
    """
    target = Path(path).resolve()
    temporary = _claim(target)
    try:
        yield temporary
        os.replace(temporary, target)
    except OSError as error:
        raise _unwritable(target, error.strerror or str(error), "make room on the disk or write elsewhere") from error
    finally:
        temporary.unlink(missing_ok=True)


def check_writable(path: str | Path) -> None:
    """Raise a `DataError` now if `path` cannot be written later."""
    _claim(Path(path).resolve()).unlink()


def quoted(path: str | Path) -> str:
    """A path as it is written in a command: in quotes if it has spaces, those that the shells of this system know."""
    return subprocess.list2cmdline([str(path)]) if os.name == "nt" else shlex.quote(str(path))


def _claim(target: Path) -> Path:
    """Create the empty temporary file, or raise a `DataError` that says why that is impossible."""
    if target.is_dir():
        raise _unwritable(target, "a folder", "give the name of a file in it")
    if target.exists() and not target.is_file():
        raise _unwritable(target, "neither a file nor a folder", "give the name of a file")
    if target.exists() and not os.access(target, os.W_OK):
        raise _unwritable(target, "a file that is write-protected", "choose another name or lift the protection")
    if not target.parent.is_dir():
        raise _unwritable(target, f"no folder '{target.parent}'", "create the folder first or check its name")
    temporary = target.with_name(f".{target.name}.{secrets.token_hex(4)}.part")
    try:
        temporary.touch(exist_ok=False)
    except OSError as error:
        raise _unwritable(target, error.strerror or str(error), "choose a folder that you may write to") from None
    return temporary


def _unwritable(target: Path, got: str, fix: str) -> DataError:
    expected = "a file in a folder that can be written to"
    return DataError("The output cannot be written.", where=str(target), expected=expected, got=got, fix=fix)
