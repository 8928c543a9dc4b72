"""Write docs/explanation/paper.md: the published designs, randomly drawn ones and ours, as estimated and exactly, with the figures remade.

`make -C examples/paper` runs the four studies and then this; `python docs/figures/paper.py` takes the runs that are there.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tellapart import (
    BayesianOptimization,
    DesignResult,
    InformationEstimate,
    Run,
    Study,
    exact_information,
    format_design,
    parse_design,
)
from tellapart.curve import information_curve
from tellapart.report.figures import averaged_posterior_figure, confusion_figure
from tellapart.report.style import save
from tellapart.validation.confusion import confusion
from tellapart.validation.participants import take_part
from tellapart.validation.recovery import averaged_posteriors

DOCS = Path(__file__).resolve().parents[1]
HERE = DOCS.parent / "examples" / "paper"
N = 9_000

TWO_BLOCKS, THREE_BLOCKS = "0.111,0.637,0.744; 0.663,0.215,0.657", "0.589,0.616,0.438; 0.383,0.551,0.075; 0.617,0.578,0.474"
ZEROS, HALVES = "; ".join(["0,0,0"] * 3), "; ".join(["0.5,0.5,0.5"] * 3)
DESIGNS = {
    "discriminate": {
        "published": "0,0,0.607; 1,1,0",
        "drawn": TWO_BLOCKS,
        "all 0.5": "0.5,0.5,0.5; 0.5,0.5,0.5",
        "by hand": "0,0.7,0.7; 0.25,0.47,0.51",
    },
    "estimate-wslts": {"published": "0,1,0; 0,1,1; 1,0,1", "drawn": THREE_BLOCKS, "all 0.5": HALVES, "all 0": ZEROS},
    "estimate-aeg": {"published": "1,0,0; 0,0,1; 1,0,1", "drawn": THREE_BLOCKS, "all 0.5": HALVES, "all 0": ZEROS},
    "estimate-gls": {"published": "0,1,0; 0,0,1; 0,0,1", "drawn": THREE_BLOCKS, "all 0.5": HALVES, "all 0": ZEROS},
}
PARAMETERS = {
    "wslts": {"gamma_w": 0.8, "gamma_l": 0.5, "lambda": 1.0},
    "aeg": {"epsilon": 0.2, "phi": 0.5},
    "gls": {"gamma": 0.9, **dict.fromkeys(("pi_00", "pi_01", "pi_10", "pi_11"), 0.5)},
}
TITLES = {
    "discriminate": "Telling the three models apart, two blocks",
    "estimate-wslts": "Measuring WSLTS, three blocks",
    "estimate-aeg": "Measuring AEG, three blocks",
    "estimate-gls": "Measuring GLS, three blocks",
}
INTRO = f"""# The paper, reproduced

After this page you know what the paper's four studies recommend, what we recommend instead, and how much each design tells exactly.

The four studies of Valentin et al. (2021), with 3 arms and 30 trials in each block, are in `examples/paper/`, each runnable with one
command: `make -C examples/paper discriminate`. All of them and this page are made by `make -C examples/paper`. The models are as the paper
writes them ([convention](../reference/models.md#two-conventions) "paper").

- *published*: the design that the paper reports as optimal; *drawn*: a randomly drawn comparison design, every reward probability from
  Beta(2, 2), the custom since Steyvers, Lee and Wagenmakers (2009); *ours*: what `tellapart design` recommends.
- *exact*: information by likelihood, from {N:,} simulated participants, all designs facing the same agents. The three models have
  likelihoods; nothing in the search uses them.
- *estimate*: what tellapart's engine says, a [lower bound](../reference/glossary.md#lower-bound) learned from simulations
  alone; here on the same participants. The estimator was `"posterior"`, the default when this page was made. With that of today the
  lowest of nine designs has 98.8 % of the exact information for telling the models apart, 99.2 % for WSLTS, 99.8 % for AEG and 99.2 %
  for GLS (`python benchmarks/engine.py`).
- *published method*: the bound of the paper's own procedure at that design, with its settings: a network trained there on 40,000
  simulations. It is what the paper's search compares designs by.

All numbers are in [nats](../reference/glossary.md#nats), ± one standard error.
"""


@dataclass(frozen=True)
class Row:
    """A design of a study and what it tells."""

    label: str
    design: str
    exact: InformationEstimate
    estimate: InformationEstimate
    theirs: InformationEstimate


def main() -> None:
    parts, reasons = [INTRO], []
    for name in DESIGNS:
        if (HERE / name / "run" / "result.json").is_file():
            text, reason = section(name)
            parts.append(text)
            reasons.append(reason)
            print(text, reason, sep="\n", flush=True)
    (DOCS / "explanation" / "paper.md").write_text("\n".join([*parts, why(reasons)]), "utf-8")


def section(name: str) -> tuple[str, str]:
    """A study: a table of designs, what ours saves, figures; and a line for the conclusion."""
    study = Study.from_file(HERE / name)
    result, space = Run.finished(study, HERE / name / "run").result(), study.task.design_space
    designs = {"ours": result.design, **{label: parse_design(space, text) for label, text in DESIGNS[name].items()}}
    estimates = [same_participants(result, design) for design in designs.values()]
    published = Study(study.task, study.models, study.goal, search=BayesianOptimization(), seed=study.seed)
    theirs = Run.open(published).evaluate(list(designs.values()), workers=2)
    exact = [exact_information(study, d, N, np.random.default_rng(study.seed)) for d in designs.values()]
    texts = [format_design(space, d) for d in designs.values()]
    rows = {label: Row(label, *values) for label, *values in zip(designs, texts, exact, estimates, theirs, strict=True)}
    words = f"{saved(result, rows['drawn'].estimate.nats)}\n\n{figures(name, study, result, designs)}"
    return f"## {TITLES[name]}\n\n{table(list(rows.values()))}\n{words}", conclusion(name, rows)


def same_participants(result: DesignResult, design: Any) -> InformationEstimate:
    """The estimate on the participants that the exact information is computed from."""
    estimator = result.found.estimator
    return estimator.pointwise(estimator.simulate(design, N, np.random.default_rng(result.study.seed))).estimate()


def table(rows: list[Row]) -> str:
    lines = ["| design | | exact | estimate | estimate / exact | published method |", "|---|---|---|---|---|---|"]
    for one in rows:
        share = f"{100 * one.estimate.nats / one.exact.nats:.0f} %"
        numbers = " | ".join((written(one.exact), written(one.estimate), share, written(one.theirs)))
        lines.append(f"| {one.label} | `{one.design}` | {numbers} |")
    return "\n".join(lines) + "\n"


def written(estimate: InformationEstimate) -> str:
    return f"{estimate.nats:.3f} ± {estimate.se:.3f}"


def saved(result: DesignResult, drawn: float) -> str:
    """How few trials at our design tell as much as 30 at the randomly drawn design."""
    task = result.study.task
    curve = information_curve(result.found.estimator, result.design, n=9000, points=task.trials, seed=3)
    enough = [point.trials for point in curve if point.blocks == task.blocks and point.information.nats >= drawn]
    if not enough:
        return f"Our design needs all {task.trials} trials in each block to tell as much as the randomly drawn design."
    few, drawn_tells = min(enough), f"({drawn:.2f} nats, as estimated)"
    if few == task.trials:
        return f"Our design tells as much as the randomly drawn design {drawn_tells}: here many designs are as good as the best."
    return f"With {few} trials in each block our design tells as much as the randomly drawn design with {task.trials} {drawn_tells}."


def conclusion(name: str, rows: dict[str, Row]) -> str:
    """The published design against the drawn one, exactly and by the published method."""
    published, drawn = rows["published"], rows["drawn"]
    exact = published.exact.nats - drawn.exact.nats
    error = math.hypot(published.exact.se, drawn.exact.se)
    theirs = published.theirs.nats - drawn.theirs.nats
    shares = [100 * row.theirs.nats / row.exact.nats for row in (published, drawn)]
    return (
        f"| {TITLES[name]} | {exact:+.3f} ± {error:.3f} | {theirs:+.3f} ± {math.hypot(published.theirs.se, drawn.theirs.se):.3f} | "
        f"{shares[0]:.0f} % | {shares[1]:.0f} % |"
    )


def why(reasons: list[str]) -> str:
    lines = [
        "## Where the published optima are not optimal, and why",
        "",
        "The published design less the randomly drawn design: what is true, and what the published method sees. Then the share of the",
        "exact information that its bound reaches at each of them.",
        "",
        "| study | exact difference | difference of its bounds | its share at the published design | its share at the drawn one |",
        "|---|---|---|---|---|",
        *reasons,
        "",
        "The published method trains a small network on raw data at each design and takes the bound that it reaches for the information.",
        "That bound is loose, and not equally loose everywhere: where rewards are certain (probabilities of 0 and 1) behavior is regular",
        "and a small network learns more of what it tells; where they are uncertain, the network misses more. The search then prefers",
        "designs that are easy to learn to designs that are informative. A bound that is nearly tight at every design has no such",
        "preference: that is the column *estimate / exact* above.",
        "",
        "The true parameters behind the figures are ours, since the paper does not print its own; each figure averages 1,000 participants.",
        "",
    ]
    return "\n".join(lines)


def figures(name: str, study: Study, result: DesignResult, designs: dict[str, Any]) -> str:
    """The paper's figures at our design, the published one and the drawn one: confusion matrices, or averaged posteriors; as Markdown."""
    estimator, wanted = result.found.estimator, {label: designs[label] for label in ("ours", "drawn", "published")}
    if study.goal == "discriminate":
        matrices = {label: confusion(take_part(estimator, design, 9000, np.random.default_rng(3))) for label, design in wanted.items()}
        right = {label: f"{label}: the true model is recovered {100 * m.accuracy:.1f} % of the time" for label, m in matrices.items()}
        links = [keep(confusion_figure(m, label), f"paper-{name}-{label}", right[label]) for label, m in matrices.items()]
        return "\n\n".join(links) + "\n"
    given: dict[str, Any] = {"draws": 40, "parameters": {model.name: PARAMETERS[model.name] for model in study.models}}
    people = {label: take_part(estimator, design, 1000, np.random.default_rng(2), **given) for label, design in wanted.items()}
    averaged = {label: averaged_posteriors(group, exact=label == "ours") for label, group in people.items()}
    links = []
    for ours, drawn, published in zip(*averaged.values(), strict=True):
        others = f"{published.sd:.3f} at the published design, {drawn.sd:.3f} at the drawn one"
        widths = f"{ours.sd:.3f} at ours ({ours.exact_sd:.3f} exactly), {others}"
        figure = averaged_posterior_figure(ours, {"drawn": drawn, "published": published}, ours.parameter)
        links.append(keep(figure, f"paper-{name}-{ours.parameter}", f"{ours.parameter}: average width of posteriors {widths}"))
    return "\n\n".join(links) + "\n"


def keep(figure: Any, name: str, words: str) -> str:
    """Save a figure of the docs; its Markdown."""
    _, png = save(figure, DOCS / "figures" / name)
    png.unlink()
    return f"![{words}](../figures/{name}.svg)\n\n*{words}*"


if __name__ == "__main__":
    main()
