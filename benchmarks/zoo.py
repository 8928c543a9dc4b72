"""For which questions does the design matter most? Models that people compare, on bandits that people use.

    python benchmarks/zoo.py scan [CASE …]      by likelihood alone: designs from everywhere against customary ones; minutes for each case
    python benchmarks/zoo.py search [CASE …]    what the search recommends, with default settings, judged by likelihood; much longer
    python benchmarks/zoo.py page               the table and the picture of docs/explanation/zoo.md, from what was measured so far

Without names all cases are run. What is measured is kept in benchmarks/zoo.json, one entry for each case.

scan: of some designs that reach all of the space, the best by exact information is chosen on some participants and estimated again on
others; customary designs are draws of the task's baseline. It is a lower limit of what a search could find.

search: `ta.find_design` with default settings. Its estimates at five designs (the recommended one, two customary ones, the middle
and a corner of the space) are held against exact information, on the same participants, none of which was trained on. With --runs a
case that has a finished run in that folder is not trained again.

Takes some minutes for each case of a scan, 5 to 15 minutes for each case of a search; there are 15 cases. The page takes seconds.
"""

from __future__ import annotations

import argparse
import json
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from takes import say

import tellapart as ta
from tellapart.curve import information_curve
from tellapart.information.estimate import InformationEstimate
from tellapart.information.exact import exact_pointwise
from tellapart.parts import find_part
from tellapart.question import Goal
from tellapart.tasks.sampling import spread
from tellapart.tasks.scaling import from_unit
from tellapart.tasks.text import format_design
from tellapart.validation.calibration import calibration
from tellapart.validation.participants import take_part

ROOT = Path(__file__).parents[1]
KEPT, PICTURE, PAGE = ROOT / "benchmarks" / "zoo.json", ROOT / "docs" / "figures" / "zoo.svg", ROOT / "docs" / "explanation" / "zoo.md"
Q_FAMILY = ("q-learning", "q-learning-sticky", "choice-kernel", "q-learning-forgetting")


@dataclass(frozen=True)
class Case:
    """One question.

    Arguments:
        words: The question as a scientist would ask it.
        task: What participants do.
        models: By name.
    """

    words: str
    task: ta.Task
    models: tuple[str, ...]
    goal: Goal = "discriminate"

    def study(self, name: str) -> ta.Study:
        return ta.Study(self.task, [find_part("model", model)() for model in self.models], self.goal, name=name)


STANDARD, SHORT = ta.BernoulliBandit(3, 2, 30), ta.BernoulliBandit(2, 1, 12)
CASES = {
    "q-family": Case("Is it reward, habit or forgetting?", STANDARD, Q_FAMILY),
    "q-family-short": Case("Reward, habit or forgetting, in one short block?", SHORT, Q_FAMILY),
    "reward-or-habit": Case("Does it learn from rewards at all?", STANDARD, ("q-learning", "choice-kernel")),
    "two-rates": Case("Does it learn differently from gains and losses?", STANDARD, ("q-learning", "q-learning-two-rates")),
    "two-rates-reversal": Case(
        "Gains and losses, if arms are exchanged midway?", ta.ReversalBandit(2, 2, 30), ("q-learning", "q-learning-two-rates")
    ),
    "exploration": Case(
        "Is exploration random, directed, or in proportion to uncertainty?",
        ta.GaussianBandit(2, 6, 10),
        ("kalman-softmax", "kalman-ucb", "kalman-thompson"),
    ),
    "slowing": Case("Does learning slow down with experience?", STANDARD, ("q-learning", "kalman-softmax")),
    "slowing-restless": Case("Does learning slow down, if arms wander?", ta.RestlessBandit(3, 2, 30), ("q-learning", "kalman-softmax")),
    "in-earnest": Case("Did the participant take part in earnest?", SHORT, ("biased-random", "win-stay-lose-shift", "q-learning")),
    "budget": Case(
        "Is it sticky, if trials can be shared out among blocks?", ta.BudgetBandit(2, 3, 28, 30), ("q-learning", "q-learning-sticky")
    ),
    "alpha": Case("Which learning rate and temperature?", STANDARD, ("q-learning",), "estimate"),
    "stickiness": Case("Which rate, temperature and stickiness?", STANDARD, ("q-learning-sticky",), "estimate"),
    "kernel": Case("Which habit?", STANDARD, ("choice-kernel",), "estimate"),
    "forgetting": Case("Which rates of learning and forgetting?", STANDARD, ("q-learning-forgetting",), "estimate"),
    "hybrid": Case("How much of each kind of exploration?", ta.GaussianBandit(2, 6, 10), ("kalman-hybrid",), "estimate"),
}


def exact(study: ta.Study, design: Any, n: int, seed: int) -> InformationEstimate:
    return ta.exact_information(study, design, n, np.random.default_rng(seed))


def scan(name: str, designs: int, few: int, many: int) -> dict[str, Any]:
    """The best of some designs against customary ones, by likelihood alone."""
    study, started = CASES[name].study(name), time.process_time()
    task, rng = study.task, np.random.default_rng(1)
    candidates = [middle(task), *spread(task.design_space, designs - 1, rng)]
    first = [exact(study, design, few, 2).nats for design in candidates]
    best = candidates[int(np.argmax(first))]
    customary = [exact(study, design, many // 4, 3 + i) for i, design in enumerate(task.baseline(4, rng))]
    return {
        "baseline": mean_of(customary),
        "best": exact(study, best, many, 9).to_json(),
        "design": format_design(task.design_space, best),
        "lowest": float(min(first)),
        "designs": designs,
        "processor seconds": round(time.process_time() - started),
    }


def search(name: str, many: int, runs: Path | None) -> dict[str, Any]:
    """What the search recommends, with default settings, and whether its estimates are right."""
    study, rng = CASES[name].study(name), np.random.default_rng(1)
    result = ta.find_design(study, runs / name if runs else None)
    task, customary, estimator = study.task, study.task.baseline(4, rng), result.found.estimator
    designs = [result.design, *customary[:2], middle(task), spread(task.design_space, 8, rng)[-1]]
    rows = [compared(study, estimator, design, many, 20 + i) for i, design in enumerate(designs)]
    more = [exact(study, design, many // 2, 30 + i) for i, design in enumerate(customary[2:])]
    said = calibration(take_part(estimator, designs[0], 2000, np.random.default_rng(40)), np.random.default_rng(41))
    return {
        "rows": rows,
        "baseline": mean_of([InformationEstimate(**row["exact"]) for row in rows[1:3]] + more),
        "calibration": list(said.complaints) or ["no error found"],
        "trials": {"needed": trials_needed(result, customary), "of": task.trials},
        "seconds": round(result.folder.read("provenance.json")["seconds"]),
        "steps": result.found.details["steps"],
    }


def compared(study: ta.Study, estimator: ta.Estimator, design: Any, n: int, seed: int) -> dict[str, Any]:
    """Estimate and exact information of one design, on the same participants."""
    estimate = estimator.pointwise(estimator.simulate(design, n, np.random.default_rng(seed)))
    truth = exact_pointwise(study.task, study.question, design, n, np.random.default_rng(seed))
    ours, exactly, behind = estimate.estimate(), truth.estimate(), estimate.minus(truth)
    ratio, error = 1.0 + behind.nats / exactly.nats, behind.se / exactly.nats
    text = format_design(study.task.design_space, design)
    print(
        f"    {text:<60} estimate {ours.nats:.3f}, exact {exactly.nats:.3f} ± {exactly.se:.3f}, ratio {ratio:.3f} ± {error:.3f}", flush=True
    )
    return {"design": text, "estimate": ours.to_json(), "exact": exactly.to_json(), "ratio": ratio, "ratio se": error}


def middle(task: ta.Task) -> Any:
    return from_unit(task.design_space, np.full(task.design_space.shape, 0.5))


def mean_of(estimates: list[InformationEstimate]) -> dict[str, Any]:
    """The average of several designs, and its standard error over participants."""
    told: dict[str, Any] = {
        "nats": float(np.mean([e.nats for e in estimates])),
        "se": float(np.sqrt(np.sum([e.se**2 for e in estimates])) / len(estimates)),
    }
    if any(e.kind == "upper bound" for e in estimates):
        told["kind"] = "upper bound"
    accuracies = [e.accuracy for e in estimates if e.accuracy is not None]
    return told | ({"accuracy": float(np.mean(accuracies))} if accuracies else {})


def trials_needed(result: ta.DesignResult, customary: Any) -> int | None:
    """Trials in each block with which the recommended design tells what customary ones tell with all of them, as estimated."""
    goal = np.mean([estimate.nats for estimate in result.evaluate(list(customary))])
    curve = information_curve(result.found.estimator, result.design, points=result.study.task.trials)
    enough = [point.trials for point in curve if point.blocks == result.study.task.blocks and point.information.nats >= goal]
    return min(enough, default=None)


def keep(kind: str, name: str, found: dict[str, Any]) -> None:
    kept = json.loads(KEPT.read_text()) if KEPT.is_file() else {}
    kept.setdefault(kind, {})[name] = found
    KEPT.write_text(json.dumps(kept, indent=1, sort_keys=True) + "\n")


def measured(kept: dict[str, Any]) -> str:
    """What was measured, as the page tells it."""
    ordered = by_gain(kept["scan"])
    clear = [name for name, row in ordered if gain(row) > 2 * gain_error(row)]
    answer = f"Choosing the design is worth most for: {in_words(kept, clear[:3])}." if clear else "No gain is beyond twice its error yet."
    sizes = sorted({row["designs"] for _, row in ordered}), sorted({row["best"]["n"] for _, row in ordered})
    lines = [
        answer,
        "",
        f"{len(ordered)} of {len(CASES)} questions have been measured so far. {spanned(sizes[0])} designs were looked at for each "
        f"question; the information of the best is from {spanned(sizes[1])} "
        "participants who had no part in choosing it. ± is one standard error.",
        "",
        "| question | task | models | customary | best | gain |",
        "|---|---|---|---|---|---|",
    ]
    for name, row in ordered:
        case, values = CASES[name], f"{told(row['baseline'])} | {told(row['best'])} | {gain(row):+.0%} ± {gain_error(row):.0%}"
        lines.append(f"| {case.words} | {words(case.task)} | {', '.join(case.models)} | {values} |")
    return "\n".join(lines + searched(kept.get("search", {})))


def searched(rows: dict[str, Any]) -> list[str]:
    """What the search made of questions: its estimates beside exact ones, trials saved, time."""
    if not rows:
        return []
    lines = [
        "",
        "## Is what the search says right?",
        "",
        "Default settings, no tuning. Estimate and exact information are on the same participants. Where the integrals over parameters",
        'could not be computed closely enough, *exact* is an upper bound ("at most"); the share that is reached is then at least the one',
        "shown.",
    ]
    lines += ["", "| question | design | estimate | exact | estimate / exact |", "|---|---|---|---|---|"]
    for name, found in rows.items():
        for row in found["rows"]:
            share = f"{row['ratio']:.3f} ± {row['ratio se']:.3f}"
            lines.append(f"| {CASES[name].words} | `{row['design']}` | {told(row['estimate'])} | {told(row['exact'])} | {share} |")
    lines += ["", "| question | customary, exact | recommended, exact | as good with | calibration | time |", "|---|---|---|---|---|---|"]
    for name, found in rows.items():
        needed, of = found["trials"]["needed"], found["trials"]["of"]
        saved = f"{needed} of {of} trials per block" if needed else "more trials"
        values = f"{told(found['baseline'])} | {told(found['rows'][0]['exact'])} | {saved} | {'; '.join(found['calibration'])}"
        lines.append(f"| {CASES[name].words} | {values} | {found['seconds'] / 60:.0f} minutes |")
    return lines


def in_words(kept: dict[str, Any], names: list[str]) -> str:
    return "; ".join(f"*{CASES[name].words}* ({words(CASES[name].task)}: {gain(kept['scan'][name]):+.0%})" for name in names)


def spanned(values: list[int]) -> str:
    return f"{values[0]}" if len(values) == 1 else f"{values[0]} to {values[-1]}"


def by_gain(rows: dict[str, Any]) -> list[tuple[str, Any]]:
    return sorted(rows.items(), key=lambda item: -gain(item[1]))


def gain(row: dict[str, Any]) -> float:
    return float(row["best"]["nats"] / row["baseline"]["nats"] - 1.0)


def gain_error(row: dict[str, Any]) -> float:
    """The standard error of a gain."""
    return float((1.0 + gain(row)) * np.hypot(*(row[which]["se"] / row[which]["nats"] for which in ("best", "baseline"))))


def told(value: dict[str, Any]) -> str:
    accuracy = f", {value['accuracy']:.0%} recognised" if value.get("accuracy") else ""
    most = "at most " if value.get("kind") == "upper bound" else ""
    return f"{most}{value['nats']:.2f} ± {value['se']:.2f}{accuracy}"


def words(task: Any) -> str:
    length = f"{task.total} trials in all" if hasattr(task, "total") else f"{task.blocks} × {task.trials}"
    return f"{task.name}, {task.arms} arms, {length}"


def picture(rows: dict[str, Any]) -> None:
    """Customary and best designs of each question side by side, the largest gain on top."""
    import matplotlib

    matplotlib.use("svg")
    import matplotlib.pyplot as plt

    ordered = by_gain(rows)[::-1]
    figure, axes = plt.subplots(figsize=(8.0, 0.42 * len(ordered) + 1.2), layout="constrained")
    for y, (_, row) in enumerate(ordered):
        low, high = row["baseline"], row["best"]
        axes.plot([low["nats"], high["nats"]], [y, y], color="0.75", linewidth=2, zorder=1)
        for value, colour, label in ((low, "0.45", "customary designs, average"), (high, "tab:blue", "the best of those looked at")):
            axes.errorbar(value["nats"], y, xerr=2 * value["se"], fmt="o", color=colour, label=label if y == 0 else None, zorder=2)
    axes.set_yticks(range(len(ordered)), [f"{CASES[name].words} ({gain(row):+.0%})" for name, row in ordered], fontsize=8)
    axes.set_xlabel("exact information in nats, ± 2 standard errors")
    axes.legend(loc="lower right", fontsize=8, frameon=False)
    axes.spines[["top", "right"]].set_visible(False)
    with matplotlib.rc_context({"svg.hashsalt": "zoo"}):
        figure.savefig(PICTURE, metadata={"Date": None})


def page() -> None:
    """Draw the picture, and put what was measured into the page between its two marks."""
    kept = json.loads(KEPT.read_text())
    picture(kept["scan"])
    text, begin, end = PAGE.read_text(), "<!-- measured -->\n", "<!-- end -->"
    PAGE.write_text(text.split(begin)[0] + begin + measured(kept) + "\n" + end + text.split(end)[1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["scan", "search", "page"])
    parser.add_argument("cases", nargs="*", default=[], metavar="CASE", help=", ".join(CASES))
    parser.add_argument("--designs", type=int, default=24, help="how many are looked at in a scan")
    parser.add_argument("--few", type=int, default=200, help="participants at each of them")
    parser.add_argument("--runs", type=Path, help="where runs of the search are kept")
    parser.add_argument("--many", type=int, default=1000, help="participants at the best of them, and where estimates are judged")
    settings = parser.parse_args()
    if settings.what == "page":
        page()
        return
    for name in settings.cases or CASES:
        print(f"{name}: {CASES[name].words}", flush=True)
        few, many = settings.few, settings.many
        found = scan(name, settings.designs, few, many) if settings.what == "scan" else search(name, many, settings.runs)
        keep(settings.what, name, found)
        print(f"    {json.dumps({key: value for key, value in found.items() if key != 'rows'})}", flush=True)


if __name__ == "__main__":
    say(__doc__)
    main()
