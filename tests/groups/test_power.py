"""How many people: against brute force, limits, and curves that rise."""

import numpy as np
import pytest

from tellapart import DataError, Uniform
from tellapart.cli.power import _needed
from tellapart.groups.parameters import population
from tellapart.groups.power import PowerCurve, power_curve
from tellapart.groups.power_models import frequencies_differ, most_frequent_model
from tellapart.groups.power_parameters import SimulatedPeople, means_apart, parameter_differs, parameter_within
from tellapart.groups.random_effects import random_effects

NAMES = ("a", "b", "c")


def simulate(model, rng, apart=2.5):
    """Log evidences of people of given models, (N, 3)."""
    y = rng.normal(apart * np.eye(3)[model])
    return -0.5 * ((y[:, None, :] - apart * np.eye(3)) ** 2).sum(-1)


@pytest.fixture(scope="module")
def people():
    rng = np.random.default_rng(0)
    model = np.repeat([0, 1, 2], 1000)
    return model, simulate(model, rng)


def test_the_most_frequent_model_against_brute_force(people):
    """Every study simulated and analysed anew, by the public function; the numbers of people needed agree within 10 %."""
    r, stages = [0.7, 0.2, 0.1], [[25, 35, 50]]
    ours = most_frequent_model(*people, r, NAMES, stages=stages, studies=300)
    rng = np.random.default_rng(1)

    def right(_, sizes):
        group = simulate(rng.choice(3, max(sizes), p=r), rng)
        return [bool(random_effects(group[:n], NAMES).protected[0] >= 0.95) for n in sizes]

    brute = power_curve("the same", right, stages=stages, studies=300)
    assert ours.needed() == pytest.approx(brute.needed(), rel=0.1)


def test_no_difference_is_rarely_found(people):
    equal = [1 / 3, 1 / 3, 1 / 3]
    curve = frequencies_differ(*people, equal, equal, NAMES, stages=[[10, 30]], studies=200)
    assert curve.share.max() < 0.1
    assert curve.needed() is None
    assert frequencies_differ(*people, [0.9, 0.05, 0.05], [0.05, 0.9, 0.05], NAMES, stages=[[10, 30]], studies=50).share[-1] > 0.95


@pytest.fixture(scope="module")
def gaussians():
    """People of whose parameter the noise is 0.5 on the normal scale."""
    rng = np.random.default_rng(2)
    z = rng.standard_normal(3000)
    y = z + 0.5 * rng.standard_normal(3000)
    draws = 0.8 * y[:, None] + np.sqrt(0.2) * rng.standard_normal((3000, 600))
    return SimulatedPeople("m.x", Uniform(), z, draws[..., None])


def test_more_people_for_a_narrower_interval(gaussians):
    """Widths fall with the square root of the number of people."""
    wide, narrow = (parameter_within(gaussians, width, studies=12, stages=[[8], [16], [32], [64], [128]]).needed() for width in (0.2, 0.1))
    assert 2.5 < narrow / wide < 6


def test_a_larger_difference_takes_fewer_people(gaussians):
    small, large = (parameter_differs(gaussians, effect, studies=20, stages=[[10, 40]]).share for effect in (0.05, 0.3))
    assert large[-1] > 0.9
    assert small[-1] < 0.5


def test_populations_that_differ_by_what_was_asked():
    one, other = means_apart(Uniform(), 0.0, 0.5, 0.1)
    gap = population(Uniform(), np.array([one, other]), np.array([0.5, 0.5]))[0]
    assert gap[0] - gap[1] == pytest.approx(0.1, abs=1e-3)
    with pytest.raises(DataError, match="differ that much"):
        means_apart(Uniform(), 0.0, 0.5, 1.5)


def test_a_population_that_nobody_is_like_is_refused(gaussians):
    with pytest.raises(DataError, match="Too few simulated people"):
        parameter_within(gaussians, 0.1, mean=5.0, spread=0.1)


def test_needed_lies_between_the_sizes_around_the_target():
    curve = PowerCurve("x", np.array([10, 20, 40]), np.array([0.2, 0.7, 0.9]), 100)
    assert curve.needed(0.8) == pytest.approx(30)
    assert curve.needed(0.95) is None
    assert curve.needed(0.1) == 10
    falling = PowerCurve("x", np.array([10, 20, 30, 40]), np.array([0.1, 0.5, 0.3, 0.6]), 100)  # 0.4 at 20 and at 30
    assert falling.needed(0.5) == pytest.approx(35)


def test_what_is_needed_is_told_with_its_error():
    """A curve of few studies leaves open how many people are needed, and says so."""
    sizes, share = np.array([10, 20, 40, 80]), np.array([0.2, 0.7, 0.9, 0.95])
    few, many = PowerCurve("x", sizes, share, 60), PowerCurve("x", sizes, share, 60_000)
    (low, high), (lower, higher) = few.limits(0.8), many.limits(0.8)
    assert low == pytest.approx(np.interp(0.8, share + 2 * few.se, sizes))
    assert high == pytest.approx(np.interp(0.8, share - 2 * few.se, sizes))
    assert low < lower < many.needed(0.8) < higher < high
    assert few.limits(0.94)[1] is None
    assert _needed(few, 0.8) == "30 people (20 to 39, by 60 simulated studies), for 80 % of studies to be right"
    assert _needed(few, 0.93) == "64 people (34 to more than 80, by 60 simulated studies), for 93 % of studies to be right"
    assert _needed(few, 0.99) == "more than 80 people: 95 ± 3 % of studies are right with so many"


def of_few(curve, apart):
    """16 times the share of studies that are right, and its error, from 200 people who choose one of two things ten times."""

    def share(seed):
        model = np.arange(200) % 2
        more = 2 * np.random.default_rng(seed).binomial(10, np.where(model == 0, 0.5 + apart, 0.5 - apart)) - 10
        evidence = np.log((0.5 + apart) / (0.5 - apart)) * np.stack([more, 0 * more], axis=1)
        found = curve(model, evidence, studies=100, seed=seed)
        return found.share[0], found.se[0]

    return np.transpose([share(seed) for seed in range(16)])


@pytest.mark.parametrize(
    ("curve", "apart"),
    [
        (lambda *people, **how: most_frequent_model(*people, [0.8, 0.2], ("a", "b"), stages=[[30]], **how), 0.1),
        (lambda *people, **how: frequencies_differ(*people, [0.8, 0.2], [0.4, 0.6], ("a", "b"), stages=[[40]], **how), 0.2),
    ],
    ids=["who is hard to tell apart", "two groups who are easy to tell apart"],
)
def test_the_error_is_that_over_other_simulated_people_too(curve, apart):
    """All studies draw from the same people: over 16 draws of these the share spreads as is said.

    By studies alone it would be a third in the first case; with as much from the people in the second, three times as much. A standard
    deviation of 16 is 1.8 times too large with a chance below 1e-5, 2.5 times too small with one of 1e-4.
    """
    shares, errors = of_few(curve, apart)
    assert shares.std(ddof=1) / 1.8 < np.sqrt((errors**2).mean()) < 2.5 * shares.std(ddof=1)


def test_frequencies_must_be_frequencies(people):
    with pytest.raises(DataError, match="no frequencies"):
        most_frequent_model(*people, [0.5, 0.2, 0.1], NAMES)


def test_of_two_models_that_are_as_frequent_none_is_the_most_frequent(people):
    with pytest.raises(DataError, match="No model is the most frequent one") as refused:
        most_frequent_model(*people, [0.4, 0.4, 0.2], NAMES)
    assert f"{NAMES[0]} and {NAMES[1]}: 0.4 each" in str(refused.value)
