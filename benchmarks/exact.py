"""The exact reference: how long the evidence of 5,000 participants takes, and the published table of exact information.

Run with `python benchmarks/exact.py [n]`, n being how many participants each number of the table rests on.

Takes about a minute.
"""

from __future__ import annotations

import resource
import sys
import time

import numpy as np
from takes import say

from tellapart.bandits.aeg import AEG
from tellapart.bandits.bernoulli import BernoulliBandit
from tellapart.bandits.gls import GLS
from tellapart.bandits.wslts import WSLTS
from tellapart.information.exact import exact_pointwise
from tellapart.models.simulation import simulate_models
from tellapart.question import Question
from tellapart.tasks.text import parse_design

WSLTS_BASELINE = "0.589,0.616,0.438; 0.383,0.551,0.075; 0.617,0.578,0.474"
FAIR_2, FAIR_3, ZERO_3 = "; ".join(["0.5,0.5,0.5"] * 2), "; ".join(["0.5,0.5,0.5"] * 3), "; ".join(["0,0,0"] * 3)

TABLE = [
    # goal and models, design, nats in DESIGN.md, its standard error
    ("discriminate", "all", "0,0,0.607; 1,1,0", 0.891, 0.007),
    ("discriminate", "all", "0.111,0.637,0.744; 0.663,0.215,0.657", 0.922, 0.007),
    ("discriminate", "all", FAIR_2, 0.920, 0.007),
    ("discriminate", "all", "0,0.7,0.7; 0.25,0.47,0.51", 0.927, 0.007),
    ("estimate", "wslts", "0,1,0; 0,1,1; 1,0,1", 3.66, 0.025),
    ("estimate", "wslts", WSLTS_BASELINE, 4.04, 0.025),
    ("estimate", "wslts", FAIR_3, 4.05, 0.025),
    ("estimate", "wslts", ZERO_3, 2.36, 0.025),
    ("estimate", "aeg", "1,0,0; 0,0,1; 1,0,1", 1.97, 0.025),
    ("estimate", "aeg", WSLTS_BASELINE, 2.14, 0.025),
    ("estimate", "aeg", ZERO_3, 2.49, 0.025),
    ("estimate", "gls", "0,1,0; 0,0,1; 0,0,1", 1.82, 0.025),
    ("estimate", "gls", WSLTS_BASELINE, 2.83, 0.025),
    ("estimate", "gls", FAIR_3, 2.84, 0.025),
]

MODELS = {"all": (WSLTS(), AEG(), GLS()), "wslts": (WSLTS(),), "aeg": (AEG(),), "gls": (GLS(),)}


def print_evidence(n: int = 5000) -> None:
    """Time the evidence of n participants under all three models, once everything is compiled."""
    task, models = BernoulliBandit(arms=3, blocks=2, trials=30), MODELS["all"]
    designs = task.baseline(n, np.random.default_rng(1))
    behavior = simulate_models(task, models, designs, n, np.random.default_rng(2)).behavior
    total = 0.0
    print(f"evidence of {n:,} participants (2 blocks of 30 trials, 3 arms)")
    for model in models:
        model.log_evidence(behavior[:600], designs[:600], task)
        start = time.perf_counter()
        model.log_evidence(behavior, designs, task)
        seconds = time.perf_counter() - start
        total += seconds
        print(f"  {model.name:<6} {seconds:6.2f} s")
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024**2
    print(f"  {'all':<6} {total:6.2f} s, {memory:.2f} GB at most (target: about 10 s on 2 cores, 2 GB)")


def print_table(n: int) -> None:
    """Exact information at published designs, beside the value in the table."""
    print(f"\nexact information in nats, {n:,} participants each")
    print(f"  {'goal':<13}{'models':<7}{'design':<58}{'here':>16}{'published':>17}{'difference / se':>17}{'s':>6}")
    for goal, which, text, published, published_se in TABLE:
        task = BernoulliBandit(arms=3, blocks=text.count(";") + 1, trials=30)
        start = time.perf_counter()
        question, design = Question(MODELS[which], goal), parse_design(task.design_space, text)
        here = exact_pointwise(task, question, design, n, np.random.default_rng(1)).estimate()
        z = (here.nats - published) / np.hypot(here.se, published_se)
        line = f"  {goal:<13}{which:<7}{text:<58}{here.nats:8.3f} ± {here.se:.3f}{published:9.3f} ± {published_se:.3f}{z:17.1f}"
        print(f"{line}{time.perf_counter() - start:6.1f}", flush=True)


def main() -> None:
    """Print everything."""
    print_evidence()
    print_table(int(sys.argv[1]) if len(sys.argv) > 1 else 3000)


if __name__ == "__main__":
    say(__doc__)
    main()
