"""How much does the default engine miss, and how much of that does an independent reader find?

    python benchmarks/tightness.py [tasks …] [--steps N] [--reader N]

For the paper's four tasks, which have likelihoods: the estimate, the exact information on the same participants, what is missing, and what
the reader finds, at the published optimum and over baseline designs. Then for "side bias", a model that an encoder which forgets
the chosen arm cannot see: there the reader must find at least half of what is missing. Prints one line for each task and design.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

import numpy as np

import tellapart as ta
from tellapart.journal import Journal
from tellapart.tasks.text import parse_design
from tellapart.validation.comparison import against_exact
from tellapart.validation.participants import take_part
from tellapart.validation.reader import read_independently
from tellapart.validation.suite import READ

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "validation"))
from test_reader import SIDES, Blind, SideBias

OPTIMA = {
    "discriminate": "0,0,0.607; 1,1,0",
    "wslts": "0,1,0; 0,1,1; 1,0,1",
    "aeg": "1,0,0; 0,0,1; 1,0,1",
    "gls": "0,1,0; 0,0,1; 0,0,1",
    "side bias": "0.5,0.5,0.5; 0.5,0.5,0.5",
    "side bias, blind": "0.5,0.5,0.5; 0.5,0.5,0.5",
}
MODELS = {"wslts": ta.WSLTS(), "aeg": ta.AEG(), "gls": ta.GLS()}


def asked(name: str) -> tuple[ta.Task, ta.Question]:
    if name.startswith("side"):
        return SIDES, ta.Question((SideBias(),), "estimate")
    if name == "discriminate":
        return ta.BernoulliBandit(3, 2, 30), ta.Question(tuple(MODELS.values()))
    return ta.BernoulliBandit(3, 3, 30), ta.Question((MODELS[name],), "estimate")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tasks", nargs="*", default=list(OPTIMA))
    parser.add_argument("--steps", type=int, default=0, help="of training; 0 for the default")
    parser.add_argument("--reader", type=int, default=READ, help="participants that the reader learns from")
    parser.add_argument("--n", type=int, default=4000, help="participants with exact answers")
    options = parser.parse_args()
    print(f"{'task':<17} {'design':<10} {'estimate':>8} {'lower':>7} {'upper':>7} {'missing':>17} {'the reader finds':>17}")
    for name in options.tasks:
        task, question = asked(name)
        search = ta.Amortized(
            steps=options.steps, baselines=2, survey=16, survey_simulations=200, encoder=Blind if name.endswith("blind") else None
        )
        with tempfile.TemporaryDirectory() as folder:
            estimator = search.find(ta.Job(task, question, 1, Journal(Path(folder)))).estimator
        design, habit = parse_design(task.design_space, OPTIMA[name]), task.baseline(options.n, np.random.default_rng(2))
        readings = read_independently(estimator, design, habit, (7, 1), options.reader)
        for label, where, reading in zip(("published", "baseline"), (design, habit), readings, strict=True):
            rng = np.random.default_rng(3)
            exact = against_exact(estimator, take_part(estimator, where, options.n, rng, draws=1), rng)
            numbers = f"{exact.estimate:>8.3f} {exact.lower:>7.3f} {exact.upper:>7.3f}"
            gap, gain = (f"{one.nats:+.4f} ± {one.se:.4f}" for one in (exact.gap, reading.gain))
            print(f"{name:<17} {label:<10} {numbers} {gap:>17} {gain:>17}", flush=True)


if __name__ == "__main__":
    main()
