"""Adaptive experiments, judged by likelihoods that no decision uses.

    python benchmarks/adaptive.py discounting [N]     24 questions, one at a time, about k and temperature; N participants (500)
    python benchmarks/adaptive.py speed               seconds of a decision for one participant, and for a batch of 50
    python benchmarks/adaptive.py regret [N]          the chosen question beside the best one by likelihood, N moments (60)
    python benchmarks/adaptive.py retention [N]       power or exponential, 20 intervals: ours, exact greedy, random; N participants (200)
    python benchmarks/adaptive.py bandits [N] [S] [NAME …]  the paper's four studies, or those named (discriminate, wslts, aeg, gls),
                                                      adaptive minus fixed, N participants (60), S steps (1500)
    python benchmarks/adaptive.py blocks [N] [S]      the chosen second block of a bandit beside others by likelihood, N moments (16),
                                                      networks of S steps (1500)
    python benchmarks/adaptive.py nuisance [N]        one parameter asked about, others nuisance: regret and ± at N moments (24)
    python benchmarks/adaptive.py calibration [N]     ranks and reliability on adaptively made data, N participants (300)

What is learned is kept in the folder that TELLAPART_KEEP names, or learned anew. Numbers are printed as they come, so that a run that is
stopped has told something.

Takes 24 minutes for discounting with 500 participants, a minute for speed, 6 minutes for regret (all measured beside other work);
minutes for retention and for nuisance; 9 minutes of one core for calibration, 3 of them for what is learned first; as much for blocks,
4 of them for its networks; hours for all bandits, whose networks are trained first (4 minutes of one core for aeg's).
"""

from __future__ import annotations

import os
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch
from scipy.special import expit, logsumexp
from takes import say
from torch import Tensor, nn

import tellapart as ta
from tellapart.adaptive.answers import Answers
from tellapart.adaptive.by_answers import ByAnswers
from tellapart.adaptive.codes import Codes
from tellapart.adaptive.learned import Learning
from tellapart.adaptive.looking import Effort
from tellapart.adaptive.playing import Played, play
from tellapart.adaptive.policy import Policy
from tellapart.adaptive.stopping import Stopping, calibration_after, stop
from tellapart.adaptive.worth import worth
from tellapart.behavior import Behavior
from tellapart.information.estimate import Floats
from tellapart.information.exact import exact_values, log_evidences, log_posterior
from tellapart.models.evidence import prior_points, require_likelihoods
from tellapart.models.simulation import Simulations, turns
from tellapart.priors import sample_priors
from tellapart.question import Question
from tellapart.search.amortized import Amortized

ROOT = Path(__file__).parents[1]
for example in ("discounting", "retention"):
    sys.path.insert(0, str(ROOT / "examples" / example))
sys.path.insert(0, str(ROOT / "tests" / "adaptive"))

import discounting as money  # noqa: E402
import retention as recall  # noqa: E402
from yes_no import Signals, model_of  # noqa: E402

BATCH = 50
"""Participants that are decided for together."""

PRIOR = 4000
"""Draws of the prior that are weighed by a likelihood."""


def kept(name: str) -> Path | None:
    """Where what is learned for a benchmark is kept."""
    folder = os.environ.get("TELLAPART_KEEP")
    return Path(folder) / name if folder else None


def questions_policy() -> Policy:
    """Hyperbolic discounting, 24 questions one at a time, about k and temperature; the plan is 24 customary questions."""
    task, question = money.Questions(blocks=24, trials=1), Question((money.hyperbolic(),), "estimate")
    plan = task.baseline(1, np.random.default_rng(0))[0]
    start = time.process_time()
    policy = Learning(task, question, Amortized(), 1, kept("discounting")).policy(plan, None)
    print(f"the law of answers: {time.process_time() - start:.0f} s of one core to learn or read", flush=True)
    return policy


def exact_nats(policy: Policy, people: Simulations) -> Floats:
    """log p(v | y) / p(v) of participants by likelihood, (N,)."""
    question, task = policy.way.question, policy.task
    return exact_values(task, question, people, log_evidences(task, question, people.behavior, people.designs))


def divergence(model: ta.LikelihoodModel, task: ta.Task, people: Simulations) -> Floats:
    """The divergence of each participant's exact posterior from the prior, (N,): its mean is the information too, with far less noise.

    The mean of log p(theta | y) / p(theta) over theta drawn from the exact posterior of y, in the place of the one true theta.
    """
    points = prior_points(model, tuple(model.parameters))
    count, values = len(next(iter(points.values()))), []
    for i in range(len(people)):
        everybody = people.behavior[np.full(count, i)]
        log_p = model.log_likelihood(points, everybody, np.repeat(people.designs[[i]], count, 0), task)
        log_w = log_p - logsumexp(log_p)
        values.append(np.exp(log_w) @ (log_w + np.log(count)))
    return np.array(values)


def in_batches(policy: Policy, n: int, seed: int, batch: int = BATCH) -> list[Played]:
    """Adaptive participants, a batch at a time."""
    batches, (model,) = [], policy.way.question.models
    assert isinstance(model, ta.LikelihoodModel)
    for number, first in enumerate(range(0, n, batch)):
        size = min(batch, n - first)
        people = policy.way.question.simulate(policy.task, policy.plan, size, np.random.default_rng([seed, number]))
        batches.append(play(policy, people, np.random.default_rng([seed, number, 1])))
        values = np.concatenate([exact_nats(policy, one.simulations) for one in batches])
        smooth = np.concatenate([divergence(model, policy.task, one.simulations) for one in batches])
        line = f"{len(values)} participants: {values.mean():.3f} ± {values.std(ddof=1) / len(values) ** 0.5:.3f} nats by likelihood"
        line += f", by divergence {smooth.mean():.3f} ± {smooth.std(ddof=1) / len(values) ** 0.5:.3f}"
        seconds = [len(one) * float(s) for one in batches for s in one.seconds[0]]
        print(f"{line}; a batch of {batch}: {np.median(seconds):.2f} s (median), {np.quantile(seconds, 0.95):.2f} s (95 %)", flush=True)
    return batches


def discounting(n: int = 500, batch: int = BATCH) -> None:
    """The prize: 3.08 by exact greedy choice, 1.87 by 24 customary questions."""
    policy = questions_policy()
    in_batches(policy, n, 11, batch)
    people = policy.way.question.simulate(policy.task, policy.task.baseline(n, np.random.default_rng(5)), n, np.random.default_rng(12))
    values = exact_nats(policy, people)
    smooth = divergence(money.hyperbolic(), policy.task, people)
    line = f"24 customary questions: {values.mean():.3f} ± {values.std(ddof=1) / n**0.5:.3f} nats"
    print(f"{line}, by divergence {smooth.mean():.3f} ± {smooth.std(ddof=1) / n**0.5:.3f}")


def speed() -> None:
    """How long decisions take, with 0, 6, 12, 18 and 23 answers."""
    policy, rng = questions_policy(), np.random.default_rng(3)
    people = policy.way.question.simulate(policy.task, policy.task.baseline(BATCH, rng), BATCH, rng)
    policy.decide(people.behavior[:1], people.designs[:1], 0)
    one, many = [], []
    for block in (0, 6, 12, 18, 23):
        for i in range(20):
            start = time.perf_counter()
            policy.decide(people.behavior[i], people.designs[[i]], block)
            one.append(time.perf_counter() - start)
        start = time.perf_counter()
        policy.decide(people.behavior, people.designs, block)
        many.append(time.perf_counter() - start)
    print(f"one participant: {np.median(one):.3f} s (median), {np.quantile(one, 0.95):.3f} s (95 %); limit 1 s")
    print(f"a batch of {BATCH}: {np.median(many):.2f} s (median), {max(many):.2f} s (longest); limit 8 s")


def exact_gains(model: ta.LikelihoodModel, task: ta.Task, people: Behavior, run: Floats, rows: Floats) -> Floats:
    """I(theta; answer | data) of rows (C, V) by likelihood, at points of the prior."""
    points = prior_points(model, tuple(model.parameters))
    count, b = len(next(iter(points.values()))), len(run)
    single = type(task)(blocks=max(b, 1), trials=1)
    log_weight = np.zeros(count)
    if b:
        everybody = Behavior({name: np.repeat(values[:, :b], count, 0) for name, values in people.fields.items()})
        log_weight = model.log_likelihood(points, everybody, np.repeat(run[None], count, 0), single)
    weight = np.exp(log_weight - log_weight.max())
    weight /= weight.sum()
    heavy = np.argsort(-weight)[: int(np.searchsorted(np.sort(weight)[::-1].cumsum(), 1 - 1e-6)) + 1]
    weight, some = weight[heavy] / weight[heavy].sum(), {name: values[heavy] for name, values in points.items()}
    yes, one = Behavior({name: np.ones((len(heavy), 1, 1), np.int8) for name in people.fields}), type(task)(blocks=1, trials=1)
    gains = []
    for row in rows:
        p = np.exp(model.log_likelihood(some, yes, np.repeat(row[None, None], len(heavy), 0), one))
        gains.append(entropy(weight @ p) - weight @ entropy(p))
    return np.array(gains)


def entropy(p: Floats) -> Floats:
    """Of yes or no."""
    return np.asarray(-(p * np.log(np.maximum(p, 1e-300)) + (1 - p) * np.log(np.maximum(1 - p, 1e-300))))


def regret(n: int = 60) -> None:
    """The chosen question's exact gain beside that of the best of 3,000 others, refined twice."""
    from tellapart.adaptive.candidates import Candidates

    policy, rng = questions_policy(), np.random.default_rng(8)
    model, lost, shares = money.hyperbolic(), [], []
    people = policy.way.question.simulate(policy.task, policy.plan, n, rng)
    played = play(policy, people, rng).simulations
    for i in range(n):
        block = int(rng.integers(0, 24))
        candidates, run = Candidates(policy.task, played.designs[i, :block]), played.designs[i, :block]
        rows = candidates.everywhere(3000, rng)
        gains = exact_gains(model, policy.task, played.behavior[i], run, rows)
        for width in (0.05, 0.01):
            near = candidates.around(np.repeat(rows[np.argsort(-gains)[:20]], 20, 0), width, rng)
            rows, gains = (
                np.concatenate([rows, near]),
                np.concatenate([gains, exact_gains(model, policy.task, played.behavior[i], run, near)]),
            )
        chosen = exact_gains(model, policy.task, played.behavior[i], run, played.designs[i, block][None])[0]
        lost.append(gains.max() - chosen)
        shares.append(lost[-1] / gains.max())
        within = np.mean((np.array(lost) < 0.005) | (np.array(shares) < 0.02))
        if i % 10 == 9 or i == n - 1:
            line = f"{i + 1} moments: regret {np.mean(lost):.4f} nats on average ({100 * np.mean(shares):.1f} %), largest {max(lost):.4f}"
            print(f"{line}; below 0.005 nats or 2 % in {100 * within:.0f} %", flush=True)


def retention(n: int = 200) -> None:
    """How often the true model is recognised after 20 intervals, the same participants each way."""
    task, question = recall.Retention(blocks=20, trials=1), Question((recall.power(), recall.exponential()), "discriminate")
    plan = task.baseline(1, np.random.default_rng(0))[0]
    policy = Learning(task, question, Amortized(), 1, kept("retention")).policy(plan, None)
    people = question.simulate(task, plan, n, np.random.default_rng(21))
    ways = {"ours": play(policy, people, np.random.default_rng(22)).simulations}
    report_accuracy(policy, "ours", ways["ours"])
    anywhere = np.exp(np.random.default_rng(23).uniform(np.log(0.5), np.log(100), (n, 20, 1)))
    random = play(policy, people, np.random.default_rng(22), designs=anywhere).simulations
    report_accuracy(policy, "random intervals", random)
    report_accuracy(policy, "exact greedy", greedy_retention(task, question, people, np.random.default_rng(22)))


def report_accuracy(policy: Policy, name: str, people: Simulations) -> None:
    """By exact posteriors: the data are judged, not the network."""
    evidence = log_evidences(policy.task, policy.way.question, people.behavior, people.designs)
    right = log_posterior(policy.way.question, evidence).argmax(1) == people.model
    nats = exact_nats(policy, people)
    n = len(right)
    line = f"{name}: {right.mean():.3f} ± {right.std() / n**0.5:.3f} recognised"
    print(f"{line}; {nats.mean():.3f} ± {nats.std() / n**0.5:.3f} nats by likelihood", flush=True)


def greedy_retention(task: recall.Retention, question: Question, people: Simulations, rng: np.random.Generator) -> Simulations:
    """The same participants with the interval that is best by likelihood at each trial, of 80."""
    grid, n = np.geomspace(0.5, 100, 80), len(people)
    points = [prior_points(model, ("a", "b")) for model in question.models]
    curves = [points[0]["a"] * (grid[:, None] + 1) ** -points[0]["b"], points[1]["a"] * np.exp(-points[1]["b"] * grid[:, None])]
    curves = [np.clip(curve, 1e-9, 1 - 1e-9) for curve in curves]
    weights = [np.full((n, curve.shape[1]), 1 / curve.shape[1]) for curve in curves]
    designs, answers = np.zeros((n, 20, 1)), np.zeros((n, 20, 1), np.int8)
    for block in range(20):
        averages = [weight @ curve.T / weight.sum(1, keepdims=True) for weight, curve in zip(weights, curves, strict=True)]
        share = weights[0].sum(1, keepdims=True) / (weights[0].sum(1, keepdims=True) + weights[1].sum(1, keepdims=True))
        gain = entropy(share * averages[0] + (1 - share) * averages[1]) - share * entropy(averages[0]) - (1 - share) * entropy(averages[1])
        best = gain.argmax(1)
        designs[:, block, 0] = grid[best]
        truth = [people.truth(m) for m in range(2)]
        p = np.zeros(n)
        p[people.model == 0] = truth[0]["a"] * (grid[best][people.model == 0] + 1) ** -truth[0]["b"]
        p[people.model == 1] = truth[1]["a"] * np.exp(-truth[1]["b"] * grid[best][people.model == 1])
        answers[:, block, 0] = rng.random(n) < p
        for weight, curve in zip(weights, curves, strict=True):
            weight *= np.where(answers[:, block] == 1, curve[best], 1 - curve[best])
    return replace(people, designs=designs, behavior=Behavior({"recalled": answers}))


def bandits(n: int = 60, steps: int = 1500, *names: str) -> None:
    """The studies of the paper, with short searches: adaptive minus fixed."""
    models = (ta.WSLTS(), ta.AEG(), ta.GLS())
    studies = {"discriminate": (models, "discriminate", 2), **{model.name: ((model,), "estimate", 3) for model in models}}
    for name in names or studies:
        asked, goal, blocks = studies[name]
        search = Amortized(steps=steps, survey=64, survey_simulations=300, finalists=3, finalist_simulations=2000, baselines=3)
        study = ta.Study(ta.BernoulliBandit(3, blocks, 30), asked, goal, search=search)
        start = time.process_time()
        result = ta.find_design(study)
        print(f"{name}: the network and the fixed design took {time.process_time() - start:.0f} s of one core", flush=True)
        learning = Learning(study.task, study.question, search, 1, None, steps)
        found = worth(learning.policy(result.design, result.found.estimator), n, 31, progress=printed)
        line = (
            f"{name}: policy {found.policy.nats:.3f}, fixed {found.fixed.nats:.3f}, difference {found.difference} ({steps} steps, n = {n})"
        )
        print(f"{line}; a decision {found.seconds[0]:.2f} s (median), {found.seconds[1]:.2f} s (95 %); {found.verdict}", flush=True)


def after_a_block(
    task: ta.Task, question: Question, person: Behavior, design: Floats, n: int, rng: np.random.Generator
) -> list[tuple[ta.LikelihoodModel, dict[str, Floats]]]:
    """Models and the parameters of `n` draws in all from the exact posterior after the first block of a person (1, B, T).

    Models by their evidence, which is exact here; parameters by weighing many draws of the prior by the likelihood.
    """
    first = Behavior({name: values[:, :1] for name, values in person.fields.items()})
    log_p = log_posterior(question, log_evidences(task, question, first, design[None, :1]))[0]
    counts, parts = np.bincount(turns(np.exp(log_p), n), minlength=len(question.models)), []
    for model, count in zip(require_likelihoods(question.models), counts, strict=True):
        if count:
            theta = sample_priors(model.parameters, PRIOR, rng)
            score = model.log_likelihood(theta, first[np.zeros(PRIOR, np.intp)], np.repeat(design[None, :1], PRIOR, 0), task)
            drawn = rng.choice(PRIOR, count, p=np.exp(score - logsumexp(score)))
            parts.append((model, {name: values[drawn] for name, values in theta.items()}))
    return parts


def exact_block_gains(task: ta.Task, question: Question, person: Behavior, design: Floats, rows: Floats, n: int) -> Floats:
    """I(model; second block | first block) of one person (1, 2, T) for rows (C, V), by likelihood, (C, n): each draw's share of it.

    The divergence of the posterior of models after the second block from that after the first, of the same draws for all rows.
    """
    first = Behavior({name: values[:, :1] for name, values in person.fields.items()})
    before = log_posterior(question, log_evidences(task, question, first, design[None, :1]))[0]
    drawn, gains = after_a_block(task, question, person, design, n, np.random.default_rng(5)), []
    for row in rows:
        designs = np.repeat(np.stack([design[0], row])[None], n, axis=0)
        done, start = [], 0
        for number, (model, theta) in enumerate(drawn):
            count = len(next(iter(theta.values())))
            done.append(model.simulate(theta, designs[start : start + count], np.random.default_rng([6, number]), task))
            start += count
        both = Behavior.concatenate(done)
        for name, values in both.fields.items():
            values[:, 0] = person.fields[name][0, 0]
        after = log_posterior(question, log_evidences(task, question, both, designs))
        gains.append((np.exp(after) * (after - before)).sum(1))
    return np.array(gains)


def blocks(n: int = 16, steps: int = 1500) -> None:
    """Which of three models? The second of two blocks as it is chosen, as it is planned, and anywhere: what each tells by likelihood."""
    search = Amortized(steps=steps, survey=64, survey_simulations=300, finalists=3, finalist_simulations=2000, baselines=3)
    study = ta.Study(ta.BernoulliBandit(3, 2, 30), (ta.WSLTS(), ta.AEG(), ta.GLS()), "discriminate", search=search)
    result, start = ta.find_design(study, kept("bandit")), time.process_time()
    policy = result.policy()
    print(f"the network for parameters: {time.process_time() - start:.0f} s of one core to learn or read", flush=True)
    compare_blocks({"chosen": policy}, n)


def compare_blocks(policies: dict[str, Policy], n: int, draws: int = 400) -> None:
    """What second blocks tell by likelihood that policies choose for the same people, less what five blocks anywhere tell on average."""
    policy = next(iter(policies.values()))
    task, question, plan = policy.task, policy.way.question, policy.plan
    people, rng = question.simulate(task, plan, n, np.random.default_rng(9)), np.random.default_rng(10)
    nats = []
    for i in range(n):
        chosen = [one.row(people.behavior[i], plan, 1) for one in policies.values()]
        rows = np.stack([*chosen, plan[1], *rng.random((5, plan.shape[1]))])
        nats.append(exact_block_gains(task, question, people.behavior[i], plan, rows, draws).mean(1))
        table = np.array(nats)
        columns = [*zip(policies, table.T, strict=False), ("planned", table[:, -6]), ("best of five", table[:, -5:].max(1))]
        anywhere = table[:, -5:].mean(1)
        words = [
            f"{name} {column.mean() - anywhere.mean():+.4f} ± {(column - anywhere).std() / (i + 1) ** 0.5:.4f}" for name, column in columns
        ]
        first = table[:, 0]
        words += [
            f"{name} - {next(iter(policies))} {(column - first).mean():+.4f} ± {(column - first).std() / (i + 1) ** 0.5:.4f}"
            for name, column in columns[1:]
        ]
        print(f"{i + 1} moments: five anywhere {anywhere.mean():.4f} nats; more than that: {'; '.join(words)}", flush=True)


def printed(done: int, total: int, stage: str = "", detail: str = "") -> None:
    """Progress as a line, now and then."""
    if "learning" not in stage or done % 500 == 0:
        print(f"  {stage}, {detail}: {done} of {total}", flush=True)


def calibration(n: int = 300) -> None:
    """Power or exponential, 20 intervals: model probabilities and ranks of parameters, after all blocks and when people stop.

    An interval is one number, so fewer rows are looked at than in a study; the posteriors that are checked are the same.
    """
    task, question = recall.Retention(blocks=20, trials=1), Question((recall.power(), recall.exponential()), "both")
    plan = task.baseline(1, np.random.default_rng(0))[0]
    way = Learning(task, question, Amortized(), 1, kept("retention")).policy(plan, None, printed).way
    assert isinstance(way, ByAnswers)
    policy, batches, start = Policy(replace(way, effort=Effort(4, 6, (0.06, 0.015), 3)), plan), [], time.process_time()
    for number, first in enumerate(range(0, n, BATCH)):
        people = question.simulate(task, plan, min(BATCH, n - first), np.random.default_rng([41, number]))
        batches.append(play(policy, people, np.random.default_rng([42, number])))
        arrays = (np.concatenate([getattr(part, name) for part in batches]) for name in ("probabilities", "ranks", "sd", "seconds"))
        together = Played(Simulations.concatenate([part.simulations for part in batches]), *arrays)
        print(f"{len(together)} people, {time.process_time() - start:.0f} s of one core:", flush=True)
        report_calibration(together, question)


def report_calibration(played: Played, question: Question) -> None:
    """After all blocks, and when people stop."""
    stopped = stop(played, asked_about_models(question), Stopping(0.8)).blocks
    ways = (("after 20 blocks", np.full(len(played), 20)), (f"stopped at 0.8, after {stopped.mean():.1f} blocks", stopped))
    for words, blocks in ways:
        models, parameters = calibration_after(played, blocks)
        assert models is not None
        print(f"  {words}: models {models.verdict}, exponent {models.exponent:.2f} ± {models.exponent_se:.2f}, error {models.error:.3f}")
        print("   " + "; ".join(f"{part.model}.{part.parameter}: {part.verdict}, p = {part.p:.3f}" for part in parameters), flush=True)


def says_yes(z: Floats, signals: Floats) -> Floats:
    """The probability of yes, by a threshold, a slope and lapses on the normal scale (J, 3), to signals (C,), (C, J)."""
    lapse, slope = expit(z[:, 2] - 2.5), np.exp(0.7 + 0.7 * z[:, 1])
    return np.asarray(lapse / 2 + (1 - lapse) * expit(slope * (signals[:, None] - z[:, 0])))


class LapsingLaw(nn.Module):
    """The same as a law of answers, not learned but known."""

    def forward(self, z: Tensor, x: Tensor) -> Tensor:
        lapse, slope = torch.sigmoid(z[..., 2] - 2.5), torch.exp(0.7 + 0.7 * z[..., 1])
        yes = lapse / 2 + (1 - lapse) * torch.sigmoid(slope * (3 * x[..., 0] - z[..., 0]))
        return torch.stack([torch.log1p(-yes), torch.log(yes)], -1)


def gains_of_one(z: Floats, asked: int, signals: Floats, given: Floats, shown: Floats) -> Floats:
    """I(parameter number `asked`; answer | answers given) of signals `shown`, summed over the points of a lattice (J, 3)."""
    log_weight = -0.5 * (z**2).sum(1)
    for signal, answer in zip(signals, given, strict=True):
        yes = says_yes(z, np.array([signal]))[0]
        log_weight += np.log(yes if answer else 1 - yes)
    weight = np.exp(log_weight - log_weight.max())
    some = weight > 1e-10
    z, weight = z[some], weight[some] / weight[some].sum()
    level = np.unique(z[:, asked], return_inverse=True)[1]
    of_v, gains = np.bincount(level, weight), []
    for signal in shown:
        yes = says_yes(z, np.array([signal]))[0]
        gains.append(entropy(weight @ yes) - of_v @ entropy(np.bincount(level, weight * yes) / np.maximum(of_v, 1e-300)))
    return np.array(gains)


def nuisance(n: int = 24) -> None:
    """One of threshold, slope and lapses is asked about, the others are nuisance; the truth is summed over a lattice of all three."""
    line, parameters = np.linspace(-4, 4, 49), ("threshold", "slope", "lapse")
    lattice = np.stack(np.meshgrid(line, line, line, indexing="ij"), -1).reshape(-1, 3)
    model, task = model_of("lapsing", {name: ta.Normal(0, 1) for name in parameters}, lambda p: 1.0)(), Signals(blocks=60)
    for name in ("lapse", "slope"):
        question, rng, rows = Question((model,), "estimate", about=(f"lapsing.{name}",)), np.random.default_rng(5), []
        codes = Codes.of(task)
        assert codes is not None
        answers = Answers(task, question, codes, 3)
        answers.laws = nn.ModuleList([LapsingLaw()])
        policy = Policy(ByAnswers(answers, question, 3), np.zeros((60, 1)))
        for _ in range(n):
            truth, count, designs, people = rng.standard_normal((1, 3)), int(rng.integers(6, 41)), np.zeros((60, 1)), task.nothing(1)
            near = np.clip(truth[0, 0] + rng.normal(0, 0.7, count), -3, 3)
            designs[:count, 0] = np.where(rng.random(count) < 0.6, near, rng.uniform(-3, 3, count))
            people.fields["yes"][0, :count, 0] = rng.random(count) < says_yes(truth, designs[:count, 0])[:, 0]
            people.mask[0, :count] = True
            (decision,) = policy.decide(people, designs)
            assert decision is not None
            shown, given = np.append(np.linspace(-3, 3, 61), decision.row[0]), people.fields["yes"][0, :count, 0]
            exact = gains_of_one(lattice, parameters.index(name), designs[:count, 0], given, shown)
            rows.append((exact[:-1].max(), exact[-1], decision.gain.nats, decision.gain.se))
        best, chosen, said, se = np.array(rows).T
        within, covered = (best - chosen < np.maximum(0.005, 0.02 * best)).sum(), (np.abs(said - chosen) <= 2 * se).sum()
        off = f"said - exact {np.mean(said - chosen):+.5f} on average, {np.abs(said - chosen).max():.5f} at most, of {chosen.mean():.4f}"
        print(f"{name}: below 0.005 nats or 2 % at {within} of {n}, within two standard errors at {covered}; {off}", flush=True)


def asked_about_models(question: Question) -> Question:
    """The question about models alone."""
    return Question(question.models, "discriminate", question.prior)


def main() -> None:
    """Run what is named."""
    ways = {f.__name__: f for f in (discounting, speed, regret, retention, bandits, blocks, nuisance, calibration)}
    if len(sys.argv) < 2 or sys.argv[1] not in ways:
        sys.exit(__doc__)
    ways[sys.argv[1]](*(int(word) if word.isdigit() else word for word in sys.argv[2:]))


if __name__ == "__main__":
    say(__doc__)
    main()
