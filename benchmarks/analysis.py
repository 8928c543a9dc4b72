"""What `tellapart analyse` and `tellapart power` say, held against exact answers and brute force.

    python benchmarks/analysis.py STUDY [PART …]

STUDY is a folder with a finished run of examples/bandit. Parts, all of them if none is named:

    frequencies   group frequencies of 100 people from the network's probabilities, against those from exact evidences; 20 groups
    coverage      how often 90 % intervals of frequencies, from the network's probabilities, hold the truth; 500 groups of 100
    planted       groups of 30 that follow the study's own models, people unlike, alike, or in between, or a fourth one: how often
                  predictive checks raise an alarm; 100 of each
    unlike        200 people of agents that are not among the models: divergence of model probabilities from exact ones; unlike:12 for
                  other people, who are drawn by seed 12
    power         people needed, against studies of which each is simulated and analysed anew
    thousand      1,000 participants with missed trials, from table to page

Takes minutes for each part, tens of minutes for planted and power, which analyse hundreds of groups.
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from takes import say

import tellapart as ta
from tellapart.groups.evidence import likelihood_evidence, network_evidence
from tellapart.groups.power import power_curve
from tellapart.groups.power_models import most_frequent_model
from tellapart.groups.power_people import simulated_evidence
from tellapart.groups.predictive import Predictor
from tellapart.groups.refine import refine
from tellapart.information.exact import model_probabilities
from tellapart.parts import find_part
from tellapart.result import DesignResult
from tellapart.run import Run

PLANTED = ("choice-kernel", "q-learning", "biased-random")


@ta.agent(name="lapsing", parameters={"alpha": ta.Uniform(0, 1), "beta": ta.Gamma(2, 3), "lapse": ta.Uniform(0.1, 0.5)})
class Lapsing:
    """Q-learning, and now and then any arm."""

    def start(self, arms):
        return np.full(arms, 0.5)

    def choose(self, state):
        return (1 - self.lapse) * ta.softmax(self.beta * state) + self.lapse / len(state)

    def learn(self, state, choice, reward):
        state[choice] += self.alpha * (reward - state[choice])
        return state


class Plain(ta.LikelihoodModel):
    """A model as users write them: with a likelihood, but without an integral of its own."""

    def __init__(self, model: Any) -> None:
        self.inner, self.name = model, model.name

    @property
    def parameters(self) -> Any:
        return self.inner.parameters

    def simulate(self, parameters: Any, designs: Any, rng: Any, task: Any) -> Any:
        return self.inner.simulate(parameters, designs, rng, task)

    def log_likelihood(self, parameters: Any, behavior: Any, designs: Any, task: Any) -> Any:
        return self.inner.log_likelihood(parameters, behavior, designs, task)


def at(result: DesignResult, n: int) -> Any:
    return np.broadcast_to(result.design, (n, *result.design.shape))


def divergences(exact: Any, other: Any) -> Any:
    """Of other probabilities from exact ones, for each person, in nats."""
    return (exact * (np.log(np.maximum(exact, 1e-300)) - np.log(np.maximum(other, 1e-300)))).sum(1)


def frequencies(result: DesignResult) -> None:
    study, gaps = result.study, []
    for seed in range(20):
        rng = np.random.default_rng([seed, 1])
        r = rng.dirichlet(np.ones(len(study.models)))
        people = ta.simulate_models(study.task, study.models, result.design, 400, rng)
        chosen = np.concatenate([rng.choice(np.flatnonzero(people.model == m), k) for m, k in enumerate(rng.multinomial(100, r))])
        behavior = people.behavior[chosen]
        exact = model_probabilities(study.task, study.question, behavior, result.design)
        evidences = (np.log(np.maximum(exact, 1e-300)), network_evidence(result.found.estimator, behavior, at(result, 100), 1).log_evidence)
        a, b = (ta.random_effects(e, study.question.names).frequencies for e in evidences)
        gaps.append(np.abs(a - b).max())
    print(f"frequencies: largest difference of a group {np.mean(gaps):.4f} on average, {np.max(gaps):.4f} at most of 20 groups of 100")


def pool(result: DesignResult, each: int, seed: int) -> tuple[Any, Any]:
    """True models of simulated people, and what the network learns of them."""
    rng = np.random.default_rng(seed)
    return simulated_evidence(result.found.estimator, at(result, each * len(result.study.models)), rng)[:2]


def coverage(result: DesignResult) -> None:
    model, evidence = pool(result, 3000, 2)
    names, rng, held = result.study.question.names, np.random.default_rng(3), []
    for _ in range(500):
        r = rng.dirichlet(np.full(len(names), 1 / len(names)))
        chosen = np.concatenate([rng.choice(np.flatnonzero(model == m), k) for m, k in enumerate(rng.multinomial(100, r))])
        effects = ta.random_effects(evidence[chosen], names)
        held.append((effects.low <= r) & (r <= effects.high))
    share = np.mean(held, axis=0)
    listed = ", ".join(f"{name} {100 * held_by:.1f} %" for name, held_by in zip(names, share, strict=True))
    print(f"coverage of 90 % intervals over 500 groups of 100: {listed}; all models together {100 * share.mean():.1f} %")


def planted(result: DesignResult) -> None:
    where, design = at(result, 30), result.design
    task, models = result.study.task, result.study.models
    predictor = Predictor(result.found.estimator, where, np.ones((30, task.blocks, task.trials), bool))

    def some(rng: Any) -> ta.Behavior:
        chosen = [models[m] for m in np.flatnonzero(rng.random(len(models)) < 0.7)] or models
        return ta.simulate_models(task, chosen, design, 30, rng).behavior

    def around(rng: Any, n: int, width: float) -> ta.Behavior:
        """People of one model, around somebody."""
        model = models[rng.integers(len(models))]
        z = rng.standard_normal(len(model.parameters)) + width * rng.standard_normal((n, len(model.parameters)))
        theta = {name: prior.from_normal(z[:, p]) for p, (name, prior) in enumerate(model.parameters.items())}
        return model.simulate(theta, where[:n], rng, task)

    def of(name: str) -> Any:
        return lambda rng: ta.simulate_models(task, [find_part("model", name)()], design, 30, rng).behavior

    known = {
        "some of the study's models": some,
        "one of the study's models, all people alike": lambda rng: around(rng, 30, 0.0),
        "one of the study's models, people much alike": lambda rng: around(rng, 30, 0.3),
        "two kinds of people, alike within each": lambda rng: ta.Behavior.concatenate([around(rng, 15, 0.0) for _ in range(2)]),
    }
    for label, people in {**known, **{name: of(name) for name in PLANTED if isinstance(task, ta.BernoulliBandit)}}.items():
        alarms = sum(predictor.predict(people(np.random.default_rng([seed, 8])), where, seed).alarm for seed in range(100))
        print(f"planted: groups of 30, {label}: alarm in {alarms} of 100", flush=True)


def strangers(result: DesignResult, seed: int) -> ta.Behavior:
    """200 people: a model in each block, one that lapses, one that forgets."""
    study, rng = result.study, np.random.default_rng(seed)
    first, second = (ta.simulate_models(study.task, [model], result.design, 67, rng).behavior for model in (ta.AEG(), ta.WSLTS()))
    early = np.arange(study.task.blocks)[:, None] == 0
    mixed = ta.Behavior({name: np.where(early, first.fields[name], second.fields[name]) for name in first.fields}, first.mask)
    others = [ta.simulate_models(study.task, [model], result.design, n, rng).behavior for model, n in ((Lapsing(), 67), (forgetting(), 66))]
    return ta.Behavior.concatenate([mixed, *others])


def forgetting() -> Any:
    return find_part("model", "q-learning-forgetting")()


def unlike(result: DesignResult, seed: int = 11) -> None:
    study, people, where = result.study, strangers(result, seed), at(result, 200)
    exact = model_probabilities(study.task, study.question, people, result.design)
    estimator = result.found.estimator
    question = estimator.question
    plain = divergences(exact, network_evidence(estimator, people, where, 1).probabilities(question.prior))
    print(f"unlike: the plain network {plain.mean():.4f} nats from exact")
    estimator.question = ta.Question(tuple(Plain(model) for model in question.models), question.goal, question.prior)
    started = time.process_time()
    evidence = likelihood_evidence(estimator, people, where)
    sampled = divergences(exact, evidence.probabilities(question.prior))
    print(f"  with likelihoods {sampled.mean():.4f}; {evidence.words} {time.process_time() - started:.0f} s of one core")
    estimator.question = question
    started = time.process_time()
    found = refine(estimator, people, where)
    refined = divergences(exact, network_evidence(found.estimator, people, where, 1).probabilities(question.prior))
    share = refined.mean() / plain.mean()
    se = np.std(refined - share * plain, ddof=1) / np.sqrt(len(plain)) / plain.mean()
    took = f"{time.process_time() - started:.0f} s of one core"
    print(f"  refined {refined.mean():.4f}, {100 * share:.0f} ± {100 * se:.0f} % of the plain network's; {found.words} {took}")


def power(result: DesignResult) -> None:
    study, r, stages = result.study, [0.6, 0.2, 0.2], [[20, 30, 40, 55, 75, 100]]
    names = study.question.names
    ours = most_frequent_model(*pool(result, 1000, 4), r, names, stages=stages)
    rng = np.random.default_rng(9)

    def right(_: Any, sizes: Any) -> list[bool]:
        counts = zip(study.models, rng.multinomial(max(sizes), r), strict=True)
        parts = [ta.simulate_models(study.task, [model], result.design, n, rng).behavior for model, n in counts if n]
        everybody = ta.Behavior.concatenate(parts)[rng.permutation(max(sizes))]
        evidence = network_evidence(result.found.estimator, everybody, at(result, max(sizes)), 1).log_evidence
        return [bool(ta.random_effects(evidence[:n], names).protected[0] >= 0.95) for n in sizes]

    brute = power_curve("the same", right, stages=stages, studies=300)
    print(f"power: {ours.needed():.1f} people by groups drawn from simulated people, {brute.needed():.1f} by brute force")


def thousand(result: DesignResult) -> None:
    study, rng = result.study, np.random.default_rng(3)
    behavior = ta.simulate_models(study.task, study.models, result.design, 1000, rng).behavior
    seen = ta.Behavior(behavior.fields, behavior.mask & (rng.random(behavior.mask.shape) > 0.03), behavior.participants)
    with tempfile.TemporaryDirectory() as folder:
        table = Path(folder) / "data.csv"
        seen.to_table().to_csv(table, index=False)
        started, cpu = time.time(), time.process_time()
        found = result.analyse([table])
        ta.write_analysis(Path(folder) / "page.html", study.name, found, study.question)
        took = f"{time.time() - started:.1f} s, {time.process_time() - cpu:.1f} s of one core"
        print(f"thousand: {took}; group p {found.prediction.group.p:.3f}")


def main() -> None:
    parts = {part.__name__: part for part in (frequencies, coverage, planted, unlike, power, thousand)}
    study = ta.Study.from_file(sys.argv[1])
    result = Run.finished(study, Path(sys.argv[1]) / "run").result()
    for name in sys.argv[2:] or parts:
        part, _, seed = name.partition(":")
        parts[part](result, *([int(seed)] if seed else []))


if __name__ == "__main__":
    say(__doc__)
    main()
