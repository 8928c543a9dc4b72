"""File formats, one file each: a new format is a new file in this folder with a `FORMAT`."""

from __future__ import annotations

import importlib
import pkgutil
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Callable

from ...errors import DataError

Rows = list[list[str]]


@dataclass(frozen=True)
class Sheet:
    """A table of texts as a file has it.

    Arguments:
        header: Names of columns.
        rows: Each as long as the header, or not: then that is a problem.
        first: The row of the file in which the first of `rows` is, as a spreadsheet counts.
        reading: How the file was read, in a few words.
        people: Whose rows these are, if the file says so beside its columns.
    """

    header: list[str]
    rows: Rows
    first: int = 2
    reading: str = ""
    people: str | None = None


@dataclass(frozen=True)
class Format:
    """A file format.

    Arguments:
        name: What messages call it.
        endings: Of file names, with their dots.
        read: Gives the tables of a file, one or several.
    """

    name: str
    endings: tuple[str, ...]
    read: Callable[[Path], list[Sheet]]


@cache
def formats() -> dict[str, Format]:
    """Ending to format, for all formats of this folder."""
    listed = [importlib.import_module(f"{__name__}.{module.name}").FORMAT for module in pkgutil.iter_modules(__path__)]
    return {ending: one for one in listed for ending in one.endings}


def read_sheets(path: Path) -> list[Sheet]:
    """The tables of a file, or a `DataError` that says why it cannot be read."""
    known = formats()
    ending = path.suffix.lower()
    if ending not in known:
        expected, got = f"a file that ends in {', '.join(known)}", ending or "no ending"
        raise DataError("This kind of file is unknown.", where=str(path), expected=expected, got=got, fix="save the data as CSV")
    try:
        return known[ending].read(path)
    except DataError:
        raise
    except OSError as error:
        raise DataError("A data file cannot be read.", where=str(path), got=error.strerror or str(error), fix="check the path") from None
    except Exception as error:  # packages that read files have errors of all kinds for a file that is broken
        got, fix = f"{type(error).__name__}: {error}"[:200], "export the data again, or save them as CSV in UTF-8"
        raise DataError("A data file cannot be read.", where=str(path), got=got, fix=fix) from None
