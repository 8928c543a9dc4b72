"""The design for other programs: JSON with names, and PsychoPy's conditions file."""

from __future__ import annotations

import csv
import json
import keyword
import re
from pathlib import Path
from typing import Any

from ...files import written_whole
from ...tasks.space import Variable
from ..plan import Plan


def described(plan: Plan) -> dict[str, Any]:
    """The experiment in plain words and numbers."""
    task, space = plan.task, plan.task.design_space
    fields = [{"name": f.name, "kind": f.kind, "levels": f.levels, "by": f.by, "labels": list(f.labels)} for f in task.fields]
    conditions = [
        {
            "name": condition.name,
            "order": None if condition.order is None else list(condition.order),
            "design": condition.design.tolist(),
            "trials": task.lengths(condition.design[None])[0].tolist(),
        }
        for condition in plan.conditions
    ]
    head = {"study": plan.study.name, "task": task.name, "blocks": task.blocks, "variables": list(space.names)}
    head["categories"] = {variable.name: list(variable.categories) for variable in space.variables if variable.categories}
    return {**head, "fields": fields, "models": [model.name for model in plan.study.models], "conditions": conditions}


def write_json(plan: Plan, out: Path, seed: int) -> None:
    """The design as JSON."""
    with written_whole(out) as temporary:
        temporary.write_text(json.dumps(described(plan), indent=1) + "\n", encoding="utf-8")


def write_conditions(plan: Plan, out: Path, seed: int) -> None:
    """PsychoPy's conditions file: one row for each block of each condition, in the order of play; columns are names that Python allows."""
    task, variables = plan.task, plan.task.design_space.variables
    names = ["condition", "position", "block", "trials", *(identifier(variable.name) for variable in variables)]
    with written_whole(out) as temporary, temporary.open("w", encoding="utf-8", newline="") as opened:
        writer = csv.writer(opened)
        writer.writerow(names)
        for condition in plan.conditions:
            lengths = task.lengths(condition.design[None])[0]
            for position, block in enumerate(condition.order_for(seed)):
                row = [_written(variable, value) for variable, value in zip(variables, condition.design[block], strict=True)]
                writer.writerow([condition.name, position, block, int(lengths[block]), *row])


def _written(variable: Variable, value: float) -> str:
    """A value as an experiment in another program shows it: a category by its name."""
    return variable.categories[int(value)] if variable.categories else f"{value:.10g}"


def identifier(name: str) -> str:
    """A name as PsychoPy takes it: letters, digits and underscores, no digit first."""
    word = re.sub(r"\W+", "_", name, flags=re.ASCII).strip("_") or "value"
    return f"_{word}" if word[0].isdigit() or keyword.iskeyword(word) else word
