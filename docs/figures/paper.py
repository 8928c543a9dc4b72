"""Write docs/paper.md: the published designs, designs of habit and ours, as estimated and exactly, with the paper's figures remade.

`python docs/figures/paper.py` uses the runs of the four studies that are there, and leaves out those that are not.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tellapart import InformationEstimate, Study, exact_information
from tellapart.report.figures import averaged_posterior_figure, confusion_figure
from tellapart.report.style import save
from tellapart.run import Run
from tellapart.validation.answers import ask
from tellapart.validation.confusion import confusion
from tellapart.validation.recovery import averaged_posteriors

DOCS = Path(__file__).resolve().parents[1]
HERE = DOCS.parent / "examples" / "paper"
N = 10_000

PUBLISHED = {
    "discriminate": "0,0,0.607; 1,1,0",
    "estimate-wslts": "0,1,0; 0,1,1; 1,0,1",
    "estimate-aeg": "1,0,0; 0,0,1; 1,0,1",
    "estimate-gls": "0,1,0; 0,0,1; 0,0,1",
}
HABIT = {
    "discriminate": "0.111,0.637,0.744; 0.663,0.215,0.657",
    "estimate-wslts": "0.589,0.616,0.438; 0.383,0.551,0.075; 0.617,0.578,0.474",
    "estimate-aeg": "0.589,0.616,0.438; 0.383,0.551,0.075; 0.617,0.578,0.474",
    "estimate-gls": "0.589,0.616,0.438; 0.383,0.551,0.075; 0.617,0.578,0.474",
}
PARAMETERS = {
    "wslts": {"gamma_w": 0.8, "gamma_l": 0.5, "lambda": 1.0},
    "aeg": {"epsilon": 0.2, "phi": 0.5},
    "gls": {"gamma": 0.9, **dict.fromkeys(("pi_00", "pi_01", "pi_10", "pi_11"), 0.5)},
}
INTRO = """# The paper, reproduced

The four studies of Valentin et al. (2021) are in `examples/paper/`, each runnable with one command: `make -C examples/paper discriminate`.
This page is written by `docs/figures/paper.py` from their runs. *Exact* is information by likelihood from {n:,} simulated
participants; *estimate* is what tellapart's default engine says, without any likelihood.
"""
WHY = """## Why the published optima are not optimal

The published method trains a small network at each design and takes the bound that it reaches for the information. That bound is loose,
and not equally loose everywhere: designs whose rewards are certain (probabilities of 0 and 1) give data that a small network learns
quickly, so its bound is nearly tight there, while at designs with uncertain rewards it misses most of what the data tell. The search
then prefers designs that are easy to learn. Where the exact column above says that the published design tells less than a design of
habit, this is the reason.
"""


@dataclass(frozen=True)
class Row:
    """A design of a study and what it tells."""

    label: str
    design: str
    estimate: InformationEstimate
    exact: InformationEstimate


def main() -> None:
    parts = [INTRO.format(n=N)]
    for name in PUBLISHED:
        if (HERE / name / "run" / "result.json").is_file():
            parts.append(section(name))
    (DOCS / "paper.md").write_text("\n".join([*parts, WHY]), "utf-8")


def section(name: str) -> str:
    """A table of designs, then figures."""
    study = Study.from_file(HERE / name)
    run = Run.finished(study, HERE / name / "run")
    result = run.result()
    space = study.task.design_space
    designs = {"published": space.parse(PUBLISHED[name]), "habit": space.parse(HABIT[name]), "ours": result.design}
    rows = [row(study, run, label, design) for label, design in designs.items()]
    figures = draw(name, study, result, designs)
    return f"## {name}\n\n{table(rows)}\n{figures}"


def row(study: Study, run: Run, label: str, design: Any) -> Row:
    estimate = run.evaluate([design])[0]
    exact = exact_information(study.task, study.models, study.goal, design, n=N, rng=np.random.default_rng(study.seed))
    return Row(label, study.task.design_space.format(design), estimate, exact)


def table(rows: list[Row]) -> str:
    lines = ["| design | | estimate (nats) | exact (nats) | share |", "|---|---|---|---|---|"]
    for one in rows:
        share = f"{100 * one.estimate.nats / one.exact.nats:.0f} %"
        numbers = f"{one.estimate.nats:.3f} ± {one.estimate.se:.3f} | {one.exact.nats:.3f} ± {one.exact.se:.3f} | {share}"
        lines.append(f"| {one.label} | `{one.design}` | {numbers} |")
    return "\n".join(lines) + "\n"


def draw(name: str, study: Study, result: Any, designs: dict[str, Any]) -> str:
    """The paper's figures at each of the designs: confusion matrices, or averaged posteriors; as Markdown."""
    parameters = {model.name: PARAMETERS[model.name] for model in study.models}
    links = []
    answers = {
        label: ask(result.found.estimator, design, 1000 * len(study.models), np.random.default_rng(2), 40, parameters)
        for label, design in designs.items()
    }
    if study.goal == "discriminate":
        for label, design in designs.items():
            found = confusion(ask(result.found.estimator, design, 9000, np.random.default_rng(3)))
            links.append(keep(confusion_figure(found, label), f"paper-{name}-{label}", f"{label}: accuracy {found.accuracy:.3f}"))
    else:
        ours, published = (averaged_posteriors(answers[label], exact=True) for label in ("ours", "published"))
        habit = averaged_posteriors(answers["habit"])
        for one, theirs, usual in zip(ours, published, habit, strict=True):
            widths = f"{one.sd:.3f} at ours, {theirs.sd:.3f} at the published design, {usual.sd:.3f} at that of habit"
            words = f"{one.parameter}: average width {widths}"
            links.append(keep(averaged_posterior_figure(one, usual, one.parameter), f"paper-{name}-{one.parameter}", words))
    return "\n\n".join(links) + "\n"


def keep(figure: Any, name: str, words: str) -> str:
    """Save a figure of the docs; its Markdown."""
    _, png = save(figure, DOCS / "figures" / name)
    png.unlink()
    return f"![{words}](figures/{name}.svg)\n*{words}*"


if __name__ == "__main__":
    main()
