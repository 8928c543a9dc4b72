"""Are the standard errors of the gain over habit, and of the baseline's average, those that repeated searches show?

    python benchmarks/standard_errors.py [--seeds 20] [--steps 400]

One estimator is trained for a moment; then its designs are estimated again and again, with new baseline draws and new simulations at each
seed, as a search does at its end. Stated: the root mean square of the standard errors. Real: the standard deviation over seeds, which
itself is known to 16 % from 20 of them, and to 5 % from 200.

Takes about six minutes with 20 seeds.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

import numpy as np
from takes import say

import tellapart as ta
from tellapart.estimators.fresh import pointwise_at, pointwise_at_each
from tellapart.journal import Journal
from tellapart.search.base import Baseline
from tellapart.workers import HERE

DESIGN = np.array([[0.0, 0.733, 0.766], [0.297, 0.348, 0.363]])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--steps", type=int, default=400)
    parser.add_argument("--designs", type=int, default=25, help="baseline designs")
    parser.add_argument("--n", type=int, default=2000, help="participants at each of them")
    options = parser.parse_args()
    task, question = ta.BernoulliBandit(3, 2, 30), ta.Question((ta.WSLTS(), ta.AEG(), ta.GLS()))
    brief = ta.Amortized(steps=options.steps, baselines=2, survey=16, survey_simulations=50, finalists=1, finalist_simulations=500)
    with tempfile.TemporaryDirectory() as folder:
        estimator = brief.find(ta.Job(task, question, 1, Journal(Path(folder)))).estimator
    found = []
    for seed in range(options.seeds):
        drawn = task.baseline(options.designs, np.random.default_rng([seed, 5]))
        points, _ = pointwise_at_each(estimator, drawn, options.n, (seed, 5), HERE)
        beside, _ = pointwise_at(estimator, DESIGN, options.n, (seed, 5))
        found.append((beside.estimate(), Baseline.of(drawn, points, beside)))
    print(f"{'':<22} {'average':>8} {'stated':>8} {'real':>8} {'real / stated':>14}   over {options.seeds} seeds")
    numbers = {
        "recommended": [one for one, _ in found],
        "baseline average": [baseline.mean for _, baseline in found],
        "gain over it": [baseline.gain for _, baseline in found],
    }
    for name, estimates in numbers.items():
        nats, stated = np.array([e.nats for e in estimates]), np.sqrt(np.mean([e.se**2 for e in estimates]))
        real = nats.std(ddof=1)
        print(f"{name:<22} {nats.mean():>8.4f} {stated:>8.4f} {real:>8.4f} {real / stated:>14.2f}")


if __name__ == "__main__":
    say(__doc__)
    main()
