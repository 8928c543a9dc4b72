"""Behavior: the recorded data of N participants.

Shapes, here and everywhere: N participants, B blocks, T trials. Each named field is an array (N, B, T); `mask` is True
where a trial was recorded. Missed trials, blocks of different lengths and unfinished experiments are all the same
thing: trials at which the mask is False. Fields hold zero there, so that equal data are equal bytes.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .errors import DataError, nearest

if TYPE_CHECKING:
    import pandas as pd

FieldKind = Literal["categorical", "binary", "count", "real", "positive"]

_DTYPES: dict[str, type] = {
    "categorical": np.int16,
    "binary": np.int8,
    "count": np.int32,
    "real": np.float64,
    "positive": np.float64,
}


@dataclass(frozen=True)
class Field:
    """One recorded quantity of a trial.

    Arguments:
        name: Its column in a data table.
        kind: "categorical" (0 … levels - 1), "binary" (0 or 1), "count" (0, 1, 2, …), "real", or "positive" (response times).
        levels: The number of categories, for a categorical field.
    """

    name: str
    kind: FieldKind
    levels: int | None = None

    @property
    def dtype(self) -> np.dtype[Any]:
        return np.dtype(_DTYPES[self.kind])

    @property
    def allowed(self) -> str:
        """The values that the field takes, in words."""
        return {
            "categorical": f"a whole number from 0 to {(self.levels or 1) - 1}",
            "binary": "0 or 1",
            "count": "a whole number, 0 or more",
            "real": "a finite number",
            "positive": "a finite number above 0",
        }[self.kind]

    def allows(self, values: NDArray[Any]) -> NDArray[np.bool_]:
        """Which of `values` the field can take; same shape."""
        values = np.asarray(values, dtype=np.float64)
        finite = np.isfinite(values)
        if self.kind == "real":
            return finite
        if self.kind == "positive":
            return finite & (values > 0)
        highest = {"binary": 1.0, "count": np.inf}.get(self.kind, (self.levels or 1) - 1.0)
        with np.errstate(invalid="ignore"):
            whole = values == np.floor(values)
        return finite & whole & (values >= 0) & (values <= highest)


@dataclass(frozen=True)
class Behavior:
    """The data of N participants.

    Arguments:
        fields: Name to array (N, B, T).
        mask: True where a trial was recorded, (N, B, T); all of them if not given.
        participants: N labels; 0, 1, 2, … if not given.
    """

    fields: Mapping[str, NDArray[Any]]
    mask: NDArray[np.bool_] = field(default=None)  # type: ignore[assignment]
    participants: NDArray[Any] = field(default=None)  # type: ignore[assignment]

    def __post_init__(self) -> None:
        shapes = {name: np.shape(values) for name, values in self.fields.items()}
        first = next(iter(shapes.values()), ())
        if len(first) != 3 or any(shape != first for shape in shapes.values()):
            raise DataError(
                "The fields of a behavior must be arrays of one shape.",
                expected="(participants, blocks, trials) for each field",
                got=shapes,
            )
        mask = np.ones(first, bool) if self.mask is None else np.asarray(self.mask, bool)
        if mask.shape != first:
            raise DataError("The mask of a behavior must have the shape of its fields.", expected=str(first), got=mask.shape)
        fields = {name: np.where(mask, values, np.zeros((), np.asarray(values).dtype)) for name, values in self.fields.items()}
        participants = np.arange(first[0]) if self.participants is None else np.asarray(self.participants)
        object.__setattr__(self, "fields", fields if not mask.all() else {k: np.asarray(v) for k, v in self.fields.items()})
        object.__setattr__(self, "mask", mask)
        object.__setattr__(self, "participants", participants)

    @property
    def shape(self) -> tuple[int, int, int]:
        """(N, B, T)."""
        n, blocks, trials = self.mask.shape
        return n, blocks, trials

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, which: Any) -> Behavior:
        """Some of the participants: a slice, an index array or a mask over participants."""
        which = np.atleast_1d(which) if not isinstance(which, slice) else which
        return Behavior({k: v[which] for k, v in self.fields.items()}, self.mask[which], self.participants[which])

    def first(self, *, blocks: int | None = None, trials: int | None = None) -> Behavior:
        """The same participants as if the experiment had ended earlier: the first blocks, the first trials of each."""
        cut = np.s_[:, :blocks, :trials]
        return Behavior({k: v[cut] for k, v in self.fields.items()}, self.mask[cut], self.participants)

    @staticmethod
    def concatenate(parts: Sequence[Behavior]) -> Behavior:
        """All participants of all `parts`, in order."""
        return Behavior(
            {name: np.concatenate([part.fields[name] for part in parts]) for name in parts[0].fields},
            np.concatenate([part.mask for part in parts]),
            np.concatenate([part.participants for part in parts]),
        )

    def to_table(self, extra: Mapping[str, ArrayLike] | None = None) -> pd.DataFrame:
        """The long table: a row a trial, columns participant, block, trial, then the fields; missed trials are left empty.

        Arguments:
            extra: Columns with one value a participant, put in front of `block` if named "model", else last.
        """
        import pandas as pd

        n, blocks, trials = self.shape
        participant, block, trial = (index.reshape(-1) for index in np.indices((n, blocks, trials)))
        extra = dict(extra or {})
        columns: dict[str, Any] = {"participant": self.participants[participant]}
        if "model" in extra:
            columns["model"] = np.asarray(extra.pop("model"))[participant]
        columns |= {"block": block, "trial": trial}
        for name, values in self.fields.items():
            column = pd.Series(values.reshape(-1))
            columns[name] = column if self.mask.all() else column.convert_dtypes().mask(~self.mask.reshape(-1))
        columns |= {name: np.asarray(values)[participant] for name, values in extra.items()}
        return pd.DataFrame(columns)

    @staticmethod
    def from_table(table: pd.DataFrame, fields: Sequence[Field], blocks: int, trials: int, source: str = "the data table") -> Behavior:
        """Read a long table. Rows that are absent, or whose fields are all empty, are missed trials.

        Arguments:
            table: Columns participant, block, trial and one for each field; others are ignored.
            fields: What the task records.
            blocks: B, the number of blocks.
            trials: T, the longest block.
            source: What to call the table in messages, for example its file name.
        """
        return _read_table(table, fields, blocks, trials, source)


def _read_table(table: pd.DataFrame, fields: Sequence[Field], blocks: int, trials: int, source: str) -> Behavior:
    import pandas as pd

    for column in ["participant", "block", "trial", *(f.name for f in fields)]:
        if column not in table.columns:
            raise DataError(
                f"A column is missing from {source}.",
                expected=f"a column '{column}'",
                got=f"columns {', '.join(map(str, table.columns))}",
                fix=nearest(column, map(str, table.columns)) if len(table.columns) else None,
            )
    if table.empty:
        raise DataError(f"There is no row in {source}.", expected="a row a trial", got="0 rows")

    def numbers(column: str) -> NDArray[np.float64]:
        values = pd.to_numeric(table[column], errors="coerce").to_numpy(np.float64, na_value=np.nan)
        wrong = np.isnan(values) & table[column].notna().to_numpy()
        _refuse(wrong, table, column, "a number", source)
        return values

    index = {}
    for column, limit in (("block", blocks), ("trial", trials)):
        values = numbers(column)
        _refuse(~Field(column, "categorical", limit).allows(values), table, column, f"a whole number from 0 to {limit - 1}", source)
        index[column] = values.astype(np.intp)
    missing_label = table["participant"].isna().to_numpy()
    _refuse(missing_label, table, "participant", "a label", source)
    codes, labels = pd.factorize(table["participant"])
    place = (codes * blocks + index["block"]) * trials + index["trial"]
    repeated = pd.Series(place).duplicated().to_numpy()
    if repeated.any():
        row = int(np.argmax(repeated))
        raise DataError(
            f"Two rows of {source} are about the same trial.",
            where=f"row {row + 2}: participant {table['participant'].iloc[row]}, block {index['block'][row]}, trial {index['trial'][row]}",
            expected="one row for each participant, block and trial",
            fix="delete the duplicate rows",
        )

    values = {f.name: numbers(f.name) for f in fields}
    empty = {name: np.isnan(column) for name, column in values.items()}
    missed = np.logical_and.reduce(list(empty.values()))
    for f in fields:
        _refuse(~missed & ~f.allows(values[f.name]), table, f.name, f"{f.allowed}, or all fields empty for a missed trial", source)

    size = (len(labels), blocks, trials)
    mask = np.zeros(size, bool)
    mask.reshape(-1)[place] = ~missed
    arrays = {}
    for f in fields:
        array = np.zeros(size, f.dtype)
        array.reshape(-1)[place] = np.where(missed, 0, values[f.name]).astype(f.dtype)
        arrays[f.name] = array
    return Behavior(arrays, mask, np.asarray(labels))


def _refuse(wrong: NDArray[np.bool_], table: pd.DataFrame, column: str, expected: str, source: str) -> None:
    """Raise for the first wrong value; rows are counted as a spreadsheet shows them, the header being row 1."""
    if wrong.any():
        row = int(np.argmax(wrong))
        raise DataError(
            f"A value in {source} is not one that the task can record.",
            where=f"row {row + 2}, column '{column}'",
            expected=expected,
            got=f"{table[column].iloc[row]!r} ({int(wrong.sum())} such rows)",
        )
