"""Compiled loops: one loop, many models.

A loop is written once as a Python function whose global names stand for what differs from model to model. `specialised` compiles a copy
of it around a model's functions. What a function calls is compiled with it.
"""

from __future__ import annotations

import dis
import hashlib
import re
from functools import cache
from pathlib import Path
from types import CellType, CodeType, FunctionType, ModuleType
from typing import Any, Iterator, Mapping, Sequence

import numba as nb
import numpy as np

FOLDERS = ("models", "bandits")
"""Where compiled code of tellapart's own is: what was compiled before is not used again once a file there has changed."""
COMPILED = ("math", "numba", "numpy", "tellapart")
"""Modules that the compiler knows."""
WRITTEN = "<agent "
"""How the file of functions begins that `at_task.py` writes, a line each: they become part of their callers before these are compiled."""
ONLY_CALLED = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}
"""Only compiled code calls these functions: what would let the interpreter call them takes a third of the time to compile them."""


def specialised(loop: Any, **functions: Any) -> Any:
    """Compile a copy of `loop` in which some global names stand for given functions.

    Numba finds what it compiled before by the name of a function, and notices changes to the file of `loop` alone. So the name of
    the copy carries a fingerprint of all code that matters, and a model whose code changed is never run from an old cache.
    """
    names = {**loop.__globals__, **{name: jitted(function) for name, function in functions.items()}}
    copy = FunctionType(loop.__code__, names, loop.__name__)
    digest = hashlib.sha256(_package().encode())
    for name in sorted(functions):
        _add(digest, functions[name], set())
    copy.__qualname__, copy.__module__ = f"{loop.__name__}_{digest.hexdigest()[:20]}", loop.__module__
    return nb.njit(cache=True, nogil=True, error_model="numpy")(copy)


def jitted(function: Any) -> Any:
    """A Python function with all Python functions that it calls, to be compiled when it is first used; anything else as it is.

    Places in arrays are checked: a place that is not there is an error and not a crash. What is kept on disk names the module of each
    function, which numba imports when it reads it again. A user's file is loaded under a name that nothing can import, and another one
    in another folder, so the copies say that they are from here.
    """
    return _jitted(function, {})


def _jitted(function: Any, done: dict[int, Any]) -> Any:
    if hasattr(function, "py_func") and not (function.py_func.__module__ or "").startswith("tellapart."):
        function = function.py_func  # compiled by the user
    if isinstance(function, _Excerpt):
        return _Excerpt(function.__name__, {name: _jitted(value, done) for name, value in function.named.items()})
    if not isinstance(function, FunctionType):
        return function
    if id(function) not in done:
        done[id(function)] = function  # what calls itself is left to the interpreter, and so not compiled
        called = {name: _jitted(value, done) for name, value in _globals(function).items()}
        cells = tuple(CellType(_jitted(cell.cell_contents, done)) for cell in function.__closure__ or ())
        names = {**function.__globals__, **called, "__name__": __name__}
        copy = FunctionType(function.__code__, names, function.__name__, function.__defaults__, cells or None)
        how = "always" if function.__code__.co_filename.startswith(WRITTEN) else "never"
        done[id(function)] = nb.njit(error_model="numpy", boundscheck=True, forceinline=True, inline=how, **ONLY_CALLED)(copy)
    return done[id(function)]


def why_not(error: Exception) -> str:
    """The line of a user's code at which the compiler gave up, and the reason.

    Numba tells of the innermost function first, then of those that call it.
    """
    text = re.sub(r"\x1b\[[0-9;]*m", "", str(error))  # without colours
    said = [line.strip() for line in text.splitlines() if line.strip() and not line.startswith("Failed in")] or [type(error).__name__]
    clearer = [line for line in said if re.match(r"Numba\w*Error: ", line)]
    reason = (clearer or said)[0]
    if reason.endswith(":"):  # what it is about is in the line below
        reason = f"{reason} {said[said.index(reason) + 1].removeprefix('>>> ')}" if reason != said[-1] else reason
    for file, line in re.findall(r'File "(.+?)", line (\d+)', text):
        place = Path(file).resolve()
        theirs = Path(__file__).parent != place.parent and not place.is_relative_to(Path(nb.__file__).resolve().parent)
        if not file.startswith("<") and place.is_file() and theirs:
            return f"{place}, line {line}: {reason}"
    return reason


@cache
def _package() -> str:
    """A fingerprint of tellapart's own compiled code."""
    files = [file for folder in FOLDERS for file in sorted((Path(__file__).parents[1] / folder).rglob("*.py"))]
    return hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()


def _add(digest: Any, value: Any, seen: set[int]) -> None:
    """Add to a fingerprint what a value is: of functions their code and all that it refers to."""
    if hasattr(value, "py_func"):
        value = value.py_func
    if isinstance(value, FunctionType):
        if id(value) not in seen:
            seen.add(id(value))
            for code in _codes(value.__code__):
                constants = [constant for constant in code.co_consts if not isinstance(constant, CodeType)]
                digest.update(repr((code.co_code, code.co_names, code.co_varnames, code.co_freevars, constants)).encode())
            cells = [cell.cell_contents for cell in value.__closure__ or ()]
            for part in (*_globals(value).values(), *cells, value.__defaults__):
                _add(digest, part, seen)
    elif isinstance(value, np.ndarray):
        digest.update(repr((value.dtype, value.shape)).encode() + value.tobytes())
    elif isinstance(value, ModuleType):
        digest.update(value.__name__.encode())
        for part in value.named.values() if isinstance(value, _Excerpt) else ():
            _add(digest, part, seen)
    elif isinstance(value, (tuple, list)):  # the words for a long array leave out its middle
        digest.update(repr((type(value).__name__, len(value))).encode())
        for part in value:
            _add(digest, part, seen)
    elif isinstance(value, type):
        digest.update(repr((value.__name__, getattr(value, "_fields", ()))).encode())
    else:
        digest.update(repr(value).encode() if not callable(value) else repr(getattr(value, "__name__", "")).encode())


def _globals(function: FunctionType) -> Mapping[str, Any]:
    """The global names that a function uses, and what they stand for."""
    codes = [*_codes(function.__code__)]
    names = {step.argval for code in codes for step in dis.get_instructions(code) if step.opname == "LOAD_GLOBAL"}
    values = {name: function.__globals__[name] for name in sorted(names) if name in function.__globals__}
    return {name: _excerpt(value, [name for code in codes for name in code.co_names]) for name, value in values.items()}


def _codes(code: CodeType) -> Iterator[CodeType]:
    """The code of a function and of those inside of it, among them comprehensions."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _codes(constant)


class _Excerpt(ModuleType):
    """What a function needs of a user's module, by name: functions in it are compiled and count in fingerprints like any other."""

    def __init__(self, name: str, named: Mapping[str, Any]) -> None:
        super().__init__(name)
        self.__dict__.update(named)
        self.named = named


def _excerpt(value: Any, names: Sequence[str]) -> Any:
    """The part of a user's module that goes by some names; anything else as it is."""
    if not isinstance(value, ModuleType) or value.__name__.partition(".")[0] in COMPILED:
        return value
    return _Excerpt(value.__name__, {name: vars(value)[name] for name in sorted({*names}) if name in vars(value)})
