"""Benchmarks are run by hand and seldom; so that they do not rot: what they import exists, and each says first how long it takes."""

import ast
import importlib
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[1] / "benchmarks"
BENCHMARKS = sorted(path for path in FOLDER.glob("*.py") if path.name != "takes.py")
each = pytest.mark.parametrize("path", BENCHMARKS, ids=lambda path: path.stem)


@each
def test_what_a_benchmark_imports_exists(path):
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and str(node.module).startswith("tellapart"):
            module = importlib.import_module(node.module)
            missing = [alias.name for alias in node.names if not hasattr(module, alias.name)]
            assert [name for name in missing if find_spec(f"{node.module}.{name}") is None] == []


@each
def test_a_benchmark_says_first_how_long_it_takes(path):
    tree = ast.parse(path.read_text())
    assert any(paragraph.startswith("Takes ") for paragraph in ast.get_docstring(tree).split("\n\n"))
    guarded = [node for node in tree.body if isinstance(node, ast.If)][-1]
    assert ast.unparse(guarded.body[0]) == "say(__doc__)"


def test_all_are_listed_with_their_times():
    done = subprocess.run([sys.executable, FOLDER / "takes.py"], capture_output=True, text=True, check=True)
    assert all(f"\n{path.stem} " in done.stdout for path in BENCHMARKS)
    assert done.stdout.count(" Takes ") == len(BENCHMARKS)


def test_every_module_with_mistakes_on_purpose_has_tests_that_exist():
    tree = ast.parse((FOLDER / "mutants.py").read_text())
    named = {node.targets[0].id: node.value for node in tree.body if isinstance(node, ast.Assign)}
    settings = {name: ast.literal_eval(named[name]) for name in ("TESTS", "PARTS")}
    tests, package = FOLDER.parent / "tests", FOLDER.parent / "src" / "tellapart"
    assert [name for names in settings["TESTS"].values() for name in names if not (tests / name).exists()] == []
    modules = [file for part in settings["PARTS"] for file in ([package / part] if part.endswith(".py") else (package / part).glob("*.py"))]
    names = [str(module.relative_to(package)) for module in modules if module.name != "__init__.py"]
    assert [name for name in names if not any(name.startswith(entry) for entry in settings["TESTS"])] == []
    assert [entry for entry in settings["TESTS"] if not any(name.startswith(entry) for name in names)] == []
