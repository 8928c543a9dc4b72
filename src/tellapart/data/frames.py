"""Tables that come as pandas frames: their cells as texts, and the packages that read them."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pandas as pd

from ..errors import DataError
from .formats import Sheet


def require(package: str, path: Path) -> None:
    """Raise unless a package is installed."""
    if find_spec(package) is None:
        raise DataError(
            f"Reading this file takes the package {package}.", where=str(path), fix=f"pip install {package}, or save the table as CSV"
        )


def sheet_of(frame: pd.DataFrame, reading: str = "") -> Sheet:
    """A frame as a table of texts: missing values are empty, whole numbers have no decimals."""
    columns = []
    for place in range(frame.shape[1]):
        column = frame.iloc[:, place]
        columns.append(["" if gone else _text(value) for value, gone in zip(column.tolist(), column.isna().tolist(), strict=True)])
    return Sheet([str(name).strip() for name in frame.columns], [list(row) for row in zip(*columns, strict=True)], 2, reading)


def _text(value: Any) -> str:
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value).strip()
