"""Does a likelihood say how probable what was simulated is?

A participant is simulated with one of two sets of parameters, by the toss of a coin, and the likelihood says which of them it was:

    P(first | y) = p(y | theta_1) / (p(y | theta_1) + p(y | theta_2)).

If it is right, a second label that is drawn with this probability has, given y and both sets, the same distribution as the true
one. So the difference of the two labels, times any number that y and both sets give, is as often above 0 as below. Such numbers are how
much the likelihood prefers the first, and how the two differ in each parameter; what is beyond chance is judged as `models/chance.py` says.
A likelihood that is too sure of itself, a density that lacks its factor, responses that are drawn otherwise than it says: all are found so.

Two models are held against each other in the same way, each with parameters of its own. What no parameter enters cancels within a
model, but not between two: there, the sum of the differences says whether one of them counts what the other leaves out.
"""

from __future__ import annotations

from functools import partial
from itertools import pairwise
from typing import Any, Sequence

import numpy as np
from scipy.special import expit

from ..models.base import Floats, LikelihoodModel, Model
from ..models.chance import beyond_chance, standardised
from ..models.failures import attempt
from ..priors import on_normal_scale, sample_priors
from ..tasks.base import Task
from ..tasks.sampling import sample
from .findings import Checked, Findings

FEWEST, PEOPLE = 24, 2000
"""Participants of the first look, at least and if they can be afforded."""


def check_likelihoods(
    models: Sequence[Model], task: Task, *, alone: bool = False, seed: int = 0, raise_errors: bool = True, most: int | None = None
) -> Checked:
    """Are the likelihoods of some models on one scale, so that their evidence can be compared? Those without one are left out.

    Arguments:
        alone: Is each also that of its own simulator? `check_model` asks the same.
        seed: Where randomness starts.
        raise_errors: Raise a `ModelError` if there is an error; else it is among the findings of what is returned.
        most: Participants that can be afforded, if that is a question; slow models are judged by fewer.
    """
    known = [model for model in models if isinstance(model, LikelihoodModel)]
    findings = Findings(" and ".join(model.name for model in known))
    n = PEOPLE if most is None else max(FEWEST, min(most, PEOPLE))
    pairs = [*((model, model) for model in known if alone), *pairwise(known)]
    findings.run([partial(hold_against_simulators, pair, task, findings, seed, n) for pair in pairs])
    return findings.checked(raise_errors)


def hold_against_simulators(pair: tuple[LikelihoodModel, LikelihoodModel], task: Task, findings: Findings, seed: int, n: int) -> None:
    """Tell if two likelihoods, or one given twice, are not as sure of what made a behavior as they say."""
    what = f"The likelihoods of '{pair[0].name}' and '{pair[1].name}' contradict their simulators when they are compared."
    fix = "let each be the whole probability or density of the responses, with its constants and with what only they enter"
    if pair[0] is pair[1]:
        what = f"The likelihood of '{pair[0].name}' contradicts its simulator."
        fix = "compare it with what is simulated; are all factors there that a parameter enters?"
    for statistic, z in list(miscalibrations(pair, task, seed, n).items())[:1]:
        findings.error(what, fix, got=f"{statistic} (z = {z:.0f})")


def miscalibrations(pair: tuple[LikelihoodModel, LikelihoodModel], task: Task, seed: int, n: int) -> dict[str, float]:
    """What two likelihoods, or one given twice, say wrongly of participants: the statistic and its z, the clearest first."""

    def differences(again: int, count: int) -> dict[str, float]:
        rng = np.random.default_rng([seed, 30, again])
        designs, first = sample(task.design_space, count, rng), rng.random(count) < 0.5
        theta = [sample_priors(model.parameters, count, rng) for model in pair]
        if pair[0] is pair[1]:
            _differ_in_one(theta)
        behavior, able = task.nothing(count), np.ones(count, bool)
        for model, values, chosen in zip(pair, theta, (first, ~first), strict=True):
            done, failures = attempt(model, values, designs, rng, task)
            behavior.write(np.flatnonzero(chosen), done[chosen])
            able[list(failures)] = False  # that it could not have been this set is no matter of the likelihood
        theta = [{name: column[able] for name, column in values.items()} for values in theta]
        log_p = [np.asarray(model.log_likelihood(theta[m], behavior[able], designs[able], task)) for m, model in enumerate(pair)]
        preference = expit(log_p[0] - log_p[1])
        x = first[able] - (rng.random(able.sum()) < preference).astype(float)
        known = _known(pair, theta, 2 * preference - 1)
        return {words: float(standardised((x * weight).sum(), np.square(x * weight).sum())) for words, weight in known.items()}

    return beyond_chance(differences, n)


def _differ_in_one(theta: Sequence[dict[str, Floats]]) -> None:
    """Let every second participant's two sets be the same but for one parameter, the parameters taking turns."""
    names = [*theta[0]]
    for p, name in enumerate(names):
        turn = np.arange(len(theta[0][name]))
        same = (turn % 2 == 0) & (turn // 2 % len(names) != p)
        theta[1][name] = np.where(same, theta[0][name], theta[1][name])


def _known(pair: tuple[LikelihoodModel, LikelihoodModel], theta: Sequence[dict[str, Floats]], preferred: Floats) -> dict[str, Floats]:
    """What behavior and both sets of parameters give, (N,) each, with the words for it if more of the first is true than is said."""
    known: dict[str, Any] = {"what is preferred is true more often (+) or less often (-) than is said": preferred}
    if pair[0] is not pair[1]:
        return {**known, f"'{pair[0].name}' is true more often (+) or less often (-) than is said": np.ones_like(preferred)}
    one, other = (on_normal_scale(pair[0].parameters, values, len(preferred)) for values in theta)
    for p, name in enumerate(pair[0].parameters):
        known[f"a larger '{name}' is true more often (+) or less often (-) than is said"] = one[:, p] - other[:, p]
        known[f"a more extreme '{name}' is true more often (+) or less often (-) than is said"] = np.abs(one[:, p]) - np.abs(other[:, p])
    return known
