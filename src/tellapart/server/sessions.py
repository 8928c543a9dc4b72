"""The rules of taking part. Knows nothing of HTTP.

    start → (questions) → begin a block → save its trials → begin the next … → finish

Every step can be repeated without harm: a start of the same person is the same session, a block that was begun is the same block, a
trial that was recorded is given back as it was recorded. So a page that does not know whether it was heard asks again.

Coming back. Each start gives the page a new key and makes the old one void: of two tabs or devices, the last one opened goes on. Who is
back soon goes on at the trial where they were; who is back later begins the block anew, with places, stimuli and outcomes drawn anew and
what they did before kept as an earlier attempt; who is back too late cannot go on, unless every trial is recorded and only the last
page was not read.
"""

from __future__ import annotations

import hashlib
import secrets
import threading
import time
from dataclasses import dataclass, replace
from typing import Any, Callable, Mapping, Sequence

import numpy as np
from sqlalchemy import Connection

from ..tasks.space import Floats
from . import playing, store
from .database import Database
from .plan import Plan, generator
from .playing import Begun, Given, Refused
from .policy import Asking
from .store import FINISHED, SCREENED_OUT, TAKING_PART, Block, Identity, Session

MOST_BEING_PLAYED = 2000
"""Blocks that are held in memory while people play them."""


@dataclass(frozen=True)
class Started:
    """A session as the page sees it. `key` is what the page shows at every step; `again` says that a block begins anew."""

    key: str
    label: str
    status: str
    position: int
    trial: int
    resumed: bool
    again: bool
    passed: bool
    failures: int
    link: str | None = None


@dataclass(frozen=True)
class Saved:
    """The outcomes of trials that are on disk, and what comes next; `stimulus` is of the next trial, if the page does not have it."""

    outcomes: list[dict[str, float]]
    position: int
    attempt: int
    trial: int
    stimulus: dict[str, Any] | None


class Sessions:
    """The rules, over a plan and a database.

    Arguments:
        plan: What is served.
        database: Where it is kept.
        clock: Seconds since 1970.
        seed: Of the whole experiment, if it is new; drawn by chance if not given, so that nobody can foresee outcomes.
    """

    def __init__(self, plan: Plan, database: Database, clock: Callable[[], float] = time.time, seed: int | None = None) -> None:
        self.plan, self.database, self.clock = plan, database, clock
        self._being_played: dict[tuple[Any, ...], tuple[Block, Floats]] = {}
        self._holding = threading.Lock()
        self._asking = Asking(plan.policy, plan.task, plan.settings.policy_seconds)
        with database.writing() as connection:
            store.found(connection, plan, seed)
            self.conditions = store.condition_ids(connection, plan)

    def start(self, identity: Identity, simulated: bool = False, truth: Mapping[str, Any] | None = None, again: bool = False) -> Started:
        """Take part, or go on. Who comes again and is not known was forgotten, and must be asked for consent again."""
        key = secrets.token_urlsafe(24)
        with self.database.writing() as connection:
            session = store.session_of_person(connection, identity)
            if session is None:
                row = store.the_experiment(connection, lock=True)
                session = store.session_of_person(connection, identity)  # somebody may have been quicker
            if session is not None:
                return self._resume(connection, session, key)
            if again:
                raise Refused("forgotten")
            return self._started(self._new(connection, row, identity, key, simulated, truth), key)

    def decline(self, again: bool = False) -> str | None:
        """Count somebody who does not consent, once; the link for them."""
        if not again:
            with self.database.writing() as connection:
                row = store.the_experiment(connection, lock=True)
                store.change_experiment(connection, declined=row.declined + 1)
        return self.plan.settings.codes.link("no_consent")

    def answer(self, key: str, answers: Sequence[int], failures: int | None = None) -> bool:
        """Answer the questions about the instructions. Who fails too often is screened out.

        A page that says how many `failures` it knows of can ask again if it was not heard: the same try is not counted twice.
        """
        right = [question.answer for question in self.plan.texts.questions]
        with self.database.writing() as connection:
            session, now = self._taking_part(connection, key), self.clock()
            if not session.passed and failures is not None and failures < session.failures:
                return False
            if session.passed or list(answers) == right:
                store.change_session(connection, session.id, passed=True, seen=now)
                return True
            out = session.failures + 1 >= self.plan.settings.questions
            ending = {"status": SCREENED_OUT, "ended": now} if out else {}
            store.change_session(connection, session.id, failures=session.failures + 1, seen=now, **ending)
        if out:
            raise Refused("screened_out", self._link(SCREENED_OUT))
        return False

    def practice(self, key: str) -> dict[str, Any]:
        """A few trials that do not count."""
        with self.database.reading() as connection:
            session = self._taking_part(connection, key, lock=False)
        return playing.practice(self.plan, session.seed)

    def begin(self, key: str) -> Begun | None:
        """Begin the present block, or go on in it; None if all blocks are done."""
        with self.database.reading() as connection:
            session = self._taking_part(connection, key, lock=False)
            if not session.passed:
                raise Refused("questions")
            if session.position >= self.plan.task.blocks:
                return None
            there = store.block_of(connection, session.id, session.position, session.attempt)
            environment = playing.environment_of(self.plan, session, store.design_of(connection, session))
        row = None if there else self._asking.row(environment.behavior, environment.designs[0], session.position)  # with no lock held
        place = (session.position, session.attempt)
        with self.database.writing() as connection:
            session, now = self._taking_part(connection, key), self.clock()
            block = store.block_of(connection, session.id, session.position, session.attempt)
            if block is None and row is not None and place == (session.position, session.attempt):
                block = playing.new_block(connection, self.plan, session, row, now)
            if block is None:  # played on meanwhile by another request: the row is not of this block
                raise Refused("order", session=session)
            store.change_session(connection, session.id, seen=now, away=False)
            if block.trials:
                return playing.begun(connection, self.plan, session, block)
            playing.skip(connection, session, block)
        return self.begin(key)

    def save(self, key: str, position: int, attempt: int, given: Sequence[Given]) -> Saved:
        """Record trials of a block, in order; those that were recorded already are given back as they were."""
        numbers = [trial.trial for trial in given]
        with self.database.writing() as connection:
            session = self._taking_part(connection, key)
            present = (position, attempt) == (session.position, session.attempt)
            place = (session.label, session.started, position, attempt)  # a label comes again only if a backup is put in place
            block, design = self._being_played.get(place) or (store.block_of(connection, session.id, position, attempt), None)
            if present and block is not None and design is None:
                design = store.design_of(connection, session)
            if block is None or numbers != list(range(numbers[0], numbers[0] + len(numbers))):
                raise Refused("order", session=session)
            new = [trial for trial in given if trial.trial >= session.trial] if present else []
            if new and new[0].trial != session.trial:
                raise Refused("order", session=session)
            known = len(new) < len(given)
            recorded = store.trials_from(connection, session.id, position, attempt, numbers[0], numbers[-1]) if known else []
            if new and design is not None:
                added, session = playing.play(connection, self.plan, session, block, design, new, self.clock())
                recorded += added
            if [trial.trial for trial in recorded] != numbers:
                raise Refused("order", session=session)
            outcomes = [trial.outcomes for trial in recorded]
            saved = Saved(outcomes, *playing.place_of(session), playing.following(self.plan, session, block))
        if design is not None:
            self._hold(place, block, design)  # now that it is on disk: what shares a commit that fails was never begun
        return saved

    def _hold(self, place: tuple[Any, ...], block: Block, design: Floats) -> None:
        """Keep a block and the design in memory: they do not change while it is played, so they are read once."""
        with self._holding:
            self._being_played[place] = block, design
            while len(self._being_played) > MOST_BEING_PLAYED:
                del self._being_played[next(iter(self._being_played))]

    def finish(self, key: str) -> tuple[int, str | None]:
        """The end, once every trial is recorded: how many there are, and the link for those who completed."""
        with self.database.writing() as connection:
            session, now = self._session(connection, key), self.clock()
            recorded, expected = store.completeness(connection, session.id)
            if session.position < self.plan.task.blocks or recorded != expected:
                raise Refused("incomplete", session=session)
            if session.status != FINISHED:
                store.change_session(connection, session.id, status=FINISHED, ended=now, seen=now, away=False)
            return recorded, self._link(FINISHED)

    def seen(self, key: str, away: bool) -> None:
        """A sign of life; or the page is being closed."""
        with self.database.writing() as connection:
            session = self._taking_part(connection, key)
            store.change_session(connection, session.id, seen=self.clock(), away=away)

    def _new(
        self, connection: Connection, row: Any, identity: Identity, key: str, simulated: bool, truth: Mapping[str, Any] | None
    ) -> Session:
        """A place for a new participant: in the condition with the fewest, by lot among equals. The experiment's row is locked."""
        settings, now = self.plan.settings, self.clock()
        taken = store.places_taken(connection, self.conditions, simulated, now - 60 * settings.place_minutes)
        if row.paused and not simulated:
            raise Refused("paused")
        if settings.participants and sum(taken.values()) >= settings.participants and not simulated:
            raise Refused("full")
        number = row.number + 1
        seed = int(np.random.SeedSequence(row.seed, spawn_key=(number,)).generate_state(1, np.uint64)[0] >> 2)
        least = min(taken[i] for i in self.conditions)
        fewest = [i for i in self.conditions if taken[i] == least]
        chosen = fewest[int(generator(seed, "condition").integers(len(fewest)))]
        order = self.plan.conditions[self.conditions.index(chosen)].order_for(seed)
        values = {"label": f"{'s' if simulated else 'p'}{number:04d}", "key": _fingerprint(key), "seed": seed, "condition": chosen}
        values |= {"order": order, "simulated": simulated, "truth": truth, "status": TAKING_PART, "started": now, "seen": now}
        values |= {"away": False, "position": 0, "attempt": 0, "trial": 0, "passed": not self.plan.texts.questions, "failures": 0}
        store.change_experiment(connection, number=number)
        return store.add_session(connection, identity, values)

    def _resume(self, connection: Connection, session: Session, key: str) -> Started:
        """Go on with a session, under a new key."""
        changes: dict[str, Any] = {"key": _fingerprint(key)}
        if session.status == FINISHED:
            store.change_session(connection, session.id, **changes)
            return self._started(session, key, True)
        settings, gap = self.plan.settings, self.clock() - session.seen
        if session.status == SCREENED_OUT:
            raise Refused("screened_out", self._link(SCREENED_OUT))
        if gap > 3600 * settings.resume_hours and session.position < self.plan.task.blocks:  # who did everything only has to say so
            raise Refused("expired")
        block = store.block_of(connection, session.id, session.position, session.attempt)
        stale = self.plan.screen.introduction is not None or (session.trial > 0 and gap > 60 * settings.resume_minutes)
        if block is not None and stale:
            session = replace(session, attempt=session.attempt + 1, trial=0)
            changes |= {"attempt": session.attempt, "trial": 0, "environment": block.environment}
        store.change_session(connection, session.id, **changes, seen=self.clock(), away=False)
        return self._started(session, key, True, "attempt" in changes)

    def _started(self, session: Session, key: str, resumed: bool = False, again: bool = False) -> Started:
        link = self._link(FINISHED) if session.status == FINISHED else None
        known = (session.passed, session.failures)
        return Started(key, session.label, session.status, session.position, session.trial, resumed, again, *known, link)

    def _session(self, connection: Connection, key: str, lock: bool = True) -> Session:
        """The session whose page holds a key."""
        session = store.session_of_key(connection, _fingerprint(key), lock)
        if session is None:
            raise Refused("elsewhere")
        if session.status == SCREENED_OUT:
            raise Refused("screened_out", self._link(SCREENED_OUT))
        return session

    def _taking_part(self, connection: Connection, key: str, lock: bool = True) -> Session:
        """The session whose page holds a key, if it goes on."""
        session = self._session(connection, key, lock)
        if session.status == FINISHED:
            raise Refused("over", self._link(FINISHED))
        return session

    def _link(self, status: str) -> str | None:
        return self.plan.settings.codes.link("completion" if status == FINISHED else "screen_out")


def _fingerprint(key: str) -> str:
    """What is kept of a key: enough to recognise it, not enough to use it."""
    return hashlib.sha256(key.encode("utf-8", "replace")).hexdigest()
