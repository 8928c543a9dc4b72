"""Study files as text: where a key is written, and how values are written.

Python reads TOML but neither tells the line of a key nor writes TOML; for the plain tables of a study file both are short.
"""

from __future__ import annotations

import json
import re
from typing import Any, Mapping, Sequence

from .errors import StudyError

Place = tuple[str | int, ...]
"""Where in a study file: section, then the number of the section if it can be repeated, then the key."""


def header_of(place: Place) -> str:
    """A section as the file writes it."""
    return "[[models]]" if place[0] == "models" else f"[{place[0]}]"


def line_of(text: str, place: Place) -> int | None:
    """The line of a key, or of its section if the key is not written; None if neither is."""
    if not place:
        return None
    wanted = next((part for part in place[1:] if isinstance(part, int)), 0)
    key = re.compile(rf"""\s*["']?{re.escape(str(place[-1]))}["']?\s*[=.]""")
    current, count, found = None, -1, None
    for number, line in enumerate(text.splitlines(), 1):
        if header := re.match(r"\s*\[+\s*([\w.-]+)\s*\]", line):
            current = header[1]
            count += current == place[0]
            found = number if current == place[0] and count == wanted else found
        elif key.match(line) and ((current == place[0] and count == wanted) or (current is None and len(place) == 1)):
            return number
    return found


def section(header: str, values: Mapping[str, Any]) -> str:
    """A section of a study file; keys without a value are left out."""
    lines = [f"{_toml_key(key)} = {_written(value)}" for key, value in values.items() if value is not None]
    return "\n".join([header, *lines, ""])


def _toml_key(key: str) -> str:
    return key if re.fullmatch(r"[A-Za-z0-9_-]+", key) else json.dumps(key)


def _written(value: Any) -> str:
    """A value as TOML writes it."""
    value = value.item() if hasattr(value, "item") else value  # a NumPy number
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, (int, float)):
        return repr(value)
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{_toml_key(key)} = {_written(item)}" for key, item in value.items()) + "}"
    if isinstance(value, Sequence):
        return "[" + ", ".join(_written(item) for item in value) + "]"
    raise StudyError(
        "A setting cannot be written to a study file.", expected="text, numbers, true or false, or lists of them", got=repr(value)
    )
