"""What a user says about a table: in the section [data] of a study file, or by options of the command line."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Mapping, Sequence

from ..errors import DataError


@dataclass(frozen=True)
class TableSettings:
    """How a table is to be read, where it does not say so itself.

    Arguments:
        columns: What is wanted (participant, block, trial, group, a field) to the name of its column; "none" for no column.
        codes: A field, or "block", to the texts for 0, 1, 2, …; or to "ms" for a time that is in milliseconds.
        missing: Texts that stand for a missed trial.
        rows: A column to the texts of the rows that are trials; others are left out.
    """

    columns: Mapping[str, str] = field(default_factory=dict)
    codes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    missing: frozenset[str] = frozenset()
    rows: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @classmethod
    def of(cls, section: Mapping[str, Any]) -> TableSettings:
        """The section [data] of a study file; its keys are the arguments, each a text or a list of texts or numbers."""
        codes, rows = ({str(k): _texts(v) for k, v in section.get(key, {}).items()} for key in ("codes", "rows"))
        return cls(dict(section.get("columns", {})), codes, frozenset(_texts(section.get("missing", ()))), rows)

    def written(self) -> dict[str, Any]:
        """The section as a study file has it, without what is empty."""
        codes, rows = ({key: list(texts) for key, texts in part.items()} for part in (self.codes, self.rows))
        section = {"columns": dict(self.columns), "codes": codes, "missing": sorted(self.missing), "rows": rows}
        return {key: value for key, value in section.items() if value}

    def with_options(
        self, columns: Sequence[str] = (), codes: Sequence[str] = (), missing: Sequence[str] = (), rows: Sequence[str] = ()
    ) -> TableSettings:
        """The same, with options of the command line on top: "choice=response", "choice=left,right", "-1", "task=choice"."""
        listed = {key: tuple(part.strip() for part in value.split(",")) for key, value in _pairs(codes, "--codes").items()}
        chosen = {key: tuple(part.strip() for part in value.split(",")) for key, value in _pairs(rows, "--rows").items()}
        return TableSettings(
            {**self.columns, **_pairs(columns, "--columns")}, {**self.codes, **listed}, self.missing | set(missing), {**self.rows, **chosen}
        )


def _texts(value: Any) -> tuple[str, ...]:
    return tuple(_text(one) for one in value) if isinstance(value, list | tuple) else (_text(value),)


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _pairs(options: Sequence[str], option: str) -> dict[str, str]:
    """Options "name=value"."""
    pairs = {}
    for text in options:
        name, equals, value = text.partition("=")
        if not equals or not name.strip() or not value.strip():
            raise DataError("An option cannot be understood.", where=f"{option} {text}", expected=f"{option} NAME=VALUE")
        pairs[name.strip()] = value.strip()
    return pairs
