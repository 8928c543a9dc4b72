"""Questions that are not the plain ones: a part of the parameters, models that are not equally probable. Against the exact reference."""

import numpy as np
import pytest

import tellapart as ta
from tellapart.information.estimate import stratified
from tellapart.information.exact import exact_values, log_evidences
from tellapart.search.learning import Mixture
from tellapart.workers import one_thread

TASK = ta.BernoulliBandit(arms=2, blocks=2, trials=8)
QUESTIONS = {
    "a nuisance parameter": ta.Question((ta.AEG(),), "estimate", about=("aeg.epsilon",)),
    "a prior over models": ta.Question((ta.WSLTS(), ta.AEG(), ta.GLS()), prior=(0.6, 0.3, 0.1)),
}


def trained(question, steps):
    """An estimator for every design, trained as the amortized search does in its first round."""
    with one_thread():
        estimator = ta.Amortized().build(TASK, question)
        trainer = ta.Trainer(estimator, ta.TrainingSettings(learning_rate=estimator.learning_rate, clip=1.0, pieces=2), steps, 1)
        trainer.run(ta.Stream(estimator, Mixture(TASK), 256, (1,)))
    return estimator


@pytest.mark.parametrize("name", QUESTIONS)
def test_within_three_percent_of_exact_and_not_above_it(name):
    """On the same participants, so that what is common to both cancels; above by four standard errors: false alarm below 4e-5."""
    question, n = QUESTIONS[name], 3000
    estimator = trained(question, 1000)
    for design in (np.full((2, 2), 0.5), np.array([[0.1, 0.8], [0.4, 0.6]])):
        simulations = question.simulate(TASK, design, n, np.random.default_rng(7))
        ours = estimator.pointwise(estimator.prepare(simulations))
        evidence = log_evidences(TASK, question, simulations.behavior, simulations.designs)
        exact = exact_values(TASK, question, simulations, evidence)
        above, se = stratified(ours.values - exact, simulations.model, question.prior)
        assert above < 4 * se
        assert above > -0.03 * stratified(exact, simulations.model, question.prior)[0]


def test_the_prior_is_the_share_of_participants_and_bounds_the_information():
    question = QUESTIONS["a prior over models"]
    simulations = question.simulate(TASK, np.full((2, 2), 0.5), 2000, np.random.default_rng(1))
    assert np.bincount(simulations.model).tolist() == [1200, 600, 200]
    exact = ta.exact_information(ta.Study(TASK, question.models, prior=question.prior), np.full((2, 2), 0.5), 600, np.random.default_rng(1))
    assert exact.nats < question.most < np.log(3)


def test_nuisance_parameters_take_information_away():
    """I(epsilon; y) < I(epsilon, phi; y), the difference being I(phi; y | epsilon): all exact, on the same participants."""
    design, n = np.full((2, 2), 0.5), 1500
    some, everything = (
        ta.exact_information(ta.Study(TASK, ta.AEG(), "estimate", about=about), design, n, np.random.default_rng(2))
        for about in (["aeg.epsilon"], [])
    )
    assert some.nats < everything.nats - 4 * np.hypot(some.se, everything.se)
