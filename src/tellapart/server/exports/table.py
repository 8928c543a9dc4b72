"""The long table: one row for each trial, as `tellapart posterior` reads it."""

from __future__ import annotations

from pathlib import Path

from ...files import written_whole
from ...study import Study
from ..collected import Collected


def write_table(study: Study, people: Collected, earlier: Collected, out: Path) -> list[Path]:
    """Write the table; beside it, if there are any, the trials of blocks that were begun anew."""
    with written_whole(out) as temporary:
        people.table().to_csv(temporary, index=False)
    beside = out.with_name(f"{out.stem}.earlier-attempts{out.suffix}")
    if not earlier.rows:
        beside.unlink(missing_ok=True)  # of an earlier export: it may hold people who are forgotten since
        return [out]
    with written_whole(beside) as temporary:
        earlier.table().to_csv(temporary, index=False)
    return [out, beside]
