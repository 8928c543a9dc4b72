"""From files, folders and frames to one table of text: one file for all, or one for each participant."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, Sequence

import numpy as np
import pandas as pd

from ..errors import DataError
from .formats import Sheet, formats, read_sheets
from .frames import sheet_of
from .problems import Findings, some
from .raw import RawTable, plain

FILE_PERSON = "file name"
"""The column that holds whose file it is, where files say that by their names."""

_PSYCH_DS = re.compile(r"(?:^|_)(?:sub|subject|participant)-([A-Za-z0-9]+)")


def collect(sources: Sequence[str | Path] | pd.DataFrame, findings: Findings) -> RawTable:
    """All rows of all sources.

    Arguments:
        sources: Files and folders, or one pandas frame.
    """
    if not isinstance(sources, Sequence):
        return _joined([("the data table", "", sheet_of(sources))], "the data table", findings)
    files = [file for source in sources for file in data_files(Path(source))]
    sheets = [(file.name, _person(file), sheet) for file in files for sheet in read_sheets(file)]
    name = str(files[0]) if len(files) == 1 else f"{len(files)} files ({some([file.name for file in files], 3)})"
    findings.understood("file" if len(files) == 1 else "files", "", f"{name}; {some(sorted({sheet.reading for *_, sheet in sheets}), 2)}")
    return _joined(sheets, name, findings)


def data_files(path: Path) -> list[Path]:
    """The data files that a path means: itself, or those in it and below it."""
    if path.is_dir():
        inside = path / "data" if (path / "dataset_description.json").is_file() and (path / "data").is_dir() else path
        listed = sorted(
            file for file in inside.rglob("*") if file.is_file() and file.suffix.lower() in formats() and not file.name.startswith(".")
        )
        if not listed:
            expected = f"files that end in {', '.join(formats())}"
            raise DataError("There is no data file in the folder.", where=str(path), expected=expected, fix="check the path")
        return listed
    if not path.exists():
        raise DataError("There is no such data file.", where=str(path), fix="check the path")
    return [path]


def _person(file: Path) -> str:
    """Whose file it is, by its name."""
    match = _PSYCH_DS.search(file.stem)
    return match.group(1) if match else file.stem


def _joined(sheets: list[tuple[str, str, Sheet]], source: str, findings: Findings) -> RawTable:
    """One table of all sheets; a column that a sheet does not have is empty in its rows."""
    names: dict[str, str] = {}
    written: set[str] = set()
    parts: list[dict[str, Any]] = []
    rows: list[int] = []
    files: list[str] = []
    several = len(sheets) > 1
    for number, (file, person, sheet) in enumerate(sheets):
        _check(sheet, file if several else "", findings)
        good = [(sheet.first + i, row) for i, row in enumerate(sheet.rows) if len(row) == len(sheet.header) and any(row)]
        columns: dict[str, Any] = {}
        for c, name in enumerate(sheet.header):
            if name:
                alike = name if name in written else names.setdefault(plain(name) or name, name)
                column = name if alike in columns else alike  # sheets may write one name in two ways, but within one these are two columns
                columns[column] = [row[c] for _, row in good]
        if several or sheet.people:
            columns[FILE_PERSON] = [sheet.people or (person if _told_apart(sheets) else f"{person} {number + 1}")] * len(good)
        written |= {*columns}
        parts.append(columns)
        rows += [row for row, _ in good]
        files += [file] * len(good)
    bare = [sheet.people or file for file, _, sheet in sheets if not sheet.rows]
    if bare and rows:
        findings.understood("no row", "", f"in {some(bare)}: left out")
    header = list(dict.fromkeys(name for part in parts for name in part))
    lengths = [len(next(iter(part.values()), [])) for part in parts]
    joined = {name: [text for part, n in zip(parts, lengths, strict=True) for text in part.get(name, [""] * n)] for name in header}
    texts = {name: np.array(values, object) for name, values in joined.items()}
    if not rows and not any(sheet.rows for *_, sheet in sheets):  # else what is wrong with the rows has been said
        findings.mend("There is no row in the table.", "one row for each trial below a header", source)
    return RawTable(texts, np.array(rows, np.intp), np.array(files, object), source)


def _told_apart(sheets: list[tuple[str, str, Sheet]]) -> bool:
    return len({person for _, person, _ in sheets}) == len(sheets)


def _check(sheet: Sheet, file: str, findings: Findings) -> None:
    """What can be wrong with a table before any column is understood."""
    within = f" of {file}" if file else ""
    repeated = sorted({name for name in sheet.header if name and sheet.header.count(name) > 1})
    if repeated:
        findings.mend(f"The columns {some(repeated)} are there more than once.", "rename or delete the copies", f"the header{within}")
    wrong = [(sheet.first + i, len(row)) for i, row in enumerate(sheet.rows) if any(row) and len(row) != len(sheet.header)]
    if wrong:
        where = some([f"row {row} has {width}" for row, width in wrong])
        findings.mend(
            f"{len(wrong)} rows{within} have more or fewer values than the header has columns ({len(sheet.header)}).",
            _width_fix(sheet),
            where,
        )
    if len(sheet.header) > 1 and all(re.fullmatch(r"[+-]?\d+([.,]\d+)?", name) for name in sheet.header):
        findings.mend("The first row holds numbers, not names of columns.", "put a header above it", f"row {sheet.first - 1}{within}")


def _width_fix(sheet: Sheet) -> str:
    """The usual fix where rows and header are not of one length: if most rows are longer, it is not the rows."""
    longer = sum(len(row) > len(sheet.header) for row in sheet.rows)
    if 2 * longer <= len(sheet.rows):
        return "mend these rows"
    return "name every column in the header; if numbers have decimal commas, save the table with semicolons or tabs between columns"
