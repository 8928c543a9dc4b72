"""The notebooks run from top to bottom, and what they hold was made by running them."""

import importlib.util
import json
import re
from pathlib import Path

import pytest
from pages import few_points

FOLDER = Path(__file__).parents[1] / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))
each = pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)


@pytest.fixture(scope="module")
def make():
    spec = importlib.util.spec_from_file_location("make_notebooks", FOLDER / "make.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def shortened(text):
    """The same notebook with searches that train for a moment, and few people: what is shown is compared by its kind, whatever it says."""
    short, searches = re.subn(r"\bsteps=\d+", "steps=10", text)
    assert searches
    short = re.sub(r"\b(survey|finalist|baseline)_simulations=\d+", r"\1_simulations=100", short)
    return json.loads(re.sub(r"\bn=\d+", "n=40", short))


@each
def test_a_notebook_runs_and_shows_something_after_each_cell_that_did(path, make, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    kept, again = json.loads(path.read_text("utf-8")), shortened(path.read_text("utf-8"))
    with few_points():
        make.run(again, path.name)
    kinds = [[[output["output_type"] for output in cell.get("outputs", ())] for cell in one["cells"]] for one in (kept, again)]
    assert kinds[0] == kinds[1]
    assert list(tmp_path.iterdir()) == []


@each
def test_a_notebook_is_in_the_form_that_programs_read(path):
    notebook = json.loads(path.read_text("utf-8"))
    assert (notebook["nbformat"], notebook["nbformat_minor"]) == (4, 5)
    ids = [cell["id"] for cell in notebook["cells"]]
    assert len(ids) == len(set(ids)) > 5
    assert notebook["cells"][0]["source"][0].startswith("# ")
    assert all(("outputs" in cell) == (cell["cell_type"] == "code") for cell in notebook["cells"])


def test_a_cell_that_fails_is_named(make):
    notebook = {"cells": [{"cell_type": "code", "source": ["1 / 0"]}]}
    with pytest.raises(ZeroDivisionError) as raised:
        make.run(notebook, "broken.ipynb")
    assert "broken.ipynb, cell 1" in str(raised.traceback[-1])


def test_what_a_cell_shows_is_what_it_printed_and_its_last_value(make):
    sources = ["x = 2\n", "print('hello')\n", "x + 1"], ["y = x"]
    notebook = {"cells": [{"cell_type": "code", "source": source} for source in sources]}
    make.run(notebook, "small.ipynb")
    first, second = (cell["outputs"] for cell in notebook["cells"])
    assert first[0]["text"] == ["hello\n"]
    assert first[1]["data"] == {"text/plain": ["3"]}
    assert second == []
