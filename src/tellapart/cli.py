"""The command line: parse, call, print.

Results go to stdout, in words or with `--json` as JSON; progress and messages go to stderr. Exit code 0: done; 2: a mistake
of the user's, with one message and no traceback; 1: a fault of ours. Everything heavy is imported inside the commands,
so that help comes at once.
"""

from __future__ import annotations

import functools
import json
import sys
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Callable, Iterator, NoReturn

import typer

from . import __version__
from .errors import DesignError, ModelError, StudyError, TellapartError, nearest

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from .information.estimate import InformationEstimate
    from .models.base import Model
    from .models.simulation import Simulations
    from .progress import Progress
    from .run import DesignResult
    from .study import Study
    from .tasks.base import Floats
    from .workers import Workers

app = typer.Typer(
    name="tellapart",
    help="Which experiment tells our theories of the mind apart, and how sure will we be afterwards?",
    epilog="Begin with: tellapart new my-study --example bandit",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)

_CHUNK = 2_000
"""Participants whose rows are in memory at once when a table is written."""

StudyPath = Annotated[Path, typer.Argument(metavar="STUDY", help="A study folder, or a study.toml.", show_default=False)]
DesignText = Annotated[str, typer.Option("--design", metavar="D", help='A design: "0,0,0.6; 1,1,0". Blocks are separated by ";".')]
DesignTexts = Annotated[
    list[str] | None, typer.Option("--design", metavar="D", help='A design: "0,0,0.6; 1,1,0". Can be repeated.', show_default=False)
]
Participants = Annotated[int, typer.Option("--n", metavar="N", min=1, help="How many simulated participants.")]
Seed = Annotated[int | None, typer.Option("--seed", metavar="S", min=0, help="Where randomness starts; the study's seed if not given.")]
WorkerCount = Annotated[
    int | None,
    typer.Option("--workers", metavar="N", min=1, help="Designs evaluated at once; one a core if not given.", show_default=False),
]
DaskAddress = Annotated[
    str | None,
    typer.Option("--dask", metavar="ADDRESS", help='A Dask cluster: its address, its scheduler file, or "local:N".', show_default=False),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]


def command(function: Callable[..., None]) -> Callable[..., None]:
    """Make a function a command whose errors are messages."""

    @functools.wraps(function)
    def guarded(*args: Any, **kwargs: Any) -> None:
        try:
            function(*args, **kwargs)
        except TellapartError as error:
            _stop(f"Error: {error}", 2)
        except MemoryError:
            _stop("Error: There is not enough memory for this.\n  fix:      ask for fewer participants at a time", 2)
        except (typer.Exit, typer.Abort, BrokenPipeError):
            raise
        except Exception as error:
            _explain(error)

    app.command()(guarded)
    return function


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"tellapart {__version__}")
        raise typer.Exit()


@app.callback()
def _about(
    version: Annotated[bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")] = False,
) -> None:
    """Options of the program as a whole."""


@command
def new(
    name: Annotated[Path, typer.Argument(metavar="NAME", help="The folder to make.", show_default=False)],
    example: Annotated[str, typer.Option("--example", metavar="EXAMPLE", help="What to begin with; see below.")] = "bandit",
    seed: Seed = None,
    as_json: AsJson = False,
) -> None:
    """Make a study folder that runs as it is, to be edited.

    \b
    Examples to begin with:
      bandit        three models of bandits that come with tellapart
      own-model     a model of your own against two of them
      retention     how does memory fade? a task and two models of your own
      discounting   what is a later reward worth? a task and three models of your own
      accumulation  choices and response times; two models without a likelihood

    \b
    Example:
      tellapart new my-study --example own-model
    """
    from .scaffold import make_study

    made = make_study(name, example, seed)
    result = {"folder": str(name), "example": example, "files": [str(file) for file in made]}
    _print(result if as_json else f"{', '.join(map(str, made))}\nnext: tellapart check {name}")


@command
def simulate(
    study: StudyPath,
    design: DesignText,
    n: Participants,
    out: Annotated[Path, typer.Option("--out", metavar="FILE.csv", help="Where to write the table.")],
    model: Annotated[str | None, typer.Option("--model", metavar="NAME", help="Only this model; all take turns if not given.")] = None,
    seed: Seed = None,
    as_json: AsJson = False,
) -> None:
    """Simulate participants and write their data.

    The table is long: columns participant, model, block, trial, the recorded fields, then one column for each parameter,
    named model.parameter and empty where a participant is of another model. Blocks, trials and choices count from 0.

    \b
    Example:
      tellapart simulate examples/bandit --design "0,0,0.6; 1,1,0" --n 300 --out data.csv
    """
    from .files import written_whole
    from .models.simulation import simulate_models
    from .progress import progress_bar

    plan = _study(study)
    wanted = plan.task.design_space.parse(design)
    models = [_named(plan, model)] if model else plan.models
    with written_whole(out) as temporary, progress_bar("simulating") as report:
        simulations = simulate_models(plan.task, models, wanted, n, _rng(plan, seed))
        _write_table(simulations, temporary, report)
    names = [m.name for m in models]
    rows = int(simulations.behavior.mask.size)
    result = {"out": str(out), "participants": n, "rows": rows, "models": names, "design": wanted.tolist(), "seed": _seed(plan, seed)}
    _print(result if as_json else f"{n} participants ({', '.join(names)}), {rows} rows, written to {out}")


@command
def exact(
    study: StudyPath,
    design: DesignTexts = None,
    baseline: Annotated[int, typer.Option("--baseline", metavar="N", min=0, help="Also N designs drawn as the field does by habit.")] = 0,
    n: Participants = 2000,
    seed: Seed = None,
    as_json: AsJson = False,
) -> None:
    """Print the exact information of designs, where every model has a likelihood.

    Information is in nats, with its standard error over simulated participants. Every design faces the same agents: the same
    draws of parameters and the same random numbers.

    \b
    Example:
      tellapart exact examples/bandit --design "0,0,0.6; 1,1,0" --design "0.5,0.5,0.5; 0.5,0.5,0.5"
    """
    from .progress import progress_bar

    plan = _study(study)
    designs = _designs(plan, design or [], baseline, seed)
    from .information.exact import exact_information

    estimates = []
    with progress_bar("exact information") as report:
        for i, wanted in enumerate(designs):
            part = _part_of(report, i, len(designs))
            estimates.append(exact_information(plan.task, plan.models, plan.goal, wanted, n=n, rng=_rng(plan, seed), progress=part))
    _print_information(plan, designs, estimates, as_json)


@command
def check(
    study: StudyPath,
    data: Annotated[Path | None, typer.Argument(metavar="DATA.csv", help="A data table to check too.", show_default=False)] = None,
    seed: Seed = None,
    as_json: AsJson = False,
) -> None:
    """Check a study, its task, its simulators and, if given, a table of data.

    Each model is simulated at prior draws and at corners of the design space. Errors: wrong shapes or types, values that the task
    cannot record, random numbers that do not come from `rng`, participants that depend on each other, a likelihood that
    contradicts the simulator. Warnings: parameters and design variables without effect. Each comes with the usual fix.

    \b
    Example:
      tellapart check examples/bandit
    """
    from .testing import check_model, check_task

    plan = _study(study)
    behavior = None if data is None else plan.task.read_csv(data)
    checked = [check_task(plan.task, seed=_seed(plan, seed), raise_errors=False)]
    if checked[0].sound:
        checked += [check_model(model, plan.task, seed=_seed(plan, seed), raise_errors=False) for model in plan.models]
    findings = [finding for part in checked for finding in part.findings]
    if not all(part.sound for part in checked):
        _stop("\n".join(str(finding) for finding in findings), 2)
    for finding in findings:
        typer.echo(str(finding), err=True)
    names = [model.name for model in plan.models]
    result: dict[str, Any] = {"study": plan.name, "goal": plan.goal, "task": plan.task.name, "models": names}
    result |= {"findings": [asdict(finding) for finding in findings], "speed": {part.name: part.speed for part in checked[1:]}}
    lines = [f"The study '{plan.name}' is sound: {plan.goal} {', '.join(names)} by {plan.task.name}."]
    lines += [f"{part.name}: {part.speed_in_words()}" for part in checked[1:]]
    if behavior is not None:
        result["data"] = {"participants": len(behavior), "trials": int(behavior.mask.sum()), "missed": int((~behavior.mask).sum())}
        lines.append("The data fit: {participants} participants, {trials} trials recorded, {missed} missed.".format(**result["data"]))
    _print(result if as_json else "\n".join(lines))


@command
def design(
    study: StudyPath,
    workers: WorkerCount = None,
    dask: DaskAddress = None,
    fresh: Annotated[bool, typer.Option("--fresh", help="Begin anew; what the run folder holds is lost.")] = False,
    seed: Seed = None,
    as_json: AsJson = False,
) -> None:
    """Find the most informative design.

    The run is kept in the folder `run` beside the study file. It can be stopped at any moment: the same command goes on from
    there, and ends with the same design. The number of workers changes nothing but the time.

    \b
    Example:
      tellapart design examples/bandit --workers 2
    """
    from dataclasses import replace

    from .progress import progress_bar
    from .run import Run

    plan = _study(study)
    run = Run.open(replace(plan, seed=_seed(plan, seed)), _run_folder(study), fresh=fresh)
    try:
        with _helpers(workers, dask) as helpers, progress_bar("looking for the design") as report:
            result = run.design(workers=helpers, progress=report)
    except KeyboardInterrupt:
        _stop("Stopped. The same command goes on from here.", 130)
    _print(result.to_json() if as_json else _describe_design(plan, result))


@command
def evaluate(
    study: StudyPath,
    design: DesignTexts = None,
    baseline: Annotated[int, typer.Option("--baseline", metavar="N", min=0, help="Also N designs drawn as the field does by habit.")] = 0,
    workers: WorkerCount = None,
    dask: DaskAddress = None,
    seed: Seed = None,
    as_json: AsJson = False,
) -> None:
    """Print the information of given designs, estimated as the study's search does.

    With the search "amortized" the run's estimator is used on fresh simulations; with "bayesopt" one is trained at each design.

    \b
    Example:
      tellapart evaluate examples/bandit --design "0,0,0.6; 1,1,0" --design "0.5,0.5,0.5; 0.5,0.5,0.5"
    """
    from .progress import progress_bar
    from .run import Run, with_seed_of

    plan = with_seed_of(_study(study), _run_folder(study))
    designs = _designs(plan, design or [], baseline, seed)
    with _helpers(workers, dask) as helpers, progress_bar("estimating information") as report:
        estimates = Run.open(plan, _run_folder(study)).evaluate(designs, seed, workers=helpers, progress=report)
    _print_information(plan, designs, estimates, as_json)


@command
def posterior(
    study: StudyPath,
    data: Annotated[Path, typer.Argument(metavar="DATA.csv", help="A long table of data.", show_default=False)],
    out: Annotated[Path, typer.Option("--out", metavar="FILE.csv", help="Where to write a row a participant.")],
    samples: Annotated[Path | None, typer.Option("--samples", metavar="FILE.csv", help="Where to write draws of the parameters.")] = None,
    draws: Annotated[int, typer.Option("--draws", metavar="N", min=1, help="How many draws a participant.")] = 1000,
    design: Annotated[str | None, typer.Option("--design", metavar="D", help="What was run; the study's design if not given.")] = None,
    seed: Seed = None,
    as_json: AsJson = False,
) -> None:
    """Write who behaved like which model, with which parameters.

    Needs a finished run. A row a participant: the most probable model and a column probability.MODEL for each, and for each
    parameter its posterior mean, sd, median and 5 and 95 % quantiles, as far as the study is about them. Then unlike_models: true if
    the data look like nothing that the models produce, with its p-value; of participants whom they do describe, 1 % are flagged.

    \b
    Example:
      tellapart posterior examples/bandit data.csv --out posterior.csv
    """
    from .files import written_whole
    from .run import Run

    plan = _study(study)
    run = Run.finished(plan, _run_folder(study))
    designs = None if design is None else plan.task.design_space.parse(design)
    if samples is not None and plan.goal == "discriminate":
        raise StudyError(
            "The goal 'discriminate' is not about parameters: there are no draws.", got=f"--samples {samples}", fix="leave it out"
        )
    behavior = plan.task.read_csv(data)
    with written_whole(out) as table:
        known = run.result().posterior(behavior, designs, draws, _seed(plan, seed))
        known.to_table().to_csv(table, index=False)
    if samples is not None:
        with written_whole(samples) as table:
            known.samples_table().to_csv(table, index=False)
    counts = {name: known.models.most_probable.count(name) for name in known.models.names} if known.models else {}
    result = {"out": str(out), "participants": len(known), "most_probable": counts, **({"samples": str(samples)} if samples else {})}
    flagged = int(known.trust.flagged.sum()) if known.trust else 0
    result["unlike_models"] = flagged
    shares = "".join(f"; {name} is the most probable model of {count}" for name, count in counts.items())
    strange = f"; {flagged} unlike anything the models produce: do not trust what is said of them" if flagged else ""
    _print(result if as_json else f"{len(known)} participants{shares}{strange}; written to {out}")


@command
def curve(
    study: StudyPath,
    figure: Annotated[Path | None, typer.Option("--figure", metavar="FILE.svg", help="Also draw it: .svg, .png or .pdf.")] = None,
    points: Annotated[int, typer.Option("--points", metavar="K", min=1, help="How many numbers of trials.")] = 10,
    n: Participants = 4000,
    seed: Seed = None,
    as_json: AsJson = False,
) -> None:
    """How many trials do I need? Information for every number of blocks and a range of trials a block.

    At the recommended design of a finished run, from its own network. All points share their simulated participants, so that
    differences along the curve are more certain than its height.

    \b
    Example:
      tellapart curve examples/bandit --figure curve.svg
    """
    from .curve import information_curve
    from .files import written_whole
    from .progress import progress_bar
    from .report.figures import curve_figure
    from .run import Run

    plan = _study(study)
    result = Run.finished(plan, _run_folder(study)).result()
    with progress_bar("reading the curve") as report:
        found = information_curve(result.found.estimator, result.design, n=n, points=points, seed=_seed(plan, seed), progress=report)
    if figure is not None:
        with written_whole(figure) as drawing:
            curve_figure([point.to_json() for point in found]).savefig(drawing, format=figure.suffix.removeprefix(".") or "svg")
    lines = [f"{point.blocks} block(s) of {point.trials:>3} trials  {point.information}" for point in found]
    _print({"design": result.design.tolist(), "curve": [point.to_json() for point in found]} if as_json else "\n".join(lines))


@command
def validate(
    study: StudyPath,
    at: Annotated[
        list[str] | None, typer.Option("--at", metavar="NAME=X", help="A true parameter: aeg.phi=0.8. Can be repeated.", show_default=False)
    ] = None,
    n: Annotated[int, typer.Option("--n", metavar="N", min=100, help="Simulated participants at each design.")] = 1500,
    n_exact: Annotated[int, typer.Option("--exact", metavar="N", min=0, help="Participants with exact answers; 0 for none.")] = 1000,
    seed: Seed = None,
    as_json: AsJson = False,
) -> None:
    """Check what the study's estimator says, on simulated participants whose truth is known.

    At the recommended design and at baseline designs: which model is taken for which, how well parameters are recovered, whether
    probabilities can be taken at their word, and how far everything is from the exact answer where there is one. Needs a finished
    run; the checks are kept in it for the report.

    \b
    Example:
      tellapart validate examples/bandit
    """
    from .progress import progress_bar
    from .run import Run
    from .validation.words import in_words

    plan = _study(study)
    run = Run.finished(plan, _run_folder(study))
    with progress_bar("validating") as report:
        checks = run.result().validate(parameters=_true_values(plan, at or []), n=n, n_exact=n_exact, seed=seed, progress=report)
    _print(checks.to_json() if as_json else "\n".join(in_words(checks)))


@command
def report(
    study: StudyPath,
    out: Annotated[Path | None, typer.Option("--out", metavar="FILE.html", help="Where to write it; run/report.html if not given.")] = None,
    seed: Seed = None,
    as_json: AsJson = False,
) -> None:
    """Write the report of a finished run: one HTML file that opens anywhere.

    It has the recommendation, the design as a picture, what it tells against designs of habit, how many trials are needed, how well
    models and parameters are recovered, whether to trust it, how it was done, what to cite and how to reproduce it. Checks that
    `tellapart validate` has made are used; if there are none, they are made first.

    \b
    Example:
      tellapart report examples/bandit --out report.html
    """
    from .files import written_whole
    from .progress import progress_bar
    from .run import Run

    plan, target = _study(study), out or _run_folder(study) / "report.html"
    result = Run.finished(plan, _run_folder(study)).result()
    with written_whole(target) as page, progress_bar("writing the report") as progress:
        checks = None if seed is None else result.validate(seed=seed, progress=progress)
        page.write_text(result.report(checks, progress), "utf-8")
    _print({"report": str(target)} if as_json else f"The report is in {target}")


def main() -> None:
    """Run the command line."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")
    app()


def _run_folder(study: Path) -> Path:
    from .study import study_file

    return study_file(study).parent / "run"


def _true_values(study: Study, texts: list[str]) -> dict[str, dict[str, float]]:
    """True parameters that were written out as "model.parameter=value", by model."""
    known = {f"{model.name}.{name}" for model in study.models for name in model.parameters}
    values: dict[str, dict[str, float]] = {}
    for text in texts:
        place, _, value = text.partition("=")
        if place.strip() not in known:
            raise ModelError(f"The study has no parameter '{place}'.", where=f"--at {text}", fix=nearest(place.strip(), known))
        model, name = place.strip().rsplit(".", 1)
        try:
            values.setdefault(model, {})[name] = float(value)
        except ValueError:
            raise ModelError("The value of a parameter is not a number.", where=f"--at {text}", expected=f"{place}=0.5") from None
    return values


@contextmanager
def _helpers(count: int | None, dask: str | None) -> Iterator[Workers]:
    """Who does the work: processes here, one a core if nothing is said, or a Dask cluster."""
    from .threads import available_cores
    from .workers import Workers, dask_workers

    if dask is None:
        yield Workers(available_cores() if count is None else count)
        return
    if count is not None:
        raise StudyError("A Dask cluster brings its own workers.", got=f"--workers {count} --dask {dask}", fix="leave out one of them")
    with dask_workers(dask) as workers:
        yield workers


def _describe_design(study: Study, result: DesignResult) -> str:
    """A few lines on what was found."""
    write = study.task.design_space.format
    lines = [f"design       {write(result.design)}", f"information  {result.information}{_share_of_maximum(study, result.information)}"]
    if result.baseline is not None:
        known = result.baseline.to_json()
        lines.append("baseline     {nats:.3f} ± {se:.3f} nats on average, from {lowest:.3f} to {highest:.3f}".format(**known))
    lines += [f"also good    {write(other)}  {estimate}" for other, estimate in result.alternatives]
    return "\n".join([*lines, f"kept in      {result.run.folder}"])


def _study(path: Path) -> Study:
    from .study import Study

    return Study.from_file(path)


def _seed(study: Study, seed: int | None) -> int:
    return study.seed if seed is None else seed


def _rng(study: Study, seed: int | None) -> Any:
    import numpy as np

    return np.random.default_rng(_seed(study, seed))


def _named(study: Study, name: str) -> Model:
    """The model of the study that is called `name`."""
    names = [model.name for model in study.models]
    if name not in names:
        raise ModelError(f"The study has no model '{name}'.", expected=" or ".join(names), got=f"'{name}'", fix=nearest(name, names))
    return study.models[names.index(name)]


def _designs(study: Study, texts: list[str], baseline: int, seed: int | None) -> list[Floats]:
    """The designs that were written out, then the baseline ones."""
    designs = [study.task.design_space.parse(text) for text in texts]
    designs += list(study.task.baseline(baseline, _rng(study, seed)))
    if not designs:
        raise DesignError("There is no design.", expected="--design or --baseline", fix=f'--design "{study.task.design_space.example()}"')
    return designs


def _part_of(report: Progress, i: int, parts: int) -> Progress:
    """Report the progress of the i-th of equal parts as progress of the whole."""
    return lambda done, total: report(i * total + done, parts * total)


def _write_table(simulations: Simulations, path: Path, report: Progress) -> None:
    """Write the long table a few participants at a time."""
    import numpy as np

    names = np.array([model.name for model in simulations.models])[simulations.model]
    for start in range(0, len(simulations), _CHUNK):
        part = slice(start, start + _CHUNK)
        columns = {"model": names[part], **{name: _texts(values[part]) for name, values in simulations.parameters.items()}}
        simulations.behavior[part].to_table(columns).to_csv(path, mode="a", header=start == 0, index=False)
        report(min(start + _CHUNK, len(simulations)), len(simulations))


def _texts(values: Floats) -> NDArray[Any]:
    """Numbers as a table writes them; once a participant, which is quicker than once a row."""
    import numpy as np

    return np.array(["" if value != value else repr(value) for value in values.tolist()], object)


def _print_information(study: Study, designs: list[Floats], estimates: list[InformationEstimate], as_json: bool) -> None:
    """A line a design, or the JSON of `exact` and `evaluate`."""
    if as_json:
        _print({"designs": [{"design": d.tolist(), **e.to_json()} for d, e in zip(designs, estimates, strict=True)]})
        return
    texts = [study.task.design_space.format(d) for d in designs]
    for text, estimate in zip(texts, estimates, strict=True):
        typer.echo(f"{text:<{max(map(len, texts))}}  {estimate}{_share_of_maximum(study, estimate)}")


def _share_of_maximum(study: Study, estimate: InformationEstimate) -> str:
    """How much of the most that can be learnt, where there is a most."""
    import math

    if study.goal != "discriminate":
        return ""
    most = math.log(len(study.models))
    return f"; {100 * estimate.nats / most:.0f} % of the maximum log {len(study.models)} = {most:.3f}"


def _print(result: Any) -> None:
    typer.echo(result if isinstance(result, str) else json.dumps(result, allow_nan=False))


def _stop(message: str, code: int) -> NoReturn:
    typer.echo(message, err=True)
    raise typer.Exit(code)


def _explain(error: Exception) -> NoReturn:
    """Say whose fault it is: a failing model file is the user's to mend, all else is ours."""
    import platform
    import traceback

    from .plugins import failed_in_user_code

    place = failed_in_user_code(error)
    if place is not None:
        message = TellapartError("The study's own code failed.", where=place, got=f"{type(error).__name__}: {error}", fix="mend that line")
        _stop(f"Error: {message}", 2)
    versions = f"tellapart {__version__}, Python {platform.python_version()}, {platform.platform()}"
    help_us = f"This is a fault of tellapart, not yours. Please report it with the lines above, your command and: {versions}"
    _stop(f"{''.join(traceback.format_exception(error))}\n{help_us}", 1)


if __name__ == "__main__":
    main()
