"""The amortized engine against the exact reference: is the estimate tight at every design, and the recommendation good?

For each of the paper's four studies (examples/paper), and for the goal "both": train and search as a user would, then compare the
estimate with the exact information on the same simulated participants, at corners, the middle, the paper's optimum and Beta(2, 2)
draws; print what an independent reader finds missing, and the exact information of the recommended design. A study that has a finished
run is not trained again: its time is the one that the run recorded. Further questions: one of AEG's two parameters with the other
as nuisance, models with the prior 0.6, 0.3, 0.1, and the three models from raw fields alone (the encoder "sequence"). Name tasks to run
only these:

    python benchmarks/engine.py discriminate aeg epsilon prior raw
    python benchmarks/engine.py --estimator posterior gls

Takes about two hours for all tasks: 5 to 15 minutes of search for each (docs/explanation/sizes.md), then minutes of exact answers and of an
independent reader. The task gls took 32 minutes beside other work.
"""

from __future__ import annotations

import argparse
import functools
import resource
from dataclasses import replace
from pathlib import Path

import numpy as np
from takes import say

import tellapart as ta
from tellapart.information.exact import exact_pointwise, log_evidences, log_posterior
from tellapart.parts import find_part
from tellapart.validation.reader import read_independently
from tellapart.validation.suite import READ

PAPER = {
    "discriminate": [[0, 0, 0.607], [1, 1, 0]],
    "both": [[0, 0, 0.607], [1, 1, 0]],
    "wslts": [[0, 1, 0], [0, 1, 1], [1, 0, 1]],
    "aeg": [[1, 0, 0], [0, 0, 1], [1, 0, 1]],
    "gls": [[0, 1, 0], [0, 0, 1], [0, 0, 1]],
    "epsilon": [[1, 0, 0], [0, 0, 1], [1, 0, 1]],
    "prior": [[0, 0, 0.607], [1, 1, 0]],
    "raw": [[0, 0, 0.607], [1, 1, 0]],
}
FLOORS = {"discriminate": (0.985, 0.917), "aeg": (0.985, 2.45), "wslts": (0.985, 4.00), "gls": (0.985, 2.75), "both": (0.92, None)}
FLOORS |= {"epsilon": (0.97, None), "prior": (0.97, None), "raw": (0.96, None)}
STUDIES = Path(__file__).parents[1] / "examples" / "paper"
PARTICIPANTS = 6000

print = functools.partial(print, flush=True)  # a run takes half an hour: show each line as it comes


def result_of(what: str, estimator: str | None) -> ta.DesignResult:
    models = [ta.WSLTS(), ta.AEG(), ta.GLS()]
    further = {
        "both": ta.Study(ta.BernoulliBandit(arms=3, blocks=2, trials=30), models, "both"),
        "epsilon": ta.Study(ta.BernoulliBandit(arms=3, blocks=3, trials=30), ta.AEG(), "estimate", about=["aeg.epsilon"]),
        "prior": ta.Study(ta.BernoulliBandit(arms=3, blocks=2, trials=30), models, prior=[0.6, 0.3, 0.1]),
        "raw": ta.Study(ta.BernoulliBandit(arms=3, blocks=2, trials=30), models, search=ta.Amortized(encoder=ta.SequenceEncoder)),
    }
    folder = STUDIES / ("discriminate" if what == "discriminate" else f"estimate-{what}")
    study = further[what] if what in further else ta.Study.from_file(folder)
    if estimator:
        search, asked = replace(study.search, estimator=find_part("estimator", estimator)), study.question
        return ta.find_design(
            ta.Study(study.task, study.models, study.goal, asked.prior, asked.about, search=search, seed=study.seed, name=study.name)
        )
    return ta.find_design(study, None if what in further else folder / "run")


def designs_of(what: str, study: ta.Study) -> dict[str, np.ndarray]:
    blocks, arms = study.task.design_space.shape
    mixed = np.array([[0, 0.5, 1], [1, 1, 0], [0, 0, 1]][:blocks], float)
    fixed = {"all 0": np.zeros((blocks, arms)), "all 1": np.ones((blocks, arms)), "all 0.5": np.full((blocks, arms), 0.5), "mixed": mixed}
    draws = study.task.baseline(3, np.random.default_rng(2021))
    return {"paper's optimum": np.array(PAPER[what], float), **fixed, **{f"Beta(2,2) {i}": draw for i, draw in enumerate(draws)}}


def compare(study: ta.Study, estimator: ta.Estimator, design: np.ndarray) -> tuple[float, ta.InformationEstimate, ta.Difference]:
    """Estimate, exact value and their difference, on the same participants."""
    estimate = estimator.pointwise(estimator.simulate(design, PARTICIPANTS, np.random.default_rng(77)))
    exact = exact_pointwise(study.task, study.question, design, PARTICIPANTS, np.random.default_rng(77))
    return estimate.estimate().nats, exact.estimate(), estimate.minus(exact)


def divergence(study: ta.Study, estimator: ta.Estimator, design: np.ndarray) -> float:
    """Average Kullback-Leibler divergence of the estimated from the exact model posterior."""
    import torch

    simulations = study.question.simulate(study.task, design, 3000, np.random.default_rng(78))
    exact = log_posterior(study.question, log_evidences(study.task, study.question, simulations.behavior, simulations.designs))
    with torch.no_grad():
        ours = estimator.log_model_probabilities(estimator.inputs(simulations.behavior, design)).double().numpy()
    return float((np.exp(exact) * np.where(exact > -50, exact - ours, 0.0)).sum(-1).mean())


def run(what: str, estimator: str | None) -> None:
    result = result_of(what, estimator)
    study, network, took = result.study, result.found.estimator, result.folder.read("provenance.json")
    training = sum(seconds for stage, seconds in took["stages"].items() if stage.startswith(("learning", "tuning")))
    floor, least = FLOORS[what]
    steps = result.found.details["steps"]
    print(f"\n{what}: trained in {training:.0f} s ({steps} steps), with search and comparisons {took['seconds']:.0f} s")
    ratios = []
    for name, design in {"recommended": result.design, **designs_of(what, study)}.items():
        ours, exact, above = compare(study, network, design)
        ratios.append(ours / exact.nats)
        warning = "  ABOVE THE EXACT VALUE" if above.nats > 4 * above.se else ""
        print(f"  {name:<16} estimate {ours:.3f}  exact {exact.nats:.3f} ± {exact.se:.3f}  ratio {ours / exact.nats:.3f}{warning}")
    print(f"  lowest ratio {min(ratios):.3f} (floor {floor}) over {len(ratios)} designs")
    best = ta.exact_information(study, result.design, 4 * PARTICIPANTS, np.random.default_rng(79))
    text = ta.format_design(study.task.design_space, result.design)
    wanted = f" (floor {least})" if least else ""
    print(f"  recommended {text}: reported {result.information}; exact {best.nats:.3f} ± {best.se:.3f}{wanted}")
    habit = study.task.baseline(500, np.random.default_rng(2))
    for name, reading in zip(
        ("recommended", "baseline designs"), read_independently(network, result.design, habit, (7, 1), READ), strict=True
    ):
        gain = f"{reading.gain.nats:+.4f} ± {reading.gain.se:.4f} nats"
        print(f"  {name:<16} an independent reader finds {gain} on top; by itself {reading.alone}")
    if study.goal == "discriminate":
        for name, design in {"recommended": result.design, **designs_of(what, study)}.items():
            if name == "recommended" or name.startswith("Beta"):
                print(f"  divergence from the exact posterior, {name}: {divergence(study, network, design):.4f} nats (at most 0.03)")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("tasks", nargs="*", default=list(PAPER))
    parser.add_argument("--estimator", help="another one than the default")
    given = parser.parse_args()
    for what in given.tasks:
        run(what, given.estimator)
    print(f"\npeak memory {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20:.2f} GB")


if __name__ == "__main__":
    say(__doc__)
    main()
