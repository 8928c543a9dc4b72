"""The data of an experiment: as a `Behavior`, for analysis, and as a long table.

Blocks are those of the design, in whatever order they were played; options are the task's own, wherever they stood on the screen. Who a
participant is on a platform is not read here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Collection

import numpy as np
from sqlalchemy import Connection, select

from ..behavior import Behavior
from ..tasks.base import Task
from ..tasks.space import Floats
from .store import FINISHED, last_attempt
from .tables import blocks, conditions, sessions, trials

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False)
class Collected:
    """What N participants did.

    Arguments:
        labels: N of them.
        behavior: The recorded trials, blocks as in the design.
        designs: What each participant was given, (N, B, V); NaN in blocks that were not begun.
        rows: One for each trial, as the long table has them.
        truth: For simulated participants, the model and its parameters.
    """

    labels: list[str]
    behavior: Behavior
    designs: Floats
    rows: list[dict[str, Any]]
    truth: list[dict[str, Any]]

    def table(self) -> pd.DataFrame:
        """The long table: one row for each trial that was presented; missed trials have empty fields."""
        import pandas as pd

        table = pd.DataFrame(self.rows)
        if not len(table):
            return table
        whole = [name for name, values in self.behavior.fields.items() if values.dtype.kind in "iu"]
        return table.astype(dict.fromkeys(whole, "Int64")).assign(**dict.fromkeys(self.behavior.counting(), 0))


def collect(
    connection: Connection,
    task: Task,
    *,
    simulated: bool | None = None,
    finished: bool = False,
    earlier: bool = False,
    but: Collection[str] = (),
) -> Collected:
    """Read the data of an experiment.

    Arguments:
        simulated: Simulated participants or real people; both if not given.
        finished: Only those who finished.
        earlier: The trials of attempts that were begun anew, in the place of those that count.
        but: Participants to leave out.
    """
    people = {row.id: row for row in _people(connection, simulated, finished) if row.label not in but}
    places = {(row.session, row.position, row.attempt): row for row in _blocks(connection, list(people), earlier)}
    behavior, designs = task.nothing(len(people)), np.full((len(people), *task.design_space.shape), np.nan)
    index = {session: i for i, session in enumerate(people)}
    for row in places.values():
        designs[index[row.session], row.block] = row.row
    rows = []
    for trial in _trials(connection, list(people)):
        place = places.get((trial.session, trial.position, trial.attempt))
        if place is None:
            continue
        if not trial.missed:
            behavior.record((index[trial.session], place.block, trial.trial), {**trial.responses, **trial.outcomes})
        rows.append(_row(task, people[trial.session], place, trial))
    labels = [row.label for row in people.values()]
    known = Behavior(behavior.fields, behavior.mask, np.array(labels, dtype=str))
    order = sorted(range(len(rows)), key=lambda i: (rows[i]["participant"], rows[i]["block"], rows[i]["attempt"], rows[i]["trial"]))
    return Collected(labels, known, designs, [rows[i] for i in order], [row.truth or {} for row in people.values()])


def _people(connection: Connection, simulated: bool | None, finished: bool) -> list[Any]:
    query = select(sessions.c.id, sessions.c.label, sessions.c.status, sessions.c.simulated, sessions.c.truth, conditions.c.name)
    query = query.join(conditions, conditions.c.id == sessions.c.condition).order_by(sessions.c.label)
    query = query if simulated is None else query.where(sessions.c.simulated == simulated)
    return list(connection.execute(query.where(sessions.c.status == FINISHED) if finished else query))


def _blocks(connection: Connection, ids: list[int], earlier: bool) -> list[Any]:
    """The blocks of the last attempts, or of the earlier ones."""
    last = last_attempt()
    same = (last.c.session == blocks.c.session) & (last.c.position == blocks.c.position)
    columns = (blocks.c.session, blocks.c.position, blocks.c.attempt, blocks.c.block, blocks.c.row, blocks.c.source)
    query = select(*columns).join(last, same).where(blocks.c.session.in_(ids))
    return list(connection.execute(query.where(blocks.c.attempt < last.c.attempt if earlier else blocks.c.attempt == last.c.attempt)))


def _trials(connection: Connection, ids: list[int]) -> list[Any]:
    return list(connection.execute(select(trials).where(trials.c.session.in_(ids))))


def _row(task: Task, person: Any, place: Any, trial: Any) -> dict[str, Any]:
    """One row of the long table."""
    recorded = {**trial.responses, **trial.outcomes}
    head = {"participant": person.label, "block": place.block, "trial": trial.trial}
    values = {f.name: recorded.get(f.name) for f in task.fields}
    design = {f"design.{name}": value for name, value in zip(task.design_space.names, place.row, strict=True)}
    tail = {"response_seconds": trial.seconds, "condition": person.name, "position": trial.position, "attempt": trial.attempt}
    tail |= {"source": place.source, "finished": person.status == FINISHED, **design}
    truth = {"model": person.truth["model"], **person.truth["parameters"]} if person.truth else {}
    return {**head, **values, **tail, **truth}
