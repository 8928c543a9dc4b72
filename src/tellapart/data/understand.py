"""From any table to behavior: find the columns, the rows that are trials, the coding, the order; say what was understood.

All that is wrong is told at once; where two readings are possible it is asked. Nothing is computed before both lists are empty.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from ..behavior import Behavior, Field
from ..tasks.base import Task
from .codes import find_coding
from .collect import FILE_PERSON, collect
from .designs import designs_in_data, designs_in_table
from .gain_loss import net_outcome
from .names import BLOCK, GROUP, PARTICIPANT, TRIAL, names_of
from .places import Places, find_places
from .problems import Findings, some
from .raw import RawTable, Texts, is_missing, plain
from .roles import ask_for_column, find_column
from .rows import trial_rows
from .settings import TableSettings

if TYPE_CHECKING:
    import pandas as pd

Floats = NDArray[np.float64]

FEW = 10
"""A person with fewer recorded trials is named."""


@dataclass(frozen=True, eq=False)
class Understanding:
    """A table, understood.

    Arguments:
        behavior: The data of N participants.
        lines: What was understood: what, from which column, how.
        designs: What they were run at, (N, B, V), if the table says so.
        groups: Name to a text for each participant, (N,).
        conditions: Name to a text for each participant and block, (N, B).
        variables: Names of the design variables, V.
        source: What to call the table.
    """

    behavior: Behavior
    lines: tuple[tuple[str, str, str], ...]
    designs: Floats | None = None
    groups: Mapping[str, Texts] = field(default_factory=dict)
    conditions: Mapping[str, Texts] = field(default_factory=dict)
    variables: tuple[str, ...] = ()
    source: str = ""

    def in_words(self) -> str:
        """What was understood, as a table for the screen."""
        rows = [("what", "column", "understood as"), *self.lines]
        widths = [max(len(row[i]) for row in rows) for i in (0, 1)]
        return "\n".join(f"{what:<{widths[0]}}  {column:<{widths[1]}}  {reading}" for what, column, reading in rows)

    def to_table(self) -> pd.DataFrame:
        """The long table of tellapart, with groups, conditions and designs in columns of their own."""
        table = self.behavior.to_table(self.groups)
        _, blocks, trials = self.behavior.shape
        columns = {name: np.repeat(values.reshape(-1), trials) for name, values in self.conditions.items()}
        if self.designs is not None:
            columns |= {name: np.repeat(self.designs[:, :blocks, v].reshape(-1), trials) for v, name in enumerate(self.variables)}
        return table.assign(**columns)


def understand(
    sources: Sequence[str | Path] | pd.DataFrame, task: Task, settings: TableSettings | None = None, designs: str | Path | None = None
) -> Understanding:
    """Read any table, or raise a `TableError` with all problems and questions.

    Arguments:
        sources: Files and folders, or a pandas frame.
        settings: What the user says about the table.
        designs: A table of designs, if participants had designs of their own that the data do not hold.
    """
    findings = Findings()
    reading = _Reading(collect(sources, findings), task, settings or TableSettings(), findings)
    understood = reading.understood(designs)
    findings.stop_if_unclear(reading.raw.source)
    assert understood is not None
    return understood


class _Reading:
    """One table being read."""

    def __init__(self, raw: RawTable, task: Task, settings: TableSettings, findings: Findings) -> None:
        self.raw, self.task, self.settings, self.findings = raw, task, settings, findings
        self.taken: dict[str, str] = {}

    def understood(self, designs: str | Path | None) -> Understanding | None:
        labels = self._participants()
        columns = {f.name: self._field(f) for f in self.task.fields}
        block, trial = (self._column(what, names) for what, names in (("block", BLOCK), ("trial", TRIAL)))
        keep = self._rows(labels, [name for name in (block, trial) if name], columns)
        table, labels = self.raw.kept(keep), None if labels is None else labels[keep]
        values = {name: None if column is None else column[keep] for name, column in columns.items()}
        missed = self._missed(values, len(table))
        recorded = {f.name: self._coded(f, values[f.name], missed, table) for f in self.task.fields}
        self._named_people(labels, table)
        if labels is None or not len(table):
            if not len(table) and len(self.raw):
                self.findings.mend("No row is left that is a trial.", "--rows COLUMN=TEXT for the rows that are trials")
            return None
        names, people = _in_order_of_appearance(labels)
        places = find_places(table, people, block, trial, self.task.blocks, self.task.trials, self.findings)
        own = designs_in_table(self.task, designs, names, self.findings) if designs else None
        if places is None or not self.findings.clear:
            return None
        if own is None:
            own = designs_in_data(self.task, table, people, places.block, len(names), self.findings)
        behavior = self._behavior(names, people, places, recorded, missed)
        groups, conditions = self._groups(table, people, places, len(names))
        self._conclude(behavior)
        variables = tuple(variable.name for variable in self.task.design_space.variables)
        return Understanding(behavior, tuple(self.findings.lines), own, groups, conditions, variables, self.raw.source)

    def _column(self, what: str, names: Sequence[str]) -> str | None:
        column = find_column(self.raw, what, names, self.settings, self.findings, self.taken)
        if column is not None:
            self.taken[column] = what
        return column

    def _participants(self) -> Texts | None:
        """Whose row each is, (R,)."""
        column = self._column("participant", PARTICIPANT)
        if column is not None:
            self.findings.understood("participant", column, "labels, kept as text")
            return _filled(self.raw[column], self.raw.files)
        if FILE_PERSON in self.raw.columns:
            self.findings.understood("participant", "", "one file each, by the names of files")
            return self.raw[FILE_PERSON]
        if 0 < len(self.raw) <= self.task.blocks * self.task.trials:
            person = Path(self.raw.source).stem
            self.findings.understood("participant", "", f"no column: all rows are of one person, '{person}'")
            return np.full(len(self.raw), person, object)
        ask_for_column(self.raw, "participant", "a label for each person", self.taken, self.findings)
        return None

    def _field(self, wanted: Field) -> Texts | None:
        """The texts of a field, (R,)."""
        column = self._column(wanted.name, names_of(wanted))
        if column is not None:
            return self.raw[column]
        both = net_outcome(self.raw) if wanted.by == "task" and wanted.kind == "binary" else None
        if both is not None:
            self.taken[both[0]] = wanted.name
            self.findings.understood(wanted.name, both[0], "1 if more was gained than lost")
            return both[1]
        if not any(wanted.name in problem.what for problem in self.findings.problems):
            ask_for_column(self.raw, wanted.name, wanted.allowed, self.taken, self.findings)
        return None

    def _rows(self, labels: Texts | None, places: Sequence[str], fields: Mapping[str, Texts | None]) -> NDArray[np.bool_]:
        """Which rows are trials; those in which all is empty, the count of trials too, are none."""
        names = {f.name for f in self.task.responses}
        responses = [column for column, what in self.taken.items() if what in names and column in self.raw.columns]
        most = self.task.blocks * self.task.trials
        keep = trial_rows(self.raw, labels, responses, most, self.taken, self.settings, self.findings)
        seen = [self.raw[name] for name in places] + [texts for texts in fields.values() if texts is not None]
        empty = keep & np.logical_and.reduce([is_missing(texts) for texts in seen]) if places else np.zeros(len(keep), bool)
        if empty.any():
            self.findings.understood("no trials", "", f"rows left out in which all of this is empty: {int(empty.sum())}")
        return np.asarray(keep & ~empty)

    def _missed(self, values: Mapping[str, Texts | None], rows: int) -> NDArray[np.bool_]:
        """Rows without any response are missed trials, whatever the outcome says."""
        given = [texts for f in self.task.responses if (texts := values[f.name]) is not None]
        missed = np.logical_and.reduce([is_missing(texts, self.settings.missing) for texts in given]) if given else np.zeros(rows, bool)
        return np.asarray(missed, bool)

    def _coded(self, wanted: Field, texts: Texts | None, missed: NDArray[np.bool_], table: RawTable) -> Floats | None:
        """The values of a field, (R,), 0 at missed trials."""
        if texts is None:
            return None
        column = next((name for name, what in self.taken.items() if what == wanted.name), wanted.name)
        empty = np.flatnonzero(is_missing(texts, self.settings.missing) & ~missed)
        if len(empty):
            where = some([table.place(int(row)) for row in empty])
            fix = "fill them in, or empty the responses of these trials, which makes them missed"
            self.findings.mend(f"The column '{column}' is empty in {len(empty)} rows in which there is a response.", fix, where)
        known = ~missed & ~is_missing(texts, self.settings.missing)
        coding = find_coding(wanted, column, texts[known].tolist(), self.settings.codes.get(wanted.name), self.findings)
        if coding is None:
            return None
        self.findings.understood(wanted.name, column, coding.words)
        values = np.zeros(len(texts))
        values[known] = [coding.numbers[text] for text in texts[known]]
        return values

    def _named_people(self, labels: Texts | None, table: RawTable) -> None:
        without = [] if labels is None else [table.place(int(row)) for row in np.flatnonzero(labels == "")]
        if without:
            self.findings.mend(f"{len(without)} rows have no participant.", "fill in whose they are, or delete them", some(without))

    def _behavior(
        self, names: Texts, people: NDArray[np.intp], places: Places, recorded: Mapping[str, Floats | None], missed: NDArray[np.bool_]
    ) -> Behavior:
        shape = (len(names), self.task.blocks, self.task.trials)
        place = (people, places.block, places.trial)
        mask = np.zeros(shape, bool)
        mask[place] = ~missed
        fields = {}
        for f in self.task.fields:
            fields[f.name] = np.zeros(shape, f.dtype)
            fields[f.name][place] = recorded[f.name]
        return self.task.check(Behavior(fields, mask, names))

    def _groups(self, table: RawTable, people: NDArray[np.intp], places: Places, n: int) -> tuple[dict[str, Texts], dict[str, Texts]]:
        """Columns that sort people, (N,), and columns that sort their blocks, (N, B)."""
        groups: dict[str, Texts] = {}
        conditions: dict[str, Texts] = {}
        for column in table.columns:
            if column in self.taken or plain(column) not in GROUP or len(set(table[column].tolist())) < 2:
                continue
            of_people, of_blocks = np.full(n, "", object), np.full((n, self.task.blocks), "", object)
            of_people[people] = table[column]
            of_blocks[people, places.block] = table[column]
            if (of_people[people] == table[column]).all():
                groups[column] = of_people
                self.findings.understood("group", column, f"of people: {some(sorted(set(of_people.tolist())))}")
            elif (of_blocks[people, places.block] == table[column]).all():
                conditions[column] = of_blocks
                self.findings.understood("condition", column, f"of blocks: {some(sorted(set(table[column].tolist())))}")
        return groups, conditions

    def _conclude(self, behavior: Behavior) -> None:
        """Who is there, and who has little."""
        trials = behavior.mask.sum((1, 2))
        unused = [
            c
            for c in self.raw.columns
            if c not in self.taken and c != FILE_PERSON and not any(c in line[1] for line in self.findings.lines)
        ]
        spread = f"{int(trials.min())} to {int(trials.max())}" if trials.min() < trials.max() else f"{int(trials.max())}"
        self.findings.understood("people", "", f"{len(behavior)}, with {spread} trials each of {self.task.blocks * self.task.trials}")
        few = [f"{label} ({count})" for label, count in zip(behavior.participants, trials, strict=True) if count < FEW]
        if few:
            self.findings.understood("few trials", "", some(few))
        if unused:
            self.findings.understood("not used", some(unused, 6), "")


def _filled(labels: Texts, files: Texts) -> Texts:
    """Labels of participants, also in the rows of a file that has one label in some of its rows and none in the others."""
    filled = labels.copy()
    for file in dict.fromkeys(files.tolist()):
        rows = files == file
        found = {label for label in labels[rows].tolist() if label}
        if len(found) == 1:
            filled[rows] = found.pop()
    return filled


def _in_order_of_appearance(labels: Texts) -> tuple[Any, NDArray[np.intp]]:
    """The different labels, and which of them each row has."""
    names = {label: i for i, label in enumerate(dict.fromkeys(labels.tolist()))}
    return np.array(list(names), object), np.array([names[label] for label in labels], np.intp)
