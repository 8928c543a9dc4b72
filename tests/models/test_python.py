"""Models in plain Python: one participant at a time, decorated functions, and what happens when one of them fails."""

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest
from scipy.special import softmax

import tellapart as ta
from tellapart.models.failures import attempt

TASK = ta.BernoulliBandit(arms=2, blocks=2, trials=5)
DESIGN = np.array([[0.2, 0.9], [0.5, 0.5]])


def at(design, n):
    """One design for each of `n` participants."""
    return np.broadcast_to(np.asarray(design, float), (n, *np.shape(design)))


EXAMPLE = Path(__file__).parents[2] / "examples" / "own-model"


@ta.model(name="biased", parameters={"bias": ta.Uniform(0, 1)})
def biased(parameters, design, rng, task, *, stubborn: bool = False):
    """Chooses arm 0 with a probability of its own."""
    choice = np.full((task.blocks, task.trials), int(stubborn)) if stubborn else rng.random((task.blocks, task.trials)) > parameters["bias"]
    return {"choice": choice, "reward": rng.random(choice.shape) < np.take_along_axis(design, choice.astype(int), 1)}


@ta.model(name="biased-at-once", parameters={"bias": ta.Uniform(0, 1)}, vectorised=True)
def biased_at_once(parameters, designs, rng, task):
    choice = rng.random((len(designs), task.blocks, task.trials)) > parameters["bias"][:, None, None]
    return {"choice": choice.astype(int), "reward": rng.random(choice.shape) < np.take_along_axis(designs, choice.astype(int), 2)}


@dataclass(frozen=True)
class Fragile(ta.ParticipantModel):
    """Fails for a few parameters, in the way that `how` says."""

    how: str = "raises"
    above: float = 0.99
    name: ClassVar[str] = "fragile"

    @property
    def parameters(self):
        return {"p": ta.Uniform(0, 1)}

    def simulate_one(self, parameters, design, rng, task):
        zeros = np.zeros((task.blocks, task.trials))
        if parameters["p"] > self.above:
            if self.how == "raises":
                raise ZeroDivisionError("no such luck")
            return {"choice": zeros + np.nan, "reward": zeros}
        return {"choice": rng.random(zeros.shape) < parameters["p"], "reward": zeros}


@dataclass(frozen=True)
class FragileAtOnce(ta.Model):
    """The same for all participants at once."""

    above: float = 0.99
    name: ClassVar[str] = "fragile-at-once"

    @property
    def parameters(self):
        return {"p": ta.Uniform(0, 1)}

    def simulate(self, parameters, designs, rng, task):
        if (parameters["p"] > self.above).any():
            raise ValueError("not with these")
        choice = rng.random((len(parameters["p"]), task.blocks, task.trials)) < parameters["p"][:, None, None]
        return ta.Behavior({"choice": choice.astype(int), "reward": np.zeros(choice.shape, int)})


def test_one_at_a_time_and_all_at_once_behave_alike():
    shares = []
    for model in (biased(), biased_at_once()):
        simulations = ta.simulate_models(TASK, [model], DESIGN, 4000, np.random.default_rng(1))
        TASK.check(simulations.behavior)
        bias = simulations.parameters[f"{model.name}.bias"]
        fields = simulations.behavior.fields
        shares.append([np.corrcoef(bias, fields["choice"].mean((1, 2)))[0, 1], fields["reward"].mean()])
    np.testing.assert_allclose(*shares, atol=0.02)


def test_a_participant_depends_neither_on_others_nor_on_who_simulates_it():
    parameters = {"bias": np.linspace(0.1, 0.9, 40)}
    alone = biased().simulate(parameters, at(DESIGN, 40), np.random.default_rng(1), TASK)
    first = biased().simulate({"bias": parameters["bias"][:7]}, at(DESIGN, 7), np.random.default_rng(1), TASK)
    np.testing.assert_array_equal(alone.fields["choice"][:7], first.fields["choice"])


@pytest.mark.parametrize("option", ["resets", "name", "function"])
def test_an_option_may_not_have_the_name_of_what_all_models_have(option):
    with pytest.raises(ta.ModelError, match=f"'{option}'"):
        exec(f"@ta.model(name='one', parameters={{}})\ndef one(parameters, design, rng, task, *, {option}=1): ...", {"ta": ta})


def test_options_are_keyword_arguments():
    assert biased(stubborn=True) == biased(stubborn=True) != biased()
    assert (biased(stubborn=True).simulate({"bias": [0.5]}, at(DESIGN, 1), np.random.default_rng(1), TASK).fields["choice"] == 1).all()
    with pytest.raises(TypeError):
        biased(stuborn=True)


def test_missed_trials_of_one_participant():
    @ta.model(name="hasty", parameters={"p": ta.Uniform(0, 1)})
    def hasty(parameters, design, rng, task):
        ones = np.ones((task.blocks, task.trials), int)
        return {"choice": ones, "reward": ones, "mask": np.arange(task.trials) < 3}

    behavior = hasty().simulate({"p": [0.1, 0.2]}, at(DESIGN, 2), np.random.default_rng(1), TASK)
    assert behavior.mask.sum() == 2 * 2 * 3
    assert behavior.fields["choice"].sum() == 12


def test_a_model_without_parameters_can_be_told_apart_only():
    @ta.model(name="coin", parameters={})
    def coin(parameters, design, rng, task):
        return {"choice": rng.integers(0, 2, (task.blocks, task.trials)), "reward": np.zeros((task.blocks, task.trials))}

    assert len(ta.simulate_models(TASK, [coin(), biased()], DESIGN, 10, np.random.default_rng(1))) == 10
    with pytest.raises(ta.StudyError, match="'coin' has none"):
        ta.Study(TASK, [coin()], "estimate")


def test_priors_must_be_priors():
    with pytest.raises(ta.ModelError, match="names with priors"):
        ta.model(name="x", parameters={"p": 0.5})


def recorded_by(code, model):
    """Run a reproduction as a user would, and check what it returns."""
    found = eval(code, {"model": model, "np": np, "task": TASK})
    TASK.check(found if isinstance(found, ta.Behavior) else ta.Behavior({name: np.asarray(v)[None] for name, v in found.items()}))


@pytest.mark.parametrize("model", [Fragile(), Fragile("nan"), FragileAtOnce()], ids=["raises", "nan", "at once"])
def test_a_failure_is_told_with_what_reproduces_it(model):
    with pytest.raises(ta.ModelError) as error:
        ta.simulate_models(TASK, [model], DESIGN, 1000, np.random.default_rng(1))
    message = str(error.value)
    assert "parameters {'p': 0.99" in message
    assert "design [[0.2, 0.9], [0.5, 0.5]]" in message
    code = message.split("see it again with ")[1].split(", then mend")[0]
    with pytest.raises(Exception, match=r"no such luck|not with these|not one that the task can record"):
        recorded_by(code, model)


def test_a_failure_names_the_line_of_the_model():
    with pytest.raises(ta.ModelError) as error:
        ta.simulate_models(TASK, [Fragile()], DESIGN, 1000, np.random.default_rng(1))
    place = error.value.where.rpartition(", line ")
    assert place[0] == __file__
    assert "no such luck" in Path(__file__).read_text().splitlines()[int(place[2]) - 1]


@pytest.mark.parametrize("model", [Fragile(), Fragile("nan"), FragileAtOnce()], ids=["raises", "nan", "at once"])
def test_failures_come_back_with_the_others(model):
    """Nothing is recorded of who fails; the others are as they would be."""
    p = np.array([0.1, 0.995, 0.4, 0.999, 0.7])
    behavior, failures = attempt(model, {"p": p}, at(DESIGN, 5), np.random.default_rng(1), TASK)
    assert sorted(failures) == [1, 3]
    np.testing.assert_array_equal(behavior.mask.any((1, 2)), [True, False, True, False, True])
    assert failures[3].parameters == {"p": 0.999}
    _, few = attempt(model, {"p": p}, at(DESIGN, 5), np.random.default_rng(1), TASK, most=1)
    assert 1 in few


@pytest.mark.parametrize("model", [Fragile(), Fragile("nan"), FragileAtOnce()], ids=["raises", "nan", "at once"])
def test_skipped_participants_are_replaced_and_told(model):
    one, same = (ta.simulate_models(TASK, [model], DESIGN, 2000, np.random.default_rng(1), on_error="skip") for _ in range(2))
    p = one.parameters[f"{model.name}.p"]
    assert p.max() <= 0.99
    assert one.behavior.mask.all()
    assert 5 <= len(one.failures) <= 50
    assert one.failed().tolist() == [len(one.failures)]
    assert all(failure.parameters["p"] > 0.99 and failure.model == model.name for failure in one.failures)
    np.testing.assert_array_equal(p, same.parameters[f"{model.name}.p"])
    np.testing.assert_array_equal(one.behavior.fields["choice"], same.behavior.fields["choice"])


@pytest.mark.parametrize("model", [Fragile(above=0.8), FragileAtOnce(above=0.8)], ids=["one at a time", "at once"])
def test_too_many_failures_are_not_skipped(model):
    with pytest.raises(ta.ModelError, match="too many"):
        ta.simulate_models(TASK, [model], DESIGN, 200, np.random.default_rng(1), on_error="skip")


def test_a_batch_that_fails_only_as_a_whole():
    class Mixer(FragileAtOnce):
        name = "mixer"

        def simulate(self, parameters, designs, rng, task):
            if len(parameters["p"]) > 1:
                raise ValueError("too many people")
            return super().simulate({"p": parameters["p"] / 2}, designs, rng, task)

    with pytest.raises(ta.ModelError, match="none of them alone"):
        ta.simulate_models(TASK, [Mixer()], DESIGN, 10, np.random.default_rng(1))


@pytest.mark.parametrize(
    ("returned", "message"),
    [
        ({"choice": np.zeros((2, 5))}, "fields of the task"),
        ([1, 2], "a dictionary"),
        ({"choice": np.zeros((5, 2)), "reward": np.zeros((2, 5))}, "wrong shape"),
        ({"choice": np.full((2, 5), 2), "reward": np.zeros((2, 5))}, "from 0 to 1"),
        ({"choice": np.zeros((2, 5)), "reward": np.full((2, 5), 0.5)}, "0 or 1"),
    ],
)
def test_what_cannot_be_recorded(returned, message):
    odd = ta.model(name="odd", parameters={"p": ta.Uniform(0, 1)})(lambda parameters, design, rng, task: returned)
    with pytest.raises(ta.ModelError, match=message):
        ta.simulate_models(TASK, [odd()], DESIGN, 3, np.random.default_rng(1))


@pytest.mark.parametrize(
    ("returned", "message"),
    [
        (3, "did not return a Behavior"),
        ({"choice": np.zeros((4, 2, 5), int)}, "other fields"),
        ({"choice": np.zeros((4, 2, 4), int), "reward": np.zeros((4, 2, 4), int)}, "wrong shape"),
        ({"choice": np.full((4, 2, 5), np.nan), "reward": np.zeros((4, 2, 5), int)}, "failed in a simulation|wrong shape"),
    ],
)
def test_what_cannot_be_recorded_of_many(returned, message):
    odd = ta.model(name="odd", parameters={"p": ta.Uniform(0, 1)}, vectorised=True)(lambda parameters, designs, rng, task: returned)
    with pytest.raises(ta.ModelError, match=message):
        ta.simulate_models(TASK, [odd()], DESIGN, 4, np.random.default_rng(1))


@dataclass(frozen=True)
class Reactions(ta.Task):
    """Response times."""

    blocks: int = 1
    trials: int = 2
    name: ClassVar[str] = "reactions"

    @property
    def fields(self):
        return (ta.Field("seconds", "positive"),)

    @property
    def design_space(self):
        return ta.DesignSpace(1, (ta.Variable("load"),))

    def baseline(self, n, rng):
        return rng.random((n, 1, 1))


def test_whole_numbers_are_checked_at_both_ends():
    """A response time of 0 is none, beside one of 1 too."""
    odd = ta.model(name="odd", parameters={"p": ta.Uniform(0, 1)}, vectorised=True)(lambda p, d, rng, task: {"seconds": seconds[: len(d)]})
    seconds = np.tile([[[0, 1]]], (4, 1, 1))
    with pytest.raises(ta.ModelError, match="above 0"):
        ta.simulate_models(Reactions(), [odd()], [[0.5]], 4, np.random.default_rng(1))


@ta.model(name="player", parameters={"stay": ta.Uniform(0, 1)})
def player(parameters, design, rng, task):
    """One participant who plays the task's own environment."""
    environment, choice = task.environment(design, rng), 0
    while not environment.done:
        reward = environment.step({"choice": choice})["reward"][0]
        choice = choice if reward or rng.random() < parameters["stay"] else 1 - choice
    return environment.behavior


def test_one_participant_can_play_the_environment():
    simulations = ta.simulate_models(TASK, [player()], [[1.0, 0.0], [0.0, 0.0]], 50, np.random.default_rng(1))
    fields = simulations.behavior.fields
    assert (fields["choice"][:, 0] == 0).all()
    assert (fields["reward"][:, 0] == 1).all()
    assert fields["reward"][:, 1].sum() == 0
    assert 0 < fields["choice"][:, 1].mean() < 1


def test_models_take_turns_as_their_prior_says():
    models, rng = [biased(), biased_at_once(), player()], np.random.default_rng
    simulations = ta.simulate_models(TASK, models, DESIGN, 20, rng(1), prior=(0.6, 0.3, 0.1))
    assert np.bincount(simulations.model).tolist() == [12, 6, 2]
    assert np.bincount(simulations.model[:10]).tolist() == [6, 3, 1]
    assert ta.simulate_models(TASK, models, DESIGN, 6, rng(1)).model.tolist() == [0, 1, 2, 0, 1, 2]
    some = simulations.of(1)
    assert len(some) == 6
    np.testing.assert_array_equal(some.truth(1)["bias"], simulations.truth(1)["bias"])
    assert np.isnan(simulations.parameters["biased.bias"][simulations.model != 0]).all()


def test_a_likelihood_makes_a_likelihood_model():
    @ta.model(name="coin", parameters={"p": ta.Uniform(0, 1)}, vectorised=True, log_likelihood=lambda p, y, d, task: np.log(p["p"]))
    def coin(parameters, designs, rng, task):
        return {"choice": np.zeros((len(designs), task.blocks, task.trials), int), "reward": np.zeros((len(designs), 2, 5), int)}

    assert isinstance(coin(), ta.LikelihoodModel)
    assert not isinstance(biased(), ta.LikelihoodModel)
    np.testing.assert_allclose(coin().log_likelihood({"p": [0.5]}, TASK.nothing(1), at(DESIGN, 1), TASK), np.log(0.5))


def test_a_game_is_a_fair_bandit():
    rng, n = np.random.default_rng(1), 20_000
    designs = np.broadcast_to([[0.2, 0.9, 0.5]], (n, 1, 3))
    game = ta.BanditGame(designs, 2, rng)
    shares = softmax([0.0, 1.0, 2.0])
    for _ in range(2):
        chosen, reward = game.play(shares)
        np.testing.assert_allclose(chosen.mean((0, 1)), shares, atol=0.015)
        np.testing.assert_allclose((chosen * reward).sum((0, 1)) / chosen.sum((0, 1)), [0.2, 0.9, 0.5], atol=0.02)
    with pytest.raises(ta.ModelError, match="sum to 1"):
        ta.BanditGame(designs, 2, rng).play([0.5, 0.6, 0.5])


def test_the_example_learns_and_is_short():
    assert len((EXAMPLE / "models.py").read_text().splitlines()) <= 40
    study = ta.Study.from_file(EXAMPLE)
    model = study.models[0]
    n = 2000
    keen = {"alpha_win": np.full(n, 0.5), "alpha_loss": np.full(n, 0.5), "beta": np.full(n, 8.0)}
    played = model.simulate(keen, at([[0.1, 0.1, 0.9]] * 2, n), np.random.default_rng(1), study.task).fields["choice"]
    assert (played[:, :, 0] == 2).mean() == pytest.approx(1 / 3, abs=0.02)
    assert (played[:, :, -1] == 2).mean() > 0.9
    indifferent = {**keen, "beta": np.zeros(n)}
    played = model.simulate(indifferent, at([[0.1, 0.1, 0.9]] * 2, n), np.random.default_rng(1), study.task).fields["choice"]
    assert (played == 2).mean() == pytest.approx(1 / 3, abs=0.01)
