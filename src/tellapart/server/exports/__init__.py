"""What people did, and the design for those who run it elsewhere. One file for each format."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Any, Sequence

from ...errors import DataError, counted, nearest
from ...files import quoted
from ...run import recommended
from ...study import Study, study_file
from ...tasks.text import parse_design
from ..collected import Collected, collect
from ..plan import make_plan
from ..serving import open_database
from .design import write_conditions, write_json
from .jspsych import write_folder
from .psychds import write_psychds
from .table import write_table

PEOPLE, PLANS = ("table", "psych-ds"), ("json", "jspsych", "psychopy")


def check_format(name: str) -> None:
    """Raise unless there is such a format."""
    if name not in PEOPLE + PLANS:
        raise DataError("There is no such format.", expected=", ".join(PEOPLE + PLANS), got=f"'{name}'", fix=nearest(name, PEOPLE + PLANS))


def export_people(
    path: Path, study: Study, format: str, out: Path, url: str | None = None, *, simulated: bool = False, finished: bool = False
) -> dict[str, Any]:
    """Write what people did.

    Arguments:
        path: The study's folder or file.
        format: "table" or "psych-ds".
        out: The file or folder.
        url: Of the database; the one beside the study if not given.
        simulated: Simulated people in the place of real ones.
        finished: Only those who finished.
    """
    with closing(open_database(study_file(path).parent, url, must_exist=True)) as database, database.reading() as connection:
        people = collect(connection, study.task, simulated=simulated, finished=finished)
        earlier = collect(connection, study.task, simulated=simulated, finished=finished, earlier=True)
        others = collect(connection, study.task, simulated=not simulated).labels
    if not people.rows:
        hint = (
            f"{'leave out' if simulated else 'give'} --simulated, for {counted(len(others), 'such participant')}"
            if others
            else f"serve the study first: tellapart serve {quoted(path)}{' --simulate 20' if simulated else ''}"
        )
        raise DataError("There are no data to export.", expected="simulated people" if simulated else "people", fix=hint)
    write = write_psychds if format == "psych-ds" else write_table
    files = write(study, people, earlier, out)
    return {"out": str(out), "files": [str(file) for file in files], **_counts(people, earlier)}


def _counts(people: Collected, earlier: Collected) -> dict[str, Any]:
    participants, trials = len({row["participant"] for row in people.rows}), len(people.rows)
    words = f"{counted(participants, 'participant')}, {counted(trials, 'trial')}"
    words += f"; {counted(len(earlier.rows), 'trial')} of blocks that were begun anew kept apart" if earlier.rows else ""
    return {"participants": participants, "trials": trials, "earlier": len(earlier.rows), "words": words}


def export_plan(path: Path, study: Study, format: str, out: Path, designs: Sequence[str] = (), seed: int = 1) -> dict[str, Any]:
    """Hand the experiment over: the given designs, or the recommended one."""
    folder = study_file(path).parent
    wanted = [parse_design(study.task.design_space, text) for text in designs] or [recommended(study, folder / "run")]
    plan = make_plan(study, wanted, folder)
    write = {"json": write_json, "psychopy": write_conditions, "jspsych": write_folder}[format]
    write(plan, out, seed)
    return {"out": str(out), "conditions": len(plan.conditions), "words": f"{counted(len(plan.conditions), 'condition')} of {study.name}"}
