"""Designs near the recommended one: may it be rounded, and how much does each of its numbers matter?

Each is estimated by the study's own estimator on the same simulated participants as the recommended design: the same models and
parameters, the same random numbers. What is common cancels, so that differences are far more certain than either information. Their
standard errors are those of paired differences.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from functools import partial
from typing import Any, Mapping, Sequence

import numpy as np

from .estimators.base import Estimator
from .estimators.fresh import pointwise_at_each
from .information.estimate import Difference, Floats, InformationEstimate
from .progress import Progress, unheard
from .tasks.scaling import from_unit, to_unit
from .tasks.space import DesignSpace, Variable
from .tasks.text import format_design, names_for_people
from .workers import HERE, one_thread

COARSENESS = (0.1, 0.01)
"""Steps of rounding, as shares of a variable's range: the coarser first. On a logarithmic scale one and two digits."""

SMALL = 0.01
"""Who may round: who loses no more than this share of the information, two standard errors added."""

FEWEST = 100
"""Participants at a point of a curve: with fewer, none is drawn."""

_ROUND, _MOVE = 31, 32
"""What a seed is for; searches use small numbers."""


@dataclass(frozen=True, eq=False)
class Rounded:
    """A design with rounder numbers.

    Arguments:
        design: (B, V).
        information: What it tells.
        loss: What the recommended design tells more, on the same participants.
    """

    design: Floats
    information: InformationEstimate
    loss: Difference

    @property
    def harmless(self) -> bool:
        """Is so little lost, two standard errors added, that nobody would notice?"""
        return self.loss.nats + 2 * self.loss.se <= SMALL * self.information.nats

    def in_words(self, space: DesignSpace) -> str:
        """May I round? An answer in a sentence or two."""
        text, loss = format_design(space, self.design), self.loss
        way = "less" if loss.nats > 0 else "more"
        amount = f"{abs(loss.nats):.4f} ± {loss.se:.4f} nats {way} than the exact numbers, on the same {self.information.n:,} participants"
        if self.harmless:
            return f"Yes, to {text}: it tells {amount}."
        if loss.nats > 2 * loss.se:
            return f"Better not: {text} tells {amount}."
        return f"Perhaps: {text} tells {amount}, which is too uncertain to say."

    def to_json(self) -> dict[str, Any]:
        return {"design": self.design.tolist(), "information": self.information.to_json(), "loss": asdict(self.loss)}

    @classmethod
    def from_json(cls, kept: Mapping[str, Any]) -> Rounded:
        return cls(np.array(kept["design"]), InformationEstimate(**kept["information"]), Difference(**kept["loss"]))


@dataclass(frozen=True, eq=False)
class Moved:
    """The information when one number of the design is moved and the others stay.

    Arguments:
        block: Its block, counted from 0.
        variable: Which design variable, counted from 0.
        values: The values that were tried, ascending, the recommended one among them, (P,).
        change: By how much more each tells than the recommended design, in nats, (P,).
        se: The standard error of that, (P,); 0 at the recommended value.
    """

    block: int
    variable: int
    values: Floats
    change: Floats
    se: Floats

    def to_json(self) -> dict[str, Any]:
        return {name: value.tolist() if isinstance(value, np.ndarray) else value for name, value in vars(self).items()}

    @classmethod
    def from_json(cls, kept: Mapping[str, Any]) -> Moved:
        return cls(kept["block"], kept["variable"], *(np.array(kept[name]) for name in ("values", "change", "se")))


def best_rounding(found: Sequence[Rounded]) -> Rounded | None:
    """The coarsest rounding that is harmless, else the finest that was tried; None if no number can be rounder."""
    return next((one for one in found if one.harmless), found[-1] if found else None)


def may_round(estimator: Estimator, design: Floats, n: int = 20_000, *, seed: int = 0) -> list[Rounded]:
    """Rounder designs, the roundest first, each beside the given one.

    Arguments:
        estimator: One that knows every design.
        design: (B, V).
        n: Simulated participants.
    """
    candidates: list[Floats] = []
    for share in COARSENESS:
        candidate = round_design(estimator.task.design_space, design, share)
        if not any(np.array_equal(candidate, other) for other in (*candidates, design)):
            candidates.append(candidate)
    exactly, *others = pointwise_at_each(estimator, [design, *candidates], n, (seed, _ROUND), HERE)[0]
    return [Rounded(one, points.estimate(), exactly.minus(points)) for one, points in zip(candidates, others, strict=True)]


def move_each(
    estimator: Estimator, design: Floats, participants: int = 80_000, points: int = 9, *, seed: int = 0, progress: Progress = unheard
) -> list[Moved]:
    """The information along each number of a design, through all of its range as far as the task's rules allow; those that can move.

    Arguments:
        participants: About how many may be simulated, all points together.
        points: Values of each number, beside the recommended one.
    """
    space = estimator.task.design_space
    places = [(b, v) for b in range(space.blocks) for v in range(len(space.variables))]
    lines = {place: line for place in places if len(line := along(space, design, *place, points)) > 1}
    names = names_for_people(space.names)
    n, moved = min(10_000, participants // max(1, sum(map(len, lines.values())))), list[Moved]()
    if n < FEWEST:
        return moved
    points_at = partial(pointwise_at_each, estimator.quick, n=n, seed=(seed, _MOVE), workers=HERE, accuracy=False)
    with one_thread():
        (here,), _ = points_at([design])
        for done, ((b, v), line) in enumerate(lines.items()):
            progress(done, len(lines), "moving each number of the design", f"block {b + 1}, {names[v]}")
            elsewhere, (change, se) = line[:, b, v] != design[b, v], np.zeros((2, len(line)))
            differences = [one.minus(here) for one in points_at(line[elsewhere])[0]]
            change[elsewhere], se[elsewhere] = np.array([(one.nats, one.se) for one in differences]).T
            moved.append(Moved(b, v, line[:, b, v], change, se))
    progress(len(lines), len(lines), "moving each number of the design")
    return moved


def along(space: DesignSpace, design: Floats, block: int, variable: int, points: int) -> Floats:
    """Designs that differ from `design` in one number, ascending, itself among them, (P, B, V); those that break a rule are left out."""
    unit = np.repeat(to_unit(space, design)[None], points, axis=0)
    unit[:, block, variable] = np.linspace(0, 1, points)
    values = np.unique(np.append(from_unit(DesignSpace(space.blocks, space.variables), unit)[:, block, variable], design[block, variable]))
    line = np.repeat(design[None], len(values), axis=0)
    line[:, block, variable] = values
    return np.asarray(line[np.isclose(space.repair(line.copy()), line, rtol=0, atol=1e-9 * (space.high - space.low)).all((1, 2))])


def round_design(space: DesignSpace, design: Floats, share: float) -> Floats:
    """The design with numbers as round as a share of each range: 0.1 gives tenths of probabilities; all rules obeyed."""
    columns = [_rounded(variable, design[:, v], share) for v, variable in enumerate(space.variables)]
    return space.repair(np.stack(columns, axis=-1))


def _rounded(variable: Variable, values: Floats, share: float) -> Floats:
    """Values at multiples of the largest power of ten that is at most `share` of the range; on a logarithmic scale, of the value."""
    if variable.kind == "categorical":
        return values
    size = np.where(values > 0, values, 1.0) if variable.log else np.full_like(values, (variable.high - variable.low))
    digits = np.floor(np.log10(size * share * (10 if variable.log else 1)) + 1e-9)
    step = 10.0 ** (np.maximum(digits, 0) if variable.discrete else digits)
    return np.asarray(np.round(np.round(values / step) * step, 12))
