"""Draw the figures of docs/how-it-works.md: `python docs/figures/make.py`. Takes a few seconds."""

from pathlib import Path

import numpy as np

from tellapart.report.figures import ranks_figure, reliability_figure
from tellapart.report.style import GREY, HABIT, INK, OURS, WIDE, canvas, save, styled
from tellapart.validation.calibration import FALSE_ALARM, calibrate_models, calibrate_ranks, ranks_among

HERE = Path(__file__).parent

EXACT = {  # nats, exact, 3 arms and 30 trials: see docs/exact.md
    "tell models apart": (0.891, 0.922),
    "estimate WSLTS": (3.66, 4.04),
    "estimate AEG": (1.97, 2.14),
    "estimate GLS": (1.82, 2.83),
}


def loose_bounds():
    """Exact information of published optima against a draw of the baseline."""
    with styled():
        figure, axes = canvas(WIDE, 2.4)
        places = np.arange(len(EXACT))[::-1]
        published, habit = zip(*EXACT.values(), strict=True)
        axes.barh(places + 0.19, published, 0.36, color=OURS, edgecolor=INK, label="design reported as optimal")
        axes.barh(places - 0.19, habit, 0.36, color="white", edgecolor=HABIT, hatch="///", label="a design of habit")
        axes.set_yticks(places, list(EXACT))
        axes.set_xlabel("exact information (nats)")
        figure.legend(loc="outside lower center", ncols=2)
        return figure


def posterior_and_information():
    """A posterior before and after data: information is how much more probable the truth has become."""
    x = np.linspace(0, 1, 200)
    after = x**13 * (1 - x) ** 5
    after /= after.mean()
    with styled():
        figure, axes = canvas(WIDE, 2.4)
        axes.axhline(1.0, color=GREY, ls=":", label="prior")
        axes.plot(x, after, color=OURS, label="posterior of one participant")
        axes.axvline(0.7, color=INK, ls="-.", lw=1, label="true value")
        height = float(np.interp(0.7, x, after))
        axes.annotate("", (0.7, height), (0.7, 1.0), arrowprops={"arrowstyle": "->", "color": HABIT, "lw": 2})
        text = f"log {height:.1f} = {np.log(height):.2f} nats"
        axes.annotate(text, (0.7, 1.6), (-6, 0), textcoords="offset points", color=HABIT, ha="right")
        axes.set(xlabel="parameter", ylabel="density", xlim=(0, 1))
        axes.legend(loc="upper left")
        return figure


def verdicts():
    """Ranks and reliability of a right, an overconfident and an underconfident posterior."""
    rng = np.random.default_rng(1)
    theta = rng.standard_normal(1500)
    y = theta + rng.standard_normal(1500)
    for name, width in (("right", 1.0), ("overconfident", 0.6), ("underconfident", 1.6)):
        draws = y[:, None] / 2 + width * np.sqrt(0.5) * rng.standard_normal((1500, 119))
        yield f"ranks-{name}", ranks_figure(calibrate_ranks(ranks_among(theta, draws, rng), 119, FALSE_ALARM), name)
    model = rng.integers(0, 3, 1500)
    log_q = 2.0 * (np.eye(3)[model] + rng.standard_normal((1500, 3)) / np.sqrt(2.0))
    for name, power in (("right", 1.0), ("overconfident", 2.0), ("underconfident", 0.5)):
        yield f"reliability-{name}", reliability_figure(calibrate_models(model, power * log_q, FALSE_ALARM, rng), name)


def main():
    save(loose_bounds(), HERE / "loose-bounds")
    save(posterior_and_information(), HERE / "information")
    for name, figure in verdicts():
        save(figure, HERE / name)
    for png in HERE.glob("*.png"):
        png.unlink()  # pages show the SVG


if __name__ == "__main__":
    main()
