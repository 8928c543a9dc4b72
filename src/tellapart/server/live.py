"""What the researcher sees: who takes part, how well, and what the models make of it."""

from __future__ import annotations

import math
import threading
from typing import Any, Callable

import numpy as np
from sqlalchemy import Connection, and_, case, func, select

from . import store
from .analysis import Analyst
from .sessions import Sessions
from .store import FINISHED, SCREENED_OUT, TAKING_PART
from .tables import conditions, sessions, trials

ACTIVE = 45
"""Seconds after which a participant without a sign of life counts as away; pages give one every 15 s."""
LISTED = 200
"""Participants that the page lists, the latest first."""
FAST = 0.15
"""Seconds below which an answer is too quick to be one."""

STATES = ("active", "away", "left", "finished", "screened_out")


class Live:
    """The state of an experiment, computed at most once a second however many pages ask.

    Arguments:
        rules: The sessions.
        analyst: Who says which model a finished participant behaves like.
    """

    def __init__(self, rules: Sessions, analyst: Analyst) -> None:
        self._rules, self._analyst = rules, analyst
        self._kept: dict[str, tuple[float, Any]] = {}
        self._lock = threading.Lock()
        self.closed = False

    def close(self) -> None:
        """Streams end."""
        self.closed = True

    def state(self) -> dict[str, Any]:
        """Everything that the page shows."""
        with self._lock:
            counts, people = self._recent("counts", 0.8, self._counts), self._recent("people", 4.0, self._people)
        return {**counts, "people": people, "models": self._analyst.summary()}

    def _recent(self, name: str, seconds: float, compute: Callable[[], Any]) -> Any:
        now, (at, value) = self._rules.clock(), self._kept.get(name, (-math.inf, None))
        if not 0 <= now - at < seconds:
            _, value = self._kept[name] = now, compute()
        return value

    def _counts(self) -> dict[str, Any]:
        """How many are in which state, real people and simulated ones, by condition."""
        with self._rules.database.reading() as connection:
            row = store.the_experiment(connection)
            table = self._by_condition(connection)
        total = {state: sum(entry[state] for entry in table if not entry["simulated"]) for state in STATES}
        started = sum(total.values())
        head = {"study": row.study, "paused": row.paused, "declined": row.declined, "cap": self._rules.plan.settings.participants}
        return {**head, "started": started, **total, "conditions": table}

    def _by_condition(self, connection: Connection) -> list[dict[str, Any]]:
        now, limit = self._rules.clock(), 60 * self._rules.plan.settings.place_minutes
        state = case(
            (sessions.c.status == FINISHED, "finished"),
            (sessions.c.status == SCREENED_OUT, "screened_out"),
            (sessions.c.seen < now - limit, "left"),
            (sessions.c.away.is_(True) | (sessions.c.seen < now - ACTIVE), "away"),
            else_="active",
        ).label("state")
        query = select(conditions.c.name, sessions.c.simulated, state, func.count()).join(
            conditions, conditions.c.id == sessions.c.condition
        )
        counts: dict[tuple[str, bool], dict[str, int]] = {}
        for name, simulated, which, count in connection.execute(query.group_by(conditions.c.name, sessions.c.simulated, state)):
            counts.setdefault((name, simulated), dict.fromkeys(STATES, 0))[which] += count
        for name in store.condition_names(connection, self._rules.conditions):
            counts.setdefault((name, False), dict.fromkeys(STATES, 0))
        return [{"condition": name, "simulated": simulated, **count} for (name, simulated), count in sorted(counts.items())]

    def _people(self) -> list[dict[str, Any]]:
        """The latest participants: how far they are, how quick, how attentive, and what the models make of them."""
        with self._rules.database.reading() as connection:
            query = select(sessions.c.id, sessions.c.label, sessions.c.status, sessions.c.position, sessions.c.simulated, conditions.c.name)
            query = query.join(conditions, conditions.c.id == sessions.c.condition).order_by(sessions.c.id.desc()).limit(LISTED)
            people = connection.execute(query).all()
            seconds = self._seconds(connection, [person.id for person in people])
        return [self._person(person, *seconds[person.id]) for person in people]

    def _seconds(self, connection: Connection, ids: list[int]) -> dict[int, tuple[list[float], int, int]]:
        """Response times, and the numbers of trials and of missed ones, of participants; of the attempts that count."""
        last = store.last_attempt()
        same = and_(*(last.c[name] == trials.c[name] for name in ("session", "position", "attempt")))
        query = select(trials.c.session, trials.c.seconds, trials.c.missed).join(last, same).where(trials.c.session.in_(ids))
        times: dict[int, list[float]] = {i: [] for i in ids}
        count, unanswered = dict.fromkeys(ids, 0), dict.fromkeys(ids, 0)
        for session, seconds, missed in connection.execute(query):
            count[session] += 1
            unanswered[session] += bool(missed)
            if not missed and seconds is not None:
                times[session].append(seconds)
        return {i: (times[i], count[i], unanswered[i]) for i in ids}

    def _person(self, person: Any, seconds: list[float], count: int, missed: int) -> dict[str, Any]:
        times = np.array(seconds)
        quick = {"median": round(float(np.median(times)), 3), "fast": round(float((times < FAST).mean()), 3)} if len(times) else {}
        told = self._analyst.about(person.label)
        part = min(person.position + 1, self._rules.plan.task.blocks)  # after the last one there is the debriefing
        status = f"in part {part}" if person.status == TAKING_PART else person.status
        kept = {"participant": person.label, "condition": person.name, "simulated": person.simulated, "status": status}
        return {**kept, "trials": count, "missed": missed, **quick, **told}
