"""The paper's method: what one evaluation costs, how its estimate compares, and what a second worker gives.

Run with `python benchmarks/paper.py [seeds]`. The models follow the convention "released", which the published number rests on.
"""

from __future__ import annotations

import resource
import sys
import time
from dataclasses import replace

import numpy as np

from tellapart.estimators.base import Goal
from tellapart.evaluation import EvaluationSettings, evaluate_design
from tellapart.information.exact import exact_information
from tellapart.models.aeg import AEG
from tellapart.models.gls import GLS
from tellapart.models.wslts import WSLTS
from tellapart.presets import PRESETS
from tellapart.tasks.bandit import BernoulliBandit
from tellapart.workers import Workers, one_thread

TASK = BernoulliBandit(arms=3, blocks=2, trials=30)
MODELS = (WSLTS(), AEG(convention="released"), GLS(convention="released"))
GOAL = Goal("discriminate", TASK, MODELS)
DESIGN = np.array([[0, 0, 0.607], [1, 1, 0]])
PUBLISHED, AUTHORS_SECONDS = 0.672, 234.0


def warm_up() -> None:
    """Compile the simulators, which is done once for all."""
    evaluate_design(GOAL, DESIGN, replace(PRESETS["discriminate"], draws=1000, held_out=300, epochs=1), (0,))


def peak_memory() -> float:
    """Gigabytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


def estimates(seeds: int) -> list[float]:
    """The discriminate preset at the published optimum."""
    found = []
    for seed in range(1, seeds + 1):
        processor = time.process_time()
        with one_thread():
            done = evaluate_design(GOAL, DESIGN, PRESETS["discriminate"], (seed,))
        seconds, best, processor = done.seconds, max(done.curve), time.process_time() - processor
        found.append(done.information.nats)
        total = sum(seconds.values())
        print(
            f"  seed {seed}: {done.information}; best epoch {best:.3f}; simulation {seconds['simulation']:.2f} s, training "
            f"{seconds['training']:.1f} s ({processor:.1f} s of one core in all); "
            f"the authors' code takes {AUTHORS_SECONDS / total:.1f} times as long"
        )
    return found


def two_workers(evaluations: int = 8) -> float:
    """How many times as fast two workers are as one, each of them on one thread."""
    settings: EvaluationSettings = replace(PRESETS["discriminate"], epochs=25)
    pieces = [(GOAL, DESIGN, settings, (seed,)) for seed in range(evaluations)]
    seconds = []
    for workers in (Workers(1), Workers(2)):
        list(workers.map(evaluate_design, [(GOAL, DESIGN, replace(settings, epochs=1), (0,))] * 2))  # start the processes
        started = time.perf_counter()
        list(workers.map(evaluate_design, pieces))
        seconds.append(time.perf_counter() - started)
    return seconds[0] / seconds[1]


def main(seeds: int) -> None:
    warm_up()
    print("the paper's method, preset discriminate: 50,000 simulations, 200 epochs, at its optimum 0,0,0.607; 1,1,0")
    found = estimates(seeds)
    print(f"  peak memory {peak_memory():.2f} GB")
    spread = np.std(found, ddof=1) if seeds > 1 else float("nan")
    exact = exact_information(TASK, MODELS, "discriminate", DESIGN, n=4000, rng=np.random.default_rng(1))
    print(f"  estimate over {seeds} seeds {np.mean(found):.3f}, standard deviation {spread:.3f}; published {PUBLISHED}; exact {exact}")
    print(f"  two workers are {two_workers():.2f} times as fast as one")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 3)
