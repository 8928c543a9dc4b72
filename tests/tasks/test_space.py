"""Design spaces: what they accept, what they refuse and in which words, and which designs they take for the same."""

from itertools import permutations, product

import numpy as np
import pytest
from spaces import COUNT, SPACES, each_space

from tellapart import DesignError, DesignSpace, StudyError, Symmetry, Variable, increasing
from tellapart.tasks.sampling import sample
from tellapart.tasks.text import parse_design


@each_space
def test_repaired_designs_and_their_representatives_are_feasible(space):
    wild = np.random.default_rng(1).normal(0, 400, (200, *space.shape))
    for designs in (space.repair(wild), space.canonical(wild)):
        space.check_many(designs, len(designs))
        np.testing.assert_allclose(space.repair(designs), designs, atol=1e-6)
    np.testing.assert_allclose(space.canonical(space.canonical(wild)), space.canonical(wild), atol=1e-6)


def test_all_equivalents_have_one_representative():
    space = SPACES["arms"]
    design = sample(space, 1, np.random.default_rng(1))[0]
    equivalents = [
        np.array([design[block][list(order)] for block, order in zip(blocks, orders, strict=True)])
        for blocks in permutations(range(2))
        for orders in product(permutations(range(3)), repeat=2)
    ]
    assert len({one.tobytes() for one in equivalents}) == 72
    assert len({space.canonical(one).tobytes() for one in equivalents}) == 1
    assert len({Symmetry(columns=True).canonical(one).tobytes() for one in equivalents}) == 2
    assert len({Symmetry(blocks=True).canonical(one).tobytes() for one in equivalents}) == 36
    assert len({Symmetry().canonical(one).tobytes() for one in equivalents}) == 72


def test_many_designs_are_told_at_once():
    space = SPACES["arms"]
    design = np.array([[0.1, 0.2, 0.3], [0.4, 0.5, 0.6]])
    assert space.check_many(design, 5).shape == (5, 2, 3)
    assert space.canonical(np.zeros((0, 2, 3))).shape == (0, 2, 3)
    with pytest.raises(DesignError, match="one for each"):
        space.check_many(np.zeros((4, 2, 3)), 5)


@pytest.mark.parametrize(
    ("space", "text", "message"),
    [
        ("kinds", "7,3.5,gain,10; 7,3,gain,10", ["outside its range", "block 0, trials", "whole number from 0 to 20", "3.5"]),
        ("kinds", "7,3,5,10; 7,3,gain,10", ["frame", "0 (gain) or 1 (loss) or 2 (mixed)"]),
        ("kinds", "0,3,gain,10; 7,3,gain,10", ["delay", "from 1 to 365"]),
        ("increasing", "5,0; 4,0; 100,0; 200,0", ["breaks a rule", "delay increases from block to block by 30 or more", "nearest"]),
        ("real total", "0.5; 0.5; 0.6", ["breaks a rule", "strength sums to 1.5"]),
        ("whole total", "0,10; 0,10; 0,10; 0,10", ["trials sums to 30 over blocks"]),
        ("own rule", "0.5,0.4; 0.1,0.2", ["small is at most large", '"0.4,0.5; 0.1,0.2"']),
        ("arms", "0.5,0.4,0.2", ["wrong number of blocks", "2 blocks of 3 numbers"]),
        ("arms", "0.5,0.4; 0.1,0.2", ["wrong number of values in a block", "arm 0, arm 1, arm 2"]),
    ],
)
def test_designs_outside_the_space(space, text, message):
    with pytest.raises(DesignError) as error:
        parse_design(SPACES[space], text)
    assert all(words in str(error.value) for words in message), str(error.value)


@pytest.mark.parametrize("wrong", ["words", [[0.1, 0.2, 0.3], [0.1]], np.zeros(3), None, [[np.nan] * 3] * 2])
def test_what_is_no_design(wrong):
    with pytest.raises(DesignError):
        SPACES["arms"].check(wrong)


def test_one_wrong_design_among_many():
    with pytest.raises(DesignError, match="small is at most large"):
        SPACES["own rule"].check_many(np.array([[[0.1, 0.2]] * 2, [[0.5, 0.4]] * 2]), 2)


@pytest.mark.parametrize(
    "make",
    [
        lambda: Variable("x", 1, 1),
        lambda: Variable("x", 0, np.inf),
        lambda: Variable("x", 0, 1, log=True),
        lambda: Variable("x", 0, 1.5, kind="integer"),
        lambda: Variable("x", 0, 1, kind="ordinal"),
        lambda: Variable("x", categories=("only",)),
    ],
)
def test_variables_that_make_no_sense(make):
    with pytest.raises(StudyError):
        make()


def test_what_variables_take():
    np.testing.assert_array_equal(COUNT.allows(np.array([-1, 0, 3, 3.5, 20, 21])), [False, True, True, False, True, False])


def test_rounding_is_a_share_of_the_range():
    """A design may break a rule by two thousandths of the range, however wide it is; it is then taken for the one that obeys."""
    for width in (0.01, 364.0):
        variable = Variable("x", 0, width)
        space = DesignSpace(2, [variable], constraints=[increasing([variable], "x", 2)])
        almost, too_far = (np.array([[0.5 + share], [0.5]]) * width for share in (0.0019, 0.0021))
        np.testing.assert_allclose(space.check(almost), np.sort(almost, axis=0))
        assert space.check_many(almost[None], 1).shape == (1, 2, 1)
        for design in (too_far, np.stack([almost, too_far])):
            with pytest.raises(DesignError, match="breaks a rule"):
                space.check_many(design, 2)


def test_a_design_of_categories_and_one_with_edges():
    """Values at both ends belong to a range; categories are numbered from 0."""
    frame = Variable("frame", categories=["gain", "loss", "mixed"])
    assert (frame.low, frame.high, frame.kind, frame.categories) == (0.0, 2.0, "categorical", ("gain", "loss", "mixed"))
    np.testing.assert_array_equal(Variable("x", -1, 2).allows(np.array([-1.1, -1.0, 0.3, 2.0, 2.1])), [False, True, True, True, False])
    space = SPACES["kinds"]
    assert (space.shape, space.names) == ((2, 4), ("delay", "trials", "frame", "items"))
    with pytest.raises(DesignError, match=r"block 1, trials \(counted from 0\)"):
        space.check([[1, 0, 0, 1], [365, 21, 2, 1000]])
    np.testing.assert_array_equal(space.check([[1, 0, 0, 1], [365, 20, 2, 1000]]), [[1, 0, 0, 1], [365, 20, 2, 1000]])
    with pytest.raises(DesignError, match="trials"):  # the second of three is the wrong one
        space.check_many([[[1, 0, 0, 1]] * 2, [[1, 21, 0, 1]] * 2, [[1, 0, 0, 1]] * 2], 3)
