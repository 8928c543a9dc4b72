"""What notebooks show: short, escaped, and saying what is known."""

import re
from html.parser import HTMLParser

import numpy as np
import pytest

from tellapart import AEG, WSLTS, Amortized, BernoulliBandit, DesignResult, Difference, Found, InformationEstimate, Posterior, Study
from tellapart.display import ROWS, bars, shares, table
from tellapart.folder import RunFolder
from tellapart.posterior import ModelPosterior, ParameterPosterior
from tellapart.search.base import Baseline
from tellapart.tasks.text import names_for_people

INFORMATION = InformationEstimate(0.932, 0.004, "lower bound", 20_000, 0.8, 0.01)
STUDY = Study(BernoulliBandit(3, 2, 30), [WSLTS(), AEG()], prior=(0.7, 0.3), name="<script>bad</script>")
DESIGN = np.array([[0, 0.733, 0.766], [0.297, 0.348, 1]])


def posterior(people=12, goal="both"):
    labels = np.array([f"p{i}" for i in range(people - 1)] + ["<b>"])[::-1]
    models = ModelPosterior(np.tile([0.25, 0.75], (people, 1)), ("wslts", "aeg"), labels) if goal == "both" else None
    draws = np.tile(np.linspace(0, 1, 101), (people, 1))
    return Posterior(labels, models, {"aeg": ParameterPosterior("aeg", {"epsilon": draws}, labels)})


def result(tmp_path):
    baseline = Baseline(DESIGN[None], (INFORMATION,), INFORMATION, Difference(0.02, 0.003))
    return DesignResult(STUDY, Found(DESIGN, INFORMATION, None, baseline), RunFolder(tmp_path))


class Strict(HTMLParser):
    """Every element that is opened is closed, in order."""

    def __init__(self):
        super().__init__()
        self.open = []

    def handle_starttag(self, tag, attributes):
        self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


SHOWN = {
    "study": lambda tmp_path: STUDY,
    "result": result,
    "information": lambda tmp_path: INFORMATION,
    "posterior": lambda tmp_path: posterior(),
    "parameters": lambda tmp_path: posterior(goal="estimate"),
}


@pytest.mark.parametrize("name", SHOWN)
def test_what_is_shown_is_whole_short_and_escaped(name, tmp_path):
    shown = SHOWN[name](tmp_path)._repr_html_()
    parser = Strict()
    parser.feed(shown.replace("/>", ">").replace('stroke="currentColor">', 'stroke="currentColor"></path>'))
    parser.close()
    assert parser.open == []
    assert "<table>" in shown
    assert "<script" not in shown
    assert "<b>" not in shown
    assert shown.count("<tr>") <= 16


def test_an_estimate_says_what_it_means_before_the_nats():
    text = re.sub("<[^>]+>", " ", INFORMATION._repr_html_())
    assert text.index("80 of 100 people") < text.index("0.932 ± 0.004 nats (lower bound)")
    assert "20,000 simulated participants" in text


def test_a_study_shows_its_question_models_and_priors():
    shown = STUDY._repr_html_()
    assert "which model a participant follows" in shown
    assert "2 blocks of 30 trials" in shown
    assert "arm 1, arm 2, arm 3" in shown
    assert "epsilon ~ Uniform" in shown
    assert "probability before any data 0.7" in shown


def test_a_result_shows_the_design_block_by_block_and_the_gain(tmp_path):
    shown = result(tmp_path)._repr_html_()
    assert "<td" in shown.split("block 2")[1]
    assert ">0.297<" in shown
    assert shown.count("<rect") == 6
    assert "+0.020 ± 0.003 nats" in shown


def test_a_posterior_shows_some_people_and_says_how_many_more():
    shown = posterior()._repr_html_()
    assert "12 participants" in shown
    assert f"{12 - ROWS} more are not shown" in shown
    assert "aeg (75 %)" in shown
    assert "epsilon 0.5 (0.05 to 0.95)" in shown
    few = posterior(1)._repr_html_()
    assert "1 participant<" in few
    assert "more are not shown" not in few


def test_figures_say_in_words_what_they_show():
    assert 'aria-label="wslts 25 %, aeg 75 %"' in shares([0.25, 0.75], ["wslts", "aeg"])
    assert 'aria-label="a&quot; 1"' in bars([1.0], ['a" 1'])
    assert "&lt;i&gt;" in table([("<i>", 1)])


@pytest.mark.parametrize(
    ("names", "shown"),
    [
        (("arm 0", "arm 1", "reversal"), ("arm 1", "arm 2", "reversal")),
        (("p1", "p2"), ("p1", "p2")),
        (("x0",), ("x0",)),
        (("arm 1", "arm 0"), ("arm 1", "arm 0")),
        (("t0", "t2"), ("t0", "t2")),
    ],
)
def test_people_count_from_one(names, shown):
    assert names_for_people(names) == shown


def test_a_search_with_other_settings_is_named():
    assert "amortized" in Study(BernoulliBandit(), [AEG()], "estimate", search=Amortized(steps=5))._repr_html_()
