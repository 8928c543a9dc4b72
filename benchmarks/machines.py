"""A deliberately slow simulator, 5 ms for each participant, on one and on two Dask workers: how much faster is the whole search?

Run with

    python benchmarks/machines.py [--seconds 0.005] [--workers 1 2]

Takes about five minutes: 150 s of waiting on one worker, half of that on two, and the search around it.
"""

import argparse
import tempfile
import time
from pathlib import Path

from takes import say

import tellapart as ta

MODELS = """
import time
import numpy as np
import tellapart as ta

@ta.model(name="slow", parameters={{"p": ta.Uniform(0, 1)}})
def slow(parameters, design, rng, task):
    time.sleep({seconds})
    choice = (rng.random((task.blocks, task.trials)) < parameters["p"]).astype(int)
    return {{"choice": choice, "reward": rng.random(choice.shape) < np.take_along_axis(design, choice, 1)}}

@ta.model(name="slower", parameters={{"p": ta.Uniform(0, 1)}})
def slower(parameters, design, rng, task):
    time.sleep({seconds})
    choice = (rng.random((task.blocks, task.trials)) < parameters["p"] ** 2).astype(int)
    return {{"choice": choice, "reward": rng.random(choice.shape) < np.take_along_axis(design, choice, 1)}}
"""

STUDY = """
[study]
[task]
use = "bernoulli-bandit"
arms = 2
blocks = 1
trials = 10
[[models]]
use = "models:slow"
[[models]]
use = "models:slower"
[search]
simulations = 30000
steps = 100
"""


def seconds_with(workers: int, study: ta.Study) -> tuple[float, list[list[float]]]:
    with ta.dask_workers(f"local:{workers}") as cluster, tempfile.TemporaryDirectory() as folder:
        list(cluster.map(abs, [(1,)] * (4 * workers)))  # started and warm
        started = time.perf_counter()
        result = ta.find_design(study, folder, workers=cluster)
        return time.perf_counter() - started, result.design.tolist()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=0.005)
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2])
    settings = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        (Path(name) / "models.py").write_text(MODELS.format(seconds=settings.seconds))
        (Path(name) / "study.toml").write_text(STUDY)
        study = ta.Study.from_file(name)
        first = None
        for count in settings.workers:
            seconds, design = seconds_with(count, study)
            first = first or seconds
            print(f"{count} Dask worker(s): {seconds:6.1f} s, {first / seconds:.2f} times as fast, design {design}", flush=True)


if __name__ == "__main__":
    say(__doc__)
    main()
