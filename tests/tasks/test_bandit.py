"""The bandit task: its design space, its symmetries, its baseline."""

import itertools

import numpy as np
import pytest

from tellapart import Behavior, BernoulliBandit, DataError, DesignError, DesignSpace, StudyError, Symmetry
from tellapart.tasks import known_tasks

BANDIT = BernoulliBandit(arms=3, blocks=2, trials=4)
SPACE = BANDIT.design_space


def test_is_found_by_its_name():
    assert known_tasks()["bernoulli-bandit"] is BernoulliBandit


def test_text_and_back():
    design = SPACE.parse("0,0,0.6; 1,1,0")
    np.testing.assert_array_equal(design, [[0, 0, 0.6], [1, 1, 0]])
    assert SPACE.format(design) == "0,0,0.6; 1,1,0"
    assert SPACE.format([[-0.0, 1e-9, 2 / 3], [1, 1, 0.25]]) == "0,0,0.667; 1,1,0.25"
    assert SPACE.format([[10.0, 100.4]], digits=0) == "10,100"
    np.testing.assert_array_equal(SPACE.parse(SPACE.example()), np.full((2, 3), 0.5))
    np.testing.assert_array_equal(SPACE.parse(" 0 , 0,.6;1,1,0; "), design)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("0,0,1.2; 1,1,0", ["outside", "block 0, arm 2", "0 to 1", "1.2"]),
        ("0,0,0.5; -0.1,1,0", ["outside", "block 1, arm 0"]),
        ("0,0,nan; 1,1,0", ["outside", "block 0, arm 2", "nan"]),
        ("0,0,inf; 1,1,0", ["outside", "inf"]),
        ("0,0,0.5", ["number of blocks", "2 block(s)", "1 block(s)"]),
        ("0,0; 1,1", ["values in a block", "3 values", "2 values"]),
        ("0,0,0.5; 1,1", ["different numbers of values", "2 and 3"]),
        ("0,0,a half; 1,1,0", ["not made of numbers", "0.5,0.5,0.5; 0.5,0.5,0.5"]),
        ("", ["not made of numbers"]),
        ("0,0,0.6;; 1,1,0", ["not made of numbers"]),
    ],
)
def test_designs_that_do_not_fit(text, message):
    with pytest.raises(DesignError) as error:
        SPACE.parse(text)
    assert all(words in str(error.value) for words in message), str(error.value)


@pytest.mark.parametrize("design", [[[0, 0, 0], [1, 1]], "text", [["a"] * 3] * 2, [0, 0, 0], np.zeros((5, 2, 3)), [[None] * 3] * 2])
def test_arrays_that_are_no_designs(design):
    with pytest.raises(DesignError):
        SPACE.check(design)


def test_one_design_for_all_or_one_for_each():
    designs = SPACE.sample(5, np.random.default_rng(1))
    np.testing.assert_array_equal(SPACE.check_many(designs, 5), designs)
    assert SPACE.check_many(designs[0], 5).shape == (5, 2, 3)
    for wrong in (designs[:4], np.where(np.arange(5)[:, None, None] == 3, 1.5, designs), [[0, 0, 0], [1, 1]]):
        with pytest.raises(DesignError):
            SPACE.check_many(wrong, 5)


def equivalents(design):
    """All relabellings of arms within blocks, and of blocks."""
    for order in itertools.permutations(design):
        for arms in itertools.product(itertools.permutations(range(3)), repeat=2):
            yield np.array([block[list(arm)] for block, arm in zip(order, arms, strict=True)])


def test_equivalent_designs_are_one():
    design = SPACE.sample(1, np.random.default_rng(2))[0]
    every = list(equivalents(design))
    assert len({one.tobytes() for one in every}) == 6**2 * 2
    assert len({SPACE.canonical(one).tobytes() for one in every}) == 1
    canonical = SPACE.canonical(np.stack(every))
    assert any(np.array_equal(canonical[0], one) for one in every)
    np.testing.assert_array_equal(SPACE.canonical(canonical), canonical)


def test_ties_in_the_first_variable_are_ordered_by_the_next():
    np.testing.assert_array_equal(SPACE.canonical([[0, 0.9, 0.9], [0, 0.2, 1]]), [[0, 0.2, 1], [0, 0.9, 0.9]])


def test_without_symmetry_designs_stay_as_they_are():
    designs = SPACE.sample(3, np.random.default_rng(2))
    np.testing.assert_array_equal(Symmetry().canonical(designs), designs)
    only_blocks = Symmetry(blocks=True).canonical(designs)
    np.testing.assert_array_equal(np.sort(only_blocks.reshape(3, -1)), np.sort(designs.reshape(3, -1)))
    assert SPACE.canonical(np.zeros((0, 2, 3))).shape == (0, 2, 3)


def test_samples_fill_the_space():
    space = DesignSpace(1, ("a", "b"), (-1.0, 5.0), (1.0, 6.0))
    sample = space.sample(2_000, np.random.default_rng(3))[:, 0]
    assert (sample >= space.low).all()
    assert (sample <= space.high).all()
    np.testing.assert_allclose(sample.mean(0), [0.0, 5.5], atol=0.06)


def test_baseline_is_beta_two_two():
    from scipy import stats

    draws = BANDIT.baseline(3_000, np.random.default_rng(4))
    assert draws.shape == (3_000, 2, 3)
    assert stats.kstest(draws.reshape(-1), stats.beta(2, 2).cdf).pvalue > 1e-4


@pytest.mark.parametrize("settings", [{"arms": 1}, {"blocks": 0}, {"trials": 0}, {"arms": 2.5}, {"trials": True}, {"blocks": "two"}])
def test_impossible_settings(settings):
    with pytest.raises(StudyError, match=next(iter(settings))):
        BernoulliBandit(**settings)


def test_checks_behavior():
    good = {"choice": np.full((1, 2, 4), 2), "reward": np.ones((1, 2, 4))}
    assert BANDIT.check(Behavior(good)).shape == (1, 2, 4)
    assert BANDIT.check(Behavior(good).first(blocks=1, trials=2)).shape == (1, 1, 2)
    masked = np.ones((1, 2, 4), bool)
    masked[0, 1, 3] = False
    choice = good["choice"].copy()
    choice[0, 1, 3] = 7
    BANDIT.check(Behavior({**good, "choice": choice}, masked))
    with pytest.raises(DataError, match="participant 0, block 1, trial 3"):
        BANDIT.check(Behavior({**good, "choice": choice}))
    with pytest.raises(DataError, match="other fields"):
        BANDIT.check(Behavior({"choice": choice}))
    with pytest.raises(DataError, match="larger task"):
        BANDIT.check(Behavior({name: np.zeros((1, 2, 9)) for name in good}))
