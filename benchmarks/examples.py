"""By how much do recommended designs beat the field's customary ones, in exact information?

    python benchmarks/examples.py [--steps 6000] [--participants 4000] [retention] [discounting]

The search sees simulations only; the exact reference then judges its design beside customary ones, all with the same agents.
"""

import argparse
import tempfile
import time
from dataclasses import replace
from pathlib import Path

import numpy as np

import tellapart as ta

EXAMPLES = Path(__file__).parents[1] / "examples"

RETENTION = {
    "customary: the ends of Rubin, Hinton & Wenzel's series": [[0.5], [4], [12], [35], [99]],
    "customary: the first intervals of that series": [[0.5], [1], [2], [4], [7]],
    "equally spaced": [[0.5], [25], [50], [75], [100]],
}


def customary(study):
    """Named designs, then draws of the task's own baseline."""
    named = {name: np.array(design, float) for name, design in RETENTION.items()} if study.task.name == "retention" else {}
    draws = study.task.baseline(5, np.random.default_rng(0))
    return named | {f"customary, draw {i}": design for i, design in enumerate(draws)}


def compare(name, steps, participants):
    study = ta.Study.from_file(EXAMPLES / name)
    if steps:
        search = replace(study.search, steps=steps, survey=128, survey_simulations=500)
        study = ta.Study(study.task, study.models, study.goal, search=search, seed=study.seed)
    started = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        result = ta.find_design(study, folder)
    print(f"\n{name}: found in {time.perf_counter() - started:.0f} s, estimated at {result.information}")
    rows = {"recommended": result.design, **customary(study)}
    exact = {}
    for row, design in rows.items():
        exact[row] = ta.exact_information(study, design, participants, np.random.default_rng(7))
        text = ta.format_design(study.task.design_space, design)
        print(f"  {row:<56} {exact[row].nats:.3f} ± {exact[row].se:.3f} nats   {text}", flush=True)
    best = max(value.nats for row, value in exact.items() if row != "recommended")
    mean = np.mean([value.nats for row, value in exact.items() if row != "recommended"])
    ours = exact["recommended"].nats
    print(f"  recommended / customary: {ours / best:.2f} times the best of them, {ours / mean:.2f} times their average")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", default=["retention", "discounting"])
    parser.add_argument("--steps", type=int, default=0, help="steps of training; the default of the search if not given")
    parser.add_argument("--participants", type=int, default=4000)
    settings = parser.parse_args()
    for name in settings.names:
        compare(name, settings.steps, settings.participants)


if __name__ == "__main__":
    main()
