"""Posteriors: tables and ArviZ."""

import numpy as np
import pytest

from tellapart.posterior import ModelPosterior, ParameterPosterior, Posterior

PEOPLE = np.array(["ann", "bob", "cy"])
RNG = np.random.default_rng(0)
DRAWS = {"epsilon": RNG.random((3, 200)), "phi": RNG.random((3, 200))}
MODELS = ModelPosterior(np.array([[0.7, 0.3], [0.2, 0.8], [0.5, 0.5]]), ("aeg", "gls"), PEOPLE)
PARAMETERS = {"aeg": ParameterPosterior("aeg", DRAWS, PEOPLE)}


def test_model_probabilities_are_a_row_a_participant():
    known = Posterior(PEOPLE, MODELS)
    assert known.model_probabilities.loc["bob", "gls"] == 0.8
    assert known.to_table().columns.tolist() == ["participant", "most_probable", "probability.aeg", "probability.gls"]
    assert known.to_table()["most_probable"].tolist() == ["aeg", "gls", "aeg"]
    with pytest.raises(AttributeError, match="parameters of one model"):
        _ = Posterior(PEOPLE, None, PARAMETERS).model_probabilities


def test_parameters_are_summarised_and_drawn():
    known = Posterior(PEOPLE, None, PARAMETERS)
    table, samples = known.to_table(), known.samples_table()
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
