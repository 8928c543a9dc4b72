"""Parquet files. Needs pyarrow, which is asked for when it is missing."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from ..frames import require, sheet_of
from . import Format, Sheet


def read(path: Path) -> list[Sheet]:
    require("pyarrow", path)
    return [sheet_of(pd.read_parquet(path), "Parquet")]


FORMAT = Format("Parquet", (".parquet", ".pq"), read)
