"""Decisions and their record: each is a function of study, seed and data, kept with the data, and made again to the same bytes.

Blocks are counted from 0 here and in records, as in tables of data, and records say so. What people read counts from 1.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Any, Sequence

from ..information.estimate import Difference


@dataclass(frozen=True)
class Decision:
    """The next block of one participant.

    Arguments:
        participant: The label.
        block: Its number, counted from 0 in the order of play.
        row: What it is to be run at, (V,).
        gain: What it is expected to tell, in nats, with the standard error that comes from the number of draws.
        planned: What the block of the fixed plan would be expected to tell.
        over_planned: The difference of the two, from the same draws.
        probabilities: Of the models, after the data so far.
    """

    participant: str
    block: int
    row: tuple[float, ...]
    gain: Difference
    planned: Difference
    over_planned: Difference
    probabilities: tuple[float, ...]

    def to_json(self) -> dict[str, Any]:
        return {**asdict(self), "row": list(self.row), "probabilities": list(self.probabilities)}


def record(decisions: Sequence[Decision | None], about: dict[str, Any]) -> str:
    """Decisions as text, in the order of participants' labels; equal decisions are equal bytes, however a table was sorted.

    Arguments:
        about: What they follow from beside the data and what was learned: study, seed, and the plan if it is not the study's.
    """
    kept = sorted((decision for decision in decisions if decision is not None), key=lambda one: one.participant)
    return json.dumps({**about, **listed(kept)}, indent=1, sort_keys=True, allow_nan=False) + "\n"


def listed(decisions: Sequence[Decision | None]) -> dict[str, Any]:
    """Decisions as JSON can hold them, and from where they count; none for who has no block left."""
    return {"blocks_counted_from": 0, "decisions": [None if one is None else one.to_json() for one in decisions]}


def difference(kept: str, again: str) -> str | None:
    """Where two records differ first, in words; None if they are the same bytes."""
    if kept == again:
        return None
    one, other = json.loads(kept), json.loads(again)
    for key in sorted({*one, *other} - {"decisions"}):
        if one.get(key) != other.get(key):
            return f"{key}: {one.get(key)} then, {other.get(key)} now"
    then, now = ({decision["participant"]: decision for decision in part["decisions"]} for part in (one, other))
    for label in (*then, *(label for label in now if label not in then)):
        before, after = then.get(label), now.get(label)
        if before != after:
            return f"participant {label}: {_where(before, after)} then, {_where(after, before)} now"
    return "the same decisions, written in another way"


def _where(decision: dict[str, Any] | None, other: dict[str, Any] | None) -> str:
    """What was decided, in words; if the other decision is about the same row, with the first thing that is not the same."""
    if decision is None:
        return "no decision"
    text = f"block {decision['block'] + 1} at {decision['row']}"
    if other is None or any(decision[key] != other[key] for key in ("block", "row")):
        return text
    key = next(key for key in sorted({*decision, *other}) if decision.get(key) != other.get(key))
    return f"{text}, {key} {decision.get(key)}"
