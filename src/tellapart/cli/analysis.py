"""People's data: read any table, say what the group did, and how many people a study takes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..errors import DataError, StudyError, nearest
from .frame import command, show
from .options import AsJson, Seed, StudyPath, read_study, run_folder, seed_of

if TYPE_CHECKING:
    from ..data.understand import Understanding
    from ..groups.power import PowerCurve
    from ..progress import Progress
    from ..result import DesignResult
    from ..study import Study

Files = Annotated[list[Path], typer.Argument(metavar="FILE…", help="Data files, or folders of them.", show_default=False)]
Columns = Annotated[
    list[str] | None, typer.Option("--columns", metavar="WHAT=NAME", help="Which column is what: choice=response. Can be repeated.")
]
Codes = Annotated[
    list[str] | None, typer.Option("--codes", metavar="FIELD=A,B,…", help="The texts for 0, 1, …: choice=left,right. Can be repeated.")
]
Missing = Annotated[list[str] | None, typer.Option("--missing", metavar="TEXT", help="A text that stands for a missed trial.")]
Rows = Annotated[list[str] | None, typer.Option("--rows", metavar="COLUMN=TEXT", help="Which rows are trials: phase=test.")]
DesignTable = Annotated[
    Path | None, typer.Option("--designs", metavar="FILE", help="A table of designs, if participants had designs of their own.")
]
DesignRun = Annotated[str | None, typer.Option("--design", metavar="D", help="What was run; the study's design if not given.")]


def import_tables(
    study: StudyPath,
    files: Files,
    out: Annotated[Path, typer.Option("--out", metavar="FILE.csv", help="Where to write the table.")],
    columns: Columns = None,
    codes: Codes = None,
    missing: Missing = None,
    rows: Rows = None,
    designs: DesignTable = None,
    seed: Seed = None,
    as_json: AsJson = False,
) -> None:
    """Turn any table of data into one that tellapart reads, and say what was understood.

    CSV and its kin, JSON as jsPsych writes it, Excel and Parquet; one file for all or one for each participant. Columns and codings are
    recognised; where two readings are possible it asks, and the answer is an option, or the section [data] of the study file. All
    that is wrong is said at once.

    \b
    Example:
      tellapart import examples/bandit jspsych/*.json --out data.csv
    """
    from ..files import written_whole

    plan = read_study(study)
    understood = read_people(plan, files, columns, codes, missing, rows, designs)
    with written_whole(out) as table:
        understood.to_table().to_csv(table, index=False)
    trials = understood.behavior.mask.sum((1, 2))
    lines = [{"what": what, "column": column, "understood": how} for what, column, how in understood.lines]
    result = {"out": str(out), "participants": len(trials), "trials": int(trials.sum()), "understood": lines}
    show(result if as_json else f"{understood.in_words()}\n{len(trials)} participants, {int(trials.sum())} trials, written to {out}")


import_tables.__name__ = "import"
command(import_tables)


@command
def analyse(
    study: StudyPath,
    data: Files,
    out: Annotated[
        Path | None,
        typer.Option("--out", metavar="FILE.html", help="Where to write the page; analysis.html beside the study if not given."),
    ] = None,
    amortized: Annotated[bool, typer.Option("--amortized", help="Quick: take the network's word.")] = False,
    counts: Annotated[str, typer.Option("--prior-counts", metavar="WORDS", help='"1/K each" or "one each".')] = "1/K each",
    family: Annotated[
        list[str] | None, typer.Option("--family", metavar="NAME=A,B", help="A family of models. Can be repeated.", show_default=False)
    ] = None,
    least: Annotated[int, typer.Option("--least-trials", metavar="N", min=1, help="Leave out people with fewer recorded trials.")] = 1,
    design: DesignRun = None,
    columns: Columns = None,
    codes: Codes = None,
    missing: Missing = None,
    rows: Rows = None,
    designs: DesignTable = None,
    seed: Seed = None,
    as_json: AsJson = False,
) -> None:
    """Say what people did: one HTML page, and tables beside it.

    Needs a finished run. Who took part and what is missing; which model each person follows; how frequent models are in the population
    (random effects, computed exactly); group parameters; groups, conditions and designs compared; whether the models describe the data;
    a paragraph for the methods section. Likelihoods are used where every model has one; if not, the network is refined near the data.

    \b
    Example:
      tellapart analyse examples/bandit data.csv --out analysis.html
    """
    from .. import __version__
    from ..groups.analysis import Settings
    from ..groups.analysis import analyse as analyse_people
    from ..progress import progress_bar
    from ..run import Run

    plan = read_study(study)
    result = Run.finished(plan, run_folder(study)).result()
    settings = Settings(amortized, _prior_counts(counts), _families(plan, family or []), least, seed_of(plan, seed))
    understood = read_people(plan, data, columns, codes, missing, rows, designs)
    typer.echo(understood.in_words(), err=True)
    where = _designs(plan, result, understood, design)
    with progress_bar("analysing") as progress:
        found = analyse_people(
            result.found.estimator,
            understood.behavior,
            where,
            settings,
            groups=understood.groups,
            conditions=understood.conditions,
            trust=lambda people, at: result.trust(people, at, progress),
            progress=progress,
        )
    page = out or run_folder(study).parent / "analysis.html"
    written = _write(plan, found, settings, understood, page, __version__)
    from ..groups.words import conclusion

    summary: dict[str, Any] = {"out": str(page), "tables": [str(path) for path in written], "participants": len(found.participants)}
    summary |= {"route": found.evidence.route, "warnings": list(found.warnings), "conclusion": conclusion(found)}
    summary |= {"random_effects": found.effects.to_json()} if found.effects else {}
    summary |= {"parameters": [row for group in found.parameters.values() for row in group.rows()]} if found.parameters else {}
    summary |= {"predictive_p": found.prediction.group_p, "unlike_models": int(found.flagged.sum())}
    text = [conclusion(found), found.evidence.words, *(f"warning: {one}" for one in found.warnings), f"The page is in {page}"]
    show(summary if as_json else "\n".join(text))


@command
def power(
    study: StudyPath,
    frequencies: Annotated[
        str | None, typer.Option("--frequencies", metavar="A=0.6,…", help="Of models in the population; the first 60 % if not given.")
    ] = None,
    versus: Annotated[
        str | None, typer.Option("--versus", metavar="A=0.2,…", help="Frequencies in a second group: do they differ?")
    ] = None,
    parameter: Annotated[str | None, typer.Option("--parameter", metavar="M.P", help="Ask about a parameter instead: aeg.phi.")] = None,
    width: Annotated[float | None, typer.Option("--width", help="How wide the 90 % interval of its population mean may be.")] = None,
    effect: Annotated[float | None, typer.Option("--effect", help="How much its mean differs between two groups.")] = None,
    target: Annotated[float, typer.Option("--target", min=0.5, max=0.99, help="The share of studies that are to be right.")] = 0.8,
    certainty: Annotated[float, typer.Option("--certainty", min=0.5, max=0.999, help="How sure a right study is.")] = 0.95,
    n: Annotated[int, typer.Option("--n", metavar="N", min=300, help="How many simulated people groups are drawn from.")] = 3000,
    figure: Annotated[Path | None, typer.Option("--figure", metavar="FILE.svg", help="Also draw the curves.")] = None,
    seed: Seed = None,
    as_json: AsJson = False,
) -> None:
    """How many people? The share of studies with the right conclusion, against the number of people.

    At the recommended design and at baseline designs, from the run's own network: simulated people are drawn into groups, which are
    analysed as real ones are. Asks whether the most frequent model is found; with --versus, whether two groups differ; with --parameter,
    whether its population mean is known within --width, or a difference of --effect is seen.

    \b
    Example:
      tellapart power examples/bandit --frequencies wslts=0.6,aeg=0.2,gls=0.2
    """
    from ..files import written_whole
    from ..progress import progress_bar
    from ..report.analysis_figures import power_figure
    from ..run import Run

    plan = read_study(study)
    result = Run.finished(plan, run_folder(study)).result()
    asked = _Asked(plan, frequencies, versus, parameter, width, effect, certainty, target, seed_of(plan, seed))
    with progress_bar("drawing groups") as progress:
        curves = {label: asked.curve(result, where, n, progress) for label, where in (("recommended", None), ("baseline", n))}
    if figure is not None:
        with written_whole(figure) as drawing:
            power_figure(curves, target).savefig(drawing, format=figure.suffix.removeprefix(".") or "svg")
    lines = [next(iter(curves.values())).conclusion]
    lines += [f"{label:<12} {_needed(curve, target)}" for label, curve in curves.items()]
    show({label: curve.to_json(target) for label, curve in curves.items()} if as_json else "\n".join(lines))


def read_people(
    study: Study,
    files: list[Path],
    columns: list[str] | None = None,
    codes: list[str] | None = None,
    missing: list[str] | None = None,
    rows: list[str] | None = None,
    designs: Path | None = None,
) -> Understanding:
    """Read data files as the study's section [data] and the options say."""
    from ..data.settings import TableSettings
    from ..data.understand import understand

    settings = TableSettings.of(getattr(study, "data", {})).with_options(columns or (), codes or (), missing or (), rows or ())
    return understand(files, study.task, settings, designs)


def _designs(study: Study, result: DesignResult, understood: Understanding, text: str | None) -> Any:
    """What people were run at, (N, B, V): as the data say, else as the option says, else the study's design."""
    import numpy as np

    from ..tasks.text import parse_design

    if understood.designs is not None and text is None:
        return understood.designs
    one = result.design if text is None else parse_design(study.task.design_space, text)
    return np.broadcast_to(one, (len(understood.behavior), *one.shape))


def _write(study: Study, found: Any, settings: Any, understood: Understanding, page: Path, version: str) -> list[Path]:
    """Write the page, the tables and the ArviZ file beside it."""
    from ..files import written_whole
    from ..groups.to_arviz import to_arviz
    from ..report.analysis import render, tables

    with written_whole(page) as temporary:
        temporary.write_text(render(study.name, found, settings, understood.lines, version), "utf-8")
    written = []
    for name, table in tables(found).items():
        path = page.with_name(f"{page.stem}-{name}.csv")
        with written_whole(path) as temporary:
            table.to_csv(temporary, index=False)
        written.append(path)
    path = page.with_name(f"{page.stem}-posterior.nc")
    with written_whole(path) as temporary:
        to_arviz(found, study.question).to_netcdf(str(temporary), engine="h5netcdf")
    return [*written, path]


def _prior_counts(text: str) -> Any:
    if text not in ("1/K each", "one each"):
        raise StudyError("The prior counts are unknown.", where="--prior-counts", expected='"1/K each" or "one each"', got=text)
    return text


def _families(study: Study, texts: list[str]) -> dict[str, list[str]]:
    families = {}
    for text in texts:
        name, equals, members = text.partition("=")
        if not equals:
            raise StudyError("A family cannot be understood.", where=f"--family {text}", expected="NAME=MODEL,MODEL")
        families[name.strip()] = [part.strip() for part in members.split(",")]
        for model in families[name.strip()]:
            if model not in study.question.names:
                raise StudyError(f"The study has no model '{model}'.", where=f"--family {text}", fix=nearest(model, study.question.names))
    return families


def _needed(curve: PowerCurve, target: float) -> str:
    """How many people are needed, in words."""
    found, each = curve.needed(target), " in each group" if curve.groups > 1 else ""
    if found is None:
        return f"more than {int(curve.sizes[-1])} people{each}: {100 * curve.share[-1]:.0f} % of studies are right with so many"
    first = " or fewer" if found <= curve.sizes[0] else ""
    return f"{round(found + 0.499)} people{each}{first}, for {100 * target:.0f} % of studies to be right"


class _Asked:
    """What is to be concluded, from the options of `power`."""

    def __init__(
        self,
        study: Study,
        frequencies: str | None,
        versus: str | None,
        parameter: str | None,
        width: float | None,
        effect: float | None,
        certainty: float,
        target: float,
        seed: int,
    ) -> None:
        self.study, self.certainty, self.target, self.seed = study, certainty, target, seed
        self.width, self.effect = width, effect
        self.parameter = self._parameter(parameter)
        names = study.question.names
        if self.parameter is None and not study.question.about_models:
            raise StudyError("This study is about parameters.", fix="--parameter MODEL.NAME with --width or --effect")
        if self.parameter is not None and (width is None) == (effect is None):
            raise StudyError("One of two questions can be asked about a parameter.", expected="--width or --effect")
        first = [0.6] + [0.4 / (len(names) - 1)] * (len(names) - 1) if self.parameter is None else []
        self.frequencies = first if frequencies is None else _shares(frequencies, names)
        self.versus = None if versus is None else _shares(versus, names)

    def _parameter(self, text: str | None) -> tuple[int, str] | None:
        if text is None:
            return None
        question = self.study.question
        if text not in question.about:
            expected = "a parameter that the study is about"
            raise StudyError(
                f"'{text}' cannot be asked about.", expected=expected, fix=nearest(text, question.about) or 'choose goal = "both"'
            )
        model, name = text.rsplit(".", 1)
        return question.names.index(model), name

    def curve(self, result: DesignResult, baseline: int | None, n: int, progress: Progress) -> PowerCurve:
        """The curve at the recommended design, or at as many baseline designs as people."""
        import numpy as np

        from ..groups.power_models import frequencies_differ, most_frequent_model
        from ..groups.power_parameters import parameter_differs, parameter_within
        from ..groups.power_people import simulated_evidence, simulated_parameter

        task, estimator = self.study.task, result.found.estimator
        rng = np.random.default_rng([self.seed, 15])
        designs = np.broadcast_to(result.design, (n, *result.design.shape)) if baseline is None else task.baseline(n, rng)
        settings: dict[str, Any] = {"target": self.target, "seed": self.seed, "progress": progress}
        if self.parameter is not None:
            people = simulated_parameter(estimator, *self.parameter, designs, rng)
            if self.width is not None:
                return parameter_within(people, self.width, **settings)
            assert self.effect is not None
            return parameter_differs(people, self.effect, interval=self.certainty, **settings)
        model, evidence = simulated_evidence(estimator, designs, rng)
        names = self.study.question.names
        if self.versus is not None:
            return frequencies_differ(model, evidence, self.frequencies, self.versus, names, certainty=self.certainty, **settings)
        return most_frequent_model(model, evidence, self.frequencies, names, certainty=self.certainty, **settings)


def _shares(text: str, names: tuple[str, ...]) -> list[float]:
    """Frequencies "a=0.6,b=0.4" in the order of models."""
    try:
        given = {name.strip(): float(share) for name, _, share in (part.partition("=") for part in text.split(","))}
    except ValueError:
        raise DataError("The frequencies cannot be understood.", got=text, expected=",".join(f"{name}=0.3" for name in names)) from None
    for name in given:
        if name not in names:
            raise DataError(f"The study has no model '{name}'.", got=text, fix=nearest(name, names))
    return [given.get(name, 0.0) for name in names]
