"""What the figures show: read back from the figures themselves, from their SVG, and from a grey copy of their colours."""

import re
from dataclasses import replace
from functools import cache
from xml.etree import ElementTree

import numpy as np
import pytest
from matplotlib.figure import Figure

from tellapart import AEG, GLS, WSLTS, Difference, InformationEstimate, Question, Uniform
from tellapart.report import figures, style
from tellapart.validation.comparison import BaselineComparison
from tellapart.validation.confusion import confusion_matrix
from tellapart.validation.model_calibration import calibrate_models
from tellapart.validation.rank_calibration import calibrate_ranks
from tellapart.validation.recovery import AveragedPosterior, recover

QUESTION = Question((WSLTS(), AEG(), GLS()))


def rng():
    return np.random.default_rng(0)


def estimate(nats):
    return InformationEstimate(nats, 0.01, "lower bound", 1000)


def confusion():
    return confusion_matrix(QUESTION, np.arange(300) % 3, rng().dirichlet([1, 1, 1], 300))


def recovered():
    truth = rng().random(200)
    return recover("aeg", "phi", Uniform(), truth, truth[:, None] + 0.1 * rng().standard_normal((200, 50)))


def averaged(level):
    edges = tuple(np.linspace(0, 1, 5))
    return AveragedPosterior("aeg", "phi", 0.4, 10, edges, (level, 1.0, 1.0, 2 - level), (1.0,) * 4, 0.2, (1.0,) * 4, 0.2)


def reliability():
    return calibrate_models(np.arange(300) % 3, np.log(rng().dirichlet([1, 1, 1], 300)), 1e-3, rng())


def ranks(**names):
    return calibrate_ranks(rng().integers(0, 120, 500), 119, 1e-3, **names)


COMPARISON = BaselineComparison(estimate(0.9), (estimate(0.5), estimate(0.6)), estimate(0.55), Difference(0.35, 0.01), 2)
CURVE = [{"blocks": b, "trials": t, "nats": 0.01 * b * t, "se": 0.01} for b in (1, 2) for t in (5, 10, 20)]
TRAINING = [{"step": 10 * i, "training": 0.1 * i} for i in range(5)] + [{"survey": "survey 0", "best": 0.4, "designs": 64}]

FIGURES = {
    "design": lambda: figures.design_figure([[0, 0.5, 1], [0.25, 0.3333, 0]], ["arm 0", "arm 1", "arm 2"], [0] * 3, [1] * 3, "chance"),
    "information": lambda: figures.information_figure(COMPARISON, 1.1, {"baseline": 0.7}),
    "curve": lambda: figures.curve_figure(CURVE, 0.15),
    "confusion": lambda: figures.confusion_figure(confusion(), "Recommended design"),
    "reliability": lambda: figures.reliability_figure(reliability(), "here"),
    "recovery": lambda: figures.recovery_figure(recovered(), "aeg: phi"),
    "averaged": lambda: figures.averaged_posterior_figure(averaged(0.5), {"habit": averaged(0.8), "other": averaged(0.9)}, "aeg: phi"),
    "ranks": lambda: figures.ranks_figure(ranks(), "aeg: phi"),
    "coverage": lambda: figures.coverage_figure([ranks(model="aeg", parameter="phi")], "here"),
    "search": lambda: figures.search_figure(TRAINING),
}
each = pytest.mark.parametrize("name", FIGURES)


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """A figure and its two files; each figure is saved once for all tests."""
    folder = tmp_path_factory.mktemp("figures")

    @cache
    def save(name):
        figure = FIGURES[name]()
        return figure, *style.save(figure, folder / name)

    return save


@each
def test_every_figure_is_labelled_in_words_and_saved_twice(name, saved):
    figure, svg, png = saved(name)
    axes = figure.axes[0]
    assert axes.get_ylabel() or axes.get_yticklabels()
    assert axes.get_xlabel() or name == "design"
    assert svg.stat().st_size > 1000
    assert png.read_bytes().startswith(b"\x89PNG")


@each
def test_the_same_figure_gives_the_same_bytes(name, saved, tmp_path, monkeypatch):
    """The drawing of each; the pixels of one, as they are drawn from the same."""
    whole, pixels = Figure.savefig, name == "search"
    if not pixels:
        monkeypatch.setattr(Figure, "savefig", lambda figure, path, **how: path.suffix == ".svg" and whole(figure, path, **how))
    one, other = saved(name)[1:], style.save(FIGURES[name](), tmp_path / name)
    assert one[0].read_bytes() == other[0].read_bytes()
    assert not pixels or one[1].read_bytes() == other[1].read_bytes()


@each
def test_an_inline_figure_says_what_it_shows_and_keeps_its_ids_to_itself(name):
    svg = style.inline(FIGURES[name](), f"x-{name}", "All of it <in> words")
    tree = ElementTree.fromstring(svg)
    assert tree.attrib["role"] == "img"
    assert tree.attrib["aria-labelledby"] == f"x-{name}-title"
    assert tree[0].text == "All of it <in> words"
    assert all(found.startswith(f"x-{name}-") for found in re.findall(r'\bid="([^"]+)"', svg))
    assert all(found.startswith(f"x-{name}-") for found in re.findall(r"url\(#([^)]+)\)", svg))
    assert "height=" not in svg[: svg.index(">")]


def test_bars_are_as_high_as_the_design():
    axes = FIGURES["design"]().axes[0]
    assert [bar.get_height() for bar in axes.patches] == pytest.approx([0, 0.5, 1, 0.25, 0.3333, 0])
    assert {text.get_text() for text in axes.texts} >= {"0.333", "block 1", "block 2"}


def test_settings_on_different_scales_have_axes_of_their_own():
    contrast, duration = figures.design_figure([[5, 100], [7, 50]], ["contrast", "duration"], [0, 20], [10, 200], "setting").axes
    assert [bar.get_width() for bar in contrast.patches] == [5, 7]
    assert [bar.get_width() for bar in duration.patches] == [80, 30]
    assert [text.get_text() for text in duration.texts] == ["100", "50"]
    assert [text.get_text() for text in contrast.get_yticklabels()] == ["block 1", "block 2"]
    assert (contrast.get_xlabel(), duration.get_xlabel()) == ("contrast", "duration")


def test_the_recommended_design_is_where_it_belongs():
    axes = FIGURES["information"]().axes[0]
    drawn = {line.get_label(): line.get_xdata() for line in axes.lines}
    assert list(drawn["baseline designs"]) == [0.5, 0.6]
    assert list(drawn["their average"]) == [0.55, 0.55]
    assert list(drawn["exact"]) == [0.7]


def test_a_confusion_matrix_shows_its_percentages():
    found = confusion()
    texts = [text.get_text() for text in figures.confusion_figure(found, "").axes[0].texts]
    assert texts == [f"{100 * share:.0f} %" for share in found.shares.ravel()]


def test_curves_have_a_line_for_each_number_of_blocks():
    legend = [text.get_text() for text in FIGURES["curve"]().legends[0].texts]
    assert sorted(legend) == ["1 block", "2 blocks", "baseline designs, all trials"]


def test_both_kinds_of_search_have_a_history():
    assert list(FIGURES["search"]().axes[0].lines[0].get_ydata()) == pytest.approx([0, 0.1, 0.2, 0.3, 0.4])
    tried = figures.search_figure([{"nats": 0.2}, {"nats": 0.5}, {"nats": 0.3}])
    assert list(tried.axes[0].lines[1].get_ydata()) == [0.2, 0.5, 0.5]
    assert figures.search_figure([]) is None


def luminance(colour):
    values = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [v / 12.92 if v <= 0.03928 else ((v + 0.055) / 1.055) ** 2.4 for v in values]
    return float(np.dot([0.2126, 0.7152, 0.0722], linear))


def test_colours_differ_in_grey_and_stand_out_from_the_page():
    ours, habit = luminance(style.OURS), luminance(style.HABIT)
    assert (max(ours, habit) + 0.05) / (min(ours, habit) + 0.05) > 1.2
    assert all(1.05 / (luminance(colour) + 0.05) >= 3 for colour in (style.OURS, style.HABIT, style.INK, style.GREY))


def test_a_figure_on_a_page_is_drawn_once_and_as_if_it_had_been_drawn_twice(monkeypatch):
    from matplotlib.axes import Axes

    drawn, whole = [], Axes.draw
    monkeypatch.setattr(Axes, "draw", lambda axes, renderer: (drawn.append(axes), whole(axes, renderer)))
    once = style.inline(figures.confusion_figure(confusion(), "a design"), "one", "a figure")
    assert len(drawn) == 1
    monkeypatch.setattr(style, "lay_out_alone", lambda figure: None)
    assert style.inline(figures.confusion_figure(confusion(), "a design"), "one", "a figure") == once
    assert len(drawn) == 3


def test_trials_are_whole():
    figure = figures.curve_figure([{"blocks": 1, "trials": t, "nats": 0.1 * t, "se": 0.01} for t in range(2, 21, 2)])
    assert all(tick == round(tick) for tick in figure.axes[0].get_xticks())


def test_long_names_of_models_do_not_touch():
    short, long = confusion(), replace(confusion(), models=("exponential", "hyperbolic", "present-bias"))
    assert not any(label.get_rotation() for label in figures.confusion_figure(short, "here").axes[0].get_xticklabels())
    assert all(label.get_rotation() for label in figures.confusion_figure(long, "here").axes[0].get_xticklabels())
