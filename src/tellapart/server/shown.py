"""Between the screen and the task: what the page may see, and what a place on the screen means."""

from __future__ import annotations

from typing import Any, Mapping, Sequence

import numpy as np

from ..tasks.screen import Answer, Screen
from ..tasks.space import Floats
from .plan import Plan


def look_of(plan: Plan) -> dict[str, Any]:
    """How the screen is drawn and answered: nothing of the design."""
    look = {name: getattr(plan.screen, name) for name in ("answer", "deadline", "feedback", "breaks")}
    script = "screen.js" if plan.script else f"static/screens/{plan.screen.script}.js"
    return {**look, "script": script, "outcomes": [f.name for f in plan.task.outcomes]}


def places_of(plan: Plan, rng: np.random.Generator | None = None) -> list[int]:
    """The category of the option at each place on the screen; shuffled by `rng` where the screen says so. Empty if nothing is chosen."""
    places = list(range(plan.screen.choices(plan.task))) if plan.screen.answer == "choice" else []
    return [int(place) for place in rng.permutation(places)] if rng is not None and plan.screen.shuffled else places


def introduction_of(plan: Plan, row: Floats, stimuli: Sequence[Mapping[str, Any]]) -> dict[str, Any] | None:
    """What is shown before the first trial of a block, if anything."""
    return None if plan.screen.introduction is None else dict(plan.screen.introduction(row, stimuli))


def public(stimulus: Mapping[str, Any], places: Sequence[int]) -> dict[str, Any]:
    """What a trial shows, without what is the server's own; its options, if it has any, in the order on the screen."""
    seen = {name: value for name, value in stimulus.items() if not name.startswith("_")}
    if "options" in seen and places:
        seen["options"] = [seen["options"][category] for category in places]
    return seen


def options_of(plan: Plan, places: Sequence[int]) -> list[str]:
    """What the options are called, in the order on the screen; empty texts where they have no names."""
    names = plan.screen.options
    if plan.screen.answer == "choice" and not names and plan.screen.read is None:
        names = plan.screen.field_of(plan.task).labels
    return [names[category] if names else "" for category in places]


def seen_by(screen: Screen, answer: Answer, places: Sequence[int]) -> Answer:
    """What an answer means: a place on the screen stands for the category that was shown there."""
    if screen.answer == "text":
        if not isinstance(answer, str):
            raise ValueError("a text is expected")
        return answer
    if isinstance(answer, (bool, str)):
        raise ValueError("a number is expected")
    if screen.answer == "number":
        return answer
    if not isinstance(answer, int) or not 0 <= answer < len(places):
        raise ValueError("the place of an option is expected")
    return places[answer]
