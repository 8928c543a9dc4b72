"""A few simulated people, to be written down in the forms that other programs use."""

import numpy as np

from tellapart import AEG, Behavior, BernoulliBandit

TWO = BernoulliBandit(arms=2, blocks=1, trials=12)
THREE = BernoulliBandit(arms=3, blocks=2, trials=6)
FOUR = BernoulliBandit(arms=4, blocks=1, trials=10)


def simulate(task, labels=("007", "008", "009"), seed=0, missed=0.0):
    """People of AEG who use every arm and win and lose."""
    rng, n = np.random.default_rng(seed), len(labels)
    designs = np.full((n, *task.design_space.shape), 0.5)
    while True:
        behavior = AEG().simulate({"epsilon": np.full(n, 0.7), "phi": np.full(n, 0.2)}, designs, rng, task)
        if all(len(set(values.ravel().tolist())) == (task.arms if name == "choice" else 2) for name, values in behavior.fields.items()):
            break
    mask = rng.random(behavior.mask.shape) >= missed
    return Behavior(behavior.fields, mask, np.array(labels, object))


def rows_of(behavior):
    """One dictionary for each trial: participant, block, trial, choice and reward; choice and reward None where it was missed."""
    n, blocks, trials = behavior.shape
    for i in range(n):
        for b in range(blocks):
            for t in range(trials):
                seen = behavior.mask[i, b, t]
                choice, reward = (int(behavior.fields[name][i, b, t]) if seen else None for name in ("choice", "reward"))
                yield {"participant": behavior.participants[i], "block": b, "trial": t, "choice": choice, "reward": reward}


def write(path, header, rows, separator=","):
    """A text table; None is an empty cell."""
    lines = [separator.join(header)]
    lines += [separator.join("" if cell is None else str(cell) for cell in row) for row in rows]
    path.write_text("\n".join(lines) + "\n", "utf-8")
    return path


def assert_same(found, behavior):
    assert found.participants.tolist() == behavior.participants.tolist()
    np.testing.assert_array_equal(found.mask, behavior.mask)
    for name, values in behavior.fields.items():
        np.testing.assert_array_equal(found.fields[name], values)
