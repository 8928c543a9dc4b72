"""The section on adapting: what it is worth, and what different participants would be given."""

from __future__ import annotations

from typing import Any, Mapping, Sequence

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator
from numpy.typing import ArrayLike

from .style import HABIT, OURS, WIDE, canvas

SHOWN = 12
"""Participants of the picture."""


def in_words(adaptive: Mapping[str, Any]) -> str:
    """What adapting is worth, from what `tellapart adapt` kept."""
    policy, fixed, gain = adaptive["policy"], adaptive["fixed"], adaptive["difference"]
    verdict = {
        "worth it": "Choosing blocks for each participant is worth it",
        "not worth it here": "Choosing blocks for each participant is not worth it here",
        "not clear": "Whether choosing blocks for each participant is worth it is not clear",
    }[adaptive["verdict"]]
    text = f"{verdict}: {policy['nats']:.2f} nats in the place of {fixed['nats']:.2f}"
    text += f" ({gain['nats']:+.3f} ± {gain['se']:.3f}, paired, {policy['n']} simulated participants)."
    stopping, blocks = adaptive["stopping"], adaptive["curve"][-1]["blocks"]
    if adaptive["verdict"] == "worth it" and (adaptive["equal_after_blocks"] or blocks) < blocks:
        text += f" It tells as much as the fixed design after {adaptive['equal_after_blocks']} of {blocks} blocks."
    if dropped := adaptive.get("dropped"):
        left = f"{dropped['policy']} of {dropped['of']} participants could not be simulated at what they were given"
        text += f" {left}, and {dropped['fixed']} not at the recommended design; they are left out of both."
    text += "".join(f" {adaptive[key]}" for key in ("doubts", "late") if adaptive.get(key))
    saved = f"{stopping['saved']:.2f} ± {stopping['se']:.2f}"
    return f"{text} Stopping when enough is known saves {saved} of {blocks} blocks on average. Bars: the standard error of the difference."


def worth_figure(curve: Sequence[Mapping[str, Any]]) -> Figure:
    """Information after each number of blocks, adaptive and fixed."""
    blocks = [point["blocks"] for point in curve]
    with canvas(WIDE, 2.8) as (figure, axes):
        for key, colour, label in (("policy", OURS, "chosen for each participant"), ("fixed", HABIT, "recommended design")):
            errors = [point["difference"]["se"] for point in curve] if key == "policy" else None
            axes.errorbar(blocks, [point[key] for point in curve], errors, fmt="o-", color=colour, label=label, capsize=2)
        axes.set(xlabel="blocks", ylabel="information (nats)")
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        figure.legend(loc="outside lower center", ncols=2, columnspacing=0.8, handlelength=1.4)
        return figure


def given_figure(designs: ArrayLike, names: Sequence[str], low: ArrayLike, high: ArrayLike, plan: ArrayLike) -> Figure:
    """What participants were given (N, B, V), block after block, beside the plan (B, V): a line for each, a panel for each variable."""
    given, fixed, least, most = (np.asarray(part, np.float64) for part in (designs, plan, low, high))
    room, blocks = 0.05 * (most - least), np.arange(1, given.shape[1] + 1)
    with canvas(WIDE, 1.6 * len(names)) as (figure, first):
        first.remove()
        panels = figure.subplots(len(names), 1, sharex=True, squeeze=False)[:, 0]
        for v, (axes, name) in enumerate(zip(panels, names, strict=True)):
            axes.plot(blocks, given[:SHOWN, :, v].T, "-", color=OURS, alpha=0.5, linewidth=0.9)
            axes.plot(blocks, fixed[:, v], "--", color=HABIT, linewidth=1.2)
            axes.set_ylim(least[v] - room[v], most[v] + room[v])
            axes.set_ylabel(name, fontsize=8)
        panels[-1].set_xlabel("block")
        panels[-1].xaxis.set_major_locator(MaxNLocator(integer=True))
        return figure
