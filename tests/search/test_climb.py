"""Climbing by exchange, on surfaces whose top is known: it gets there, obeys every rule, and is not fooled by noise."""

import zlib

import numpy as np
import pytest

import tellapart as ta
from tellapart.information.estimate import Pointwise
from tellapart.search import climb as climbing
from tellapart.search.climb import alternatives, apart, climb
from tellapart.tasks.sampling import sample
from tellapart.tasks.scaling import to_unit

MODEL, PRIOR = np.zeros(4000, np.intp), (1.0,)


def space_of(blocks, variables, **more):
    return ta.DesignSpace(blocks, [ta.Variable(f"v{i}") for i in range(variables)], **more)


def noisy(value, noise, common=1.0):
    """An estimate of value(designs) (D,) whose participants are the same at all designs; what is left of noise differs between designs."""

    def estimate(designs, n):
        people = common * np.random.default_rng(0).standard_normal(4000)[:n]
        seeds = [zlib.crc32(design.tobytes()) for design in designs]
        left = [noise * np.random.default_rng(seed).standard_normal(4000)[:n] for seed in seeds]
        return [Pointwise(v + people + e, MODEL[:n], PRIOR, "lower bound") for v, e in zip(value(designs), left, strict=True)]

    return estimate


def hill(space, top):
    def value(designs):
        return -np.square(to_unit(space, designs) - top).sum((1, 2))

    return value


@pytest.mark.parametrize(("blocks", "variables"), [(2, 3), (3, 3), (6, 4), (12, 4)], ids=["6", "9", "24", "48"])
def test_it_reaches_the_top_of_a_hill(blocks, variables):
    space, rng = space_of(blocks, variables), np.random.default_rng(1)
    value = hill(space, rng.random((blocks, variables)))
    start = sample(space, 1, rng)[0]
    top = climb(noisy(value, 0.3), space, start, rng, 12, 400, 4000)
    assert value(top.design[None])[0] > 0.1 * value(start[None])[0]  # nine tenths of the way
    assert top.tried > 0


def test_on_a_plateau_it_claims_nothing():
    """Only noise tells designs apart: what a climb thinks it gained stays within what luck does to the best of many."""
    space, rng = space_of(2, 3), np.random.default_rng(1)
    top = climb(noisy(lambda designs: np.zeros(len(designs)), 0.5), space, sample(space, 1, rng)[0], rng, 6, 400, 4000)
    assert sum(top.gains) < 6 * 0.5 * 2**0.5 / 4000**0.5


def test_every_alternative_is_in_the_space_and_differs_in_one_block():
    variables = [
        ta.Variable("sum", 1, 100),
        ta.Variable("days", 1, 30, kind="integer", log=True),
        ta.Variable("kind", categories=("a", "b")),
    ]
    space = ta.DesignSpace(4, variables, constraints=[ta.fixed_total(variables, "sum", 4, 200.0)])
    rng = np.random.default_rng(0)
    design = sample(space, 1, rng)[0]
    others = alternatives(space, design, 2, 0.2, rng)
    space.check_many(others, len(others))
    changed = (others[:, :, 1:] != design[:, 1:]).any(-1)
    assert (changed.sum(1) <= 1).all()
    assert not (others == design).all((1, 2)).any()


def test_designs_that_are_nearly_alike_count_once():
    space = space_of(1, 2)
    designs = np.array([[[0.5, 0.5]], [[0.52, 0.5]], [[0.9, 0.5]]])
    assert apart(space, designs) == [0, 2]


def test_alternatives_are_of_four_kinds():
    """Of 64: 24 with one value moved, 16 moved a little, 16 anywhere, 8 like a block. Shares of 16 draws, within 4.5 standard errors."""
    space = space_of(3, 400)
    design = np.random.default_rng(0).uniform(0.3, 0.7, (3, 400))
    few, little, anywhere, like = [], [], [], []
    for seed in range(100, 116):
        others = alternatives(space, design, 1, 1e-3, np.random.default_rng(seed))
        assert len(others) == 64
        np.testing.assert_array_equal(others[:, [0, 2]], np.broadcast_to(design[[0, 2]], (64, 2, 400)))
        row, away = others[:, 1], np.abs(others[:, 1] - design[1])
        one = (away > 1e-12).sum(1) == 1
        few.append(row[one][away[one] > 1e-12])
        near = np.stack([np.abs(row - block).max(1) for block in design], 1) < 6e-3
        little += [away[~one & near[:, 1]]]
        anywhere.append(row[~one & ~near.any(1)])
        like.append((np.abs(row[:, None] - design).max(2) < 6e-3)[~one][:, [0, 2]])
        assert one.sum() == 24
        assert (~one & ~near.any(1)).sum() == 16
        assert near[~one].any(1).sum() == 24

    def share(found, expected):
        assert abs(found.mean() - expected) < 4.5 * np.sqrt(expected * (1 - expected) / found.size)

    single, wild = np.concatenate(few), np.concatenate(anywhere)
    share((single == 0) | (single == 1), 0.3)
    share(np.isin(wild, (0.0, 1.0)), 0.25)
    share(wild[np.isin(wild, (0.0, 1.0))], 0.5)
    inside = wild[~np.isin(wild, (0.0, 1.0))]
    assert abs(inside.mean() - 0.5) < 4.5 * np.sqrt(1 / 12 / inside.size)
    share(np.concatenate(like).any(1), 8 * 2 / 3 / 40)  # of the 40 that are not of the first kind
    # sizes: 16 moved by the width, and a third of 8 by three tenths of it
    sizes = np.concatenate(little)
    assert np.sqrt(np.mean(sizes**2)) / 1e-3 == pytest.approx(np.sqrt((16 + 8 / 3 * 0.09) / (16 + 8 / 3)), rel=0.03)


def test_where_nothing_else_is_possible_the_design_itself_comes_back():
    only = ta.Constraint("there is one design", lambda designs: np.full_like(designs, 0.5))
    space = space_of(2, 1, constraints=[only])
    np.testing.assert_array_equal(alternatives(space, np.full((2, 1), 0.5), 0, 0.2, np.random.default_rng(0)), np.full((1, 2, 1), 0.5))


def test_looks_and_races_have_their_participants_and_a_second_idle_pass_is_the_last(monkeypatch):
    space, calls, widths, plain = space_of(2, 2), [], [], climbing.alternatives

    def spied(space, design, block, width, rng):
        widths.append(width)
        return plain(space, design, block, width, rng)

    def flat(designs, n):
        calls.append((len(designs), n))
        return [Pointwise(np.zeros(n), MODEL[:n], PRIOR, "lower bound")] * len(designs)

    monkeypatch.setattr(climbing, "alternatives", spied)
    for passes in (1, 2, 6):
        calls.clear()
        widths.clear()
        top = climb(flat, space, np.full((2, 2), 0.5), np.random.default_rng(1), passes, 40, 300)
        done = min(passes, 2)
        assert top.gains == (0.0,) * done
        np.testing.assert_allclose(widths, [0.25, 0.25, 0.15, 0.15][: 2 * done])
        assert calls[0] == (1, 300)
        assert calls[2::2] == [(3, 300)] * 2 * done
        assert [n for _, n in calls[1::2]] == [40] * 2 * done
        assert top.tried == sum(count for count, _ in calls[1::2])


@pytest.mark.parametrize(("gain", "replaced", "passes"), [(-0.1, False, 2), (0.9, True, 2), (1.1, True, 3)])
def test_a_design_is_replaced_by_the_winner_of_a_race_and_two_passes_without_a_clear_gain_are_the_last(gain, replaced, passes, monkeypatch):
    """After the best of three only what is better still; clear is more than a standard error. What is gained is what the race saw."""
    space, others = space_of(1, 1), np.array([[[0.1]], [[0.2]], [[0.3]], [[0.4]]])
    noise = np.tile([-1.0, 1.0], 50)
    se = noise.std(ddof=1) / np.sqrt(100)
    worth = {0.5: 0.0, 0.1: -5.0, 0.2: gain * se, 0.3: 0.2 * gain * se, 0.4: 0.1 * gain * se}

    def estimate(designs, n):
        return [Pointwise(worth[float(d[0, 0])] + (noise if d[0, 0] != 0.5 else 0.0 * noise), MODEL[:100], PRIOR, "exact") for d in designs]

    monkeypatch.setattr(climbing, "alternatives", lambda *given: others)
    top = climb(estimate, space, np.array([[0.5]]), np.random.default_rng(1), 9, 100, 100)
    assert top.design.item() == (0.2 if replaced else 0.5)
    assert top.tried == 4 * passes
    assert top.gains == pytest.approx((gain * se if replaced else 0.0,) + (0.0,) * (passes - 1))


def test_how_far_is_apart():
    space = ta.DesignSpace(1, [ta.Variable("x", 0, 100)])
    designs = np.array([[[50.0]], [[54.0]], [[56.0]], [[10.0]], [[60.0]]])
    assert apart(space, designs) == [0, 2, 3]
    assert apart(space, designs, 0.01) == [0, 1, 2, 3, 4]
