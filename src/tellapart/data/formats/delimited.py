"""CSV, TSV and their kin: text in any usual encoding, columns separated by commas, tabs, semicolons, bars or spaces."""

from __future__ import annotations

import csv
from pathlib import Path

from ...errors import DataError
from . import Format, Sheet

SEPARATORS = {",": "commas", "\t": "tabs", ";": "semicolons", "|": "bars"}


def read(path: Path) -> list[Sheet]:
    text, encoding = decoded(path)
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    start = next((i for i, line in enumerate(lines) if line.strip() and not line.startswith("#")), None)
    if start is None:
        raise DataError(
            "There is nothing in the data table.",
            where=str(path),
            expected="a header and one row for each trial",
            fix="export the data again",
        )
    separator = _separator(lines[start], next((line for line in lines[start + 1 :] if line.strip()), ""))
    if separator is None:
        table = [line.split() for line in lines[start:]]
    else:
        csv.field_size_limit(2**31 - 1)  # a cell may hold a whole screen of the experiment
        table = _cells(lines, start, separator, path)
    header, rows = [cell.strip() for cell in table[0]], [[cell.strip() for cell in row] for row in table[1:]]
    while rows and not any(rows[-1]):
        rows.pop()
    if header and header[-1] == "" and all(len(row) < len(header) or row[-1] == "" for row in rows):
        header, rows = header[:-1], [row[: len(header) - 1] for row in rows]
    reading = f"columns separated by {SEPARATORS.get(separator or '', 'spaces')}, {encoding}"
    return [Sheet(header, rows, start + 2, reading)]


def _cells(lines: list[str], start: int, separator: str, path: Path) -> list[list[str]]:
    """The cells of each row; a quote that nothing closes would make one cell of all rows below it, and is an error."""
    reader, table = csv.reader(lines[start:], delimiter=separator, skipinitialspace=True, strict=True), list[list[str]]()
    begun = start
    try:
        for row in reader:
            table.append(row)
            begun = start + reader.line_num
    except csv.Error:
        what, fix = "A quote in a data file is not closed.", 'delete it, or write "" for a quote within a quoted cell'
        raise DataError(what, where=f"{path}, line {begun + 1}", got=lines[begun][:80], fix=fix) from None
    return table


def decoded(path: Path) -> tuple[str, str]:
    """The text of a file, and its encoding."""
    data = path.read_bytes()
    for mark, encoding in ((b"\xef\xbb\xbf", "utf-8-sig"), (b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16")):
        if data.startswith(mark):
            return data.decode(encoding), encoding
    if b"\x00" in data[:1000]:
        raise DataError("A data file is not text.", where=str(path), expected="text with a header", fix="save it as CSV in UTF-8")
    try:
        return data.decode("utf-8"), "utf-8"
    except UnicodeDecodeError:
        return data.decode("cp1252", errors="replace"), "cp1252"


def _separator(header: str, row: str) -> str | None:
    """The sign that cuts the header into the most columns, and a row into as many; None for spaces."""
    widths = {sign: (header.count(sign), row.count(sign)) for sign in SEPARATORS}
    agreeing = {sign: width for sign, (width, other) in widths.items() if width and (not row or other)}
    if agreeing:
        return max(agreeing, key=lambda sign: (agreeing[sign], sign == ","))
    return None if len(header.split()) > 1 and len(header.split()) == len(row.split()) else ","


FORMAT = Format("text table", (".csv", ".tsv", ".txt", ".tab", ".dat"), read)
