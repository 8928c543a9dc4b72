"""For which questions does the design matter most? Models that people compare, on bandits that people use.

    python benchmarks/zoo.py scan [CASE …]      by likelihood alone: the best design of a short climb against customary ones
    python benchmarks/zoo.py search [CASE …]    what the search recommends, with default settings, judged by likelihood; much longer
    python benchmarks/zoo.py page               the table and the picture of docs/explanation/zoo.md, from what was measured so far

Without names all cases are run. What is measured is kept in benchmarks/zoo.json, one entry for each case.

scan: a few participants look at designs from everywhere; from the best, one block at a time is exchanged for a better one, as judged by
other participants. Where that ends is measured by participants who had no part in choosing it. Each of them is paired with one who has the
same model, parameters and luck and a customary design, a draw of the task's baseline. What is added up is what a participant tells on
average over all answers to the question that could have led to its behavior (`Pointwise.without_luck`), which has the same mean and a
third of the noise. It is a lower limit of what a search could find.

search: `ta.find_design` with default settings. Its estimates at five designs (the recommended one, two customary ones, the middle
and a corner of the space) are held against exact information, on the same participants, none of which was trained on. With --runs a
case that has a finished run in that folder is not trained again.

Takes about 15 minutes of one core for the scan of all cases, 5 to 15 minutes for each case of a search. The page takes seconds.
"""

from __future__ import annotations

import argparse
import json
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from takes import say

import tellapart as ta
from tellapart.curve import information_curve
from tellapart.information.estimate import InformationEstimate, Pointwise
from tellapart.information.exact import by_likelihood, exact_pointwise
from tellapart.parts import find_part
from tellapart.question import Goal
from tellapart.search.climb import alternatives
from tellapart.search.learning import steps_for
from tellapart.tasks.sampling import spread
from tellapart.tasks.scaling import from_unit
from tellapart.tasks.text import format_design
from tellapart.validation.calibration import calibration
from tellapart.validation.participants import take_part

ROOT = Path(__file__).parents[1]
KEPT, PICTURE, PAGE = ROOT / "benchmarks" / "zoo.json", ROOT / "docs" / "figures" / "zoo.svg", ROOT / "docs" / "explanation" / "zoo.md"
LESS = 256
"""Draws of parameters for each participant, where designs are only looked at."""
MORE = 4096
"""Draws where the usual number leaves bounds too far apart."""
STEPS = (
    'The estimator was "posterior", the default then. Its default is 4,000 steps to tell models apart and, since the shorter runs here, '
    f"{steps_for(0):,} and {steps_for(1) - steps_for(0):,} for each parameter to measure them. "
    "The default of today corrects it by a learned likelihood."
)
"""What a reader has to know of the steps that were measured."""
Q_FAMILY = ("q-learning", "q-learning-sticky", "choice-kernel", "q-learning-forgetting")


@dataclass(frozen=True)
class Case:
    """One question.

    Arguments:
        words: The question as a scientist would ask it.
        task: What participants do.
        models: Those that ship, by name; others themselves.
        participants: How many measure a design in a scan: fewer where integrals are dear.
        exchanges: How often a scan tries to better a block: more where there are many settings.
    """

    words: str
    task: ta.Task
    models: tuple[str | ta.Model, ...]
    goal: Goal = "discriminate"
    participants: int = 400
    exchanges: int = 4

    def study(self, name: str) -> ta.Study:
        models = [find_part("model", model)() if isinstance(model, str) else model for model in self.models]
        return ta.Study(self.task, models, self.goal, name=name)

    @property
    def theories(self) -> str:
        """The names of the models."""
        return ", ".join(model if isinstance(model, str) else model.name for model in self.models)


def example(name: str, words: str, participants: int, exchanges: int) -> Case:
    """The question of an example, whose task and models are in a file of its own."""
    study = ta.Study.from_file(ROOT / "examples" / name)
    return Case(words, study.task, study.models, study.goal, participants, exchanges)


STANDARD, SHORT = ta.BernoulliBandit(3, 2, 30), ta.BernoulliBandit(2, 1, 12)
CASES = {
    "q-family": Case("Is it reward, habit or forgetting?", STANDARD, Q_FAMILY, participants=300),
    "q-family-short": Case("Reward, habit or forgetting, in one short block?", SHORT, Q_FAMILY, participants=1000),
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
    "in-earnest": Case(
        "Did the participant take part in earnest?", SHORT, ("biased-random", "win-stay-lose-shift", "q-learning"), participants=2000
    ),
    "budget": Case(
        "Is it sticky, if trials can be shared out among blocks?", ta.BudgetBandit(2, 3, 28, 30), ("q-learning", "q-learning-sticky")
    ),
    "alpha": Case("Which learning rate and temperature?", STANDARD, ("q-learning",), "estimate", 500),
    "stickiness": Case("Which rate, temperature and stickiness?", STANDARD, ("q-learning-sticky",), "estimate", 500),
    "kernel": Case("Which habit?", STANDARD, ("choice-kernel",), "estimate", 500),
    "forgetting": Case("Which rates of learning and forgetting?", STANDARD, ("q-learning-forgetting",), "estimate", 500),
    "hybrid": Case("How much of each kind of exploration?", ta.GaussianBandit(2, 6, 10), ("kalman-hybrid",), "estimate", 500, 8),
    "discounting": example("discounting", "Is the future discounted exponentially, hyperbolically, or after a bias for today?", 1500, 36),
    "retention": example("retention", "Does memory fade by a power of time, or exponentially?", 3000, 15),
}


def exact(study: ta.Study, design: Any, n: int, seed: int) -> InformationEstimate:
    return ta.exact_information(study, design, n, np.random.default_rng(seed))


def points(study: ta.Study, design: Any, n: int, seed: int, draws: int | None = None) -> tuple[Pointwise, float]:
    """What participants contribute by likelihood, halfway between two bounds, without their luck; and how far the bounds are apart.

    Arguments:
        design: One for all, or one for each of the `n` participants. The same seed gives the same participants at any design.
    """
    rng = np.random.default_rng(seed)
    bounds = by_likelihood(study.task, study.question, study.question.simulate(study.task, design, n, rng), rng, draws=draws)
    middle = replace(bounds.upper, values=(bounds.lower.values + bounds.upper.values) / 2, kind="exact")
    return middle.without_luck(), bounds.upper.minus(bounds.lower).nats


def scan(name: str, designs: int, few: int) -> dict[str, Any]:
    """The best design of a short climb against customary ones, by likelihood alone."""
    case, study, started, rng = CASES[name], CASES[name].study(name), time.process_time(), np.random.default_rng(1)
    task, n = study.task, case.participants
    candidates = [middle(task), *task.baseline(designs // 4, rng), *spread(task.design_space, designs - 1 - designs // 4, rng)]
    design, looked_at = climbed(study, best_of(study, candidates, few, 1)[0], case.exchanges, few, rng)
    customary, gap = points(study, task.baseline(n, np.random.default_rng(4)), n, 5)
    ours, our_gap = points(study, design, n, 5)
    more = ours.minus(customary)
    ratio = 1.0 + more.nats / customary.estimate().nats
    return {
        "baseline": customary.estimate().to_json(),
        "best": ours.estimate().to_json(),
        "more": {"nats": more.nats, "se": more.se},
        "gain": {"share": ratio - 1.0, "se": ours.minus(scaled(customary, ratio)).se / customary.estimate().nats},
        "design": format_design(task.design_space, design),
        "designs": designs + looked_at,
        "between bounds": max(gap, our_gap),
        "processor seconds": round(time.process_time() - started),
    }


def climbed(study: ta.Study, design: Any, exchanges: int, few: int, rng: np.random.Generator) -> tuple[Any, int]:
    """From a design, one block after another exchanged for a better one; and how many designs were looked at."""
    space, tried = study.task.design_space, 8
    present, _ = points(study, design, 4 * few, 3, LESS)
    for number in range(exchanges):
        others = alternatives(space, design, number % space.blocks, 0.25, rng)
        others = others[rng.permutation(len(others))[:tried]]
        for other in best_of(study, others, few, 2)[:2]:
            value, _ = points(study, other, 4 * few, 3, LESS)
            gain = value.minus(present)
            if gain.nats > gain.se:
                design, present = other, value
    return design, tried * exchanges


def best_of(study: ta.Study, designs: Any, few: int, seed: int) -> list[Any]:
    """Designs, the best first, as the same few participants see them."""
    nats = [points(study, design, few, seed, LESS)[0].estimate().nats for design in designs]
    return [designs[i] for i in np.argsort(nats)[::-1]]


def scaled(one: Pointwise, factor: float) -> Pointwise:
    return replace(one, values=factor * one.values)


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
    if truth.kind != "exact":  # more draws bring the bounds together
        truth = exact_pointwise(study.task, study.question, design, n, np.random.default_rng(seed), draws=MORE)
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
    rows = [row for _, row in ordered]
    sizes = spanned([row["designs"] for row in rows]), spanned([row["best"]["n"] for row in rows])
    lines = [
        *answer(ordered),
        "",
        f"{len(ordered)} of {len(CASES)} questions have been measured. {sizes[0]} designs were looked at for each question; the gain is "
        f"from {sizes[1]} pairs of participants who had no part in choosing the design, and ± is its standard error. Integrals over "
        "parameters had to be sampled: the numbers are halfway between two bounds, which are "
        f"{max(row['between bounds'] for row in rows):.3f} nats apart at most.",
        *better_by_search(kept["scan"]),
        "",
        "| question | task | models | customary, nats | best found, nats | gain |",
        "|---|---|---|---|---|---|",
    ]
    for name, row in ordered:
        case, values = CASES[name], f"{told(row['baseline'], 3)} | {told(row['best'], 3)} | {gain(row)}"
        lines.append(f"| {case.words} | {words(case.task)} | {case.theories} | {values} |")
    return "\n".join(lines + searched(kept.get("search", {})))


def answer(ordered: list[tuple[str, Any]]) -> list[str]:
    """For which questions the design matters, in three sentences: clear gains of a tenth or more, the other clear ones, the rest."""
    clear = [(name, row) for name, row in ordered if is_clear(row)]
    others = [(name, row) for name, row in ordered if not is_clear(row)]
    if not clear:
        return ["No gain is beyond twice its error."]
    large = sum(row["gain"]["share"] >= 0.1 for _, row in clear) or 1
    most = "; ".join(f"*{CASES[name].words}* ({words(CASES[name].task)}: {gain(row)})" for name, row in clear[:large])
    some = "" if len(ordered) == len(CASES) else f", of the {len(ordered)} questions that have been measured,"
    lines = [f"Choosing the design is worth most{some} for: {most}."]
    if clear[large:]:
        lines += ["", f"It is worth less, and clearly something, for: {gains(clear[large:])}."]
    if others:
        upper = max(row["gain"]["share"] + 2 * row["gain"]["se"] for _, row in others)
        told_of = f"{gains(others)}. With twice its error added, none of these is above {upper:.0%}."
        lines += ["", f"The gain is not clear, no larger than twice its error, for: {told_of}"]
    return lines


def gains(rows: list[tuple[str, Any]]) -> str:
    return "; ".join(f"*{CASES[name].words}* ({gain(row)})" for name, row in rows)


def is_clear(row: dict[str, Any]) -> bool:
    """Is the gain larger than twice its error?"""
    return bool(row["gain"]["share"] > 2 * row["gain"]["se"])


def better_by_search(rows: dict[str, Any]) -> list[str]:
    """What a run of the search recommends, for the questions of which docs/numbers keeps that."""
    lines = []
    for name, row in rows.items():
        path = ROOT / "docs" / "numbers" / f"{name}.json"
        if path.is_file():
            found = json.loads(path.read_text())["recommended"]
            ours = told(row["best"], 3)
            lines += ["", f"*{CASES[name].words}* A run of the search recommends a design with {told(found, 3)}; found here: {ours}."]
    return lines


def searched(rows: dict[str, Any]) -> list[str]:
    """What the search made of questions: its estimates beside exact ones, trials saved, time."""
    if not rows:
        return []
    lines = [
        "",
        "## Is what the search says right?",
        "",
        'Default settings of the estimator `"posterior"`, no tuning. Estimate and exact information are on the same participants.',
        "Where the integrals over parameters",
        'could not be computed closely enough, *exact* is an upper bound ("at most"); the share that is reached is then at least the one',
        "shown.",
    ]
    lines += ["", "| question | design | estimate | exact | estimate / exact |", "|---|---|---|---|---|"]
    for name, found in rows.items():
        for row in found["rows"]:
            share = f"{row['ratio']:.3f} ± {row['ratio se']:.3f}"
            lines.append(f"| {CASES[name].words} | `{row['design']}` | {told(row['estimate'])} | {told(row['exact'])} | {share} |")
    lines += ["", f"Time is that of the clock, beside other work. {STEPS}", ""]
    lines += [
        "| question | customary, exact | recommended, exact | as good with | calibration | steps | time |",
        "|---|---|---|---|---|---|---|",
    ]
    for name, found in rows.items():
        needed, of = found["trials"]["needed"], found["trials"]["of"]
        saved = f"{needed} of {of} trials per block" if needed else "more trials"
        values = f"{told(found['baseline'])} | {told(found['rows'][0]['exact'])} | {saved} | {'; '.join(found['calibration'])}"
        lines.append(f"| {CASES[name].words} | {values} | {found['steps']:,} | {found['seconds'] / 60:.0f} minutes |")
    return lines


def spanned(values: list[int]) -> str:
    low, high = min(values), max(values)
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"


def by_gain(rows: dict[str, Any]) -> list[tuple[str, Any]]:
    return sorted(rows.items(), key=lambda item: -item[1]["gain"]["share"])


def gain(row: dict[str, Any]) -> str:
    share, se = row["gain"]["share"], row["gain"]["se"]
    digits = 0 if abs(share) >= 0.1 else 1
    return f"{share:+.{digits}%} ± {se:.{digits}%}" if se else "none at all"


def told(value: dict[str, Any], digits: int = 2) -> str:
    accuracy = f", {value['accuracy']:.0%} recognised" if value.get("accuracy") else ""
    most = "at most " if value.get("kind") == "upper bound" else ""
    return f"{most}{value['nats']:.{digits}f} ± {value['se']:.{digits}f}{accuracy}"


def words(task: Any) -> str:
    length = f"{task.total} trials in all" if hasattr(task, "total") else f"{task.blocks} × {task.trials}"
    return f"{task.name}, {task.arms} arms, {length}" if hasattr(task, "arms") else f"{task.name}, {length}"


def picture(rows: dict[str, Any]) -> None:
    """How many times as much the best design tells as customary ones, the largest gain on top, those that are not clear in grey."""
    import matplotlib

    matplotlib.use("svg")
    import matplotlib.pyplot as plt
    from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

    ordered = by_gain(rows)[::-1]
    figure, axes = plt.subplots(figsize=(9.5, 0.32 * len(ordered) + 0.9), layout="constrained")
    ratios, errors = (np.array([row["gain"][key] for _, row in ordered]) for key in ("share", "se"))
    axes.axvline(1.0, color="0.75", linewidth=1, zorder=1)
    places, clear = np.arange(len(ordered)), np.array([is_clear(row) for _, row in ordered])
    for which, color in ((clear, "tab:blue"), (~clear, "0.6")):
        axes.errorbar(1.0 + ratios[which], places[which], xerr=2 * errors[which], fmt="o", color=color, zorder=2)
    axes.set_xscale("log")
    axes.xaxis.set_major_locator(FixedLocator([0.5, 0.7, 1, 1.4, 2, 3, 4, 6, 8]))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.set_yticks(range(len(ordered)), [f"{CASES[name].words} ({gain(row)})" for name, row in ordered], fontsize=8)
    axes.set_xlabel("times what customary designs tell\n± 2 standard errors; grey: no clear gain", fontsize=8)
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
    parser.add_argument("--designs", type=int, default=16, help="how many are looked at before a scan climbs")
    parser.add_argument("--few", type=int, default=20, help="participants at each of them, and a quarter of those of a race")
    parser.add_argument("--runs", type=Path, help="where runs of the search are kept")
    parser.add_argument("--many", type=int, default=1000, help="participants by whom estimates of the search are judged")
    settings = parser.parse_args()
    if settings.what == "page":
        page()
        return
    for name in settings.cases or CASES:
        print(f"{name}: {CASES[name].words}", flush=True)
        scanning = settings.what == "scan"
        found = scan(name, settings.designs, settings.few) if scanning else search(name, settings.many, settings.runs)
        keep(settings.what, name, found)
        print(f"    {json.dumps({key: value for key, value in found.items() if key != 'rows'})}", flush=True)


if __name__ == "__main__":
    say(__doc__)
    main()
