"""The words that participants read: `texts.toml` beside the study over the usual ones, which are in `texts.toml` beside this module."""

from __future__ import annotations

import re
import shutil
import tomllib
from pathlib import Path
from typing import Any, Mapping

import tomlkit
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from ..errors import StudyError, nearest
from .settings import FILE as SETTINGS

FILE = "texts.toml"
USUAL = Path(__file__).with_name(FILE)

_IN_BRACES = re.compile(r"\{(\s*\w+\s*)\}")

_OPEN = ("outcomes", "own")
"""Sections whose keys are the study's own."""

_KINDS: Mapping[type, str] = {str: "a text, in quotes", list: "a list", dict: "a section"}

_ON_PAGES = ("heading", "text", "pages", "again", "wrong", "close", "ask", "options")
_EVERYWHERE = ("blocks", "points", "trials")
_AT_A_BLOCK = ("block", "blocks", "done", "points", "trials")
_FILLED_IN = {
    **dict.fromkeys(("block.heading", "block.text", "pause.text", "practice.done"), _AT_A_BLOCK),
    "trial.points": ("points",),
    "trial.progress": ("trial", "trials"),
    "finished.code": ("label",),
}
"""The numbers that the page knows where it shows a text; elsewhere those of every page in headings and texts, and none on buttons."""


class Question(BaseModel):
    """A question about the instructions.

    Arguments:
        ask: The question.
        options: What can be answered.
        answer: Which one is right, counted from 0.
    """

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    ask: str
    options: list[str] = Field(min_length=2)
    answer: int = Field(ge=0)

    @model_validator(mode="after")
    def _has_answer(self) -> Question:
        if self.answer >= len(self.options):
            raise ValueError(f"the answer is the number of an option, from 0 to {len(self.options) - 1}, not {self.answer}")
        return self


class Texts:
    """The words of an experiment.

    Arguments:
        words: Section to key to text, all of them.
        questions: About the instructions; their answers never leave the server.
    """

    def __init__(self, words: Mapping[str, Any], questions: tuple[Question, ...]) -> None:
        self.words, self.questions = words, questions

    def public(self) -> dict[str, Any]:
        """What the page is given."""
        return {**self.words, "question": [{"ask": q.ask, "options": q.options} for q in self.questions]}


def read_texts(folder: Path | None) -> Texts:
    """The words of the study in a folder."""
    usual = tomllib.loads(USUAL.read_text("utf-8"))
    file = folder / FILE if folder else None
    if file is None or not file.is_file():
        return Texts(usual, ())
    try:
        given = tomllib.loads(file.read_text("utf-8-sig"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise StudyError("The texts are not valid TOML.", where=str(file), expected="text in UTF-8", got=error) from None
    questions = _questions(given.pop("question", []), file)
    return Texts(_merged(usual, given, file), questions)


def write_texts(folder: Path) -> list[Path]:
    """Write the whole `texts.toml` of a study, and a `serve.toml` with the usual numbers, to be edited; the files that were made."""
    words = tomlkit.parse(USUAL.read_text("utf-8"))
    given = tomlkit.parse((folder / FILE).read_text("utf-8")) if (folder / FILE).is_file() else tomlkit.document()
    for key, value in given.items():  # strings keep the form in which they were written
        if isinstance(value, dict):
            for name, text in value.items():
                words[key][name] = text
        else:
            words[key] = value
    (folder / FILE).write_text(tomlkit.dumps(words), encoding="utf-8")
    return [folder / FILE, Path(shutil.copyfile(USUAL.with_name(SETTINGS), folder / SETTINGS))]


def _questions(given: Any, file: Path) -> tuple[Question, ...]:
    where, expected = f"{file}, [[question]]", "ask, options, answer"
    what = "A question about the instructions cannot be used."
    if not isinstance(given, list):
        raise StudyError(what, where=where, expected=expected, fix="begin each question with [[question]], in two brackets")
    questions = []
    for number, question in enumerate(given, 1):
        try:
            questions.append(Question.model_validate(question))
        except ValidationError as error:
            first = error.errors()[0]
            key = ".".join(map(str, first["loc"]))
            got = f"question {number}{', ' + key if key else ''}: {first['msg'].removeprefix('Value error, ')}"
            raise StudyError(what, where=where, expected=expected, got=got) from None
    for question in questions:
        for key, value in (("ask", question.ask), ("options", question.options)):
            _check_numbers("question", key, value, where)
    return tuple(questions)


def _merged(usual: Mapping[str, Any], given: Mapping[str, Any], file: Path, section: str = "") -> dict[str, Any]:
    """The usual words with the given ones in their place; a key that does not exist or of another type is an error."""
    merged = dict(usual)
    for key, value in given.items():
        where = f"{file}, [{section}]" if section else str(file)
        if key not in usual and section not in _OPEN:
            raise StudyError(f"The text '{key}' is unknown.", where=where, fix=nearest(key, usual))
        if key in usual and type(value) is not type(usual[key]):
            raise StudyError(
                f"The text '{key}' is of another kind.", where=where, expected=_KINDS[type(usual[key])], got=_KINDS.get(type(value), value)
            )
        if section not in _OPEN:  # a screen of one's own fills in what it likes
            if isinstance(value, list) and not all(isinstance(text, str) for text in value):
                raise StudyError(f"The text '{key}' is of another kind.", where=where, expected="a list of texts, in quotes", got=value)
            _check_numbers(section, key, value, where)
        merged[key] = _merged(usual[key], value, file, key) if isinstance(value, dict) and section not in _OPEN else value
    return merged


def _check_numbers(section: str, key: str, value: Any, where: str) -> None:
    """What stands in braces is a number that the page knows."""
    known = _FILLED_IN.get(f"{section}.{key}", _EVERYWHERE if key in _ON_PAGES else ())
    for text in value if isinstance(value, list) else [value]:
        for name in _IN_BRACES.findall(text) if isinstance(text, str) else ():
            if name not in known:
                expected = ", ".join(f"{{{one}}}" for one in known) or "no braces: this text is shown as it stands"
                what = f"The text '{key}' has a number that does not exist there."
                raise StudyError(what, where=where, expected=expected, got=f"{{{name}}}", fix=nearest(name, known))
