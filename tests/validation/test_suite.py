"""Confusion, recovery, comparison, and all of them together."""

import json
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import pytest
from evidence import DESIGN, TASK, exact, train

from tellapart import (
    AEG,
    WSLTS,
    Behavior,
    Categorical,
    Difference,
    InfoNCEEstimator,
    InformationEstimate,
    Model,
    ModelError,
    Question,
    Uniform,
)
from tellapart.networks.history import HistoryEncoder
from tellapart.search.base import Baseline
from tellapart.validation.comparison import against_baseline, against_exact
from tellapart.validation.confusion import confusion, confusion_matrix
from tellapart.validation.participants import take_part
from tellapart.validation.recovery import averaged_posteriors, recover, recovery
from tellapart.validation.suite import PURPOSE, Validation, validate
from tellapart.validation.words import against_baseline_in_words, failures_in_words, in_words

TWO = Question((WSLTS(), AEG()))


def test_confusion_counts_what_is_taken_for_what():
    found = confusion_matrix(TWO, np.array([0, 0, 1, 1]), [[0.9, 0.1], [0.2, 0.8], [0.3, 0.7], [0.4, 0.6]])
    assert found.counts == ((1, 1), (0, 2))
    assert (found.accuracy, found.chance) == (0.75, 0.5)
    assert found.expected == pytest.approx((0.55 + 0.65) / 2)
    assert np.allclose(found.probabilities, [[0.55, 0.45], [0.35, 0.65]])


def test_accuracy_is_under_the_prior_over_models():
    question = replace(TWO, prior=(0.9, 0.1))
    found = confusion_matrix(question, np.array([0, 0, 1, 1]), [[0.9, 0.1], [0.2, 0.8], [0.3, 0.7], [0.4, 0.6]])
    assert found.accuracy == pytest.approx(0.9 * 0.5 + 0.1 * 1.0)
    assert found.chance == 0.9


def test_accuracy_error_falls_with_the_number_of_participants():
    rng = np.random.default_rng(0)
    errors = [confusion_matrix(TWO, np.arange(n) % 2, rng.dirichlet([1, 1], n)).accuracy_se for n in (400, 1600)]
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


@pytest.mark.parametrize("prior", [Uniform(), Categorical((0.97, 0.03)), Categorical((0.3, 0.3, 0.4))], ids=str)
def test_recovery_without_data_has_no_contraction(prior):
    rng = np.random.default_rng(2)
    truth, draws = prior.quantile(rng.random(4000)), prior.quantile(rng.random((4000, 99)))
    found = recover("m", "p", prior, truth, draws)
    assert abs(found.contraction) < 0.03
    assert abs(found.correlation) < 0.1
    assert found.rmse == pytest.approx(found.prior_rmse, rel=0.05)
    sure = recover("m", "p", prior, truth, np.repeat(truth[:, None], 99, axis=1))
    assert sure.contraction == pytest.approx(1)


def test_the_exact_estimator_misses_nothing():
    estimator = exact()
    found = against_exact(estimator, take_part(estimator, DESIGN, 200, np.random.default_rng(3)), np.random.default_rng(4))
    assert found.gap.nats == pytest.approx(0, abs=1e-6)
    assert found.model_divergence == pytest.approx(0, abs=1e-6)
    assert found.largest_difference == 0
    assert found.share == pytest.approx(1)


@pytest.mark.parametrize("prior", [(), (0.8, 0.2)], ids=["uniform", "0.8, 0.2"])
def test_a_tempered_estimator_misses_what_its_divergence_says(prior):
    estimator = exact(power=3.0, prior=prior)
    found = against_exact(estimator, take_part(estimator, DESIGN, 1500, np.random.default_rng(4)), np.random.default_rng(5))
    assert found.gap.nats > 3 * found.gap.se
    assert found.gap.nats == pytest.approx(found.model_divergence, abs=4 * found.gap.se)
    assert found.middle < (estimator.question.most or 0)


def test_infonce_is_judged_with_its_many_contrasts():
    estimator = InfoNCEEstimator(TWO, HistoryEncoder(TASK, summaries=4, width=8))
    people = take_part(estimator, DESIGN, 600, np.random.default_rng(5))
    estimator.bound = None  # has the few contrasts of training
    found = against_exact(estimator, people, np.random.default_rng(6))
    assert found.estimate == estimator.pointwise(estimator.prepare(people.simulations)).estimate().nats


def test_averaged_posteriors_of_the_exact_estimator_are_exact():
    estimator = exact("estimate")
    people = take_part(estimator, DESIGN, 200, np.random.default_rng(5), draws=40, parameters={"aeg": {"epsilon": 0.2, "phi": 0.7}})
    for part in averaged_posteriors(people, bins=20, exact=True):
        width = np.diff(part.edges)
        assert np.sum(np.array(part.density) * width) == pytest.approx(1, abs=0.01)
        assert np.abs((np.array(part.density) - np.array(part.exact)) * width).sum() < 0.1
        assert part.sd == pytest.approx(part.exact_sd, rel=0.1)
    assert {part.parameter: part.truth for part in averaged_posteriors(people)} == {"epsilon": 0.2, "phi": 0.7}


def test_what_is_said_agrees_with_the_truth(about_both):
    people = take_part(about_both, DESIGN, 60, np.random.default_rng(7))
    assert [len(next(iter(draws.values()))) for draws in people.draws] == [30, 30]
    assert np.allclose(np.exp(people.log_probabilities).sum(-1), 1)
    assert confusion(people).models == ("wslts", "aeg")
    assert [part.parameter for part in recovery(people)] == ["gamma_w", "gamma_l", "lambda", "epsilon", "phi"]


def test_participants_who_miss_trials_miss_some(about_both):
    people = take_part(about_both, DESIGN, 60, np.random.default_rng(8), missed=True)
    recorded = people.simulations.behavior.mask.sum((1, 2))
    assert recorded.mean() < 18


# against randomly drawn designs


def estimates(*nats):
    return tuple(InformationEstimate(value, 0.01, "lower bound", 1000) for value in nats)


def habit(gain, se=0.01, nats=(0.45, 0.5, 0.55)):
    return Baseline(np.zeros((3, 2, 3)), estimates(*nats), estimates(0.5)[0], Difference(gain, se))


@pytest.mark.parametrize(("gain", "words"), [(0.4, "tells more"), (0.015, "not clearly tell more"), (-0.4, "tells less")])
def test_the_comparison_says_whether_the_paired_gain_is_real(gain, words):
    found = against_baseline(estimates(0.8)[0], habit(gain))
    assert words in against_baseline_in_words(found)
    assert f"{gain:+.3f} ± 0.010" in against_baseline_in_words(found)
    assert found.gain.nats == gain


def test_the_error_of_the_gain_is_that_of_the_pairs_not_of_the_estimates():
    noisy = InformationEstimate(0.52, 0.2, "lower bound", 50)
    assert "tells more" in against_baseline_in_words(against_baseline(noisy, habit(0.02, 0.001)))
    assert against_baseline(noisy, habit(0.02, 0.001)).ahead == 2  # 0.5 + 0.02 on the same participants


# all of it


@pytest.fixture(scope="module")
def checked(about_both):
    return validate(about_both, DESIGN, information=estimates(1.0)[0], baseline=habit(0.5), n=400, n_at=60, n_exact=60, seed=1)


def test_a_validation_has_everything_side_by_side(checked):
    assert [part.label for part in checked.designs] == ["recommended", "baseline"]
    for part in checked.designs:
        assert part.confusion.n == part.n == part.calibration.n == 400
        assert sum(one.n for _, one in part.missed) == 800
        assert part.failed == 0
        assert part.confusion_at.n == 120
        assert len(part.recovery) == len(part.averaged) == sum(one.by == "value" for one in part.calibration.parameters) == 5
        assert part.exact.n == 60
        assert part.exact.gap.nats > 0
        assert part.exact.exact
        assert part.reading is None  # likelihoods tell
        assert all(one.exact is not None for one in part.averaged)


def test_a_validation_survives_json(checked):
    text = json.dumps(checked.to_json(), allow_nan=False)
    assert Validation.from_json(json.loads(text)) == checked


def test_the_same_seed_gives_the_same_validation(about_both):
    one, other = (validate(about_both, DESIGN, n=100, n_at=10, n_exact=0, n_reader=300, seed=3) for _ in range(2))
    assert one == other
    assert one.designs[0].exact is None


def test_words_say_on_how_many_participants_they_rest_and_what_they_would_have_noticed(checked):
    lines = in_words(checked)
    assert lines[0].startswith("The recommended design tells more")
    assert sum("n 400 simulated participants" in line for line in lines) == 2
    assert (
        sum(line.startswith(("  With up to half of the trials missed:", "  With more than half of the trials missed:")) for line in lines)
        == 4
    )
    assert sum("1 of 3,000" in line for line in lines) == 6  # a third of the level for each
    assert all("Noticed in 9 of 10 validations would be log-odds" in line for line in lines if "400 simulated" in line)
    assert any("% too narrow or" in line for line in lines)
    assert any("wslts.gamma_w" in line for line in lines)
    assert "at their word" not in " ".join(lines)


def test_an_estimator_of_one_design_is_not_judged_by_others(about_both):
    found = validate(about_both, DESIGN, every_design=False, n=100, n_at=10, n_exact=0, n_reader=300)
    assert [part.label for part in found.designs] == ["recommended"]
    assert found.designs[0].reading.trained == 512


def test_an_estimator_of_complete_data_is_not_asked_about_missed_trials():
    found = validate(exact(), DESIGN, every_design=False, n=200, n_at=10, n_exact=0, n_reader=0)
    assert found.designs[0].missed == ()
    assert found.designs[0].calibration.false_alarm == 1e-3


def test_progress_is_told(about_both):
    heard = []
    validate(about_both, DESIGN, n=100, n_at=10, n_exact=0, n_reader=0, progress=lambda *told: heard.append(told))
    assert [told[0] for told in heard] == sorted(told[0] for told in heard)
    assert heard[-1][:2] == (10, 10)
    assert heard[0][2] == "the recommended design"


def test_unknown_parameters_are_refused(about_both):
    with pytest.raises(ModelError, match="no model 'agg'"):
        validate(about_both, DESIGN, parameters={"agg": {}})
    with pytest.raises(ModelError, match="no parameter 'fi'"):
        validate(about_both, DESIGN, parameters={"aeg": {"fi": 0.5}})


def test_nuisance_parameters_are_simulated_but_not_recovered():
    estimator = train(Question((WSLTS(), AEG()), "both", about=("aeg.phi",)), steps=10)
    found = validate(estimator, DESIGN, parameters={"aeg": {"epsilon": 0.2}}, every_design=False, n=200, n_at=10, n_exact=40)
    assert [(part.model, part.parameter) for part in found.designs[0].recovery] == [("aeg", "phi")]
    assert found.parameters["aeg"]["epsilon"] == 0.2
    assert found.designs[0].exact is not None


def test_validation_simulates_nobody_that_training_did():
    """Seeds [seed, purpose, …] of the search begin with small purposes, and a spawned child is no other's."""
    states = {repr(np.random.default_rng([1, purpose, step]).bit_generator.state) for purpose in range(1, 10) for step in range(50)}
    ours = {repr(np.random.default_rng([1, PURPOSE, place]).bit_generator.state) for place in range(3)}
    assert len(states) == 450
    assert not states & ours


@dataclass(frozen=True)
class Fragile(Model):
    """Fails once in about 100 participants."""

    name: ClassVar[str] = "fragile"

    @property
    def parameters(self):
        return {"bias": Uniform()}

    def simulate(self, parameters, designs, rng, task):
        if (parameters["bias"] > 0.99).any():
            raise ValueError("too much bias")
        choice = (rng.random((len(designs), task.blocks, task.trials)) > parameters["bias"][:, None, None]).astype(np.int16)
        chance = np.take_along_axis(designs, choice.astype(int), 2)
        return Behavior({"choice": choice, "reward": (rng.random(choice.shape) < chance).astype(np.int8)})


def test_participants_that_cannot_be_simulated_are_counted_and_said():
    estimator = train(Question((Fragile(), AEG()), on_error="skip"), steps=5)
    found = validate(estimator, DESIGN, n=600, n_at=10, n_reader=0)
    assert all(part.failed > 0 for part in found.designs)
    assert all(part.n == 600 for part in found.designs)
    assert sum("could not be simulated" in line for line in in_words(found)) == 2
    assert failures_in_words(1).startswith("1 participant could not be simulated and was replaced")
