"""Posteriors: tables and ArviZ."""

import numpy as np
import pytest

from tellapart import AEG, WSLTS, BernoulliBandit, HistoryEncoder, PosteriorEstimator, Question
from tellapart.posterior import ModelPosterior, ParameterPosterior, Posterior, infer

PEOPLE = np.array(["ann", "bob", "cy"])
RNG = np.random.default_rng(0)
DRAWS = {"epsilon": RNG.random((3, 200)), "phi": RNG.random((3, 200))}
MODELS = ModelPosterior(np.array([[0.7, 0.3], [0.2, 0.8], [0.5, 0.5]]), ("aeg", "gls"), PEOPLE)
PARAMETERS = {"aeg": ParameterPosterior("aeg", DRAWS, PEOPLE)}


def test_model_probabilities_have_one_row_for_each_participant():
    posterior = Posterior(PEOPLE, MODELS)
    assert posterior.model_probabilities.loc["bob", "gls"] == 0.8
    assert posterior.to_table().columns.tolist() == ["participant", "most_probable", "probability.aeg", "probability.gls"]
    assert posterior.to_table()["most_probable"].tolist() == ["aeg", "gls", "aeg"]
    with pytest.raises(AttributeError, match="parameters of one model"):
        _ = Posterior(PEOPLE, None, PARAMETERS).model_probabilities


def test_parameters_are_summarised_and_drawn():
    posterior = Posterior(PEOPLE, None, PARAMETERS)
    table, samples = posterior.to_table(), posterior.samples_table()
    assert table["aeg.phi.mean"].to_numpy() == pytest.approx(DRAWS["phi"].mean(-1))
    assert table["aeg.phi.sd"].to_numpy() == pytest.approx(DRAWS["phi"].std(-1))
    assert table["aeg.epsilon.q95"].to_numpy() == pytest.approx(np.quantile(DRAWS["epsilon"], 0.95, axis=-1))
    assert samples.columns.tolist() == ["participant", "draw", "aeg.epsilon", "aeg.phi"]
    assert samples.query("participant == 'bob' and draw == 7")["aeg.phi"].item() == DRAWS["phi"][1, 7]


@pytest.mark.filterwarnings("ignore::FutureWarning")
def test_arviz_has_the_participant_as_a_dimension():
    both = Posterior(PEOPLE, MODELS, PARAMETERS).to_arviz().posterior
    assert both["aeg.phi"].dims == ("chain", "draw", "participant")
    assert both["aeg.phi"].sel(participant="cy", draw=3).item() == DRAWS["phi"][2, 3]
    assert both["model_probability"].dims == ("chain", "draw", "participant", "model")
    assert both["model_probability"].sel(participant="bob", model="gls", draw=9).item() == 0.8
    only = Posterior(PEOPLE, MODELS).to_arviz().posterior
    assert only["model_probability"].shape == (1, 1, 3, 2)


QUESTIONS = {
    "discriminate": Question((AEG(), WSLTS()), prior=(0.6, 0.4)),
    "estimate": Question((AEG(),), "estimate", about=("aeg.phi",)),
    "both": Question((AEG(), WSLTS()), "both", about=("aeg.phi", "wslts.lambda", "wslts.gamma_w")),
}


@pytest.mark.parametrize("goal", QUESTIONS)
def test_the_posterior_is_about_what_was_asked(goal):
    """Of each participant, once alone and once among others: probabilities and draws of the parameters asked about, and of no others."""
    question, task = QUESTIONS[goal], BernoulliBandit(arms=2, blocks=1, trials=5)
    estimator = PosteriorEstimator(question, HistoryEncoder(task)).eval()
    simulations = question.simulate(task, [[0.3, 0.6]], 9, np.random.default_rng(1))
    posterior = infer(estimator, simulations.behavior, [[0.3, 0.6]], draws=7)
    assert (posterior.models is not None) == question.about_models
    if posterior.models is not None:
        assert posterior.models.names == ("aeg", "wslts")
        np.testing.assert_allclose(posterior.models.probabilities.sum(-1), 1)
        alone = infer(estimator, simulations.behavior[4:5], [[0.3, 0.6]], draws=7)
        np.testing.assert_allclose(alone.models.probabilities[0], posterior.models.probabilities[4], rtol=1e-5)
    asked = {f"{model}.{name}": draws.shape for model, part in posterior.parameters.items() for name, draws in part.draws.items()}
    assert asked == dict.fromkeys(question.about, (9, 7))
