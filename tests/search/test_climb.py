"""Climbing by exchange, on surfaces whose top is known: it gets there, obeys every rule, and is not fooled by noise."""

import zlib

import numpy as np
import pytest

import tellapart as ta
from tellapart.information.estimate import Pointwise
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
