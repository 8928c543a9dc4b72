"""Figures of an analysis: who is like which model, how frequent models are, parameters, observed against predicted, how many people."""

from __future__ import annotations

from typing import Any, Mapping, Sequence

import numpy as np
from matplotlib.figure import Figure

from ..groups.parameters import GroupParameters, ParameterDifference
from ..groups.power import PowerCurve
from ..groups.predictive import Prediction, average
from ..groups.random_effects import RandomEffects
from .style import EXACT, GREY, HABIT, INK, NARROW, OURS, PALE, THIRD, WIDE, canvas

COLOURS = (OURS, HABIT, THIRD, "#cc79a7", "#56b4e9", "#e69f00", GREY)
HATCHES = ("", "///", "...", "xxx", "\\\\\\", "ooo", "---")
MARKERS = ("o", "s", "^", "D", "v", "P", "X")


def people_figure(probabilities: np.ndarray[Any, np.dtype[np.float64]], names: Sequence[str]) -> Figure:
    """Model probabilities of each person, stacked, people sorted by their most probable model."""
    order = np.lexsort((-probabilities.max(1), probabilities.argmax(1)))
    with canvas(WIDE, 2.4) as (figure, axes):
        edges, below = np.repeat(np.arange(len(order) + 1), 2)[1:-1] - 0.5, np.zeros(2 * len(order))
        for m, name in enumerate(names):
            above = below + np.repeat(probabilities[order, m], 2)
            axes.fill_between(edges, below, above, facecolor=COLOURS[m % 7], hatch=HATCHES[m % 7], edgecolor="white", lw=0.0, label=name)
            below = above
        axes.set(xlim=(-0.5, len(order) - 0.5), ylim=(0, 1), xlabel=f"{len(order)} people", ylabel="model probability", xticks=[])
        figure.legend(loc="outside lower center", ncols=min(4, len(names)))
        return figure


def frequencies_figure(effects: Mapping[str, RandomEffects]) -> Figure:
    """Frequencies of models with intervals, for one or more groups of people."""
    first = next(iter(effects.values()))
    names = first.names
    with canvas(WIDE, 0.9 + 0.42 * len(names) * max(1, 0.6 * len(effects))) as (figure, axes):
        step = 0.6 / max(1, len(effects) - 1) if len(effects) > 1 else 0.0
        for g, (label, one) in enumerate(effects.items()):
            places = -np.arange(len(names)) - (g * step - 0.3 * (len(effects) > 1))
            errors = np.stack([one.frequencies - one.low, one.high - one.frequencies]).clip(0)
            axes.errorbar(one.frequencies, places, xerr=errors, fmt=MARKERS[g % 7], color=COLOURS[g % 7], capsize=3, label=label)
        axes.axvline(1 / len(names), color=GREY, ls=":")
        axes.set_yticks(-np.arange(len(names)), names)
        axes.set(xlim=(0, 1), ylim=(-len(names) + 0.4, 0.6), xlabel=f"frequency in the population ({100 * first.interval:.0f} % intervals)")
        if len(effects) > 1:
            figure.legend(loc="outside lower center", ncols=min(4, len(effects)))
        return figure


def parameters_figure(group: GroupParameters) -> Figure:
    """The population's mean of each parameter with its interval, and where most people are, each in its own unit."""
    rows = group.rows()
    with canvas(NARROW, 0.8 + 0.55 * len(rows)) as (figure, whole):
        whole.remove()
        for row, axes in zip(rows, figure.subplots(len(rows), 1, squeeze=False)[:, 0], strict=True):
            axes.plot(group.middle(row["parameter"]), [0, 0], color=PALE, lw=8, solid_capstyle="butt")
            error = [[max(row["mean"] - row["mean_low"], 0)], [max(row["mean_high"] - row["mean"], 0)]]
            axes.errorbar([row["mean"]], [0], xerr=error, fmt="o", color=OURS, capsize=3)
            axes.set_yticks([0], [row["parameter"]])
            axes.set(ylim=(-0.6, 0.6))
        figure.suptitle(group.model)
        axes.set_xlabel("population mean (90 %)")
        return figure


def differences_figure(differences: Sequence[ParameterDifference]) -> Figure:
    """Differences of population means with intervals, in units of the normal scale, on which all parameters are alike."""
    with canvas(WIDE, 0.9 + 0.32 * len(differences)) as (figure, axes):
        for i, one in enumerate(differences):
            low, middle, high = np.quantile(one.normal, [0.05, 0.5, 0.95])
            axes.errorbar([middle], [-i], xerr=[[middle - low], [high - middle]], fmt="o", color=OURS, capsize=3)
        axes.axvline(0, color=GREY, ls=":")
        labels = [f"{one.model}.{one.parameter}: {one.first} - {one.second}" for one in differences]
        axes.set_yticks(-np.arange(len(differences)), labels, fontsize=8)
        axes.set_xlabel("difference, normal scale (90 %)")
        return figure


def predictive_figure(prediction: Prediction) -> Figure:
    """The group's average of each statistic, observed, and between which it would be in 95 % of simulated groups."""
    rows = prediction.rows()
    with canvas(WIDE, 0.8 + 0.24 * len(rows)) as (figure, axes):
        places = -np.arange(len(rows))
        for place, row in zip(places, rows, strict=True):
            axes.plot([row["low"], row["high"]], [place, place], color=PALE, lw=7, solid_capstyle="butt")
            strange = not row["low"] <= row["observed"] <= row["high"]
            axes.plot(row["observed"], place, "D" if strange else "o", color=HABIT if strange else EXACT, ms=5)
        for m, model in enumerate(prediction.models):
            values = [row[f"predicted.{model}"] for row in rows]
            axes.plot(values, places, MARKERS[(m + 2) % 7], mfc="none", color=COLOURS[m % 7], ms=4, label=model)
        axes.set_yticks(places, [row["statistic"] for row in rows], fontsize=8)
        axes.set_xlabel("group average (grey: 95 %)")
        figure.legend(loc="outside lower center", ncols=min(4, len(prediction.models)))
        return figure


def curves_figure(prediction: Prediction, stems: Sequence[str], parts: Sequence[str]) -> Figure:
    """Statistics as a block goes on, observed and predicted by each model."""
    places_of = [np.arange(len(parts)) + s * (len(parts) + 0.7) for s in range(len(stems))]
    with canvas(WIDE, 2.4) as (figure, axes):
        for s, (stem, places) in enumerate(zip(stems, places_of, strict=True)):
            columns = [prediction.names.index(f"{stem}, {part}") for part in parts]
            observed = [average(prediction.observed[:, column]) for column in columns]
            axes.plot(places, observed, "o-", color=EXACT, lw=2, label="observed" if s == 0 else None)
            for m, model in enumerate(prediction.models):
                predicted = [average(prediction.predicted[m][:, column]) for column in columns]
                look, label = MARKERS[(m + 2) % 7] + "--", model if s == 0 else None
                axes.plot(places, predicted, look, color=COLOURS[m % 7], mfc="none", ms=5, label=label)
            axes.annotate(stem, (places.mean(), 0), (0, -34), xycoords=("data", "axes fraction"), textcoords="offset points", ha="center")
        axes.set_xticks(np.concatenate(places_of), [part.split()[0] for part in parts] * len(stems))
        axes.set_ylabel("average of the group")
        figure.legend(loc="outside upper center", ncols=min(4, len(prediction.models) + 1))
        return figure


def power_figure(curves: Mapping[str, PowerCurve], target: float) -> Figure:
    """The share of studies that are right, against the number of people."""
    with canvas(WIDE, 2.6) as (figure, axes):
        for c, (label, curve) in enumerate(curves.items()):
            look, colour = MARKERS[c % 7] + "-", COLOURS[c % 7]
            axes.errorbar(curve.sizes, curve.share, yerr=2 * curve.se, fmt=look, color=colour, capsize=2, ms=5, label=label)
        axes.axhline(target, color=INK, ls=":", lw=1)
        people = "people" if all(curve.groups == 1 for curve in curves.values()) else "people in each group"
        axes.set(ylim=(0, 1.03), xlabel=people, ylabel="share of studies that are right")
        figure.legend(loc="outside lower center", ncols=2)
        return figure
