"""How many participants a second the compiled simulators of the three models make, and how much faster they are than plain Python.

Run with `python benchmarks/simulators.py`. Participants play 2 blocks of 30 trials with 3 arms, parameters from the priors. What is
measured is processor time, so that other work on the machine counts little: the numbers are what free cores would do.

Takes less than half a minute.
"""

from __future__ import annotations

import random
import sys
import time
from pathlib import Path

import numpy as np

import tellapart as ta
from tellapart.bandits.aeg import AEG
from tellapart.bandits.bernoulli import BernoulliBandit
from tellapart.bandits.gls import GLS
from tellapart.bandits.wslts import WSLTS
from tellapart.priors import sample_priors
from tellapart.threads import available_cores

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "bandits"))
import reference
from takes import say

TASK = BernoulliBandit(arms=3, blocks=2, trials=30)
MODELS = (WSLTS(), AEG(), GLS())
N, PLAIN_N, REPEATS = 50_000, 150, 8


def compiled_seconds(model: ta.Model) -> float:
    """Seconds for each participant, each at another design; the best of a few runs."""
    rng = np.random.default_rng(1)
    parameters, designs = sample_priors(model.parameters, N, rng), TASK.baseline(N, rng)
    model.simulate(parameters, designs, rng, TASK)
    seconds = []
    for _ in range(REPEATS):
        start = time.process_time()
        model.simulate(parameters, designs, rng, TASK)
        seconds.append(time.process_time() - start)
    return min(seconds) / N / available_cores()


def plain_seconds(name: str) -> float:
    """The same for the plain loops that the tests compare with."""
    rng, seconds = random.Random(1), []
    designs = TASK.baseline(PLAIN_N, np.random.default_rng(1)).tolist()
    for _ in range(REPEATS):
        start = time.process_time()
        for design in designs:
            reference.simulate(name, "paper", reference.draw(name, rng), design, TASK.trials, rng)
        seconds.append(time.process_time() - start)
    return min(seconds) / PLAIN_N


def main() -> None:
    """Print the speed of each model, and of the three mixed."""
    print(f"participants a second ({TASK.blocks} blocks of {TASK.trials} trials, {TASK.arms} arms, {available_cores()} cores)")
    print(f"  {'model':<7}{'compiled':>12}{'plain loops':>14}{'ratio':>8}")
    compiled, plain = [compiled_seconds(model) for model in MODELS], [plain_seconds(model.name) for model in MODELS]
    for name, fast, slow in [*zip((m.name for m in MODELS), compiled, plain, strict=True), ("mixed", np.mean(compiled), np.mean(plain))]:
        print(f"  {name:<7}{1 / fast:12,.0f}{1 / slow:14,.0f}{slow / fast:8.0f}")
    print("  (target: 200,000 mixed, on 2 cores; a search consumes 8,000)")


if __name__ == "__main__":
    say(__doc__)
    main()
