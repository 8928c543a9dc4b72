"""One look for all figures: colours that colour-blind readers tell apart, and shapes that a grey print tells apart."""

from __future__ import annotations

import io
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Iterator
from xml.etree import ElementTree

import matplotlib as mpl
from jinja2 import Environment, PackageLoader, StrictUndefined
from matplotlib.axes import Axes
from matplotlib.figure import Figure

INK = "#222222"
GREY = "#8a8a8a"
PALE = "#d9d9d9"
OURS = "#0072b2"
HABIT = "#d55e00"
THIRD = "#009e73"
EXACT = "#000000"
"""From the palette of Okabe and Ito (2008); blue prints darker than orange."""

SETTINGS: dict[Any, Any] = {
    "font.size": 10.0,
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans"],
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": INK,
    "axes.labelcolor": INK,
    "text.color": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "axes.titlesize": 10.0,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "legend.frameon": False,
    "legend.fontsize": 9.0,
    "figure.facecolor": "white",
    "savefig.facecolor": "white",
    "svg.fonttype": "none",
    "svg.hashsalt": "tellapart",
}

SVG, XLINK = "http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"
LINK = f"{{{XLINK}}}href"
ElementTree.register_namespace("", SVG)
ElementTree.register_namespace("xlink", XLINK)

NARROW, WIDE = 3.4, 4.8
"""Widths in inches: of a panel of which several stand side by side, and of a figure that stands alone; both can be read on a phone."""


@contextmanager
def canvas(width: float, height: float) -> Iterator[tuple[Figure, Axes]]:
    """A figure with one pair of axes that needs no window and no global state; what is drawn within has the look."""
    with mpl.rc_context(SETTINGS):
        figure = Figure(figsize=(width, height), layout="constrained")
        yield figure, figure.add_subplot()


def save(figure: Figure, path: Path) -> tuple[Path, Path]:
    """Write `path` with the endings .svg and .png; the same figure gives the same bytes."""
    svg, png = path.with_suffix(".svg"), path.with_suffix(".png")
    with mpl.rc_context(SETTINGS):
        figure.savefig(svg, metadata={"Date": None})
        figure.savefig(png, dpi=160, metadata={"Software": None})
    return svg, png


def lay_out_alone(figure: Figure) -> None:
    """Let a figure be laid out when it is drawn next, and no more: to save one, matplotlib draws it twice, first for its layout alone."""
    engine = figure.get_layout_engine()
    if engine is None:
        return

    def draw(renderer: Any) -> None:
        del vars(figure)["draw"]
        engine.execute(figure)

    vars(figure)["draw"] = draw


def inline(figure: Figure, name: str, title: str) -> str:
    """The figure as SVG for the inside of a page: scales with its place, and says what it is to those who cannot see it.

    Arguments:
        name: Begins all its ids, so that no two figures of a page share one.
        title: What it shows, in a sentence or two.
    """
    text = io.StringIO()
    lay_out_alone(figure)
    with mpl.rc_context(SETTINGS):
        figure.savefig(text, format="svg", metadata={"Date": None, "Creator": None, "Format": None, "Type": None})
    svg = ElementTree.fromstring(text.getvalue())
    for parent in svg.iter():
        for key, value in parent.items():
            if key == "id":
                parent.set(key, f"{name}-{value}")
            elif value.startswith("#"):
                parent.set(key, f"#{name}-{value[1:]}" if key == LINK else value)
            else:
                parent.set(key, value.replace("url(#", f"url(#{name}-"))
    del svg.attrib["height"]
    svg.set("style", f"width:{svg.attrib.pop('width')}")
    svg.set("role", "img")
    svg.set("aria-labelledby", f"{name}-title")
    said = ElementTree.Element(f"{{{SVG}}}title", {"id": f"{name}-title"})
    said.text = title
    svg.insert(0, said)
    return ElementTree.tostring(svg, encoding="unicode").strip()


@dataclass(frozen=True)
class Panel:
    """A figure on a page: its SVG, and what it shows in words."""

    svg: str
    caption: str


def panel(figure: Figure, name: str, caption: str, more: str = "") -> Panel:
    """The figure with its caption; those who cannot see it are told `more`."""
    return Panel(inline(figure, name, caption + more), caption)


def filled(template: str, **values: Any) -> str:
    """A page of `templates/` with values in it; one that is missing is an error."""
    loader = PackageLoader("tellapart.report")
    environment = Environment(loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    return environment.get_template(template).render(**values)
