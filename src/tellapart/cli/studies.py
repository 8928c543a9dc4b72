"""Before a search: make a study, check it, simulate its models."""

from __future__ import annotations

from contextlib import closing
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..errors import counted
from ..files import quoted, written_whole
from ..progress import progress_bar
from .frame import argument, command, option, show, stop
from .options import DesignText, Participants, Seed, StudyPath, design_of, named_model, read_study, rng_of, run_folder
from .tables import AS_IT_IS, TableOptions, read_people

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ..information.estimate import Floats
    from ..models.simulation import Simulations
    from ..progress import Progress

_CHUNK = 2_000
"""Participants whose rows are in memory at once when a table is written."""


@command
def new(
    name: Annotated[Path, argument("NAME", "The folder to make.")],
    example: Annotated[str, option("--example EXAMPLE", "What to begin with; see above.")] = "bandit",
    seed: Seed = None,
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
    from ..scaffold import make_study
    from ..server.texts import write_texts

    made = make_study(name, example, seed)
    made = sorted({*made, *write_texts(name)})
    result = {"folder": str(name), "example": example, "files": [str(file) for file in made]}
    show(result, f"{', '.join(map(str, made))}\nnext: tellapart check {quoted(name)}")


@command
def check(
    study: StudyPath,
    data: Annotated[list[Path] | None, argument("DATA", "Data to check too.")] = None,
    reading: TableOptions = AS_IT_IS,
    seed: Seed = None,
) -> None:
    """Check a study: its task, its models, and tables of data.

    Tables are checked if they are given. Each model is simulated at prior draws and at corners of the design space. Errors: wrong
    shapes or types, values that the task cannot record, random numbers that do not come from `rng`, participants that depend on each
    other, a likelihood that contradicts the simulator. Warnings: parameters and design variables without effect. Each comes with the
    usual fix.

    \b
    Example:
      tellapart check examples/bandit
    """
    from ..journal import Journal
    from ..search.base import Job
    from ..testing import check_likelihoods, check_model, check_task
    from ..testing.findings import duration

    plan = read_study(study, seed)
    behavior = read_people(plan, data, reading).behavior if data else None
    how: dict[str, Any] = {"seed": plan.seed, "raise_errors": False}
    checked = [check_task(plan.task, **how)]
    if checked[0].sound:
        checked += [check_model(model, plan.task, on_error=plan.question.on_error, **how) for model in plan.models]
    findings = [finding for part in checked for finding in part.findings]
    if all(part.sound for part in checked):
        most = min(part.speed or 1.0 for part in checked[1:])
        findings += check_likelihoods(plan.models, plan.task, most=int(most), **how).findings
    if any(finding.severity == "error" for finding in findings):
        stop("\n".join(str(finding) for finding in findings), 2)
    for finding in findings:
        typer.echo(str(finding), err=True)
    names = [model.name for model in plan.models]
    result: dict[str, Any] = {"study": plan.name, "goal": plan.goal, "task": plan.task.name, "models": names}
    result |= {"findings": [asdict(finding) for finding in findings], "speed": {part.name: part.speed for part in checked[1:]}}
    seconds = None
    if all(part.quick for part in checked[1:]):  # of slow ones even a short try is long, and what they are told says how long
        with TemporaryDirectory() as folder, closing(Journal(folder)) as journal:
            seconds = plan.search.seconds(Job(plan.task, plan.question, plan.seed, journal))
    result |= {"seconds": None if seconds is None else round(seconds)}
    lines = [f"The study '{plan.name}' is sound."]
    lines += [f"Goal: to learn {plan.question.in_words}. Task: {plan.task.name}. Models: {', '.join(names)}."]
    budget = getattr(plan.search, "simulations", 0)
    lines += [f"{part.name}: {part.speed_in_words(budget)}" for part in checked[1:]]
    unsaid = ", ".join(model.name for model in plan.models if model.resets is None) if plan.task.blocks > 1 else ""
    if unsaid:
        lines += [f"Blocks are read in order, which takes longer: {unsaid} may remember earlier ones. If not, say so: resets=True."]
    lines += [] if seconds is None else [f"`tellapart design` will take about {duration(seconds)} on this machine."]
    if behavior is not None:
        result["data"] = {"participants": len(behavior), "trials": int(behavior.mask.sum()), "missed": int((~behavior.mask).sum())}
        people, trials = counted(len(behavior), "participant"), counted(int(behavior.mask.sum()), "trial")
        lines.append(f"The data fit: {people}, {trials} recorded, {result['data']['missed']:,} missed.")
    show(result, "\n".join(lines))


@command
def simulate(
    study: StudyPath,
    n: Participants,
    out: Annotated[Path, option("--out FILE.csv", "Where to write the table.")],
    model: Annotated[str | None, option("--model NAME", "Only this model; all take turns if not given.")] = None,
    design: DesignText = None,
    seed: Seed = None,
) -> None:
    """Simulate participants and write their data.

    The table is long: columns participant, model, block, trial, the recorded fields, then one column for each parameter,
    named model.parameter and empty where a participant is of another model. Blocks, trials and choices count from 0. Without
    `--design` it is the recommended one of the finished run.

    \b
    Example:
      tellapart simulate examples/bandit --design "0,0,0.6; 1,1,0" --n 300 --out data.csv
    """
    from ..models.simulation import simulate_models
    from ..run import recommended

    plan = read_study(study, seed)
    question, wanted = plan.question, design_of(plan, design)
    wanted = recommended(plan, run_folder(study)) if wanted is None else wanted
    models, prior = ([named_model(plan, model)], None) if model else (question.models, question.prior)
    with written_whole(out) as temporary, progress_bar("simulating") as report:
        simulations = simulate_models(plan.task, models, wanted, n, rng_of(plan), prior=prior, on_error=question.on_error)
        _write_table(simulations, temporary, report)
    names = [m.name for m in models]
    rows = int(simulations.behavior.mask.size)
    result = {"out": str(out), "participants": n, "rows": rows, "models": names, "design": wanted.tolist(), "seed": plan.seed}
    result |= {"failed": len(simulations.failures)} if simulations.failures else {}
    failed = f"; {len(simulations.failures)} could not be simulated, and others took their places" if simulations.failures else ""
    show(result, f"{counted(n, 'participant')} ({', '.join(names)}), {counted(rows, 'row')}, written to {out}{failed}")


def _write_table(simulations: Simulations, path: Path, report: Progress) -> None:
    """Write the long table a few participants at a time."""
    import numpy as np

    names = np.array([model.name for model in simulations.models])[simulations.model]
    counting = simulations.behavior.counting()
    for start in range(0, len(simulations), _CHUNK):
        part = slice(start, start + _CHUNK)
        columns = {"model": names[part], **{name: _texts(values[part]) for name, values in simulations.parameters.items()}}
        columns |= {name: values[part] for name, values in counting.items()}
        simulations.behavior[part].to_table(columns).to_csv(path, mode="a", header=start == 0, index=False)
        report(min(start + _CHUNK, len(simulations)), len(simulations))


def _texts(values: Floats) -> NDArray[Any]:
    """Numbers as a table writes them; once for each participant, which is quicker than once for each row."""
    import numpy as np

    return np.array(["" if value != value else repr(value) for value in values.tolist()], object)
