"""A study: task, models, goal and settings; one `study.toml`, or one `Study` in Python.

The settings of a task and the options of a model are the fields of their dataclasses, so a new task or model needs no
edit here. Whatever is wrong with a study file becomes one `StudyError` that names the file, the line and the key.
"""

from __future__ import annotations

import json
import re
import tomllib
from dataclasses import MISSING, Field, dataclass, field, fields, is_dataclass
from pathlib import Path
from typing import Any, Literal, Mapping, Sequence, TypeVar, get_type_hints

from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError
from pydantic import Field as Checked

from .errors import StudyError, TellapartError, nearest
from .models import known_models
from .models.base import Model
from .models.failures import OnFailure
from .plugins import load_class, user_module
from .search import make_search, parent_of
from .tasks import known_tasks
from .tasks.base import Task
from .toml import Place, header_of, line_of, section

Goal = Literal["discriminate", "estimate", "both"]
GOALS: tuple[Goal, ...] = ("discriminate", "estimate", "both")

T = TypeVar("T", Task, Model)


@dataclass(frozen=True)
class Study:
    """What is asked, of which theories, by which task.

    Arguments:
        task: What participants do.
        models: The theories: two or more to tell apart; one whose parameters are to be estimated.
        goal: "discriminate": which model is it? "estimate": which parameters has it? "both".
        name: What reports call the study.
        seed: Where all randomness starts.
        search: "method", and the settings of that method; a search, encoder or estimator of your own is given as its class.
        simulation: "on_error": "stop" when a model cannot simulate a participant, or "skip" that participant.
    """

    task: Task
    models: Sequence[Model]
    goal: Goal = "discriminate"
    name: str = "study"
    seed: int = 1
    search: Mapping[str, Any] = field(default_factory=lambda: {"method": "amortized"})
    simulation: Mapping[str, Any] = field(default_factory=lambda: {"on_error": "stop"})

    def __post_init__(self) -> None:
        object.__setattr__(self, "models", tuple(self.models) if isinstance(self.models, Sequence) else (self.models,))
        object.__setattr__(self, "search", {"method": "amortized", **self.search})
        _check_kind(self.task, Task)
        for model in self.models:
            _check_kind(model, Model)
        _check_choice("goal", self.goal, GOALS)
        make_search(self.search)
        OnFailure(**self.simulation)
        _check_number_of_models(self.goal, self.models)
        _check_parameters(self.goal, self.models)
        if isinstance(self.seed, bool) or not isinstance(self.seed, int) or self.seed < 0:
            raise StudyError("The seed of a study must be a whole number, 0 or more.", got=repr(self.seed))

    @classmethod
    def from_file(cls, path: str | Path) -> Study:
        """Read a study folder or a `study.toml`, or raise a `StudyError` that says what to mend."""
        return _Reader(study_file(path)).study()

    def to_toml(self) -> str:
        """The study as the text of a study file."""
        sections = [
            section("[study]", {"name": self.name, "goal": self.goal, "seed": self.seed}),
            section("[task]", _options(self.task, known_tasks())),
            *(section("[[models]]", _options(model, known_models())) for model in self.models),
            section("[search]", {key: _use(value) if isinstance(value, type) else value for key, value in self.search.items()}),
            *([section("[simulation]", self.simulation)] if self.simulation != {"on_error": "stop"} else []),
        ]
        return "\n".join(sections)


def study_file(path: str | Path) -> Path:
    """The study file that `path` means: itself, or `study.toml` in it."""
    path = Path(path)
    file = path / "study.toml" if path.is_dir() else path
    if not file.is_file():
        raise StudyError(
            "There is no study here.",
            where=str(path),
            expected="a study file, or a folder with a study.toml",
            got="a folder without a study.toml" if path.is_dir() else "no such file or folder",
            fix="check the path",
        )
    return file


def _check_kind(value: Any, kind: type) -> None:
    if not isinstance(value, kind):
        given = f"the class {value.__name__}" if isinstance(value, type) else f"a {type(value).__name__}"
        raise StudyError(
            f"This is not a {kind.__name__.lower()}.",
            expected=f"a tellapart.{kind.__name__}",
            got=given,
            fix=f"write {value.__name__}() with parentheses" if isinstance(value, type) and issubclass(value, kind) else None,
        )


def _check_choice(what: str, value: Any, known: Sequence[str]) -> None:
    if value not in known:
        raise StudyError(f"The {what} of the study is unknown.", expected=_either(known), got=repr(value), fix=nearest(str(value), known))


def _check_number_of_models(goal: Goal, models: Sequence[Model]) -> None:
    names = [model.name for model in models]
    if goal == "estimate" and len(names) != 1:
        raise StudyError(
            "The goal 'estimate' is about the parameters of one model.",
            expected="one model",
            got=f"{len(names)} ({', '.join(names)})" if names else "none",
            fix="leave one model, or choose the goal 'both'" if names else "add a [[models]] section",
        )
    if goal != "estimate" and len(names) < 2:
        raise StudyError(
            f"The goal '{goal}' tells models apart.",
            expected="two models or more",
            got=f"one ({names[0]})" if names else "none",
            fix="add a [[models]] section, or choose the goal 'estimate'",
        )
    repeated = sorted({name for name in names if names.count(name) > 1})
    if repeated:
        raise StudyError(
            "Two models of the study have the same name.",
            expected="a name of its own for each model",
            got=", ".join(names),
            fix=f"leave out one '{repeated[0]}', or give a subclass of it another name",
        )


def _check_parameters(goal: Goal, models: Sequence[Model]) -> None:
    """A goal about parameters needs models that have some."""
    without = [model.name for model in models if not model.parameters]
    if without and goal != "discriminate":
        raise StudyError(
            f"The goal '{goal}' is about parameters, and the model '{without[0]}' has none.",
            expected="one parameter or more",
            fix="choose the goal 'discriminate', or leave the model out",
        )


class _Section(BaseModel):
    """A section that holds exactly the keys below."""

    model_config = ConfigDict(extra="forbid", strict=True)


class _OpenSection(BaseModel):
    """A section whose other keys are checked later, by whom they are for."""

    model_config = ConfigDict(extra="allow", strict=True)


class _StudySection(_Section):
    name: str = Checked("study", min_length=1)
    goal: Goal = "discriminate"
    seed: int = Checked(1, ge=0)


class _UseSection(_OpenSection):
    use: str


class _SearchSection(_OpenSection):
    method: str = "amortized"


class _SimulationSection(_Section):
    on_error: Literal["stop", "skip"] = "stop"


class _StudyFile(_Section):
    study: _StudySection
    task: _UseSection
    models: list[_UseSection]
    search: _SearchSection = Checked(default_factory=_SearchSection)
    simulation: _SimulationSection = Checked(default_factory=_SimulationSection)


class _Reader:
    """Reads one study file, and knows where in it things are."""

    def __init__(self, file: Path) -> None:
        self._file = file
        try:
            self._text = file.read_text("utf-8")
        except UnicodeDecodeError:
            raise StudyError("The study file is not text.", where=str(file), expected="text in UTF-8") from None
        except OSError as error:
            raise StudyError("The study file cannot be read.", where=str(file), got=error.strerror) from None

    def study(self) -> Study:
        content = self._content()
        task = self._make(content.task, ("task",), Task, known_tasks())
        models = [self._make(section, ("models", i), Model, known_models()) for i, section in enumerate(content.models)]
        search, simulation = self._search(content.search.model_dump()), content.simulation.model_dump()
        try:
            return Study(task, models, search=search, simulation=simulation, **content.study.model_dump())
        except TellapartError as error:
            raise self._located(error, ()) from error

    def _search(self, settings: dict[str, Any]) -> dict[str, Any]:
        """The settings of the search, checked; the user's own classes in the place of their names."""
        for key, value in settings.items():
            parent = parent_of(key) if isinstance(value, str) and ":" in value else None
            if parent is not None:
                try:
                    settings[key] = load_class(value, self._file.parent, parent)
                except StudyError as error:
                    raise self._located(error, ("search", key)) from error
        try:
            make_search(settings)
        except TellapartError as error:
            raise self._located(error, ("search",), settings) from error
        return settings

    def _content(self) -> _StudyFile:
        """The file's sections, their own keys checked."""
        try:
            return _StudyFile.model_validate(tomllib.loads(self._text))
        except tomllib.TOMLDecodeError as error:
            what, line = re.fullmatch(r"(.*?)(?: \(at (.*)\))?", str(error), re.DOTALL).groups()  # type: ignore[union-attr]
            raise StudyError("The study file is not valid TOML.", where=f"{self._file}, {line or 'somewhere'}", got=what) from None
        except ValidationError as error:
            raise self._mistake(error, ()) from None

    def _make(self, section: _UseSection, place: Place, base: type[T], known: Mapping[str, type[T]]) -> T:
        """The task or model that a section describes."""
        kind = self._kind(section.use, place, base, known)
        options = section.model_extra or {}
        self._check_keys(options, place, kind)
        options = {key: self._typed(value, (*place, key), kind) for key, value in options.items()}
        try:
            return kind(**options)
        except TellapartError as error:
            raise self._located(error, place, options) from error
        except TypeError as error:
            raise StudyError(f"'{section.use}' cannot be made from these options.", where=self._where(place), got=error) from error

    def _kind(self, use: str, place: Place, base: type[T], known: Mapping[str, type[T]]) -> type[T]:
        if use in known:
            return known[use]
        what = base.__name__.lower()
        if ":" not in use:
            raise StudyError(
                f"The {what} '{use}' is unknown.",
                where=self._where((*place, "use")),
                expected=f'one of {", ".join(sorted(known))}, or "my_module:My{base.__name__}" for your own',
                got=f'"{use}"',
                fix=nearest(use, known),
            )
        try:
            return load_class(use, self._file.parent, base)
        except StudyError as error:
            raise self._located(error, (*place, "use")) from error

    def _check_keys(self, options: Mapping[str, Any], place: Place, kind: type) -> None:
        """Every option is a field of the class, and no field without a default is forgotten."""
        known = _fields(kind)
        for key in options:
            if key not in known:
                raise self._unknown_key((*place, key), ["use", *known])
        for key, option in known.items():
            if key not in options and option.default is MISSING and option.default_factory is MISSING:
                raise StudyError(f"The key '{key}' is missing.", where=self._where(place), expected=f"{key} = …")

    def _typed(self, value: Any, place: Place, kind: type) -> Any:
        """`value` as its field's type wants it; JSON's rules turn lists to tuples, but no text into a number."""
        try:
            annotation = get_type_hints(kind)[str(place[-1])]
        except (NameError, TypeError):
            return value
        try:
            return TypeAdapter(annotation).validate_json(json.dumps(value, default=str), strict=True)
        except ValidationError as error:
            raise self._mistake(error, place) from None

    def _mistake(self, error: ValidationError, place: Place) -> StudyError:
        """The one thing to say of what pydantic found: an unknown key first, since it often explains a missing one."""
        first = min(error.errors(), key=lambda e: e["type"] != "extra_forbidden")
        place = (*place, *first["loc"])
        if first["type"] == "extra_forbidden":
            return self._unknown_key(place, _known_keys(place))
        if first["type"] == "missing":
            what = f"The section {header_of(place)} is missing." if place[-1] != "use" else "The key 'use' is missing."
            return StudyError(what, where=self._where(place[:-1]), expected=f"{header_of(place)}" if place[-1] != "use" else 'use = "…"')
        choices = re.findall(r"'([^']+)'", str(first.get("ctx", {}).get("expected", "")))
        return StudyError(
            f"The {'choice' if choices else 'value'} of '{_key(place)}' is {'unknown' if choices else 'of the wrong type or size'}.",
            where=self._where(place),
            expected=_either(choices) if choices else _EXPECTED.get(first["type"], first["msg"].removeprefix("Input should be ")),
            got=json.dumps(first["input"], default=str, ensure_ascii=False)[:80],
            fix=nearest(str(first["input"]), choices) if choices else None,
        )

    def _unknown_key(self, place: Place, known: Sequence[str]) -> StudyError:
        what = "section" if len(place) == 1 else "key"
        return StudyError(f"The {what} '{place[-1]}' is unknown.", where=self._where(place), fix=nearest(str(place[-1]), known))

    def _located(self, error: TellapartError, place: Place, options: Mapping[str, Any] | None = None) -> StudyError:
        """The same error as one of this file; at the line of the option that it quotes, if it quotes one."""
        quoted = next((key for key in options or () if f"'{key}'" in error.what), None)
        where = self._where((*place, quoted) if quoted else place)
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
    "list_type": "a [[models]] section for each model, with two brackets",
    "model_type": "a section of keys",
}


def _known_keys(place: Place) -> list[str]:
    """The keys that could have stood at `place`."""
    if len(place) == 1:
        return list(_StudyFile.model_fields)
    return list((_SimulationSection if place[0] == "simulation" else _StudySection).model_fields)


def _key(place: Place) -> str:
    return str(next(part for part in reversed(place) if isinstance(part, str)))


def _fields(kind: type) -> dict[str, Field[Any]]:
    return {f.name: f for f in fields(kind) if f.init} if is_dataclass(kind) else {}


def _either(choices: Sequence[str]) -> str:
    return " or ".join(f'"{choice}"' for choice in choices)


def _options(part: Task | Model, known: Mapping[str, type[Any]]) -> dict[str, Any]:
    """What a study file says of a task or model: which class, and its options."""
    kind = type(part)
    use = kind.name if known.get(kind.name) is kind else _use(kind)
    return {"use": use, **{name: getattr(part, name) for name in _fields(kind)}}


def _use(kind: type) -> str:
    """What a study file calls a user's own class."""
    module = user_module(kind)
    if module is None:
        raise StudyError(
            f"The class '{kind.__name__}' is in no file that a study file could name.", fix="move it to a .py file beside the study"
        )
    return f"{module}:{kind.__qualname__}"
