"""The design explorer: one small figure for each number of the design, with the information as that number is moved.

All values are computed beforehand. Without a script, and on paper, the figures stand by themselves; with it, a slider under each reads
them out.
"""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from typing import Any, Sequence

import numpy as np

from ..nearby import Moved
from ..tasks.space import DesignSpace, Floats, Variable
from ..tasks.text import names_for_people
from .style import HABIT, INK, OURS, PALE

WIDTH, HEIGHT, LEFT, TOP, BOTTOM = 260, 130, 44, 10, 26


@dataclass(frozen=True)
class Number:
    """One number of the design on the page.

    Arguments:
        name: "block 1, arm 2".
        id: Of its figure, unlike any other of the page.
        lines: SVG elements.
        points: What the slider reads: for each value its place in the figure, and what to say.
        recommended: Which of them is the recommended one.
    """

    name: str
    id: str
    lines: str
    points: list[tuple[float, float, str]]
    recommended: int


def explorer(moved: Sequence[Moved], space: DesignSpace, design: Any, nats: float) -> list[Number]:
    """The figures of what each number of the recommended design (B, V) does to its information, all on one scale."""
    if not moved:
        return []
    low = nats + min(float(one.change.min()) for one in moved)
    high = nats + max(float(one.change.max()) for one in moved)
    room = max(0.1 * (high - low), 0.005)
    names = names_for_people(space.names)
    return [_number(one, space, names, np.asarray(design), nats, (low - room, high + room)) for one in moved]


def _number(one: Moved, space: DesignSpace, names: Sequence[str], design: Floats, nats: float, ends: tuple[float, float]) -> Number:
    b, v, values, change, se = one.block, one.variable, one.values, one.change, one.se
    variable = space.variables[v]
    recommended = int(np.abs(values - design[b, v]).argmin())
    x = LEFT + (WIDTH - LEFT - 8) * _share(values, variable)
    y, above, below = (_height(nats + part, ends) for part in (change, change + 2 * se, change - 2 * se))
    texts = [_text(variable, value, nats, c, s, i == recommended) for i, (value, c, s) in enumerate(zip(values, change, se, strict=True))]
    points = [(round(float(a), 1), round(float(c), 1), text) for a, c, text in zip(x, y, texts, strict=True)]
    lines = _drawn(x, y, np.append(above, below[::-1]), recommended, [_value(variable, values[i]) for i in (0, -1)], ends)
    return Number(f"block {b + 1}, {names[v]}", f"number-{b}-{v}", lines, points, recommended)


def _share(values: Floats, variable: Variable) -> Floats:
    """Where values stand between the ends of their range, from 0 to 1."""
    low, high, inside = (np.log(part) if variable.log else np.asarray(part) for part in (variable.low, variable.high, values))
    return np.asarray((inside - low) / (high - low))


def _height(nats: Floats, ends: tuple[float, float]) -> Floats:
    share = (np.clip(nats, *ends) - ends[0]) / (ends[1] - ends[0])
    return np.asarray(HEIGHT - BOTTOM - (HEIGHT - BOTTOM - TOP) * share)


def _text(variable: Variable, value: float, nats: float, change: float, se: float, recommended: bool) -> str:
    begin = f"At {_value(variable, value)}: {nats + change:.3f} nats"
    if recommended:
        return f"{begin}, the recommended design"
    return f"{begin}, {abs(change):.3f} ± {se:.3f} {'more' if change > 0 else 'less'} than the recommended design"


def _value(variable: Variable, value: float) -> str:
    return variable.categories[int(value)] if variable.categories else f"{round(float(value), 3):g}"


def _drawn(x: Floats, y: Floats, band: Floats, recommended: int, labels: Sequence[str], ends: tuple[float, float]) -> str:
    """A band of two standard errors, the line, a diamond at the recommended value, a dot for the slider, and the ends of the axes."""

    def path(xs: Floats, ys: Floats) -> str:
        return " ".join(f"{a:.1f},{b:.1f}" for a, b in zip(xs, ys, strict=True))

    floor, px, py = HEIGHT - BOTTOM, x[recommended], y[recommended]
    return (
        f'<path d="M{LEFT} {TOP}V{floor}H{WIDTH - 4}" fill="none" stroke="{INK}"/>'
        f'<path d="M{LEFT} {py:.1f}H{WIDTH - 4}" stroke="{INK}" stroke-dasharray="2 3" stroke-opacity=".5"/>'
        f'<polygon points="{path(np.append(x, x[::-1]), band)}" fill="{PALE}"/>'
        f'<polyline points="{path(x, y)}" fill="none" stroke="{OURS}" stroke-width="2"/>'
        f'<path d="M{px:.1f} {py - 6:.1f}l6 6-6 6-6-6z" fill="{OURS}"/>'
        f'<circle cx="{px:.1f}" cy="{py:.1f}" r="6" fill="none" stroke="{HABIT}" stroke-width="3" visibility="hidden"/>'
        f'<g font-size="12" fill="{INK}" font-family="sans-serif"><text x="{LEFT - 4}" y="{TOP + 8}" text-anchor="end">{ends[1]:.2f}</text>'
        f'<text x="{LEFT - 4}" y="{TOP + 23}" text-anchor="end">nats</text>'
        f'<text x="{LEFT - 4}" y="{floor}" text-anchor="end">{ends[0]:.2f}</text>'
        f'<text x="{x[0]:.1f}" y="{HEIGHT - 8}">{escape(labels[0])}</text>'
        f'<text x="{x[-1]:.1f}" y="{HEIGHT - 8}" text-anchor="end">{escape(labels[1])}</text></g>'
    )
