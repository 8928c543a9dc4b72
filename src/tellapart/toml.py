"""Study files as text: where a key is written, and how sections are written."""

from __future__ import annotations

import re
from typing import Any, Mapping

import tomlkit
from tomlkit.exceptions import ConvertError

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
    wanted = place[1] if len(place) > 1 and isinstance(place[1], int) else 0
    name = next(part for part in reversed(place) if isinstance(part, str))
    key = re.compile(rf"""\s*["']?{re.escape(name)}["']?\s*[=.]""")
    section, count, line_of_section = None, -1, None
    for number, line in enumerate(text.splitlines(), 1):
        if header := re.match(r"\s*\[+\s*([\w.-]+)\s*\]", line):
            section = header[1]
            count += section == place[0]
            line_of_section = number if section == place[0] and count == wanted else line_of_section
        elif key.match(line) and ((section == place[0] and count == wanted) or (section is None and len(place) == 1)):
            return number
    return line_of_section


def write_toml(sections: Mapping[str, Any]) -> str:
    """Sections as text, a list of them as often as it has members."""
    document = tomlkit.document()
    try:
        document.update(_plain(sections))
    except (ConvertError, TypeError, ValueError) as error:
        expected = "text, numbers, true or false, or lists of them"
        raise StudyError("A setting cannot be written to a study file.", expected=expected, got=str(error)) from None
    return tomlkit.dumps(document)


def _plain(value: Any) -> Any:
    """Sections, NumPy's numbers and tuples as TOML knows them."""
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, (tuple, list)):
        return [_plain(item) for item in value]
    return value.item() if hasattr(value, "item") else value
