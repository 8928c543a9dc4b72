"""One session's blocks and trials: what is drawn when a block begins, and what a trial comes to.

The task's environment is restored from what it saved after the last trial, steps, and is saved again, in the transaction that records the
trial. Its random numbers begin anew with each attempt at a block, from the session's seed.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, replace
from typing import Any, Literal, Sequence

import numpy as np
from sqlalchemy import Connection

from ..tasks.environment import Environment
from ..tasks.screen import Stimulus
from ..tasks.space import Floats
from . import store
from .plan import Plan, generator
from .policy import Row
from .shown import introduction_of, options_of, places_of, public, seen_by
from .store import Block, Session, Trial

log = logging.getLogger("tellapart.server")

Reason = Literal[
    "full", "paused", "expired", "screened_out", "forgotten", "elsewhere", "over", "questions", "order", "invalid", "incomplete"
]


class Refused(Exception):
    """Something that cannot be done, and why.

    Arguments:
        reason: One word for the page.
        link: Where the participant is sent, if anywhere.
        session: Whose place in the experiment the page is told.
    """

    def __init__(self, reason: Reason, link: str | None = None, session: Session | None = None) -> None:
        super().__init__(reason)
        self.reason, self.link, self.place = reason, link, None if session is None else place_of(session)


@dataclass(frozen=True)
class Given:
    """An answer as the page gives it: the place of an option, a number or a text; None if the trial was missed."""

    trial: int
    answer: int | float | str | None
    seconds: float | None


@dataclass(frozen=True)
class Begun:
    """A block as the page sees it: what is shown from trial number `trial` on, as far as it may be known."""

    position: int
    attempt: int
    trial: int
    trials: int
    blocks: int
    options: list[str]
    stimuli: list[dict[str, Any]]
    introduction: dict[str, Any] | None
    points: float


def place_of(session: Session) -> tuple[int, int, int]:
    """Where a session is: position, attempt, trial."""
    return session.position, session.attempt, session.trial


def environment_of(plan: Plan, session: Session, design: Floats, row: Floats | None = None) -> Environment:
    """The task's rules as they were after the last trial, at a design (B, V); the row of a block that begins may be given."""
    if row is not None:
        design = design.copy()
        design[session.position] = row
    environment = plan.task.environment(design, generator(session.seed, "outcomes", session.position, session.attempt))
    fresh = environment.save()["rng"]
    if session.environment is not None:
        environment.restore(session.environment if row is None else {**session.environment, "rng": fresh})
    return environment


def new_block(connection: Connection, plan: Plan, session: Session, row: Row, now: float) -> Block:
    """Draw all that is random about the present block, and keep it."""
    path, screen = (session.position, session.attempt), plan.screen
    environment = environment_of(plan, session, store.design_of(connection, session), row.values)
    trials = int(environment.lengths[0, session.position])
    places = places_of(plan, generator(session.seed, "places", *path))
    stimuli = screen.shown(row.values, trials, generator(session.seed, "stimuli", *path))
    saved, number = environment.save(), session.order[session.position]
    block = Block(session.id, *path, number, row.values.tolist(), trials, places, stimuli, row.source, row.why, saved, now)
    store.add_block(connection, block)
    store.change_session(connection, session.id, environment=saved)
    return block


def skip(connection: Connection, session: Session, block: Block) -> None:
    """Pass over a block in which the design puts no trial."""
    after = {**block.environment, "block": session.position + 1, "trial": 0}
    store.change_session(connection, session.id, position=session.position + 1, attempt=0, trial=0, environment=after)


def begun(connection: Connection, plan: Plan, session: Session, block: Block) -> Begun:
    """The block as the page may see it: all its stimuli if the task gives no outcomes, else the next one only."""
    rest = block.stimuli[session.trial :]
    introduction = introduction_of(plan, np.array(block.row), block.stimuli) if session.trial == 0 else None
    stimuli = [public(stimulus, block.places) for stimulus in (rest[:1] if plan.task.outcomes else rest)]
    points = store.points_of(connection, session.id, plan.task.outcomes[0].name) if plan.task.outcomes else 0.0
    place = (*place_of(session), block.trials, plan.task.blocks)
    return Begun(*place, options_of(plan, block.places), stimuli, introduction, points)


def play(
    connection: Connection, plan: Plan, session: Session, block: Block, design: Floats, given: Sequence[Given], now: float
) -> tuple[list[Trial], Session]:
    """Play trials of the present block, record them, and keep where the session is then."""
    if session.trial + len(given) > block.trials:
        raise Refused("order", session=session)
    environment = environment_of(plan, session, design)
    recorded = [_played(plan, session, block, environment, trial, now) for trial in given]
    after = session.trial + len(given)
    next_block = replace(session, position=session.position + 1, attempt=0, trial=0)
    session = replace(session, trial=after) if after < block.trials else next_block
    store.add_trials(connection, recorded)
    place = {"position": session.position, "attempt": session.attempt, "trial": session.trial}
    settings = plan.settings  # what an old outbox held is kept, but is no sign of life: who is back is judged by how long they were away
    late = now - session.seen > 60 * min(settings.resume_minutes, 60 * settings.resume_hours)
    seen = session.seen if late else now
    store.change_session(connection, session.id, **place, environment=environment.save(), seen=seen, away=False)
    return recorded, session


def _played(plan: Plan, session: Session, block: Block, environment: Environment, given: Given, now: float) -> Trial:
    """One trial: what the answer means, and what comes of it."""
    task, screen, missed = plan.task, plan.screen, given.answer is None
    responses = dict.fromkeys((f.name for f in task.responses), 0.0)
    try:
        if given.answer is not None:
            if screen.seconds and given.seconds is None:
                raise ValueError("a response time is expected: the task records it")
            seconds = max(given.seconds or 0.0, 1e-3)
            responses = screen.responses(task, block.stimuli[given.trial], seen_by(screen, given.answer, block.places), seconds)
        outcomes = environment.step({name: np.array([value]) for name, value in responses.items()}, np.array([missed]))
    except Exception as error:  # of the study's own code too: a page that were told of a fault would send the same answer for ever
        log.warning("an answer was refused: %s: %s", type(error).__name__, error)
        raise Refused("invalid", session=session) from None
    came = {} if missed else {name: values[0].item() for name, values in outcomes.items()}
    kept = {} if missed else responses
    return Trial(session.id, block.position, block.attempt, given.trial, given.answer, given.seconds, kept, came, missed, now)


def following(plan: Plan, session: Session, block: Block) -> dict[str, Any] | None:
    """What the next trial shows, if it was not sent ahead and the block goes on."""
    if not plan.task.outcomes or (session.position, session.attempt) != (block.position, block.attempt):
        return None
    return public(block.stimuli[session.trial], block.places)


def practice(plan: Plan, seed: int) -> dict[str, Any]:
    """A few trials that do not count, at a randomly drawn design, with what each option would lead to."""
    rng, screen, count = generator(seed, "practice"), plan.screen, plan.settings.practice
    design = plan.task.baseline(1, rng)[0]
    stimuli = screen.shown(design[0], count, rng)
    places, introduction = places_of(plan), introduction_of(plan, design[0], stimuli)
    shown = {"options": options_of(plan, places), "stimuli": [public(stimulus, places) for stimulus in stimuli]}
    return shown | {"introduction": introduction, "outcomes": _outcomes_of_each(plan, design, stimuli, places, rng)}


def _outcomes_of_each(
    plan: Plan, design: Floats, stimuli: Sequence[Stimulus], places: list[int], rng: np.random.Generator
) -> list[list[dict[str, float]]]:
    """The outcomes at each trial for each option, (trials, options); none where answers are not choices."""
    if not plan.task.outcomes or not places:
        return []
    environment = plan.task.environment(np.broadcast_to(design, (len(places), *design.shape)), rng)
    each = []
    for stimulus in stimuli[: int(environment.lengths.sum(1).min())]:
        given = [plan.screen.responses(plan.task, stimulus, place, 1.0) for place in places]
        each.append(environment.step({f.name: np.array([one[f.name] for one in given]) for f in plan.task.responses}))
    return [[{name: values[i].item() for name, values in trial.items()} for i in range(len(places))] for trial in each]
