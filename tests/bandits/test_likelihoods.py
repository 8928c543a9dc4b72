"""Likelihoods and evidence: exact answers, invariances and limits."""

import itertools
import random

import numpy as np
import pytest
import reference
from scipy.special import betaln

from tellapart.bandits.bernoulli import BernoulliBandit
from tellapart.behavior import Behavior
from tellapart.errors import DataError, ModelError
from tellapart.parts import find_part
from tellapart.priors import sample_priors

AGENTS = reference.MODELS
DESIGN = None  # a bandit's likelihood is of choices given rewards: the design does not enter


def build(model, convention="paper"):
    kind = find_part("model", model)
    return kind() if model == "wslts" else kind(convention)


def repeated(model, theta, n):
    return {name: np.full(n, value) for name, value in zip(reference.PARAMETERS[model], theta, strict=True)}


def as_behavior(choices, rewards, mask=None):
    return Behavior({"choice": np.asarray(choices, np.int16), "reward": np.asarray(rewards, np.int8)}, mask)


def all_sequences(arms, trials, rng):
    """Every sequence of choices (K^T, 1, T), rewarded by a random function of everything that came before."""
    choices = np.array(list(itertools.product(range(arms), repeat=trials)))
    rule = {}
    rewards = [[rule.setdefault(tuple(row[: t + 1]), rng.randrange(2)) for t in range(trials)] for row in choices.tolist()]
    return as_behavior(choices[:, None], np.array(rewards)[:, None])


def mixed_behavior(model, convention, arms, blocks, trials, n, seed=0):
    """Behavior of many kinds: simulated participants of the model itself with parameters from the prior, baseline designs."""
    agent, task, rng = build(model, convention), BernoulliBandit(arms, blocks, trials), np.random.default_rng(seed)
    theta = sample_priors(agent.parameters, n, rng)
    return agent, task, theta, agent.simulate(theta, task.baseline(n, rng), rng, task)


def test_a_hopeless_arm_is_improbable_and_not_impossible():
    """Of four arms one has won twelve times and one has lost as often; somebody with a large lambda who shifts to the latter is rare."""
    choices = [0] * 12 + [1] * 12 + [2, 1]
    behavior = as_behavior([[choices]], [[[1] * 12 + [0] * 14]])
    theta = {"gamma_w": np.array([0.5]), "gamma_l": np.array([0.5]), "lambda": np.array([8.0])}
    found = build("wslts").log_likelihood(theta, behavior, DESIGN, BernoulliBandit(4, 1, 26))
    assert np.isfinite(found).all()
    assert found[0] < np.log(1e-15)


@pytest.mark.parametrize("arms", [2, 3, 4])
@pytest.mark.parametrize(("model", "convention"), AGENTS)
def test_sequence_probabilities_sum_to_one(model, convention, arms):
    agent, task, rng = build(model, convention), BernoulliBandit(arms, 1, 4), random.Random(arms)
    for _ in range(5):
        behavior = all_sequences(arms, 4, rng)
        theta = repeated(model, reference.draw(model, rng), len(behavior))
        assert np.exp(agent.log_likelihood(theta, behavior, DESIGN, task)).sum() == pytest.approx(1, abs=1e-6)
        assert np.exp(agent.log_evidence(behavior, DESIGN, task)).sum() == pytest.approx(1, abs=1e-6)


@pytest.mark.parametrize("arms", [2, 3, 4])
@pytest.mark.parametrize(("model", "convention"), AGENTS)
def test_log_likelihood_equals_that_of_the_plain_loops(model, convention, arms):
    """Two blocks, missed trials among them, behavior of all models and of none."""
    rng, n, trials = random.Random(f"{model} {arms}"), 24, 7
    choices = np.array([[[rng.randrange(arms) for _ in range(trials)] for _ in range(2)] for _ in range(n)])
    rewards = np.array([[[rng.randrange(2) for _ in range(trials)] for _ in range(2)] for _ in range(n)])
    mask = np.array([[[rng.random() < 0.85 for _ in range(trials)] for _ in range(2)] for _ in range(n)])
    if convention == "released":  # so that some behavior is possible without execution errors
        _, _, _, simulated = mixed_behavior(model, convention, arms, 2, trials, n)
        choices, rewards, mask = simulated.fields["choice"], simulated.fields["reward"], np.ones_like(mask)
    draws = [reference.draw(model, rng) for _ in range(n)]
    theta = {name: np.array([draw[i] for draw in draws]) for i, name in enumerate(reference.PARAMETERS[model])}
    got = build(model, convention).log_likelihood(theta, as_behavior(choices, rewards, mask), DESIGN, BernoulliBandit(arms, 2, trials))
    for i in range(n):
        pairs = zip(choices[i].tolist(), rewards[i].tolist(), mask[i].tolist(), strict=True)
        blocks = [[(c, r) if seen else None for c, r, seen in zip(*block, strict=True)] for block in pairs]
        expected = reference.probability(model, convention, draws[i], blocks, arms)
        assert np.exp(got[i]) == pytest.approx(expected, rel=1e-5, abs=1e-14)


@pytest.mark.parametrize(("model", "convention"), AGENTS)
def test_evidence_is_the_average_likelihood_over_the_prior(model, convention):
    """By draws from the prior, 40,000 (WSLTS: 4,000) for each of 8 participants, z-tests; false alarm 1e-4 over all cases."""
    agent, task, _, behavior = mixed_behavior(model, convention, 3, 2, 6, 8)
    evidence, draws = agent.log_evidence(behavior, DESIGN, task), 40_000 if model != "wslts" else 4000
    theta = sample_priors(agent.parameters, draws, np.random.default_rng(9))
    for i in range(len(behavior)):
        copies = behavior[np.full(draws, i)]
        ratio = np.exp(agent.log_likelihood(theta, copies, DESIGN, task) - evidence[i])
        assert abs(ratio.mean() - 1) < 4.9 * ratio.std() / np.sqrt(draws)


def test_evidence_of_wslts_with_two_arms_is_a_product_of_beta_functions():
    agent, task, _, behavior = mixed_behavior("wslts", "paper", 2, 3, 20, 50)
    choices, rewards = behavior.fields["choice"], behavior.fields["reward"]
    stay, won = choices[:, :, 1:] == choices[:, :, :-1], rewards[:, :, :-1] == 1
    a, b, c, d = ((x & y).sum((1, 2)) for x, y in ((stay, won), (~stay, won), (~stay, ~won), (stay, ~won)))
    expected = betaln(a + 1, b + 1) + betaln(c + 1, d + 1) - 3 * np.log(2)
    np.testing.assert_allclose(agent.log_evidence(behavior, DESIGN, task), expected, rtol=1e-12)


def test_evidence_of_aeg_does_not_depend_on_the_points_once_there_are_enough():
    agent, task, _, behavior = mixed_behavior("aeg", "paper", 3, 2, 30, 100)
    own = agent.log_evidence(behavior, DESIGN, task)
    from scipy.special import logsumexp

    more = np.concatenate([logsumexp(part, axis=1) for part in agent._joint(behavior, task, 70)])
    np.testing.assert_allclose(own, more, atol=1e-10)


@pytest.mark.parametrize(("model", "convention"), AGENTS)
def test_relabelled_arms_and_swapped_blocks_change_nothing(model, convention):
    agent, task, theta, behavior = mixed_behavior(model, convention, 3, 2, 15, 60)
    rng = np.random.default_rng(4)
    relabel = np.array([[rng.permutation(3) for _ in range(2)] for _ in range(60)])
    choices = np.take_along_axis(relabel, behavior.fields["choice"].astype(int), axis=2)
    other = as_behavior(choices[:, ::-1], behavior.fields["reward"][:, ::-1])
    for one, two in (
        (agent.log_likelihood(theta, behavior, DESIGN, task), agent.log_likelihood(theta, other, DESIGN, task)),
        (agent.log_evidence(behavior, DESIGN, task), agent.log_evidence(other, DESIGN, task)),
    ):
        np.testing.assert_allclose(one, two, rtol=1e-10)


@pytest.mark.parametrize(("model", "convention"), AGENTS)
def test_missed_trials_are_as_if_they_had_never_been(model, convention):
    agent, task, theta, behavior = mixed_behavior(model, convention, 3, 2, 10, 40)
    keep = [np.array([0, 2, 3, 6, 7, 8]), np.array([1, 2, 4, 5, 8, 9])]  # the first trial of the second block is missed
    rng = np.random.default_rng(5)
    if convention == "released":
        keep = [np.arange(6)] * 2  # any other choice could be impossible after what is left out
    mask = np.zeros((40, 2, 10), bool)
    for b in range(2):
        mask[:, b, keep[b]] = True
    garbage = np.where(mask, behavior.fields["choice"], rng.integers(0, 3, mask.shape))
    masked = as_behavior(garbage, behavior.fields["reward"], mask)
    short = as_behavior(*(np.stack([behavior.fields[name][:, b, keep[b]] for b in range(2)], 1) for name in ("choice", "reward")))
    np.testing.assert_allclose(agent.log_likelihood(theta, masked, DESIGN, task), agent.log_likelihood(theta, short, DESIGN, task))
    np.testing.assert_allclose(agent.log_evidence(masked, DESIGN, task), agent.log_evidence(short, DESIGN, task), rtol=1e-9)


@pytest.mark.parametrize(("model", "convention"), AGENTS)
def test_nothing_observed_says_nothing(model, convention):
    agent, task, theta, behavior = mixed_behavior(model, convention, 3, 2, 5, 4)
    empty = as_behavior(behavior.fields["choice"], behavior.fields["reward"], np.zeros((4, 2, 5), bool))
    np.testing.assert_allclose(agent.log_likelihood(theta, empty, DESIGN, task), 0, atol=1e-12)
    np.testing.assert_allclose(agent.log_evidence(empty, DESIGN, task), 0, atol=1e-12)
    nobody = empty[:0]
    assert agent.log_evidence(nobody, DESIGN, task).shape == (0,)
    posterior = agent.exact_posterior(empty, DESIGN, task)
    for name, prior in agent.parameters.items():
        np.testing.assert_allclose(posterior.cdf(name, np.full(4, prior.quantile(0.3))), 0.3, atol=0.02)


# ---- limits


def test_wslts_that_always_stays_cannot_leave_a_winning_arm():
    behavior = as_behavior([[[0, 0, 1]], [[0, 1, 1]]], [[[1, 0, 0]], [[1, 1, 1]]])
    got = build("wslts").log_likelihood(repeated("wslts", (1.0, 0.5, 1.0), 2), behavior, DESIGN, BernoulliBandit(2, 1, 3))
    np.testing.assert_allclose(got, [np.log(1 / 2 * 1 / 2), -np.inf])


def test_wslts_shift_is_uniform_as_lambda_vanishes():
    agent, task, theta, behavior = mixed_behavior("wslts", "paper", 4, 2, 12, 50)
    theta["lambda"] = np.full(50, 1e-12)
    got = agent.log_likelihood(theta, behavior, DESIGN, task)
    choices, rewards = behavior.fields["choice"], behavior.fields["reward"]
    stay = choices[:, :, 1:] == choices[:, :, :-1]
    p_stay = np.where(rewards[:, :, :-1] == 1, theta["gamma_w"][:, None, None], 1 - theta["gamma_l"][:, None, None])
    expected = np.log(np.where(stay, p_stay, (1 - p_stay) / 3)).sum((1, 2)) - 2 * np.log(4)
    np.testing.assert_allclose(got, expected, atol=1e-8)


@pytest.mark.parametrize("power", [30.0, 300.0, 3e4])
@pytest.mark.filterwarnings("error")
def test_wslts_with_large_lambda_does_not_overflow(power):
    agent, task, rng = build("wslts"), BernoulliBandit(3, 2, 40), np.random.default_rng(6)
    theta = sample_priors(agent.parameters, 150, rng) | {"lambda": np.full(150, power)}
    behavior = agent.simulate(theta, task.baseline(150, rng), rng, task)
    assert np.isfinite(agent.log_likelihood(theta, behavior, DESIGN, task)).all()
    assert np.isfinite(agent.log_evidence(behavior, DESIGN, task)).all()


@pytest.mark.parametrize("convention", ["paper", "released"])
def test_aeg_without_exploration_takes_only_candidates(convention):
    """After a loss on arm 0 the two other arms are best, whatever the convention."""
    behavior = as_behavior([[[0, 1]], [[0, 0]]], [[[0, 0]], [[0, 0]]])
    got = build("aeg", convention).log_likelihood(repeated("aeg", (0.0, 0.0), 2), behavior, DESIGN, BernoulliBandit(3, 1, 2))
    np.testing.assert_allclose(got, [np.log(1 / 3 * 1 / 2), -np.inf])


def test_the_conventions_of_aeg_differ_where_losses_are_compared_with_no_trial():
    """One win and one loss: 2/4 or 2/3 against 1/2 or 1/1 for an arm never tried."""
    behavior = as_behavior([[[0, 0, 0]]], [[[1, 0, 0]]])
    theta, task = repeated("aeg", (0.0, 0.0), 1), BernoulliBandit(2, 1, 3)
    assert build("aeg").log_likelihood(theta, behavior, DESIGN, task)[0] == pytest.approx(np.log(1 / 4))
    assert build("aeg", "released").log_likelihood(theta, behavior, DESIGN, task)[0] == -np.inf


def test_gls_with_fair_transitions_is_a_product_over_trials():
    agent, task, theta, behavior = mixed_behavior("gls", "paper", 3, 1, 8, 30)
    theta |= {name: np.full(30, 0.5) for name in theta if name != "gamma"}
    got = agent.log_likelihood(theta, behavior, DESIGN, task)
    for i in range(30):
        history = list(zip(behavior.fields["choice"][i, 0].tolist(), behavior.fields["reward"][i, 0].tolist(), strict=True))
        expected = np.log(1 / 3)
        for t in range(1, 8):
            _, explore, exploit = reference.gls_targets(history[:t], 3)
            both = [reference.gls_emission(history[t][0], target, theta["gamma"][i], 3, False) for target in (explore, exploit)]
            expected += np.log(sum(both) / 2)
        assert got[i] == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("convention", ["paper", "released"])
def test_gls_cannot_explore_again_once_exploitation_absorbs(convention):
    """Arm 0 has a win and two losses, arm 1 no win and one loss: a dilemma. Exploit is 0, explore is 1."""
    start = [(1, 0), (0, 1), (0, 0), (0, 0)]
    theta, task = (1.0, 0.3, 0.3, 1.0, 1.0), BernoulliBandit(2, 1, 6)
    after = {}
    for pair in itertools.product((0, 1), repeat=2):
        # the losses of arm 0 go on, so that the dilemma does
        trials = [*start, (pair[0], 0), (pair[1], 0)]
        if reference.gls_targets(trials[:5], 2)[0] != "dilemma":
            continue
        behavior = as_behavior([[[c for c, _ in trials]]], [[[r for _, r in trials]]])
        after[pair] = build("gls", convention).log_likelihood(repeated("gls", theta, 1), behavior, DESIGN, task)[0]
    assert after[0, 1] == -np.inf
    assert np.isfinite(after[0, 0])


def test_gls_released_makes_no_error_in_a_same_situation():
    """A loss on arm 0 of three leaves arms 1 and 2 the same: to choose arm 0 again is an error, possible by the paper only."""
    behavior, theta, task = as_behavior([[[0, 0]]], [[[0, 0]]]), repeated("gls", (0.6, 0.5, 0.5, 0.5, 0.5), 1), BernoulliBandit(3, 1, 2)
    assert build("gls").log_likelihood(theta, behavior, DESIGN, task)[0] == pytest.approx(np.log(0.4 / 3))
    released = build("gls", "released")
    assert released.log_likelihood(theta, behavior, DESIGN, task)[0] == -np.inf
    assert released.log_evidence(behavior, DESIGN, task)[0] == -np.inf
    assert np.isnan(released.exact_posterior(behavior, DESIGN, task).mean("gamma")).all()


def test_long_experiments_do_not_underflow():
    task, rng = BernoulliBandit(3, 1, 1500), np.random.default_rng(8)
    behavior = as_behavior(rng.integers(0, 3, (3, 1, 1500)), rng.integers(0, 2, (3, 1, 1500)))
    for model in ("aeg", "gls"):
        agent = build(model)
        evidence = agent.log_evidence(behavior, DESIGN, task)
        assert np.isfinite(evidence).all()
        assert (evidence < -1400).all()


def test_improbable_behavior_does_not_underflow():
    """Ten choices of the better arm in a row, each with a probability of 1e-60."""
    behavior, theta = as_behavior([[[0] * 11]], [[[1] * 11]]), repeated("gls", (1e-60, 0.5, 0.5, 0.5, 0.5), 1)
    got = build("gls").log_likelihood(theta, behavior, DESIGN, BernoulliBandit(2, 1, 11))
    assert got[0] == pytest.approx(np.log(1 / 2) + 10 * np.log(1e-60))


# ---- mistakes


def test_one_set_of_parameters_for_each_participant():
    agent, task, theta, behavior = mixed_behavior("aeg", "paper", 3, 1, 5, 6)
    with pytest.raises(ModelError, match="6 values each"):
        agent.log_likelihood({name: values[:2] for name, values in theta.items()}, behavior, DESIGN, task)


def test_behavior_of_another_task():
    agent, _, theta, behavior = mixed_behavior("gls", "paper", 3, 1, 5, 6)
    behavior.fields["choice"][0] = 2
    with pytest.raises(DataError, match="choice"):
        agent.log_likelihood(theta, behavior, DESIGN, BernoulliBandit(2, 1, 5))
