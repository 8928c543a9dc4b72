"""Theories of behavior, one a file. A file dropped into this folder is found by the `name` of its model class."""

from __future__ import annotations

import pkgutil
from importlib import import_module

from .base import Model


def known_models() -> dict[str, type[Model]]:
    """Every model that ships with tellapart, by the name that a study file uses."""
    for module in pkgutil.iter_modules(__path__):
        import_module(f"{__name__}.{module.name}")
    return {kind.name: kind for kind in _subclasses(Model) if hasattr(kind, "name") and kind.__module__.startswith(__name__)}


def _subclasses(kind: type[Model]) -> list[type[Model]]:
    return [found for child in kind.__subclasses__() for found in (child, *_subclasses(child))]
