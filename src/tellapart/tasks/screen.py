"""How a trial of a task looks in a browser, declared once.

A screen says which script draws a trial, what it shows, how it is answered and how an answer becomes the task's responses. What is
shown is made on the server from the block's row of the design, so that a participant sees the trial and never the design:

    stimuli(row, trials, rng)      what each trial of a block shows, as JSON can hold it; keys that begin with "_" stay on the server
    introduction(row, stimuli)     what is shown before the first trial of a block, if anything
    read(stimulus, answer)         the responses that an answer means
    write(stimulus, responses)     an answer that means these responses, for simulated participants

An answer is the number of an option (for `answer="choice"`, in the order of the field's categories whatever the order on the
screen), a number or a text.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Any, Callable, Literal, Mapping, Sequence

import numpy as np

from ..behavior import Field
from ..errors import StudyError

if TYPE_CHECKING:
    from .base import Task
    from .space import Floats

Stimulus = Mapping[str, Any]
Answer = int | float | str

SCRIPTS = ("bandit", "choice", "number")
"""The scripts that come with tellapart; any other is a JavaScript file beside the study."""


@dataclass(frozen=True)
class Screen:
    """How a trial looks and is answered.

    Arguments:
        script: "bandit" (arms that pay), "choice" (one of some options), "number", or a file beside the study: "screen.js".
        answer: What the participant gives: a "choice" of an option, a "number" or a "text".
        field: The response that the answer gives, where `read` does not say; the task's only one if not given.
        options: What the options are called, in the order of the field's categories.
        shuffled: Are the options shown in an order that is drawn anew for each participant and block? The data are un-shuffled.
        deadline: Seconds until a trial without an answer is missed; none if not given.
        seconds: The field that holds the response time in seconds, if the task records it.
        feedback: Seconds for which an outcome is shown.
        breaks: Is there a pause between blocks?
        stimuli: What each trial shows; nothing beside the options if not given.
        introduction: What is shown before a block.
        read: What an answer means; the field itself if not given.
        write: The answer that means given responses; found among the options if not given.
    """

    script: str = "choice"
    answer: Literal["choice", "number", "text"] = "choice"
    field: str = ""
    options: tuple[str, ...] = ()
    shuffled: bool = False
    deadline: float | None = None
    seconds: str | None = None
    feedback: float = 0.9
    breaks: bool = True
    stimuli: Callable[[Floats, int, np.random.Generator], Sequence[Stimulus]] | None = None
    introduction: Callable[[Floats, Sequence[Stimulus]], Stimulus] | None = None
    read: Callable[[Stimulus, Answer], Mapping[str, float]] | None = None
    write: Callable[[Stimulus, Mapping[str, float]], Answer] | None = None

    def shown(self, row: Floats, trials: int, rng: np.random.Generator) -> list[dict[str, Any]]:
        """What each trial of a block shows, the server's own keys included."""
        if self.stimuli is None:
            return [{} for _ in range(trials)]
        shown = [dict(stimulus) for stimulus in self.stimuli(row.copy(), trials, rng)]  # whatever they do with it
        if len(shown) != trials:
            fix = "give as many as `trials` says; practice has a number of its own"
            raise StudyError("The screen must show something at each trial.", expected=f"{trials} stimuli", got=len(shown), fix=fix)
        return shown

    def rehearse(self, task: Task, row: Floats, trials: int) -> None:
        """Show a block and read its answers, so that a mistake is found before anybody takes part."""
        stimuli = self.shown(row, trials, np.random.default_rng(0))
        _check_json(stimuli, "texts, numbers, lists, dictionaries")
        if self.introduction is not None:
            introduction = self.introduction(row.copy(), stimuli)
            _check_json(introduction, "a dictionary")
            if not isinstance(introduction, dict):
                raise StudyError("The introduction of a block is none.", expected="a dictionary", got=type(introduction).__name__)
        self._check_options(task, stimuli)
        expected = [f.name for f in task.responses]
        answers = range(self.choices(task)) if self.answer == "choice" else range(self.read is None)  # what a text means is not tried
        what = "An answer on the screen is not what the task records."
        for stimulus, answer in product(stimuli, answers):
            given = self.responses(task, stimulus, answer, 1.0)
            if sorted(given) != sorted(expected):
                fix = "Screen(read=…) gives the responses, Screen(seconds=…) names the one that is the response time"
                raise StudyError(what, expected=", ".join(expected), got=", ".join(given), fix=fix)
            wrong = [f for f in task.responses if not f.allows(np.array([given[f.name]]))[0]]
            if wrong and self.answer == "choice":
                field, fix = wrong[0], "offer as many options as the response has values, or say what each one means: Screen(read=…)"
                got = f"{given[field.name]:g} for option {answer + 1} of {len(answers)}"
                raise StudyError(what, expected=f"'{field.name}': {field.allowed}", got=got, fix=fix)

    def _check_options(self, task: Task, stimuli: Sequence[Stimulus]) -> None:
        """Options that a trial names are as many as there are to choose from."""
        for names in (stimulus["options"] for stimulus in stimuli if self.answer == "choice" and "options" in stimulus):
            if len(names) != self.choices(task):
                what, expected = "A trial of the screen has another number of options.", f"{self.choices(task)}"
                raise StudyError(what, expected=expected, got=names, fix="name them all, or say how many there are: Screen(options=…)")

    def responses(self, task: Task, stimulus: Stimulus, answer: Answer, seconds: float) -> dict[str, float]:
        """The task's responses that an answer means."""
        read = {self.field_of(task).name: answer} if self.read is None else dict(self.read(stimulus, answer))
        return {name: float(value) for name, value in read.items()} | ({self.seconds: seconds} if self.seconds else {})

    def answer_of(self, task: Task, stimulus: Stimulus, responses: Mapping[str, float]) -> Answer:
        """An answer that means given responses."""
        if self.write is not None:
            return self.write(stimulus, responses)
        if self.answer == "number":
            return responses[self.field_of(task).name]
        wanted = {name: float(value) for name, value in responses.items() if name != self.seconds}
        for option in range(self.choices(task)) if self.answer == "choice" else ():
            means = self.responses(task, stimulus, option, 1.0)
            if {name: value for name, value in means.items() if name != self.seconds} == wanted:
                return option
        raise StudyError("No answer on the screen means these responses.", got=dict(responses), fix="declare it: Screen(write=…)")

    def field_of(self, task: Task) -> Field:
        """The response that the answer gives."""
        candidates = [f for f in task.responses if f.name == self.field or (not self.field and f.name != self.seconds)]
        if len(candidates) != 1:
            what, expected = "The screen does not say which response an answer gives.", ", ".join(f.name for f in task.responses)
            raise StudyError(
                what, expected=f"one of {expected}", got=self.field or None, fix="declare it: Screen(field=…) or Screen(read=…)"
            )
        return candidates[0]

    def choices(self, task: Task) -> int:
        """How many options there are."""
        return len(self.options) or (self.field_of(task).levels or 2)


def _check_json(shown: Any, expected: str) -> None:
    """It is kept as JSON, and has to be the same when it is read again: a tuple would be a list, the key 1 would be "1"."""
    try:
        same = json.loads(json.dumps(shown, allow_nan=False)) == shown
    except (TypeError, ValueError) as error:
        fix = "make it one: float(x), int(x), x.tolist(); NaN and infinity have no place in JSON"
        raise StudyError("What the screen shows is not JSON.", expected=expected, got=error, fix=fix) from None
    if not same:
        fix, got = "lists in the place of tuples, and keys that are texts", repr(shown)[:100]
        raise StudyError("What the screen shows is not JSON: it would be something else when it is read again.", got=got, fix=fix)


def screen_of(task: Task) -> Screen:
    """The screen of a task that declares none: its only response as buttons or a number, above it the values of the block's design."""
    from .text import format_design

    response, space = Screen().field_of(task), task.design_space

    def by_name(row: Floats, trials: int, rng: np.random.Generator) -> list[Stimulus]:
        values = format_design(space, row[None]).split(",")
        return [{"lines": [f"{name}: {value}" for name, value in zip(space.names, values, strict=True)]}] * trials

    stimuli = None if task.design_acts_through_data else by_name
    if response.kind in ("categorical", "binary"):
        labels = response.labels or (("no", "yes") if response.kind == "binary" else ())
        return Screen("choice", options=labels, stimuli=stimuli)
    return Screen("number", answer="number", stimuli=stimuli)
