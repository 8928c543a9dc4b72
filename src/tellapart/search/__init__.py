"""Ways to find a design, one a file. A file dropped into this folder is found by the `name` of its search class."""

from __future__ import annotations

import json
import pkgutil
from dataclasses import fields
from importlib import import_module
from typing import Any, Mapping, get_type_hints

from ..errors import StudyError, nearest
from .base import Search


def known_searches() -> dict[str, type[Search]]:
    """Every search that ships with tellapart, by the name that a study file uses."""
    for module in pkgutil.iter_modules(__path__):
        import_module(f"{__name__}.{module.name}")
    return {kind.name: kind for kind in _subclasses(Search) if hasattr(kind, "name") and kind.__module__.startswith(__name__)}


def parent_of(setting: str) -> type | None:
    """What a class must be derived from to be the value of a search setting: a user's own search, encoder or estimator."""
    if setting == "method":
        return Search
    if setting == "encoder":
        from ..networks.encoders import Encoder

        return Encoder
    if setting == "estimator":
        from ..estimators.base import Estimator

        return Estimator
    return None


def make_search(settings: Mapping[str, Any]) -> Search:
    """The search that a `[search]` section describes: its `method`, and the settings of that method."""
    known = known_searches()
    method = settings.get("method", "amortized")
    if isinstance(method, type) and issubclass(method, Search):
        known, method = {method.name: method}, method.name
    if method not in known:
        raise StudyError(
            "The search 'method' is unknown.", expected=" or ".join(sorted(known)), got=repr(method), fix=nearest(method, known)
        )
    kind, given = known[method], {key: value for key, value in settings.items() if key != "method"}
    names = [f.name for f in fields(kind)]  # type: ignore[arg-type]
    for key in given:
        if key not in names:
            raise StudyError(f"The search method '{method}' has no setting '{key}'.", fix=nearest(key, names))
    return kind(**{key: _typed(kind, key, value) for key, value in given.items()})


def _typed(kind: type[Search], key: str, value: Any) -> Any:
    """`value` as its field's type wants it; JSON's rules turn lists to tuples, but no text into a number."""
    from pydantic import TypeAdapter, ValidationError

    if isinstance(value, type):
        return value
    try:
        return TypeAdapter(get_type_hints(kind)[key]).validate_json(json.dumps(value), strict=True)
    except ValidationError as error:
        expected = error.errors()[0]["msg"].removeprefix("Input should be ")
        raise StudyError(f"The search setting '{key}' is of the wrong type or size.", expected=expected, got=json.dumps(value)) from None


def _subclasses(kind: type[Search]) -> list[type[Search]]:
    return [found for child in kind.__subclasses__() for found in (child, *_subclasses(child))]
