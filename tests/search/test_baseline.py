"""The baseline average and the gain over it: their stated standard errors are those of repeated searches; and what is kept of a search."""

from dataclasses import dataclass

import numpy as np
import pytest

import tellapart as ta
from tellapart.information.estimate import Difference, InformationEstimate, Pointwise, stratified
from tellapart.search.base import Alternative, Baseline, Found, Job, check_least, check_parts, part

DESIGNS, PEOPLE, PRIOR = 12, 200, (0.75, 0.25)
MODEL = np.arange(PEOPLE) % 4 // 3


def corrected(values, corrections):
    """Everybody corrected by the mean correction of every tenth participant of the same model; the error of that is in the influence."""
    values, influence = values.copy(), values.copy()
    for m in range(len(PRIOR)):
        mine = np.flatnonzero(m == MODEL)
        some = mine[::10]
        values[mine] += corrections[some].mean()
        influence[some] += 10 * (corrections[some] - corrections[some].mean())
    return Pointwise(values, MODEL, PRIOR, "lower bound", influence)


def drawn(rng, design, person, left, correction=0.0):
    """What participants, the same at all designs, contribute at baseline draws and at the recommended design."""
    people = person * rng.standard_normal(PEOPLE) + 0.5 * MODEL
    values = design * rng.standard_normal((DESIGNS, 1)) + people + left * rng.standard_normal((DESIGNS, PEOPLE))
    corrections = correction * rng.standard_normal((DESIGNS + 1, PEOPLE))
    points = [corrected(row, own) for row, own in zip(values, corrections[1:], strict=True)]
    best = corrected(1.0 + people + left * rng.standard_normal(PEOPLE), corrections[0])
    return Baseline.of(np.zeros((DESIGNS, 1, 1)), points, best)


@pytest.mark.parametrize("correction", [0.0, 0.5])
@pytest.mark.parametrize(("design", "person", "left"), [(0.02, 1.0, 0.3), (0.3, 0.3, 0.3), (0.0, 1.0, 1.0), (0.1, 0.0, 2.0)])
def test_stated_and_real_standard_errors_agree(design, person, left, correction):
    """Over 320 repetitions a standard deviation is known to 4 %: 20 % off is five standard errors; false alarm below 1e-5 in all."""
    rng = np.random.default_rng(0)
    repeated = [drawn(rng, design, person, left, correction) for _ in range(320)]
    for value, stated in (("mean", 0.125), ("gain", 1.0)):
        nats = np.array([getattr(one, value).nats for one in repeated])
        se = np.sqrt(np.mean([getattr(one, value).se ** 2 for one in repeated]))
        assert nats.std() == pytest.approx(se, rel=0.2), value
        assert abs(nats.mean() - stated) < 5 * nats.std() / len(nats) ** 0.5


def test_it_survives_json():
    baseline = drawn(np.random.default_rng(0), 0.1, 1.0, 0.3)
    again = Baseline.from_json(baseline.to_json())
    assert (again.mean, again.gain, again.information) == (baseline.mean, baseline.gain, baseline.information)


@pytest.mark.parametrize(("nats", "words"), [(0.001, "0.001 ± 0.003 nats behind"), (-0.004, "0.004 ± 0.003 nats ahead")])
def test_who_is_not_behind_is_ahead(nats, words):
    information = InformationEstimate(0.9, 0.004, "lower bound", 20_000)
    assert Alternative(np.zeros((1, 1)), information, Difference(nats, 0.003)).in_words == words


def small(values, **more):
    return Pointwise(np.asarray(values, float), np.array([0, 0, 1, 1]), PRIOR, "lower bound", **more)


def test_the_average_over_designs_against_plain_arithmetic():
    rows = np.array([[1.0, 2.0, 3.0, 5.0], [2.0, 2.0, 4.0, 5.5], [0.0, 3.0, 3.5, 4.0]])
    right = np.array([[True, True, False, True], [True, False, False, True], [True, True, True, True]])
    baseline = Baseline.of(
        np.zeros((3, 1, 1)), [small(row, correct=c) for row, c in zip(rows, right, strict=True)], small([5.0, 5.0, 5.0, 7.0])
    )
    means = [0.75 * (row[0] + row[1]) / 2 + 0.25 * (row[2] + row[3]) / 2 for row in rows]
    assert baseline.mean.nats == pytest.approx(np.mean(means))
    assert baseline.gain.nats == pytest.approx(0.75 * 5 + 0.25 * 6 - np.mean(means))
    assert (baseline.mean.n, baseline.mean.kind) == (12, "lower bound")
    assert baseline.mean.accuracy == pytest.approx((0.75 + 0.25 / 2 + 0.75 / 2 + 0.25 / 2 + 1) / 3)
    people = stratified(rows.mean(0), np.array([0, 0, 1, 1]), PRIOR)[1] ** 2
    left = [stratified(row - rows.mean(0), np.array([0, 0, 1, 1]), PRIOR) for row in rows]
    expected = people + np.var([mean for mean, _ in left], ddof=1) / 3 - np.mean([se**2 for _, se in left]) / 2
    assert baseline.mean.se == pytest.approx(np.sqrt(max(expected, people)))
    kept = baseline.to_json()
    assert (kept["lowest"], kept["highest"]) == (pytest.approx(min(means)), pytest.approx(max(means)))


def test_one_baseline_design_has_the_error_of_its_participants():
    one = small([1.0, 2.0, 3.0, 5.0])
    alone = Baseline.of(np.zeros((1, 1, 1)), [one], small([2.0, 3.0, 4.0, 6.0]))
    assert (alone.mean.nats, alone.mean.se, alone.mean.accuracy) == (one.estimate().nats, one.estimate().se, None)
    assert (alone.gain.nats, alone.gain.se) == (pytest.approx(1.0), 0.0)


@pytest.mark.parametrize("with_baseline", [False, True])
def test_what_a_search_found_survives_json(with_baseline):
    information = InformationEstimate(0.9, 0.004, "lower bound", 20_000, 0.8, 0.01, 3)
    baseline = drawn(np.random.default_rng(0), 0.1, 1.0, 0.3) if with_baseline else None
    others = tuple(Alternative(np.full((1, 2), 0.1 * i), information, Difference(0.1 * i, 0.01), bool(i)) for i in range(2))
    found = Found(np.array([[0.25, 0.5]]), information, "estimator", baseline, others, [{"step": 1}], {"more": 2})
    kept = found.to_json()
    again = Found.from_json(kept, "estimator")
    assert again.to_json() == kept
    assert (again.information, again.estimator, again.trace, again.details) == (information, "estimator", [{"step": 1}], {"more": 2})
    assert [other.drawn for other in again.alternatives] == [False, True]
    assert (again.baseline is None) == (baseline is None)
    np.testing.assert_array_equal(again.design, found.design)


@dataclass(frozen=True)
class Settings:
    encoder: type | None = part("encoder")  # noqa: RUF009
    steps: int = 3


def test_settings_that_are_too_small_or_no_parts_are_refused_by_name():
    check_least(Settings(), steps=3)
    with pytest.raises(ta.StudyError, match="'steps' of the search is too small") as error:
        check_least(Settings(), steps=4)
    assert "4 or more" in str(error.value)
    for right in (None, ta.HistoryEncoder):
        check_parts(Settings(right))
    for wrong in ("history", int, ta.HistoryEncoder(ta.BernoulliBandit())):
        with pytest.raises(ta.StudyError, match="'encoder' of the search must be a class"):
            check_parts(Settings(wrong))


def test_a_search_uses_the_symmetries_that_all_models_have(monkeypatch):
    task, question = ta.BernoulliBandit(2, 2, 3), ta.Question((ta.AEG(), ta.WSLTS()))
    for broken in ({}, {"blocks": ["aeg"]}):
        monkeypatch.setattr("tellapart.search.base.broken_by", lambda models, task, seed, broken=broken: broken)
        symmetry = Job(task, question, 1, None).space.symmetry
        assert (symmetry.columns, symmetry.blocks) == (True, not broken)
