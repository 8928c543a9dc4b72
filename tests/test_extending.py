"""The encoder, the estimator and the search of the documentation, each in a file beside a study, go from design to report."""

import re
from pathlib import Path

import numpy as np
import pytest

from tellapart import RunError, Study, StudyError, find_design
from tellapart.run import Run

PAGES = Path(__file__).parents[1] / "docs" / "extending"

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
    "encoder": ("discriminate", f'encoder = "mine:WinStayCounts"\n{SMALL}'),
    "estimator": ("estimate", f'estimator = "mine:NormalPosterior"\n{SMALL}'),
    "search": ("discriminate", 'method = "mine:Shortlist"\ndesigns = ["0.2,0.5; 0.2,0.5", "0,1; 0.5,0.5"]\nsteps = 20\nsimulations = 200'),
}


@pytest.fixture(params=CASES)
def folder(request, tmp_path):
    """A study that uses the first example of a page, as its reader would write it."""
    goal, search = CASES[request.param]
    code = re.search(r"```python\n(.*?)```", (PAGES / f"{request.param}.md").read_text(), re.DOTALL)[1]
    (tmp_path / "mine.py").write_text(code)
    more = "" if goal == "estimate" else '[[models]]\nuse = "wslts"'
    (tmp_path / "study.toml").write_text(STUDY.format(goal=goal, more=more, search=search))
    return tmp_path


def test_from_design_to_report(folder):
    study = Study.from_file(folder)
    result = find_design(study, folder / "run")
    again = Run.finished(Study.from_file(folder), folder / "run").result()
    np.testing.assert_array_equal(again.design, result.design)
    assert again.information == result.information
    assert np.isfinite(again.run.evaluate([result.design])[0].nats)
    assert "<html" in again.report(again.validate(n=100, n_exact=0))


def test_it_survives_the_study_file(folder):
    study = Study.from_file(folder)
    assert "mine:" in study.to_toml()
    (folder / "study.toml").write_text(study.to_toml())
    assert Study.from_file(folder) == study


def test_a_run_is_not_continued_with_other_code(folder):
    Run.open(Study.from_file(folder), folder / "run")
    (folder / "mine.py").write_text((folder / "mine.py").read_text() + "\nCHANGED = True\n")
    with pytest.raises(RunError, match="different study"):
        Run.open(Study.from_file(folder), folder / "run")


@pytest.mark.parametrize(
    ("search", "message"),
    [
        ('encoder = "mine:Nothing"', "There is no 'Nothing' in 'mine.py'"),
        ('encoder = "nowhere:Mine"', "There is no file 'nowhere.py'"),
        ('encoder = "mine:Path"', "'Path' is not an encoder"),
        ('estimator = "mine:Unfinished"', "'Unfinished' is not finished"),
        ('method = "mine:Nameless"', "'Nameless' has no name"),
        ('encoder = "histori"', "The 'encoder' of the search is unknown"),
    ],
)
def test_what_is_wrong_is_said(tmp_path, search, message):
    (tmp_path / "mine.py").write_text(
        "from pathlib import Path\nfrom tellapart.estimators.base import Estimator\nfrom tellapart.search.amortized import Search\n"
        "class Unfinished(Estimator): pass\n"
        "class Nameless(Search):\n    find = load = evaluate = None\n"
    )
    (tmp_path / "study.toml").write_text(STUDY.format(goal="discriminate", more='[[models]]\nuse = "wslts"', search=search))
    with pytest.raises(StudyError, match=message) as caught:
        Study.from_file(tmp_path)
    assert "line" in str(caught.value)
