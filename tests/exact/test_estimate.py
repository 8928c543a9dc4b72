"""Averages and standard errors of simulated participants, against plain arithmetic."""

import numpy as np
import pytest

from tellapart.information.estimate import Difference, InformationEstimate, Pointwise, stratified

VALUES = np.array([1.0, 2.0, 4.0, 10.0, 14.0])
MODEL = np.array([0, 0, 0, 1, 1])
PRIOR = (0.75, 0.25)


def points(values=VALUES, **more):
    return Pointwise(np.asarray(values, dtype=float), MODEL, PRIOR, "lower bound", **more)


def test_the_mean_is_that_of_models_weighted_by_their_prior():
    mean, se = stratified(VALUES, MODEL, PRIOR)
    assert mean == pytest.approx(0.75 * 7 / 3 + 0.25 * 12)
    # sample variances 7/3 and 8, of 3 and of 2 participants
    assert se == pytest.approx(np.sqrt(0.75**2 * (7 / 3) / 3 + 0.25**2 * 8 / 2))


def test_a_model_with_one_participant_has_its_part_in_the_error():
    """One of 20 follows the improbable model, and two models may have one each; a standard deviation over 4,000 is known to 1 %."""
    rng = np.random.default_rng(0)
    for n, prior in ((20, (0.95, 0.05)), (2, (0.5, 0.5))):
        model = (np.arange(n) == n - 1).astype(int)
        repeated = [stratified(rng.standard_normal(n) * (1 + 4 * (n > 2) * model), model, prior) for _ in range(4000)]
        assert np.std([mean for mean, _ in repeated]) == pytest.approx(np.sqrt(np.mean([se**2 for _, se in repeated])), rel=0.08)


def test_nothing_has_no_sign():
    assert str(InformationEstimate(-0.0001, 0.0002, "lower bound", 100)).startswith("0.000 ± 0.000 nats")
    assert str(Difference(-0.0001, 0.0002)) == "+0.000 ± 0.000 nats"


def test_a_standard_error_is_that_of_repeated_samples():
    """With several models, each with a mean of its own; a standard deviation over 800 repetitions is known to 2.5 %."""
    rng, model, prior = np.random.default_rng(0), np.arange(60) % 3, (1 / 3,) * 3
    repeated = [stratified(rng.standard_normal(60) * (1 + model) + 10 * model, model, prior) for _ in range(800)]
    assert np.std([mean for mean, _ in repeated]) == pytest.approx(np.sqrt(np.mean([se**2 for _, se in repeated])), rel=0.12)


def test_models_that_were_not_simulated_leave_their_share_to_the_others():
    mean, se = stratified(np.array([1.0, 3.0, 7.0]), np.array([0, 0, 2]), (0.2, 0.5, 0.3))
    assert mean == pytest.approx((0.2 * 2 + 0.3 * 7) / 0.5)
    # of the single participant only its distance from the mean of all is known
    assert se == pytest.approx(np.sqrt(0.4**2 * 2 / 2 + 0.6**2 * (7 - mean) ** 2 / 0.4))


def test_an_estimate_carries_what_is_known():
    plain = points().estimate()
    assert (plain.n, plain.kind, plain.accuracy, plain.failed) == (5, "lower bound", None, None)
    assert plain.to_json() == {"nats": plain.nats, "se": plain.se, "kind": "lower bound", "n": 5}
    full = points(correct=MODEL == 0, failed=3).estimate()
    assert (full.accuracy, full.accuracy_se, full.failed) == (0.75, 0.0, 3)
    assert str(full).endswith("the true model is recovered 75 % of the time; 3 of 8 participants could not be simulated")
    assert str(InformationEstimate(1.0, 0.25, "exact", 9)) == "1.000 ± 0.250 nats (exact)"
    assert str(Difference(-0.5, 0.125)) == "-0.500 ± 0.125 nats"


def test_influence_decides_the_error_and_not_the_mean():
    spread = points(influence=3 * VALUES + 5).estimate()
    assert spread.nats == points().estimate().nats
    assert spread.se == pytest.approx(3 * points().estimate().se)


def test_differences_are_paired():
    other = points(VALUES + np.array([1.0, 1.0, 1.0, 2.0, 2.0]))
    gain = other.minus(points())
    assert gain.nats == pytest.approx(0.75 + 0.5)
    assert gain.se == 0
    assert points().minus(other).nats == -gain.nats


def test_a_difference_of_influences_keeps_the_difference_of_means():
    rng = np.random.default_rng(1)
    one, other = points(influence=rng.standard_normal(5)), points(VALUES + 1, influence=rng.standard_normal(5) + 7)
    assert other.minus(one).nats == pytest.approx(1.0)
    assert other.minus(one).se == pytest.approx(stratified(other.influence - one.influence, MODEL, PRIOR)[1])


def test_parts_are_put_together_in_order():
    parts = [points(failed=1, correct=MODEL == 0), points(VALUES + 1, failed=2, correct=MODEL == 1)]
    alone = Pointwise.concatenate(parts[:1])
    assert (alone.estimate(), alone.kind, alone.prior) == (parts[0].estimate(), "lower bound", PRIOR)
    whole = Pointwise.concatenate(parts)
    assert whole.values.tolist() == [*VALUES, *(VALUES + 1)]
    assert whole.correct.tolist() == [True] * 3 + [False] * 5 + [True] * 2
    assert (whole.failed, whole.kind, whole.prior, whole.influence) == (3, "lower bound", PRIOR, None)


def test_rows_of_a_table_have_the_meaning_first():
    known = [("information", "1.000 ± 0.250 nats (exact)"), ("rests on", "9,000 simulated participants")]
    assert InformationEstimate(1.0, 0.25, "exact", 9000).rows() == known
    failed = InformationEstimate(1.0, 0.25, "exact", 9000, 0.8, 0.01, 1234).rows()
    assert failed == [("recognises", "the model of 80 of 100 people"), *known, ("could not be simulated", "1,234")]
