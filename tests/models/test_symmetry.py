"""What is compared to find out whether a model has a symmetry, against plain Python; whether it is found is in tests/test_testing.py."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest

import tellapart as ta
from tellapart.models import symmetry
from tellapart.models.symmetry import (
    PEOPLE,
    _orders,
    _relabel,
    _relabellings,
    _tests,
    _weights,
    broken_blocks,
    broken_by,
    broken_symmetries,
    columns_of,
    neighbours,
    statistics,
    unbroken,
)

TASK = ta.BernoulliBandit(arms=3, blocks=4, trials=5)


def behavior(n=6):
    rng, shape = np.random.default_rng(0), (n, 4, 5)
    return ta.Behavior({"choice": rng.integers(0, 3, shape), "reward": rng.integers(0, 2, shape)}, rng.random(shape) < 0.8)


def numbers(data, n, b, t):
    """A trial as numbers: an indicator of each choice, and the reward on a log scale; 0 where it was missed."""
    there = data.mask[n, b, t]
    choice = [float(there and data.fields["choice"][n, b, t] == k) for k in range(3)]
    return choice, [float(there) * np.log1p(data.fields["reward"][n, b, t])]


def test_statistics_of_blocks():
    data = behavior()
    found = statistics(data, TASK)
    for n, b in product(range(6), range(4)):
        trials = [numbers(data, n, b, t) for t in range(5)]
        row = [np.mean(data.mask[n, b])]
        for f in (0, 1):
            values = np.array([trial[f] for trial in trials])
            twice = sum(values[t] * values[t - 1] for t in range(1, 5)) / 5
            row += [*values.mean(0), *values[0], *twice, twice.sum()]
        row += [np.mean([choice[k] * reward[0] for choice, reward in trials]) for k in range(3)]
        np.testing.assert_allclose(found[n, b], row)


def test_statistics_of_blocks_that_follow_each_other():
    data = behavior()
    found = neighbours(data, TASK)
    for n in range(6):
        trials = [[numbers(data, n, b, t) for t in range(5)] for b in range(4)]
        row = []

        def alike(before, after):
            return sum(float(np.dot(before[b], after[b + 1])) for b in range(3))

        for f in (0, 1):
            values = np.array([[trial[f] for trial in block] for block in trials])
            first, last, mean = values[:, 0], values[:, -1], values.mean(1)
            row += [alike(mean, first), alike(last, first), alike(mean, mean)]
        taken = np.array([[choice for choice, _ in block] for block in trials])
        paid = np.array([np.mean([np.array(choice) * reward[0] for choice, reward in block], axis=0) for block in trials])
        row += [alike(paid, taken[:, 0]), alike(paid, taken.mean(1))]
        np.testing.assert_allclose(found[n], row)


@pytest.mark.parametrize("what", ["columns", "blocks"])
def test_orders_are_never_the_same(what):
    order = _orders((500, 3, 4), what, np.random.default_rng(0))
    assert order.shape == ((500, 3, 4) if what == "columns" else (500, 3, 1))
    rows = order.reshape(-1, 4) if what == "columns" else order[..., 0]
    count = rows.shape[1]
    assert (np.sort(rows, axis=1) == np.arange(count)).all()
    assert not (rows == np.arange(count)).all(1).any()
    kinds = {tuple(row) for row in rows}
    assert len(kinds) == np.prod(range(1, count + 1)) - 1  # all others


def test_exchanged_designs_are_labelled_back():
    data = behavior(2)
    order = _orders((2, 4, 3), "columns", np.random.default_rng(1))
    back = _relabel(data, order, ("choice",))
    for n, b, t in np.ndindex(2, 4, 5):
        assert not data.mask[n, b, t] or back.fields["choice"][n, b, t] == order[n, b, data.fields["choice"][n, b, t]]
    np.testing.assert_array_equal(back.fields["reward"], data.fields["reward"])
    np.testing.assert_array_equal(back.mask, data.mask)


def test_fields_that_may_stand_for_columns():
    assert _relabellings(TASK) == [("choice",), ()]
    assert _relabellings(ta.BernoulliBandit(2, 1, 5)) == [("choice",), ("choice", "reward"), ()]


@pytest.mark.parametrize(("levels", "columns"), [(1, 1), (2, 2), (symmetry.LEVELS, symmetry.LEVELS), (symmetry.LEVELS + 1, 1)])
def test_categories_are_indicators_unless_they_are_many(levels, columns):
    assert columns_of(np.zeros((2, 3), int), ta.Field("x", "categorical", levels)).shape == (2, 3, columns)


def test_numbers_are_on_a_scale_of_logarithms_with_their_sign():
    np.testing.assert_allclose(columns_of(np.array([-3.0, 0.0, 7.0]), ta.Field("x", "real"))[:, 0], [-np.log(4), 0, np.log(8)])


def test_weights_are_none_parameters_and_people():
    group = np.arange(2 * PEOPLE) % PEOPLE
    epsilon = np.linspace(0.1, 0.9, PEOPLE)[group]
    parameters = {"epsilon": epsilon, "phi": np.full(2 * PEOPLE, 0.5)}
    weights = _weights(ta.AEG(), parameters, group)
    assert weights.shape == (2 * PEOPLE, 3 + PEOPLE)
    np.testing.assert_array_equal(weights[:, 0], 1)
    np.testing.assert_allclose(weights[:, 1], ta.Uniform().to_normal(epsilon))
    np.testing.assert_allclose(weights[:, 2], 0, atol=1e-12)
    np.testing.assert_array_equal(weights[:, 3:], group[:, None] == np.arange(PEOPLE))


def test_differences_in_units_of_chance():
    rng = np.random.default_rng(0)
    difference, designs, weights, following = (rng.standard_normal(shape) for shape in ((7, 2, 3), (7, 2, 2), (7, 4), (7, 5)))
    found = _tests(difference, designs, weights, following)
    columns = [difference[:, b, f] for b in range(2) for f in range(3)]
    columns += [difference[:, 0, f] + difference[:, 1, f] for f in range(3)]
    columns += [difference[:, 0, f] * designs[:, 0, v] + difference[:, 1, f] * designs[:, 1, v] for v in range(2) for f in range(3)]
    columns += list(following.T)
    assert len(found) == 4 * len(columns)
    for w in range(4):
        for s, x in enumerate(columns):
            weighted = weights[:, w] * x
            assert found[f"{w} {s}"] == pytest.approx(weighted.sum() / np.sqrt((weighted**2).sum()))


class Remembers(ta.AEG):
    name = "remembers"
    resets = False


class Forgets(ta.AEG):
    name = "forgets"
    resets = True


class OnlyBlocks(ta.BernoulliBandit):
    @property
    def design_space(self):
        return replace(super().design_space, symmetry=ta.Symmetry(blocks=True))


def test_who_remembers_breaks_symmetries_without_being_asked(monkeypatch):
    monkeypatch.setattr(symmetry, "_broken", lambda *given: False)
    assert ta.with_priors(Remembers(), phi=ta.Beta(2, 2)).resets is False
    assert broken_symmetries(Remembers(), TASK) == ta.Symmetry(True, True)
    assert broken_symmetries(Forgets(), TASK) == ta.Symmetry(False, False)
    assert broken_symmetries(Remembers(), OnlyBlocks(3, 2, 5)) == ta.Symmetry(False, True)  # of what the task declares
    assert unbroken(ta.Symmetry(True, True), {"blocks": ["remembers"]}) == ta.Symmetry(True, False)
    assert broken_symmetries(Remembers(), ta.BernoulliBandit(3, 1, 5)) == ta.Symmetry(False, False)
    assert broken_by([Remembers(), Forgets()], TASK, 1) == {"columns": ["remembers"], "blocks": ["remembers"]}
    assert broken_by([Forgets()], TASK, 1) == {}


def test_a_symmetry_is_broken_if_no_reading_of_the_fields_keeps_it(monkeypatch):
    asked = []

    def broken(model, task, seed, n, what, names):
        asked.append((seed, n, what, names))
        return names != ("choice", "reward")

    monkeypatch.setattr(symmetry, "_broken", broken)
    two, three = ta.BernoulliBandit(2, 1, 5), ta.BernoulliBandit(3, 1, 5)
    assert broken_symmetries(Forgets(), two, 5, 90) == ta.Symmetry(False, False)
    assert asked == [(5, 90, "columns", ("choice",)), (5, 90, "columns", ("choice", "reward"))]
    assert broken_symmetries(Forgets(), three) == ta.Symmetry(True, False)
    assert broken_blocks(Forgets(), TASK, 3, 50)
    assert asked[-1] == (3, 50, "blocks", ())


def chooser(name, bias):
    """Chooses arms at random, the first in a share `bias` of trials more than that; whatever they pay, or only in the first block."""

    @ta.model(name=name, parameters={}, vectorised=True)
    def choose(parameters, designs, rng, task):
        choice = rng.integers(0, 3, (len(designs), task.blocks, task.trials))
        biased = rng.random(choice.shape) < np.asarray(bias)[:, None]
        choice = np.where(biased, 0, choice)
        paid = np.take_along_axis(designs, choice, 2)
        return {"choice": choice, "reward": (rng.random(choice.shape) < paid).astype(int)}

    return choose()


@pytest.mark.parametrize(
    ("bias", "columns", "blocks"), [((0, 0, 0, 0), False, False), ((0.8, 0.8, 0.8, 0.8), True, False), ((0.8, 0, 0, 0), True, True)]
)
def test_broken_symmetries_are_found(bias, columns, blocks):
    """A symmetry that holds is called broken at most once in 10^5 times."""
    assert broken_symmetries(chooser("chooser", bias), TASK, 1, 200) == ta.Symmetry(columns, blocks)
