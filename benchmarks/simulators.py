"""How many participants a second the compiled simulators make, and how much faster they are than plain Python loops.

Run with `python benchmarks/simulators.py`. Participants play 2 blocks of 30 trials with 3 arms, parameters from the priors.
"""

from __future__ import annotations

import random
import sys
import time
from pathlib import Path

import numpy as np

from tellapart.models.aeg import AEG
from tellapart.models.gls import GLS
from tellapart.models.wslts import WSLTS
from tellapart.tasks.bandit import BernoulliBandit
from tellapart.threads import available_cores

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "models"))
import reference

TASK = BernoulliBandit(arms=3, blocks=2, trials=30)
MODELS = (WSLTS(), AEG(), GLS())
N, PLAIN_N, REPEATS = 100_000, 150, 5


def compiled_seconds(model: WSLTS | AEG | GLS) -> float:
    """Seconds a participant, at a design of each participant's own; the best of a few runs."""
    rng = np.random.default_rng(1)
    parameters, designs = model.sample_prior(N, rng), TASK.baseline(N, rng)
    model.simulate(parameters, designs, rng, TASK)
    seconds = []
    for _ in range(REPEATS):
        start = time.perf_counter()
        model.simulate(parameters, designs, rng, TASK)
        seconds.append(time.perf_counter() - start)
    return min(seconds) / N


def plain_seconds(name: str) -> float:
    """Seconds a participant of the plain loops that the tests compare with; the best of a few runs."""
    rng, seconds = random.Random(1), []
    designs = TASK.baseline(PLAIN_N, np.random.default_rng(1)).tolist()
    for _ in range(REPEATS):
        start = time.perf_counter()
        for design in designs:
            reference.simulate(name, "paper", reference.draw(name, rng), design, TASK.trials, rng)
        seconds.append(time.perf_counter() - start)
    return min(seconds) / PLAIN_N


def main() -> None:
    """Print the speed of each model and of the three mixed."""
    print(f"participants a second ({TASK.blocks} blocks of {TASK.trials} trials, {TASK.arms} arms, {available_cores()} cores)")
    print(f"  {'model':<7}{'compiled':>12}{'plain loops':>14}{'ratio':>8}")
    compiled, plain = [compiled_seconds(model) for model in MODELS], [plain_seconds(model.name) for model in MODELS]
    for name, fast, slow in [*zip((m.name for m in MODELS), compiled, plain, strict=True), ("mixed", np.mean(compiled), np.mean(plain))]:
        print(f"  {name:<7}{1 / fast:12,.0f}{1 / slow:14,.0f}{slow / fast:8.0f}")
    print("  (targets, mixed: 200,000 a second on 2 cores and a ratio of 300)")


if __name__ == "__main__":
    main()
