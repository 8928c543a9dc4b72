"""The public checkers: sound models and tasks pass, and each kind of mistake is found and named with its fix."""

from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np
import pytest

import tellapart as ta
from tellapart.testing import check_model, check_task

TASK = ta.BernoulliBandit(arms=3, blocks=2, trials=6)


def model_of(simulate, parameters=("p", "q"), **more):
    """A vectorised model from a function of (p, q, designs, rng, task) that returns choices."""

    def whole(values, designs, rng, task):
        choice = simulate(values["p"][:, None, None], values.get("q", values["p"])[:, None, None], designs, rng, task)
        shape = (len(designs), task.blocks, task.trials)
        reward = rng.random(shape) < np.take_along_axis(designs, np.broadcast_to(choice, shape).astype(int) % 3, 2)
        return {"choice": choice, "reward": reward.astype(int)}

    return ta.model(name="odd", parameters={name: ta.Uniform(0, 1) for name in parameters}, vectorised=True, **more)(whole)()


def sound(p, q, designs, rng, task):
    """Prefers arm 0 by p, and arm 2 to arm 1 by q."""
    luck = rng.random((2, len(designs), task.blocks, task.trials))
    return np.where(luck[0] < p, 0, np.where(luck[1] < q, 2, 1))


def findings(model, task=TASK, **settings):
    return "\n".join(map(str, check_model(model, task, raise_errors=False, **settings).findings))


@pytest.mark.parametrize("model", [ta.WSLTS(), ta.AEG(), ta.GLS(), model_of(sound)], ids=lambda model: model.name)
def test_sound_models_pass(model):
    checked = check_model(model, TASK)
    assert checked.findings == ()
    assert checked.speed > 100


def test_a_parameter_without_effect_is_named():
    """With two arms there is one other arm to shift to, and how sharply Thompson sampling prefers it does not matter."""
    found = findings(ta.WSLTS(), ta.BernoulliBandit(arms=2, blocks=2, trials=6))
    assert "parameter 'lambda' of 'wslts' has no effect" in found


@pytest.mark.parametrize("seed", range(8))
def test_no_false_alarms(seed):
    """A model that draws a different number of random numbers each time: bytes differ, participants do not depend on each other."""

    def hungry(p, q, designs, rng, task):
        tired = rng.random(int((rng.random(len(designs)) < p[:, 0, 0]).sum()))
        return sound(p, q, designs, rng, task) + 0 * len(tired)

    assert findings(model_of(hungry), seed=seed) == ""


GLOBAL = np.random.RandomState(3)

WRONG = {
    "float choices": (lambda p, q, d, rng, task: rng.random((len(d), task.blocks, task.trials)) + 0.1 * p * q, "cannot be recorded"),
    "nan": (lambda p, q, d, rng, task: np.where(p > 0.5, np.nan, np.zeros((len(d), task.blocks, task.trials))), "cannot be recorded"),
    "too large": (lambda p, q, d, rng, task: np.full((len(d), task.blocks, task.trials), 3), "from 0 to 2"),
    "shape": (lambda p, q, d, rng, task: np.zeros((len(d), task.blocks, task.trials + 1), int), "shape"),
    "raises": (lambda p, q, d, rng, task: {}["lost"], "KeyError"),
    "own generator": (
        lambda p, q, d, rng, task: (GLOBAL.random_sample((len(d), task.blocks, task.trials)) < p * q).astype(int),
        "different data for the same seed",
    ),
    "mixes participants": (
        lambda p, q, d, rng, task: (rng.random((len(d), task.blocks, task.trials)) < p / p.max() * q).astype(int),
        "depend on each other",
    ),
    "q unused": (
        lambda p, q, d, rng, task: (rng.random((len(d), task.blocks, task.trials)) < p).astype(int),
        "parameter 'q' of 'odd' has no effect",
    ),
}


@pytest.mark.parametrize(("simulate", "message"), WRONG.values(), ids=list(WRONG))
def test_mistakes_are_found(simulate, message):
    found = findings(model_of(simulate))
    assert message in found
    assert "fix:" in found or "got:" in found


def test_the_seed_must_matter():
    @ta.model(name="stuck", parameters={"p": ta.Uniform(0, 1)})
    def stuck(parameters, design, rng, task):
        own = np.random.default_rng(0)
        choice = own.random((task.blocks, task.trials)) < parameters["p"]
        return {"choice": choice, "reward": own.random(choice.shape) < np.take_along_axis(design, choice.astype(int), 1)}

    assert "same data for different seeds" in findings(stuck())


def test_inputs_must_be_left_alone():
    model = model_of(sound)

    class Greedy(type(model)):
        def simulate(self, parameters, design, rng, task):
            parameters["p"] *= 0.5
            return super().simulate(parameters, design, rng, task)

    assert "changes the parameters or designs" in findings(Greedy())


def test_a_design_variable_without_effect():
    @ta.model(name="blind", parameters={"p": ta.Uniform(0, 1)}, vectorised=True)
    def blind(values, designs, rng, task):
        choice = (rng.random((len(designs), task.blocks, task.trials)) < values["p"][:, None, None]).astype(int)
        return {"choice": choice, "reward": (rng.random(choice.shape) < designs[:, :, :1]).astype(int)}

    found = findings(blind())
    assert "design variable 'arm 1' has no effect" in found
    assert "'arm 0'" not in found


def test_priors_must_be_priors():
    class Odd(ta.AEG):
        name = "odd"

        @property
        def parameters(self):
            return {"p": 0.5}

    assert "not names with priors" in findings(Odd())


def bernoulli(values, behavior, designs, task):
    p, q = values["p"][:, None, None], values["q"][:, None, None]
    chances = np.stack(np.broadcast_arrays(p, (1 - p) * (1 - q), (1 - p) * q), -1)
    shape = (*behavior.shape, 3)
    return np.log(np.take_along_axis(np.broadcast_to(chances, shape), behavior.fields["choice"][..., None].astype(int), -1)).sum((1, 2, 3))


@pytest.mark.parametrize(
    ("likelihood", "message"),
    [
        (bernoulli, ""),
        (lambda *a: bernoulli(*a)[:, None], "wrong shape"),
        (lambda *a: bernoulli(*a) - np.inf, "calls its own data impossible"),
        (lambda *a: -bernoulli(*a), "prefers wrong parameters"),
        (lambda *a: 1 / 0, "ZeroDivisionError"),
    ],
)
def test_likelihoods_that_contradict_the_simulator(likelihood, message):
    assert message in findings(model_of(sound, log_likelihood=likelihood))


def test_errors_are_raised_all_at_once():
    with pytest.raises(ta.ModelError, match="different data for the same seed"):
        check_model(model_of(WRONG["own generator"][0]), TASK)


def test_speed_says_what_it_means_for_the_search():
    slow = check_model(ta.AEG(), TASK)
    assert "participants a second; a search with the default settings simulates for about" in slow.speed_in_words()
    assert "simulations = " in replace(slow, speed=200.0).speed_in_words()


@dataclass(frozen=True)
class Odd(ta.Task):
    """A task with one thing wrong."""

    wrong: str = ""
    names: tuple = field(default=("choice",))
    blocks: ClassVar[int] = 3
    trials: ClassVar[int] = 4
    name: ClassVar[str] = "odd"

    @property
    def fields(self):
        return tuple(ta.Field(name, "categorical", None if self.wrong == "levels" else 3) for name in self.names)

    @property
    def design_space(self):
        time = ta.Variable("time", 1, 10)
        rules = {
            "restless": [ta.Constraint("never satisfied", lambda d: np.clip(d + 0.001, 1, 10))],
            "contradiction": [ta.Constraint("times decrease", lambda d: -np.sort(-d, axis=-2))],
        }
        symmetry = ta.Symmetry(blocks=self.wrong == "contradiction")
        return ta.DesignSpace.of(2 if self.wrong == "blocks" else 3, [time], symmetry, rules.get(self.wrong, ()))

    def baseline(self, n, rng):
        if self.wrong == "baseline outside":
            return np.full((n, 3, 1), 11.0)
        if self.wrong == "baseline shape":
            return np.full((n, 3), 2.0)
        if self.wrong == "baseline seed":
            return GLOBAL.uniform(1, 10, (n, 3, 1))
        return self.design_space.sample(n, rng)

    def history(self, behavior):
        choice = behavior.fields["choice"].astype(np.float32)
        if self.wrong == "ahead":
            return choice[:, :, ::-1, None]
        return choice[..., None] if self.wrong != "history shape" else choice


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ("", ""),
        ("blocks", "another number of blocks"),
        ("levels", "no number of levels"),
        ("restless", "change designs that obey them"),
        ("contradiction", "contradict each other"),
        ("baseline outside", "outside its range"),
        ("baseline shape", "baseline of 'odd' has the wrong shape"),
        ("baseline seed", "different designs for the same seed"),
        ("ahead", "looks ahead"),
        ("history shape", "history of 'odd' has the wrong shape"),
    ],
)
def test_tasks(wrong, message):
    names = ("choice",)
    checked = check_task(Odd(wrong, names), raise_errors=False)
    assert message in "\n".join(map(str, checked.findings))
    assert checked.sound == (wrong == "")


def test_field_names():
    assert "other names" in str(check_task(Odd("", ("choice", "choice")), raise_errors=False).findings[0])
    with pytest.raises(ta.ModelError, match="other names"):
        check_task(Odd("", ("choice", "block")))
