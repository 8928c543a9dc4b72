"""Tasks, models, searches, encoders and estimators that users write in a file beside their study.

`use = "my_module:MyModel"` means the class `MyModel` of `my_module.py` in the folder of the study file. The file is loaded
by its path under a name of its own, so that two studies may each have a `models.py`, and a changed file is loaded anew.
"""

from __future__ import annotations

import hashlib
import inspect
import sys
import tempfile
import traceback
from dataclasses import dataclass
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar

from .errors import StudyError, nearest

T = TypeVar("T")

_PREFIX = "tellapart_study_"


def load_class(use: str, folder: Path, base: type[T]) -> type[T]:
    """The class that `use` names, or a `StudyError` that names the line to mend.

    Arguments:
        use: "module:Class"; the module may be in a subfolder, "folder.module:Class".
        folder: Where the study file is.
        base: What the class must be a subclass of.
    """
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
        raise StudyError(f"There is no '{class_name}' in '{file.name}'.", where=str(file), fix=nearest(class_name, _classes(module, base)))
    return _check_class(getattr(module, class_name), class_name, base, file)


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


def user_module(kind: type) -> str | None:
    """The module that a study file calls to use a class: "my_module", or None if no file can be named."""
    module = sys.modules.get(kind.__module__)
    if module is None or kind.__module__ == "__main__" or "<" in kind.__qualname__:
        return None
    return str(getattr(module, "__tellapart_module__", kind.__module__))


def failed_in_user_code(error: BaseException) -> str | None:
    """The file and line of the user's own code that an error came through last, if it did."""
    frames = [frame for frame, _ in traceback.walk_tb(error.__traceback__)]
    lines = [line for _, line in traceback.walk_tb(error.__traceback__)]
    mine = [i for i, frame in enumerate(frames) if str(frame.f_globals.get("__name__", "")).startswith(_PREFIX)]
    return f"{frames[mine[-1]].f_code.co_filename}, line {lines[mine[-1]]}" if mine else None


def _check_class(kind: Any, name: str, base: type[T], file: Path) -> type[T]:
    """`kind`, if it is a subclass of `base` that can be made and has a name."""
    what = base.__name__.lower()
    public = base.__name__ in ("Task", "Model")
    parent = f"tellapart.{base.__name__}" if public else f"{base.__module__}.{base.__name__}"
    if not (isinstance(kind, type) and issubclass(kind, base)):
        got = (
            f"a class with the parents {', '.join(k.__name__ for k in kind.__bases__)}"
            if isinstance(kind, type)
            else f"a {type(kind).__name__}"
        )
        raise StudyError(
            f"'{name}' is not {'an' if what[0] in 'ae' else 'a'} {what}.",
            where=_place(kind, file),
            expected=f"class {name}({parent})",
            got=got,
        )
    if inspect.isabstract(kind):
        lacking = ", ".join(sorted(getattr(kind, "__abstractmethods__", ())))
        raise StudyError(
            f"'{name}' is not finished.", where=_place(kind, file), expected=f"it defines: {lacking}", fix=f"see the docstring of {parent}"
        )
    if "name" in inspect.get_annotations(base) and not isinstance(getattr(kind, "name", None), str):
        raise StudyError(f"'{name}' has no name.", where=_place(kind, file), expected='a class variable: name = "my-name"')
    return kind


def _place(kind: Any, file: Path) -> str:
    """Where a class is defined."""
    try:
        return f"{file}, line {inspect.getsourcelines(kind)[1]}"
    except (OSError, TypeError):
        return str(file)


def _classes(module: ModuleType, base: type) -> list[str]:
    kinds = [kind for kind in vars(module).values() if isinstance(kind, type) and issubclass(kind, base)]
    return [kind.__name__ for kind in kinds if kind.__module__ == module.__name__]


def _load_module(file: Path, module_name: str, name: str | None = None) -> ModuleType:
    """Run the file as a module, once for each content. Files beside it can be imported by it."""
    fingerprint = hashlib.sha256(str(file.resolve()).encode() + file.read_bytes()).hexdigest()[:12]
    name = name or f"{_PREFIX}{fingerprint}_{file.stem}"
    if name in sys.modules:
        return sys.modules[name]
    spec = spec_from_file_location(name, file)
    if spec is None or spec.loader is None:
        raise StudyError(f"'{file.name}' cannot be loaded.", where=str(file), expected="a Python file")
    module = module_from_spec(spec)
    module.__dict__["__tellapart_module__"] = module_name
    sys.modules[name] = module  # dataclasses look their module up while it is being run
    sys.path.insert(0, str(file.parent.resolve()))
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        del sys.modules[name]
        raise StudyError(
            f"Loading '{file.name}' failed.",
            where=_line_of(error, file),
            got=f"{type(error).__name__}: {error}",
            fix="mend that line and try again",
        ) from error
    finally:
        sys.path.remove(str(file.parent.resolve()))
    return module


def _line_of(error: BaseException, file: Path) -> str:
    """The last line of the user's own file that led to the error."""
    if isinstance(error, SyntaxError) and error.filename is not None:
        return f"{error.filename}, line {error.lineno}"
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if Path(frame.filename).resolve() == file.resolve()]
    return f"{file}, line {lines[-1]}" if lines else str(file)
