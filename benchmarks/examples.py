"""By how much do recommended designs beat the field's customary ones, in exact information?

    python benchmarks/examples.py [--steps 6000] [--participants 4000] [--keep] [bandit] [discounting] [retention]
    python benchmarks/examples.py --adaptive STUDY [--people 400] [--keep]

The search sees simulations only; the exact reference then judges its design beside customary ones,
all with the same agents. With `--keep` what came out is written to docs/numbers; README.md and docs/explanation/examples.md quote that, and
tests/test_numbers.py holds them to it. With `--adaptive`: how many people are recognised if the blocks of an example are chosen for each of
them, beside the recommended design; STUDY is a folder of that example with a finished run. Both are judged by the models' likelihoods,
which no decision uses.

Takes about six minutes for each study; half an hour of one core for 400 adaptive people.
"""

import argparse
import json
import tempfile
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
from takes import say

import tellapart as ta
from tellapart.adaptive.playing import play
from tellapart.information.exact import log_evidences, log_posterior
from tellapart.run import Run

ROOT = Path(__file__).parents[1]
NAMES = ("bandit", "discounting", "retention")

RETENTION = {
    "customary: the ends of Rubin, Hinton & Wenzel's series": [[0.5], [4], [12], [35], [99]],
    "customary: the first intervals of that series": [[0.5], [1], [2], [4], [7]],
    "equally spaced": [[0.5], [25], [50], [75], [100]],
}


def customary(study):
    """Named designs, then draws of the task's own baseline."""
    named = {name: np.array(design, float) for name, design in RETENTION.items()} if study.task.name == "retention" else {}
    draws = study.task.baseline(5, np.random.default_rng(0))
    return named | {f"customary, draw {i}": design for i, design in enumerate(draws)}


def compare(name, steps, participants):
    """Print how designs compare; the same as JSON."""
    study = ta.Study.from_file(ROOT / "examples" / name)
    if steps:
        search = replace(study.search, steps=steps, survey=128, survey_simulations=500)
        study = ta.Study(study.task, study.models, study.goal, search=search, seed=study.seed)
    started = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        result = ta.find_design(study, folder)
        printed = str(result).rpartition("\nkept in")[0]
    seconds = round(time.perf_counter() - started)
    print(f"\n{name}: found in {seconds} s, estimated at {result.information}")
    judged = {}
    for row, design in {"recommended": result.design, **customary(study)}.items():
        exact = ta.exact_information(study, design, participants, np.random.default_rng(7))
        judged[row] = {"design": ta.format_design(study.task.design_space, design), **exact.to_json()}
        print(f"  {row:<56} {exact.nats:.3f} ± {exact.se:.3f} nats ({exact.kind})   {judged[row]['design']}", flush=True)
    ours, *others = (one["nats"] for one in judged.values())
    print(f"  recommended / customary: {ours / max(others):.2f} times the best of them, {ours / np.mean(others):.2f} times their average")
    recommended, *rest = judged.values()
    return {"printed": printed, "seconds": seconds, "recommended": recommended, "customary": rest, "participants": participants}


def adapted(folder, people):
    """How many are recognised by likelihood after adaptive blocks, and after the recommended design; the same people."""
    result = Run.finished(ta.Study.from_file(folder), folder / "run").result()
    study, policy, rng = result.study, result.policy(), np.random.default_rng(31)
    who = study.question.simulate(study.task, policy.plan, people, rng)
    fixed = np.repeat(policy.plan[None], people, axis=0)
    found = {}
    for row, designs in {"adaptive": None, "recommended": fixed}.items():
        played = play(policy, who, np.random.default_rng(32), designs=designs).simulations
        evidence = log_evidences(study.task, study.question, played.behavior, played.designs)
        right = log_posterior(study.question, evidence).argmax(1) == played.model
        found[row] = {"accuracy": float(right.mean()), "accuracy_se": float(right.std() / people**0.5)}
        print(f"  {row:<12} {right.mean():.1%} ± {right.std() / people**0.5:.1%} of {people} people are recognised", flush=True)
    return {**found["adaptive"], "n": people, "beside": found["recommended"]}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", default=list(NAMES))
    parser.add_argument("--steps", type=int, default=0, help="steps of training; the default of the search if not given")
    parser.add_argument("--participants", type=int, default=4000)
    parser.add_argument("--keep", action="store_true", help="write docs/numbers/NAME.json")
    parser.add_argument("--adaptive", type=Path, metavar="STUDY", help="adaptive people of this study instead")
    parser.add_argument("--people", type=int, default=400)
    settings = parser.parse_args()
    if settings.adaptive:
        found = adapted(settings.adaptive, settings.people)
        if settings.keep:
            keep(ta.Study.from_file(settings.adaptive).task.name.removeprefix("delay-"), {"adaptive": found})
        return
    for name in settings.names:
        found = compare(name, settings.steps, settings.participants)
        if settings.keep:
            keep(name, found)


def keep(name, found):
    """Write what was found into docs/numbers, beside what is there."""
    path = ROOT / "docs" / "numbers" / f"{name}.json"
    kept = json.loads(path.read_text()) if path.is_file() else {}
    path.write_text(json.dumps(kept | found, indent=2, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    say(__doc__)
    main()
