"""The learned law of responses: probabilities that sum to 1, trials that do not see the future, and a law that is known."""

from dataclasses import dataclass
from itertools import product

import numpy as np
import pytest
import torch

import tellapart as ta
from tellapart.behavior import Behavior
from tellapart.networks.law import Law, Trials
from tellapart.networks.sequence import SequenceEncoder
from tellapart.optimizer import Muon

TASK = ta.BernoulliBandit(3, 1, 3)


@dataclass(frozen=True)
class Timed(ta.Task):
    """A task whose answers have a time and a rating beside them."""

    blocks: int = 1
    trials: int = 4

    @property
    def fields(self):
        return (ta.Field("second", "binary"), ta.Field("seconds", "positive"), ta.Field("rating", "categorical", 3))

    @property
    def design_space(self):
        return ta.DesignSpace(self.blocks, (ta.Variable("difference"),))

    def baseline(self, n, rng):
        return rng.random((n, self.blocks, 1))


@dataclass(frozen=True)
class Asked(Timed):
    """A task of which nothing comes but the answer."""

    @property
    def fields(self):
        return (ta.Field("second", "binary"),)


def law_of(task, parameters=2, seed=0, in_order=False):
    torch.manual_seed(seed)
    trials = Trials(SequenceEncoder(task), in_order)
    return trials, Law(trials, parameters)


def log_p(trials, law, behavior, z):
    designs = np.full((len(behavior), *trials.task.design_space.shape), 0.5)
    with torch.no_grad():
        model = torch.zeros(len(behavior), dtype=torch.int64)
        return law(trials.prepare(behavior, designs), torch.as_tensor(z, dtype=torch.float32), model).numpy()


def test_probabilities_of_all_sequences_sum_to_one():
    """All choices that can be made, the outcomes being as they are."""
    trials, law = law_of(TASK)
    choices = np.array(list(product(range(3), repeat=3)), np.int16)[:, None]
    rewards = np.broadcast_to(np.array([1, 0, 1], np.int16), choices.shape)
    z = np.random.default_rng(0).normal(size=(len(choices), 2))
    log = log_p(trials, law, Behavior({"choice": choices, "reward": rewards}), np.repeat(z[:1], len(z), 0))
    assert np.exp(log).sum() == pytest.approx(1.0, abs=1e-5)
    assert len(np.unique(log.round(6))) > 9  # choices are not all alike


def test_probabilities_of_blocks_that_are_read_in_order_sum_to_one():
    """And what one block was like matters to the next, whatever came of it."""
    trials, law = law_of(ta.BernoulliBandit(2, 2, 2), in_order=True)
    choices = np.array(list(product(range(2), repeat=4)), np.int16).reshape(16, 2, 2)
    rewards = np.broadcast_to(np.array([[1, 0], [1, 1]], np.int16), choices.shape)
    p = np.exp(log_p(trials, law, Behavior({"choice": choices, "reward": rewards}), np.full((16, 2), 0.3))).reshape(4, 4)
    assert p.sum() == pytest.approx(1.0, abs=1e-5)
    second = p / p.sum(1, keepdims=True)  # of the second block, given the first
    assert np.abs(second - second[0]).max() > 1e-4
    alone = np.exp(log_p(trials, law, Behavior({"choice": choices, "reward": rewards}).first(blocks=1), np.full((16, 2), 0.3)))
    np.testing.assert_allclose(p.sum(1), alone[::4], rtol=1e-4)  # the second takes nothing from the first


@pytest.mark.filterwarnings("error")
def test_an_answer_of_which_nothing_comes_leaves_traces():
    """Before anything is learned: what was answered often is another thing than what was not."""
    trials, law = law_of(Asked())
    answers = np.array(list(product(range(2), repeat=4)), np.int16)[:, None]
    log = log_p(trials, law, Behavior({"second": answers}), np.zeros((len(answers), 2)))
    assert np.exp(log).sum() == pytest.approx(1.0, abs=1e-5)
    last = log[1::2] - log[::2]  # of the last answer, by the three before it
    assert len(np.unique(last.round(6))) == 8


def test_probabilities_of_later_responses_sum_to_one():
    """The density of the time is integrated, the rating summed, given the answer."""
    task = Timed(trials=1)
    trials, law = law_of(task)
    seconds = np.exp(np.linspace(-12, 12, 4001))
    total = 0.0
    for second, rating in product(range(2), range(3)):
        shape = (len(seconds), 1, 1)
        fields = {"second": np.full(shape, second, np.int8), "seconds": seconds.reshape(shape), "rating": np.full(shape, rating, np.int16)}
        density = np.exp(log_p(trials, law, Behavior(fields), np.zeros((len(seconds), 2))))
        total += np.trapezoid(density, np.log(seconds))  # on the scale of the encoder
    assert total == pytest.approx(1.0, abs=1e-3)


def test_no_trial_sees_a_later_one():
    """What the first trials contribute does not depend on the last."""
    trials, law = law_of(ta.BernoulliBandit(3, 2, 6))
    rng = np.random.default_rng(1)
    fields = {"choice": rng.integers(0, 3, (5, 2, 6)).astype(np.int16), "reward": rng.integers(0, 2, (5, 2, 6)).astype(np.int16)}
    changed = {name: values.copy() for name, values in fields.items()}
    changed["choice"][:, :, 4:] = (changed["choice"][:, :, 4:] + 1) % 3
    changed["reward"][:, :, 4:] = 1 - changed["reward"][:, :, 4:]
    z = rng.normal(size=(5, 2))
    first = np.broadcast_to(np.arange(6) < 4, (5, 2, 6))
    np.testing.assert_allclose(log_p(trials, law, Behavior(fields, first), z), log_p(trials, law, Behavior(changed, first), z), atol=1e-6)
    inputs = [trials.prepare(Behavior(one), np.full((5, 2, 3), 0.5)) for one in (fields, changed)]
    alike = [inputs[0].clone(), inputs[1].clone()]
    for one in alike:
        one[:, :, 4:, -1] = 0.0  # the mask alone, so that what was recorded stays in sight
    with torch.no_grad():
        one, two = (law(part, torch.as_tensor(z, dtype=torch.float32), torch.zeros(5, dtype=torch.int64)) for part in alike)
    torch.testing.assert_close(one, two)


@pytest.mark.parametrize("in_order", [False, True])
def test_missed_trials_are_as_if_they_had_never_been(in_order):
    blocks = 2 if in_order else 1
    trials, law = law_of(ta.BernoulliBandit(3, blocks, 6), in_order=in_order)
    rng, shape = np.random.default_rng(2), (5, blocks, 6)
    fields = {"choice": rng.integers(0, 3, shape).astype(np.int16), "reward": rng.integers(0, 2, shape).astype(np.int16)}
    keep, z = np.array([False, True, True, False, True, True]), rng.normal(size=(5, 2))
    holes = Behavior(fields, np.broadcast_to(keep, shape))
    closed = Behavior({name: values[:, :, keep] for name, values in fields.items()})
    np.testing.assert_allclose(log_p(trials, law, holes, z), log_p(trials, law, closed, z), rtol=1e-5)


def test_many_parameters_for_each_participant_are_those_of_one_after_the_other():
    trials, law = law_of(TASK)
    rng = np.random.default_rng(3)
    fields = {"choice": rng.integers(0, 3, (4, 1, 3)).astype(np.int16), "reward": rng.integers(0, 2, (4, 1, 3)).astype(np.int16)}
    z = rng.normal(size=(7, 4, 2))
    together = log_p(trials, law, Behavior(fields), z)
    np.testing.assert_allclose(together, [log_p(trials, law, Behavior(fields), one) for one in z], rtol=1e-5)


def learned(task, simulated, steps, size, rng, in_order=False, **settings):
    """How far a law that learned from `simulated` participants, (behavior, z, exact log p), is from the exact one, for each of 2,000."""
    torch.manual_seed(0)
    trials = Trials(SequenceEncoder(task), in_order)
    law = Law(trials, 1, **settings)
    optimizer = Muon(law.parameters(), 0.03)
    for step in range(steps):
        optimizer.param_groups[0]["lr"] = 0.03 * (1 - step / steps)
        behavior, z, _ = simulated(size, rng)
        designs = np.full((size, *task.design_space.shape), 0.5)
        inputs, model = trials.prepare(behavior, designs), torch.zeros(size, dtype=torch.int64)
        loss = -law(inputs, torch.as_tensor(z, dtype=torch.float32), model).mean() / (task.blocks * task.trials)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    behavior, z, exact = simulated(2000, rng)
    return exact - log_p(trials, law, behavior, z)


def stayers(n, rng):
    """They repeat what won."""
    z = rng.normal(size=(n, 1))
    stay = 1 / (1 + np.exp(-2 * z[:, 0]))
    choice, reward = np.zeros((2, n, 1, 10), np.int16)
    exact = np.full(n, np.log(0.5))
    choice[:, 0, 0] = rng.integers(0, 2, n)
    reward[:, 0] = rng.integers(0, 2, (n, 10))
    for t in range(1, 10):
        p = np.where(reward[:, 0, t - 1] == 1, stay, 0.5)
        stays = rng.random(n) < p
        choice[:, 0, t] = np.where(stays, choice[:, 0, t - 1], 1 - choice[:, 0, t - 1])
        exact += np.log(np.where(stays, p, 1 - p))
    return Behavior({"choice": choice, "reward": reward}), z, exact


def moody(n, rng):
    """Whom an unseen mood, which a win or a loss changes or does not, makes choose an arm with probability 0.9 or 0.1."""
    z, trials = rng.normal(size=(n, 1)), 16
    changes = 1 / (1 + np.exp(2 * z[:, 0]))
    choice, reward = np.zeros((2, n, 1, trials), np.int16)
    reward[:, 0] = rng.integers(0, 2, (n, trials))
    mood, alpha = rng.integers(0, 2, n), np.full((n, 2), 0.5)
    for t in range(trials):
        choice[:, 0, t] = rng.random(n) < np.where(mood == 0, 0.1, 0.9)
        alpha *= np.where(choice[:, 0, t, None] == [0, 1], 0.9, 0.1)
        p = np.where(reward[:, 0, t] == 1, changes, 0.1)
        mood = np.where(rng.random(n) < p, 1 - mood, mood)
        alpha = (1 - p)[:, None] * alpha + p[:, None] * alpha[:, ::-1]
    return Behavior({"choice": choice, "reward": reward}), z, np.log(alpha.sum(1))


def keepers(n, rng):
    """Who begin a block as they ended the one before it, with a probability of their own, and else choose at random."""
    z, (blocks, trials) = rng.normal(size=(n, 1)), (5, 2)
    keep = 1 / (1 + np.exp(-2 * z[:, 0]))
    choice, reward = rng.integers(0, 2, (2, n, blocks, trials)).astype(np.int16)
    exact = np.full(n, np.log(0.5) * (blocks * trials - blocks + 1))
    for b in range(1, blocks):
        keeps = rng.random(n) < keep
        choice[:, b, 0] = np.where(keeps, choice[:, b - 1, 1], 1 - choice[:, b - 1, 1])
        exact += np.log(np.where(keeps, keep, 1 - keep))
    return Behavior({"choice": choice, "reward": reward}), z, exact


def test_what_goes_on_from_block_to_block_is_learned_if_blocks_are_read_in_order():
    task = ta.BernoulliBandit(2, 5, 2)
    ordered, apart = (learned(task, keepers, 100, 128, np.random.default_rng(6), in_order=one).mean() for one in (True, False))
    assert ordered < 0.1
    assert apart > 0.5


def test_a_known_law_is_learned():
    """The divergence from the likelihood that made the choices, per participant."""
    assert learned(ta.BernoulliBandit(2, 1, 10), stayers, 60, 128, np.random.default_rng(4)).mean() < 0.1


def test_a_latent_state_is_learned():
    """And one state alone would be no state."""
    task = ta.BernoulliBandit(2, 1, 16)
    several, one = (learned(task, moody, 150, 64, np.random.default_rng(5), states=states, width=64).mean() for states in (4, 1))
    assert several < 0.08
    assert one > 1.5 * several
