"""Excel workbooks: the sheets that hold a table. Needs openpyxl, which is asked for when it is missing."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from ..frames import require, sheet_of
from . import Format, Sheet


def read(path: Path) -> list[Sheet]:
    require("openpyxl", path)
    pages = pd.read_excel(path, sheet_name=None, dtype=str, keep_default_na=False)
    return [sheet_of(page, f"Excel, sheet '{name}'") for name, page in pages.items() if not page.empty]


FORMAT = Format("Excel", (".xlsx", ".xlsm"), read)
