"""The runs behind the numbers of README.md and docs/examples.md: `python docs/figures/runs.py [NAME …]`.

Takes about six minutes for each study. Finds the design of an example as `tellapart design` does, then lets the exact reference judge it
beside customary designs, all with the same simulated participants. What comes out is kept in docs/numbers/NAME.json; pages quote
that, and tests/test_numbers.py holds them to it.
"""

import argparse
import json
import tempfile
import time
from pathlib import Path

import numpy as np

import tellapart as ta

ROOT = Path(__file__).parents[2]
NUMBERS = ROOT / "docs" / "numbers"
NAMES = ("bandit", "discounting", "retention")
CUSTOMARY, SEED = 5, 7


def judged(study, design, participants):
    """Exact information and accuracy, as JSON."""
    found = ta.exact_information(study, design, participants, np.random.default_rng(SEED))
    return {"design": ta.format_design(study.task.design_space, design), **found.to_json()}


def numbers(name, participants):
    study = ta.Study.from_file(ROOT / "examples" / name)
    began = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        result = ta.find_design(study, folder)
        seconds = time.perf_counter() - began
        printed = str(result).rpartition("\nkept in")[0]
    customary = study.task.baseline(CUSTOMARY, np.random.default_rng(0))
    return {
        "printed": printed,
        "seconds": round(seconds),
        "recommended": judged(study, result.design, participants),
        "customary": [judged(study, design, participants) for design in customary],
        "participants": participants,
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", default=list(NAMES))
    parser.add_argument("--participants", type=int, default=4000)
    settings = parser.parse_args()
    NUMBERS.mkdir(exist_ok=True)
    for name in settings.names:
        found = numbers(name, settings.participants)
        (NUMBERS / f"{name}.json").write_text(json.dumps(found, indent=2, ensure_ascii=False) + "\n")
        print(f"{name}: {found['seconds']} s\n{found['printed']}\nexact: {found['recommended']}")


if __name__ == "__main__":
    main()
