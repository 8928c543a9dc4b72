"""Muon against Adam: how much of the information is found after equal numbers of steps, and what a step costs.

The estimator of a study is trained as a search would begin, on simulations over all designs, in each way in turn and with the same
simulations; then all are held against exact information at customary designs and at the middle, on the same participants. Ways: "adam";
"muon", the default; "alone", which is Muon without learning on the side what nobody asks about (`estimators/posterior.py`).

    python benchmarks/optimizers.py [discriminate] [wslts] [aeg] [gls] [raw] [discounting] [--steps 1200] [--ways alone muon]

Takes two minutes for each way of each task.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np
import torch
from takes import say

import tellapart as ta
from tellapart.estimators import posterior
from tellapart.information.exact import exact_pointwise
from tellapart.search.learning import Mixture
from tellapart.workers import one_thread

EXAMPLES = Path(__file__).parents[1] / "examples"
MODELS = {"wslts": ta.WSLTS, "aeg": ta.AEG, "gls": ta.GLS}
TASKS = ("discriminate", *MODELS, "raw", "discounting")
WAYS = {"adam": ("adam", posterior.ASIDE), "alone": ("muon", 0.0), "muon": ("muon", posterior.ASIDE)}
PARTICIPANTS, SEED = 3000, 4


def study_of(what: str) -> ta.Study:
    if what == "discounting":
        return ta.Study.from_file(EXAMPLES / "discounting")
    if what in MODELS:
        return ta.Study(ta.BernoulliBandit(arms=3, blocks=3, trials=30), MODELS[what](), "estimate")
    search = ta.Amortized(encoder=ta.SequenceEncoder if what == "raw" else None)
    return ta.Study(ta.BernoulliBandit(arms=3, blocks=2, trials=30), [model() for model in MODELS.values()], search=search)


def trained(study: ta.Study, optimizer: Any, steps: int) -> tuple[ta.Estimator, float]:
    """An estimator, and the milliseconds of processor time that a step took, simulations included."""
    torch.manual_seed(SEED)
    estimator, designs = study.search.build(study.task, study.question), Mixture(study.task)
    rng = np.random.default_rng(SEED)
    estimator.encoder.learn_scale(study.question.simulate(study.task, designs(500, rng), 500, rng).behavior)
    settings = ta.TrainingSettings(estimator.learning_rate, optimizer, clip=1.0)
    trainer = ta.Trainer(estimator, settings, steps, SEED)
    trainer.run(ta.Stream(estimator, designs, 256, (SEED, 1), 0.2), 0)
    began = process_time()
    trainer.run(ta.Stream(estimator, designs, 256, (SEED, 1), 0.2))
    return estimator, 1000 * (process_time() - began) / steps


def run(what: str, steps: int, ways: list[str]) -> None:
    study = study_of(what)
    shape = study.task.design_space.shape
    designs = dict(zip(("customary", "another", "a third"), study.task.baseline(3, np.random.default_rng(7)), strict=True))
    if what != "discounting":
        designs["all 0.5"] = np.full(shape, 0.5)
    exact = {}
    for name, design in designs.items():
        exact[name] = exact_pointwise(study.task, study.question, design, PARTICIPANTS, np.random.default_rng(8)).estimate().nats
    for way in ways:
        optimizer, posterior.ASIDE = WAYS[way]
        with one_thread():
            estimator, each = trained(study, optimizer, steps)
        found = []
        for name, design in designs.items():
            ours = estimator.pointwise(estimator.simulate(design, PARTICIPANTS, np.random.default_rng(8))).estimate().nats
            found.append(f"{name} {ours / exact[name]:.3f}")
        print(f"{what}, {steps} steps, {way}: estimate / exact {', '.join(found)}; {each:.0f} ms for each step", flush=True)


if __name__ == "__main__":
    say(__doc__)
    parser = argparse.ArgumentParser()
    parser.add_argument("tasks", nargs="*", default=list(TASKS), metavar="TASK", help=", ".join(TASKS))
    parser.add_argument("--steps", type=int, default=1200)
    parser.add_argument("--ways", nargs="+", choices=WAYS, default=list(WAYS))
    given = parser.parse_args()
    for task in given.tasks:
        run(task, given.steps, given.ways)
