"""Tables of data: the options that say how they are to be read, and the reading."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from ..data.understanding import Understanding
    from ..study import Study

Files = Annotated[list[Path], typer.Argument(metavar="DATA…", help="Data files, or folders of them.", show_default=False)]
Columns = Annotated[
    list[str] | None,
    typer.Option("--columns", metavar="WHAT=NAME", help="Which column is what: choice=response. Can be repeated.", show_default=False),
]
Codes = Annotated[
    list[str] | None,
    typer.Option("--codes", metavar="FIELD=A,B,…", help="The texts for 0, 1, …: choice=left,right. Can be repeated.", show_default=False),
]
Missing = Annotated[
    list[str] | None,
    typer.Option("--missing", metavar="TEXT", help="A text that stands for a missed trial. Can be repeated.", show_default=False),
]
Rows = Annotated[
    list[str] | None,
    typer.Option("--rows", metavar="COLUMN=TEXT", help="Which rows are trials: phase=test. Can be repeated.", show_default=False),
]
DesignTable = Annotated[
    Path | None,
    typer.Option("--designs", metavar="FILE", help="A table of designs, if participants had designs of their own.", show_default=False),
]


def read_people(
    study: Study,
    files: list[Path],
    columns: list[str] | None,
    codes: list[str] | None,
    missing: list[str] | None,
    rows: list[str] | None,
    designs: Path | None = None,
    *,
    aloud: bool = True,
) -> Understanding:
    """Read data files as the study's section [data] and the options say; what was understood is printed before anything is computed."""
    from ..data.understand import understand

    settings = study.data.with_options(columns or (), codes or (), missing or (), rows or ())
    understood = understand(files, study.task, settings, designs)
    if aloud:
        typer.echo(understood.in_words(), err=True)
    return understood
