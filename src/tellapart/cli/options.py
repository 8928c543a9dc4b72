"""Arguments and options that commands share, and what they mean."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from ..errors import DesignError, ModelError, StudyError, nearest
from ..files import written_whole
from .frame import argument, option

if TYPE_CHECKING:
    from ..information.estimate import Floats
    from ..models.base import Model
    from ..result import DesignResult
    from ..study import Study
    from ..workers import Workers


StudyPath = Annotated[Path, argument("STUDY", "A study folder, or a study.toml.")]
DesignText = Annotated[str | None, option("--design D", 'A design: "0,0,0.6; 1,1,0". Blocks are separated by ";".')]
DesignTexts = Annotated[list[str] | None, option("--design D", 'A design: "0,0,0.6; 1,1,0". Can be repeated.')]
Participants = Annotated[int, option("--n N", "How many simulated participants.", min=1)]
SeveralParticipants = Annotated[int, option("--n N", "How many simulated participants.", min=2)]
"""The error of an average takes two."""
Seed = Annotated[int | None, option("--seed S", "Where randomness starts; the study's seed if not given.", min=0)]
WorkerCount = Annotated[int | None, option("--workers N", "Designs evaluated at once; one for each core if not given.", min=1)]
DaskAddress = Annotated[str | None, option("--dask ADDRESS", 'A Dask cluster: its address, its scheduler file, or "local:N".')]
DesignRun = Annotated[str | None, option("--design D", "What was run; the study's design if not given.")]


def read_study(path: Path, seed: int | None = None) -> Study:
    """A study, with the seed of the command line if one was given."""
    from ..study import Study

    return Study.from_file(path).with_seed(seed)


def run_folder(study: Path) -> Path:
    from ..study import study_file

    return study_file(study).parent / "run"


def finished_run(path: Path, seed: int | None = None) -> tuple[Study, DesignResult]:
    """A study, and the result of its finished run, whose study has the seed of the run."""
    from ..run import Run

    study = read_study(path, seed)
    return study, Run.finished(study, run_folder(path)).result()


def rng_of(study: Study) -> Any:
    import numpy as np

    return np.random.default_rng(study.seed)


def named_model(study: Study, name: str) -> Model:
    """The model of the study that is called `name`."""
    names = [model.name for model in study.models]
    if name not in names:
        raise ModelError(f"The study has no model '{name}'.", expected=" or ".join(names), got=f"'{name}'", fix=nearest(name, names))
    return study.models[names.index(name)]


def designs_of(study: Study, texts: list[str], baseline: int) -> list[Floats]:
    """The designs that were written out, then the baseline ones."""
    from ..tasks.text import example_design, parse_design

    space = study.task.design_space
    designs = [parse_design(space, text) for text in texts]
    designs += list(study.task.baseline(baseline, rng_of(study))) if baseline else []
    if not designs:
        raise DesignError("There is no design.", expected="--design or --baseline", fix=f'--design "{example_design(space)}"')
    return designs


def design_of(study: Study, text: str | None) -> Floats | None:
    """A design, if one was written out."""
    from ..tasks.text import parse_design

    return None if text is None else parse_design(study.task.design_space, text)


def save_figure(figure: Any, path: Path) -> None:
    """Write a figure in the format that the name of the file says."""
    with written_whole(path) as drawing:
        figure.savefig(drawing, format=path.suffix.removeprefix(".") or "svg")


def helpers_of(count: int | None, dask: str | None) -> AbstractContextManager[Workers]:
    """Who does the work: processes here, one for each core if nothing is said, or a Dask cluster."""
    from ..threads import available_cores
    from ..workers import Workers, dask_workers

    if dask is None:
        return nullcontext(Workers(available_cores() if count is None else count))
    if count is not None:
        raise StudyError("A Dask cluster brings its own workers.", got=f"--workers {count} --dask {dask}", fix="leave out one of them")
    return dask_workers(dask)
