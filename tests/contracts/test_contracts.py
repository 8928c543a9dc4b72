"""Every part that ships, examples included, keeps the contract of its kind: the checks of `tellapart.testing`, one test for each kind."""

import inspect
from pathlib import Path

import pytest

import tellapart as ta
from tellapart import examples, priors
from tellapart.models.hidden_number import HiddenNumber
from tellapart.parts import known_parts
from tellapart.tasks.readings import NoisyReadings
from tellapart.testing import check_encoder, check_estimator, check_model, check_prior, check_search, check_task

STUDIES = {file.parent.name: ta.Study.from_file(file) for file in sorted(Path(examples.__path__[0]).rglob("study.toml"))}
BANDIT, READINGS = ta.BernoulliBandit(3, 2, 8), NoisyReadings(2, 3)

TASKS = {
    **{name: part() for name, part in known_parts("task").items()},
    **{f"{name} example": study.task for name, study in STUDIES.items()},
}
MODELS = {
    **{name: (part(), READINGS if part is HiddenNumber else BANDIT) for name, part in known_parts("model").items()},
    **{f"{name} as released": (part("released"), BANDIT) for name, part in {"aeg": ta.AEG, "gls": ta.GLS}.items()},
}
PLAYER = known_parts("model")["q-learning"]()
"""An agent that plays every bandit."""
others = [(f"{name} example", model, study.task) for name, study in STUDIES.items() for model in study.models]
others += [(name, PLAYER, task) for name, task in TASKS.items() if name.endswith("-bandit")]
for where, model, task in others:  # several examples have the same model at the same kind of task
    if not any(model == known and type(task) is type(place) for known, place in MODELS.values()):
        MODELS[f"{where}, {model.name}"] = model, task
MEANT = {"biased-random": "does not treat the design variables of a block alike"}
"""What is found of models that are as they are meant to be."""
PRIORS = [
    *(priors.Uniform(), priors.Uniform(-2.0, 5.0), priors.Normal(1.0, 3.0), priors.LogNormal(), priors.LogNormal(-1.0, 0.5)),
    *(priors.Beta(2.0, 0.5), priors.Gamma(0.7, 3.0), priors.HalfNormal(2.0)),
    *(priors.Categorical((0.2, 0.5, 0.3)), priors.Integers(-2, 3), priors.Integers(1, 40)),
]
SMALL = {
    "amortized": ta.Amortized(
        steps=24, batch=32, survey=16, survey_simulations=60, finalists=2, finalist_simulations=200, baselines=2, baseline_simulations=60
    ),
    "bayesopt": ta.BayesianOptimization(
        evaluations=4, initial=3, finalists=2, baselines=1, draws=600, held_out=100, minibatch=200, epochs=2
    ),
}
"""Searches that take seconds; one that is not named here is checked as it is."""


def each(parts):
    return pytest.mark.parametrize("part", parts.values(), ids=list(parts))


@each(TASKS)
def test_tasks(part):
    assert check_task(part).findings == ()


@each(MODELS)
def test_models(part):
    model, task = part
    findings = "\n".join(map(str, check_model(model, task).findings))
    assert MEANT.get(model.name, "") in findings
    assert (findings == "") == (model.name not in MEANT)


@pytest.mark.parametrize("prior", PRIORS, ids=str)
def test_priors(prior):
    check_prior(prior)


def test_all_priors_are_checked():
    kinds = [kind for kind in vars(priors).values() if isinstance(kind, type) and issubclass(kind, priors.Prior)]
    shipped = {kind for kind in kinds if not inspect.isabstract(kind)}
    assert shipped == {type(prior) for prior in PRIORS}


@pytest.mark.parametrize("task", [BANDIT, READINGS, STUDIES["accumulation"].task, STUDIES["discounting"].task], ids=lambda task: task.name)
@each(known_parts("encoder"))
def test_encoders(part, task):
    if part.name == "history" and task.history(task.nothing(0)) is None:
        with pytest.raises(ta.StudyError, match="does not describe its trials"):
            check_encoder(part, task)
    else:
        check_encoder(part, task)


@each(known_parts("estimator"))
def test_estimators(part):
    check_estimator(part, steps=40)


@each(known_parts("search"))
def test_searches(part):
    check_search(SMALL.get(part.name) or part(), ta.BernoulliBandit(2, 2, 6), ta.Question((ta.AEG(), ta.GLS()), prior=(0.6, 0.4)))
