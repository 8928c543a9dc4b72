"""Studies, and study files there and back."""

import shutil
from pathlib import Path

import pytest

from tellapart import AEG, GLS, WSLTS, BernoulliBandit, Study, StudyError
from tellapart.plugins import load_class

EXAMPLES = Path(__file__).parents[1] / "examples"

OWN_MODEL = """
from __future__ import annotations
from dataclasses import dataclass
from typing import ClassVar
import numpy as np
from tellapart import Behavior, Model, Uniform

@dataclass(frozen=True)
class Guesser(Model):
    bias: float = 0.0
    weights: tuple[float, ...] = ()
    name: ClassVar[str] = "guesser"

    @property
    def parameters(self):
        return {"p": Uniform()}

    def simulate(self, parameters, design, rng, task):
        shape = len(parameters["p"]), task.blocks, task.trials
        return Behavior({"choice": np.zeros(shape, int), "reward": np.zeros(shape, int)})

class Other:
    pass

class Unfinished(Model):
    name = "unfinished"

class Nameless(Guesser):
    name = None

class Choosy(Guesser):
    name = "choosy"
    def __init__(self, must):
        pass

number = 3
"""


@pytest.fixture
def folder(tmp_path):
    """A study of WSLTS and a model of its own file."""
    (tmp_path / "mine.py").write_text(OWN_MODEL)
    (tmp_path / "study.toml").write_text(
        '[study]\n[task]\nuse = "bernoulli-bandit"\narms = 2\n[[models]]\nuse = "wslts"\n[[models]]\nuse = "mine:Guesser"\nbias = 1\n'
    )
    return tmp_path


def rewrite(folder, old, new):
    file = folder / "study.toml"
    assert old in file.read_text()
    file.write_text(file.read_text().replace(old, new))


@pytest.mark.parametrize("path", sorted(path.parent for path in EXAMPLES.glob("*/study.toml")), ids=lambda path: path.name)
def test_examples_are_read_and_written(path, tmp_path):
    folder = shutil.copytree(path, tmp_path / "copy", ignore=shutil.ignore_patterns("run"))
    study = Study.from_file(folder)
    assert Study.from_file(folder / "study.toml") == study
    (folder / "study.toml").write_text(study.to_toml())
    assert Study.from_file(folder) == study


def test_the_example_is_the_study_of_the_paper():
    study = Study.from_file(EXAMPLES / "bandit")
    assert study == Study(BernoulliBandit(3, 2, 30), [WSLTS(), AEG(), GLS()], name="bandit-discriminate")


def test_everything_survives_the_file(tmp_path):
    settings = {"method": "bayesopt", "evaluations": 40, "initial": 20, "tolerance": 1e-16, "keep": "best", "hidden": [16, 8]}
    study = Study(BernoulliBandit(4, 3, 10), [AEG(convention="released")], "estimate", 'Größe "b" c\\n\n', 7, settings)
    (tmp_path / "study.toml").write_text(study.to_toml(), encoding="utf-8")
    assert Study.from_file(tmp_path) == study


def test_a_model_from_a_file_beside_the_study(folder):
    study = Study.from_file(folder)
    assert [model.name for model in study.models] == ["wslts", "guesser"]
    assert study.models[1].bias == 1.0
    assert isinstance(study.models[1].bias, float)
    assert 'use = "mine:Guesser"' in study.to_toml()
    (folder / "study.toml").write_text(study.to_toml())
    assert Study.from_file(folder) == study


def test_a_changed_model_file_is_loaded_anew(folder):
    (folder / "mine.py").write_text(OWN_MODEL.replace("bias: float = 0.0", "bias: int = 0"))
    before = Study.from_file(folder).models[1]
    (folder / "mine.py").write_text(OWN_MODEL)
    after = Study.from_file(folder).models[1]
    assert isinstance(before.bias, int)
    assert isinstance(after.bias, float)


def test_a_model_file_can_import_its_neighbours(folder):
    (folder / "study_neighbour_of_mine.py").write_text("BIAS = 2.5")
    code = OWN_MODEL.replace("import numpy", "from study_neighbour_of_mine import BIAS\nimport numpy").replace("= 0.0", "= BIAS")
    (folder / "mine.py").write_text(code)
    rewrite(folder, "bias = 1\n", "")
    assert Study.from_file(folder).models[1].bias == 2.5


def test_lists_become_tuples(folder):
    rewrite(folder, "bias = 1", "weights = [1, 2.5]")
    assert Study.from_file(folder).models[1].weights == (1.0, 2.5)


def test_a_model_defined_nowhere_cannot_be_written():
    class Local(WSLTS):
        name = "local"

    with pytest.raises(StudyError, match="no file"):
        Study(BernoulliBandit(), [WSLTS(), Local()]).to_toml()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"goal": "discriminat"}, ["goal", "did you mean 'discriminate'"]),
        ({"models": [WSLTS()]}, ["tells models apart", "one (wslts)"]),
        ({"models": []}, ["none"]),
        ({"models": [WSLTS(), WSLTS()]}, ["same name", "wslts"]),
        ({"goal": "estimate"}, ["one model", "2 (wslts, aeg)", "both"]),
        ({"goal": "estimate", "models": []}, ["none", "[[models]]"]),
        ({"goal": "both", "models": [WSLTS()]}, ["goal 'both'"]),
        ({"models": [WSLTS(), AEG]}, ["not a model", "the class AEG", "AEG()"]),
        ({"models": [WSLTS(), "aeg"]}, ["not a model", "a str"]),
        ({"task": WSLTS()}, ["not a task", "WSLTS"]),
        ({"seed": -1}, ["seed", "-1"]),
        ({"seed": 1.5}, ["seed", "1.5"]),
        ({"search": {"method": "bayes"}}, ["'method' is unknown", "bayesopt"]),
    ],
)
def test_studies_that_make_no_sense(arguments, message):
    with pytest.raises(StudyError) as error:
        Study(**{"task": BernoulliBandit(), "models": [WSLTS(), AEG()], **arguments})
    assert all(words in str(error.value) for words in message), str(error.value)


@pytest.mark.parametrize(
    ("use", "message"),
    [
        ("mine:Gueser", ["no 'Gueser'", "did you mean 'Guesser'"]),
        ("mien:Guesser", ["no file 'mien.py'", "did you mean 'mine'"]),
        ("mine:Other", ["not a model", "class Other(tellapart.Model)", "line"]),
        ("mine:number", ["not a model", "a int"]),
        ("mine:Unfinished", ["not finished", "parameters, simulate", "line"]),
        ("mine:Nameless", ["no name"]),
        ("mine:", ["names no class"]),
        ("../mine:Guesser", ["names no class"]),
    ],
)
def test_classes_that_cannot_be_used(folder, use, message):
    rewrite(folder, "mine:Guesser", use)
    with pytest.raises(StudyError) as error:
        Study.from_file(folder)
    assert all(words in str(error.value) for words in [*message, "study.toml, line 8"]), str(error.value)


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("import numpy\n\nx = 1 / 0\n", ["mine.py, line 3", "ZeroDivisionError"]),
        ("x = 1\ndef f(:\n", ["mine.py, line 2", "SyntaxError"]),
        ("import no_such_package\n", ["mine.py, line 1", "no_such_package"]),
        ("def f():\n    raise SystemExit('stop')\nf()\n", ["mine.py, line 2", "SystemExit"]),
    ],
)
def test_files_that_cannot_be_loaded(folder, code, message):
    (folder / "mine.py").write_text(code)
    with pytest.raises(StudyError) as error:
        Study.from_file(folder)
    assert all(words in str(error.value) for words in message), str(error.value)


def test_a_failed_load_can_be_mended(folder):
    (folder / "mine.py").write_text("1 / 0")
    with pytest.raises(StudyError):
        Study.from_file(folder)
    (folder / "mine.py").write_text(OWN_MODEL)
    assert Study.from_file(folder).models[1].name == "guesser"


def test_an_own_class_with_its_own_constructor(folder):
    rewrite(folder, 'mine:Guesser"\nbias = 1', 'mine:Choosy"')
    with pytest.raises(StudyError, match="must"):
        Study.from_file(folder)


def test_the_same_file_is_loaded_once(folder):
    from tellapart import Model

    assert load_class("mine:Guesser", folder, Model) is load_class("mine:Guesser", folder, Model)
