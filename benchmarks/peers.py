"""tellapart beside what people use today: the same work, simulators, participants and processor time, judged by exact answers.

    python benchmarks/peers.py [--folder build/peers] [--seconds 100] [--tuning 10] [--participants 16] [--write]

Posterior: what 90 trials of a bandit tell about the two parameters of AEG, at one drawn design. sbi and BayesFlow get a network that
they document for sequences, with four learning rates in short runs; the best one then gets the same processor time as tellapart.
All are judged on the same fresh participants by the mean of log q(theta | y) / p(theta), which is at most the exact information.

Adaptive: 24 questions about money, one at a time, about k and temperature of hyperbolic discounting. ADOpy chooses from the grid of its own
example, with the likelihood, and the answers are judged by the exact posterior. What tellapart reaches in the same experiment, by the same
judge, is printed by benchmarks/adaptive.py.

The peers are installed into an environment of their own in the folder, in the versions below, together with this tellapart. Every run is a
process on one thread, and its result is kept in the folder: a benchmark that was stopped goes on. With `--write` what came out goes
to docs/numbers/peers.json; README.md and docs/explanation/peers.md quote that, and tests/test_numbers.py holds them to it.

Takes about 15 minutes of one core, and some minutes to install the peers.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import time
import venv
from importlib.metadata import version
from pathlib import Path
from typing import Any, Callable

from takes import say

PEERS = {"sbi": "0.27.0", "bayesflow": "2.0.12", "adopy": "0.4.1"}
BESIDE = {"torch": "2.13.0", "jax": "0.9.2", "keras": "3.15.1"}
"""What the peers compute with; BayesFlow recommends JAX."""

NETWORKS = {"sbi": "CausalCNNEmbedding", "bayesflow": "TimeSeriesNetwork, 32 recurrent units"}
NETWORKS |= {"tellapart": "its own, for all designs"}
"""For the peers, the first network that each documents for sequences; BayesFlow's 128 recurrent units are too slow for this time."""
RATES = (0.0005, 0.001, 0.002, 0.004)
"""sbi's and BayesFlow's own rate, 0.0005, and higher ones: training is short."""

DESIGN = [[0.589, 0.616, 0.438], [0.383, 0.551, 0.075], [0.617, 0.578, 0.474]]
"""A draw from Beta(2, 2)."""
JUDGED, TUNED = 77, 78
"""Seeds of the participants by whom results are judged, and by whom networks and rates are chosen."""
PEOPLE = 2000
MOST = 200_000
"""Simulations that sbi keeps in memory."""

ROOT = Path(__file__).parents[1]
KEPT = ROOT / "docs" / "numbers" / "peers.json"
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS"), "1")
ONE_THREAD |= {"XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false", "KERAS_BACKEND": "jax", "TQDM_DISABLE": "1"}


# What runs in the environment of the peers: one function for each tool, which returns what is kept of it.


class Work:
    """The parameters of AEG from 90 trials at one design."""

    def __init__(self) -> None:
        import numpy as np

        import tellapart as ta

        self.np, self.task = np, ta.BernoulliBandit(arms=3, blocks=3, trials=30)
        self.question = ta.Study(self.task, ta.AEG(), "estimate").question
        self.design = np.array(DESIGN)

    def simulate(self, n: int, rng: Any) -> Any:
        return self.question.simulate(self.task, self.design, n, rng)

    def raw(self, people: Any) -> tuple[Any, Any]:
        """Parameters on the scale on which their prior is standard normal, (N, 2); trials, (N, 90, 5): arm, reward, does a block begin?"""
        from tellapart.priors import on_normal_scale

        np, fields, n = self.np, people.behavior.fields, len(people)
        begins = np.broadcast_to(np.arange(30) == 0, (n, 3, 30))
        columns = [fields["choice"] == arm for arm in range(3)] + [fields["reward"], begins]
        trials = np.stack(columns, -1).reshape(n, 90, 5).astype(np.float32)
        return on_normal_scale(self.question.models[0].parameters, people.truth(0), n).astype(np.float32), trials

    def judge(self, log_ratio: Callable[[Any], Any], seed: int) -> dict[str, float]:
        """Mean of log q / p over fresh participants, and how far it is below the exact answer on the same ones."""
        from tellapart.information.exact import exact_values, log_evidences

        people = self.simulate(PEOPLE, self.np.random.default_rng(seed))
        evidence = log_evidences(self.task, self.question, people.behavior, people.designs)
        exact = exact_values(self.task, self.question, people, evidence)
        values = self.np.asarray(log_ratio(people), float)
        named = {"nats": values, "missing": exact - values, "exact": exact}
        return {name: float(one.mean()) for name, one in named.items()} | {f"{name}_se": standard_error(one) for name, one in named.items()}

    def log_prior(self, z: Any) -> Any:
        return -0.5 * (z**2 + self.np.log(2 * self.np.pi)).sum(-1)


def standard_error(values: Any) -> float:
    return float(values.std(ddof=1) / len(values) ** 0.5)


def tuned(
    train: Callable[[float, float], dict[str, Any]], judge: Callable[[int], dict[str, float]], tuning: float, seconds: float
) -> dict[str, Any]:
    """Train with the best of the rates, by short runs.

    Arguments:
        train: Trains anew with a rate, for so many seconds.
        judge: Judges what was trained last, by the participants of a seed.
    """
    tried = [{"rate": rate, **train(rate, tuning), **judge(TUNED)} for rate in RATES]
    best = max(tried, key=lambda one: one["nats"])
    return {"rate": best["rate"], **train(best["rate"], seconds), **judge(JUDGED), "tried": tried}


def tellapart(seconds: float) -> dict[str, Any]:
    """The engine as a search trains it, over all designs."""
    import copy

    import numpy as np

    from tellapart.search.amortized import Amortized
    from tellapart.search.learning import Mixture
    from tellapart.training import Stream, Trainer, TrainingSettings
    from tellapart.workers import one_thread

    work = Work()
    estimator, designs, rng = Amortized().build(work.task, work.question), Mixture(work.task), np.random.default_rng(1)
    estimator.encoder.learn_scale(work.question.simulate(work.task, designs(500, rng), 500, rng).behavior)
    how, batch = TrainingSettings(estimator.learning_rate, estimator.optimizer, clip=1.0, pieces=2), 256

    def train(steps: int, estimator: Any, settle: int = 0) -> float:
        trainer, source = Trainer(estimator, how, steps), Stream(estimator, designs, batch, (1, steps), 0.2)
        trainer.run(source, settle)
        start = time.process_time()
        trainer.run(source)
        return time.process_time() - start

    with one_thread():
        steps = round(seconds / (train(60, copy.deepcopy(estimator), 20) / 40))
        used = train(steps, estimator)
        estimator.settle(Stream(estimator, designs, batch, (2, i), 0.2).batch(0) for i in range(9))
        judged = work.judge(lambda people: estimator.pointwise(estimator.prepare(people)).values, JUDGED)
    return {"rate": how.learning_rate, "seconds": used, "simulated": steps * batch, "passes": 1, **judged}


def sbi(tuning: float, seconds: float) -> dict[str, Any]:
    """NPE with an embedding net for time series: kept simulations in epochs, early stopping, its defaults otherwise."""
    import numpy as np
    import torch
    from sbi.inference import NPE
    from sbi.neural_nets import embedding_nets, posterior_nn
    from torch import nn

    class Turned(nn.Module):
        """Trials last, as convolutions over them have it."""

        def forward(self, trials: Any) -> Any:
            return trials.transpose(1, 2).contiguous()

    work, last = Work(), {}
    torch.manual_seed(1)
    prior = torch.distributions.MultivariateNormal(torch.zeros(2), torch.eye(2))

    def epochs_of(count: int, rate: float, epochs: int) -> tuple[float, int]:
        z, trials = (torch.from_numpy(part) for part in work.raw(work.simulate(count, np.random.default_rng(1))))
        network = nn.Sequential(Turned(), embedding_nets.CausalCNNEmbedding((90,), in_channels=5, pool_kernel_size=10))
        trainer = NPE(prior, posterior_nn("maf", embedding_net=network, z_score_x="none"), show_progress_bars=False)
        trainer.append_simulations(z, trials, exclude_invalid_x=False)
        start = time.process_time()
        last["estimator"] = trainer.train(learning_rate=rate, max_num_epochs=epochs - 1).eval()  # it counts from 0
        return time.process_time() - start, trainer.summary["epochs_trained"][-1]

    epochs_of(1000, RATES[0], 2)  # warms up
    pace = epochs_of(4000, RATES[0], 2)[0] / 8000

    def train(rate: float, seconds: float) -> dict[str, Any]:
        count = min(MOST, round(seconds / pace / 4))  # simulations cost little: many of them, gone through a few times
        used, epochs = epochs_of(count, rate, round(seconds / (count * pace)))
        return {"seconds": used, "simulated": count, "passes": epochs}

    def log_ratio(people: Any) -> Any:
        z, trials = work.raw(people)
        with torch.no_grad():
            return last["estimator"].log_prob(torch.from_numpy(z)[None], torch.from_numpy(trials))[0].numpy() - work.log_prior(z)

    return tuned(train, lambda seed: work.judge(log_ratio, seed), tuning, seconds)


def bayesflow(tuning: float, seconds: float) -> dict[str, Any]:
    """A workflow with a summary network for time series, trained online; its defaults otherwise."""
    import bayesflow as bf
    import keras
    import numpy as np

    work, rng, batch, last = Work(), np.random.default_rng(1), 64, {}
    keras.utils.set_random_seed(1)

    class Clock(keras.callbacks.Callback):
        """Processor time after each step; compiling happens in the first ones."""

        def on_train_begin(self, logs: Any = None) -> None:
            self.times: list[float] = []

        def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
            self.times.append(time.process_time())

        @property
        def pace(self) -> float:
            """Seconds for a step, once compiled."""
            return (self.times[-1] - self.times[9]) / (len(self.times) - 10)

    def sample(batch_shape: Any) -> dict[str, Any]:
        z, trials = work.raw(work.simulate(batch_shape[0], rng))
        return {"z": z, "trials": trials}

    def steps_of(rate: float, steps: int) -> Clock:
        clock, each = Clock(), max(1, steps // 50)
        last["workflow"] = bf.BasicWorkflow(
            bf.simulators.LambdaSimulator(sample, is_batched=True),
            summary_network=bf.networks.TimeSeriesNetwork(recurrent_dim=32),
            inference_variables=["z"],
            summary_variables=["trials"],
            initial_learning_rate=rate,
        )
        last["workflow"].fit_online(steps // each, num_batches_per_epoch=each, batch_size=batch, verbose=0, callbacks=[clock])
        return clock

    pace = steps_of(RATES[0], 40).pace

    def train(rate: float, seconds: float) -> dict[str, Any]:
        clock = steps_of(rate, round(seconds / pace))
        return {"seconds": clock.pace * len(clock.times), "simulated": len(clock.times) * batch, "passes": 1}

    def log_ratio(people: Any) -> Any:
        z, trials = work.raw(people)
        return np.asarray(last["workflow"].log_prob({"z": z, "trials": trials})).reshape(len(z)) - work.log_prior(z)

    return tuned(train, lambda seed: work.judge(log_ratio, seed), tuning, seconds)


def adopy(participants: int) -> dict[str, Any]:
    """The grid of ADOpy's own example of delay discounting, in our units: 17 delays, 63 sums, 50 by 50 values of the parameters."""
    import copy
    from dataclasses import replace

    import numpy as np

    for kind in (int, float):
        setattr(np, kind.__name__, kind)  # names that NumPy no longer has and ADOpy 0.4.1 uses
    from adopy import Engine
    from adopy.tasks.dd import ModelHyp, TaskDD

    from tellapart.behavior import Behavior
    from tellapart.question import Question

    sys.path.insert(0, str(ROOT / "examples" / "discounting"))
    import discounting as money
    from adaptive import divergence

    task, one, model, rng = money.Questions(24, 1), money.Questions(1, 1), money.hyperbolic(), np.random.default_rng(12)
    people = Question((model,), "estimate").simulate(task, task.baseline(1, rng)[0], participants, rng)
    middles = (np.arange(50) + 0.5) / 50  # each value is as probable as any other: ADOpy's prior over a grid is uniform
    start = time.process_time()
    grid = {"t_ss": [0], "t_ll": np.unique(np.round(np.geomspace(1, 365, 18))), "r_ss": 100 * np.arange(1, 64) / 64, "r_ll": [100]}
    points = {"k": model.parameters["k"].quantile(middles), "tau": 1 / model.parameters["temperature"].quantile(middles)}
    fresh = Engine(TaskDD(), ModelHyp(), grid, points, {"choice": [0, 1]})
    prepared = time.process_time() - start
    designs, answers, seconds = np.zeros((participants, 24, 4)), np.zeros((participants, 24, 1), np.int8), []
    for i in range(participants):
        engine, truth = copy.deepcopy(fresh), {name: values[[i]] for name, values in people.truth(0).items()}
        for block in range(24):
            start = time.process_time()
            question = engine.get_design()
            seconds.append(time.process_time() - start)
            designs[i, block] = question["r_ss"], question["r_ll"], question["t_ss"], question["t_ll"] - question["t_ss"]
            answers[i, block] = model.simulate(truth, designs[[i], block][:, None], rng, one).fields["later"][0, 0]
            start = time.process_time()
            engine.update(question, {"choice": int(answers[i, block, 0])})
            seconds[-1] += time.process_time() - start
    values = divergence(model, task, replace(people, designs=designs, behavior=Behavior({"later": answers})))
    found = {"nats": float(values.mean()), "se": standard_error(values), "prepared": prepared, "decision": float(np.median(seconds))}
    return found | {"questions": len(fresh.grid_design), "points": len(fresh.grid_param)}


INSIDE: dict[str, Callable[..., dict[str, Any]]] = {one.__name__: one for one in (tellapart, sbi, bayesflow, adopy)}


# What runs outside: the environment, one process after the other, the table.


def environment(folder: Path) -> Path:
    """The Python of an environment with the peers; made if it is not there."""
    home = folder / "environment"
    python = home / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    wanted = [f"{name}=={number}" for name, number in (PEERS | BESIDE).items()]
    if (ready := home / "ready.json").exists() and json.loads(ready.read_text()) == wanted:
        return python
    print("installing", *wanted, flush=True)
    venv.create(home, with_pip=True, clear=True)
    pip = [python, "-m", "pip", "install", "--quiet", "--constraint", ROOT / "constraints.txt"]
    subprocess.run([*pip, *wanted, "--editable", ROOT], check=True)
    ready.write_text(json.dumps(wanted))
    return python


def run(folder: Path, python: Path, tool: str, **settings: Any) -> dict[str, Any]:
    """One process; what it found is kept, and read if it is there."""
    name = " ".join([tool, *(f"{key}={value}" for key, value in settings.items())])
    file = folder / "results" / f"{name}.json"
    if not file.exists():
        file.parent.mkdir(parents=True, exist_ok=True)
        command = [str(python), str(Path(__file__).absolute()), "--inside", tool, json.dumps(settings), "--out", str(file)]
        subprocess.run(command, check=True, cwd=folder, env=os.environ | ONE_THREAD, stdout=subprocess.DEVNULL)
    found: dict[str, Any] = json.loads(file.read_text())
    shown = {key: round(value, 4) for key, value in found.items() if isinstance(value, float)}
    print(f"{name}: {shown}", flush=True)
    return found


def compare(folder: Path, seconds: float, tuning: float, participants: int) -> dict[str, Any]:
    """Everything, one after the other."""
    python = environment(folder)
    peers = [{"tool": tool, **run(folder, python, tool, tuning=tuning, seconds=seconds)} for tool in ("bayesflow", "sbi")]
    ours = {"tool": "tellapart", **run(folder, python, "tellapart", seconds=seconds)}
    asking = run(folder, python, "adopy", participants=participants)
    budget = {"seconds": seconds, "tuning": tuning, "people": PEOPLE, "participants": participants}
    about = {"versions": PEERS | BESIDE, "python": platform.python_version(), "design": DESIGN, **budget}
    return {**about, "posterior": [*peers, ours], "adopy": asking}


# The tables of the pages, made from what is kept.

NAMES = {"sbi": "sbi", "bayesflow": "BayesFlow", "tellapart": "tellapart"}


def posterior_table(kept: dict[str, Any]) -> str:
    """One row for each tool."""
    columns = ["", "network", "learning rate", "participants simulated", "passes", "processor time", "nats", "of the exact"]
    cells = [columns, ["---"] * len(columns)]
    for row in kept["posterior"]:
        what = [NAMES[row["tool"]], NETWORKS[row["tool"]], f"{row['rate']:g}", f"{row['simulated']:,}", str(row["passes"])]
        cells.append([*what, f"{row['seconds']:.0f} s", f"{row['nats']:.2f} ± {row['nats_se']:.2f}", share(row)])
    exact = kept["posterior"][0]
    cells.append(["exact, by likelihood", *[""] * 5, f"{exact['exact']:.2f} ± {exact['exact_se']:.2f}", "100 %"])
    return table(cells)


def table(cells: list[list[str]]) -> str:
    return "\n".join(f"| {' | '.join(row)} |" for row in cells)


def share(row: dict[str, Any]) -> str:
    return f"{100 * row['nats'] / row['exact']:.0f} %"


def tuning_table(kept: dict[str, Any]) -> str:
    """What short runs reach, in nats: one row for each tool, one column for each rate."""
    cells = [["nats", *(f"rate {rate:g}" for rate in RATES)], ["---"] * (1 + len(RATES))]
    for row in kept["posterior"]:
        found = {one["rate"]: f"{one['nats']:.2f}" for one in row.get("tried", [])}
        cells += [[NAMES[row["tool"]], *(found[rate] for rate in RATES)]] if found else []
    return table(cells)


def adaptive_words(kept: dict[str, Any]) -> str:
    """What ADOpy reached."""
    one = kept["adopy"]
    told = f"{one['nats']:.2f} ± {one['se']:.2f} nats with {kept['participants']} people"
    return f"{told}; a decision takes {one['decision']:.2f} s, after {one['prepared']:.1f} s of preparation"


WORDS = (posterior_table, tuning_table, adaptive_words)


def inside(tool: str, settings: str, out: Path) -> None:
    """Run a tool here and write what it found."""
    found = INSIDE[tool](**json.loads(settings))
    out.write_text(json.dumps(found | ({"version": version(tool)} if tool in PEERS else {})))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, default=ROOT / "build" / "peers")
    parser.add_argument("--seconds", type=float, default=100.0, help="of processor time, for each training")
    parser.add_argument("--tuning", type=float, default=10.0, help="the same, for each learning rate that is tried")
    parser.add_argument("--participants", type=int, default=16, help="who answer questions")
    parser.add_argument("--write", action="store_true", help="write docs/numbers/peers.json")
    parser.add_argument("--inside", nargs=2, help=argparse.SUPPRESS)
    parser.add_argument("--out", type=Path, help=argparse.SUPPRESS)
    settings = parser.parse_args()
    if settings.inside:
        return inside(*settings.inside, settings.out)
    kept = compare(settings.folder.absolute(), settings.seconds, settings.tuning, settings.participants)
    for words in WORDS:
        print(f"\n{words(kept)}")
    if settings.write:
        KEPT.write_text(json.dumps(kept, indent=2) + "\n")


if __name__ == "__main__":
    say(__doc__)
    main()
