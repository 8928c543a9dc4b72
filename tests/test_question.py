"""One question: which models with which prior, which parameters, and what is learned of participants that cannot be simulated."""

from dataclasses import replace

import numpy as np
import pytest

import tellapart as ta
from tellapart.priors import sample_priors

TASK = ta.BernoulliBandit(2, 1, 4)
MODELS = (ta.WSLTS(), ta.AEG(), ta.GLS())


def test_which_model():
    question = ta.Question(MODELS, prior=(6, 3, 1))
    assert question.names == ("wslts", "aeg", "gls")
    assert question.prior == pytest.approx((0.6, 0.3, 0.1))
    assert question.most == pytest.approx(-(0.6 * np.log(0.6) + 0.3 * np.log(0.3) + 0.1 * np.log(0.1)))
    assert (question.about_models, question.about_parameters, question.uniform, question.widest) == (True, False, False, 0)
    assert ta.Question(MODELS).uniform
    assert ta.Question(MODELS).most == pytest.approx(np.log(3))
    np.testing.assert_allclose(np.exp(question.log_prior), question.prior)
    assert ta.Question(MODELS).share_of_most(-1e-4).startswith("; 0 % of the maximum log 3")


def test_which_parameters():
    question = ta.Question(MODELS, "both", about=["gls.gamma", "wslts.lambda"])
    assert question.about == ("wslts.lambda", "gls.gamma")
    assert [list(question.parameters(m)) for m in range(3)] == [["lambda"], [], ["gamma"]]
    assert (question.widest, question.most) == (1, None)
    everything = ta.Question(ta.AEG(), "estimate")
    assert everything.about == ("aeg.epsilon", "aeg.phi")
    assert (everything.about_models, everything.about_parameters, everything.widest) == (False, True, 2)
    assert ta.Question((ta.AEG(),), "estimate", about="aeg.phi").about == ("aeg.phi",)


def test_theta_is_what_is_asked_about_on_the_normal_scale():
    question, rng = ta.Question(MODELS, "both", (0.5, 0.25, 0.25), ("aeg.phi", "gls.gamma", "gls.pi_00")), np.random.default_rng(1)
    simulations = question.simulate(TASK, [[0.2, 0.8]], 400, rng)
    theta = question.theta(simulations)
    assert theta.shape == (400, 2)
    assert (theta[simulations.model == 0] == 0).all()
    assert (theta[simulations.model == 1, 1] == 0).all()
    phi = simulations.truth(1)["phi"]
    np.testing.assert_allclose(theta[simulations.model == 1, 0], ta.Uniform().to_normal(phi), rtol=1e-5)
    assert np.bincount(simulations.model).tolist() == [200, 100, 100]


def test_levels_are_dequantised_by_what_the_simulations_say():
    @ta.model(name="levels", parameters={"k": ta.Integers(1, 3)}, vectorised=True)
    def levels(parameters, designs, rng, task):
        zeros = np.zeros((len(designs), task.blocks, task.trials), int)
        return {"choice": zeros, "reward": zeros}

    question = ta.Question(levels(), "estimate")
    simulations = question.simulate(TASK, [[0.2, 0.8]], 300, np.random.default_rng(1))
    theta = question.theta(simulations)[:, 0]
    assert len(np.unique(theta)) == 300
    np.testing.assert_array_equal(ta.Integers(1, 3).from_normal(theta), simulations.truth(0)["k"])
    np.testing.assert_array_equal(question.theta(simulations), question.theta(simulations))


def test_parameters_can_be_given():
    given = {
        model.name: {name: float(values[0]) for name, values in sample_priors(model.parameters, 1, np.random.default_rng(1)).items()}
        for model in MODELS
    }
    simulations = ta.Question(MODELS).simulate(TASK, [[0.2, 0.8]], 30, np.random.default_rng(1), parameters=given)
    assert np.ptp(simulations.truth(1)["epsilon"]) == 0


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: ta.Question(MODELS, "guess"), "goal"),
        (lambda: ta.Question(MODELS, "estimate"), "one model"),
        (lambda: ta.Question(MODELS[:1]), "two models or more"),
        (lambda: ta.Question(()), "none"),
        (lambda: ta.Question((ta.AEG(), ta.AEG("released"))), "same name"),
        (lambda: ta.Question((ta.AEG, ta.GLS())), "with parentheses"),
        (lambda: ta.Question(MODELS, prior=(0.5, 0.5)), "3 numbers above 0"),
        (lambda: ta.Question(MODELS, prior=(0.5, 0.5, 0.0)), "prior over models is impossible"),
        (lambda: ta.Question(MODELS, about=("aeg.phi",)), "not about parameters"),
        (lambda: ta.Question(MODELS, "both", about=("aeg.phy",)), "did you mean 'aeg.phi'"),
        (lambda: ta.Question(MODELS, on_error="ignore"), "on_error"),
    ],
)
def test_questions_that_make_no_sense(make, message):
    with pytest.raises(ta.StudyError, match=message):
        make()


def test_mistakes_name_the_setting():
    with pytest.raises(ta.StudyError) as error:
        replace(ta.Question(MODELS, "both"), about=("aeg.nothing",))
    assert error.value.key == "about"
