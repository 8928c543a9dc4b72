"""Calibration: posteriors that are wrong on purpose are caught, the right one passes, false alarms and power are as stated.

The verdicts of the first tests are at a false-alarm rate of 1e-4, so that is how often a right posterior would fail here by chance.
"""

from itertools import product
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from evidence import DESIGN, ExactEstimator, exact
from scipy.special import log_softmax
from scipy.stats import binom, norm

from tellapart import AEG, Question
from tellapart.models.hidden_number import HiddenNumber
from tellapart.tasks.readings import NoisyReadings
from tellapart.validation import calibration as calibrating
from tellapart.validation.calibration import Calibration, calibration, foretell
from tellapart.validation.model_calibration import _tempered, calibrate_models, noticeable, reliability, surprise, zero_of
from tellapart.validation.participants import take_part
from tellapart.validation.rank_calibration import (
    _word,
    calibrate_ranks,
    distances,
    normal_score,
    noticeable_widths,
    probability_outside,
    ranks_among,
    uniform_band,
)
from tellapart.validation.words import calibration_in_words

LEVEL = 1e-4


def as_rare_as_stated(complaints):
    """Are complaints no more frequent than in 1 of 10 cases? If they are that frequent, the answer is no once in 10,000 times."""
    return sum(complaints) <= binom.isf(1e-4, len(complaints), 0.1)


def few_or_many(few, many):
    """So many cases, or more of them, which notice smaller faults and take minutes."""
    return pytest.mark.parametrize("cases", [few, pytest.param(many, marks=pytest.mark.slow)])


def drawn_from(log_q, rng):
    return (rng.random((len(log_q), 1)) > np.exp(log_q).cumsum(-1)[:, :-1]).sum(-1)


# verdicts on estimators


@pytest.mark.parametrize(("power", "verdict"), [(1.0, "no error found"), (2.0, "overconfident"), (0.5, "underconfident")])
def test_exact_model_probabilities_pass_and_tempered_ones_are_caught(power, verdict):
    rng = np.random.default_rng(1)
    found = calibration(take_part(exact(power=power), DESIGN, 1500, rng), rng, LEVEL)
    assert found.models.verdict == verdict
    assert found.sound == (power == 1.0)
    assert verdict in calibration_in_words(found).lower()
    assert abs(found.models.exponent - 1 / power) < 4 * found.models.exponent_se


@pytest.mark.parametrize(("power", "verdict"), [(1.0, "no error found"), (3.0, "overconfident"), (0.33, "underconfident")])
def test_exact_parameter_posteriors_pass_and_tempered_ones_are_caught(power, verdict):
    rng = np.random.default_rng(2)
    found = calibration(take_part(exact("estimate", power), DESIGN, 1500, rng), rng, LEVEL)
    values = [part for part in found.parameters if part.by == "value"]
    assert {part.verdict for part in values} == {verdict}
    coverage = [part.coverage[part.levels.index(0.8)] for part in values]
    if power == 1.0:
        assert np.allclose(coverage, 0.8, atol=0.05)
    else:
        assert all((c < 0.8) == (power > 1) for c in coverage)


def test_the_prior_over_models_is_part_of_the_posterior():
    rng = np.random.default_rng(3)
    right = take_part(exact(prior=(0.8, 0.2)), DESIGN, 1500, rng)
    assert calibration(right, rng, LEVEL).sound
    ignorant = exact(prior=(0.8, 0.2))
    ignorant.log_model_probabilities = exact().log_model_probabilities
    assert not calibration(take_part(ignorant, DESIGN, 1500, rng), rng, LEVEL).sound


def test_only_parameters_that_were_asked_about_are_judged():
    rng = np.random.default_rng(4)
    found = calibration(take_part(exact("estimate", about=("aeg.phi",)), DESIGN, 400, rng), rng, LEVEL)
    assert [(part.parameter, part.by) for part in found.parameters] == [("phi", "value"), ("", "statistics")]
    assert found.sound


class Indifferent(ExactEstimator):
    """Always states the prior."""

    def log_model_probabilities(self, inputs):
        return torch.from_numpy(np.tile(self.question.log_prior, (len(inputs), 1)))

    def sample_theta(self, inputs, model, draws, generator):
        return torch.from_numpy(generator.standard_normal((draws, len(inputs), len(self.question.parameters(model)))))


@pytest.mark.parametrize("goal", ["discriminate", "estimate"])
def test_who_always_states_the_prior_is_found_to_leave_something_out(goal):
    rng = np.random.default_rng(5)
    question = exact(goal).question
    found = calibration(take_part(Indifferent(question), DESIGN, 1500, rng), rng, LEVEL)
    assert not found.sound
    assert all("leave" in complaint and "plain statistics" in complaint for complaint in found.complaints)


class Coupled(ExactEstimator):
    """The exact marginal posteriors, but with the two parameters going together perfectly."""

    def sample_theta(self, inputs, model, draws, generator):
        z = super().sample_theta(inputs, model, draws, generator)
        order = z[:, :, 0].argsort(0)
        z[:, :, 1] = z[:, :, 1].sort(0).values.gather(0, order.argsort(0))
        return z


def test_parameters_that_should_not_go_together_are_caught_jointly():
    rng = np.random.default_rng(6)
    found = calibration(take_part(Coupled(Question((AEG(),), "estimate")), DESIGN, 1500, rng), rng, LEVEL)
    assert {part.verdict for part in found.parameters if part.by == "value"} == {"no error found"}
    assert [part.verdict for part in found.parameters if part.by == "distance"] == ["overconfident"]
    assert "joint posterior of aeg" in str(found.complaints)


class Conjugate(ExactEstimator):
    """Another kind of task, numbers that are read: the exact posterior of what they measure, its width multiplied by `width`."""

    def __init__(self, width=1.0):
        super().__init__(Question((HiddenNumber(),), "estimate"), NoisyReadings(1, 4))
        self.width = width

    def sample_theta(self, inputs, model, draws, generator):
        mean, variance = HiddenNumber().posterior_moments(self._behavior(inputs), np.ones((len(inputs), 1, 1)), self.task)
        return torch.from_numpy((mean + self.width * np.sqrt(variance) * generator.standard_normal((draws, len(mean))))[..., None])


def verdicts_on_readings(width, level, runs, n):
    rng = np.random.default_rng(11)
    return [calibration(take_part(Conjugate(width), [[1.0]], n, rng, draws=59), rng, level) for _ in range(runs)]


@few_or_many(80, 400)
def test_a_right_posterior_of_readings_is_complained_about_as_rarely_as_stated(cases):
    assert as_rare_as_stated([not found.sound for found in verdicts_on_readings(1.0, 0.1, cases, 100)])


def test_what_is_said_to_be_noticed_of_readings_is_noticed_nine_times_in_ten():
    """Of 100 validations: 0.9 give or take four standard errors, and the words say for how many participants that holds."""
    (one,) = verdicts_on_readings(1.0, 1e-3, 1, 400)
    narrow, wide = next(part.noticed for part in one.parameters if part.by == "value")
    assert f"{100 * (1 - narrow):.0f} % too narrow or {100 * (wide - 1):.0f} % too wide" in calibration_in_words(one)
    assert "400 simulated participants" in calibration_in_words(one)
    for width, word in ((narrow, "overconfident"), (wide, "underconfident")):
        found = [
            next(part.verdict for part in other.parameters if part.by == "value") for other in verdicts_on_readings(width, 1e-3, 100, 400)
        ]
        assert np.mean([verdict == word for verdict in found]) == pytest.approx(0.9, abs=0.12)


# ranks


def conjugate(rng, width, n=1500, draws=119):
    """Ranks of a normal mean among draws of its posterior, whose width is multiplied by `width`."""
    theta = rng.standard_normal(n)
    y = theta + rng.standard_normal(n)
    return ranks_among(theta, y[:, None] / 2 + width * np.sqrt(0.5) * rng.standard_normal((n, draws)), rng)


@pytest.mark.parametrize(("width", "verdict"), [(1.0, "no error found"), (0.8, "overconfident"), (1.25, "underconfident")])
def test_a_quarter_more_or_less_width_is_seen(width, verdict):
    assert calibrate_ranks(conjugate(np.random.default_rng(3), width), 119, LEVEL).verdict == verdict


def test_a_shifted_posterior_is_called_shifted():
    rng = np.random.default_rng(4)
    theta = rng.standard_normal(1500)
    y = theta + rng.standard_normal(1500)
    draws = y[:, None] / 2 + 0.12 + np.sqrt(0.5) * rng.standard_normal((1500, 119))
    assert calibrate_ranks(ranks_among(theta, draws, rng), 119, 1e-3).verdict == "shifted"


def test_a_strange_shape_leaves_the_band():
    ranks = np.concatenate([np.arange(30, 60), np.arange(60, 90)]).repeat(10)
    ranks = np.concatenate([ranks, np.repeat([0, 119], 100), np.repeat([59, 60], 200)])
    assert calibrate_ranks(ranks, 119, 1e-3).outside


def test_ranks_begin_at_zero_and_end_at_the_number_of_draws():
    draws = np.arange(1.0, 10.0)[None]
    ranks = [ranks_among(np.array([value]), draws, np.random.default_rng(0))[0] for value in (0.5, 1.5, 9.5)]
    assert ranks == [0, 1, 9]


def test_ranks_shifted_by_one_are_seen():
    rng = np.random.default_rng(0)
    ranks = rng.integers(0, 10, 20_000)
    assert calibrate_ranks(ranks, 9, 1e-3).verdict == "no error found"
    assert calibrate_ranks(np.minimum(ranks + 1, 9), 9, 1e-3).verdict != "no error found"


def test_ties_are_broken_at_random():
    ranks = ranks_among(np.zeros(4000), np.zeros((4000, 9)), np.random.default_rng(8))
    assert np.bincount(ranks, minlength=10).min() > 300


def test_false_alarms_about_ranks_are_as_rare_as_stated():
    rng = np.random.default_rng(5)
    complaints = [calibrate_ranks(rng.integers(0, 120, 400), 119, 0.1).verdict != "no error found" for _ in range(600)]
    assert as_rare_as_stated(complaints)
    assert np.mean(complaints) > 0.01


@pytest.mark.parametrize("of", ["place", "spread"])
@pytest.mark.parametrize("n", [8, 30])
def test_limits_hold_for_few_participants_where_normal_ones_fail(of, n):
    """Against the distribution of a sum of ranks itself, by convolution: no simulation, no chance."""
    k = np.arange(20)
    steps = (2 * k - 19) if of == "place" else (2 * k - 19) ** 2
    steps = steps - steps.min()
    one = np.bincount(steps) / 20
    whole = np.ones(1)
    for _ in range(n):
        whole = np.convolve(whole, one)
    beyond = whole[::-1].cumsum()[::-1]
    lattice = np.gcd.reduce(steps)
    for level in (1e-2, 1e-4, 1e-6):
        place = int(np.flatnonzero(beyond >= level)[-1])
        middle = (beyond[place] + beyond[min(place + lattice, len(beyond) - 1)]) / 2  # half of the step counts, as for a continuous average
        stated = norm.sf(normal_score(place / n, steps.astype(float), n))
        assert stated == pytest.approx(middle, rel=0.15), (level, stated, middle)
    if of == "spread" and n == 30:  # what was there before
        place = int(np.flatnonzero(beyond >= 1e-5)[-1])
        normal = norm.sf((place / n - steps.mean()) / steps.std() * np.sqrt(n))
        assert normal < 0.6e-5


def test_joint_ranks_of_a_right_posterior_are_uniform():
    rng = np.random.default_rng(6)
    points = rng.standard_normal((8000, 20, 3)) @ np.array([[1, 0.9, 0], [0, 0.3, 0], [0, 0, 5.0]])
    counts = np.bincount(ranks_among(*distances(points[:, 0], points[:, 1:]), rng), minlength=20)
    assert ((counts - 400) ** 2 / 400).sum() < 19 + 5 * np.sqrt(2 * 19)


@pytest.mark.parametrize("n", [300, pytest.param(1500, marks=pytest.mark.slow)])
def test_the_width_that_is_said_to_be_noticed_is_noticed_nine_times_in_ten(n):
    rng, level = np.random.default_rng(7), 1e-3
    stated = calibrate_ranks(rng.integers(0, 120, n), 119, level).noticed
    for width in stated:
        z = rng.standard_normal((400, n, 1))
        noticed = [calibrate_ranks(ranks_among(one[:, 0], width * rng.standard_normal((n, 119)), rng), 119, level).verdict for one in z]
        assert np.mean([word in ("overconfident", "underconfident") for word in noticed]) == pytest.approx(0.9, abs=0.07)
    assert noticeable_widths(5, 6.0) == (None, None)


def test_the_band_holds_all_points_together():
    n, points, level = 200, 20, 0.05
    low, high = uniform_band(n, points, level)
    assert probability_outside(n, points, low, high) <= level
    rng = np.random.default_rng(7)
    below = rng.multinomial(n, np.full(points, 1 / points), 20_000).cumsum(-1)[:, :-1]
    left = ((below < low) | (below > high)).any(-1).mean()
    assert left == pytest.approx(probability_outside(n, points, low, high), abs=0.007)
    assert left > level / 2  # and no wider than need be


# model probabilities


@pytest.mark.parametrize("alike", [0.5, 0.02], ids=["hard", "easy to tell apart"])
@pytest.mark.parametrize("foretold", [False, True])
@few_or_many(80, 400)
def test_false_alarms_about_models_are_as_rare_as_stated(alike, foretold, cases):
    rng = np.random.default_rng(6)
    complaints = []
    for _ in range(cases):
        log_q = np.log(np.maximum(rng.dirichlet([alike] * 3, 100), 1e-12))
        log_q = log_softmax(log_q, -1)
        model = drawn_from(log_q, rng)
        seen = rng.standard_normal((50, 3)) if foretold else None
        complaints.append(calibrate_models(model, log_q, 0.1, rng, seen).verdict != "no error found")
    assert as_rare_as_stated(complaints)
    assert any(complaints) or alike < 0.1


@pytest.mark.parametrize("alike", [1.0, 0.05])
def test_small_probabilities_are_right_without_millions_of_draws(alike):
    """Against plain counting: the p-value of an unusual sum, by 200,000 sets of models."""
    rng = np.random.default_rng(7)
    log_q = log_softmax(np.log(np.maximum(rng.dirichlet([alike] * 3, 30), 1e-9)), -1)
    model = drawn_from(log_softmax(0.7 * log_q, -1), rng)
    observed, sums = log_q[np.arange(30), model].sum(), np.zeros(200_000)
    for i in range(30):
        sums += rng.choice(log_q[i], 200_000, p=np.exp(log_q[i]))
    t, p = surprise(log_q, log_q, model, rng, draws=4000)
    side = sums <= observed + 1e-9 if t < 0 else sums >= observed - 1e-9
    assert p == pytest.approx(min(1, 2 * side.mean()), rel=0.15, abs=1e-4)


def test_a_sum_at_its_end_has_the_probability_of_its_end():
    q = np.array([[0.9, 0.1], [0.8, 0.2], [0.95, 0.05]])
    _, p = surprise(np.log(q), np.log(q), np.array([0, 0, 0]), np.random.default_rng(0))
    assert p == 1.0
    _, p = surprise(np.log(q), np.log(q), np.array([1, 1, 1]), np.random.default_rng(0), draws=4000)
    assert p == pytest.approx(2 * 0.1 * 0.2 * 0.05, rel=0.1)


@pytest.mark.parametrize("alike", [0.5, 0.1])
def test_the_exponent_that_is_said_to_be_noticed_is_noticed_nine_times_in_ten(alike):
    rng, level = np.random.default_rng(8), 1e-3
    log_q = log_softmax(np.log(np.maximum(rng.dirichlet([alike] * 3, 500), 1e-9)), -1)
    for exponent in noticeable(log_q, level):
        truth = log_softmax(exponent * log_q, -1)
        noticed = [surprise(log_q, log_q, drawn_from(truth, rng), rng, 200)[1] <= level for _ in range(200)]
        assert np.mean(noticed) == pytest.approx(0.9, abs=0.09)


def test_what_could_never_be_noticed_is_not_promised():
    certain = np.log(np.tile([0.999, 0.001], (50, 1)))
    low, high = noticeable(certain, 1e-3)
    assert high is None
    assert low is None or low < 0.5


def test_reliability_bins_add_up():
    rng = np.random.default_rng(9)
    q = rng.dirichlet([1, 1, 1], 500)
    bins, error, usual = reliability(q, rng.integers(0, 3, 500), 10, rng)
    assert sum(b.n for b in bins) == 1500
    assert all(b.low <= b.predicted <= b.high for b in bins)
    assert sum(b.n * b.observed for b in bins) == pytest.approx(500)
    assert error > 2 * usual  # models had nothing to do with q
    _, error, usual = reliability(q, drawn_from(np.log(q), rng), 10, rng)
    assert error == pytest.approx(usual, rel=0.6)


def test_what_is_foretold_is_learned_from_other_participants():
    rng = np.random.default_rng(10)
    statistics = rng.standard_normal((400, 3)) * [1, 1000, 0]
    residuals = statistics[:, :2] @ [[1.0], [0.001]]
    assert np.corrcoef(foretell(statistics, residuals)[:, 0], residuals[200:, 0])[0, 1] > 0.99
    changed = np.concatenate([residuals[:200], rng.standard_normal((200, 1))])
    assert np.array_equal(foretell(statistics, changed), foretell(statistics, residuals))


# arithmetic on a few numbers


def test_ranks_and_distances_one_by_one():
    rng = np.random.default_rng(0)
    truth, draws = rng.standard_normal((4, 2)), rng.standard_normal((4, 6, 2))
    ranks = ranks_among(truth[:, 0], draws[:, :, 0], rng)
    assert ranks.tolist() == [sum(draw < value for draw in row) for value, row in zip(truth[:, 0], draws[:, :, 0], strict=True)]
    own, others = distances(truth, draws)
    for n in range(4):
        points = np.concatenate([truth[n : n + 1], draws[n]])
        inverse = np.linalg.inv(np.cov(points.T, ddof=0))
        far = [(point - points.mean(0)) @ inverse @ (point - points.mean(0)) for point in points]
        np.testing.assert_allclose([own[n], *others[n]], far, rtol=1e-6)


@pytest.mark.parametrize(("draws", "points"), [(119, 40), (9, 10), (2, 3), (12, 13), (46, 47), (39, 40), (79, 40)])
def test_ranks_are_looked_at_where_their_number_can_be_divided(draws, points):
    found = calibrate_ranks(np.arange(draws + 1), draws, 0.1)
    np.testing.assert_allclose(found.points, np.arange(1, points) / points)
    np.testing.assert_allclose(found.difference, 0, atol=1e-12)  # one of each rank
    assert (found.n, found.verdict, found.outside) == (draws + 1, "no error found", False)


def test_numbers_of_a_calibration_of_ranks():
    ranks = np.array([0, 0, 1, 3, 4, 4, 4, 9, 9, 2])
    found = calibrate_ranks(ranks, 9, 0.05, "m", "p")
    u = (ranks + 0.5) / 10
    np.testing.assert_allclose(found.difference, [np.mean(ranks < k) - k / 10 for k in range(1, 10)])
    low, high = uniform_band(10, 10, 0.025)
    np.testing.assert_allclose(found.low, low / 10 - np.arange(1, 10) / 10)
    np.testing.assert_allclose(found.high, high / 10 - np.arange(1, 10) / 10)
    assert found.levels == (0.5, 0.8, 0.9, 0.95)
    assert found.coverage == tuple(np.mean([abs(one - 0.5) <= c / 2 for one in u]) for c in found.levels)
    np.testing.assert_allclose(found.coverage_se, [np.sqrt(c * (1 - c) / 10) for c in found.levels])
    even = (np.arange(10) + 0.5) / 10
    scores = normal_score(u.mean(), even, 10), normal_score(((u - 0.5) ** 2).mean(), (even - 0.5) ** 2, 10)
    assert found.p == pytest.approx(min(1, 8 * norm.sf(max(map(abs, scores)))))
    assert found.noticed == noticeable_widths(10, float(norm.isf(0.05 / 8)))
    assert (found.model, found.parameter, found.by) == ("m", "p", "value")


@pytest.mark.parametrize(
    ("by", "spread", "place", "outside", "word"),
    [
        ("value", 2.0, -2.0, False, "no error found"),
        ("value", 2.0, 2.0, True, "misshapen"),
        ("value", 2.1, 3.0, False, "overconfident"),
        ("value", -2.1, 3.0, False, "underconfident"),
        ("value", 1.0, -2.1, False, "shifted"),
        ("statistics", 2.1, 0.0, False, "incomplete"),
        ("statistics", 0.0, 2.0, False, "no error found"),
        ("distance", 3.0, 2.0, False, "misshapen"),
        ("distance", 0.0, 2.1, False, "overconfident"),
        ("distance", 0.0, -2.1, False, "underconfident"),
    ],
)
def test_the_word_for_what_was_found(by, spread, place, outside, word):
    assert _word(by, spread, place, outside, 2.0) == word


def test_the_probability_of_leaving_a_band_by_counting_all_cases():
    """Three ranks in four parts: 64 cases, all as probable."""
    for low, high in (([0, 1, 1], [1, 2, 3]), ([0, 0, 0], [3, 3, 3]), ([0, 0, 2], [2, 3, 3])):
        left = 0
        for places in product(range(4), repeat=3):
            below = [sum(place < k for place in places) for k in (1, 2, 3)]
            left += any(not lo <= count <= hi for lo, count, hi in zip(low, below, high, strict=True))
        assert probability_outside(3, 4, np.array(low), np.array(high)) == pytest.approx(left / 64)


def test_unusual_averages_are_symmetric_and_usual_ones_are_zero():
    values = (np.arange(20) + 0.5) / 20
    assert normal_score(0.5, values, 30) == pytest.approx(0, abs=1e-9)
    assert normal_score(0.7, values, 30) == pytest.approx(-normal_score(0.3, values, 30))
    near = normal_score(0.5005, values, 30)
    assert near == pytest.approx(0.0005 / values.std() * np.sqrt(30), rel=1e-3)


def test_tempered_scores_by_summing_over_models():
    q = np.array([[0.5, 0.3, 0.2], [0.9, 0.05, 0.05]])
    for t in (-0.5, 0.0, 2.0):
        total, mean, variance = _tempered(np.log(q), t)
        logs, means, variances = [], [], []
        for row in q:
            weights = row ** (1 + t)
            p = weights / weights.sum()
            logs.append(np.log((row * row**t).sum()))
            means.append((p * np.log(row)).sum())
            variances.append((p * np.log(row) ** 2).sum() - means[-1] ** 2)
        assert (total, mean, variance) == (pytest.approx(sum(logs)), pytest.approx(sum(means)), pytest.approx(sum(variances)))


@pytest.mark.parametrize("root", [-300.0, -1.0, 0.3, 5000.0])
def test_zeros_are_found_on_either_side_or_far_out(root):
    assert zero_of(lambda t: t - root) == pytest.approx(root)
    assert zero_of(lambda t: np.tanh(t) - 2.0) > 1e5
    assert zero_of(lambda t: np.tanh(t) + 2.0) < -1e5


def test_reliability_by_hand():
    q = np.array([[0.1, 0.9], [0.15, 0.85], [0.5, 0.5], [1.0, 0.0]])
    bins, error, usual = reliability(q, np.array([1, 0, 0, 0]), 2, np.random.default_rng(0), draws=4000)
    low, high = bins
    assert ((low.low, low.high, low.n), (high.low, high.high, high.n)) == ((0.0, 0.5, 3), (0.5, 1.0, 5))
    assert (low.predicted, low.observed) == (pytest.approx(0.25 / 3), pytest.approx(1 / 3))
    assert (high.predicted, high.observed) == (pytest.approx(3.75 / 5), pytest.approx(3 / 5))
    assert low.se == pytest.approx(np.sqrt(0.09 + 0.1275) / 3)
    assert error == pytest.approx((abs(0.25 - 1) + abs(3.75 - 3)) / 8)
    # what happens in the lower bin is that nobody, one or both of the first two are of the less probable model
    chances = {0: 0.9 * 0.85, 1: 0.1 * 0.85 + 0.9 * 0.15, 2: 0.1 * 0.15}
    assert usual == pytest.approx(sum(chance * 2 * abs(0.25 - count) / 8 for count, chance in chances.items()), abs=0.005)
    assert [b.n for b in reliability(q, np.array([1, 0, 0, 0]), 10, np.random.default_rng(0))[0]] == [1, 2, 2, 1, 2]


@pytest.mark.parametrize(("models", "foretold", "questions"), [(2, False, 2), (2, True, 3), (3, False, 4), (3, True, 5)])
def test_the_level_is_shared_by_all_questions(monkeypatch, models, foretold, questions):
    """What is asked, and how p-values and limits are multiplied by the number of questions."""
    asked, given = [], {}

    def surprise(log_q, values, model, rng):
        asked.append((len(log_q), values))
        return (-0.5 if len(asked) == 1 else 0.1), 0.3 / 2 ** len(asked)

    monkeypatch.setattr("tellapart.validation.model_calibration.surprise", surprise)
    monkeypatch.setattr("tellapart.validation.model_calibration.noticeable", lambda log_q, level: given.update(level=level))
    log_q = np.log(np.random.default_rng(0).dirichlet([1] * models, 8))
    seen = np.ones((3, models)) if foretold else None
    last = 0.3 / 2**questions
    for level, word in ((last * questions * 0.99, "no error found"), (last * questions * 1.01, "incomplete" if foretold else "shifted")):
        asked.clear()
        found = calibrate_models(np.zeros(8, np.intp), log_q + 3.0, level, np.random.default_rng(1), seen)
        assert found.verdict == word
        assert [n for n, _ in asked] == [8] * (questions - foretold) + [3] * foretold
        np.testing.assert_allclose(asked[0][1], log_q)
        assert all((values == np.eye(models)[k]).all() for k, (_, values) in enumerate(asked[1 : questions - foretold]))
        assert given["level"] == pytest.approx(level / questions)
        assert (found.p, found.exponent, found.n) == (pytest.approx(questions * last), 0.5, 8)
        assert found.exponent_se == pytest.approx(1 / np.sqrt(_tempered(log_q, -0.5)[2]))


def test_what_is_foretold_by_plain_ridge_regression():
    rng = np.random.default_rng(1)
    statistics, residuals = rng.standard_normal((40, 3)) * [1, 5, 0.2] + [0, 3, 1], rng.standard_normal((40, 2))
    first, mean, sd = statistics[:20], statistics[:20].mean(0), statistics[:20].std(0)
    z = (first - mean) / sd
    weights = np.linalg.inv(z.T @ z + (3 + 1.0) * np.eye(3)) @ z.T @ residuals[:20]
    np.testing.assert_allclose(foretell(statistics, residuals), (statistics[20:] - mean) / sd @ weights)


@pytest.mark.parametrize(("about", "questions"), [(("aeg.phi",), 2), (("aeg.epsilon", "aeg.phi"), 4)])
def test_each_question_about_parameters_has_its_share_of_the_level(monkeypatch, about, questions):
    levels, plain = [], calibrating.calibrate_ranks

    def spied(ranks, draws, level, *more, **by):
        levels.append(level)
        return plain(ranks, draws, level, *more, **by)

    monkeypatch.setattr(calibrating, "calibrate_ranks", spied)
    rng = np.random.default_rng(4)
    found = calibration(take_part(exact("estimate", about=about), DESIGN, 60, rng, draws=19), rng, 0.12)
    np.testing.assert_allclose(levels, 0.12 / questions)
    assert len(levels) == questions
    assert (found.n, found.false_alarm) == (60, 0.12)


def test_complaints_name_what_is_wrong():
    def part(by, verdict):
        return SimpleNamespace(model="m", parameter="p", by=by, verdict=verdict)

    fine = "no error found"
    whole = Calibration(
        9,
        1e-3,
        SimpleNamespace(verdict="shifted"),
        (part("value", "overconfident"), part("distance", "misshapen"), part("statistics", fine)),
    )
    assert whole.complaints == (
        "model probabilities are shifted",
        "the posterior of m.p is overconfident",
        "the joint posterior of m is misshapen",
    )
    assert not whole.sound
    incomplete = Calibration(9, 1e-3, SimpleNamespace(verdict="incomplete"), (part("statistics", "incomplete"),))
    assert incomplete.complaints == (
        "model probabilities leave out what plain statistics of the data tell",
        "the posterior of m leaves out what plain statistics of the data tell",
    )
    assert Calibration(9, 1e-3, None, (part("value", fine),)).sound
