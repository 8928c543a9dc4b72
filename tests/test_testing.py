"""The public checkers: sound parts pass, and each kind of mistake is found and named with its fix.

How often checks are wrong about sound models, and how sure they are of faulty ones, is measured by `benchmarks/checks.py`.
"""

from dataclasses import dataclass, field, replace
from itertools import count
from typing import ClassVar

import numpy as np
import pytest
import torch
from carries_on import CarriesOn

import tellapart as ta
from tellapart.models.chance import FIRST, beyond_chance, standardised
from tellapart.parts import find_part
from tellapart.tasks.environment import NoOutcomes
from tellapart.tasks.readings import NoisyReadings
from tellapart.tasks.sampling import sample
from tellapart.testing import (
    broken_symmetries,
    check_encoder,
    check_estimator,
    check_likelihoods,
    check_model,
    check_prior,
    check_search,
    check_task,
)

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


def seeds(count):
    """The first seed, and others when they are asked for; `benchmarks/checks.py` has hundreds."""
    return pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(1, count))])


def learner(wrong="", bias=0.0):
    """Learns what arms are worth and likes to repeat itself; `wrong` says what is wrong with its rewards, `bias` how it likes arm 2."""
    priors = {"keenness": ta.Uniform(0, 9), "stickiness": ta.Normal(0, 1)}

    @ta.model(name="learner", parameters=priors, vectorised=True)
    def learn(parameters, designs, rng, task):
        n, blocks, arms = designs.shape
        everyone, shape = np.arange(n), (n, blocks, task.trials)
        choices, rewards = np.zeros(shape, int), np.zeros(shape, int)
        for b in range(blocks):
            wins, losses, before = np.ones((n, arms)), np.ones((n, arms)), None
            for t in range(task.trials):
                worth = parameters["keenness"][:, None] * wins / (wins + losses) + bias * (np.arange(arms) == 2)
                worth += 0 if before is None else parameters["stickiness"][:, None] * (before[:, None] == np.arange(arms))
                choice = (worth + rng.gumbel(size=worth.shape)).argmax(1)
                chance = designs[everyone, b, (choice + 1) % arms if wrong == "neighbour" else choice]
                chance = 1 - chance if wrong == "inverted" else chance
                chance = np.where(choice == before, 0.8 * chance, chance) if wrong == "previous" else chance
                reward = rng.random(n) < chance
                wins[everyone, choice] += reward
                losses[everyone, choice] += ~reward
                choices[:, b, t], before = choice, choice
                rewards[:, b, t] = rng.random(n) < chance if wrong == "twice" else reward
        return {"choice": choices, "reward": rewards}

    return learn()


RULES = "do not follow the rules of the task"
WRONG_REWARDS = {
    "neighbour": (RULES, "'choice' is"),
    "inverted": (RULES, "less so than the rules say"),
    "previous": (RULES, "after the same 'choice': less so than"),
    "twice": ("respond to the design beyond what is recorded", "the expected 'reward'"),
}


@pytest.fixture
def few(monkeypatch):
    """Fewer people than a check looks at: a mistake that shows in them shows in more. Sound models are checked as they are."""
    monkeypatch.setattr("tellapart.testing.models.MOST", 500)


LONG = [pytest.param(wrong, 30, marks=pytest.mark.slow) for wrong in ("neighbour", "inverted", "previous")]


@pytest.mark.parametrize(("wrong", "trials"), [*((wrong, 6) for wrong in WRONG_REWARDS), ("twice", 30), *LONG])
def test_wrong_rewards_are_found(wrong, trials, few):
    found = findings(learner(wrong), replace(TASK, trials=trials))
    assert all(words in found for words in WRONG_REWARDS[wrong])
    assert "error" in found


@dataclass(frozen=True)
class Recorded(ta.AEG):
    """AEG with other rewards in the record than those that it learned from."""

    def simulate(self, parameters, designs, rng, task):
        played = super().simulate(parameters, designs, rng, task)
        chances = np.take_along_axis(designs, played.fields["choice"].astype(int), 2)
        return ta.Behavior({**played.fields, "reward": (rng.random(chances.shape) < chances).astype(np.int8)})


def test_a_second_draw_for_the_record_is_found_in_a_compiled_model(few):
    assert "beyond what is recorded" in findings(Recorded())


def test_who_knows_the_design_is_found(few):
    def clairvoyant(p, q, designs, rng, task):
        return np.where(rng.random((len(designs), task.blocks, task.trials)) < p * q, designs.argmax(-1)[..., None], 0)

    assert "beyond what is recorded" in findings(model_of(clairvoyant))


@seeds(6)
@pytest.mark.parametrize("model", [ta.WSLTS(), ta.GLS("released"), learner()], ids=lambda model: model.name)
def test_no_false_alarms(model, seed):
    """Less than one alarm in 10,000 checks; `benchmarks/checks.py` makes hundreds of them."""
    assert findings(model, seed=seed) == ""


def test_a_difference_counts_only_if_it_shows_twice():
    """Once by chance is nothing; and any symmetric number, however wild, is beyond z = 4 less often than exp(-8)."""
    looks = iter([{"a": 9.0, "b": 9.0, "c": 1.0}, {"a": -9.0, "b": 9.0, "c": 9.0}])
    assert beyond_chance(lambda again, n: next(looks), 10) == {"b": 9.0}
    assert beyond_chance(lambda again, n: {"a": FIRST - 0.01}, 10) == {}
    x = np.random.default_rng(1).standard_cauchy((20_000, 30))
    assert (standardised(x.sum(1), (x * x).sum(1)) > 3).mean() < np.exp(-4.5)
    np.testing.assert_array_equal(standardised([0.0, 6.0], [0.0, 4.0]), [0.0, 3.0])


# -- symmetries


def side_bias(p, q, designs, rng, task):
    """Item 1 of what went wrong: rewards are ignored, and sides preferred that differ between participants."""
    logits = np.concatenate([np.zeros_like(p), 4 * p - 2, 4 * q - 2], axis=-1)
    luck = rng.gumbel(size=(*designs.shape[:2], task.trials, 3))
    return (logits[:, :, None] + luck).argmax(-1)


def blockwise(p, q, designs, rng, task):
    """Repeats itself, the more the later the block."""
    stay = np.clip(p + np.arange(task.blocks)[:, None] * q / 2, 0, 1)
    first = rng.integers(0, 3, (len(designs), task.blocks, 1))
    moves = (rng.random((len(designs), task.blocks, task.trials)) > stay) * rng.integers(1, 3, (len(designs), task.blocks, task.trials))
    return (first + np.cumsum(moves, axis=-1)) % 3


@pytest.mark.parametrize(
    ("model", "broken"),
    [
        (model_of(side_bias), ta.Symmetry(columns=True)),
        (learner(bias=0.7), ta.Symmetry(columns=True)),
        (model_of(blockwise), ta.Symmetry(blocks=True)),
        (learner(), ta.Symmetry()),
        (ta.GLS(), ta.Symmetry()),
    ],
    ids=["side bias", "likes arm 2", "later blocks", "none", "gls"],
)
def test_broken_symmetries_are_named(model, broken, few):
    assert broken_symmetries(model, TASK) == broken
    checked = check_model(model, TASK, raise_errors=False)
    assert checked.sound
    named = "\n".join(map(str, checked.findings))
    assert ("(columns)" in named, "(blocks)" in named) == (broken.columns, broken.blocks)
    assert len(checked.findings) == broken.columns + broken.blocks


def test_what_a_model_says_of_its_memory_has_consequences_for_symmetries(few):
    assert broken_symmetries(CarriesOn(), TASK) == ta.Symmetry(columns=True, blocks=True)
    (told,) = check_model(CarriesOn(), TASK, raise_errors=False).findings
    assert "resets=False" in told.what
    says = type(model_of(blockwise))
    says.resets = True
    with pytest.raises(ta.ModelError, match="does not treat blocks alike"):
        check_model(says(), TASK)


def test_a_binary_field_can_stand_for_two_columns():
    """Two arms, whose choice is written 0 or 1 as a binary field, are exchanged with it."""

    @dataclass(frozen=True)
    class TwoArms(ta.BernoulliBandit):
        arms: int = 2

        @property
        def fields(self):
            return ta.Field("choice", "binary"), ta.Field("reward", "binary", by="task")

    assert broken_symmetries(learner(), TwoArms(trials=6)) == ta.Symmetry()
    assert broken_symmetries(model_of(lambda p, q, d, rng, task: rng.random((*d.shape[:2], task.trials)) < p), TwoArms()).columns


# -- other mistakes


@seeds(4)
def test_hungry_models_are_no_mixers(seed):
    """A model that draws a different number of random numbers each time: bytes differ, participants do not depend on each other."""

    def hungry(p, q, designs, rng, task):
        tired = rng.random(int((rng.random(len(designs)) < p[:, 0, 0]).sum()))
        return blockwise(p, 0 * q, designs, rng, task) + 0 * len(tired)

    assert findings(model_of(hungry, ["p"]), seed=seed) == ""


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
def test_mistakes_are_found(simulate, message, few):
    found = findings(model_of(simulate))
    assert message in found
    assert "fix:" in found or "got:" in found


def test_a_parameter_that_matters_for_few_is_not_called_without_effect(few):
    """Of 0 and 1 with the probabilities 0.98 and 0.02, both the 5 % and the 95 % quantile are 0."""

    @ta.model(name="rare", parameters={"kind": ta.Categorical((0.98, 0.02)), "unused": ta.Categorical((0.98, 0.02))}, vectorised=True)
    def rare(parameters, designs, rng, task):
        choice = rng.random((len(designs), task.blocks, task.trials)) < 0.2 + 0.6 * parameters["kind"][:, None, None]
        chance = np.take_along_axis(designs, choice.astype(int), 2)
        return {"choice": choice.astype(int), "reward": (rng.random(choice.shape) < chance).astype(int)}

    found = findings(rare())
    assert "parameter 'kind'" not in found
    assert "parameter 'unused' of 'rare' has no effect" in found


def test_the_seed_must_matter(few):
    @ta.model(name="stuck", parameters={"p": ta.Uniform(0, 1)})
    def stuck(parameters, design, rng, task):
        own = np.random.default_rng(0)
        choice = own.random((task.blocks, task.trials)) < parameters["p"]
        return {"choice": choice, "reward": own.random(choice.shape) < np.take_along_axis(design, choice.astype(int), 1)}

    assert "same data for different seeds" in findings(stuck())


@ta.model(name="rule", parameters={"threshold": ta.Uniform(-3, 3)}, vectorised=True)
def without_chance(values, designs, rng, task):
    return {"reading": np.broadcast_to(designs - values["threshold"][:, None, None], (len(designs), task.blocks, task.trials))}


@ta.model(name="stuck", parameters={"threshold": ta.Uniform(-3, 3)}, vectorised=True)
def of_its_own(values, designs, rng, task):
    noise = np.random.default_rng(0).normal(size=(len(designs), task.blocks, task.trials))
    return {"reading": designs - values["threshold"][:, None, None] + noise}


@pytest.mark.parametrize(("model", "sound"), [(without_chance, True), (of_its_own, False)])
def test_a_theory_without_chance_is_not_refused(model, sound, few):
    """Where participants alike in all that is known do the same and the task draws nothing, there is nothing for a seed to change."""
    checked = check_model(model(), NoisyReadings(2, 3), raise_errors=False)
    assert checked.sound is sound
    assert "same data for different seeds" in "\n".join(map(str, checked.findings))


def test_inputs_must_be_left_alone(few):
    model = model_of(sound)

    class Greedy(type(model)):
        def simulate(self, parameters, designs, rng, task):
            parameters["p"] *= 0.5
            return super().simulate(parameters, designs, rng, task)

    assert "changes the parameters or designs" in findings(Greedy())


def test_a_design_variable_without_effect(few):
    task = NoisyReadings(2, 3)

    @ta.model(name="blind", parameters={"p": ta.Uniform(0, 1)}, vectorised=True)
    def blind(values, designs, rng, task):
        return {"reading": rng.normal(values["p"][:, None, None], 1.0, (len(designs), task.blocks, task.trials))}

    assert "design variable 'signal' has no effect" in findings(blind(), task)


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
        (lambda *a: -bernoulli(*a), "contradicts its simulator"),
        (lambda *a: 2 * bernoulli(*a), "what is preferred is true more often (+) or less often (-) than is said (z = -"),
        (lambda *a: bernoulli(*a) - 12 * a[0]["p"], "a larger 'p' is true more often (+) or less often (-) than is said (z = "),
        (lambda *a: bernoulli(*a) + a[1].fields["choice"].sum((1, 2)), ""),  # no parameter enters that
        (lambda *a: 1 / 0, "ZeroDivisionError"),
    ],
)
def test_likelihoods_that_contradict_the_simulator(likelihood, message, request):
    if message:
        request.getfixturevalue("few")
    found = findings(model_of(sound, log_likelihood=likelihood))
    assert message in found
    assert ("error" in found) == bool(message)


def test_who_cannot_be_simulated_says_nothing_of_a_likelihood():
    """One in five fails, for large p alone: that nobody else did what is recorded is no matter of the likelihood."""

    def fails(p, q, designs, rng, task):
        return np.where(p > 0.8, -1, sound(p, q, designs, rng, task))  # there is no such choice

    model = model_of(fails, log_likelihood=bernoulli)
    assert check_likelihoods([model, ta.AEG()], TASK, alone=True).sound
    wrong = model_of(fails, log_likelihood=lambda *a: 2 * bernoulli(*a))
    assert not check_likelihoods([wrong], TASK, alone=True, raise_errors=False).sound


def test_likelihoods_that_cannot_be_compared():
    """What no parameter enters matters as soon as another model leaves it out."""
    whole = model_of(sound, log_likelihood=bernoulli)
    more = model_of(sound, log_likelihood=lambda *a: bernoulli(*a) + 0.3 * a[1].fields["choice"].sum((1, 2)))
    assert check_likelihoods([whole, ta.AEG(), ta.WSLTS(), learner()], TASK).sound
    found = str(check_likelihoods([ta.AEG(), more], TASK, raise_errors=False).findings[0])
    assert "'aeg' and 'odd' contradict their simulators when they are compared" in found
    with pytest.raises(ta.ModelError, match="constants"):
        check_likelihoods([ta.AEG(), more], TASK)


def test_errors_are_raised_all_at_once(few):
    with pytest.raises(ta.ModelError, match="different data for the same seed"):
        check_model(model_of(WRONG["own generator"][0]), TASK)


def test_speed_says_what_it_means_for_the_search():
    quick = check_model(ta.AEG(), TASK)
    assert quick.speed_in_words().endswith("participants a second")
    slow = replace(quick, speed=200.0).speed_in_words()
    assert "a search with the default settings simulates for about 2 hours" in slow
    assert "simulations = " in slow
    budgeted = replace(quick, speed=200.0).speed_in_words(24_000)
    assert "the simulations = 24000 of [search] take 2 minutes at most" in budgeted
    assert "default settings" not in budgeted


def test_a_few_failures_are_an_error_or_are_skipped(few):
    def fragile(p, q, designs, rng, task):
        if (p > 0.999).any():
            raise ZeroDivisionError("no such luck")
        return blockwise(p, 0 * q, designs, rng, task)

    model = model_of(fragile, ["p"])
    assert "no such luck" in findings(model)
    found = findings(model, on_error="skip")
    assert "warning: Some participants of 'odd' cannot be simulated." in found
    assert "error" not in found


# -- tasks


class Drift(ta.Environment):
    """Rewards that depend on luck that is not recorded: a walk of the chances, in `state` or beside it."""

    def __init__(self, task, designs, rng):
        super().__init__(task, designs, rng)
        self.hidden = rng.random(len(designs))
        if task.wrong != "forgets":
            self.state["walk"] = self.hidden

    def draw(self, responses):
        chance = self.hidden if self.task.wrong == "forgets" else self.state["walk"]
        drawn = (self.rng.random(len(chance)) < chance).astype(int)
        return {"other": drawn} if self.task.wrong == "draws other" else {"won": drawn + 2 * (self.task.wrong == "draws too much")}


@dataclass(frozen=True)
class Odd(ta.Task):
    """A task with one thing wrong."""

    wrong: str = ""
    names: tuple = field(default=("choice",))
    blocks: ClassVar[int] = 3
    trials: ClassVar[int] = 4
    name: ClassVar[str] = "odd"

    @property
    def rules(self):
        return NoOutcomes if self.wrong in ("", "no rules") or not self.wrong.startswith(("draws", "forgets", "hidden")) else Drift

    @property
    def fields(self):
        labels = ("a", "b", "a") if self.wrong == "labels" else ()
        by = "task" if self.wrong == "no response" else "participant"
        given = tuple(ta.Field(name, "categorical", None if self.wrong == "levels" else 3, by, labels) for name in self.names)
        won = self.wrong == "no rules" or self.rules is Drift
        return (*given, ta.Field("won", "binary", by="task")) if won else given

    @property
    def design_space(self):
        time = ta.Variable("time", 1, 10)
        rules = {
            "restless": [ta.Constraint("never satisfied", lambda d: np.clip(d + 0.001, 1, 10))],
            "contradiction": [ta.Constraint("times decrease", lambda d: -np.sort(-d, axis=-2))],
        }
        symmetry = ta.Symmetry(blocks=self.wrong == "contradiction")
        return ta.DesignSpace(2 if self.wrong == "blocks" else 3, [time], symmetry, rules.get(self.wrong, ()))

    def baseline(self, n, rng):
        if self.wrong == "baseline outside":
            return np.full((n, 3, 1), 11.0)
        if self.wrong == "baseline shape":
            return np.full((n, 3), 2.0)
        if self.wrong == "baseline seed":
            return GLOBAL.uniform(1, 10, (n, 3, 1))
        return sample(self.design_space, n, rng)

    def lengths(self, designs):
        return super().lengths(designs) + (self.wrong == "too long")

    def history(self, behavior):
        choice = behavior.fields["choice"].astype(np.float32)
        if self.wrong == "blind":
            return np.diff(choice, axis=-1, prepend=choice[..., :1])[..., None] % 3
        if self.wrong == "ahead":
            return choice[:, :, ::-1, None]
        return choice[..., None] if self.wrong != "history shape" else choice


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ("", ""),
        ("hidden luck", ""),
        ("blocks", "another number of blocks"),
        ("levels", "no number of levels"),
        ("labels", "have the same label"),
        ("no response", "give no response"),
        ("no rules", "no rules that draw them"),
        ("draws other", "draw other outcomes"),
        ("draws too much", "not one that the task can record"),
        ("forgets", "do not go on where they were"),
        ("too long", "lengths of the blocks of 'odd' are impossible"),
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
    checked = check_task(Odd(wrong), raise_errors=False)
    assert message in "\n".join(map(str, checked.findings))
    assert checked.sound == (message == "")


def test_a_history_must_lose_nothing():
    """Whether a choice is another than the one before does not say which it is."""
    checked = check_task(Odd("blind"))
    assert [finding.severity for finding in checked.findings] == ["warning"]
    assert "does not show which 'choice' was recorded" in str(checked.findings[0])


def test_field_names():
    assert "other names" in str(check_task(Odd("", ("choice", "choice")), raise_errors=False).findings[0])
    with pytest.raises(ta.ModelError, match="other names"):
        check_task(Odd("", ("choice", "block")))


def test_rules_with_hidden_luck_do_not_make_models_unsound():
    """Given the past, outcomes that hang on unrecorded luck are not those of other luck: they cannot be compared once there is any."""
    task = Odd("hidden luck")

    @ta.model(name="player", parameters={"p": ta.Uniform(0, 1)}, vectorised=True)
    def player(parameters, designs, rng, task, *, favour: float = 0.0):
        environment, choice = task.environment(designs, rng), np.zeros(len(designs), int)
        environment.state["walk"] = np.clip(environment.state["walk"] + favour, 0, 1)
        while not environment.done:
            stay = rng.random(len(designs)) < parameters["p"] * designs[:, environment.block, 0] / 10
            choice = np.where(stay & (environment.trial > 0), choice, rng.integers(0, 3, len(designs)))
            won = environment.step({"choice": choice})["won"]
            choice = np.where(won == 1, choice, (choice + 1) % 3)
        return environment.behavior

    assert findings(player(), task) == ""
    assert RULES in findings(player(favour=0.2), task)


@ta.model(name="drifter", parameters={"p": ta.Uniform(0, 1)}, vectorised=True)
def drifter(parameters, designs, rng, task):
    """Stays after a win and moves after a loss, as far as its p lets it, in whatever bandit it is put."""
    environment, n = task.environment(designs, rng), len(designs)
    while not environment.done:
        choice = rng.integers(0, task.arms, n)
        if environment.trial:
            before, reward = (environment.before(name)[:, -1] for name in ("choice", "reward"))
            moved = np.where(reward > 0, before, (before + rng.integers(1, task.arms, n)) % task.arms)
            choice = np.where(rng.random(n) < parameters["p"], moved, choice)
        environment.step({"choice": choice})
    return environment.behavior


@seeds(3)
@pytest.mark.parametrize("kind", ["bernoulli-bandit", "gaussian-bandit", "restless-bandit", "reversal-bandit", "budget-bandit"])
def test_who_plays_the_environment_is_sound(kind, seed):
    assert findings(drifter(), find_part("task", kind)(arms=3, blocks=2), seed=seed) == ""


# -- real outcomes


class Noisy(ta.Environment):
    """What is chosen pays its value, with noise."""

    def draw(self, responses):
        mean = self.designs[np.arange(len(self.designs)), self.block, responses["choice"]]
        return {"gain": self.rng.normal(mean, 1.0)}


@dataclass(frozen=True)
class Gains(ta.Task):
    """A bandit whose rewards are real numbers."""

    blocks: int = 2
    trials: int = 8
    name: ClassVar[str] = "gains"
    rules: ClassVar[type] = Noisy
    design_acts_through_data: ClassVar[bool] = True

    @property
    def fields(self):
        return ta.Field("choice", "categorical", 2), ta.Field("gain", "real", by="task")

    @property
    def design_space(self):
        return ta.DesignSpace(self.blocks, [ta.Variable("left", 90, 110), ta.Variable("right", 90, 110)], ta.Symmetry(True, True))

    def baseline(self, n, rng):
        return sample(self.design_space, n, rng)


@ta.model(name="chaser", parameters={"p": ta.Uniform(0, 1)}, vectorised=True)
def chaser(parameters, designs, rng, task, *, spread: float = 1.0, twice: bool = False):
    """Stays after a gain above 100, more or less."""
    n, everyone = len(designs), np.arange(len(designs))
    choices, gains = np.zeros((n, task.blocks, task.trials), int), np.zeros((n, task.blocks, task.trials))
    for b in range(task.blocks):
        choice = rng.integers(0, 2, n)
        for t in range(task.trials):
            mean = designs[everyone, b, choice]
            gain = rng.normal(mean, spread)
            choices[:, b, t], gains[:, b, t] = choice, rng.normal(mean, spread) if twice else gain
            shift = rng.random(n) < parameters["p"] / (1 + np.exp(gain - 100))
            choice = np.where(shift, 1 - choice, choice)
    return {"choice": choices, "gain": gains}


@seeds(4)
def test_real_outcomes_that_are_right(seed):
    assert findings(chaser(), Gains(), seed=seed) == ""


def test_real_outcomes_that_are_wrong(few):
    assert "'gain' spreads more" in findings(chaser(spread=1.2), Gains())
    assert "beyond what is recorded" in findings(chaser(twice=True), Gains())


# -- the other parts


class Crooked(ta.Uniform):
    """A prior with one thing wrong."""

    def __init__(self, wrong):
        super().__init__()
        object.__setattr__(self, "wrong", wrong)

    def quantile(self, u):
        return super().quantile(1 - np.asarray(u) if self.wrong == "falls" else np.asarray(u) ** (1.1 if self.wrong == "bent" else 1.0))

    def sample(self, n, rng):
        if self.wrong == "seed":
            return GLOBAL.random_sample(n)
        return rng.beta(1.2, 1.0, n) if self.wrong == "draws" else super().sample(n, rng)

    def log_density(self, theta):
        return super().log_density(theta) + 0.1 * (self.wrong == "density")

    def to_normal(self, theta, within=0.5):
        return super().to_normal(theta, within) * (1.1 if self.wrong == "normal" else 1.0)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ("falls", "do not increase"),
        ("bent", "no inverses"),
        ("density", "`cdf` and `log_density` of 'Crooked' disagree"),
        ("seed", "different numbers for the same seed"),
        ("draws", "do not follow"),
        ("normal", "not standard normal"),
    ],
)
def test_crooked_priors(wrong, message):
    check_prior(Crooked(""))
    with pytest.raises(ta.TellapartError, match=message):
        check_prior(Crooked(wrong))


def crooked_encoder(wrong):
    class Encoder(ta.SequenceEncoder):
        name = "crooked"

        def __init__(self, task, *more):
            if wrong == "more" and not more:
                raise TypeError("missing 1 required positional argument: 'width'")
            super().__init__(task)

        def prepare(self, behavior, designs):
            inputs = super().prepare(behavior, designs)
            if wrong == "mask":
                inputs = inputs.flip(-1)
            if wrong == "design":
                inputs[..., 0] += torch.from_numpy(designs[:, : behavior.shape[1], :1]).float()
            return inputs

        def forward(self, inputs):
            if wrong == "leak":
                inputs = torch.cat([inputs[..., :-1], torch.ones_like(inputs[..., -1:])], -1)
            out = super().forward(inputs)
            return {"mixes": out - out.mean(0), "shape": out[:, :3], "same": 0 * out, "nan": out / 0}.get(wrong, out)

    return Encoder


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ("more", "cannot be made for a task"),
        ("mask", "must be the mask"),
        ("design", "uses the design"),
        ("leak", "takes an unfinished experiment for another"),
        ("mixes", "depend on each other"),
        ("shape", "must give summaries"),
        ("same", "the same summaries"),
        ("nan", "not finite"),
    ],
)
def test_crooked_encoders(wrong, message):
    with pytest.raises(ta.TellapartError, match=message):
        check_encoder(crooked_encoder(wrong), TASK)


def crooked_estimator(wrong):
    class Estimator(ta.PosteriorEstimator):
        name = "crooked"

        def bound(self, batch, generator=None):
            bound = super().bound(batch, generator)
            return {"above": bound + 3, "stuck": 0 * bound, "shape": bound[:, None]}.get(wrong, bound)

        def sample_theta(self, inputs, model, draws, generator):
            z = super().sample_theta(inputs, model, draws, generator)
            return {"draws": z[:, :, :0], "seed": z + torch.rand(1)}.get(wrong, z)

        def log_model_probabilities(self, inputs):
            return super().log_model_probabilities(inputs) + (0.1 if wrong == "shares" else 0.0)

    return Estimator


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ("above", "above the exact information"),
        ("stuck", "does not raise the bound"),
        ("shape", "finite numbers"),
        ("draws", "wrong shape"),
        ("seed", "not the same for the same seed"),
        ("shares", "do not sum to 1"),
    ],
)
def test_crooked_estimators(wrong, message):
    with pytest.raises(ta.TellapartError, match=message):
        check_estimator(crooked_estimator(wrong), steps=40)


TIMES = count(1)


@dataclass(frozen=True)
class Forgetful(ta.Search):
    """A search that ends with something else whenever it is asked."""

    wrong: str = ""
    name: ClassVar[str] = "forgetful"

    def find(self, job):
        for done in range(10):
            job.progress(done, 10)
        nats = {"forgets": float(next(TIMES)), "nan": np.nan}.get(self.wrong, 0.5)
        design = np.full((2, 2), 2.0 if self.wrong == "outside" else 0.5)
        return ta.Found(design, ta.InformationEstimate(nats, 0.1, "lower bound", 10), self.build(job.task, job.question))

    def build(self, task, question):
        torch.manual_seed(0)
        return ta.PosteriorEstimator(question, ta.SequenceEncoder(task, 8, 8, 2))

    def evaluate(self, job, designs, estimator):
        return [ta.InformationEstimate(float(next(TIMES)) if self.wrong == "moody" else 0.5, 0.1, "lower bound", 10) for _ in designs]


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ("forgets", "something else after it was stopped"),
        ("nan", "no finite information"),
        ("outside", "outside its range"),
        ("moody", "evaluates the same designs differently"),
    ],
)
def test_crooked_searches(wrong, message):
    asked = ta.BernoulliBandit(2, 2, 4), ta.Question((ta.AEG(), ta.GLS()))
    check_search(Forgetful(), *asked)
    with pytest.raises(ta.TellapartError, match=message):
        check_search(Forgetful(wrong), *asked)
