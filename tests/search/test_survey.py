"""A survey: what it looks at, in which numbers, and that what it calls best is best; on a surface that is known."""

from types import SimpleNamespace

import numpy as np
import pytest

import tellapart as ta
from tellapart.information.estimate import Pointwise
from tellapart.search import survey
from tellapart.search.survey import Surveyor
from tellapart.tasks.scaling import to_unit

SPACE = ta.DesignSpace(2, [ta.Variable("a", 0, 10), ta.Variable("b", 0, 10)])
TOP = np.array([[3.0, 8.0], [5.0, 1.0]])


def height(designs):
    return 1.0 - np.square(to_unit(SPACE, designs) - TOP / 10).sum((1, 2))


class Known(Surveyor):
    """Participants whose information is known but for noise that all designs share."""

    def __init__(self, n=80, seed=1):
        self.drawn, self.looks = [], []
        super().__init__(SimpleNamespace(task=SimpleNamespace(baseline=self._baseline)), SPACE, n, (seed,), None)

    def _baseline(self, n, rng):
        self.drawn.append(n)
        return np.full((n, 2, 2), 7.0)

    def _points(self, designs, n):
        self.looks.append((len(designs), n))
        noise = np.tile([-0.01, 0.01], n // 2)
        return [Pointwise(value + noise, np.zeros(n, np.intp), (1.0,), "lower bound") for value in height(designs)]


@pytest.mark.parametrize(
    ("count", "baseline", "looks"),
    [(32, [4], [16 + 1, 6, 5, 5]), (8, [1], [4 + 1, 2, 1, 1]), (7, [], [3 + 1, 2, 1, 1]), (3, [], [2 + 1, 1]), (1, [], [2 + 1])],
)
def test_half_of_the_looks_are_anywhere_the_others_in_three_waves(count, baseline, looks):
    surveyor = Known()
    designs, nats = surveyor.look(count, TOP[None], keep=3)
    assert surveyor.drawn == baseline
    assert surveyor.looks == [(size, 80) for size in looks]
    assert surveyor.tried == sum(looks)
    assert len(designs) == len(nats) <= 3
    np.testing.assert_allclose(designs[0], TOP)
    assert (np.diff(nats) <= 0).all()


def test_it_goes_where_information_is_high():
    designs, nats = Known().look(60, None, keep=4)
    assert height(designs)[0] > 0.95
    np.testing.assert_allclose(nats, height(designs), atol=0.03)
    distances = [np.abs(to_unit(SPACE, one) - to_unit(SPACE, other)).max() for i, one in enumerate(designs) for other in designs[:i]]
    assert min(distances) > 0.05


def test_candidates_are_anywhere_and_around_the_best():
    """Shares of 12,000 values around one design, within 4.5 standard errors: a false alarm in 1 of 30,000 runs."""
    middle = np.full((1, 2, 2), 5.0)
    candidates = to_unit(SPACE, Known()._candidates(middle, 4001))
    assert candidates.shape == (4001, 2, 2)
    around = candidates[1000:]
    assert len(np.unique(candidates[:1000], axis=0)) > 600

    def share(found, expected):
        assert abs(found.mean() - expected) < 4.5 * np.sqrt(expected * (1 - expected) / found.size)

    edge = (around == 0) | (around == 1)
    share(around == 0.5, 0.9 * 0.3)
    # moved by 0.2 in a third of the designs, beyond an edge in 1.24 % of these
    share(edge, 0.1 + 0.9 * 0.7 * 0.01242 / 3)
    share(around[edge] == 1, 0.5)
    # of what is moved and not snapped, by less than 0.1: nearly all at a width of 0.02, 84.7 % at 0.07, 38.3 % at 0.2
    moved = around[~edge & (around != 0.5)]
    inside = 1 - 0.01242 / 3
    share(np.abs(moved - 0.5) < 0.1, (1 + 0.8469 + 0.3829) / 3 / inside)
    share(np.abs(moved - 0.5) < 0.02, (0.6827 + 0.2249 + 0.0797) / 3 / inside)


@pytest.fixture
def climbs(monkeypatch):
    """What climbing was asked for; each climb goes halfway to the top."""
    asked = []

    def climb(estimate, space, start, rng, passes, few, many):
        asked.append((start.tolist(), passes, few, many))
        return SimpleNamespace(design=(start + TOP) / 2, tried=10)

    monkeypatch.setattr(survey, "climb", climb)
    return asked


EACH = 2 * (64 * 100 + 3 * 1600)  # participants of a pass over both blocks
STARTS = np.stack([np.full((2, 2), value) for value in (4.0, 1.0, 9.0, 0.0)])


@pytest.mark.parametrize(("passes", "shares"), [(1, [1]), (7, [7]), (8, [4, 4]), (13, [5, 4, 4]), (30, [10, 10, 10])])
def test_participants_become_passes_and_these_climbs(climbs, passes, shares):
    surveyor = Known(n=800)
    ranked = STARTS, height(STARTS)
    designs, nats = surveyor.climb(ranked, 5 * 1600 + passes * EACH, keep=5)
    assert climbs == [(start.tolist(), share, 100, 1600) for start, share in zip(STARTS, shares, strict=False)]
    assert surveyor.tried == 10 * len(shares)
    pool = [*[(start + TOP) / 2 for start in STARTS[: len(shares)]], *STARTS][:5]
    order = np.argsort(-height(np.stack(pool)))
    np.testing.assert_allclose(designs, np.stack(pool)[order])
    np.testing.assert_allclose(nats, height(designs))
    assert surveyor.looks == [(5, 1600)]


def test_too_few_participants_for_a_pass_leave_all_as_it_is(climbs):
    ranked = STARTS, height(STARTS)
    assert Known(n=800).climb(ranked, 5 * 1600 + EACH - 1, keep=5) is ranked
    assert climbs == []


def test_a_look_has_fifty_participants_at_least_and_there_are_no_more_climbs_than_starts(climbs):
    surveyor = Known(n=80)
    surveyor.climb((STARTS[:2], height(STARTS[:2])), 3 * 160 + 12 * 2 * (64 * 50 + 3 * 160), keep=3)
    assert [(passes, few, many) for _, passes, few, many in climbs] == [(6, 50, 160), (6, 50, 160)]


def test_designs_that_are_all_but_alike_are_kept_once(climbs):
    starts = np.stack([TOP, TOP + 0.1, TOP + 0.3])
    designs, _ = Known(n=800).climb((starts, height(starts)), 9 * 1600 + EACH, keep=9)
    np.testing.assert_allclose(designs, [TOP, TOP + 0.3])


def test_all_designs_face_the_same_participants_and_failures_are_kept(monkeypatch):
    calls = []

    def pointwise_at_each(estimator, designs, n, seed, workers, accuracy):
        calls.append((estimator, n, seed, workers, accuracy))
        return [Pointwise(np.zeros(n), np.zeros(n, np.intp), (1.0,), "lower bound")] * len(designs), ["failed"]

    monkeypatch.setattr("tellapart.estimators.fresh.pointwise_at_each", pointwise_at_each)
    surveyor = Surveyor("estimator", SPACE, 30, (5, 6), "workers")
    for _ in range(2):
        surveyor._estimates(STARTS)
    assert calls == [("estimator", 30, (5, 6, 1), "workers", False)] * 2
    assert (surveyor.tried, surveyor.failures) == (8, ["failed", "failed"])
