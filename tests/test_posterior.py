"""Posteriors: tables and ArviZ."""

import re
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from tellapart import AEG, WSLTS, Behavior, BernoulliBandit, HistoryEncoder, PosteriorEstimator, Question
from tellapart.posterior import EDGE, FOLLOWED, ModelPosterior, ParameterPosterior, Posterior, at_the_edge, infer

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


def test_what_is_known_besides_has_its_columns():
    """Trials, missed trials, doubts and checks; doubts are about parameters, and nobody is shown some where there are none."""
    trust = SimpleNamespace(flagged=np.array([True, False, False]), failed=0, columns=lambda: {"unlike": [1, 0, 0]})
    doubts, counts = np.array(["", "why", ""], object), {"trials": np.array([5, 4, 3]), "missed": np.array([0, 1, 2])}
    whole = Posterior(PEOPLE, MODELS, PARAMETERS, trust, **counts, doubtful=doubts).to_table()
    assert whole[["trials", "missed", "doubtful", "unlike"]].to_numpy().tolist() == [[5, 0, "", 1], [4, 1, "why", 0], [3, 2, "", 0]]
    assert "doubtful" not in Posterior(PEOPLE, MODELS, doubtful=doubts).to_table()
    plain = Posterior(PEOPLE, None, PARAMETERS).to_table()
    assert not {"trials", "missed", "doubtful", "unlike"} & {*plain}
    assert len(plain) == 3
    assert plain["aeg.phi.q50"].to_numpy() == pytest.approx(np.median(DRAWS["phi"], axis=1))
    assert list(Posterior(PEOPLE, MODELS).samples_table()) == ["participant", "draw"]


def test_a_notebook_shows_of_each_the_parameters_of_the_most_probable_model():
    trust = SimpleNamespace(flagged=np.array([True, False, False]), failed=0)
    shown = Posterior(PEOPLE, MODELS, PARAMETERS, trust)._repr_html_()
    rows = [re.findall("<t[dh][^>]*>(.*?)</t[dh]>", row) for row in shown.split("<tr>")[1:]]
    phi = DRAWS["phi"][0]
    low, high = np.quantile(phi, 0.05), np.quantile(phi, 0.95)
    assert [re.sub("<[^>]+>", "", cell) for cell in rows[0]] == [
        "participant",
        "most probable",
        "probabilities",
        "parameters",
        "unlike the models",
    ]
    assert rows[1][:2] == ["ann", "aeg (70 %)"]
    assert f"phi {phi.mean():.3g} ({low:.3g} to {high:.3g})" in rows[1][3]
    assert rows[2][1::2] == ["gls (80 %)", ""]
    assert [row[4] for row in rows[1:]] == ["yes", "no", "no"]
    assert "Parameters: posterior mean" in shown
    assert "Parameters: posterior mean" not in Posterior(PEOPLE, MODELS)._repr_html_()
    assert "aeg" not in Posterior(PEOPLE, None, {"other": ParameterPosterior("other", DRAWS, PEOPLE)})._repr_html_()


def test_who_is_at_the_edge_of_a_prior():
    """By the mean of a parameter's draws, in both directions, for models that are probable enough; exactly at the edge is not beyond."""
    one = np.array([[EDGE, 0.0], [EDGE + 0.1, -EDGE - 0.1], [-EDGE - 0.1, 0.0], [9.0, 9.0], [9.0, 0.0]])
    other = np.array([[0.0], [-9.0], [0.0], [0.0], [9.0]])
    spread = np.array([-5.0, 5.0])[None, :, None]  # only some of the draws are beyond, or all but some
    draws = {"one": (("a", "b"), one[:, None] + spread), "none": ((), np.zeros((5, 1, 0))), "other": (("c",), other[:, None] + spread)}
    probable = np.array([[0.5, 0.2, 0.3], [0.5, 0.2, 0.3], [FOLLOWED, 0.6, 0.3], [FOLLOWED - 0.01, 0.6, 0.31], [0.2, 0.2, 0.6]])
    far = f"beyond {EDGE:g} standard deviations of the prior"
    expected = ["", f"one.a, one.b {far}; other.c {far}", f"one.a {far}", "", f"one.a {far}; other.c {far}"]
    assert at_the_edge(draws, probable).tolist() == expected


def test_inference_asks_the_estimator_and_counts_trials():
    """Draws on the normal scale become parameters, each by its prior; trials that were not recorded are missed ones."""
    question, task = Question((AEG(), WSLTS()), "both", about=("aeg.phi", "wslts.lambda", "wslts.gamma_w")), BernoulliBandit(2, 3, 3)
    normal = {0: np.array([[[-1.0], [0.5]], [[9.0], [8.0]]]), 1: np.array([[[0.3, -0.7], [1.0, 0.1]], [[0.2, 0.4], [-0.6, 0.9]]])}
    asked = []

    def draws(inputs, m, count, rng):
        asked.append((inputs, m, count, rng.random()))
        return normal[m]

    logits = torch.tensor([[0.7, 0.3], [0.4, 0.6]], dtype=torch.float64).log() + 5.0
    estimator = SimpleNamespace(
        question=question, task=task, inputs=lambda behavior, designs: "inputs", log_probabilities=lambda inputs: logits, draws=draws
    )
    estimator.careful = estimator
    mask = np.array([[[True, True, True], [True, False, False], [True] * 3], [[True] * 3] * 3])
    behavior = Behavior({"choice": np.zeros(mask.shape, int), "reward": np.zeros(mask.shape)}, mask)
    for design in ([[0.3, 0.6]] * 3, [[[0.3, 0.6]] * 3] * 2):
        asked.clear()
        posterior = infer(estimator, behavior, design, draws=2, seed=4)
        assert [entry[:3] for entry in asked] == [("inputs", 0, 2), ("inputs", 1, 2)]
        rng = np.random.default_rng(4)
        assert [entry[3] for entry in asked] == [rng.random(), rng.random()]  # one stream for all models
        np.testing.assert_allclose(posterior.models.probabilities, [[0.7, 0.3], [0.4, 0.6]])
        for m, part in enumerate(posterior.parameters.values()):
            for p, (name, prior) in enumerate(question.parameters(m).items()):
                np.testing.assert_array_equal(part.draws[name], prior.from_normal(normal[m][..., p]))
        assert (posterior.trials.tolist(), posterior.missed.tolist()) == ([7, 9], [2, 0])
        assert posterior.doubtful.tolist() == ["", f"aeg.phi beyond {EDGE:g} standard deviations of the prior"]
