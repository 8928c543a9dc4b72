"""Compiled simulators against the plain loops of reference.py and against their own likelihoods."""

import random

import numba as nb
import numpy as np
import pytest
import reference
from scipy import stats

from tellapart.bandits.bernoulli import BernoulliBandit
from tellapart.errors import ModelError
from tellapart.models.simulation import simulate_models
from tellapart.models.streams import below, log_gamma_noise, standard_normal, uniform
from tellapart.parts import find_part
from tellapart.priors import sample_priors

CASES = [(model, convention, arms) for model, convention in reference.MODELS for arms in (2, 3, 4)]
FEW_ARMS = [pytest.param(*case, marks=pytest.mark.slow) if case[-1] == 4 else case for case in CASES]
"""The plain loops are slow, and of so few of their sequences of 4 arms most are too rare to be counted by themselves."""

THETA = {"wslts": (0.7, 0.6, 1.4), "aeg": (0.45, 0.35), "gls": (0.75, 0.15, 0.8, 0.35, 0.9)}
DESIGN = {2: [[0.3, 0.8]], 3: [[0.2, 0.5, 0.8]], 4: [[0.2, 0.4, 0.6, 0.8]]}
FALSE_ALARM = 1e-4


def build(model, convention):
    kind = find_part("model", model)
    return kind() if model == "wslts" else kind(convention)


def repeated(model, theta, n):
    return {name: np.full(n, value) for name, value in zip(reference.PARAMETERS[model], theta, strict=True)}


def everywhere(design, n):
    """The same design for all participants, (n, B, K)."""
    return np.broadcast_to(np.asarray(design, float), (n, *np.shape(design)))


def codes(choices, rewards, arms):
    """Each sequence of one block, (N, T), as a whole number."""
    symbols = 2 * np.asarray(choices, np.int64) + np.asarray(rewards, np.int64)
    return symbols @ ((2 * arms) ** np.arange(symbols.shape[1]))


@pytest.mark.parametrize(("model", "convention", "arms"), FEW_ARMS)
def test_same_distribution_of_sequences_as_the_plain_loops(model, convention, arms):
    """Chi-square test of two samples of complete 4-trial sequences; false alarm 1e-4 over all cases."""
    trials, few, many = 4, 6000, 200_000
    task = BernoulliBandit(arms, 1, trials)
    compiled = build(model, convention).simulate(
        repeated(model, THETA[model], many), everywhere(DESIGN[arms], many), np.random.default_rng(1), task
    )
    rng = random.Random(f"{model} {convention} {arms}")
    plain = np.array([reference.simulate(model, convention, THETA[model], DESIGN[arms], trials, rng)[0] for _ in range(few)])
    counts = [
        np.bincount(codes(*pair, arms), minlength=(2 * arms) ** trials)
        for pair in ((compiled.fields["choice"][:, 0], compiled.fields["reward"][:, 0]), (plain[:, :, 0], plain[:, :, 1]))
    ]
    rare = counts[0] * few / many < 5
    table = np.array([[*count[~rare], count[rare].sum()] for count in counts])
    table = table[:, table.sum(0) > 0]
    assert stats.chi2_contingency(table).pvalue > FALSE_ALARM / len(CASES)


def goodness_of_fit(agent, theta, arms, trials, n=400_000):
    """p value of a chi-square test of compiled sequences of one block against the probabilities that the likelihood gives."""
    task = BernoulliBandit(arms, 1, trials)
    behavior = agent.simulate(repeated(agent.name, theta, n), everywhere(DESIGN[arms], n), np.random.default_rng(2), task)
    code = codes(behavior.fields["choice"][:, 0], behavior.fields["reward"][:, 0], arms)
    _, first, counts = np.unique(code, return_index=True, return_counts=True)
    seen = behavior[first]
    p_reward = np.array(DESIGN[arms][0])[seen.fields["choice"]]
    log_reward = np.log(np.where(seen.fields["reward"] == 1, p_reward, 1 - p_reward)).sum((1, 2))
    log_choice = agent.log_likelihood(repeated(agent.name, theta, len(first)), seen, everywhere(DESIGN[arms], len(first)), task)
    expected = n * np.exp(log_choice + log_reward)
    rare = expected < 10
    observed, expected = np.append(counts[~rare], counts[rare].sum()), np.append(expected[~rare], 0.0)
    expected[-1] = n - expected.sum()
    observed, expected = observed[expected > 10], expected[expected > 10]
    statistic = ((observed - expected) ** 2 / expected).sum()
    return stats.chi2.sf(statistic, len(expected) - 1)


@pytest.mark.parametrize(("model", "convention", "arms"), CASES)
def test_sequences_occur_as_often_as_the_likelihood_says(model, convention, arms):
    """400,000 sequences of 4 trials; false alarm 1e-4 over all cases."""
    assert goodness_of_fit(build(model, convention), THETA[model], arms, 4) > FALSE_ALARM / len(CASES)


@pytest.mark.parametrize("power", [0.1, 6.0, 25.0, 300.0])
def test_shifts_occur_as_often_as_the_likelihood_says_whatever_lambda_is(power):
    """400,000 sequences of 5 trials, in many of which the other arms have equal odds; false alarm 1e-4 over all cases."""
    assert goodness_of_fit(build("wslts", "paper"), (0.4, 0.7, power), 3, 5) > FALSE_ALARM / 4


def summaries(choices, rewards):
    """Statistics of long behavior, (N, B, T) to (N, 6)."""
    stay, won = choices[:, :, 1:] == choices[:, :, :-1], rewards[:, :, :-1] == 1
    late = choices.shape[2] // 2
    again = choices[:, :, 2:] == choices[:, :, :-2]
    columns = stay & won, stay & ~won, stay[:, :, late:], rewards[:, :, late:], again, choices[:, :, -1:] == choices[:, :, :1]
    return np.stack([column.mean((1, 2)) for column in columns], axis=1)


@pytest.mark.parametrize(("model", "convention"), reference.MODELS)
def test_same_long_behavior_as_the_plain_loops(model, convention):
    """z-tests of six means over participants with parameters from the prior, 2 blocks of 25; false alarm 1e-4 over all cases."""
    few, many, trials, design = 600, 40_000, 25, [[0.25, 0.5, 0.7], [0.9, 0.1, 0.4]]
    agent, task = build(model, convention), BernoulliBandit(3, 2, trials)
    theta = sample_priors(agent.parameters, many, np.random.default_rng(3))
    compiled = agent.simulate(theta, everywhere(design, many), np.random.default_rng(4), task)
    rng = random.Random(5)
    plain = np.array([reference.simulate(model, convention, reference.draw(model, rng), design, trials, rng) for _ in range(few)])
    one, other = summaries(compiled.fields["choice"], compiled.fields["reward"]), summaries(plain[..., 0], plain[..., 1])
    z = (one.mean(0) - other.mean(0)) / np.sqrt(one.var(0) / many + other.var(0) / few)
    assert np.abs(z).max() < stats.norm.isf(FALSE_ALARM / 2 / 6 / len(reference.MODELS))


@pytest.mark.parametrize(("model", "convention"), reference.MODELS)
def test_same_seed_same_bytes(model, convention, by_cores):
    """Whatever the threads, and however the participants are divided over calls that share a generator."""
    agent, task, n = build(model, convention), BernoulliBandit(3, 2, 12), 3000
    theta = sample_priors(agent.parameters, n, np.random.default_rng(0))
    designs = task.baseline(n, np.random.default_rng(1))
    whole, threaded = by_cores(lambda: agent.simulate(theta, designs, np.random.default_rng(7), task), (1, 3))
    rng, parts = np.random.default_rng(7), []
    for start in range(0, n, 1000):
        part = slice(start, start + 1000)
        parts.append(agent.simulate({name: values[part] for name, values in theta.items()}, designs[part], rng, task))
    for name in ("choice", "reward"):
        assert whole.fields[name].tobytes() == threaded.fields[name].tobytes()
        assert whole.fields[name].tobytes() == np.concatenate([part.fields[name] for part in parts]).tobytes()


def test_same_seed_same_simulations():
    task, models = BernoulliBandit(3, 2, 10), [build(*case) for case in reference.MODELS[::2]]
    one, other = (simulate_models(task, models, [[0.2, 0.5, 0.8]] * 2, 600, np.random.default_rng(3)) for _ in range(2))
    assert one.behavior.fields["choice"].tobytes() == other.behavior.fields["choice"].tobytes()
    assert all(one.parameters[name].tobytes() == other.parameters[name].tobytes() for name in one.parameters)


def test_one_set_of_parameters_for_each_participant():
    with pytest.raises(ModelError, match="3 values each"):
        build("aeg", "paper").simulate(
            repeated("aeg", (0.5, 0.5), 2), everywhere(DESIGN[3], 3), np.random.default_rng(0), BernoulliBandit(3, 1, 5)
        )


def test_only_bandits_can_be_played():
    readings = find_part("task", "noisy-readings")()
    with pytest.raises(ModelError, match="bandits with wins and losses only"):
        build("aeg", "paper").simulate(repeated("aeg", (0.5, 0.5), 1), np.ones((1, 1, 1)), np.random.default_rng(0), readings)


@pytest.mark.parametrize("model", ["aeg", "gls"])
def test_unknown_conventions(model):
    with pytest.raises(ModelError, match="did you mean 'released'"):
        build(model, "release")


# ---- random numbers


@nb.njit
def many_uniforms(out, stream):
    for i in range(out.size):
        out[i] = uniform(stream)


@nb.njit
def many_below(out, n, stream):
    for i in range(out.size):
        out[i] = below(n, stream)


@nb.njit
def many_normals(out, stream):
    for i in range(out.size):
        out[i] = standard_normal(stream)


@nb.njit
def many_log_gammas(out, log_a, stream):
    for i in range(out.size):
        out[i] = log_gamma_noise(log_a, stream)


def test_the_stream_is_splitmix64():
    """The first words after the seed 1234567, as published with the generator; a uniform number is the upper 52 bits of one."""
    published = [6457827717110365317, 3203168211198807973, 9817491932198370423, 4593380528125082431, 16408922859458223821]
    out = np.empty(5)
    many_uniforms(out, np.array([1234567], np.uint64))
    assert out.tolist() == [((word >> 12) + 0.5) / 2**52 for word in published]


def test_uniform_numbers_are_uniform():
    """Chi-square tests of 2 million over 1,000 cells, of pairs that follow each other, and of whole numbers; false alarm 1e-4 over all."""
    out, whole = np.empty(2_000_000), np.empty(300_000, np.int64)
    many_uniforms(out, np.array([10], np.uint64))
    assert 0 < out.min() < out.max() < 1
    cells = (out * 1000).astype(int)
    pairs = (out * 30).astype(int).reshape(-1, 2) @ [30, 1]
    many_below(whole, 7, np.array([11], np.uint64))
    for counts in (np.bincount(cells, minlength=1000), np.bincount(pairs, minlength=900), np.bincount(whole, minlength=7)):
        assert stats.chisquare(counts).pvalue > FALSE_ALARM / 3


def test_normal_numbers_are_normal():
    """Chi-square test of 4 million over 400 equally likely cells, and binomial tests of the tails; false alarm 1e-4 over all."""
    out = np.empty(4_000_000)
    many_normals(out, np.array([11], np.uint64))
    counts = np.bincount((stats.norm.cdf(out) * 400).astype(int), minlength=400)
    assert stats.chisquare(counts).pvalue > FALSE_ALARM / 5
    for edge in (-4.5, -4.0, 4.0, 4.5):
        hits = int((out < edge).sum() if edge < 0 else (out > edge).sum())
        assert stats.binomtest(hits, out.size, stats.norm.sf(abs(edge))).pvalue > FALSE_ALARM / 5


@pytest.mark.parametrize("a", [1.0, 1.3, 2.0, 7.5, 400.0, 1e8, 1e9])
def test_gamma_draws(a):
    """Kolmogorov-Smirnov tests of 400,000 draws; false alarm 1e-4 over all. From exp(20) = 5e8 on nothing is rejected."""
    out = np.empty(400_000)
    many_log_gammas(out, np.log(a), np.array([12], np.uint64))
    assert stats.kstest(stats.gamma(a).cdf(a * np.exp(out)), "uniform").pvalue > FALSE_ALARM / 7


@pytest.mark.parametrize("log_a", [25.0, 60.0, 1000.0, 5000.0])
def test_noise_of_needles(log_a):
    """log of a Gamma draw over a is normal with standard deviation 1 / sqrt(a) for large a; false alarm 1e-4 over all."""
    out = np.empty(200_000)
    many_log_gammas(out, log_a, np.array([13], np.uint64))
    assert stats.kstest(out * np.exp(0.5 * min(log_a, 1300.0)), "norm").pvalue > FALSE_ALARM / 4


# ---- limits of the parameters


def play(model, convention, theta, design, trials=40, n=4000, seed=0):
    """Choices and rewards (n, T) of one block."""
    task = BernoulliBandit(len(design), 1, trials)
    behavior = build(model, convention).simulate(repeated(model, theta, n), everywhere([design], n), np.random.default_rng(seed), task)
    return behavior.fields["choice"][:, 0].astype(int), behavior.fields["reward"][:, 0].astype(int)


def counts_before(choices, rewards, arms):
    """Wins and losses of each arm before each trial, both (N, T, K)."""
    chosen = choices[:, :, None] == np.arange(arms)
    wins, losses = np.cumsum(chosen & (rewards[:, :, None] == 1), 1), np.cumsum(chosen & (rewards[:, :, None] == 0), 1)
    shift = [(0, 0), (1, 0), (0, 0)]
    return np.pad(wins, shift)[:, :-1], np.pad(losses, shift)[:, :-1]


def test_wslts_never_leaves_a_winning_arm():
    choices, rewards = play("wslts", "paper", (1.0, 0.5, 1.0), [0.3, 0.5, 0.7])
    stay = choices[:, 1:] == choices[:, :-1]
    assert stay[rewards[:, :-1] == 1].all()
    assert not stay[rewards[:, :-1] == 0].all()


def test_wslts_shifts_uniformly_as_lambda_vanishes():
    """Chi-square test of where shifts go, to the other arm with more or with fewer wins; false alarm 1e-4."""
    choices, rewards = play("wslts", "paper", (0.0, 1.0, 1e-9), [0.1, 0.5, 0.9])
    wins, _ = counts_before(choices, rewards, 3)
    others = np.stack([(choices[:, :-1] + step) % 3 for step in (1, 2)], axis=-1)
    first, second = (np.take_along_axis(wins[:, 1:], others[..., k : k + 1], 2)[..., 0] for k in (0, 1))
    better = np.where(first > second, others[..., 0], others[..., 1])
    apart = first != second
    hits = (choices[:, 1:] == better)[apart]
    assert stats.binomtest(int(hits.sum()), hits.size).pvalue > FALSE_ALARM


@pytest.mark.parametrize("power", [30.0, 300.0])
def test_wslts_shifts_to_the_arm_of_larger_odds_as_lambda_grows(power):
    choices, rewards = play("wslts", "paper", (0.5, 0.5, power), [0.2, 0.5, 0.8])
    wins, losses = counts_before(choices, rewards, 3)
    odds = (1 + wins) / (1 + losses)
    i, t = np.nonzero(choices[:, 1:] != choices[:, :-1])
    previous, chosen = choices[i, t], choices[i, t + 1]
    other = 3 - previous - chosen
    ratio = odds[i, t + 1, chosen] / odds[i, t + 1, other]
    # arms that have both been tried: a needle each, so the better one is taken for certain
    tried = ((wins + losses)[i, t + 1, chosen] > 0) & ((wins + losses)[i, t + 1, other] > 0)
    assert (ratio[tried & (power * np.abs(np.log(ratio)) > 60)] > 1).all()


@pytest.mark.parametrize("convention", ["paper", "released"])
def test_aeg_without_exploration_is_greedy(convention):
    choices, rewards = play("aeg", convention, (0.0, 0.0), [0.3, 0.5, 0.7])
    wins, losses = counts_before(choices, rewards, 3)
    expected = (1 + wins) / ((2 if convention == "paper" else 1) + wins + losses)
    taken = np.take_along_axis(expected, choices[:, :, None], 2)[..., 0]
    assert np.allclose(taken[:, 1:], expected[:, 1:].max(2))


def situations(choices, rewards, arms):
    """For each trial: is it a dilemma; is the choice in the exploit target, in the explore target; (N, T)."""
    wins, losses = counts_before(choices, rewards, arms)
    exploit, explore = 1000 * wins - losses, wins - 1000 * losses
    both = (wins == wins.max(2, keepdims=True)) & (losses == losses.min(2, keepdims=True))
    taken = [np.take_along_axis(score == score.max(2, keepdims=True), choices[:, :, None], 2)[..., 0] for score in (exploit, explore)]
    return ~both.any(2), taken[0], taken[1]


def test_gls_with_fair_transitions_forgets_its_state():
    """Lee et al.'s latent state: exploit in half of the dilemmas, whatever came before; false alarm 1e-4 over both tests."""
    choices, rewards = play("gls", "paper", (1.0, 0.5, 0.5, 0.5, 0.5), [0.4, 0.6], trials=60)
    dilemma, exploits, explores = situations(choices, rewards, 2)
    assert (exploits != explores)[dilemma].all()
    pair = dilemma[:, 1:] & dilemma[:, :-1]
    assert stats.binomtest(int(exploits[dilemma].sum()), int(dilemma.sum())).pvalue > FALSE_ALARM / 2
    table = np.histogram2d(exploits[:, 1:][pair], exploits[:, :-1][pair], bins=2)[0]
    assert stats.chi2_contingency(table).pvalue > FALSE_ALARM / 2


@pytest.mark.parametrize("convention", ["paper", "released"])
def test_gls_exploitation_can_absorb(convention):
    """Lee et al.'s switch point: with pi_1. = 1 and no execution error nobody explores again after exploiting."""
    choices, rewards = play("gls", convention, (1.0, 0.2, 0.2, 1.0, 1.0), [0.4, 0.6], trials=60)
    dilemma, exploits, explores = situations(choices, rewards, 2)
    exploited = np.maximum.accumulate(dilemma & exploits & ~explores, axis=1)
    assert exploits[:, 1:][dilemma[:, 1:] & exploited[:, :-1]].all()
    assert explores[dilemma].any()
