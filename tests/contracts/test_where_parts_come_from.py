"""Parts are found the same way wherever they come from: an installed package, or one new file in the package's own folders."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import tellapart

MODEL = '''
"""A model of bandits that likes to stay."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

import tellapart as ta


@dataclass(frozen=True)
class Stayer(ta.Model):
    """Stays with a probability of its own, whatever comes."""

    name: ClassVar[str] = "stayer"

    @property
    def parameters(self):
        return {"stay": ta.Uniform(0, 1)}

    def simulate(self, parameters, designs, rng, task):
        environment, choice = task.environment(designs, rng), np.zeros(len(designs), int)
        while not environment.done:
            stays = (rng.random(len(designs)) < parameters["stay"]) & (environment.trial > 0)
            choice = np.where(stays, choice, rng.integers(0, task.responses[0].levels, len(designs)))
            environment.step({"choice": choice})
        return environment.behavior
'''

ENCODER = '''
"""An encoder that counts."""

from typing import ClassVar

import numpy as np
from torch import nn

import tellapart as ta


class Counter(ta.Encoder):
    """Sums of a few features of each trial."""

    name: ClassVar[str] = "counter"

    def __init__(self, task):
        super().__init__(task, 2, 8)
        self.last = nn.Linear(2 + self.extra, 8)

    def features(self, behavior):
        choice, reward = behavior.fields["choice"], behavior.fields["reward"]
        stays = np.concatenate([np.zeros_like(choice[..., :1]), choice[..., 1:] == choice[..., :-1]], axis=-1)
        return np.stack([stays, stays * reward], axis=-1).astype(np.float32)

    def forward(self, inputs):
        return self.last((inputs * inputs[..., -1:]).sum((1, 2)))
'''

SEARCH = '''
"""A search that trains a little and takes the design in the middle."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

import tellapart as ta
from tellapart.estimators.fresh import pointwise_at
from tellapart.search.base import part
from tellapart.training import Stream, Trainer, TrainingSettings


@dataclass(frozen=True)
class Middle(ta.Search):
    """Everything at its middle."""

    encoder: type[ta.Encoder] | None = part("encoder")
    steps: int = 10

    name: ClassVar[str] = "middle"

    def find(self, job):
        estimator = self.build(job.task, job.question)
        source = Stream(estimator, lambda n, rng: job.task.baseline(n, rng), 64, (job.seed, 1))
        Trainer(estimator, TrainingSettings(), self.steps, job.seed).run(source, progress=job.progress)
        design = np.full(job.task.design_space.shape, 0.5)
        return ta.Found(design, self.evaluate(job, [design], estimator)[0], estimator)

    def build(self, task, question):
        import torch

        torch.manual_seed(1)
        return ta.PosteriorEstimator(question, (self.encoder or ta.SequenceEncoder)(task))

    def evaluate(self, job, designs, estimator):
        return [pointwise_at(estimator, design, 200, (job.seed, 2))[0].estimate() for design in designs]
'''

ESTIMATOR = '''
"""Half of what NWJ's bound says: still a bound."""

from typing import ClassVar

from .critic import CriticEstimator
from .nwj import safe_exp


class Half(CriticEstimator):
    """NWJ's bound, halved."""

    name: ClassVar[str] = "half"
    contrasts: ClassVar[int] = 1
    estimate_contrasts: ClassVar[int] = 5

    def pointwise_bound(self, joint, contrast):
        return 0.5 * (joint - safe_exp(contrast - 1.0).mean(0))
'''

TASK = '''
"""Two coins that may be biased."""

from dataclasses import dataclass
from typing import ClassVar

from ..behavior import Field
from .base import Task
from .environment import Environment
from .sampling import sample
from .space import DesignSpace, Variable


class Toss(Environment):
    """Heads with the probability that the design says."""

    def draw(self, responses):
        return {"reward": (self.rng.random(len(self.designs)) < self.designs[:, self.block, 0]).astype(int)}


@dataclass(frozen=True)
class Coins(Task):
    """Guess which of two coins shows heads."""

    blocks: int = 2
    trials: int = 6

    name: ClassVar[str] = "coins"
    rules: ClassVar[type[Environment]] = Toss

    @property
    def fields(self):
        return Field("choice", "categorical", labels=("left", "right")), Field("reward", "binary", by="task")

    @property
    def design_space(self):
        return DesignSpace(self.blocks, [Variable("bias")])

    def baseline(self, n, rng):
        return sample(self.design_space, n, rng)
'''

STUDY = """
[study]
goal = "estimate"
[task]
use = "bernoulli-bandit"
arms = 2
blocks = 2
trials = 6
[[models]]
use = "stayer"
[search]
method = "middle"
encoder = "counter"
"""
"""Without a model of tellapart's own: in a copy of the package it would be compiled anew."""

COINS = """
[study]
goal = "estimate"
[task]
use = "coins"
[[models]]
use = "stayer"
[search]
estimator = "half"
"""

USE = """
import json, sys
import tellapart as ta
study = ta.Study.from_file(sys.argv[1])
again = ta.Study.from_file(sys.argv[1]).to_toml()
result = ta.find_design(study, sys.argv[1] + "/run")
print(json.dumps({
    "package": ta.__file__,
    "classes": [type(part).__module__ for part in (study.models[0], study.search)] + [study.search.encoder.__module__],
    "nats": result.information.nats,
    "same": ta.Study.from_file(sys.argv[1]) == study,
    "toml": again,
}))
"""

CHECK = """
import tellapart.testing as t
from tellapart.parts import find_part
task = ta.BernoulliBandit(2, 2, 6)
t.check_encoder(find_part("encoder", "counter"), task)
t.check_search(find_part("search", "middle")(), task, ta.Question((find_part("model", "stayer")(),), "estimate"))
print(json.dumps([str(finding) for finding in t.check_model(find_part("model", "stayer")(), task).findings]))
"""

OTHER = """
from tellapart.testing import check_task
study = ta.Study.from_file(sys.argv[2])
check_task(study.task)
print(json.dumps([study.task.name, study.search.build(study.task, study.question).name]))
"""


def python(code, *arguments, path):
    """Run Python with `path` first on its search path; what it printed in its last two lines."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(path), str(Path(tellapart.__file__).parents[1])])}
    done = subprocess.run([sys.executable, "-c", code, *map(str, arguments)], capture_output=True, text=True, env=environment, timeout=600)
    assert done.returncode == 0, done.stderr[-3000:]
    return [json.loads(line) for line in done.stdout.strip().splitlines()[-2:]]


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """A folder into which a package with a model, an encoder and a search was installed."""
    source, target = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("site")
    package = source / "staying"
    package.mkdir()
    for name, code in (("__init__", ""), ("models", MODEL), ("encoders", ENCODER), ("searches", SEARCH)):
        (package / f"{name}.py").write_text(code)
    (source / "pyproject.toml").write_text(
        '[build-system]\nrequires = ["setuptools"]\nbuild-backend = "setuptools.build_meta"\n'
        '[project]\nname = "staying"\nversion = "1.0"\n[tool.setuptools]\npackages = ["staying"]\n'
        '[project.entry-points."tellapart.models"]\nstayer = "staying.models:Stayer"\n'
        '[project.entry-points."tellapart.encoders"]\ncounter = "staying.encoders:Counter"\n'
        '[project.entry-points."tellapart.searches"]\nmiddle = "staying.searches:Middle"\n'
    )
    how = ["--no-deps", "--no-build-isolation", "--no-index", "--quiet", "--disable-pip-version-check", "--target", str(target)]
    done = subprocess.run([sys.executable, "-m", "pip", "install", *how, str(source)], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return target


def test_an_installed_package_adds_a_model_an_encoder_and_a_search(installed, tmp_path):
    (tmp_path / "study.toml").write_text(STUDY)
    used, checked = python(USE + CHECK, tmp_path, path=installed)
    assert used["classes"] == ["staying.models", "staying.searches", "staying.encoders"]
    assert abs(used["nats"]) < 1
    assert used["same"]
    assert 'use = "stayer"' in used["toml"]
    assert 'encoder = "counter"' in used["toml"]
    assert checked == []


def test_one_new_file_in_its_folder_is_all_it_takes(tmp_path):
    """CONTRIBUTING's promise: a copy of the package with one file more in each folder; nothing else is edited."""
    shutil.copytree(Path(tellapart.__file__).parent, tmp_path / "tellapart")  # with what is compiled already
    package = tmp_path / "tellapart"
    (package / "models" / "stayer.py").write_text(MODEL)
    (package / "networks" / "counter.py").write_text(ENCODER)
    (package / "search" / "middle.py").write_text(SEARCH)
    (package / "estimators" / "half.py").write_text(ESTIMATOR)
    (package / "tasks" / "coins.py").write_text(TASK)
    for name, study in (("study", STUDY), ("coins", COINS)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "study.toml").write_text(study)
    used, names = python(USE + OTHER, tmp_path / "study", tmp_path / "coins", path=tmp_path)
    assert used["package"].startswith(str(tmp_path))
    assert used["classes"] == ["tellapart.models.stayer", "tellapart.search.middle", "tellapart.networks.counter"]
    assert used["same"]
    assert names == ["coins", "half"]
