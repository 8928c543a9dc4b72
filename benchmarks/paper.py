"""The paper's method: what one evaluation costs, how its estimate compares, and what a second worker gives.

Run with `python benchmarks/paper.py [seeds]`. The models follow the convention "released", which the published number rests on.

Takes tens of minutes: three evaluations of 200 epochs, then sixteen of 25.
"""

from __future__ import annotations

import resource
import sys
import time
from dataclasses import replace

import numpy as np
from takes import say

import tellapart as ta
from tellapart.paper.evaluation import EvaluationSettings, evaluate_design
from tellapart.paper.presets import PRESETS
from tellapart.workers import one_thread

STUDY = ta.Study(
    ta.BernoulliBandit(arms=3, blocks=2, trials=30), [ta.WSLTS(), ta.AEG(convention="released"), ta.GLS(convention="released")]
)
ASKED = STUDY.task, STUDY.question
DESIGN = np.array([[0, 0, 0.607], [1, 1, 0]])
PUBLISHED, AUTHORS_SECONDS = 0.672, 234.0


def warm_up() -> None:
    """Compile the simulators, which is done once for all."""
    evaluate_design(*ASKED, DESIGN, replace(PRESETS["discriminate"], draws=1000, held_out=300, epochs=1), (0,))


def peak_memory() -> float:
    """Gigabytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


def estimates(seeds: int) -> list[float]:
    """The discriminate preset at the published optimum."""
    nats = []
    for seed in range(1, seeds + 1):
        processor = time.process_time()
        with one_thread():
            done = evaluate_design(*ASKED, DESIGN, PRESETS["discriminate"], (seed,))
        seconds, best, processor = done.seconds, max(done.curve), time.process_time() - processor
        nats.append(done.information.nats)
        total = sum(seconds.values())
        print(
            f"  seed {seed}: {done.information}; best epoch {best:.3f}; simulation {seconds['simulation']:.2f} s, training "
            f"{seconds['training']:.1f} s ({processor:.1f} s of one core in all); "
            f"the authors' code takes {AUTHORS_SECONDS / total:.1f} times as long"
        )
    return nats


def two_workers(evaluations: int = 8) -> float:
    """How many times as fast two workers are as one, each of them on one thread."""
    settings: EvaluationSettings = replace(PRESETS["discriminate"], epochs=25)
    pieces = [(*ASKED, DESIGN, settings, (seed,)) for seed in range(evaluations)]
    seconds = []
    for workers in (ta.Workers(1), ta.Workers(2)):
        list(workers.map(evaluate_design, [(*ASKED, DESIGN, replace(settings, epochs=1), (0,))] * 2))  # start the processes
        started = time.perf_counter()
        list(workers.map(evaluate_design, pieces))
        seconds.append(time.perf_counter() - started)
    return seconds[0] / seconds[1]


def main(seeds: int) -> None:
    warm_up()
    print("the paper's method, preset discriminate: 50,000 simulations, 200 epochs, at its optimum 0,0,0.607; 1,1,0")
    nats = estimates(seeds)
    print(f"  peak memory {peak_memory():.2f} GB")
    spread = np.std(nats, ddof=1) if seeds > 1 else float("nan")
    exact = ta.exact_information(STUDY, DESIGN, 4000, np.random.default_rng(1))
    print(f"  estimate over {seeds} seeds {np.mean(nats):.3f}, standard deviation {spread:.3f}; published {PUBLISHED}; exact {exact}")
    print(f"  two workers are {two_workers():.2f} times as fast as one")


if __name__ == "__main__":
    say(__doc__)
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 3)
