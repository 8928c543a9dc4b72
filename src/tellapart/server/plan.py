"""What is served: the conditions, the order of blocks, and where everything random comes from.

A condition is a design, and an order of its blocks where that is counterbalanced. Everything random about a session comes from the
session's recorded seed by way of named streams, so that it can be drawn again: same seed, same answers, same experiment.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, Sequence

import numpy as np
from numpy.typing import ArrayLike

from ..errors import StudyError
from ..models.symmetry import broken_blocks
from ..study import Study
from ..tasks.base import Task
from ..tasks.orders import williams
from ..tasks.screen import SCRIPTS, Screen
from ..tasks.space import Floats
from .policy import Policy, planned
from .settings import FILE, Settings, read_settings
from .texts import Texts, read_texts

Stream = Literal["order", "outcomes", "places", "stimuli", "practice", "condition"]
COLUMNS = frozenset(
    ("participant", "block", "trial", "response_seconds", "condition", "position", "attempt", "source", "finished", "model", "shown")
)
"""The columns of exported tables that are not the task's own."""
STREAMS: tuple[Stream, ...] = ("order", "outcomes", "places", "stimuli", "practice", "condition")


def generator(seed: int, stream: Stream, *path: int) -> np.random.Generator:
    """The random numbers of a purpose, drawn from a session's seed."""
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(STREAMS.index(stream), *path)))


@dataclass(frozen=True, eq=False)
class Condition:
    """What some of the participants are given.

    Arguments:
        design: (B, V).
        order: In which the blocks are played; drawn for each participant if None.
        name: What tables and the researcher's page call it.
    """

    design: Floats
    order: tuple[int, ...] | None
    name: str

    @property
    def content(self) -> str:
        """What it is, as text; equal conditions are equal texts."""
        return json.dumps({"design": self.design.tolist(), "order": self.order})

    def order_for(self, seed: int) -> list[int]:
        """The order of blocks of a session."""
        order = generator(seed, "order").permutation(len(self.design)).tolist() if self.order is None else list(self.order)
        return [int(block) for block in order]


@dataclass(frozen=True, eq=False)
class Plan:
    """All that decides what participants see.

    Arguments:
        study: What the experiment is for.
        conditions: At least one.
        settings, texts: Numbers and words.
        policy: Gives the next block; the planned one by default.
        folder: Where the study's files are, for its own script.
    """

    study: Study
    conditions: tuple[Condition, ...]
    settings: Settings
    texts: Texts
    policy: Policy = planned
    folder: Path | None = None
    screen: Screen = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "screen", self.study.task.screen)
        if not isinstance(self.screen, Screen):
            fix = "write @property above `def screen`"
            raise StudyError("The task's 'screen' is none.", expected="a ta.Screen", got=type(self.screen).__name__, fix=fix)
        taken = [f.name for f in self.task.fields if f.name in COLUMNS]
        if taken:
            fix = "give the field another name"
            raise StudyError("A field has the name of another column of the data.", expected="a name of its own", got=taken[0], fix=fix)
        if self.script is None and self.screen.script not in SCRIPTS:
            where = str(self.folder or "the study's folder")
            expected = f"a file '{self.screen.script}', or one of {', '.join(SCRIPTS)}"
            raise StudyError("The task's screen is not there.", where=where, expected=expected, got=f"'{self.screen.script}'")
        for condition in self.conditions:
            for row, trials in zip(condition.design, self.task.lengths(condition.design[None])[0], strict=True):
                self.screen.rehearse(self.task, row, int(trials))
        if self.settings.practice:
            self.screen.rehearse(self.task, self.task.baseline(1, np.random.default_rng(0))[0, 0], self.settings.practice)

    @property
    def task(self) -> Task:
        return self.study.task

    @property
    def script(self) -> Path | None:
        """The study's own script, if its screen has one."""
        if self.screen.script in SCRIPTS or self.folder is None:
            return None
        file = self.folder / Path(self.screen.script).name
        return file if file.is_file() else None

    @property
    def fingerprint(self) -> str:
        """Data of another task or of other fields must not be mixed with those of this one."""
        task = self.task
        described = [task.name, [(f.name, f.kind, f.levels, f.by) for f in task.fields], task.blocks, task.trials]
        return hashlib.sha256(json.dumps(described).encode()).hexdigest()[:16]


def make_plan(
    study: Study, designs: Sequence[ArrayLike], folder: Path | None = None, settings: Settings | None = None, policy: Policy = planned
) -> Plan:
    """The plan of a study at designs, each (B, V), with the settings and texts of its folder."""
    settings = settings or (read_settings(folder) if folder else Settings())
    checked = [study.task.design_space.check(design) for design in designs]
    if len({design.tobytes() for design in checked}) < len(checked):
        raise StudyError("Two designs are the same.", expected="conditions that differ", got=f"{len(checked)} designs", fix="give it once")
    return Plan(study, conditions_of(study, checked, settings), settings, read_texts(folder), policy, folder)


def conditions_of(study: Study, designs: Sequence[Floats], settings: Settings) -> tuple[Condition, ...]:
    """Each design in each order. Data are read as if blocks were played as designed, so they change places only if no model minds."""
    task, fixed = study.task, "" if settings.order == "designed" else _fixed_order(study)
    order = settings.order or ("designed" if fixed or not all(model.resets for model in study.models) else "counterbalanced")
    if order != "designed" and fixed:
        fix = f'order = "designed" in {FILE}'
        raise StudyError(f"Blocks cannot change places: {fixed}.", expected="exchangeable blocks", got=f'order = "{order}"', fix=fix)
    orders: list[tuple[int, ...] | None] = [None]
    if order != "random":
        orders = [*williams(task.blocks)] if order == "counterbalanced" else [tuple(range(task.blocks))]
    pairs = [(design, way) for design in designs for way in _that_differ(design, orders)]
    return tuple(Condition(design, way, letters(i)) for i, (design, way) in enumerate(pairs))


def _that_differ(design: Floats, orders: Sequence[tuple[int, ...] | None]) -> list[tuple[int, ...] | None]:
    """One of the orders for each way in which the blocks of a design can follow each other: some may be alike."""
    return list({design[list(way or ())].tobytes(): way for way in reversed(orders)}.values())[::-1]


def _fixed_order(study: Study) -> str:
    """Why blocks have to be played as designed; empty if they can change places."""
    if not study.task.design_space.symmetry.blocks:
        return "the task does not say that they can, Symmetry(blocks=True)"
    minds = [model.name for model in study.models if broken_blocks(model, study.task, study.seed, n=200)]
    return f"their order matters to {', '.join(minds)}" if minds else ""


def letters(i: int) -> str:
    """A, B, …, Z, AA, …"""
    return (letters(i // 26 - 1) if i >= 26 else "") + chr(ord("A") + i % 26)
