"""Which experiment tells our theories of the mind apart, and how sure will we be afterwards?

    import tellapart as ta

Everything that a notebook, a study's own file or a package of parts needs is a name of this module; `__init__.pyi` lists them. A name is
loaded when it is first used, so that the import is quick.
"""

from __future__ import annotations

import ast
from importlib import import_module
from pathlib import Path
from typing import Any

__version__ = "0.2.0"

_LISTED = [node for node in ast.parse(Path(__file__).with_suffix(".pyi").read_text("utf-8")).body if isinstance(node, ast.ImportFrom)]
_HOME = {name.name: node.module for node in _LISTED for name in node.names}
"""Public name to the module that defines it."""

__all__ = list(_HOME)


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    value = getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
