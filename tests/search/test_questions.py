"""Questions that are not the plain ones: a part of the parameters, models that are not equally probable. Against the exact reference."""

import numpy as np
import pytest

import tellapart as ta
from tellapart.information.estimate import stratified
from tellapart.information.exact import exact_values, log_evidences
from tellapart.workers import one_thread

TASK = ta.BernoulliBandit(arms=2, blocks=2, trials=6)
DESIGNS = np.array([[[0.5, 0.5], [0.5, 0.5]], [[0.1, 0.8], [0.4, 0.6]]])
NUISANCE = ta.Question((ta.AEG(),), "estimate", about=("aeg.epsilon",))
PRIOR = ta.Question((ta.WSLTS(), ta.AEG(), ta.GLS()), prior=(0.6, 0.3, 0.1))


def trained(question, steps):
    """An estimator that is trained on simulations at both designs."""
    with one_thread():
        estimator = ta.Amortized().build(TASK, question)
        trainer = ta.Trainer(estimator, ta.TrainingSettings(0.04, estimator.optimizer, clip=1.0, pieces=2), steps, 1)
        trainer.run(ta.Stream(estimator, lambda n, rng: DESIGNS[rng.integers(0, 2, n)], 256, (1,)))
    return estimator


@pytest.mark.parametrize(
    ("question", "steps", "n", "gap"),
    [
        pytest.param(NUISANCE, 60, 500, 0.15, id="a nuisance parameter"),
        pytest.param(PRIOR, 80, 800, 0.15, id="a prior over models"),
        pytest.param(NUISANCE, 200, 1500, 0.03, id="a nuisance parameter, trained to the end", marks=pytest.mark.slow),
        pytest.param(PRIOR, 1200, 1500, 0.03, id="a prior over models, trained to the end", marks=pytest.mark.slow),
    ],
)
def test_near_the_exact_value_and_not_above_it(question, steps, n, gap):
    """On the same participants, so that what is common to both cancels; above by four standard errors: false alarm below 4e-5 for each
    design. That 3 % are reached in seconds where networks learn more quickly is in `estimators/test_posterior.py`;
    `benchmarks/engine.py epsilon prior` does the same as here at the paper's sizes, with the search."""
    estimator = trained(question, steps)
    for design in DESIGNS:
        simulations = question.simulate(TASK, design, n, np.random.default_rng(7))
        ours = estimator.pointwise(estimator.prepare(simulations))
        evidence = log_evidences(TASK, question, simulations.behavior, simulations.designs)
        exact = exact_values(TASK, question, simulations, evidence)
        above, se = stratified(ours.values - exact, simulations.model, question.prior)
        assert above < 4 * se
        assert above > -gap * stratified(exact, simulations.model, question.prior)[0]


def test_the_prior_is_the_share_of_participants_and_bounds_the_information():
    simulations = PRIOR.simulate(TASK, DESIGNS[0], 2000, np.random.default_rng(1))
    assert np.bincount(simulations.model).tolist() == [1200, 600, 200]
    exact = ta.exact_information(ta.Study(TASK, PRIOR.models, prior=PRIOR.prior), DESIGNS[0], 600, np.random.default_rng(1))
    assert exact.nats < PRIOR.most < np.log(3)


def test_nuisance_parameters_take_information_away():
    """I(epsilon; y) < I(epsilon, phi; y), the difference being I(phi; y | epsilon): all exact, on the same participants."""
    some, everything = (
        ta.exact_information(ta.Study(TASK, ta.AEG(), "estimate", about=about), DESIGNS[0], 400, np.random.default_rng(2))
        for about in (["aeg.epsilon"], [])
    )
    assert some.nats < everything.nats - 4 * np.hypot(some.se, everything.se)
