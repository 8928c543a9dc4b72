"""The bandit task: its design space, its symmetries, its baseline, its rules, and the quick way to play it."""

import itertools
import json

import numpy as np
import pytest
from scipy import stats

from tellapart.bandits.bernoulli import BernoulliBandit
from tellapart.bandits.game import BanditGame
from tellapart.behavior import Behavior
from tellapart.errors import DataError, DesignError, ModelError, StudyError
from tellapart.parts import find_part
from tellapart.tasks.sampling import sample
from tellapart.tasks.space import DesignSpace, Symmetry, Variable
from tellapart.tasks.text import example_design, format_design, parse_design

BANDIT = BernoulliBandit(arms=3, blocks=2, trials=4)
SPACE = BANDIT.design_space
FALSE_ALARM = 1e-4


def test_is_found_by_its_name():
    assert find_part("task", "bernoulli-bandit") is BernoulliBandit


def test_choices_are_responses_and_rewards_are_outcomes():
    assert [f.name for f in BANDIT.responses] == ["choice"]
    assert [f.name for f in BANDIT.outcomes] == ["reward"]
    assert [f.dtype for f in BANDIT.fields] == [np.int16, np.int8]


def test_text_and_back():
    design = parse_design(SPACE, "0,0,0.6; 1,1,0")
    np.testing.assert_array_equal(design, [[0, 0, 0.6], [1, 1, 0]])
    assert format_design(SPACE, design) == "0,0,0.6; 1,1,0"
    assert format_design(SPACE, [[-0.0, 1e-9, 2 / 3], [1, 1, 0.25]]) == "0,0,0.667; 1,1,0.25"
    assert format_design(SPACE, [[10.0, 100.4]], digits=0) == "10,100"
    np.testing.assert_array_equal(parse_design(SPACE, example_design(SPACE)), np.full((2, 3), 0.5))
    np.testing.assert_array_equal(parse_design(SPACE, " 0 , 0,.6;1,1,0; "), design)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("0,0,1.2; 1,1,0", ["outside", "block 0, arm 2", "0 to 1", "1.2"]),
        ("0,0,0.5; -0.1,1,0", ["outside", "block 1, arm 0"]),
        ("0,0,nan; 1,1,0", ["outside", "block 0, arm 2", "nan"]),
        ("0,0,inf; 1,1,0", ["outside", "inf"]),
        ("0,0,0.5", ["number of blocks", "2 blocks", "1 block"]),
        ("0,0; 1,1", ["values in a block", "3 values", "2 values"]),
        ("0,0,0.5; 1,1", ["different numbers of values", "2 and 3"]),
        ("0,0,a half; 1,1,0", ["not made of numbers", "0.5,0.5,0.5; 0.5,0.5,0.5"]),
        ("", ["not made of numbers"]),
        ("0,0,0.6;; 1,1,0", ["not made of numbers"]),
    ],
)
def test_designs_that_do_not_fit(text, message):
    with pytest.raises(DesignError) as error:
        parse_design(SPACE, text)
    assert all(words in str(error.value) for words in message), str(error.value)


@pytest.mark.parametrize("design", [[[0, 0, 0], [1, 1]], "text", [["a"] * 3] * 2, [0, 0, 0], np.zeros((5, 2, 3)), [[None] * 3] * 2])
def test_arrays_that_are_no_designs(design):
    with pytest.raises(DesignError):
        SPACE.check(design)


def test_one_design_for_all_or_one_for_each():
    designs = sample(SPACE, 5, np.random.default_rng(1))
    np.testing.assert_array_equal(SPACE.check_many(designs, 5), designs)
    assert SPACE.check_many(designs[0], 5).shape == (5, 2, 3)
    for wrong in (designs[:4], np.where(np.arange(5)[:, None, None] == 3, 1.5, designs), [[0, 0, 0], [1, 1]]):
        with pytest.raises(DesignError):
            SPACE.check_many(wrong, 5)


def equivalents(design):
    """All relabellings of arms within blocks, and of blocks."""
    for order in itertools.permutations(design):
        for arms in itertools.product(itertools.permutations(range(3)), repeat=2):
            yield np.array([block[list(arm)] for block, arm in zip(order, arms, strict=True)])


def test_equivalent_designs_are_one():
    design = sample(SPACE, 1, np.random.default_rng(2))[0]
    every = list(equivalents(design))
    assert len({one.tobytes() for one in every}) == 6**2 * 2
    assert len({SPACE.canonical(one).tobytes() for one in every}) == 1
    canonical = SPACE.canonical(np.stack(every))
    assert any(np.array_equal(canonical[0], one) for one in every)
    np.testing.assert_array_equal(SPACE.canonical(canonical), canonical)


def test_ties_in_the_first_variable_are_ordered_by_the_next():
    np.testing.assert_array_equal(SPACE.canonical([[0, 0.9, 0.9], [0, 0.2, 1]]), [[0, 0.2, 1], [0, 0.9, 0.9]])


def test_without_symmetry_designs_stay_as_they_are():
    designs = sample(SPACE, 3, np.random.default_rng(2))
    np.testing.assert_array_equal(Symmetry().canonical(designs), designs)
    only_blocks = Symmetry(blocks=True).canonical(designs)
    np.testing.assert_array_equal(np.sort(only_blocks.reshape(3, -1)), np.sort(designs.reshape(3, -1)))
    assert SPACE.canonical(np.zeros((0, 2, 3))).shape == (0, 2, 3)


def test_samples_fill_the_space():
    space = DesignSpace(1, (Variable("a", -1.0, 1.0), Variable("b", 5.0, 6.0)))
    designs = sample(space, 2_000, np.random.default_rng(3))[:, 0]
    assert (designs >= space.low).all()
    assert (designs <= space.high).all()
    np.testing.assert_allclose(designs.mean(0), [0.0, 5.5], atol=0.06)


def test_baseline_is_beta_two_two():
    draws = BANDIT.baseline(3_000, np.random.default_rng(4))
    assert draws.shape == (3_000, 2, 3)
    assert stats.kstest(draws.reshape(-1), stats.beta(2, 2).cdf).pvalue > FALSE_ALARM


@pytest.mark.parametrize("settings", [{"arms": 1}, {"blocks": 0}, {"trials": 0}, {"arms": 2.5}, {"trials": True}, {"blocks": "two"}])
def test_impossible_settings(settings):
    with pytest.raises(StudyError, match=next(iter(settings))):
        BernoulliBandit(**settings)


def test_checks_behavior():
    good = {"choice": np.full((1, 2, 4), 2), "reward": np.ones((1, 2, 4))}
    assert BANDIT.check(Behavior(good)).shape == (1, 2, 4)
    assert BANDIT.check(Behavior(good).first(blocks=1, trials=2)).shape == (1, 1, 2)
    masked = np.ones((1, 2, 4), bool)
    masked[0, 1, 3] = False
    choice = good["choice"].copy()
    choice[0, 1, 3] = 7
    BANDIT.check(Behavior({**good, "choice": choice}, masked))
    with pytest.raises(DataError, match="participant 0, block 1, trial 3"):
        BANDIT.check(Behavior({**good, "choice": choice}))
    with pytest.raises(DataError, match="other fields"):
        BANDIT.check(Behavior({"choice": choice}))
    with pytest.raises(DataError, match="larger task"):
        BANDIT.check(Behavior({name: np.zeros((1, 2, 9)) for name in good}))


# ---- the rules

DESIGNS = np.array([[0.1, 0.5, 0.8], [0.9, 0.0, 1.0]])


def play(environment, rng, missing=0.0):
    """Choose at random until it is over; returns the outcomes trial by trial."""
    rewards = []
    while not environment.done:
        n = len(environment.designs)
        rewards.append(environment.step({"choice": rng.integers(0, 3, n)}, rng.random(n) < missing)["reward"])
    return rewards


def test_arms_pay_with_their_probabilities():
    """Binomial tests of each arm of each block at each trial, after a win and after a loss; false alarm 1e-4 over all."""
    task, n = BernoulliBandit(3, 2, 3), 20_000
    environment = task.environment(np.broadcast_to(DESIGNS, (n, 2, 3)), np.random.default_rng(1))
    shown = play(environment, np.random.default_rng(2))
    choice, reward = (environment.behavior.fields[name] for name in ("choice", "reward"))
    np.testing.assert_array_equal(np.stack(shown, 1).reshape(n, 2, 3), reward)
    assert environment.behavior.mask.all()
    before = np.pad(reward, [(0, 0), (0, 0), (1, 0)])[:, :, :-1]
    cases = list(itertools.product(range(2), range(3), range(3), range(2)))
    for b, t, k, won in cases:
        paid = reward[:, b, t][(choice[:, b, t] == k) & (before[:, b, t] == won)]
        if len(paid):
            assert stats.binomtest(int(paid.sum()), len(paid), DESIGNS[b, k]).pvalue > FALSE_ALARM / len(cases)


def test_rewards_of_participants_are_independent():
    """Chi-square test of pairs of neighbours at the same design and choice; false alarm 1e-4."""
    task = BernoulliBandit(2, 1, 1)
    environment = task.environment(np.full((40_000, 1, 2), 0.4), np.random.default_rng(3))
    pairs = environment.step({"choice": 1})["reward"].reshape(-1, 2) @ [2, 1]
    expected = len(pairs) * np.array([0.36, 0.24, 0.24, 0.16])
    assert stats.chisquare(np.bincount(pairs, minlength=4), expected).pvalue > FALSE_ALARM


def test_a_live_participant_can_be_saved_and_restored_between_any_two_trials():
    task = BernoulliBandit(3, 2, 6)
    whole = task.environment(DESIGNS, np.random.default_rng(4))
    play(whole, np.random.default_rng(5), missing=0.3)
    saved, rng = json.dumps(task.environment(DESIGNS, np.random.default_rng(4)).save()), np.random.default_rng(5)
    for trial in range(12):
        live = task.environment(DESIGNS, np.random.default_rng(100 + trial))
        live.restore(json.loads(saved))
        assert (live.block, live.trial) == divmod(trial, 6)
        live.step({"choice": rng.integers(0, 3, 1)}, rng.random(1) < 0.3)
        saved = json.dumps(live.save())
    assert live.done
    for name, values in whole.behavior.fields.items():
        assert live.behavior.fields[name].tobytes() == values.tobytes()
        assert live.behavior.fields[name].dtype == values.dtype
    assert live.behavior.mask.tobytes() == whole.behavior.mask.tobytes()
    assert not whole.behavior.mask.all()


@pytest.mark.parametrize(
    ("responses", "message"),
    [
        ({"choice": [0, 3]}, "no 'choice'.*block 1, trial 0.*0 to 2.*3 from participant 1"),
        ({"choice": [-1, 0]}, "no 'choice'.*block 1, trial 0"),
        ({"choice": [0.5, 0]}, "no 'choice'.*block 1, trial 0"),
        ({"choice": [np.nan, 0]}, "no 'choice'.*block 1, trial 0"),
        ({"arm": [0, 0]}, "not the responses.*block 1, trial 0.*choice.*arm"),
        ({"choice": [0, 0], "reward": [1, 1]}, "not the responses.*block 1, trial 0"),
    ],
)
def test_responses_that_cannot_be_given(responses, message):
    environment = BANDIT.environment(np.broadcast_to(DESIGNS, (2, 2, 3)), np.random.default_rng(6))
    for _ in range(4):
        environment.step({"choice": [0, 2]})
    with pytest.raises(DataError, match=f"(?s){message}"):
        environment.step(responses)
    environment.step({"choice": [0, 2]})
    assert environment.trial == 1


def test_nothing_is_recorded_for_those_who_miss_a_trial():
    environment = BANDIT.environment(np.ones((3, 2, 3)), np.random.default_rng(7))
    environment.step({"choice": [1, 99, 2]}, missed=[False, True, False])
    np.testing.assert_array_equal(environment.behavior.mask[:, 0, 0], [True, False, True])
    np.testing.assert_array_equal(environment.behavior.fields["choice"][:, 0, 0], [1, 0, 2])
    np.testing.assert_array_equal(environment.behavior.fields["reward"][:, 0, 0], [1, 0, 1])
    BANDIT.check(environment.behavior)


def test_there_is_no_trial_after_the_last():
    environment = BANDIT.environment(DESIGNS, np.random.default_rng(8))
    play(environment, np.random.default_rng(9))
    with pytest.raises(DataError, match="over"):
        environment.step({"choice": [0]})


# ---- the quick way


def test_a_game_is_a_fair_bandit():
    """Chi-square test of choices, binomial tests of rewards at each trial; false alarm 1e-4 over all."""
    n, shares = 20_000, np.array([0.1, 0.2, 0.7])
    game = BanditGame(np.broadcast_to(DESIGNS, (n, 2, 3)), 2, np.random.default_rng(10))
    for t, b in itertools.product(range(2), range(2)):
        if b == 0:
            chosen, reward = game.play(shares)
        counts = chosen[:, b].sum(0)
        assert stats.chisquare(counts, n * shares).pvalue > FALSE_ALARM / 16
        np.testing.assert_array_equal(game.behavior.fields["choice"][:, b, t], chosen[:, b].argmax(-1))
        np.testing.assert_array_equal(game.behavior.fields["reward"][:, b, t], reward[:, b, 0])
        for k in range(3):
            paid = int((chosen[:, b, k] * reward[:, b, 0]).sum())
            assert stats.binomtest(paid, int(counts[k]), DESIGNS[b, k]).pvalue > FALSE_ALARM / 16


def test_probabilities_that_do_not_sum_to_one():
    with pytest.raises(ModelError, match="sum to 1"):
        BanditGame(np.full((2, 1, 3), 0.5), 2, np.random.default_rng(11)).play([0.5, 0.6, 0.5])
