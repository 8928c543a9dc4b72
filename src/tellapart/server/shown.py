"""Between the screen and the task: what the page may see, and what a place on the screen means."""

from __future__ import annotations

from typing import Any, Mapping, Sequence

from ..tasks.screen import Answer, Screen
from .plan import Plan


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
