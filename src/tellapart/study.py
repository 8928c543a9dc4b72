"""A study: task, models, question, search and seed; one `study.toml`, or one `Study` in Python.

The settings of a task, a model or a search are the fields of their dataclasses, so that a new one needs no edit here. Whatever
is wrong with a study file becomes one `StudyError` that names the file, the line and the key.
"""

from __future__ import annotations

import json
import math
import tomllib
from contextlib import contextmanager
from copy import copy
from dataclasses import MISSING, Field, dataclass, fields, is_dataclass
from pathlib import Path
from typing import Any, Iterator, Literal, Mapping, Sequence, get_args, get_origin, get_type_hints

import tomlkit
from pydantic import BaseModel, TypeAdapter, ValidationError
from pydantic import Field as Checked
from tomlkit.exceptions import TOMLKitError

from .data.settings import TableSettings
from .display import table
from .errors import StudyError, TellapartError, counted, nearest
from .models.base import Model
from .models.simulation import OnError
from .models.with_priors import format_prior, priors_of, shipped_with, with_priors
from .parts import PartKind, find_part, use_of
from .question import Goal, Question, check_kind, parameter_names
from .search.amortized import Amortized
from .search.base import Search
from .tasks.base import Task
from .tasks.text import names_for_people
from .toml import Place, header_of, line_of, write_toml


@dataclass(frozen=True, init=False)
class Study:
    """What is asked, of which theories, by which task.

    Arguments:
        task: What participants do.
        models: The theories: two or more to tell apart; one whose parameters are to be estimated.
        goal: "discriminate": which model is it? "estimate": which parameters has it? "both".
        prior: The probability of each model before any data; uniform if not given.
        about: The parameters to be learned, as "model.parameter"; all of them if not given.
        search: How the design is found.
        seed: Where all randomness starts.
        name: What reports call the study.
        on_error: "stop" when a model cannot simulate a participant, or "skip" that participant.
        data: How tables of data are to be read, where they do not say so themselves.
    """

    task: Task
    question: Question
    search: Search
    seed: int
    name: str
    data: TableSettings

    def __init__(
        self,
        task: Task,
        models: Sequence[Model] | Model,
        goal: Goal = "discriminate",
        prior: Sequence[float] | None = None,
        about: Sequence[str] = (),
        *,
        search: Search | None = None,
        seed: int = 1,
        name: str = "study",
        on_error: OnError = "stop",
        data: TableSettings | None = None,
    ) -> None:
        check_kind(task, Task)
        question = Question(models, goal, tuple(prior or ()), about, on_error)  # type: ignore[arg-type]
        search = Amortized() if search is None else search
        check_kind(search, Search)
        if isinstance(seed, bool) or not isinstance(seed, int) or seed < 0:
            raise StudyError("The seed of a study must be a whole number, 0 or more.", got=repr(seed), key="seed")
        parts = {"task": task, "question": question, "search": search, "seed": seed, "name": name, "data": data or TableSettings()}
        for key, value in parts.items():
            object.__setattr__(self, key, value)

    @property
    def models(self) -> tuple[Model, ...]:
        return self.question.models

    @property
    def goal(self) -> Goal:
        return self.question.goal

    def with_seed(self, seed: int | None) -> Study:
        """The same study from another seed, if one is given."""
        study = copy(self)
        object.__setattr__(study, "seed", self.seed if seed is None else seed)
        return study

    def _repr_html_(self) -> str:
        space, blocks = self.task.design_space, counted(self.task.blocks, "block")
        rows = [("goal", f"to learn {self.question.in_words}"), ("task", f"{self.task.name}: {blocks} of {self.task.trials} trials")]
        rows += [("to be chosen", f"in each block: {', '.join(names_for_people(space.names))}")]
        for model, share in zip(self.models, self.question.prior, strict=True):
            probability = "" if self.question.uniform else f" (probability before any data {share:.3g})"
            rows += [(f"model {model.name}{probability}", ", ".join(f"{name} ~ {prior}" for name, prior in model.parameters.items()))]
        return table([*rows, ("search", self.search.name), ("seed", str(self.seed))], caption=f"The study '{self.name}'")

    @classmethod
    def from_file(cls, path: str | Path) -> Study:
        """Read a study folder or a `study.toml`, or raise a `StudyError` that says what to mend."""
        return _Reader(study_file(path)).study()

    def to_toml(self) -> str:
        """The study as the text of a study file."""
        question, head = self.question, {"name": self.name, "goal": self.goal, "seed": self.seed}
        head |= {"about": list(question.about)} if question.about_parameters and question.about != parameter_names(self.models) else {}
        shares = [{} if question.uniform else {"prior": share} for share in question.prior]
        models = [{**_written(model, "model", "use"), **share} for model, share in zip(self.models, shares, strict=True)]
        sections = {"study": head, "task": _written(self.task, "task", "use"), "models": models}
        sections |= {"search": _written(self.search, "search", "method")}
        sections |= {"simulation": {"on_error": question.on_error}} if question.on_error != "stop" else {}
        return write_toml(sections | ({"data": self.data.written()} if self.data.written() else {}))


def study_file(path: str | Path) -> Path:
    """The study file that `path` means: itself, or `study.toml` in it."""
    path = Path(path)
    file = path / "study.toml" if path.is_dir() else path
    if not file.is_file():
        got = "a folder without a study.toml" if path.is_dir() else "no such file or folder"
        expected = "a study file, or a folder with a study.toml"
        above = path.resolve().parent
        fix = f"the study is the folder above: {above}" if path.is_dir() and (above / "study.toml").is_file() else "check the path"
        raise StudyError("There is no study here.", where=str(path), expected=expected, got=got, fix=fix)
    return file


# the sections; other keys than these are allowed where they are checked later, by whom they are for


class _StudySection(BaseModel, extra="forbid", strict=True):
    name: str = Checked(default="study", min_length=1)
    goal: Goal = "discriminate"
    seed: int = Checked(default=1, ge=0)
    about: list[str] = []


class _TaskSection(BaseModel, extra="allow", strict=True):
    use: str


class _ModelSection(BaseModel, extra="allow", strict=True):
    use: str
    prior: float | None = None
    priors: dict[str, Any] = {}


class _SearchSection(BaseModel, extra="allow", strict=True):
    method: str = "amortized"


class _SimulationSection(BaseModel, extra="forbid", strict=True):
    on_error: OnError = "stop"


class _DataSection(BaseModel, extra="forbid", strict=True):
    columns: dict[str, str] = {}
    codes: dict[str, Any] = {}
    missing: list[Any] = []
    rows: dict[str, Any] = {}


class _StudyFile(BaseModel, extra="forbid", strict=True):
    study: _StudySection = Checked(default_factory=_StudySection)
    task: _TaskSection
    models: list[_ModelSection]
    search: _SearchSection = Checked(default_factory=_SearchSection)
    simulation: _SimulationSection = Checked(default_factory=_SimulationSection)
    data: _DataSection = Checked(default_factory=_DataSection)


class _Reader:
    """Reads one study file, and knows where in it things are."""

    def __init__(self, file: Path) -> None:
        self._file = file
        try:
            self._text = file.read_text("utf-8-sig")  # some editors put a mark before the first line
        except UnicodeDecodeError:
            raise StudyError("The study file is not text.", where=str(file), expected="text in UTF-8") from None
        except OSError as error:
            raise StudyError("The study file cannot be read.", where=str(file), got=error.strerror) from None

    def study(self) -> Study:
        content = self._content()
        task = self._make("task", content.task.use, content.task.model_extra, ("task",))
        models = [self._model(section, ("models", i)) for i, section in enumerate(content.models)]
        search = self._make("search", content.search.method, content.search.model_extra, ("search",), "method")
        head, on_error = content.study, content.simulation.on_error
        shares = [math.nan if section.prior is None else section.prior for section in content.models]
        prior = None if all(map(math.isnan, shares)) else shares  # all models have one, or none has
        try:
            data = TableSettings.of(content.data.model_dump())
            how: dict[str, Any] = {"search": search, "seed": head.seed, "name": head.name, "on_error": on_error, "data": data}
            return Study(task, models, head.goal, prior, head.about, **how)
        except TellapartError as error:
            wrong = next((i for i, share in enumerate(shares) if not share > 0), 0)
            raise self._located(error, ("models", wrong) if error.key == "prior" else ("study",) if error.key else ()) from error

    def _content(self) -> _StudyFile:
        """The file's sections, their own keys checked."""
        try:
            return _StudyFile.model_validate(tomllib.loads(self._text))
        except tomllib.TOMLDecodeError as error:
            try:
                tomlkit.parse(self._text)
                where, got = str(self._file), str(error)
            except TOMLKitError as mistake:  # which often knows its line; if not, tomllib's words say it
                line = getattr(mistake, "line", None)
                where, got = (f"{self._file}, line {line}", str(mistake)) if line else (str(self._file), str(error))
            fix = None if self._file.suffix == ".toml" else "give the study first, a folder or its study.toml, and data files after it"
            raise StudyError("The study file is not valid TOML.", where=where, got=got, fix=fix) from None
        except ValidationError as error:
            raise self._mistake(error, ()) from None

    def _model(self, section: _ModelSection, place: Place) -> Model:
        """The model that a section describes, with its priors."""
        model = self._make("model", section.use, section.model_extra, place)
        with self._at(place):
            return with_priors(model, **section.priors)

    def _make(self, kind: PartKind, use: str, settings: Mapping[str, Any] | None, place: Place, key: str = "use") -> Any:
        """The task, model or search that a section describes."""
        with self._at((*place, key)):
            part = find_part(kind, use, self._file.parent)
        options = dict(settings or {})
        self._check_keys(options, place, part, key)
        options = {name: self._typed(value, (*place, name), part) for name, value in options.items()}
        try:
            with self._at(place):
                return part(**options)
        except TypeError as error:
            raise StudyError(f"'{use}' cannot be made from these options.", where=self._where(place), got=error) from error

    def _check_keys(self, options: Mapping[str, Any], place: Place, part: type, key: str) -> None:
        """Every option is a field of the class, and no field without a default is forgotten."""
        allowed = settings_of(part)
        for name in options:
            if name not in allowed:
                raise self._unknown_key((*place, name), [key, *allowed, *(("prior", "priors") if place[0] == "models" else ())])
        for name, option in allowed.items():
            if name not in options and option.default is MISSING and option.default_factory is MISSING:
                raise StudyError(f"The key '{name}' is missing.", where=self._where(place), expected=f"{name} = …")

    def _typed(self, value: Any, place: Place, part: type) -> Any:
        """`value` as its field's type wants it: a class by its name, lists as tuples, but no text as a number."""
        name = str(place[-1])
        kind = settings_of(part)[name].metadata.get("part")
        if kind is not None:
            with self._at(place):
                return None if value == "auto" else find_part(kind, str(value), self._file.parent)
        try:
            annotation = _annotation(part, name)
        except (NameError, TypeError):
            return value
        try:
            return TypeAdapter(annotation).validate_json(json.dumps(value, default=str), strict=True)
        except ValidationError as error:
            raise self._mistake(error, place, annotation) from None

    def _mistake(self, error: ValidationError, place: Place, annotation: Any = None) -> StudyError:
        """The one thing to say of what pydantic found: an unknown key first, since it often explains a missing one."""
        first = min(error.errors(), key=lambda e: e["type"] != "extra_forbidden")
        place = (*place, *first["loc"])
        if first["type"] == "extra_forbidden":
            section = _StudyFile if len(place) == 1 else _StudyFile.model_fields[str(place[0])].annotation
            return self._unknown_key(place, list(section.model_fields))  # type: ignore[union-attr]
        if first["type"] == "missing":
            what, expected = ("key 'use'", 'use = "…"') if place[-1] == "use" else (f"section {header_of(place)}", header_of(place))
            return StudyError(f"The {what} is missing.", where=self._where(place[:-1]), expected=expected)
        choices = _choices(place, annotation) if first["type"] == "literal_error" else ()
        key = next(part for part in reversed(place) if isinstance(part, str))
        return StudyError(
            f"The {'choice' if choices else 'value'} of '{key}' is {'unknown' if choices else 'of the wrong type or size'}.",
            where=self._where(place),
            expected=" or ".join(json.dumps(choice, ensure_ascii=False) for choice in choices)
            or ("two brackets around models, for each of them" if place == ("models",) else None)
            or _EXPECTED.get(first["type"], first["msg"].removeprefix("Input should be ")),
            got=json.dumps(first["input"], default=str, ensure_ascii=False)[:80],
            fix=nearest(str(first["input"]), map(str, choices)) if choices else _meant(key, first["input"]),
        )

    def _unknown_key(self, place: Place, allowed: Sequence[str]) -> StudyError:
        what = "section" if len(place) == 1 else "key"
        return StudyError(f"The {what} '{place[-1]}' is unknown.", where=self._where(place), fix=nearest(str(place[-1]), allowed))

    @contextmanager
    def _at(self, place: Place) -> Iterator[None]:
        """What is wrong in this block is wrong at that place of the file."""
        try:
            yield
        except TellapartError as error:
            raise self._located(error, place) from error

    def _located(self, error: TellapartError, place: Place) -> StudyError:
        """The same error as one of this file; at the line of the setting that it is about, if it is about one."""
        where = self._where((*place, error.key) if error.key and place else place)
        where = where if error.where is None else f"{error.where} (used by {where})"
        return StudyError(error.what, where=where, expected=error.expected, got=error.got, fix=error.fix)

    def _where(self, place: Place) -> str:
        line = line_of(self._text, place)
        return f"{self._file}" + (f", line {line}" if line else "") + (f", {header_of(place)}" if place else "")


_EXPECTED = {
    "string_type": "text in quotes",
    "string_too_short": "a text that is not empty",
    "int_type": "a whole number",
    "float_type": "a number",
    "bool_type": "true or false",
    "list_type": "a list in brackets",
    "model_type": "a section of keys",
}


def _meant(key: str, given: Any) -> str | None:
    """The usual fix of a value of the wrong type, where one is known."""
    if key == "prior" and isinstance(given, Mapping):
        return f"the prior of a parameter is written with an s: priors.{next(iter(given), 'NAME')}"
    return f"write [{json.dumps(given)}]" if key == "about" and isinstance(given, str) else None


def settings_of(part: type) -> dict[str, Field[Any]]:
    """The settings of a task, model or search: the fields of its dataclass."""
    return {f.name: f for f in fields(part) if f.init} if is_dataclass(part) else {}


def _annotation(part: type, name: str) -> Any:
    """The type of a setting. Types of other parts are not looked up, since they would load networks."""
    annotation = settings_of(part)[name].type
    if not isinstance(annotation, str):
        return annotation
    return get_type_hints(type("Alone", (), {"__annotations__": {name: annotation}, "__module__": part.__module__}))[name]


def _choices(place: Place, annotation: Any) -> tuple[Any, ...]:
    """The values that a setting of a few values takes."""
    section = _StudyFile.model_fields[str(place[0])].annotation
    annotation = annotation or section.model_fields[str(place[-1])].annotation  # type: ignore[union-attr]
    return tuple(value for option in (annotation, *get_args(annotation)) if get_origin(option) is Literal for value in get_args(option))


def _written(part: Any, kind: PartKind, key: str) -> dict[str, Any]:
    """What a study file says of a task, a model or a search: which class, and those of its settings that have a value."""
    priors = {name: format_prior(prior) for name, prior in priors_of(part).items()}
    part = shipped_with(part)
    values: dict[str, Any] = {key: use_of(kind, type(part)), **({"priors": priors} if priors else {})}
    for name, setting in settings_of(type(part)).items():
        value = getattr(part, name)
        if value is not None:
            values[name] = use_of(setting.metadata["part"], value) if "part" in setting.metadata else value
    return values
