"""What an agent's three functions give: a fast simulator, the same bytes however it runs, a likelihood that is one.

Run with `python benchmarks/agents.py`. Kalman-UCB is written in 16 lines, and auto-regressive epsilon-greedy once more as an agent, both in
tests/models/test_agents.py. Participants play 2 blocks of 30 trials with 3 arms, parameters from the priors. What is measured is
processor time divided by the cores, so that other work on the machine counts little: the numbers are what free cores would do.

Takes a minute or two.
"""

from __future__ import annotations

import sys
import time
from functools import partial
from pathlib import Path
from unittest import mock

import numpy as np

import tellapart as ta
from tellapart.models.agents import Agent
from tellapart.models.python import simulate_each
from tellapart.parts import known_parts
from tellapart.priors import sample_priors
from tellapart.threads import available_cores

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "models"))
from takes import say
from test_agents import AEGAgent, KalmanUCB, same, sequences

TASK = ta.BernoulliBandit(arms=3, blocks=2, trials=30)
N, FEW, REPEATS = 50_000, 150, 8


def drawn(model: ta.Model, n: int) -> tuple[dict[str, np.ndarray], np.ndarray]:
    rng = np.random.default_rng(1)
    return sample_priors(model.parameters, n, rng), TASK.baseline(n, rng)


def seconds(model: ta.Model, n: int, cores: int, repeats: int = REPEATS, compiled: bool = True) -> float:
    """For each participant, each at another design; the best of a few runs."""
    parameters, designs = drawn(model, n)
    simulate = model.simulate if compiled else partial(simulate_each, model)
    simulate(parameters, designs, np.random.default_rng(0), TASK)
    spent = []
    for seed in range(repeats):
        start = time.process_time()
        simulate(parameters, designs, np.random.default_rng(seed), TASK)
        spent.append(time.process_time() - start)
    return min(spent) / n / cores


def print_speed() -> None:
    print(f"participants a second ({TASK.blocks} blocks of {TASK.trials} trials, {TASK.arms} arms, {available_cores()} cores)")
    fast, slow = seconds(KalmanUCB(), N, available_cores()), seconds(KalmanUCB(), FEW, 1, 3, compiled=False)
    print(f"  Kalman-UCB: {1 / fast:,.0f} compiled, {1 / slow:,.0f} uncompiled on one core, ratio {slow / fast:.0f}")
    print("  (targets: 100,000 and a ratio of 100)")
    for name, kind in known_parts("model").items():
        if issubclass(kind, Agent):
            print(f"  {name:<24}{1 / seconds(kind(), N // 5, available_cores(), 3):12,.0f}")


def print_same_bytes() -> None:
    model, (parameters, designs) = KalmanUCB(), drawn(KalmanUCB(), 4000)
    runs = []
    for cores in (1, 2, 3, 7):
        with mock.patch("tellapart.threads.available_cores", lambda cores=cores: cores):
            runs.append(model.simulate(parameters, designs, np.random.default_rng(2), TASK))
    few = {name: values[:FEW] for name, values in parameters.items()}
    plain = simulate_each(model, few, designs[:FEW], np.random.default_rng(2), TASK)
    print(f"the same bytes by 1, 2, 3 and 7 threads: {all(same(run, runs[0]) for run in runs)}; uncompiled: {same(plain, runs[0][:FEW])}")


def print_likelihoods() -> None:
    choices, rewards = sequences(3, 4)
    task, n = ta.BernoulliBandit(arms=3, blocks=1, trials=4), len(choices)
    behavior = ta.Behavior({"choice": choices, "reward": rewards})
    score = KalmanUCB().log_likelihood({"beta": np.full(n, 4.0), "bonus": np.full(n, 0.7)}, behavior, np.full((n, 1, 3), 0.5), task)
    by_rewards = np.bincount(rewards[:, 0] @ [1, 2, 4, 8], np.exp(score))
    print(f"likelihood over all {3**4} sequences of 4 choices, for each of 16 sequences of rewards: 1 ± {np.abs(by_rewards - 1).max():.1e}")
    parameters, designs = drawn(ta.AEG(), 1000)
    behavior = ta.AEG().simulate(parameters, designs, np.random.default_rng(1), TASK)
    agents, hand = (model.log_likelihood(parameters, behavior, designs, TASK) for model in (AEGAgent(), ta.AEG()))
    print(f"AEG as an agent and by hand, 1,000 participants: at most {np.abs(agents - hand).max():.1e} nats apart")


if __name__ == "__main__":
    say(__doc__)
    print_speed()
    print_same_bytes()
    print_likelihoods()
