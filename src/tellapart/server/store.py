"""Reads and writes, each in a transaction that the caller holds. Knows nothing of HTTP, and nothing of the rules.

A function that reads in order to write takes a lock on what it read, until the transaction ends.
"""

from __future__ import annotations

import json
import secrets
from dataclasses import dataclass, fields
from itertools import count
from typing import Any, Literal, Mapping, Sequence

import numpy as np
from sqlalchemy import Connection, Row, Subquery, and_, bindparam, delete, func, insert, or_, select, update

from ..errors import StudyError
from ..tasks.space import Floats
from .plan import Plan, letters
from .tables import blocks, conditions, experiment, identities, sessions, trials

Status = Literal["taking part", "finished", "screened out"]
TAKING_PART: Status = "taking part"
FINISHED: Status = "finished"
SCREENED_OUT: Status = "screened out"

Json = Any


@dataclass(frozen=True)
class Session:
    """One participant taking part; the columns are described in `tables.py`."""

    id: int
    label: str
    key: str
    seed: int
    condition: int
    order: list[int]
    simulated: bool
    status: Status
    started: float
    seen: float
    position: int
    attempt: int
    trial: int
    passed: bool
    failures: int
    environment: Json


@dataclass(frozen=True)
class Block:
    """A block as it was begun."""

    session: int
    position: int
    attempt: int
    block: int
    row: list[float]
    trials: int
    places: list[int]
    stimuli: list[dict[str, Any]]
    source: str
    why: str
    environment: Json
    started: float


@dataclass(frozen=True)
class Trial:
    """A trial as it was recorded."""

    session: int
    position: int
    attempt: int
    trial: int
    answer: int | float | str | None
    seconds: float | None
    responses: dict[str, float]
    outcomes: dict[str, float]
    missed: bool
    saved: float


@dataclass(frozen=True)
class Identity:
    """Who a participant is on a platform."""

    platform: str
    person: str
    study: str | None = None
    submission: str | None = None


_COLUMNS = {kind: tuple(f.name for f in fields(kind)) for kind in (Session, Block, Trial)}


def _read(kind: type[Any], row: Row[Any] | None) -> Any:
    return None if row is None else kind(**{name: getattr(row, name) for name in _COLUMNS[kind]})


def found(connection: Connection, plan: Plan, seed: int | None = None) -> None:
    """Make the experiment's row and its conditions, if they are not there; refuse the data of another task."""
    row = connection.execute(select(experiment).with_for_update()).first()
    if row is None:
        start = secrets.randbits(62) if seed is None else seed
        values = {"id": 1, "study": plan.study.name[:200], "fingerprint": plan.fingerprint, "seed": start}
        connection.execute(insert(experiment).values(**values, paused=False, declined=0, number=0))
    there = {row.content: row.name for row in connection.execute(select(conditions.c.content, conditions.c.name))}
    shapes = {np.shape(json.loads(content)["design"]) for content in there}
    if row is not None and (row.fingerprint != plan.fingerprint or shapes - {plan.task.design_space.shape}):
        expected = f"data of '{plan.study.name}' as its task is now"
        got = f"data of '{row.study}', with other fields, blocks, trials or design variables"
        raise StudyError(
            "The database holds another experiment.", expected=expected, got=got, fix="give another --database, or move the old one away"
        )
    free = (name for name in map(letters, count()) if name not in there.values())
    for condition in plan.conditions:
        if condition.content not in there:
            connection.execute(insert(conditions).values(name=next(free), content=condition.content))


def condition_ids(connection: Connection, plan: Plan) -> list[int]:
    """The number of each of the plan's conditions."""
    ids = {row.content: row.id for row in connection.execute(select(conditions.c.id, conditions.c.content))}
    return [int(ids[condition.content]) for condition in plan.conditions]


def condition_names(connection: Connection, ids: Sequence[int]) -> list[str]:
    """What conditions are called: each by a name of its own, also where the database has seen other designs before."""
    return list(connection.execute(select(conditions.c.name).where(conditions.c.id.in_(ids))).scalars())


def the_experiment(connection: Connection, lock: bool = False) -> Row[Any]:
    """The experiment's row; locked, nobody else can be given a place."""
    query = select(experiment)
    return connection.execute(query.with_for_update() if lock else query).one()


def change_experiment(connection: Connection, **values: Any) -> None:
    connection.execute(update(experiment).values(**values))


def session_of_person(connection: Connection, identity: Identity) -> Session | None:
    """The session of a person, locked."""
    same = and_(identities.c.platform == identity.platform, identities.c.person == identity.person)
    query = select(sessions).join(identities, identities.c.session == sessions.c.id).where(same).with_for_update(of=sessions)
    return _read(Session, connection.execute(query).first())  # type: ignore[no-any-return]


_OF_KEY = select(sessions).where(sessions.c.key == bindparam("key"))
_OF_KEY_LOCKED = _OF_KEY.with_for_update()  # statements that every trial needs are built once: building takes longer than running


def session_of_key(connection: Connection, key: str, lock: bool = True) -> Session | None:
    """The session whose page holds a key, given by its fingerprint."""
    return _read(Session, connection.execute(_OF_KEY_LOCKED if lock else _OF_KEY, {"key": key}).first())  # type: ignore[no-any-return]


def places_taken(connection: Connection, ids: Sequence[int], simulated: bool, since: float) -> dict[int, int]:
    """How many places of each condition are taken, older ones included: by people who finished, or who gave a sign of life since then."""
    holds = or_(sessions.c.status == FINISHED, and_(sessions.c.status == TAKING_PART, sessions.c.seen >= since))
    query = select(sessions.c.condition, func.count()).where(sessions.c.simulated == simulated, holds).group_by(sessions.c.condition)
    return dict.fromkeys(ids, 0) | {int(condition): int(count) for condition, count in connection.execute(query)}


def add_session(connection: Connection, identity: Identity, values: Mapping[str, Any]) -> Session:
    """A new participant."""
    row = connection.execute(insert(sessions).values(**values).returning(*sessions.c)).one()
    connection.execute(insert(identities).values(session=row.id, **vars(identity)))
    return _read(Session, row)  # type: ignore[no-any-return]


_CHANGE = update(sessions).where(sessions.c.id == bindparam("which"))


def change_session(connection: Connection, session: int, **values: Any) -> None:
    connection.execute(_CHANGE, {"which": session, **values})


_BLOCK = select(blocks).where(
    blocks.c.session == bindparam("session"), blocks.c.position == bindparam("position"), blocks.c.attempt == bindparam("attempt")
)


def block_of(connection: Connection, session: int, position: int, attempt: int) -> Block | None:
    found = connection.execute(_BLOCK, {"session": session, "position": position, "attempt": attempt}).first()
    return _read(Block, found)  # type: ignore[no-any-return]


_ROWS = (
    select(conditions.c.content, blocks.c.position, blocks.c.attempt, blocks.c.row)
    .select_from(sessions.join(conditions, conditions.c.id == sessions.c.condition).outerjoin(blocks, blocks.c.session == sessions.c.id))
    .where(sessions.c.id == bindparam("session"))
    .order_by(blocks.c.position, blocks.c.attempt)
)


def design_of(connection: Connection, session: Session) -> Floats:
    """The rows of a session's design in the order in which it plays them, (B, V): as they were begun, then as planned."""
    found = connection.execute(_ROWS, {"session": session.id}).all()
    design = np.array(json.loads(found[0].content)["design"], dtype=np.float64)[session.order]
    for row in found:
        if row.position is not None and (row.position != session.position or row.attempt == session.attempt):
            design[row.position] = row.row  # of several attempts the last; at the present block only this one's
    return design


def add_block(connection: Connection, block: Block) -> None:
    connection.execute(insert(blocks).values(**vars(block)))


_TRIALS = (
    select(trials)
    .where(trials.c.session == bindparam("session"), trials.c.position == bindparam("position"), trials.c.attempt == bindparam("attempt"))
    .where(trials.c.trial.between(bindparam("first"), bindparam("last")))
    .order_by(trials.c.trial)
)


def trials_from(connection: Connection, session: int, position: int, attempt: int, first: int, last: int) -> list[Trial]:
    """The recorded trials of an attempt, from the first to the last."""
    place = {"session": session, "position": position, "attempt": attempt}
    return [_read(Trial, row) for row in connection.execute(_TRIALS, {**place, "first": first, "last": last})]


def add_trials(connection: Connection, recorded: Sequence[Trial]) -> None:
    if recorded:
        connection.execute(insert(trials), [vars(trial) for trial in recorded])


def points_of(connection: Connection, session: int, field: str) -> float:
    """The sum of an outcome over a session, of the last attempt at each position."""
    last = last_attempts(connection, session)
    query = select(trials.c.position, trials.c.attempt, trials.c.outcomes).where(trials.c.session == session)
    return float(sum(row.outcomes.get(field, 0.0) for row in connection.execute(query) if last[row.position] == row.attempt))


def last_attempts(connection: Connection, session: int) -> dict[int, int]:
    """The last attempt at each position."""
    last = last_attempt()
    query = select(last.c.position, last.c.attempt).where(last.c.session == session)
    return {int(position): int(attempt) for position, attempt in connection.execute(query)}


def last_attempt() -> Subquery:
    """The attempt that counts at each position of each session: session, position, attempt."""
    last = select(blocks.c.session, blocks.c.position, func.max(blocks.c.attempt).label("attempt"))
    return last.group_by(blocks.c.session, blocks.c.position).subquery()


def forget(connection: Connection, who: str) -> list[str]:
    """Delete all about a participant, by the label, or else by the number on a platform; the labels that are gone.

    Who chooses a number may choose one that looks like somebody else's label. So a label is never taken for a number: that is
    written "platform:number".
    """
    platform, _, number = who.rpartition(":")
    person = select(identities.c.session).where(identities.c.person == number)
    person = person.where(identities.c.platform == platform) if platform else person
    query = select(sessions.c.id, sessions.c.label)
    labelled = connection.execute(query.where(sessions.c.label == who)).all()
    gone = [(int(i), str(label)) for i, label in labelled or connection.execute(query.where(sessions.c.id.in_(person))).all()]
    for table, column in (
        (trials, trials.c.session),
        (blocks, blocks.c.session),
        (identities, identities.c.session),
        (sessions, sessions.c.id),
    ):
        connection.execute(delete(table).where(column.in_([i for i, _ in gone])))
    return [label for _, label in gone]


def completeness(connection: Connection, session: int) -> tuple[int, int]:
    """How many trials are recorded, and how many there are in the blocks that were begun; the last attempts'."""
    last = last_attempts(connection, session)
    lengths = select(blocks.c.position, blocks.c.attempt, blocks.c.trials).where(blocks.c.session == session)
    counts = select(trials.c.position, trials.c.attempt, func.count()).where(trials.c.session == session)
    counts = counts.group_by(trials.c.position, trials.c.attempt)
    totals = [sum(int(n) for p, a, n in connection.execute(query) if last[p] == a) for query in (counts, lengths)]
    return totals[0], totals[1]


def labels_of(connection: Connection) -> set[str]:
    """All participants who are not forgotten."""
    return set(connection.execute(select(sessions.c.label)).scalars())


def session_of_label(connection: Connection, label: str) -> Session:
    return _read(Session, connection.execute(select(sessions).where(sessions.c.label == label)).one())  # type: ignore[no-any-return]


def blocks_at(connection: Connection, labels: Sequence[str], position: int) -> list[Block]:
    """The block of each participant at a position, at the first attempt, in the order of the labels."""
    query = select(blocks, sessions.c.label).join(sessions, sessions.c.id == blocks.c.session)
    query = query.where(sessions.c.label.in_(labels), blocks.c.position == position, blocks.c.attempt == 0)
    rows = {row.label: row for row in connection.execute(query)}
    return [_read(Block, rows[label]) for label in labels]
