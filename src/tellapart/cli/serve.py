"""People: serve the experiment, export what they did, forget somebody."""

from __future__ import annotations

from contextlib import closing, nullcontext, suppress
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, Annotated

from ..errors import StudyError, TellapartError, counted
from ..files import quoted
from ..progress import progress_bar
from .frame import argument, command, option, show, stop
from .options import DesignTexts, Seed, StudyPath, read_study, rng_of

if TYPE_CHECKING:
    from ..server.serving import Experiment

DatabaseUrl = Annotated[str | None, option("--database URL", "postgresql://… or sqlite:///…; a file beside the study if not given.")]


@command
def serve(
    study: StudyPath,
    simulate: Annotated[int | None, option("--simulate N", "Let N simulated people take part, then stop.", min=1)] = None,
    design: DesignTexts = None,
    adaptive: Annotated[bool, option("--adaptive", "Choose each next block from what the participant did so far.")] = False,
    database: DatabaseUrl = None,
    port: Annotated[int, option("--port P", "Where to listen; 0 for any that is free.", min=0, max=65535)] = 8000,
    host: Annotated[str, option("--host H", "Who may connect: 0.0.0.0 for everybody.")] = "127.0.0.1",
    stay: Annotated[bool, option("--stay", "With --simulate: go on serving afterwards.")] = False,
    seed: Seed = None,
) -> None:
    """Serve the experiment: people take part in a browser.

    The recommended design of a finished run, or designs that are given: each is a condition. Words are in texts.toml and numbers in
    serve.toml beside the study. Every trial is on disk before the page is told so. Stop and start again as you like. The researcher's
    page shows who takes part; its address, with the token, is printed.

    With --adaptive, the design is the plan: each next block is chosen from what the participant did so far, in policy_seconds of
    serve.toml at most, else the planned one is used; the data say which. Ask `tellapart adapt` first whether that is worth it.

    With --simulate, agents of the study's models take part by way of the same addresses as people do; they are marked as simulated.

    \b
    Example:
      tellapart serve examples/bandit --design "0,0,0.6; 1,1,0" --port 8000
    """
    _require_extra()
    from ..server.serving import address_of, in_background, listening, prepare, server_of

    with progress_bar("learning to choose blocks") if adaptive else nullcontext() as report:
        experiment = prepare(study, design or [], database, seed, report)
    with closing(experiment.database):
        if simulate is None:
            door = listening(host, port)
            _show_links(experiment, address_of(door))
            try:
                server_of(experiment.app).run([door])
            except KeyboardInterrupt:
                stop("Stopped. All that people did is kept, and the same command goes on from here.", 130)
            return
        with in_background(experiment.app, host, port if stay else 0) as address:
            if stay:
                _show_links(experiment, address)
            _simulate(study, experiment, address, simulate, seed)
            if stay:
                with suppress(KeyboardInterrupt):  # until the researcher stops it
                    Event().wait()


@command
def export(
    study: StudyPath,
    out: Annotated[Path, option("--out PATH", "The file, or for psych-ds and jspsych the folder, to write.")],
    format: Annotated[str, option("--format F", "table, psych-ds, json, jspsych or psychopy.")] = "table",
    simulated: Annotated[bool, option("--simulated", "Simulated people in the place of real ones.")] = False,
    finished: Annotated[bool, option("--finished", "Only those who finished.")] = False,
    design: DesignTexts = None,
    database: DatabaseUrl = None,
    seed: Seed = None,
) -> None:
    """Write what people did, or hand the design over.

    \b
    What people did:
      table      the long table, one row for each trial, that `tellapart posterior` reads
      psych-ds   a data set by the rules of Psych-DS, checked
    The design, for labs that run it elsewhere:
      json       the design with names, conditions and settings
      psychopy   a conditions file, one row for each block
      jspsych    a folder with the whole experiment, for JATOS, Pavlovia or a server of your own

    Who somebody is on a recruiting platform is never written.

    \b
    Example:
      tellapart export examples/bandit --format table --out data.csv
    """
    _require_extra()
    from ..server.exports import PEOPLE, check_format, export_people, export_plan

    check_format(format)
    plan = read_study(study)
    if format in PEOPLE:
        result = export_people(study, plan, format, out, database, simulated=simulated, finished=finished)
    else:
        result = export_plan(study, plan, format, out, design or [], plan.with_seed(seed).seed)
    show(result, f"{result['words']}, written to {out}")


@command
def forget(
    study: StudyPath,
    participant: Annotated[str, argument("PARTICIPANT", "A label (p0007), a platform's number, or PLATFORM:NUMBER.")],
    database: DatabaseUrl = None,
    seed: Seed = None,
) -> None:
    """Delete everything about a participant, for good.

    All trials, all marks and the number on the recruiting platform; in the database's files too. Exports and backups that were made
    before are yours to mend. A text that is a label is taken for that. To name somebody by a number that looks like one, write the
    platform before it: prolific:NUMBER, link:CODE or browser:NUMBER.

    \b
    Example:
      tellapart forget examples/bandit p0007
    """
    _require_extra()
    from ..server import store
    from ..server.serving import open_database
    from ..study import study_file

    read_study(study)
    with closing(open_database(study_file(study).parent, database, must_exist=True)) as opened:
        with opened.writing() as connection:
            gone = store.forget(connection, participant)
        opened.wipe()
    if not gone:
        expected = "a label as in the exported table, or a platform's number"
        fix = f"see the labels: tellapart export {quoted(study)} --out data.csv"
        raise StudyError("There is no such participant.", expected=expected, got=f"'{participant}'", fix=fix)
    show({"forgotten": gone}, f"{', '.join(gone)}: forgotten.")


def _simulate(study: Path, experiment: Experiment, address: str, n: int, seed: int | None) -> None:
    from ..server.simulated import Simulation

    sessions = experiment.app.state.sessions
    with progress_bar("simulated people take part") as report:
        result = Simulation(sessions, address, experiment.token, rng_of(experiment.plan.study.with_seed(seed))).run(n, report)
    trials = counted(result["trials"], "trial")
    words = f"{result['finished']} of {n} simulated people finished; {trials}, each on disk before it was acknowledged."
    words += f"\nwarning: {experiment.doubts}" if experiment.doubts else ""
    if late := result["fallbacks"]:
        blocks = counted(n * experiment.plan.task.blocks, "block")
        words += f"\nwarning: {len(late)} of {blocks} were not chosen but the planned ones: {late[0]}."
        words += " policy_seconds in serve.toml gives a policy more time."
    show({**result, "doubts": experiment.doubts}, f"{words}\nnext: tellapart export {quoted(study)} --simulated --out data.csv")


def _show_links(experiment: Experiment, address: str) -> None:
    links = {"participants": f"{address}/", "researcher": f"{address}/researcher#token={experiment.token}"}
    words = [f"{name + ':':<14}{link}" for name, link in links.items()]
    words += [f"warning: {experiment.doubts}"] if experiment.doubts else []
    show({**links, "doubts": experiment.doubts}, "\n".join(words))


def _require_extra() -> None:
    from importlib.util import find_spec

    missing = [name for name in ("fastapi", "uvicorn", "sqlalchemy", "alembic", "psycopg") if find_spec(name) is None]
    if missing:
        raise TellapartError("Serving needs more than is installed.", got=f"no {', '.join(missing)}", fix="pip install 'tellapart[serve]'")
