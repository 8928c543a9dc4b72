"""Tables of data: the options that say how they are to be read, and the reading."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from .frame import argument, option

if TYPE_CHECKING:
    from ..data.understanding import Floats, Understanding
    from ..study import Study

    RunAt = tuple[Floats | None, Floats]

Files = Annotated[list[Path], argument("DATA", "Data files, or folders of them.")]
DesignTable = Annotated[Path | None, option("--designs FILE", "A table of designs, if participants had designs of their own.")]


@dataclass(frozen=True)
class TableOptions:
    """How a table is to be read, where it does not say so itself."""

    columns: Annotated[list[str] | None, option("--columns WHAT=NAME", "Which column is what: choice=response. Can be repeated.")] = None
    codes: Annotated[list[str] | None, option("--codes FIELD=A,B,…", "The texts for 0, 1, …: choice=left,right. Can be repeated.")] = None
    missing: Annotated[list[str] | None, option("--missing TEXT", "A text that stands for a missed trial. Can be repeated.")] = None
    rows: Annotated[list[str] | None, option("--rows COLUMN=TEXT", "Which rows are trials: phase=test. Can be repeated.")] = None


AS_IT_IS = TableOptions()


def read_people(
    study: Study,
    files: list[Path],
    reading: TableOptions,
    designs: Path | None = None,
    *,
    aloud: bool = True,
    as_played: bool = False,
    run_at: RunAt | None = None,
) -> Understanding:
    """Read data files as the study's section [data] and the options say; what was understood is printed before anything is computed.

    Arguments:
        aloud: Whether it is printed.
        as_played: Blocks are numbered in the order of play.
        run_at: What --design says, if anything, and the recommended design: then it is also said which design is assumed.
    """
    from ..data.understand import understand

    settings = study.data.with_options(**{name: texts or () for name, texts in vars(reading).items()})
    understood = understand(files, study.task, settings, designs, as_played=as_played)
    if run_at is not None and not (as_played and understood.designs is not None):  # of blocks to come --design speaks, not of those before
        understood = replace(understood, lines=(*understood.lines, *_design_assumed(study, understood, *run_at)))
    if aloud:
        typer.echo(understood.in_words(), err=True)
    return understood


def keep_data(files: list[Path], designs: Path | None, *outputs: Path | None) -> None:
    """Refuse to write over the data or the table of designs that are read, or one output over another."""
    from ..data.collect import data_files
    from ..errors import DataError

    data = {file.resolve() for source in [*files, *([designs] if designs else [])] for file in data_files(source)}
    targets = [path.resolve() for path in outputs if path is not None]
    for number, target in enumerate(targets):
        if target in data:
            raise DataError("The output would be written over the data.", where=str(target), fix="choose another name")
        if target in targets[:number]:
            raise DataError("Two outputs would be written to one file.", where=str(target), fix="choose two names")


def _design_assumed(study: Study, people: Understanding, given: Floats | None, recommended: Floats) -> list[tuple[str, str, str]]:
    """What people were run at, where the table is not what says it."""
    from ..tasks.text import format_design

    space = study.task.design_space
    if given is not None:
        instead = "" if people.designs is None else ", in the place of what the table says"
        return [("design", "", f"{format_design(space, given)}, by --design{instead}")]
    if people.designs is None:
        return [("design", "", f"{format_design(space, recommended)}: the recommended one; if people had another, say --design")]
    return []
