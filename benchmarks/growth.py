"""How the cost of a step of training (simulation, description, gradient) grows with trials, blocks and models.

Each line is a ratio to the smallest size of its kind, measured in one run by processor time; linear growth is the ratio of the sizes.
"""

from __future__ import annotations

import time
from collections.abc import Iterable

import numpy as np
import torch

import tellapart as ta
from tellapart.estimators.base import Goal
from tellapart.search.amortized import Amortized, Mixture
from tellapart.training import Stream, Trainer, TrainingSettings

MODELS = (ta.WSLTS(), ta.AEG(), ta.GLS())


def cost(trials: int = 30, blocks: int = 2, models: int = 3, each: int = 64) -> float:
    """Milliseconds of processor time of a step with `each` participants of every model; the best of three goes."""
    goal = Goal("both", ta.BernoulliBandit(arms=3, blocks=blocks, trials=trials), MODELS[:models])
    estimator = Amortized().build(goal, 0)
    trainer = Trainer(estimator, TrainingSettings(clip=1.0), 1000)
    source = Stream(estimator, Mixture(goal.task), each * models, (0,))
    trainer.run(source, 3)
    best = np.inf
    for _ in range(3):
        started = time.process_time()
        trainer.run(source, trainer.step + 8)
        best = min(best, (time.process_time() - started) / 8)
    return 1000 * best


def show(what: str, sizes: Iterable[int]) -> None:
    costs = {size: cost(**{what: size}) for size in sizes}
    first = min(costs)
    for size, value in costs.items():
        print(f"  {what:<7}{size:>4}  {value:7.1f} ms a step   cost x {value / costs[first]:5.2f}   size x {size / first:5.2f}")


def main() -> None:
    torch.set_num_threads(1)
    print("cost of a step of training")
    show("trials", (15, 30, 60, 120, 240))
    show("blocks", (1, 2, 4, 8))
    show("models", (2, 3))


if __name__ == "__main__":
    main()
