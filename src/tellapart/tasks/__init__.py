"""What participants do, one task a file. A file dropped into this folder is found by the `name` of its task class."""

from __future__ import annotations

import pkgutil
from importlib import import_module

from .base import Task


def known_tasks() -> dict[str, type[Task]]:
    """Every task that ships with tellapart, by the name that a study file uses."""
    for module in pkgutil.iter_modules(__path__):
        import_module(f"{__name__}.{module.name}")
    return {kind.name: kind for kind in _subclasses(Task) if hasattr(kind, "name") and kind.__module__.startswith(__name__)}


def _subclasses(kind: type[Task]) -> list[type[Task]]:
    return [found for child in kind.__subclasses__() for found in (child, *_subclasses(child))]
