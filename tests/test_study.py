"""Studies, and study files there and back."""

import shutil
from pathlib import Path

import pytest

from tellapart import (
    AEG,
    GLS,
    WSLTS,
    Amortized,
    BayesianOptimization,
    BernoulliBandit,
    HistoryEncoder,
    PosteriorEstimator,
    Question,
    Study,
    StudyError,
)
from tellapart.parts import find_part

EXAMPLES = Path(__file__).parents[1] / "examples"

MODELS = """
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

    def simulate(self, parameters, designs, rng, task):
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
    (tmp_path / "theories.py").write_text(MODELS)
    (tmp_path / "study.toml").write_text(
        '[study]\n[task]\nuse = "bernoulli-bandit"\narms = 2\n[[models]]\nuse = "wslts"\n[[models]]\nuse = "theories:Guesser"\nbias = 1\n'
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


def test_a_byte_order_mark_is_no_mistake(folder):
    study, file = Study.from_file(folder), folder / "study.toml"
    file.write_text(file.read_text(), encoding="utf-8-sig")
    assert Study.from_file(folder) == study


def test_the_run_folder_is_no_study_but_its_neighbour_is(folder):
    (folder / "run").mkdir()
    with pytest.raises(StudyError, match="the study is the folder above"):
        Study.from_file(folder / "run")


def test_data_in_the_place_of_the_study(tmp_path):
    (tmp_path / "data.txt").write_text("subjID\ttrial\tchoice\n1\t1\t1\n")
    with pytest.raises(StudyError, match="give the study first"):
        Study.from_file(tmp_path / "data.txt")


def test_the_example_is_the_study_of_the_paper():
    study = Study.from_file(EXAMPLES / "bandit")
    assert study == Study(BernoulliBandit(3, 2, 30), [WSLTS(), AEG(), GLS()], name="bandit-discriminate")


def test_everything_survives_the_file(tmp_path):
    search = BayesianOptimization(evaluations=40, initial=20, tolerance=1e-16, keep="best", hidden=(16, 8))
    study = Study(BernoulliBandit(4, 3, 10), AEG(convention="released"), "estimate", search=search, seed=7, name='Größe "b" c\\n\n')
    (tmp_path / "study.toml").write_text(study.to_toml(), encoding="utf-8")
    assert Study.from_file(tmp_path) == study


QUESTIONS = {
    "prior": Study(BernoulliBandit(), [WSLTS(), AEG(), GLS()], prior=[0.6, 0.3, 0.1]),
    "about": Study(BernoulliBandit(), AEG(), "estimate", about=["aeg.epsilon"]),
    "both": Study(BernoulliBandit(), [WSLTS(), AEG()], "both", [1, 3], ["wslts.lambda", "aeg.phi"], on_error="skip"),
    "parts": Study(BernoulliBandit(), [WSLTS(), AEG()], search=Amortized(estimator=PosteriorEstimator, encoder=HistoryEncoder, steps=7)),
}


@pytest.mark.parametrize("name", QUESTIONS)
def test_a_question_and_the_parts_of_a_search_survive_the_file(name, tmp_path):
    (tmp_path / "study.toml").write_text(QUESTIONS[name].to_toml())
    assert Study.from_file(tmp_path) == QUESTIONS[name]


def test_a_study_is_its_question():
    study = Study(BernoulliBandit(), [WSLTS(), AEG()], "both", [1, 3], ["aeg.phi"], on_error="skip")
    assert study.question == Question((WSLTS(), AEG()), "both", (0.25, 0.75), ("aeg.phi",), "skip")
    assert (study.models, study.goal) == (study.question.models, "both")


def test_what_is_not_said_is_not_written():
    text = Study(BernoulliBandit(), [WSLTS(), AEG()]).to_toml()
    assert not any(word in text for word in ("prior", "about", "simulation]", "encoder", "estimator"))


def test_priors_need_not_sum_to_one_in_a_file(folder):
    rewrite(folder, 'use = "wslts"', 'use = "wslts"\nprior = 3')
    rewrite(folder, "bias = 1", "bias = 1\nprior = 1.0")
    assert Study.from_file(folder).question.prior == (0.75, 0.25)


def test_a_model_from_a_file_beside_the_study(folder):
    study = Study.from_file(folder)
    assert [model.name for model in study.models] == ["wslts", "guesser"]
    assert study.models[1].bias == 1.0
    assert isinstance(study.models[1].bias, float)
    assert 'use = "theories:Guesser"' in study.to_toml()
    (folder / "study.toml").write_text(study.to_toml())
    assert Study.from_file(folder) == study


def test_a_changed_model_file_is_loaded_anew(folder):
    (folder / "theories.py").write_text(MODELS.replace("bias: float = 0.0", "bias: int = 0"))
    before = Study.from_file(folder).models[1]
    (folder / "theories.py").write_text(MODELS)
    after = Study.from_file(folder).models[1]
    assert isinstance(before.bias, int)
    assert isinstance(after.bias, float)


def test_a_model_file_can_import_its_neighbours(folder):
    (folder / "study_neighbour_of_theories.py").write_text("BIAS = 2.5")
    code = MODELS.replace("import numpy", "from study_neighbour_of_theories import BIAS\nimport numpy").replace("= 0.0", "= BIAS")
    (folder / "theories.py").write_text(code)
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
        ({"search": {"method": "bayesopt"}}, ["not a search", "a dict"]),
        ({"search": BayesianOptimization}, ["not a search", "BayesianOptimization()"]),
        ({"on_error": "ignore"}, ["on_error", '"stop" or "skip"']),
        ({"prior": [1.0]}, ["prior", "2 numbers"]),
        ({"prior": [0.5, -0.5]}, ["prior", "above 0"]),
        ({"prior": [1.0, 0.0]}, ["prior", "leave out a model"]),
        ({"about": ["aeg.phi"]}, ["'discriminate' is not about parameters"]),
        ({"goal": "both", "about": ["aeg.fi"]}, ["no parameter 'aeg.fi'", "did you mean 'aeg.phi'"]),
        ({"goal": "both", "about": ["phi"]}, ["no parameter 'phi'", "aeg.phi"]),
    ],
)
def test_studies_that_make_no_sense(arguments, message):
    with pytest.raises(StudyError) as error:
        Study(**{"task": BernoulliBandit(), "models": [WSLTS(), AEG()], **arguments})
    assert all(words in str(error.value) for words in message), str(error.value)


@pytest.mark.parametrize(
    ("use", "message"),
    [
        ("theories:Gueser", ["no 'Gueser'", "did you mean 'Guesser'"]),
        ("theoreis:Guesser", ["no file 'theoreis.py'", "did you mean 'theories'"]),
        ("theories:Other", ["not a model", "class Other(tellapart.Model)", "line"]),
        ("theories:number", ["not a model", "a int"]),
        ("theories:Unfinished", ["not finished", "parameters, simulate", "line"]),
        ("theories:Nameless", ["no name"]),
        ("theories:", ["names no class"]),
        ("../theories:Guesser", ["names no class"]),
    ],
)
def test_classes_that_cannot_be_used(folder, use, message):
    rewrite(folder, "theories:Guesser", use)
    with pytest.raises(StudyError) as error:
        Study.from_file(folder)
    assert all(words in str(error.value) for words in [*message, "study.toml, line 8"]), str(error.value)


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("import numpy\n\nx = 1 / 0\n", ["theories.py, line 3", "ZeroDivisionError"]),
        ("x = 1\ndef f(:\n", ["theories.py, line 2", "SyntaxError"]),
        ("import no_such_package\n", ["theories.py, line 1", "no_such_package"]),
        ("def f():\n    raise SystemExit('stop')\nf()\n", ["theories.py, line 2", "SystemExit"]),
    ],
)
def test_files_that_cannot_be_loaded(folder, code, message):
    (folder / "theories.py").write_text(code)
    with pytest.raises(StudyError) as error:
        Study.from_file(folder)
    assert all(words in str(error.value) for words in message), str(error.value)


def test_a_failed_load_can_be_mended(folder):
    (folder / "theories.py").write_text("1 / 0")
    with pytest.raises(StudyError):
        Study.from_file(folder)
    (folder / "theories.py").write_text(MODELS)
    assert Study.from_file(folder).models[1].name == "guesser"


MISTAKES_IN_QUESTIONS = [
    ({"wslts": "prior = 0.5"}, "line 8", ["prior over models", "0.5, none", "give all models a prior, or none"]),
    ({"aeg": "prior = 0.5"}, "line 5", ["prior over models", "none, 0.5", "give all models a prior, or none"]),
    ({"wslts": "prior = 0.5", "aeg": "prior = -0.5"}, "line 10", ["prior over models", "above 0"]),
    ({"wslts": "prior = 0.5", "aeg": "prior = 0"}, "line 10", ["prior over models", "leave out a model that is impossible"]),
    ({"wslts": 'prior = "half"', "aeg": "prior = 1"}, "line 7", ["'prior'", "a number", '"half"']),
    ({"study": 'about = ["aeg.phi"]'}, "line 3", ["'discriminate' is not about parameters"]),
    ({"study": 'goal = "both"\nabout = ["aeg.fi"]'}, "line 3", ["no parameter 'aeg.fi'", "did you mean 'aeg.phi'"]),
    ({"study": 'goal = "both"\nabout = "aeg.phi"'}, "line 3", ["'about'", "a list in brackets"]),
    ({"study": 'goal = "both"\nabout = [1]'}, "line 3", ["'about'", "text in quotes"]),
]


@pytest.mark.parametrize(("more", "line", "words"), MISTAKES_IN_QUESTIONS)
def test_a_mistake_in_the_question_is_shown_at_its_line(tmp_path, more, line, words):
    text = '[study]\n{study}\n[task]\nuse = "bernoulli-bandit"\n[[models]]\nuse = "wslts"\n{wslts}\n[[models]]\nuse = "aeg"\n{aeg}\n'
    goal = 'goal = "discriminate"\n' if "goal" not in more.get("study", "") else ""
    text = text.format(**{"study": "", "wslts": "", "aeg": "", **more}).replace("[study]\n", f"[study]\n{goal}", 1)
    (tmp_path / "study.toml").write_text("\n".join(filter(None, text.splitlines())))
    with pytest.raises(StudyError) as error:
        Study.from_file(tmp_path)
    assert all(word in str(error.value) for word in [*words, f"study.toml, {line}"]), str(error.value)


def test_a_setting_that_takes_a_few_numbers(folder):
    code = MODELS.replace("import ClassVar", "import ClassVar, Literal").replace("bias: float = 0.0", "bias: Literal[1, 2] | None = None")
    (folder / "theories.py").write_text(code)
    assert Study.from_file(folder).models[1].bias == 1
    rewrite(folder, "bias = 1", "bias = 3")
    with pytest.raises(StudyError, match="The choice of 'bias' is unknown") as error:
        Study.from_file(folder)
    assert error.value.expected == "1 or 2"
    assert error.value.fix == "choose one of: 1, 2"


def test_a_class_of_the_users_with_a_constructor_of_its_own(folder):
    rewrite(folder, 'theories:Guesser"\nbias = 1', 'theories:Choosy"')
    with pytest.raises(StudyError, match="must"):
        Study.from_file(folder)


def test_the_same_file_is_loaded_once(folder):
    assert find_part("model", "theories:Guesser", folder) is find_part("model", "theories:Guesser", folder)


def test_a_study_that_is_as_all_are_needs_no_section(tmp_path):
    text = '[task]\nuse = "bernoulli-bandit"\n[[models]]\nuse = "wslts"\n[[models]]\nuse = "aeg"\n'
    for name, head in {"without": "", "with": "[study]\n"}.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / "study.toml").write_text(head + text)
    without, given = (Study.from_file(tmp_path / name) for name in ("without", "with"))
    assert without == given
    assert without.goal == "discriminate"
