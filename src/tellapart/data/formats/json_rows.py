"""JSON as jsPsych, DataPipe and JATOS write it: a list of screens, a list of such lists, one for each participant, or one object a line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Mapping

from ...errors import DataError
from . import Format, Sheet
from .delimited import decoded

INSIDE = ("trials", "data", "rows", "records", "results")
"""Keys under which an object keeps its list of rows."""


def read(path: Path) -> list[Sheet]:
    text, encoding = decoded(path)
    try:
        content = json.loads(text)
    except json.JSONDecodeError as whole:
        try:
            content = [json.loads(line) for line in text.splitlines() if line.strip()]
        except json.JSONDecodeError:
            raise DataError("A data file is not valid JSON.", where=f"{path}, line {whole.lineno}", got=whole.msg) from None
    sheets = [_sheet(rows, f"JSON, {encoding}", people) for people, rows in _tables(_without_null(content), path)]
    if not sheets or not any(sheet.rows for sheet in sheets):
        raise DataError("There is no row in a data file.", where=str(path), expected="a list of objects, one for each trial")
    return sheets


def _without_null(content: Any) -> Any:
    return [part for part in content if part is not None] if isinstance(content, list) else content


def _tables(content: Any, path: Path) -> list[tuple[str | None, list[Mapping[str, Any]]]]:
    """The lists of rows in some content, each with whose they are, if that is said beside them."""
    if isinstance(content, list) and content and all(isinstance(part, list) for part in content):
        return [(None, rows) for part in content for _, rows in _tables(part, path)]
    if isinstance(content, list):
        other = next((part for part in content if not isinstance(part, Mapping)), None)
        if other is not None:
            expected, got = "a list of objects, one for each trial, or of such lists", f"{json.dumps(other)[:80]} beside objects or lists"
            raise DataError("A list in a data file holds things of different kinds.", where=str(path), expected=expected, got=got)
        nested = [row for row in content if _inside(row, path)]
        if nested and len(nested) == len(content):
            return [(None, [{**_outside(row), **inner} for inner in row[_inside(row, path)]]) for row in nested]
        return [(None, content)]
    if isinstance(content, Mapping):
        key = _inside(content, path)
        if key:
            return [(None, [{**_outside(content), **inner} for inner in content[key]])]
        if content and all(isinstance(part, list) for part in content.values()):
            if all(isinstance(row, Mapping) for part in content.values() for row in part):
                return [(str(people), list(rows)) for people, rows in content.items()]
            width = max(map(len, content.values()))
            return [(None, [{key: column[i] for key, column in content.items() if i < len(column)} for i in range(width)])]
    return []


def _inside(row: Mapping[str, Any], path: Path) -> str:
    """The key under which an object keeps rows, if it does."""
    found = [key for key in INSIDE if isinstance(row.get(key), list) and all(isinstance(one, Mapping) for one in row[key])]
    filled = [key for key in found if row[key]]
    if len(filled) > 1:
        expected, got = "one list of objects, one for each trial", f"lists under {', '.join(map(repr, filled))}"
        raise DataError("An object in a data file has several lists of rows.", where=str(path), expected=expected, got=got)
    return (filled or found or [""])[0]


def _outside(row: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in row.items() if not isinstance(value, list | Mapping)}


def _sheet(rows: list[Mapping[str, Any]], reading: str, people: str | None) -> Sheet:
    flat = [_flat(row) for row in rows]
    header = list(dict.fromkeys(key for row in flat for key in row))
    return Sheet(header, [[row.get(key, "") for key in header] for row in flat], 1, reading, people)


def _flat(row: Mapping[str, Any]) -> dict[str, str]:
    """A row as texts; what an object holds has its key in front, as in "response.Q0"."""
    flat: dict[str, str] = {}
    for key, value in row.items():
        if isinstance(value, Mapping):
            flat |= {f"{key}.{inner}": text for inner, text in _flat(value).items()}
        else:
            flat[str(key).strip()] = _text(value)
    return flat


def _text(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    return json.dumps(value) if isinstance(value, list) else str(value).strip()


FORMAT = Format("JSON", (".json", ".jsonl", ".ndjson"), read)
