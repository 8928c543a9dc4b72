"""How the cost of a step of training (simulation, description, gradient) grows with trials, blocks, arms, models and parameters, and the
cost of a survey with the number of design variables.

Each line is a ratio to the smallest size of its kind, measured in one run by processor time; linear growth is the ratio of the sizes.

Takes minutes.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable

import numpy as np
import torch
from takes import say

import tellapart as ta
from tellapart.search.learning import Mixture
from tellapart.search.survey import Surveyor
from tellapart.workers import HERE

MODELS = (ta.WSLTS(), ta.AEG(), ta.GLS())


def step(trials: int = 30, blocks: int = 2, arms: int = 3, models: int = 3, each: int = 64) -> float:
    """Milliseconds of processor time of a step with `each` participants of every model; the best of three goes."""
    question = ta.Question(MODELS[:models], "both" if models > 1 else "estimate")
    return _step(ta.BernoulliBandit(arms=arms, blocks=blocks, trials=trials), question, each * models)


def _step(task: ta.Task, question: ta.Question, size: int) -> float:
    estimator = ta.Amortized().build(task, question)
    trainer = ta.Trainer(estimator, ta.TrainingSettings(clip=1.0), 1000)
    source = ta.Stream(estimator, Mixture(task), size, (0,))
    trainer.run(source, 3)
    best = np.inf
    for _ in range(3):
        started = time.process_time()
        trainer.run(source, trainer.step + 8)
        best = min(best, (time.process_time() - started) / 8)
    return 1000 * best


def step_with(parameters: int) -> float:
    """Milliseconds of processor time of a step that learns so many parameters; the best of three goes."""

    @ta.model(name="noise", parameters={f"p{i}": ta.Uniform(0, 1) for i in range(parameters)}, vectorised=True)
    def noise(parameters, designs, rng, task):
        shape = (len(designs), task.blocks, task.trials)
        return {"choice": rng.integers(0, task.arms, shape), "reward": rng.random(shape) < parameters["p0"][:, None, None]}

    return _step(ta.BernoulliBandit(), ta.Question((noise(),), "estimate"), 256)


def surveying(variables: int) -> float:
    """Milliseconds of processor time of a survey of 256 designs with so many variables, from few simulations: what the process costs."""
    task = ta.BernoulliBandit(arms=3, blocks=variables // 3, trials=2)
    estimator = ta.Amortized().build(task, ta.Question(MODELS[1:])).eval()
    started = time.process_time()
    Surveyor(estimator, task.design_space, 16, (0,), HERE).look(256, None, 8)
    return 1000 * (time.process_time() - started)


def show(what: str, sizes: Iterable[int], cost: Callable[..., float] = step) -> None:
    costs = {size: cost(**{what: size}) for size in sizes}
    first = min(costs)
    for size, value in costs.items():
        print(f"  {what:<10}{size:>4}  {value:8.1f} ms   cost x {value / costs[first]:5.2f}   size x {size / first:5.2f}", flush=True)


def main() -> None:
    torch.set_num_threads(1)
    print('a step of training, goal "both", 64 participants of each model')
    show("trials", (15, 30, 60, 120, 240))
    show("blocks", (1, 2, 4, 8, 16))
    show("arms", (2, 4, 8, 16))
    show("models", (1, 2, 3))
    print('a step of training, goal "estimate", 256 participants')
    show("parameters", (1, 2, 4, 8, 16), step_with)
    print("a survey of 256 designs, simulations aside")
    show("variables", (3, 6, 12, 24, 48), surveying)


if __name__ == "__main__":
    say(__doc__)
    main()
