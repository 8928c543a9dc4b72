"""Adaptive experiments: the next block of each participant, and what adapting would be worth."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Sequence

from ..errors import RunError, counted
from ..files import written_whole
from ..progress import progress_bar
from .frame import command, option, show
from .options import Seed, StudyPath, design_of, finished_run
from .tables import AS_IT_IS, Files, TableOptions, read_people

if TYPE_CHECKING:
    from ..adaptive.worth import Worth
    from ..study import Study
    from ..validation.model_calibration import ModelCalibration
    from ..validation.rank_calibration import RankCalibration


@command
def next(
    study: StudyPath,
    data: Files,
    out: Annotated[Path | None, option("--out FILE.json", "Where to keep the decisions, beside the data.")] = None,
    replay: Annotated[Path | None, option("--replay FILE.json", "Decisions that were kept: are they made again to the same bytes?")] = None,
    design: Annotated[str | None, option("--design D", "The plan; the study's design if not given.")] = None,
    reading: TableOptions = AS_IT_IS,
    seed: Seed = None,
) -> None:
    """Print the most informative next block for each participant.

    Needs a finished run. Blocks of the data are in the order of play; in a table that `tellapart export` wrote, which numbers them as
    in the design, the column position says it. What a block was run at is read from columns design.VARIABLE, as
    `tellapart export` writes them; if there are none, everybody was run at the plan. For each participant: the block, what it
    is expected to tell, and by how much that is more than the planned block would. Blocks are counted from 1, as in the report; with
    --json and in the file of --out from 0, as in the data, which is said there. The first time, what a policy needs is learned and kept
    in the run folder.

    \b
    Example:
      tellapart next examples/bandit data.csv --out next.json
    """
    from ..adaptive.decisions import listed, record

    if replay is not None and not replay.is_file():
        raise RunError("There is no such file of decisions.", where=str(replay), fix="check the path")
    plan, result = finished_run(study)
    planned = design_of(plan, design)
    people = read_people(plan, data, reading, as_played=True, run_at=(planned, result.design))
    with progress_bar("choosing next blocks") as report:
        decisions = result.next_design(people, designs=planned, seed=seed, progress=report)
    about = {"study": plan.name, "seed": result.study.with_seed(seed).seed} | ({} if planned is None else {"plan": planned.tolist()})
    text = record(decisions, about)
    if replay is not None:
        check_replay(replay, text)
    if out is not None:
        with written_whole(out) as temporary:
            temporary.write_text(text, "utf-8")
    lines = [_line(plan, label, decision) for label, decision in zip(people.behavior.participants, decisions, strict=True)]
    lines += ["the same bytes as in " + str(replay)] if replay is not None else []
    doubts = result.next_doubts()
    lines += [doubts] if doubts else []
    show({**listed(decisions), "doubts": doubts}, "\n".join(lines))


@command
def adapt(
    study: StudyPath,
    n: Annotated[int, option("--n N", "How many simulated participants.", min=20)] = 100,
    sure: Annotated[float, option("--sure P", "Stop when a model is as probable as this.")] = 0.95,
    narrow: Annotated[float, option("--narrow S", "Stop when parameters are as narrow, as a share of the prior.")] = 0.25,
    stages: Annotated[int, option("--stages B", "Two stages: B blocks to tell models apart, then parameters.", min=0)] = 0,
    seed: Seed = None,
) -> None:
    """Is it worth choosing blocks for each participant?

    Needs a finished run. Simulated participants take part twice: adaptively, with blocks chosen for them and with the recommended
    design. Printed are the information of both, their paired difference, blocks saved by stopping when enough is known, whether
    posteriors stay calibrated, and the time of a decision. "Not worth it here" is a valid answer. The result is kept in the run folder,
    for the report.

    \b
    Example:
      tellapart adapt examples/discounting --n 100
    """
    from ..server.settings import read_settings
    from ..study import study_file

    plan, result = finished_run(study)
    with progress_bar("adaptive participants") as report:
        if stages:
            _two_stages(result, stages, n, seed, sure, report)
            return
        limit = read_settings(study_file(study).parent).policy_seconds
        found = result.adapt(n, seed=seed, progress=report, limit=limit, sure=sure, narrow=narrow)
    show(found.to_json(), "\n".join(_describe(found, plan)))


def check_replay(path: Path, text: str) -> None:
    """Raise a `RunError` unless decisions that were kept are the same bytes as decisions made now."""
    from ..adaptive.decisions import difference

    try:
        change = difference(path.read_text("utf-8"), text)
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        expected = "a file that `tellapart next --out FILE.json` wrote"
        raise RunError("These are no decisions that were kept.", where=str(path), expected=expected) from None
    if change is not None:
        fix = "use the version of tellapart, the run folder, the data and the seed with which they were made"
        raise RunError("The decisions are not the ones that were kept.", where=str(path), got=change, fix=fix)


def _line(study: Study, label: Any, decision: Any) -> str:
    """One participant's next block in words."""
    if decision is None:
        return f"{label}: all blocks are done"
    from ..tasks.text import format_design, names_for_people

    space = study.task.design_space
    values = format_design(space, [decision.row]).split(",")
    row = ", ".join(f"{name}: {value}" for name, value in zip(names_for_people(space.names), values, strict=True))
    more = f", {decision.over_planned} over the planned block" if decision.over_planned else ""
    block = f"block {decision.block + 1} of {study.task.blocks}"
    return f"{label}: {block}: {row}; expected gain {decision.gain.nats:.3f} ± {decision.gain.se:.3f} nats{more}"


def _describe(found: Worth, study: Study) -> list[str]:
    """A few lines on what adapting is worth."""
    verdict = {
        "worth it": "Adapting is worth it.",
        "not worth it here": "Adapting is not worth it here: use the fixed design.",
        "not clear": "It is not clear whether adapting is worth it: simulate more participants with --n.",
    }[found.verdict]
    blocks, stopped = study.task.blocks, found.stopped
    lines = [f"policy       {found.policy}", f"fixed        {found.fixed}"]
    lines.append(f"difference   {found.difference}, paired, {found.policy.n} simulated participants")
    if found.verdict == "worth it" and found.equal is not None and found.equal < blocks:
        lines.append(f"as much as   the fixed design after {found.equal} of {counted(blocks, 'block')}")
    lines.append(f"stopping     {stopped.saved[0]:.2f} ± {stopped.saved[1]:.2f} of {counted(blocks, 'block')} saved on average")
    if stopped.accuracy is not None:
        lines[-1] += f"; the most probable model is then the true one {100 * stopped.accuracy:.0f} % of the time"
    lines.append("calibration  " + _calibration(found.models, found.parameters))
    lines.append("on stopping  " + _calibration(stopped.models, stopped.parameters))
    together = f"each, of {len(found.played)} made together"
    lines.append(f"a decision   {found.seconds[0]:.3f} s (median), {found.seconds[1]:.3f} s (95th percentile) {together}")
    lines += [f"dropped      {found.dropped}"] if found.dropped else []
    return [*lines, " ".join(part for part in (verdict, found.doubts, found.late) if part)]


def _calibration(models: ModelCalibration | None, parameters: Sequence[RankCalibration]) -> str:
    """What was found of the posteriors of models and of parameters: each verdict once, with what it is about."""
    found = [("models", models.verdict)] if models else []
    found += [(f"{part.model}.{part.parameter}", part.verdict) for part in parameters]
    verdicts = dict.fromkeys(verdict for _, verdict in found)
    return "; ".join(f"{one}: {', '.join(name for name, verdict in found if verdict == one)}" for one in verdicts)


def _two_stages(result: Any, blocks: int, n: int, seed: int | None, sure: float, report: Any) -> None:
    """What a second stage gains by being chosen for each participant."""
    import numpy as np

    from ..adaptive.stages import TwoStages, stages_worth

    study = result.study.with_seed(seed)
    rule = TwoStages(study.question, blocks, sure, study.task.blocks)
    people = study.question.simulate(study.task, result.design, n, np.random.default_rng([study.seed, 99]))
    found = stages_worth(result.policy(report), rule, people, study.seed, report)
    nats, se = (None, None) if found.gain is None else (found.gain.nats, found.gain.se)
    gain = {"nats": nats, "se": se, "n": found.people}
    share = f"{100 * found.right:.0f} % of {n - found.dropped} simulated participants"
    first = f"first stage  the winning model is the true one of {share}"
    left = f"\ndropped      {found.dropped} of {n} participants could not be simulated at what they were given" if found.dropped else ""
    second = f"second stage {found.gain} over one block for all, repeated: about the parameters of those {found.people}"
    if found.gain is None:
        few = "nobody" if not found.people else "one participant"
        second = f"second stage not known: the winning model is the true one of {few}, and an error takes two; simulate more (--n)"
    show({"right": found.right, "gain": gain, "dropped": found.dropped}, f"{first}\n{second}{left}")
