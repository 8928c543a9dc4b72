"""Behavior: the recorded data of N participants.

Shapes, here and everywhere: N participants, B blocks, T trials. Each named field is an array (N, B, T); `mask` is True
where a trial was recorded. Missed trials, blocks of different lengths and unfinished experiments are all the same
thing: trials at which the mask is False. Fields hold zero there, so that equal data are equal bytes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .errors import DataError

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

MOST = int(np.iinfo(_DTYPES["count"]).max)
"""The largest count that the arrays hold."""

COUNTS_FROM = "counts_from"
"""The column of a table that says which number the first choice and the first block have, where the numbers do not show it."""


@dataclass(frozen=True)
class Field:
    """One recorded quantity of a trial.

    Arguments:
        name: Its column in a data table.
        kind: "categorical" (0 … levels - 1), "binary" (0 or 1), "count" (0, 1, 2, …), "real", or "positive" (response times).
        levels: The number of categories, for a categorical field; their labels will do too.
        by: Who gives it: the "participant" (a response) or the "task" (an outcome).
        labels: What the categories are called, for screens and tables.
    """

    name: str
    kind: FieldKind
    levels: int | None = None
    by: Literal["participant", "task"] = "participant"
    labels: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "labels", tuple(self.labels))
        if self.labels and self.levels is None:
            object.__setattr__(self, "levels", 2 if self.kind == "binary" else len(self.labels))
        expected = 2 if self.kind == "binary" else self.levels if self.kind == "categorical" else 0
        if self.labels and len(self.labels) != expected:
            raise DataError(f"The field '{self.name}' needs a label for each category.", expected=f"{expected} labels", got=self.labels)

    @property
    def dtype(self) -> np.dtype[Any]:
        return np.dtype(_DTYPES[self.kind])

    @property
    def allowed(self) -> str:
        """The values that the field takes, in words."""
        return {
            "categorical": f"a whole number from 0 to {(self.levels or 1) - 1}",
            "binary": "0 or 1",
            "count": f"a whole number from 0 to {MOST}",
            "real": "a finite number",
            "positive": "a finite number above 0",
        }[self.kind]

    def allows(self, values: NDArray[Any]) -> NDArray[np.bool_]:
        """Which of `values` the field can take; same shape."""
        values = np.asarray(values, dtype=np.float64)
        finite = np.isfinite(values)
        if self.kind == "real":
            return np.asarray(finite)
        if self.kind == "positive":
            return np.asarray(finite & (values > 0))
        highest = {"binary": 1.0, "count": MOST}.get(self.kind, (self.levels or 1) - 1.0)
        with np.errstate(invalid="ignore"):
            whole = values == np.floor(values)
        return np.asarray(finite & whole & (values >= 0) & (values <= highest))


@dataclass(frozen=True, eq=False)
class Behavior:
    """The data of N participants.

    Arguments:
        fields: Name to array (N, B, T).
        mask: True where a trial was recorded, (N, B, T); all of them if not given.
        participants: N labels; 0, 1, 2, … if not given.
    """

    fields: Mapping[str, NDArray[Any]]
    mask: NDArray[np.bool_] = None  # type: ignore[assignment]
    participants: NDArray[Any] = None  # type: ignore[assignment]

    def __post_init__(self) -> None:
        shapes = {name: np.shape(values) for name, values in self.fields.items()}
        first = next(iter(shapes.values()), ())
        if len(first) != 3 or any(shape != first for shape in shapes.values()):
            expected = "(participants, blocks, trials) for each field"
            raise DataError("The fields of a behavior must be arrays of one shape.", expected=expected, got=shapes)
        mask = np.ones(first, bool) if self.mask is None else np.asarray(self.mask, bool)
        if mask.shape != first:
            raise DataError("The mask of a behavior must have the shape of its fields.", expected=str(first), got=mask.shape)
        fields = {name: np.asarray(values) for name, values in self.fields.items()}
        if not mask.all():
            fields = {name: np.where(mask, values, np.zeros((), values.dtype)) for name, values in fields.items()}
        participants = np.arange(first[0]) if self.participants is None else np.asarray(self.participants)
        if participants.shape != first[:1]:
            raise DataError("A behavior must have one label a participant.", expected=f"{first[0]} labels", got=participants.shape)
        object.__setattr__(self, "fields", fields)
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

    def until(self, block: int) -> Behavior:
        """A copy in which nothing was recorded from a block on."""
        before = self.mask & (np.arange(self.shape[1]) < block)[:, None]
        return Behavior({name: values.copy() for name, values in self.fields.items()}, before, self.participants)

    def in_one_block(self) -> Behavior:
        """The same participants as if their blocks were one, without a break."""
        n, blocks, trials = self.shape
        fields = {name: values.reshape(n, 1, blocks * trials) for name, values in self.fields.items()}
        return Behavior(fields, self.mask.reshape(n, 1, blocks * trials), self.participants)

    def rearranged(self, order: NDArray[np.intp], axis: int) -> Behavior:
        """The same participants with blocks (axis 1) or trials (axis 2) in another order, (N, B, 1) or (N, B, T)."""
        fields = {name: np.take_along_axis(values, order, axis) for name, values in self.fields.items()}
        return Behavior(fields, np.take_along_axis(self.mask, order, axis), self.participants)

    def closed_up(self) -> Behavior:
        """The same participants, gaps closed: a missed trial is as if it had never been, and what was recorded comes first in a block."""
        return self.rearranged(np.argsort(~self.mask, axis=2, kind="stable"), 2)

    def record(self, place: tuple[int, int, int], values: Mapping[str, Any]) -> None:
        """Put down what happened at a participant's trial of a block: a value for each field."""
        self.mask[place] = True
        for name, value in values.items():
            self.fields[name][place] = value

    def write(self, who: Any, others: Behavior) -> None:
        """Put what `others` did in the place of some of the participants."""
        for name, values in others.fields.items():
            self.fields[name][who] = values
        self.mask[who] = others.mask

    @staticmethod
    def concatenate(parts: Sequence[Behavior]) -> Behavior:
        """All participants of all `parts`, in order."""
        return Behavior(
            {name: np.concatenate([part.fields[name] for part in parts]) for name in parts[0].fields},
            np.concatenate([part.mask for part in parts]),
            np.concatenate([part.participants for part in parts]),
        )

    def counting(self) -> dict[str, NDArray[np.intp]]:
        """A column for tables that are written, (N,), if nobody took the first choice, or played the first block: then numbers do not show
        that they count from 0."""
        choices = [values[self.mask] for values in self.fields.values() if values.dtype == _DTYPES["categorical"]]
        unclear = any(len(values) and values.min() > 0 for values in choices) or not self.mask[:, :1].any()
        return {COUNTS_FROM: np.zeros(len(self), np.intp)} if unclear else {}

    def to_table(self, extra: Mapping[str, ArrayLike] | None = None) -> pd.DataFrame:
        """The long table: one row per trial, columns participant, block, trial, then the fields; missed trials are left empty.

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
