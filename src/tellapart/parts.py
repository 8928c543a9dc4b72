"""Parts by name: tasks, models, searches, encoders and estimators, wherever they come from.

A study file names a part in one of two ways. `use = "aeg"` is the class whose `name` is "aeg": one that ships with tellapart, a
file in one of the folders below, or one of an installed package, which declares it as an entry point,

    [project.entry-points."tellapart.models"]
    my-model = "my_package.models:MyModel"

`use = "my_module:MyModel"` is the class `MyModel` of `my_module.py` in the folder of the study file. The file is loaded
by its path under a name of its own, so that two studies may each have a `models.py`, and a changed file is loaded anew.
The same holds for files beside it that it imports.
"""

from __future__ import annotations

import ast
import hashlib
import inspect
import pkgutil
import sys
import tempfile
import traceback
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from importlib import import_module, invalidate_caches
from importlib.metadata import entry_points
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any, Callable, Iterable, Iterator, Literal, Mapping

from .errors import StudyError, nearest

_PREFIX = "tellapart_study_"

_beside: dict[str, bytes] = {}
"""Modules that were loaded because a user's file imports them from beside it, and what their files held then."""


@dataclass(frozen=True)
class Kind:
    """A kind of part.

    Arguments:
        base: What a part of this kind is derived from, as "module:Class".
        folders: Where those that ship are.
    """

    base: str
    folders: tuple[str, ...]

    @property
    def parent(self) -> type[Any]:
        """The class that a part of this kind is derived from."""
        module, _, name = self.base.partition(":")
        parent: type[Any] = getattr(import_module(f"tellapart.{module}"), name)
        return parent


KINDS: Mapping[str, Kind] = {
    "task": Kind("tasks.base:Task", ("tasks", "bandits")),
    "model": Kind("models.base:Model", ("models", "bandits", "bandits.agents")),
    "search": Kind("search.base:Search", ("search", "paper")),
    "encoder": Kind("networks.base:Encoder", ("networks", "paper")),
    "estimator": Kind("estimators.base:Estimator", ("estimators",)),
}
PartKind = Literal["task", "model", "search", "encoder", "estimator"]


def known_parts(kind: PartKind) -> dict[str, type[Any]]:
    """Every part of a kind that ships with tellapart or is installed beside it, by the name that a study file uses."""
    installed: dict[str, type[Any]] = {}
    for point in _installed(kind):
        with suppress(StudyError):  # for whoever names the part to find out
            installed[point.name] = _load_installed(point, kind)
    return {**installed, **{part.name: part for part in _shipped(kind)}}


def _shipped(kind: PartKind) -> Iterator[type[Any]]:
    """The parts that come with tellapart. Their modules are loaded one after the other, since some of them are heavy."""
    parent = KINDS[kind].parent
    modules = [import_module(f"tellapart.{folder}") for folder in KINDS[kind].folders]
    names = [f"{module.__name__}.{found.name}" for module in modules for found in pkgutil.iter_modules(module.__path__)]
    for name in names:
        yield from _parts_of(import_module(name), parent)


def find_part(kind: PartKind, use: str, folder: Path | None = None) -> type[Any]:
    """The class that `use` names, or a `StudyError` that says what could have been meant.

    Arguments:
        use: A name, or "module:Class" for a file in `folder`; the module may be in a subfolder, "folder.module:Class".
        folder: Where the study file is.
    """
    if ":" in use:
        return _load_class(use, folder or Path.cwd(), kind)
    shipped = next((part for part in _shipped(kind) if part.name == use), None)
    installed = [point for point in _installed(kind) if point.name == use]
    origins = [*(["tellapart itself"] if shipped else []), *map(_origin, installed)]
    if len(origins) > 1:
        what, fix = f"The name '{use}' is that of {len(origins)} {_plural(kind)}.", "remove a package, or rename its part"
        raise StudyError(what, expected=f"one {kind} of that name", got=", ".join(origins), fix=fix)
    if shipped:
        return shipped
    if installed:
        return _load_installed(installed[0], kind)
    known = known_parts(kind)
    expected = f'one of {", ".join(sorted(known))}, or "my_module:My{KINDS[kind].base.partition(":")[2]}" for your own'
    module, dot, name = use.rpartition(".")
    meant = f'did you mean "{module}:{name}"?' if dot and name[:1].isupper() else nearest(use, known)
    raise StudyError(f"The {kind} '{use}' is unknown.", expected=expected, got=f'"{use}"', fix=meant)


def use_of(kind: PartKind, part: type[Any]) -> str:
    """What a study file calls a part; the reverse of `find_part`."""
    name = getattr(part, "name", None)
    if isinstance(name, str) and not part.__module__.startswith(_PREFIX) and known_parts(kind).get(name) is part:
        return name
    module = sys.modules.get(part.__module__)
    if module is None or part.__module__ == "__main__" or "<" in part.__qualname__:
        what = f"The class '{part.__name__}' is in no file that a study file could name."
        raise StudyError(what, fix="move it to a .py file beside the study")
    return f"{getattr(module, '__tellapart_module__', part.__module__)}:{part.__qualname__}"


def _installed(kind: PartKind) -> list[Any]:
    """The entry points of installed packages. To read them all takes 10 ms: they are read again only if packages may have come or gone."""
    return list(_points(entry_points, f"tellapart.{_plural(kind)}", tuple(map(_changed, sys.path))))


@lru_cache(maxsize=64)
def _points(read: Callable[..., Iterable[Any]], group: str, where: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(read(group=group))


def _changed(place: str) -> tuple[str, int]:
    """A folder of packages, and when something was last put there or taken away."""
    place = place or str(Path.cwd())
    try:
        return place, Path(place).stat().st_mtime_ns
    except OSError:
        return place, 0


def _plural(kind: PartKind) -> str:
    return "searches" if kind == "search" else f"{kind}s"


def _origin(point: Any) -> str:
    """Where an entry point comes from, in words."""
    return f"the installed package '{point.dist.name}'" if point.dist else str(point.value)


def _load_installed(point: Any, kind: PartKind) -> type[Any]:
    """The class of an entry point, or a `StudyError` that says why it cannot be loaded."""
    where = _origin(point)
    try:
        part = point.load()
    except Exception as error:
        got, fix = f"{type(error).__name__}: {error}", "mend the package, install what it needs, or remove it"
        raise StudyError(f"The {kind} '{point.name}' cannot be loaded.", where=where, got=got, fix=fix) from error
    part = _check_class(part, point.value, kind, where)
    if part.name != point.name:
        what, fix = f"The {kind} '{point.name}' calls itself '{part.name}'.", f'declare it as {part.name} = "{point.value}"'
        raise StudyError(what, where=where, expected="the same name for the entry point and the class", fix=fix)
    return part


def _parts_of(module: ModuleType, parent: type[Any]) -> list[type[Any]]:
    """The finished parts that a module defines."""
    kinds = [kind for kind in vars(module).values() if isinstance(kind, type) and issubclass(kind, parent)]
    return [kind for kind in kinds if kind.__module__ == module.__name__ and not inspect.isabstract(kind) and hasattr(kind, "name")]


def _load_class(use: str, folder: Path, kind: PartKind) -> type[Any]:
    """The class "module:Class" of a file beside a study."""
    module_name, _, class_name = use.partition(":")
    if not all(part.isidentifier() for part in [*module_name.split("."), class_name]):
        raise StudyError("This names no class.", expected='"module:Class", for example "models:MyModel"', got=f'"{use}"')
    file = folder.joinpath(*module_name.split(".")).with_suffix(".py")
    if not file.is_file():
        raise StudyError(
            f"There is no file '{file.name}' beside the study.",
            expected=f"the file {file}, which defines '{class_name}'",
            fix=nearest(module_name, (found.stem for found in folder.glob("*.py"))),
        )
    module = _load_module(file, module_name)
    if not hasattr(module, class_name):
        names = [part.__name__ for part in _parts_of(module, KINDS[kind].parent)]
        raise StudyError(f"There is no '{class_name}' in '{file.name}'.", where=str(file), fix=nearest(class_name, names))
    return _check_class(getattr(module, class_name), class_name, kind, str(file))


@dataclass(frozen=True)
class UserFile:
    """A user's file as another process or machine needs it.

    Arguments:
        name: The module's name here.
        file: Where it is here.
        module: What studies call it.
        source: What is in it.
    """

    name: str
    file: Path
    module: str
    source: bytes


def files_of(file: Path) -> dict[str, Path]:
    """A user's file and the files beside it that it imports, and they in turn: what each is imported as, to where it is."""
    found, todo = {file.stem: file}, [file]
    while todo:
        try:
            tree = ast.parse(todo.pop().read_bytes())
        except (OSError, SyntaxError, ValueError):  # for whoever loads it to find out
            continue
        for name in _imported(tree):
            steps = name.split(".")
            for end in range(1, len(steps) + 1):
                place = file.parent.joinpath(*steps[:end])
                for beside in (place.with_suffix(".py"), place / "__init__.py"):
                    if beside not in found.values() and beside.is_file():
                        found[".".join(steps[:end])] = beside
                        todo.append(beside)
    return found


def fingerprint_of(files: Mapping[str, Path]) -> str:
    """A fingerprint of a user's file and of all files beside it that it imports, as `files_of` has them."""
    prints = {name: hashlib.sha256(part.read_bytes()).hexdigest() for name, part in files.items()}
    if len(prints) == 1:
        return next(iter(prints.values()))
    return hashlib.sha256("\n".join(f"{name} {each}" for name, each in sorted(prints.items())).encode()).hexdigest()


def _imported(tree: ast.AST) -> Iterator[str]:
    """What a file imports; of `from a import b` also a.b, which may be a module."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def loaded_files() -> list[UserFile]:
    """The files of users that are loaded, for `load_again` in another process."""
    modules = [module for name, module in sys.modules.items() if name.startswith(_PREFIX) and hasattr(module, "__tellapart_module__")]
    files = [(module, Path(str(module.__file__))) for module in modules]
    return [UserFile(m.__name__, file, m.__tellapart_module__, file.read_bytes()) for m, file in files if file.is_file()]


def load_again(sent: UserFile) -> None:
    """Load a user's file under the name that it has in the process that sent work here; from a copy if it is not on this machine."""
    if sent.name in sys.modules:
        return
    file = sent.file
    if not file.is_file() or file.read_bytes() != sent.source:
        file = Path(tempfile.mkdtemp(prefix="tellapart-")) / sent.file.name
        file.write_bytes(sent.source)
    _load_module(file, sent.module, sent.name)


def place_in_user_code(error: BaseException) -> str | None:
    """The file and line of the user's own code that an error came through last, if it did."""
    steps = [step for step in traceback.walk_tb(error.__traceback__) if str(step[0].f_globals.get("__name__", "")).startswith(_PREFIX)]
    return f"{steps[-1][0].f_code.co_filename}, line {steps[-1][1]}" if steps else None


def _check_class(part: Any, name: str, kind: PartKind, place: str) -> type[Any]:
    """`part`, if it is a class of its kind that can be made and has a name."""
    parent = KINDS[kind].parent
    public = f"tellapart.{parent.__name__}"
    if not (isinstance(part, type) and issubclass(part, parent)):
        parents = ", ".join(base.__name__ for base in part.__bases__) if isinstance(part, type) else ""
        got = f"a class with the parents {parents}" if parents else f"a {type(part).__name__}"
        what = f"'{name}' is not {'an' if kind[0] in 'ae' else 'a'} {kind}."
        raise StudyError(what, where=_place(part, place), expected=f"class {name}({public})", got=got)
    if inspect.isabstract(part):
        expected = f"it defines: {', '.join(sorted(getattr(part, '__abstractmethods__', ())))}"
        raise StudyError(f"'{name}' is not finished.", where=_place(part, place), expected=expected, fix=f"see the docstring of {public}")
    if "name" in inspect.get_annotations(parent) and not isinstance(getattr(part, "name", None), str):
        raise StudyError(f"'{name}' has no name.", where=_place(part, place), expected='a class variable: name = "my-name"')
    return part


def _place(part: Any, file: str) -> str:
    """Where a class is defined."""
    try:
        return f"{file}, line {inspect.getsourcelines(part)[1]}"
    except (OSError, TypeError):
        return file


def _load_module(file: Path, module_name: str, name: str | None = None) -> ModuleType:
    """Run the file as a module, once for each content of it and of the files beside it that it imports.

    Its name is a matter of its own content alone: what numba keeps of it on disk is of use under that name only.
    """
    fingerprint, files = hashlib.sha256(str(file.resolve()).encode() + file.read_bytes()).hexdigest()[:12], files_of(file)
    code = fingerprint_of(files)
    name = name or f"{_PREFIX}{fingerprint}_{file.stem}"
    if name in sys.modules and vars(sys.modules[name]).get("__tellapart_code__") == code:
        return sys.modules[name]
    spec = spec_from_file_location(name, file)
    if spec is None or spec.loader is None:
        raise StudyError(f"'{file.name}' cannot be loaded.", where=str(file), expected="a Python file")
    module = module_from_spec(spec)
    module.__dict__["__tellapart_module__"], module.__dict__["__tellapart_code__"] = module_name, code
    sys.modules[name] = module  # dataclasses look their module up while it is being run
    sys.path.insert(0, str(file.parent.resolve()))
    _make_way(files)
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        del sys.modules[name]
        where = place_in_user_code(error) or str(file)
        if isinstance(error, SyntaxError) and error.filename is not None:
            where = f"{error.filename}, line {error.lineno}"
        got, fix = f"{type(error).__name__}: {error}", "mend that line and try again"
        raise StudyError(f"Loading '{file.name}' failed.", where=where, got=got, fix=fix) from error
    finally:
        sys.path.remove(str(file.parent.resolve()))
        _beside.update({name: part.read_bytes() for name, part in files.items() if _is_from(name, part)})
    return module


def _make_way(files: Mapping[str, Path]) -> None:
    """Forget modules that were loaded from beside another study, or that have changed, where a user's file imports such a name."""
    for name, part in files.items():
        if name in _beside and (not _is_from(name, part) or _beside[name] != part.read_bytes()):
            del _beside[name]
            steps = name.split(".")
            for end in range(1, len(steps) + 1):  # a folder without __init__.py is a module too, which knows where its own are
                sys.modules.pop(".".join(steps[:end]), None)
    invalidate_caches()  # a file that was written this second is looked for anew


def _is_from(name: str, file: Path) -> bool:
    """Is the module of this name loaded, and from this file?"""
    found = getattr(sys.modules.get(name), "__file__", None)
    return found is not None and Path(found).resolve() == file.resolve()
