"""Draw the figures of docs/explanation/how-it-works.md: `python docs/figures/make.py`. Takes a minute or two."""

import json
from pathlib import Path

import numpy as np

from tellapart import AEG, GLS, WSLTS, BernoulliBandit, Study
from tellapart.information.exact import exact_pointwise
from tellapart.report.figures import ranks_figure, reliability_figure
from tellapart.report.style import GREY, HABIT, INK, OURS, WIDE, canvas, save
from tellapart.tasks.text import parse_design
from tellapart.validation.calibration import FALSE_ALARM, calibrate_models, calibrate_ranks, ranks_among

HERE = Path(__file__).parent
DRAWN = "0.589,0.616,0.438; 0.383,0.551,0.075; 0.617,0.578,0.474"
RELEASED = (WSLTS(), AEG("released"), GLS("released"))

PUBLISHED = {  # goal, models, the design reported as optimal, a Beta(2, 2) draw
    "tell models apart": ("discriminate", (WSLTS(), AEG(), GLS()), "0,0,0.607; 1,1,0", "0.111,0.637,0.744; 0.663,0.215,0.657"),
    "estimate WSLTS": ("estimate", (WSLTS(),), "0,1,0; 0,1,1; 1,0,1", DRAWN),
    "estimate AEG": ("estimate", (AEG(),), "1,0,0; 0,0,1; 1,0,1", DRAWN),
    "estimate GLS": ("estimate", (GLS(),), "0,1,0; 0,0,1; 0,0,1", DRAWN),
    "tell models apart, released": ("discriminate", RELEASED, "0,0,0.607; 1,1,0", "0.111,0.637,0.744; 0.663,0.215,0.657"),
}


def exact(goal, models, *texts, n=4000):
    """The exact information of designs, in nats, each on the same simulated participants; printed as it is found."""
    study = Study(BernoulliBandit(3, texts[0].count(";") + 1, 30), models, goal)
    designs = [parse_design(study.task.design_space, text) for text in texts]
    points = [exact_pointwise(study.task, study.question, design, n, np.random.default_rng(1)) for design in designs]
    print(goal, *(model.name for model in models), *(one.estimate() for one in points), "gain of the draw", points[1].minus(points[0]))
    return [one.estimate().nats for one in points]


def loose_bounds():
    """Exact information of published optima against a draw of the baseline."""
    known = {name: exact(*asked) for name, asked in PUBLISHED.items()}
    shown = {name: nats for name, nats in known.items() if "released" not in name}
    with canvas(WIDE, 2.4) as (figure, axes):
        places = np.arange(len(shown))[::-1]
        published, drawn = zip(*shown.values(), strict=True)
        axes.barh(places + 0.19, published, 0.36, color=OURS, edgecolor=INK, label="design reported as optimal")
        axes.barh(places - 0.19, drawn, 0.36, color="white", edgecolor=HABIT, hatch="///", label="a randomly drawn design")
        axes.set_yticks(places, list(shown))
        axes.set_xlabel("exact information (nats)")
        figure.legend(loc="outside lower center", ncols=2)
        return figure


def recognised():
    """How many of 100 people are recognised, with customary, recommended and adaptive questions; from docs/numbers/discounting.json."""
    kept = json.loads((HERE.parent / "numbers" / "discounting.json").read_text())
    rows = [
        ("customary questions", np.mean([one["accuracy"] for one in kept["customary"]]), "white", HABIT, "///"),
        ("recommended questions", kept["recommended"]["accuracy"], OURS, OURS, ""),
        ("chosen for each person", kept["adaptive"]["accuracy"], OURS, INK, ""),
    ]
    names, shares, fills, edges, hatches = zip(*rows, strict=True)
    places = np.arange(len(rows))[::-1]
    with canvas(WIDE, 2.3) as (figure, axes):
        bars = axes.barh(places, 100 * np.array(shares), 0.6, color=fills, edgecolor=edges, hatch=hatches)
        axes.axvline(100 / 3, color=GREY, ls=":", lw=1.2)
        axes.text(100 / 3, places[0] + 0.45, "guessing", color=GREY, ha="center", fontsize=9)
        axes.bar_label(bars, [f"{100 * share:.0f}" for share in shares], padding=4, fontweight="bold")
        axes.set_yticks(places, names)
        axes.set_xlim(0, 100)
        axes.set_xlabel("people of 100 who are recognised")
        return figure


def posterior_and_information():
    """A posterior before and after data: information is how much more probable the truth has become."""
    x = np.linspace(0, 1, 200)
    after = x**13 * (1 - x) ** 5
    after /= after.mean()
    with canvas(WIDE, 2.4) as (figure, axes):
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
    drawn = {"loose-bounds": loose_bounds(), "information": posterior_and_information(), "recognised": recognised(), **dict(verdicts())}
    for name, figure in drawn.items():
        _, png = save(figure, HERE / name)
        png.unlink()  # pages show the SVG


if __name__ == "__main__":
    main()
