"""The worked examples: better designs than the customary ones, by the exact reference. That they are sound: `contracts/`."""

from pathlib import Path

import numpy as np
import pytest

import tellapart as ta

EXAMPLES = Path(__file__).parents[1] / "examples"


BETTER = {
    "retention": "0.5; 10.8; 12.1; 12.4; 100",
    "discounting": "1,100,60,365; 1,100,60,365; 1,100,0,153; 100,100,60,365; 95,100,0,1; 86,100,60,1",
}
CUSTOMARY = {
    "retention": ["0.5; 4; 12; 35; 99", "0.5; 1; 2; 4; 7", "0.5; 25; 50; 75; 100"],
    "discounting": ["40,55,0,62; 25,60,0,14; 20,55,0,7; 80,85,0,157; 41,75,0,20; 15,35,0,13"],
}


def exact(study, text, n=600):
    return ta.exact_information(study, ta.parse_design(study.task.design_space, text), n, np.random.default_rng(5))


@pytest.mark.parametrize(("name", "times"), [("retention", 1.1), ("discounting", 3.0)])
def test_there_are_better_designs_than_the_customary_ones(name, times):
    """By the exact reference, all with the same agents. `benchmarks/examples.py` says by how much the search's own beat them."""
    study = ta.Study.from_file(EXAMPLES / name)
    better = exact(study, BETTER[name])
    assert all(better.nats > times * exact(study, text).nats for text in CUSTOMARY[name])


def test_bounds_that_collapse_end_long_decisions():
    study = ta.Study.from_file(EXAMPLES / "accumulation")
    fixed, collapsing = study.models
    n, rng = 200, np.random.default_rng(1)
    designs = np.tile([[0.0, 20], [0.1, 20], [0.4, 20]], (n, 1, 1))
    common = {"sensitivity": np.full(n, 8.0), "height": np.full(n, 1.2), "rest": np.full(n, 0.3)}
    slow = fixed.simulate(common, designs, rng, study.task)
    quick = collapsing.simulate({**common, "half_time": np.full(n, 0.5)}, designs, rng, study.task)
    times = [np.ma.masked_array(b.fields["seconds"], ~b.mask) for b in (slow, quick)]
    assert times[0][:, 0].mean() > times[1][:, 0].mean() + 0.3
    assert times[1][:, 0].mean() > times[1][:, 2].mean()
    right = [np.ma.masked_array(b.fields["correct"], ~b.mask) for b in (slow, quick)]
    assert right[0][:, 0].mean() == pytest.approx(0.5, abs=0.03)
    assert right[0][:, 2].mean() > 0.99
    assert right[1][:, 1].mean() < right[0][:, 1].mean()
    assert slow.mask[:, :, :20].mean() > 0.95
    assert not slow.mask[:, :, 20:].any()


def test_a_fixed_bound_agrees_with_theory():
    """Without drift the bound is reached after height^2 on average; with drift v it is right with probability 1 / (1 + exp(-2 v a))."""
    study = ta.Study.from_file(EXAMPLES / "accumulation")
    n = 1000
    common = {"sensitivity": np.full(n, 2.0), "height": np.full(n, 0.7), "rest": np.full(n, 0.3)}
    designs = np.tile([[0.0, 20], [0.5, 20], [0.25, 20]], (n, 1, 1))
    behavior = study.models[0].simulate(common, designs, np.random.default_rng(1), study.task)
    seconds = np.ma.masked_array(behavior.fields["seconds"], ~behavior.mask)[:, 0].mean() - 0.3
    overshoot = 0.5826 * 0.1  # a discrete walk overshoots by about 0.58 steps of size sqrt(0.01): Siegmund (1979)
    assert seconds == pytest.approx((0.7 + overshoot) ** 2, rel=0.03)
    right = np.ma.masked_array(behavior.fields["correct"], ~behavior.mask)[:, 1].mean()
    assert right == pytest.approx(1 / (1 + np.exp(-2 * 1.0 * (0.7 + overshoot))), abs=0.01)
