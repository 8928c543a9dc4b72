"""Figures: each a function from results to a figure. Nothing is computed here that a reader of the results would not find in them."""

from __future__ import annotations

from itertools import cycle
from typing import Any, Mapping, Sequence

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import ArrayLike, NDArray

from ..errors import counted
from ..validation.comparison import BaselineComparison
from ..validation.confusion import Confusion
from ..validation.model_calibration import ModelCalibration
from ..validation.rank_calibration import RankCalibration
from ..validation.recovery import AveragedPosterior, Recovery
from .style import EXACT, GREY, HABIT, INK, NARROW, OURS, PALE, THIRD, WIDE, canvas

LONG = 20
"""Letters of the names of models, together, that no longer fit side by side under a narrow figure."""


def design_figure(design: ArrayLike, variables: Sequence[str], low: ArrayLike, high: ArrayLike, label: str) -> Figure:
    """A design (B, V) as bars: a group for each block if all variables have one scale, `low` to `high`, else axes for each variable."""
    values, least, most = (np.asarray(part, dtype=np.float64) for part in (design, low, high))
    if len(set(least)) > 1 or len(set(most)) > 1:
        return _each_variable(values, variables, least, most)
    blocks, count = values.shape
    base, top = float(least[0]), float(most[0])
    places = (count + 1.0) * np.arange(blocks)[:, None] + np.arange(count)
    with canvas(WIDE, 2.5) as (figure, axes):
        axes.bar(places.ravel(), values.ravel() - base, 0.8, bottom=base, color=OURS, edgecolor=INK, linewidth=0.8)
        for x, value in zip(places.ravel(), values.ravel(), strict=True):
            axes.annotate(f"{round(value, 3):g}", (x, value), (0, 3), textcoords="offset points", ha="center", fontsize=9)
        axes.set_xticks(places.ravel(), list(variables) * blocks, fontsize=9 if places.size < 10 else 7)
        below = ("data", "axes fraction")
        for b, middle in enumerate(places.mean(1)):
            axes.annotate(f"block {b + 1}", (middle, 0), (0, -32), xycoords=below, textcoords="offset points", ha="center")
        axes.set(ylim=(base, top + 0.12 * (top - base)), ylabel=label)
        return figure


def _each_variable(values: NDArray[np.float64], variables: Sequence[str], least: NDArray[np.float64], most: NDArray[np.float64]) -> Figure:
    """Axes for each variable, side by side, a bar for each block: for variables of different scales."""
    blocks, count = values.shape
    with canvas(WIDE, 1.0 + 0.26 * blocks) as (figure, first):
        first.remove()
        row = figure.subplots(1, count, sharey=True, squeeze=False)[0]
        for v, axes in enumerate(row):
            axes.barh(np.arange(blocks), values[:, v] - least[v], 0.7, left=least[v], color=OURS, edgecolor=INK, linewidth=0.8)
            for b, value in enumerate(values[:, v]):
                axes.annotate(f"{round(value, 3):g}", (value, b), (3, 0), textcoords="offset points", va="center", fontsize=9)
            axes.set_xlim(least[v], most[v] + 0.55 * (most[v] - least[v]))
            axes.set_xticks([least[v], most[v]])
            axes.set_xlabel(variables[v])
        row[0].set_yticks(np.arange(blocks), [f"block {b + 1}" for b in range(blocks)])
        row[0].invert_yaxis()
        return figure


def information_figure(comparison: BaselineComparison, most: float | None = None, exact: Mapping[str, float] | None = None) -> Figure:
    """The information of the recommended design against that of baseline designs.

    Arguments:
        most: The most that can be learned, in nats, where there is a most.
        exact: Exact information of the "recommended" design and, on average, of "baseline" designs.
    """
    values = [estimate.nats for estimate in comparison.baseline]
    ours, exact = comparison.recommended, exact or {}
    with canvas(WIDE, 2.3) as (figure, axes):
        offsets = 0.16 * np.resize([0.0, 1.0, -1.0, 0.5, -0.5], len(values))
        axes.plot(values, offsets, "o", color=HABIT, mfc="white", ms=6, label="baseline designs")
        axes.plot([comparison.mean.nats] * 2, [-0.3, 0.3], "--", color=HABIT, lw=1.5, label="their average")
        axes.errorbar([ours.nats], [1.0], xerr=[2 * ours.se], fmt="D", color=OURS, ms=8, capsize=4, label="recommended design (± 2 s.e.)")
        shown = [(exact[name], height) for name, height in (("recommended", 1.0), ("baseline", 0.0)) if name in exact]
        if shown:
            axes.plot(*zip(*shown, strict=True), "x", color=EXACT, ms=9, mew=2, label="exact")
        if most is not None and most < 2.5 * max(ours.nats, *values):
            axes.axvline(most, color=GREY, ls=":", label="the most possible")
        axes.set_yticks([0, 1], ["baseline", "recommended"])
        axes.set(ylim=(-0.5, 1.5), xlabel="information (nats)")
        figure.legend(loc="outside lower center", ncols=2)
        return figure


def curve_figure(points: Sequence[Mapping[str, Any]], target: float | None = None) -> Figure:
    """Information against the number of trials, a line for each number of blocks.

    Arguments:
        points: Each with "blocks", "trials" (of a block), "nats" and "se".
        target: What baseline designs tell with all trials.
    """
    with canvas(WIDE, 3.0) as (figure, axes):
        numbers = sorted({point["blocks"] for point in points})
        for number, line, marker in zip(numbers, cycle(("-", "--", "-.", ":")), cycle("osD^v"), strict=False):
            line_points = sorted((p for p in points if p["blocks"] == number), key=lambda p: p["trials"])
            x, y, se = (np.array([p[key] for p in line_points]) for key in ("trials", "nats", "se"))
            label = counted(number, "block")
            axes.errorbar(x, y, yerr=2 * se, fmt=marker + line, color=OURS, ms=5, mfc="white", capsize=2, label=label)
        if target is not None:
            axes.axhline(target, color=HABIT, lw=1.5, label="baseline designs, all trials")
        axes.set(xlabel="trials in each block", ylabel="information (nats)")
        axes.locator_params(axis="x", integer=True)
        axes.set_ylim(bottom=0)
        figure.legend(loc="outside lower center", ncols=3)
        return figure


def confusion_figure(confusion: Confusion, title: str) -> Figure:
    """Which model is taken for which, in percent."""
    shares, names = confusion.shares, confusion.models
    with canvas(NARROW, 0.9 + 0.62 * len(names)) as (figure, axes):
        axes.imshow(shares, cmap="Blues", vmin=0, vmax=1.1, aspect="auto")
        for (i, j), share in np.ndenumerate(shares):
            color, weight = "white" if share > 0.6 else INK, "bold" if i == j else "normal"
            axes.text(j, i, f"{100 * share:.0f} %", ha="center", va="center", color=color, weight=weight)
        axes.set_xticks(range(len(names)), names)
        if sum(map(len, names)) > LONG:
            axes.set_xticks(range(len(names)), names, rotation=25, ha="right", rotation_mode="anchor")
        axes.set_yticks(range(len(names)), names)
        axes.set(xlabel="most probable model", ylabel="true model", title=title)
        axes.spines[:].set_visible(False)
        axes.tick_params(length=0)
        return figure


def reliability_figure(calibration: ModelCalibration, title: str) -> Figure:
    """What was predicted against what happened; the bars are two standard errors, if the predictions are right."""
    bins = [b for b in calibration.bins if b.n >= 5]
    with canvas(NARROW, 3.0) as (figure, axes):
        axes.plot([0, 1], [0, 1], color=GREY, ls="--", lw=1, label="as predicted")
        x, y = [b.predicted for b in bins], [b.observed for b in bins]
        axes.errorbar(x, y, yerr=[2 * b.se for b in bins], fmt="o-", color=OURS, ms=5, capsize=3, label="simulated participants")
        axes.set(xlim=(0, 1), ylim=(-0.02, 1.02), title=title)
        axes.set(xlabel="probability given to a model", ylabel="how often it was the true one")
        figure.legend(loc="outside lower center", ncols=2, columnspacing=0.8, handlelength=1.4)
        return figure


def recovery_figure(recovery: Recovery, title: str) -> Figure:
    """True values against posterior means with their 90 % intervals."""
    truth, mean, low, high = (np.asarray(values) for values in (recovery.truth, recovery.mean, recovery.low, recovery.high))
    ends = _ends(truth, mean)
    with canvas(NARROW, 3.0) as (figure, axes):
        axes.vlines(truth[:100], low[:100], high[:100], color=PALE, lw=1, label="90 % interval")
        axes.plot(truth, mean, "o", color=OURS, ms=3, alpha=0.7, label="posterior mean")
        axes.plot(ends, ends, color=INK, ls="--", lw=1, label="perfect")
        axes.set(xlim=ends, ylim=ends, xlabel="true value", ylabel="recovered value", title=title)
        figure.legend(loc="outside lower center", ncols=3, columnspacing=0.8, handlelength=1.2)
        return figure


def averaged_posterior_figure(ours: AveragedPosterior, others: Mapping[str, AveragedPosterior], title: str) -> Figure:
    """Posteriors at one true value, averaged over participants, at the recommended design and at one or two others, by name."""
    with canvas(NARROW, 2.9) as (figure, axes):
        axes.stairs(ours.prior, ours.edges, color=GREY, ls=":", label="prior")
        for (name, other), color, line in zip(others.items(), (HABIT, THIRD), ("--", (0, (4, 1, 1, 1))), strict=False):
            axes.stairs(other.density, other.edges, color=color, ls=line, lw=1.8, label=name)
        axes.stairs(ours.density, ours.edges, color=OURS, lw=1.8, label="recommended")
        if ours.exact is not None:
            middle = (np.array(ours.edges[1:]) + np.array(ours.edges[:-1])) / 2
            axes.plot(middle[::3], ours.exact[::3], "x", color=EXACT, ms=5, label="exact")
        axes.axvline(ours.truth, color=INK, lw=1, ls="-.", label="true value")
        axes.set(xlim=(ours.edges[0], ours.edges[-1]), xlabel="value", ylabel="average density", title=title)
        axes.set_ylim(bottom=0)
        figure.legend(loc="outside lower center", ncols=3, columnspacing=0.8, handlelength=1.6)
        return figure


def ranks_figure(calibration: RankCalibration, title: str) -> Figure:
    """The distribution of ranks less the uniform one, with the band that it should stay in."""
    x = [0.0, *calibration.points, 1.0]
    low, high, line = ([0.0, *values, 0.0] for values in (calibration.low, calibration.high, calibration.difference))
    with canvas(NARROW, 2.7) as (figure, axes):
        axes.fill_between(x, low, high, color=PALE, label="right posteriors")
        axes.axhline(0, color=GREY, lw=0.8)
        axes.plot(x, line, color=OURS, lw=1.8, label="ranks of true values")
        axes.set(xlim=(0, 1), xlabel="rank of the true value (share)", ylabel="more ranks below\nthan expected", title=title)
        figure.legend(loc="outside lower center", ncols=2)
        return figure


def coverage_figure(calibrations: Sequence[RankCalibration], title: str) -> Figure:
    """How often credible intervals hold the true value, against how often they should."""
    with canvas(NARROW, 3.0) as (figure, axes):
        axes.plot([0, 1], [0, 1], color=GREY, ls="--", lw=1, label="as promised")
        for part, marker in zip(calibrations, cycle("osD^vP"), strict=False):
            label = f"{part.model}: {part.parameter}"
            axes.plot(part.levels, part.coverage, marker + "-", color=OURS, mfc="white", ms=5, lw=0.8, label=label)
        axes.set(xlim=(0.4, 1), ylim=(0.3, 1.02), xlabel="credible level", ylabel="holds the true value", title=title)
        axes.legend(loc="lower right", fontsize=8)
        return figure


def search_figure(trace: Sequence[Mapping[str, Any]]) -> Figure | None:
    """The history of a search: the bound as training went on ("step" and "training"), or the estimates ("nats") as designs were tried.

    None if there is neither.
    """
    training = [(step["step"], step["training"]) for step in trace if "training" in step]
    tried = [step["nats"] for step in trace if "nats" in step]
    if not training and not tried:
        return None
    with canvas(WIDE, 2.6) as (figure, axes):
        if training:
            axes.plot(*zip(*training, strict=True), color=OURS, lw=1.5, label="on new simulations, over all designs trained on")
        else:
            numbers = np.arange(1, len(tried) + 1)
            axes.plot(numbers, tried, "o", color=HABIT, mfc="white", ms=5, label="estimate of a design")
            axes.step(numbers, np.maximum.accumulate(tried), where="post", color=OURS, label="best so far")
        axes.set(xlabel="steps of training" if training else "designs tried", ylabel="information (nats)")
        axes.legend(loc="lower right")
        return figure


def _ends(*values: NDArray[np.float64]) -> tuple[float, float]:
    """Limits that hold nearly all values; a long tail is cut."""
    together = np.concatenate(values)
    low, high = float(together.min()), float(np.quantile(together, 0.99))
    margin = 0.04 * (high - low or 1.0)
    return low - margin, high + margin
