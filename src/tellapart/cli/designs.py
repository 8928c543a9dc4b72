"""Designs: find the best one, and say what given ones tell."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from ..errors import counted
from ..progress import progress_bar
from .frame import command, option, show, stop
from .options import (
    DaskAddress,
    DesignTexts,
    Seed,
    SeveralParticipants,
    StudyPath,
    WorkerCount,
    designs_of,
    finished_run,
    helpers_of,
    read_study,
    rng_of,
    run_folder,
    save_figure,
)

if TYPE_CHECKING:
    from ..information.estimate import Floats, InformationEstimate
    from ..progress import Progress
    from ..study import Study


@command
def design(
    study: StudyPath,
    workers: WorkerCount = None,
    dask: DaskAddress = None,
    fresh: Annotated[bool, option("--fresh", "Begin anew; what the run folder holds is lost.")] = False,
    seed: Seed = None,
) -> None:
    """Find the most informative design.

    The run is kept in the folder `run` beside the study file. It can be stopped at any moment: the same command goes on from
    there, and ends with the same design. The number of workers changes nothing but the time.

    \b
    Example:
      tellapart design examples/bandit --workers 2
    """
    from ..run import Run

    run = Run.open(read_study(study, seed), run_folder(study), fresh=fresh)
    try:
        with helpers_of(workers, dask) as helpers, progress_bar("looking for the design") as report:
            result = run.design(workers=helpers, progress=report)
    except KeyboardInterrupt:
        stop("Stopped. The same command goes on from here.", 130)
    show(result.to_json(), str(result))


@command
def evaluate(
    study: StudyPath,
    design: DesignTexts = None,
    baseline: Annotated[int, option("--baseline N", "Also N randomly drawn comparison designs.", min=0)] = 0,
    workers: WorkerCount = None,
    dask: DaskAddress = None,
    seed: Seed = None,
) -> None:
    """Estimate the information of given designs.

    It is done as the study's search does it. With the search "amortized" the run's network reads fresh simulations; with "bayesopt" a
    network is trained at each design.

    \b
    Example:
      tellapart evaluate examples/bandit --design "0,0,0.6; 1,1,0" --design "0.5,0.5,0.5; 0.5,0.5,0.5"
    """
    from ..run import Run

    run = Run.of(read_study(study), run_folder(study))
    plan = run.study.with_seed(seed)
    designs = designs_of(plan, design or [], baseline)
    with helpers_of(workers, dask) as helpers, progress_bar("estimating information") as report:
        estimates = run.evaluate(designs, seed, workers=helpers, progress=report)
    _print_information(plan, designs, estimates)


@command
def exact(
    study: StudyPath,
    design: DesignTexts = None,
    baseline: Annotated[int, option("--baseline N", "Also N randomly drawn comparison designs.", min=0)] = 0,
    n: SeveralParticipants = 2000,
    seed: Seed = None,
) -> None:
    """Compute the exact information of given designs.

    Every model must have a likelihood, and it must be that of the simulator, which is checked. Information is in nats, with its
    standard error over simulated participants. Every design faces the same agents: the same draws of parameters and random numbers.

    \b
    Example:
      tellapart exact examples/bandit --design "0,0,0.6; 1,1,0" --design "0.5,0.5,0.5; 0.5,0.5,0.5"
    """
    from ..information.exact import exact_information
    from ..testing import check_likelihoods

    plan = read_study(study, seed)
    designs = designs_of(plan, design or [], baseline)
    estimates = []
    with progress_bar("exact information") as report:
        for i, wanted in enumerate(designs):
            part = _part_of(report, i, len(designs))
            estimates.append(exact_information(plan, wanted, n, rng_of(plan), part))
    check_likelihoods(plan.models, plan.task, alone=True, seed=plan.seed)
    _print_information(plan, designs, estimates)


@command
def curve(
    study: StudyPath,
    figure: Annotated[Path | None, option("--figure FILE.svg", "Also draw it: .svg, .png or .pdf.")] = None,
    points: Annotated[int, option("--points K", "How many numbers of trials.", min=1)] = 10,
    n: SeveralParticipants = 4000,
    seed: Seed = None,
) -> None:
    """How many trials do I need?

    Prints the information for every number of blocks and a range of trials in each block, at the recommended design of a finished run,
    from its own network. All points share their simulated participants, so that
    differences along the curve are more certain than its height.

    \b
    Example:
      tellapart curve examples/bandit --figure curve.svg
    """
    from ..curve import information_curve

    plan, result = finished_run(study, seed)
    with progress_bar("reading the curve") as report:
        found = information_curve(result.found.estimator, result.design, n=n, points=points, seed=plan.seed, progress=report)
    points_json = [point.to_json() for point in found]
    if figure is not None:
        from ..report.figures import curve_figure

        save_figure(curve_figure(points_json), figure)
    lines = [f"{counted(point.blocks, 'block'):<8} of {counted(point.trials, 'trial'):>10}  {point.information}" for point in found]
    show({"design": result.design.tolist(), "curve": points_json}, "\n".join(lines))


def _print_information(study: Study, designs: list[Floats], estimates: list[InformationEstimate]) -> None:
    """One line for each design, or the JSON of `exact` and `evaluate`."""
    from ..tasks.text import format_design

    texts = [format_design(study.task.design_space, d) for d in designs]
    told = [f"{estimate}{study.question.share_of_most(estimate.nats)}" for estimate in estimates]
    lines = [f"{text:<{max(map(len, texts))}}  {one}" for text, one in zip(texts, told, strict=True)]
    show({"designs": [{"design": d.tolist(), **e.to_json()} for d, e in zip(designs, estimates, strict=True)]}, "\n".join(lines))


def _part_of(report: Progress, i: int, parts: int) -> Progress:
    """Report the progress of the i-th of equal parts as progress of the whole."""

    def part(done: int, total: int, stage: str = "", detail: str = "") -> None:
        report(i * total + done, parts * total, stage, detail)

    return part
