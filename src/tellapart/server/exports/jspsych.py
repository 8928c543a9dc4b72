"""The whole experiment as a folder, for labs that host it elsewhere: JATOS, Pavlovia, a server of their own.

The same page, but what this server does is done by the page: conditions by lot, stimuli from sequences drawn here, Bernoulli outcomes by
the browser. So participants who read the page's files can see the design, which they cannot on this server. Tasks with other rules than
a Bernoulli bandit's need the server.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np

from ...bandits.bernoulli import BernoulliArms
from ...errors import StudyError
from ...tasks.environment import NoOutcomes
from ..pages import STATIC
from ..plan import Condition, Plan, generator
from ..playing import practice
from ..shown import introduction_of, look_of, options_of, places_of, public

SEQUENCES = 24
"""Sequences of places and stimuli drawn for each condition, of which each participant gets one."""
LEFT_OUT = ("main.js", "server.js", "index.html", "researcher.html", "researcher.js", "researcher.css")


def write_folder(plan: Plan, out: Path, seed: int) -> None:
    """Write the folder."""
    rules = plan.task.rules
    if rules is not NoOutcomes and not issubclass(rules, BernoulliArms):
        what = f"The outcomes of '{plan.task.name}' are drawn by rules that only the server knows."
        raise StudyError(what, expected="a Bernoulli bandit, or a task without outcomes", fix="serve it with `tellapart serve`")
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise StudyError("This place is taken.", where=str(out), expected="a new or an empty folder", fix="choose another name")
    shutil.copytree(STATIC, out / "static", ignore=shutil.ignore_patterns(*LEFT_OUT))
    page = (STATIC / "index.html").read_text("utf-8").replace("static/main.js", "main.js")
    (out / "index.html").write_text(page, encoding="utf-8")
    for name in ("main.js", "save.js", "README.md"):
        shutil.copyfile(Path(__file__).with_name("alone") / name, out / name)
    if plan.script:
        shutil.copyfile(plan.script, out / "screen.js")
    (out / "experiment.json").write_text(json.dumps(experiment(plan, seed), allow_nan=False), encoding="utf-8")


def experiment(plan: Plan, seed: int) -> dict[str, Any]:
    """All that the page needs to run by itself."""
    read = plan.screen.answer == "number" and plan.screen.read is None  # what a text means is told by the study's own code, afterwards
    look = {**look_of(plan), "seconds": plan.screen.seconds, "field": plan.screen.field_of(plan.task).name if read else "answer"}
    texts = {**plan.texts.public(), "answers": [question.answer for question in plan.texts.questions]}
    numbers = {"practice": plan.settings.practice, "blocks": plan.task.blocks, "trials": plan.task.trials}
    links = {kind: plan.settings.codes.link(kind) for kind in ("completion", "screen_out", "no_consent")}
    conditions = [{"name": c.name, "sequences": [_sequence(plan, c, seed, i) for i in range(SEQUENCES)]} for c in plan.conditions]
    kept = {
        "study": plan.study.name,
        "variables": list(plan.task.design_space.names),
        "texts": texts,
        "screen": look,
        **numbers,
        "links": links,
        "tries": plan.settings.questions,
    }
    return {**kept, "rehearsal": practice(plan, seed), "conditions": conditions}


def _sequence(plan: Plan, condition: Condition, seed: int, number: int) -> list[dict[str, Any]]:
    """The blocks of one sequence, in the order of play."""
    rng = generator(seed, "stimuli", number)
    lengths = plan.task.lengths(condition.design[None])[0]
    order = condition.order_for(seed + number)
    return [_block(plan, condition.design[block], block, int(lengths[block]), rng) for block in order]


def _block(plan: Plan, row: Any, block: int, trials: int, rng: np.random.Generator) -> dict[str, Any]:
    screen, task = plan.screen, plan.task
    places = places_of(plan, rng)
    stimuli = screen.shown(row, trials, rng)
    means = [[screen.responses(task, stimulus, place, 0.0) for place in places] for stimulus in stimuli] if places else []
    introduction = introduction_of(plan, row, stimuli)
    shown = {"stimuli": [public(stimulus, places) for stimulus in stimuli], "options": options_of(plan, places)}
    pay = [float(row[place]) for place in places] if task.outcomes else None
    return {"block": block, "row": row.tolist(), "trials": trials, **shown, "introduction": introduction, "means": means, "pay": pay}
