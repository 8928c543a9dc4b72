"""From any table to behavior: find the columns, the rows that are trials, the coding, the order; say what was understood.

All that is wrong is told at once; where two readings are possible it is asked. Nothing is computed before both lists are empty.
"""

from __future__ import annotations

from pathlib import Path
from typing import Mapping, Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ..behavior import COUNTS_FROM, Behavior, Field
from ..tasks.base import Task
from .codes import Says, find_coding, words_of
from .collect import FILE_PERSON, collect
from .designs import designs_in_data, designs_in_table
from .groups import groups_and_conditions
from .names import BLOCK, PARTICIPANT, TRIAL, names_of
from .order import positions_of_blocks
from .outcomes import from_later_rows, net_outcome
from .places import Places, Start, find_places
from .problems import Findings, some
from .raw import RawTable, Texts, is_missing, number, people_of, plain
from .roles import ask_for_column, find_column
from .rows import trial_rows
from .settings import TableSettings
from .understanding import Floats, Understanding

FEW = 10
"""A person with fewer recorded trials is named."""


def understand(
    sources: Sequence[str | Path] | pd.DataFrame,
    task: Task,
    settings: TableSettings | None = None,
    designs: str | Path | None = None,
    *,
    as_played: bool = False,
) -> Understanding:
    """Read any table, or raise a `TableError` with all problems and questions.

    Arguments:
        sources: Files and folders, or a pandas frame.
        settings: What the user says about the table.
        designs: A table of designs, if participants had designs of their own that the data do not hold.
        as_played: Blocks are numbered in the order of play, where the table says it beside the block of the design.
    """
    findings, settings = Findings(), settings or TableSettings()
    raw = collect(sources, findings)
    reading = _Reading(raw, task, settings, findings)
    understood = reading.understood(designs)
    findings.stop_if_unclear(reading.raw.source)
    assert understood is not None
    return understood.as_played() if as_played else understood


class _Reading:
    """One table being read."""

    def __init__(self, raw: RawTable, task: Task, settings: TableSettings, findings: Findings) -> None:
        self.raw, self.task, self.settings, self.findings = raw, task, settings, findings
        self.taken: dict[str, str] = {}
        self.counting = self._counting()

    def understood(self, designs: str | Path | None) -> Understanding | None:
        self._known_settings()
        labels = self._participants()
        columns = {f.name: self._field(f) for f in self.task.fields}
        block, trial = (self._column(what, names) for what, names in (("block", BLOCK), ("trial", TRIAL)))
        columns = self._from_later_rows(labels, columns)
        asked = len(self.findings.questions)
        keep = self._rows(labels, [name for name in (block, trial) if name], columns)
        rows_are_clear = len(self.findings.questions) == asked
        self._without_trials(labels, keep)
        table, labels = self.raw.kept(keep), None if labels is None else labels[keep]
        values = {name: None if column is None else column[keep] for name, column in columns.items()}
        missed = self._missed(values, len(table))
        recorded = {f.name: self._coded(f, values[f.name], missed, table) for f in self.task.fields}
        self._named_people(labels, table)
        if labels is None or not len(table):
            if not len(table) and len(self.raw):
                self.findings.mend("No row is left that is a trial.", "--rows COLUMN=TEXT for the rows that are trials")
            return None
        people, names = pd.factorize(labels)  # which of the different labels each row has, and these in order of appearance
        shape = (self.task.blocks, self.task.trials)
        places = find_places(table, people, block, trial, *shape, self._start(table), self.findings) if rows_are_clear else None
        own = designs_in_table(self.task, designs, names, self.findings) if designs else None
        if places is None or not self.findings.clear:
            return None
        if own is None:
            own = designs_in_data(self.task, table, people, places.block, len(names), ~missed, self.findings)
        behavior = self._behavior(names, people, places, recorded, missed)
        groups, conditions = groups_and_conditions(
            table, set(self.taken), people, places.block, (len(names), self.task.blocks), self.findings, self._group()
        )
        everything = (len(names), self.task.blocks)
        positions = positions_of_blocks(table, set(self.taken), people, places.block, everything, missed, self.findings) if block else None
        if positions is None:
            self._not_begun(behavior, people, places)
        self._conclude(behavior)
        variables = tuple(variable.name for variable in self.task.design_space.variables)
        return Understanding(behavior, tuple(self.findings.lines), own, groups, conditions, variables, self.raw.source, positions)

    def _known_settings(self) -> None:
        """What is said about the table must be about something that is looked for."""
        fields = [f.name for f in self.task.fields]
        for option, given, known, after in (
            ("--columns", self.settings.columns, ["participant", "block", "trial", "group", *fields], "the name in the table comes"),
            ("--codes", self.settings.codes, ["block", *fields], "the texts in the table come"),
        ):
            for name in given:
                if name not in known:
                    fix = f"choose one of: {', '.join(known)}; {after} after the ="
                    self.findings.mend(f"Nothing that is looked for is named '{name}'.", fix, f"{option} {name}=…")

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
            return _filled(people_of(self.raw[column]), self.raw.files)
        if FILE_PERSON in self.raw.columns:
            self.findings.understood("participant", "", "by the names of files, or of the parts of a file")
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
            return both[1]
        if wanted.name not in self.settings.columns:
            ask_for_column(self.raw, wanted.name, wanted.allowed, self.taken, self.findings)
        return None

    def _from_later_rows(self, labels: Texts | None, columns: Mapping[str, Texts | None]) -> dict[str, Texts | None]:
        """The same columns, outcomes being brought to the rows of their responses if they are in rows of their own."""
        given = [(f, texts) for f in self.task.responses if (texts := columns[f.name]) is not None]
        if labels is None or not given:
            return dict(columns)
        answered = np.logical_or.reduce([~self._nothing(f, texts) for f, texts in given])
        brought = dict(columns)
        for f in self.task.outcomes:
            texts = columns[f.name]
            moved = None if texts is None else from_later_rows(labels, answered, self._nothing(f, texts), texts)
            if moved is not None:
                brought[f.name] = moved
                column = next(name for name, what in self.taken.items() if what == f.name)
                self.findings.understood("outcomes", column, "each from a row after its response")
        return brought

    def _rows(self, labels: Texts | None, places: Sequence[str], fields: Mapping[str, Texts | None]) -> NDArray[np.bool_]:
        """Which rows are trials; those in which all is empty, the count of trials too, are none."""
        answered = ~self._missed(fields, len(self.raw))
        most = self.task.blocks * self.task.trials
        keep = trial_rows(self.raw, labels, answered, most, self.taken, self.settings, self.findings)
        seen = [is_missing(self.raw[name]) for name in places]
        seen += [self._nothing(f, texts, frozenset()) for f in self.task.fields if (texts := fields[f.name]) is not None]
        empty = keep & np.logical_and.reduce(seen) if places else np.zeros(len(keep), bool)
        if empty.any():
            self.findings.understood("no trials", "", f"rows left out in which all of this is empty: {int(empty.sum())}")
        return np.asarray(keep & ~empty)

    def _without_trials(self, labels: Texts | None, keep: NDArray[np.bool_]) -> None:
        """Say who is in the table, but in no row that is a trial."""
        kept = set() if labels is None else {"", *labels[keep].tolist()}
        gone = [] if labels is None else [label for label in dict.fromkeys(labels.tolist()) if label not in kept]
        if gone and keep.any():
            self.findings.understood("left out", "", f"people of whom no row is a trial: {some(gone)}")

    def _missed(self, values: Mapping[str, Texts | None], rows: int) -> NDArray[np.bool_]:
        """Rows without any response are missed trials, whatever the outcome says."""
        given = [self._nothing(f, texts) for f in self.task.responses if (texts := values[f.name]) is not None]
        return np.asarray(np.logical_and.reduce(given) if given else np.zeros(rows, bool), bool)

    def _nothing(self, wanted: Field, texts: Texts, also: frozenset[str] | None = None) -> NDArray[np.bool_]:
        """Which texts of a field stand for nothing: those that usually do, unless they are among its words, and those `also` named."""
        also = self.settings.missing if also is None else also
        words = words_of(wanted, set(texts.tolist()), self.settings.codes.get(wanted.name)) - also
        return is_missing(texts, also) & ~np.isin(texts.astype(str), sorted(words))

    def _coded(self, wanted: Field, texts: Texts | None, missed: NDArray[np.bool_], table: RawTable) -> Floats | None:
        """The values of a field, (R,), 0 at missed trials."""
        if texts is None:
            return None
        column = next((name for name, what in self.taken.items() if what == wanted.name), wanted.name)
        nothing = self._nothing(wanted, texts)
        empty = np.flatnonzero(nothing & ~missed)
        if len(empty):
            where = some([table.place(int(row)) for row in empty])
            fix = "fill them in, or empty the responses of these trials, which makes them missed"
            self.findings.mend(f"The column '{column}' is empty in {len(empty)} rows in which there is a response.", fix, where)
        known = ~missed & ~nothing
        given, first = self.settings.codes.get(wanted.name), self._first(table, known)
        coding = find_coding(wanted, column, texts[known].tolist(), given, first, self.findings)
        if coding is None:
            return None
        net = column not in self.raw.columns
        self.findings.understood(wanted.name, column, "1 if more was gained than lost" if net else coding.words)
        values = np.zeros(len(texts))
        values[known] = [coding.numbers[text] for text in texts[known]]
        return values

    def _counting(self) -> str | None:
        """The column that says what choices count from, as tables of tellapart do where their numbers do not show it."""
        column = next((name for name in self.raw.columns if plain(name) == plain(COUNTS_FROM)), None)
        if column is None:
            return None
        texts = self.raw[column]
        said = set(texts[~is_missing(texts)].tolist())
        if not {number(text) for text in said} <= {0, 1} or len({number(text) for text in said}) > 1:
            wrong = f"The column '{column}' does not say what choices count from."
            self.findings.mend(wrong, "0 in all rows, or 1", some(sorted(said)))
            return None
        self.taken[column] = "coding"
        return column

    def _first(self, table: RawTable, rows: NDArray[np.bool_]) -> Says:
        """What some rows of a table say that choices count from."""
        if self.counting is None:
            return frozenset({None})
        said = set(table[self.counting][rows].tolist())
        return frozenset(None if (value := number(text)) is None else int(value) for text in said)

    def _start(self, table: RawTable) -> Start:
        """What is said of the numbers or names of blocks."""
        said = self._first(table, np.ones(len(table), bool))
        return Start(self.settings.codes.get("block"), next(iter(said)) if len(said) == 1 else None)

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

    def _group(self) -> str | None:
        """The column that the user says to sort people or blocks, "none" for no column, or None if nothing is said."""
        said = self.settings.columns.get("group")
        if said is None or said.lower() == "none":
            return said and "none"
        return find_column(self.raw, "group", (), self.settings, self.findings)

    def _not_begun(self, behavior: Behavior, people: NDArray[np.intp], places: Places) -> None:
        """Say whose last blocks are in the table without a response, where nothing says whether they were begun."""
        listed = np.zeros(behavior.shape[:2], bool)
        listed[people, places.block] = True
        later = np.cumsum(np.asarray(behavior.mask.any(2))[:, ::-1], axis=1)[:, ::-1] == 0
        who = behavior.participants[(listed & later).any(1)]
        if len(who):
            taken = "taken as not begun; if they were, say so in a column 'position', the order of play"
            self.findings.understood("no response", "", f"in the last blocks of {some(list(map(str, who)))}: {taken}")

    def _conclude(self, behavior: Behavior) -> None:
        """Who is there, and who has little."""
        trials = behavior.mask.sum((1, 2))
        used = {*self.taken, FILE_PERSON}.union(*({c, *c.split(", "), *c.split(" and ")} for _, c, _ in self.findings.lines))
        unused = [column for column in self.raw.columns if column not in used]
        spread = f"{int(trials.min())} to {int(trials.max())}" if trials.min() < trials.max() else f"{int(trials.max())}"
        self.findings.understood("people", "", f"{len(behavior)}, with {spread} trials each of {self.task.blocks * self.task.trials}")
        few = [f"{label} ({count})" for label, count in zip(behavior.participants, trials, strict=True) if count < FEW]
        if few:
            self.findings.understood("few trials", "", some(few))
        if unused:
            self.findings.understood("not used", "", some(unused, 6))


def _filled(labels: Texts, files: Texts) -> Texts:
    """Labels of participants, also in the rows of a file that has one label in some of its rows and none in the others."""
    filled = labels.copy()
    for file in dict.fromkeys(files.tolist()):
        rows = files == file
        found = {label for label in labels[rows].tolist() if label}
        if len(found) == 1:
            filled[rows] = found.pop()
    return filled
