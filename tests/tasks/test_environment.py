"""The rules in motion: for many simulated participants, for one live participant, saved and restored between trials."""

import json
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest

import tellapart as ta
from tellapart.tasks.sampling import sample

BANDIT = ta.BernoulliBandit(arms=2, blocks=2, trials=3)
DESIGN = np.array([[0.0, 1.0], [1.0, 0.0]])


def play(environment, choices):
    """Responses (N, B, T) to the end."""
    while not environment.done:
        environment.step({"choice": choices[:, environment.block, environment.trial]})
    return environment.behavior


def test_sure_arms_pay_and_others_do_not():
    choices = np.random.default_rng(1).integers(0, 2, (50, 2, 3))
    behavior = play(BANDIT.environment(np.broadcast_to(DESIGN, (50, 2, 2)), np.random.default_rng(2)), choices)
    np.testing.assert_array_equal(behavior.fields["choice"], choices)
    np.testing.assert_array_equal(behavior.fields["reward"], choices == np.array([1, 0])[:, None])
    assert behavior.mask.all()
    BANDIT.check(behavior)


def test_rewards_come_with_their_probability():
    designs = np.broadcast_to([[0.2, 0.9], [0.5, 0.5]], (20_000, 2, 2))
    rewards = play(BANDIT.environment(designs, np.random.default_rng(1)), np.ones((20_000, 2, 3), int)).fields["reward"]
    np.testing.assert_allclose(rewards.mean((0, 2)), [0.9, 0.5], atol=0.01)


def test_a_live_participant_goes_on_in_another_process():
    """One participant, a choice at a time, saved as JSON after each: the same as in one go."""
    choices, live = np.array([[[0, 1, 1], [1, 0, 1]]]), BANDIT.environment([[0.4, 0.6], [0.5, 0.3]], np.random.default_rng(5))
    whole = play(BANDIT.environment([[0.4, 0.6], [0.5, 0.3]], np.random.default_rng(5)), choices)
    while not live.done:
        saved = json.dumps(live.save())
        live = BANDIT.environment(live.designs, np.random.default_rng(99))
        live.restore(json.loads(saved))
        outcomes = live.step({"choice": int(choices[0, live.block, live.trial])})
        assert outcomes["reward"].shape == (1,)
    np.testing.assert_array_equal(live.behavior.fields["reward"], whole.fields["reward"])
    np.testing.assert_array_equal(live.behavior.fields["choice"], choices)
    assert live.behavior.fields["reward"].dtype == whole.fields["reward"].dtype


def test_what_was_recorded_can_be_followed():
    environment = BANDIT.environment(np.broadcast_to(DESIGN, (2, 2, 2)), np.random.default_rng(1))
    environment.follow({"choice": np.array([0, 1])}, {"reward": np.array([1, 0])}, missed=[False, True])
    assert (environment.block, environment.trial) == (0, 1)
    np.testing.assert_array_equal(environment.before("reward"), [[1], [0]])
    np.testing.assert_array_equal(environment.behavior.mask[:, 0, 0], [True, False])


def test_rules_that_remember_are_told_who_missed():
    told = []

    class Counting(type(BANDIT.environment(DESIGN, np.random.default_rng(0)))):
        def learn(self, responses, outcomes):
            told.append(self.missed.tolist())

    task = ta.BernoulliBandit(2, 1, 2)
    environment = Counting(task, np.full((2, 1, 2), 0.5), np.random.default_rng(0))
    environment.follow({"choice": np.array([0, 1])}, {"reward": np.array([1, 0])}, missed=[False, True])
    environment.follow({"choice": np.array([0, 1])}, {"reward": np.array([1, 0])})
    assert told == [[False, True], [False, False]]


def test_missed_trials_record_nothing():
    environment = BANDIT.environment(np.broadcast_to(DESIGN, (2, 2, 2)), np.random.default_rng(1))
    environment.step({"choice": [1, 99]}, missed=[False, True])
    behavior = environment.behavior
    np.testing.assert_array_equal(behavior.fields["reward"][:, 0, 0], [1, 0])
    np.testing.assert_array_equal(behavior.mask[:, 0, 0], [True, False])


@pytest.mark.parametrize(
    ("responses", "message"),
    [
        ({"choice": 2}, "This is no 'choice'"),
        ({"choice": [0, 0.5]}, "0.5 from participant 1"),
        ({"choise": 0}, "not the responses of the task"),
        ({"choice": 0, "reward": 1}, "not the responses of the task"),
    ],
)
def test_responses_that_are_none(responses, message):
    environment = BANDIT.environment(np.broadcast_to(DESIGN, (2, 2, 2)), np.random.default_rng(1))
    with pytest.raises(ta.DataError, match=message) as error:
        environment.step(responses)
    assert "block 0, trial 0" in str(error.value)


def test_it_ends():
    environment = BANDIT.environment(DESIGN, np.random.default_rng(1))
    play(environment, np.zeros((1, 2, 3), int))
    with pytest.raises(ta.DataError, match="is over"):
        environment.step({"choice": 0})


class Streaks(ta.Environment):
    """Pays the length of the streak of equal answers so far: rules that remember."""

    def draw(self, responses):
        streak = self.state.get("streak", np.zeros(len(self.designs), int))
        return {"pay": streak + (responses["answer"] == self.state.get("last", -1))}

    def learn(self, responses, outcomes):
        self.state = {"streak": np.asarray(outcomes["pay"]), "last": np.asarray(responses["answer"])}


@dataclass(frozen=True)
class Quiz(ta.Task):
    """Blocks of a length that the design sets."""

    blocks: int = 2
    trials: int = 4
    name: ClassVar[str] = "quiz"
    rules: ClassVar[type] = Streaks

    @property
    def fields(self):
        return ta.Field("answer", "binary", labels=("no", "yes")), ta.Field("pay", "count", by="task")

    @property
    def design_space(self):
        return ta.DesignSpace(self.blocks, [ta.Variable("number", 1, self.trials, kind="integer")])

    def baseline(self, n, rng):
        return sample(self.design_space, n, rng)

    def lengths(self, designs):
        return designs[..., 0].astype(int)


def test_responses_and_outcomes():
    assert [f.name for f in Quiz().responses] == ["answer"]
    assert [f.name for f in Quiz().outcomes] == ["pay"]
    assert Quiz().nothing(3).mask.sum() == 0
    assert Quiz().fields[0].levels == 2


def test_rules_that_remember_are_saved_and_restored():
    one = Quiz().environment([[4], [4]], np.random.default_rng(1))
    pays = []
    for answer in (1, 1, 1, 0, 0, 1):
        other = Quiz().environment([[4], [4]], np.random.default_rng(2))
        other.restore(json.loads(json.dumps(one.save())))
        one = other
        pays.append(int(one.step({"answer": answer})["pay"][0]))
    assert pays == [0, 1, 2, 2, 3, 3]


def test_blocks_have_the_lengths_of_the_design():
    designs = np.array([[[1], [4]], [[3], [2]]], float)
    environment = Quiz().environment(designs, np.random.default_rng(1))
    steps = 0
    while not environment.done:
        environment.step({"answer": 1})
        steps += 1
    assert steps == 3 + 4
    np.testing.assert_array_equal(environment.behavior.mask.sum(2), [[1, 4], [3, 2]])
