"""Other priors for a model's parameters: in Python and in a study file, and an evidence that knows of them."""

import numpy as np
import pytest

import tellapart as ta
from tellapart.models.base import IntegratedModel
from tellapart.models.evidence import exact_posterior, log_evidence
from tellapart.models.with_priors import format_prior, parse_prior
from tellapart.run import describe

TASK = ta.BernoulliBandit(3, 2, 10)
STUDY = """\
[study]
[task]
use = "bernoulli-bandit"
[[models]]
use = "q-learning"
priors.alpha = "beta(1.5, 1.5)"
[[models]]
use = "wslts"
priors.lambda = "log-normal(0, 0.5)"
"""


@pytest.mark.parametrize(
    "prior",
    [
        ta.Uniform(-1, 2.5),
        ta.Normal(0, 1),
        ta.LogNormal(0.1, 1),
        ta.Beta(1.5, 1.5),
        ta.Gamma(2, 3),
        ta.HalfNormal(0.3),
        ta.Categorical((0.25, 0.75)),
        ta.Integers(1, 5),
    ],
    ids=lambda prior: type(prior).__name__,
)
def test_text_and_back(prior):
    assert parse_prior(format_prior(prior)) == prior


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("gamma(2)", "gamma(shape, scale)"),
        ("beta()", "beta(a, b)"),
        ("uniform(0,)", "uniform(low, high)"),
        ("half-normal()", "halfnormal(sigma)"),
        ("normal(0, 1, 2)", "normal(mu, sigma)"),
        ("lognormal(0,, 1)", "lognormal(mu, sigma)"),
        ("integers(one, 5)", "integers(low, high)"),
        ("categorical()", "categorical(a probability for each level)"),
    ],
)
def test_a_text_with_too_few_or_too_many_numbers_is_refused(text, expected):
    with pytest.raises(ta.ModelError, match="are not what it needs") as error:
        parse_prior(text, "priors.alpha")
    assert error.value.expected == expected
    assert text in str(error.value)


@pytest.mark.parametrize("model", [ta.AEG(), ta.WSLTS(), ta.GLS()], ids=lambda model: model.name)
def test_changed_priors_turn_the_built_in_integral_off(model):
    """With the same priors said anew, the generic evidence agrees with the built-in one; with others, with an average over their draws."""
    simulations = ta.simulate_models(TASK, [model], np.full((2, 3), 0.5), 2, np.random.default_rng(1))
    behavior, designs = simulations.behavior, simulations.designs
    again = ta.with_priors(model, **dict(list(model.parameters.items())[:1]))
    assert isinstance(model, IntegratedModel)
    assert not isinstance(again, IntegratedModel)
    expected, got = (log_evidence(one, behavior, designs, TASK) for one in (model, again))
    np.testing.assert_allclose(got, expected, atol=0.03)
    name = next(iter(model.parameters))
    other = ta.with_priors(model, **{name: ta.Beta(8, 2)})
    rng, n = np.random.default_rng(2), 5_000
    draws = {key: prior.sample(n, rng) for key, prior in other.parameters.items()}
    assert abs(draws[name].mean() - 0.8) < 0.01
    likelihood = np.exp(model.log_likelihood(draws, behavior[np.zeros(n, int)], designs[np.zeros(n, int)], TASK))
    log_mean, error = np.log(likelihood.mean()), likelihood.std() / likelihood.mean() / np.sqrt(n)
    assert abs(log_evidence(other, behavior[:1], designs[:1], TASK)[0] - log_mean) < 5 * error + 0.02
    assert exact_posterior(other, behavior[:1], designs[:1], TASK).mean(name).shape == (1,)


def test_they_are_read_written_and_part_of_the_run(tmp_path):
    (tmp_path / "study.toml").write_text(STUDY)
    study = ta.Study.from_file(tmp_path)
    assert study.models[0].parameters == {"alpha": ta.Beta(1.5, 1.5), "beta": ta.Gamma(2, 3)}
    assert study.models[1].parameters["lambda"] == ta.LogNormal(0, 0.5)
    (tmp_path / "study.toml").write_text(study.to_toml())
    assert ta.Study.from_file(tmp_path) == study
    described = describe(study)
    assert described["model 0"]["priors.alpha"] == "beta(1.5, 1.5)"
    plain = ta.Study(study.task, [ta.with_priors(study.models[0], alpha=ta.Uniform()), study.models[1]])
    assert describe(plain) != described
    assert plain != study


def test_agents_stay_agents_and_models_keep_their_options():
    model = ta.with_priors(ta.AEG(convention="released"), phi="beta(2, 2)")
    assert (model.convention, model.name) == ("released", "aeg")
    assert ta.with_priors(model, epsilon="uniform(0, 0.5)").parameters == {"epsilon": ta.Uniform(0, 0.5), "phi": ta.Beta(2, 2)}


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("beta(1.5, 1.5)", "beta(1.5)x", "This is no prior."),
        ("beta(1.5, 1.5)", "betta(1.5, 1.5)", "did you mean 'beta'?"),
        ("beta(1.5, 1.5)", "beta(1.5, -1)", "a > 0 and b > 0"),
        ("beta(1.5, 1.5)", "beta(1, 2, 3)", "not what it needs"),
        ("priors.alpha", "priors.alpa", "did you mean 'alpha'?"),
        ('"beta(1.5, 1.5)"', "0.5", "This is no prior."),
        ("priors.alpha", "pirors.alpha", "did you mean 'priors'?"),
    ],
)
def test_mistakes_are_told_with_the_line(old, new, words, tmp_path):
    (tmp_path / "study.toml").write_text(STUDY.replace(old, new, 1))
    with pytest.raises(ta.StudyError) as error:
        ta.Study.from_file(tmp_path)
    assert words in str(error.value)
    assert "line 6" in str(error.value)


def test_a_prior_beyond_what_a_model_can_use_is_refused():
    """A probability below 0 has no logarithm, and a negative exponent no end: the draws of WSLTS would be rejected forever."""
    task, designs, rng = ta.BernoulliBandit(blocks=1, trials=10), [[0.2, 0.5, 0.8]], np.random.default_rng(1)
    for model, name in ((ta.AEG(), "epsilon"), (ta.GLS(), "gamma"), (ta.WSLTS(), "lambda")):
        study = ta.Study(task, ta.with_priors(model, **{name: "normal(0, 1)"}), "estimate")
        with pytest.raises(ta.ModelError, match=f"The '{name}' of '{model.name}' cannot be what its prior allows"):
            ta.exact_information(study, designs, 50, rng)


def test_a_likelihood_that_is_no_number_is_refused():
    @ta.model(name="log", parameters={"p": ta.Normal(0, 1)}, log_likelihood=lambda theta, *_: np.log(theta["p"]))
    def log(parameters, design, rng, task):
        return {"choice": np.zeros((task.blocks, task.trials), int), "reward": np.zeros((task.blocks, task.trials), int)}

    study = ta.Study(ta.BernoulliBandit(blocks=1, trials=2), log(), "estimate")
    with pytest.raises(ta.ModelError, match="no number at parameters that its priors allow"):
        ta.exact_information(study, [[0.2, 0.5, 0.8]], 50, np.random.default_rng(1))
