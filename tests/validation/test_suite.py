"""Confusion, recovery, comparison, and all of them together."""

import json

import numpy as np
import pytest
from evidence import DESIGN, TASK, exact

from tellapart import AEG, InformationEstimate, ModelError
from tellapart.priors import Uniform
from tellapart.validation.answers import ask, simulate_at
from tellapart.validation.comparison import against_baseline, against_exact
from tellapart.validation.confusion import confusion, confusion_matrix
from tellapart.validation.recovery import averaged_posteriors, recover, recovery
from tellapart.validation.suite import Validation, validate
from tellapart.validation.words import against_habit, in_words


def test_confusion_counts_what_is_taken_for_what():
    found = confusion_matrix(np.array([0, 0, 1, 1]), [[0.9, 0.1], [0.2, 0.8], [0.3, 0.7], [0.4, 0.6]], ("a", "b"))
    assert found.counts == ((1, 1), (0, 2))
    assert found.accuracy == 0.75
    assert found.expected == pytest.approx((0.55 + 0.65) / 2)
    assert np.allclose(found.probabilities, [[0.55, 0.45], [0.35, 0.65]])


def test_accuracy_error_falls_with_the_number_of_participants():
    rng = np.random.default_rng(0)
    errors = [confusion_matrix(np.arange(n) % 2, rng.dirichlet([1, 1], n), ("a", "b")).accuracy_se for n in (400, 1600)]
    assert errors[0] / errors[1] == pytest.approx(2, rel=0.1)


def test_recovery_of_a_known_posterior():
    rng = np.random.default_rng(1)
    truth = rng.random(4000)
    draws = truth[:, None] + 0.02 * rng.standard_normal((4000, 1)) + 0.02 * rng.standard_normal((4000, 99))
    found = recover("m", "p", Uniform(), truth, draws)
    assert found.correlation > 0.99
    assert found.rmse == pytest.approx(0.02, rel=0.1)
    assert found.coverage == pytest.approx(0.9, abs=0.03)
    assert found.contraction == pytest.approx(1 - 12 * 0.02**2, abs=0.01)
    assert len(found.truth) == 300


def test_recovery_without_data_has_no_contraction():
    rng = np.random.default_rng(2)
    found = recover("m", "p", Uniform(), rng.random(2000), rng.random((2000, 99)))
    assert abs(found.contraction) < 0.02
    assert abs(found.correlation) < 0.1
    assert found.rmse == pytest.approx(found.prior_rmse, rel=0.05)


def test_the_exact_estimator_misses_nothing():
    estimator = exact()
    found = against_exact(estimator, ask(estimator, DESIGN, 200, np.random.default_rng(3)))
    assert found.gap == pytest.approx(0, abs=1e-6)
    assert found.model_divergence == pytest.approx(0, abs=1e-6)
    assert found.largest_difference == 0
    assert found.share == pytest.approx(1)


def test_a_tempered_estimator_misses_what_its_divergence_says():
    estimator = exact(power=3.0)
    found = against_exact(estimator, ask(estimator, DESIGN, 1500, np.random.default_rng(4)))
    assert found.gap > 3 * found.gap_se
    assert found.gap == pytest.approx(found.model_divergence, abs=4 * found.gap_se)


def test_averaged_posteriors_of_the_exact_estimator_are_exact():
    estimator = exact("estimate")
    answers = ask(estimator, DESIGN, 200, np.random.default_rng(5), 40, {"aeg": {"epsilon": 0.2, "phi": 0.7}})
    for part in averaged_posteriors(answers, bins=20, exact=True):
        width = np.diff(part.edges)
        assert np.sum(np.array(part.density) * width) == pytest.approx(1, abs=0.01)
        assert np.abs((np.array(part.density) - np.array(part.exact)) * width).sum() < 0.1
        assert part.sd == pytest.approx(part.exact_sd, rel=0.1)
    assert {part.parameter: part.truth for part in averaged_posteriors(answers)} == {"epsilon": 0.2, "phi": 0.7}


def test_given_parameters_are_those_of_everyone():
    simulated = simulate_at(TASK, [AEG()], DESIGN, 10, {"aeg": {"epsilon": 0.0, "phi": 1.0}}, np.random.default_rng(6))
    assert set(simulated.parameters["aeg.phi"]) == {1.0}
    with pytest.raises(ModelError, match="no model"):
        simulate_at(TASK, [AEG()], DESIGN, 10, {"agg": {}}, np.random.default_rng(6))


def estimates(*nats):
    return [InformationEstimate(value, 0.01, "lower bound", 1000) for value in nats]


@pytest.mark.parametrize(("nats", "words"), [(0.9, "tells more"), (0.5, "about as much"), (0.1, "tells less")])
def test_the_comparison_says_whether_the_gain_is_real(nats, words):
    found = against_baseline(estimates(nats)[0], estimates(0.45, 0.5, 0.55))
    assert words in against_habit(found)
    assert found.gain == pytest.approx(nats - 0.5)


@pytest.fixture(scope="module")
def checked(about_both):
    return validate(about_both, DESIGN, information=estimates(1.0)[0], baseline=estimates(0.8, 0.9), n=400, n_at=60, n_exact=60, seed=1)


def test_a_validation_has_everything_side_by_side(checked):
    assert [part.label for part in checked.designs] == ["recommended", "baseline"]
    for part in checked.designs:
        assert part.confusion.n == part.n == 400
        assert part.confusion_at.n == 120
        assert len(part.recovery) == len(part.averaged) == len(part.calibration.parameters) == 5
        assert part.exact.n == 60
        assert part.exact.gap > 0
        assert all(one.exact is not None for one in part.averaged)


def test_a_validation_survives_json(checked):
    text = json.dumps(checked.to_json(), allow_nan=False)
    assert Validation.from_json(text) == checked


def test_the_same_seed_gives_the_same_validation(about_both):
    one, other = (validate(about_both, DESIGN, n=100, n_at=10, n_exact=0, seed=3) for _ in range(2))
    assert one == other
    assert one.designs[0].exact is None


def test_words_come_first_with_the_verdict(checked):
    lines = in_words(checked)
    assert lines[0].startswith("The recommended design tells more")
    assert sum("1 of 1,000 validations" in line for line in lines) == 2
    assert any("wslts.gamma_w" in line for line in lines)


def test_answers_agree_with_their_truth(about_both):
    answers = ask(about_both, DESIGN, 60, np.random.default_rng(7))
    assert [len(next(iter(draws.values()))) for draws in answers.draws] == [30, 30]
    assert np.allclose(np.exp(answers.log_probabilities).sum(-1), 1)
    assert confusion(answers).models == ("wslts", "aeg")
    assert [part.parameter for part in recovery(answers)] == ["gamma_w", "gamma_l", "lambda", "epsilon", "phi"]
