"""A data set by the rules of Psych-DS, and a check of them.

    dataset_description.json      name, description and every variable, in the words of schema.org
    README.md, CHANGES.md
    data/subject-p0001_session-1_data.csv, …      one file for each participant
    materials/design.json
    materials/earlier-attempts.csv      trials of blocks that were begun anew, if there are any; not under data/, where they would count

`problems` checks what the specification (1.5) calls errors; each problem begins with the specification's own name for it.
"""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path
from typing import Any, Iterator, Sequence

from ...errors import DataError
from ...study import Study
from ..collected import Collected

NAME = re.compile(r"([a-z]+-[a-zA-Z0-9]+)(_[a-z]+-[a-zA-Z0-9]+)*_data\.(csv|tsv)")
REQUIRED = ("name", "description", "variableMeasured")
CONTEXTS = {"http://schema.org", "http://schema.org/", "https://schema.org", "https://schema.org/"}

_WORDS = {
    "participant": "Label of the participant; has nothing to do with any platform's number.",
    "block": "Block of the design, counted from 0, whatever the order of play.",
    "trial": "Trial of the block, counted from 0.",
    "response_seconds": "Seconds from the first moment of the trial to the answer.",
    "condition": "Design and order of blocks that the participant was given.",
    "position": "When the block was played, counted from 0.",
    "attempt": "0 if the block was played in one go; more if the participant left and it was begun anew.",
    "source": "Where the block came from: planned, adapted by a policy, or fallback if the policy was late or failed.",
    "counts_from": "The number of the first category of a choice, and of the first block.",
    "finished": "Did the participant finish the experiment?",
    "model": "Model of a simulated participant.",
}
_PARAMETER = "Parameter of the simulated participant's model."


def write_psychds(study: Study, people: Collected, earlier: Collected, out: Path) -> list[Path]:
    """Write the data set into a new folder, and check it."""
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise DataError("This place is taken.", where=str(out), expected="a new or an empty folder", fix="choose another name")
    for folder in ("data", "materials"):
        (out / folder).mkdir(parents=True, exist_ok=True)
    table, files = people.table(), []
    for label, rows in table.groupby("participant", sort=True):
        files.append(out / "data" / f"subject-{label}_session-1_data.csv")
        rows.to_csv(files[-1], index=False)
    texts = {
        "dataset_description.json": json.dumps(_description(study, list(table.columns)), indent=2, ensure_ascii=False),
        "README.md": f"# {study.name}\n\nTask: {study.task.name}. One file for each participant in `data/`, one row for each trial.\n",
        "CHANGES.md": "# Changes\n\nFirst version.\n",
        "materials/design.json": json.dumps({"participants": dict(zip(people.labels, _plain(people.designs), strict=True))}, indent=1),
    }
    if earlier.rows:
        name = "materials/earlier-attempts.csv"
        texts[name] = earlier.table().to_csv(index=False)
        texts["README.md"] += f"Trials of blocks that were begun anew are kept apart, in `{name}`.\n"
    for name, text in texts.items():
        (out / name).write_text(text + ("" if text.endswith("\n") else "\n"), encoding="utf-8")
    wrong = problems(out)
    if wrong:
        raise AssertionError(f"the data set breaks the rules of Psych-DS: {wrong}")
    return [*files, *(out / name for name in texts)]


def _description(study: Study, columns: list[str]) -> dict[str, Any]:
    task = study.task
    fields = {f.name: f"{'Response' if f.by == 'participant' else 'Outcome'}: {_named(f.labels) or f.allowed}." for f in task.fields}
    settings = {f"design.{v.name}": f"Setting of the block: {v.name}, {v.allowed}." for v in task.design_space.variables}
    words = {**_WORDS, **fields, **settings}
    variables = [{"@type": "PropertyValue", "name": name, "description": words.get(name, _PARAMETER)} for name in columns]
    description = (
        f"Behavior of participants in the task '{study.task.name}', collected to {study.goal} {', '.join(m.name for m in study.models)}."
    )
    kept = {"name": study.name, "description": description, "schemaVersion": "Psych-DS 1.5.1", "variableMeasured": variables}
    return {"@context": "https://schema.org/", "@type": "Dataset", **kept}


def _named(labels: Sequence[str]) -> str:
    return " or ".join(f"{i} ({name})" for i, name in enumerate(labels))


def _plain(designs: Any) -> list[Any]:
    return [[[None if value != value else value for value in row] for row in design] for design in designs.tolist()]


def problems(folder: Path) -> list[str]:
    """What breaks the rules of Psych-DS in a data set; nothing if it is valid."""
    return list(_problems(folder))


def _problems(folder: Path) -> Iterator[str]:
    if not (folder / "data").is_dir():
        yield "MISSING_DATA_DIRECTORY"
    file = folder / "dataset_description.json"
    if not file.is_file():
        yield "MISSING_DATASET_DESCRIPTION"
        return
    try:
        description = json.loads(file.read_text("utf-8"))
    except UnicodeDecodeError:
        yield "JSON_ENCODING_ERROR"
        return
    except json.JSONDecodeError:
        yield "INVALID_JSON_FORMATTING"
        return
    yield from _of_description(description)
    stated = {entry["name"] if isinstance(entry, dict) else entry for entry in description.get("variableMeasured", [])}
    present: set[str] = set()
    valid = 0
    for data in sorted(path for path in (folder / "data").rglob("*") if path.is_file()):
        found = list(_of_file(data, stated, present))
        valid += not found
        yield from (f"{problem}: {data.name}" for problem in found)
    if not valid:
        yield "MISSING_DATAFILE"
    yield from (f"VARIABLE_MISSING_FROM_CSV_COLUMNS: {name}" for name in sorted(stated - present))


def _of_description(description: Any) -> Iterator[str]:
    if not isinstance(description, dict):
        yield "INVALID_JSONLD_FORMATTING"
        return
    kind = description.get("@type", description.get("type"))
    if kind is None:
        yield "MISSING_DATASET_TYPE"
    elif kind not in ("Dataset", "https://schema.org/Dataset", "http://schema.org/Dataset"):
        yield "INCORRECT_DATASET_TYPE"
    if description.get("@context") not in CONTEXTS:
        yield "JSON_KEY_REQUIRED: @context"
    yield from (f"JSON_KEY_REQUIRED: {key}" for key in REQUIRED if not description.get(key))


def _of_file(file: Path, stated: set[str], present: set[str]) -> Iterator[str]:
    if not NAME.fullmatch(file.name):
        yield "FILENAME_KEYWORD_FORMATTING_ERROR"
        return
    try:
        with file.open(encoding="utf-8", newline="") as opened:
            rows = list(csv.reader(opened, delimiter="\t" if file.suffix == ".tsv" else ",", strict=True))
    except (UnicodeDecodeError, csv.Error):
        yield "CSV_FORMATTING_ERROR"
        return
    if not rows or not any(rows[0]):
        yield "CSV_HEADER_MISSING"
        return
    header = rows[0]
    present.update(header)
    if len(set(header)) != len(header):
        yield "CSV_HEADER_REPEATED"
    if any(len(row) != len(header) for row in rows):
        yield "CSV_HEADER_LENGTH_MISMATCH"
    yield from (f"CSV_COLUMN_MISSING_FROM_METADATA: {name}" for name in header if name not in stated)
    if "row_id" in header:
        ids = [row[header.index("row_id")] for row in rows[1:] if len(row) == len(header)]
        if len(set(ids)) != len(ids):
            yield "ROWID_VALUES_NOT_UNIQUE"
