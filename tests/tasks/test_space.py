"""Design spaces of every kind of variable, with rules: whatever they propose, they also accept."""

import numpy as np
import pytest

from tellapart import Constraint, DesignError, DesignSpace, StudyError, Symmetry, Variable
from tellapart.search.process import initial_designs
from tellapart.search.survey import _candidates
from tellapart.tasks.constraints import fixed_total, increasing

DELAY = Variable("delay", 1, 365, log=True)
COUNT = Variable("trials", 0, 20, kind="integer")
FRAME = Variable("frame", categories=("gain", "loss", "mixed"))
ITEMS = Variable("items", 1, 1000, kind="integer", log=True)
STRENGTH = Variable("strength", -1, 1)

SPACES = {
    "kinds": DesignSpace.of(2, [DELAY, COUNT, FRAME, ITEMS]),
    "increasing": DesignSpace.of(4, [DELAY, STRENGTH], constraints=[increasing([DELAY, STRENGTH], "delay", 4, gap=30)]),
    "real total": DesignSpace.of(3, [STRENGTH], Symmetry(blocks=True), [fixed_total([STRENGTH], "strength", 3, 1.5)]),
    "whole total": DesignSpace.of(4, [STRENGTH, COUNT], Symmetry(blocks=True), [fixed_total([STRENGTH, COUNT], "trials", 4, 30)]),
    "own rule": DesignSpace.of(
        2, [Variable("small"), Variable("large")], constraints=[Constraint("small is at most large", lambda d: np.sort(d, axis=-1))]
    ),
}
each_space = pytest.mark.parametrize("space", SPACES.values(), ids=list(SPACES))


class OnlySpace:
    """A task as far as a survey needs one."""

    def __init__(self, space):
        self.design_space = space


@each_space
def test_all_that_is_proposed_is_feasible(space):
    rng = np.random.default_rng(1)
    proposed = [space.sample(200, rng), space.spread(300, rng), initial_designs(space, 50, 1)]
    proposed.append(_candidates(OnlySpace(space), proposed[0][:5], 200, rng))
    for designs in proposed:
        space.check_many(designs, len(designs))
        for design in designs:
            space.check(design)
        np.testing.assert_allclose(space.repair(designs), designs, atol=1e-6)
        again = space.canonical(space.canonical(designs))
        np.testing.assert_allclose(again, space.canonical(designs), atol=1e-6)
        space.check_many(again, len(again))


@each_space
def test_unit_scale_and_back(space):
    designs = space.sample(100, np.random.default_rng(2))
    unit = space.to_unit(designs)
    assert unit.min() >= 0
    assert unit.max() <= 1
    np.testing.assert_allclose(space.from_unit(unit), designs, atol=1e-6)


@each_space
def test_written_and_read(space):
    for design in space.sample(20, np.random.default_rng(3)):
        np.testing.assert_allclose(space.parse(space.format(design)), design, atol=0.002)
    space.parse(space.example())


@each_space
def test_networks_see_finite_numbers(space):
    designs = space.spread(50, np.random.default_rng(4))
    seen = space.describe(designs)
    assert seen.shape == (50, space.blocks, space.features)
    assert np.abs(seen).max() <= 1


def test_levels_are_equally_probable():
    designs = SPACES["kinds"].sample(6000, np.random.default_rng(5))
    counts = np.bincount(designs[..., 1].astype(int).ravel(), minlength=21)
    assert counts.min() > 0.8 * counts.mean()
    shares = np.bincount(designs[..., 2].astype(int).ravel()) / designs[..., 2].size
    np.testing.assert_allclose(shares, 1 / 3, atol=0.03)
    assert np.median(designs[..., 0]) == pytest.approx(365**0.5, rel=0.1)


def test_categories_are_one_hot_and_have_names():
    space = SPACES["kinds"]
    design = space.parse("7,3,loss,10; 30,0,gain,1000")
    assert space.format(design) == "7,3,loss,10; 30,0,gain,1000"
    np.testing.assert_array_equal(space.describe(design)[:, 2:5], [[0, 1, 0], [1, 0, 0]])


def test_whole_totals_are_the_nearest():
    space = SPACES["whole total"]
    repaired = space.repair(np.array([[0, 0.0], [0, 3.4], [0, 20.0], [0, 9.0]]))
    assert repaired[:, 1].sum() == 30
    np.testing.assert_array_equal(repaired[:, 1], np.round(repaired[:, 1]))
    assert np.abs(repaired[:, 1] - [0, 3, 20, 9]).max() <= 1


@pytest.mark.parametrize(
    ("space", "text", "message"),
    [
        ("kinds", "7,3.5,gain,10; 7,3,gain,10", ["outside its range", "block 0, trials", "whole number from 0 to 20", "3.5"]),
        ("kinds", "7,3,gian,10; 7,3,gain,10", ["not made of numbers", "gian"]),
        ("kinds", "7,3,5,10; 7,3,gain,10", ["frame", "0 (gain) or 1 (loss) or 2 (mixed)"]),
        ("kinds", "0,3,gain,10; 7,3,gain,10", ["delay", "from 1 to 365"]),
        ("increasing", "5,0; 4,0; 100,0; 200,0", ["breaks a rule", "delay increases from block to block by 30 or more", "nearest"]),
        ("real total", "0.5; 0.5; 0.6", ["breaks a rule", "strength sums to 1.5"]),
        ("whole total", "0,10; 0,10; 0,10; 0,10", ["trials sums to 30 over blocks"]),
        ("own rule", "0.5,0.4; 0.1,0.2", ["small is at most large", '"0.4,0.5; 0.1,0.2"']),
    ],
)
def test_designs_outside_the_space(space, text, message):
    with pytest.raises(DesignError) as error:
        SPACES[space].parse(text)
    assert all(words in str(error.value) for words in message), str(error.value)


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
        lambda: increasing([DELAY], "delay", 4, gap=200),
        lambda: increasing([DELAY], "dealy", 4),
        lambda: fixed_total([COUNT], "trials", 2, 41),
        lambda: fixed_total([COUNT], "trials", 2, 7.5),
    ],
)
def test_spaces_that_make_no_sense(make):
    with pytest.raises(StudyError):
        make()
