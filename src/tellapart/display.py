"""How objects show themselves in a notebook: short tables with small figures, as HTML that needs nothing else.

Everything that goes in is escaped, save what these functions made themselves, which is an `Html`.
"""

from __future__ import annotations

import html
from itertools import cycle
from typing import Any, Iterable, Sequence

COLOURS = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#f0e442", "#999999")
"""For models, in their order; from the palette of Okabe and Ito (2008)."""

ROWS = 10
"""So many rows of a long table are shown."""

_CELL = ' style="text-align:left"'


class Html(str):
    """Text that is HTML already."""


def escape(value: Any) -> Html:
    """Any value as text inside HTML."""
    return value if isinstance(value, Html) else Html(html.escape(str(value)))


def table(rows: Iterable[Sequence[Any]], header: Sequence[str] = (), caption: str = "") -> Html:
    """A table whose first column names the rows."""
    above = f'<caption style="text-align:left;caption-side:top">{escape(caption)}</caption>' if caption else ""
    head = "".join(f'<th scope="col"{_CELL}>{escape(cell)}</th>' for cell in header)
    body = "".join(_row(row) for row in rows)
    return Html(f"<table>{above}{f'<thead><tr>{head}</tr></thead>' if head else ''}<tbody>{body}</tbody></table>")


def _row(row: Sequence[Any]) -> str:
    first, *others = row
    return f'<tr><th scope="row"{_CELL}>{escape(first)}</th>' + "".join(f"<td{_CELL}>{escape(cell)}</td>" for cell in others) + "</tr>"


def together(*parts: Html) -> Html:
    """One below the other."""
    return Html("<div>" + "".join(parts) + "</div>")


def note(text: str) -> Html:
    """A line below a table."""
    return Html(f"<p>{escape(text)}</p>")


def bars(heights: Sequence[float], labels: Sequence[str], height: int = 56) -> Html:
    """Bars side by side, each `heights` a share from 0 to 1; `labels` are what a mouse or a screen reader is told."""
    drawn = "".join(
        f'<rect x="{10 * i + 1}" y="{height * (1 - share):.1f}" width="8" height="{max(height * share, 1):.1f}" fill="{COLOURS[0]}">'
        f"<title>{escape(label)}</title></rect>"
        for i, (share, label) in enumerate(zip(heights, labels, strict=True))
    )
    return _svg(10 * len(heights), height, drawn + f'<path d="M0 {height}h{10 * len(heights)}" stroke="currentColor"/>', ", ".join(labels))


def shares(values: Sequence[float], names: Sequence[str], width: int = 120) -> Html:
    """Probabilities that sum to 1 as one bar, a colour for each name."""
    drawn, left = "", 0.0
    for (value, name), colour in zip(zip(values, names, strict=True), cycle(COLOURS), strict=False):
        drawn += (
            f'<rect x="{left * width:.1f}" width="{value * width:.1f}" height="12" fill="{colour}"><title>{escape(name)}</title></rect>'
        )
        left += value
    return _svg(width, 12, drawn, ", ".join(f"{name} {100 * value:.0f} %" for name, value in zip(names, values, strict=True)))


def legend(names: Sequence[str]) -> Html:
    """Which colour stands for which name."""
    marks = [f'<span style="color:{colour}">■</span> {escape(name)}' for name, colour in zip(names, cycle(COLOURS), strict=False)]
    return Html("<p>" + " &nbsp; ".join(marks) + "</p>")


def _svg(width: int, height: int, drawn: str, label: str) -> Html:
    name = html.escape(label, quote=True)
    return Html(f'<svg role="img" aria-label="{name}" width="{width}" height="{height}" viewBox="0 0 {width} {height}">{drawn}</svg>')
