"""Does an independent reader notice that an encoder is blind?

    python benchmarks/tightness.py ["side bias"] ["side bias, blind"] [--steps N] [--reader N]

A participant who prefers one side whatever it pays, which an encoder that forgets the chosen arm cannot see. With the default, with a blind
encoder beneath a posterior alone, and with one beneath a posterior that a learned law corrects, which sees what the encoder does not:
the estimate, the exact information on the same participants, what is missing, and what the reader finds on top and by itself, at one
design and over baseline designs. The reader must find at least half of what the posterior alone misses. (What it finds on the paper's
tasks: `benchmarks/engine.py`.)

Takes tens of minutes: two networks and their readers are trained.
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

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "validation"))
from takes import say
from test_reader import SIDES, Blind, SideBias

DESIGN = "0.5,0.5,0.5; 0.5,0.5,0.5"
TASKS = ("side bias", "side bias, blind", "side bias, blind, law")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tasks", nargs="*", default=list(TASKS))
    parser.add_argument("--steps", type=int, default=0, help="of training; 0 for the default")
    parser.add_argument("--reader", type=int, default=READ, help="participants that the reader learns from")
    parser.add_argument("--n", type=int, default=4000, help="participants with exact answers")
    options = parser.parse_args()
    columns = f"{'estimate':>8} {'lower':>7} {'upper':>7} {'missing':>17} {'the reader finds':>17} {'by itself':>17}"
    print(f"{'task':<22} {'design':<10} {columns}")
    for name in options.tasks:
        task, question = SIDES, ta.Question((SideBias(),), "estimate")
        search = ta.Amortized(
            estimator=ta.PosteriorEstimator if name.endswith("blind") else None,
            encoder=Blind if "blind" in name else None,
            steps=options.steps,
            baselines=2,
            survey=16,
            survey_simulations=200,
        )
        with tempfile.TemporaryDirectory() as folder:
            estimator = search.find(ta.Job(task, question, 1, Journal(Path(folder)))).estimator
        design, habit = parse_design(task.design_space, DESIGN), task.baseline(options.n, np.random.default_rng(2))
        readings = read_independently(estimator, design, habit, (7, 1), options.reader)
        for label, where, reading in zip(("middle", "baseline"), (design, habit), readings, strict=True):
            rng = np.random.default_rng(3)
            exact = against_exact(estimator, take_part(estimator, where, options.n, rng, draws=1), rng)
            numbers = f"{exact.estimate:>8.3f} {exact.lower:>7.3f} {exact.upper:>7.3f}"
            found = (f"{one.nats:+.4f} ± {one.se:.4f}" for one in (exact.gap, reading.gain, reading.alone))
            print(f"{name:<22} {label:<10} {numbers} {' '.join(f'{one:>17}' for one in found)}", flush=True)


if __name__ == "__main__":
    say(__doc__)
    main()
