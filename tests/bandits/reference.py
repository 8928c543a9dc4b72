"""The three models as plain loops, written from their definitions alone: slow, short, and independent of the package.

A block is a list of (choice, reward); a participant is a list of blocks. `theta` is a tuple in the order in which the package
shows the parameters. Every model gives two things:

    choose(history, theta, arms, rng, memory)   one choice after at least one trial; `memory` is a dict of the block's own
    probability(history, theta, arms)           p(choices | rewards, theta) of a block

Only numpy scalars, `random.Random` and, for the probability that a Beta draw is the largest, a grid over scipy's Beta.
"""

import math
import random

import numpy as np
from scipy.special import betainc

MODELS = [("wslts", "paper"), ("aeg", "paper"), ("aeg", "released"), ("gls", "paper"), ("gls", "released")]
PARAMETERS = {
    "wslts": ("gamma_w", "gamma_l", "lambda"),
    "aeg": ("epsilon", "phi"),
    "gls": ("gamma", "pi_00", "pi_01", "pi_10", "pi_11"),
}


def tally(history, arms):
    """Wins and losses of each arm."""
    wins, losses = [0] * arms, [0] * arms
    for choice, reward in history:
        if reward:
            wins[choice] += 1
        else:
            losses[choice] += 1
    return wins, losses


# ---- WSLTS


def wslts_choose(history, theta, arms, rng, memory, convention):
    gamma_w, gamma_l, power = theta
    previous, reward = history[-1]
    stay = rng.random() < (gamma_w if reward else 1 - gamma_l)
    if stay:
        return previous
    wins, losses = tally(history, arms)
    draws = {k: rng.betavariate((1 + wins[k]) ** power, (1 + losses[k]) ** power) for k in range(arms) if k != previous}
    return max(draws, key=draws.get)


def largest(a, b):
    """P(X_k is the largest) for independent X_k ~ Beta(a_k, b_k), on a fine grid of the logit scale; for moderate a and b."""
    a, b = np.asarray(a, float), np.asarray(b, float)
    spread = np.sqrt(1 / a + 1 / b)
    x = np.linspace((np.log(a / b) - 40 * spread).min(), (np.log(a / b) + 40 * spread).max(), 40001)
    log_p, log_q = -np.logaddexp(0, -x), -np.logaddexp(0, x)
    cdf = [betainc(ak, bk, np.exp(log_p)) for ak, bk in zip(a, b, strict=True)]
    result = []
    for k in range(len(a)):
        log_density = a[k] * log_p + b[k] * log_q
        density = np.exp(log_density - log_density.max())
        others = np.prod([cdf[j] for j in range(len(a)) if j != k], axis=0)
        result.append(float((density * others).sum() / density.sum()))
    return result


def wslts_probability(history, theta, arms, convention):
    gamma_w, gamma_l, power = theta
    total = 1 / arms
    for t in range(1, len(history)):
        (previous, reward), choice = history[t - 1], history[t][0]
        stay = gamma_w if reward else 1 - gamma_l
        if choice == previous:
            total *= stay
            continue
        wins, losses = tally(history[:t], arms)
        others = [k for k in range(arms) if k != previous]
        shares = largest([(1 + wins[k]) ** power for k in others], [(1 + losses[k]) ** power for k in others])
        total *= (1 - stay) * shares[others.index(choice)]
    return total


# ---- AEG


def aeg_distribution(history, theta, arms, convention):
    """The probability of every arm."""
    epsilon, phi = theta
    previous = history[-1][0]
    wins, losses = tally(history, arms)
    least = 2 if convention == "paper" else 1
    expected = [(1 + won) / (least + won + lost) for won, lost in zip(wins, losses, strict=True)]
    best = [k for k in range(arms) if math.isclose(expected[k], max(expected), rel_tol=1e-12)]
    result = []
    for k in range(arms):
        explore = (1 - phi) / arms + (phi if k == previous else 0)
        if k not in best:
            greedy = 0
        elif previous in best:
            greedy = (1 - phi) / len(best) + (phi if k == previous else 0)
        else:
            greedy = 1 / len(best)
        result.append(epsilon * explore + (1 - epsilon) * greedy)
    return result


def aeg_choose(history, theta, arms, rng, memory, convention):
    return rng.choices(range(arms), aeg_distribution(history, theta, arms, convention))[0]


def aeg_probability(history, theta, arms, convention):
    total = 1 / arms
    for t in range(1, len(history)):
        total *= aeg_distribution(history[:t], theta, arms, convention)[history[t][0]]
    return total


# ---- GLS


def gls_targets(history, arms):
    """Which situation it is, and the target set in the explore and in the exploit state."""
    wins, losses = tally(history, arms)
    both = [k for k in range(arms) if wins[k] == max(wins) and losses[k] == min(losses)]
    if both:
        return ("same" if len(both) > 1 else "better-worse"), both, both
    fewest = [k for k in range(arms) if losses[k] == min(losses)]
    explore = [k for k in fewest if wins[k] == max(wins[j] for j in fewest)]
    most = [k for k in range(arms) if wins[k] == max(wins)]
    exploit = [k for k in most if losses[k] == min(losses[j] for j in most)]
    return "dilemma", explore, exploit


def gls_emission(choice, target, gamma, arms, certain):
    """p(choice | target set)."""
    if len(target) == arms:
        return 1 / arms
    if certain:
        return 1 / len(target) if choice in target else 0.0
    return gamma / len(target) if choice in target else (1 - gamma) / (arms - len(target))


def gls_choose(history, theta, arms, rng, memory, convention):
    gamma, pi = theta[0], (theta[1:3], theta[3:5])
    situation, explore, exploit = gls_targets(history, arms)
    if "z" not in memory:
        memory["z"] = rng.randrange(2)
    if convention == "paper" or situation == "dilemma":
        memory["z"] = int(rng.random() < pi[memory["z"]][history[-1][1]])
    target = exploit if memory["z"] else explore
    certain = convention == "released" and situation == "same"
    weights = [gls_emission(k, target, gamma, arms, certain) for k in range(arms)]
    return rng.choices(range(arms), weights)[0]


def gls_probability(history, theta, arms, convention):
    """Summed over all sequences of latent states, one by one."""
    gamma, pi = theta[0], (theta[1:3], theta[3:5])
    paths = {(0,): 0.5 / arms, (1,): 0.5 / arms}
    for t in range(1, len(history)):
        situation, explore, exploit = gls_targets(history[:t], arms)
        moves = convention == "paper" or situation == "dilemma"
        certain = convention == "released" and situation == "same"
        longer = {}
        for path, weight in paths.items():
            p_exploit = pi[path[-1]][history[t - 1][1]] if moves else float(path[-1])
            for z, p in ((0, 1 - p_exploit), (1, p_exploit)):
                emission = gls_emission(history[t][0], exploit if z else explore, gamma, arms, certain)
                longer[(*path, z)] = weight * p * emission
        paths = longer
    return sum(paths.values())


# ---- all models

CHOOSE = {"wslts": wslts_choose, "aeg": aeg_choose, "gls": gls_choose}
PROBABILITY = {"wslts": wslts_probability, "aeg": aeg_probability, "gls": gls_probability}


def simulate(model, convention, theta, design, trials, rng):
    """One participant: `design` is a list of blocks, each a list of reward probabilities."""
    participant = []
    for block in design:
        arms, history, memory = len(block), [], {}
        for _ in range(trials):
            choice = CHOOSE[model](history, theta, arms, rng, memory, convention) if history else rng.randrange(arms)
            history.append((choice, int(rng.random() < block[choice])))
        participant.append(history)
    return participant


def probability(model, convention, theta, participant, arms):
    """p(choices | rewards, theta) of one participant; trials that are None were missed."""
    observed = [[trial for trial in block if trial is not None] for block in participant]
    return math.prod(PROBABILITY[model](block, theta, arms, convention) for block in observed if block)


def draw(model, rng: random.Random):
    """Parameters from the prior."""
    if model == "wslts":
        return rng.random(), rng.random(), rng.lognormvariate(0, 1)
    return tuple(rng.random() for _ in PARAMETERS[model])
