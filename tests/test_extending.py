"""The encoder, the estimator and the search of the documentation, each in a file beside a study, go from design to report; and in one of
tellapart's folders a file of their own is all they need."""

import re
import sys
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

from tellapart import Run, RunError, Study, StudyError, find_design
from tellapart.parts import find_part, known_parts, use_of

PAGES = Path(__file__).parents[1] / "docs" / "how-to" / "extending"

STUDY = """
[study]
goal = "{goal}"
[task]
use = "bernoulli-bandit"
arms = 2
blocks = 2
trials = 8
[[models]]
use = "aeg"
{more}
[search]
{search}
"""

SMALL = (
    "steps = 20\nsurvey = 16\nsurvey_simulations = 60\nfinalists = 2\nfinalist_simulations = 200\nbaselines = 2\nbaseline_simulations = 60"
)

CASES = {
    "encoder": ("discriminate", f'encoder = "parts:WinStayCounts"\n{SMALL}'),
    "estimator": ("estimate", f'estimator = "parts:NormalPosterior"\n{SMALL}'),
    "search": ("discriminate", 'method = "parts:Shortlist"\ndesigns = ["0.2,0.5; 0.2,0.5", "0,1; 0.5,0.5"]\nsteps = 20\nsimulations = 200'),
}


@pytest.fixture(params=CASES)
def folder(request, tmp_path):
    """A study that uses the first example of a page, as its reader would write it."""
    goal, search = CASES[request.param]
    code = re.search(r"```python\n(.*?)```", (PAGES / f"{request.param}.md").read_text(), re.DOTALL)[1]
    (tmp_path / "parts.py").write_text(code)
    more = "" if goal == "estimate" else '[[models]]\nuse = "wslts"'
    (tmp_path / "study.toml").write_text(STUDY.format(goal=goal, more=more, search=search))
    return tmp_path


def test_from_design_to_report(folder, monkeypatch):
    monkeypatch.setattr("tellapart.report.style.inline", lambda figure, name, title: "")  # tests/report looks at pictures
    study = Study.from_file(folder)
    result = find_design(study, folder / "run")
    again = Run.finished(Study.from_file(folder), folder / "run").result()
    np.testing.assert_array_equal(again.design, result.design)
    assert again.information == result.information
    assert np.isfinite(again.evaluate([result.design])[0].nats)
    assert "<html" in again.report(again.validate(n=100, n_exact=0, n_reader=300))


FOLDERS = {
    "model": ("models", "Contrarian", "contrarian"),
    "task": ("tasks", "FadingBandit", "fading-bandit"),
    "encoder": ("networks", "WinStayCounts", "win-stay-counts"),
    "estimator": ("estimators", "NormalPosterior", "normal-posterior"),
    "search": ("search", "Shortlist", "shortlist"),
}


@pytest.mark.parametrize("kind", FOLDERS)
def test_a_file_in_a_folder_of_tellapart_is_all_that_a_part_needs(kind, tmp_path, monkeypatch):
    """As CONTRIBUTING's table says; here the folder is made longer by another one, so that nothing is written to it."""
    package, class_name, name = FOLDERS[kind]
    assert f"src/tellapart/{package}/yours.py" in (PAGES.parents[2] / "CONTRIBUTING.md").read_text()
    blocks = re.findall(r"```python\n(.*?)```", (PAGES / f"{kind}.md").read_text(), re.DOTALL)
    code = "\n".join(block for block in blocks if "class " in block or "import numpy" in block)
    (tmp_path / f"yours_{kind}.py").write_text(code)
    module = import_module(f"tellapart.{package}")
    monkeypatch.setattr(module, "__path__", [*module.__path__, str(tmp_path)])
    try:
        part = find_part(kind, name)
        assert part.__name__ == class_name
        assert use_of(kind, part) == name
        assert name in known_parts(kind)
    finally:
        sys.modules.pop(f"tellapart.{package}.yours_{kind}", None)


def test_it_survives_the_study_file(folder):
    study = Study.from_file(folder)
    assert "parts:" in study.to_toml()
    (folder / "study.toml").write_text(study.to_toml())
    assert Study.from_file(folder) == study


def test_a_run_is_not_continued_with_other_code(folder):
    Run.open(Study.from_file(folder), folder / "run")
    (folder / "parts.py").write_text((folder / "parts.py").read_text() + "\nCHANGED = True\n")
    with pytest.raises(RunError, match="different study") as caught:
        Run.open(Study.from_file(folder), folder / "run")
    for said in (caught.value.expected, str(caught.value.got)):  # a bare fingerprint would tell nobody which file it was
        assert re.search(r"the Python file with [a-z]+( \([\w-]+\))? \(its fingerprint begins with [0-9a-f]{6}\)", said), said


def test_nor_with_other_code_in_a_file_that_is_imported_from_beside(folder):
    source = (folder / "parts.py").read_text()
    (folder / "parts.py").write_text(f"from helpers_of_parts import deep\n{source}")
    (folder / "helpers_of_parts.py").write_text("import deeper_helpers as deep\n")
    (folder / "deeper_helpers.py").write_text("SLOPE = 1\n")
    (folder / "unrelated.py").write_text("A = 1\n")
    Run.open(Study.from_file(folder), folder / "run")
    (folder / "unrelated.py").write_text("A = 1000\n")
    Run.open(Study.from_file(folder), folder / "run")
    (folder / "deeper_helpers.py").write_text("SLOPE = 1000\n")
    with pytest.raises(RunError, match="different study"):
        Run.open(Study.from_file(folder), folder / "run")


@pytest.mark.parametrize(
    ("search", "message"),
    [
        ('encoder = "parts:Nothing"', "There is no 'Nothing' in 'parts.py'"),
        ('encoder = "nowhere:Mine"', "There is no file 'nowhere.py'"),
        ('encoder = "parts:Path"', "'Path' is not an encoder"),
        ('estimator = "parts:Unfinished"', "'Unfinished' is not finished"),
        ('method = "parts:Nameless"', "'Nameless' has no name"),
        ('encoder = "histori"', "The encoder 'histori' is unknown"),
    ],
)
def test_what_is_wrong_is_said(tmp_path, search, message):
    (tmp_path / "parts.py").write_text(
        "from pathlib import Path\nimport tellapart as ta\n"
        "class Unfinished(ta.Estimator): pass\n"
        "class Nameless(ta.Search):\n    find = build = evaluate = None\n"
    )
    (tmp_path / "study.toml").write_text(STUDY.format(goal="discriminate", more='[[models]]\nuse = "wslts"', search=search))
    with pytest.raises(StudyError, match=message) as caught:
        Study.from_file(tmp_path)
    assert "line" in str(caught.value)
