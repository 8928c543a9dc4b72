"""A short search in child processes, killed at random moments. Run as a script: FOLDER SEED KILLS.

Everything heavy is imported once, what is otherwise imported at first use too, so that children are killed at work and not while they
import. Each child is a fork of this process, which itself computes nothing.
"""

import importlib
import os
import random
import signal
import sys
import time
from pathlib import Path

import torch

from tellapart import BayesianOptimization, Study, find_design
from tellapart.models.hidden_number import HiddenNumber
from tellapart.tasks.readings import NoisyReadings

for name in ("botorch.fit", "botorch.generation", "safetensors.torch", "scipy.stats", "torch._dynamo"):
    importlib.import_module(name)

SEARCH = BayesianOptimization(
    evaluations=6,
    initial=4,
    finalists=2,
    baselines=1,
    draws=900,
    held_out=300,
    epochs=2,
    summaries=2,
    block_hidden=(8,),
    hidden=(8,),
)
STUDY = Study(NoisyReadings(blocks=2, trials=2), HiddenNumber(), "estimate", search=SEARCH)


def child(folder):
    """Start a process that carries the search on."""
    process = os.fork()
    if process == 0:
        torch.set_num_threads(1)
        try:
            find_design(STUDY, folder)
        finally:
            os._exit(0)
    return process


def ended(process, seconds):
    """Wait at most so long; has the child ended by itself?"""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        if os.waitpid(process, os.WNOHANG)[0]:
            return True
        time.sleep(0.002)
    return False


def main(folder, seed, kills):
    rng, started = random.Random(seed), time.monotonic()
    assert ended(child(folder / "whole"), 600)
    whole, killed, runs = time.monotonic() - started, 0, 1
    while killed < kills:
        process = child(folder / f"killed {runs}")
        if ended(process, rng.uniform(0.0, 0.12 * whole)):
            runs += 1  # it was quicker than we were: the remaining kills are for another run
            continue
        os.kill(process, signal.SIGKILL)
        os.waitpid(process, 0)
        killed += 1
    assert ended(child(folder / f"killed {runs}"), 600)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
