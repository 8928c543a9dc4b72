"""The tutorial, done: its commands run in the order of its pages in an empty folder, and print what the pages say. How: `pages.py`.

In its own sizes that takes minutes, and numbers are compared; with a smaller search it takes seconds, and numbers are any.
"""

import csv
import html
import re
import shlex
from pathlib import Path

import pytest
from pages import ROOT, SMALL, SMALLER, Reader, few_points, make_small, tellapart

PAGES = [ROOT / "docs" / "tutorial" / f"{name}.md" for name in ("index", "design", "report", "people", "analysis")]


JUDGED = ("validate", "analyse")
"""Commands that say how good the network is, and of one that was trained for a moment they say other things than the pages do."""


def run(line, said):
    program, *words = shlex.split(line)
    return tellapart(words, said) if program == "tellapart" else None  # `pip` is on the list in test_pages.py


def run_small(line, said):
    program, *words = shlex.split(line)
    if program != "tellapart":
        return None
    if words[0] == "design":
        study = Path(words[1], "study.toml")
        text = study.read_text()
        for name in ("steps", "survey", "finalist_simulations"):
            text, found = re.subn(rf"^{name} = \d+$", f"{name} = {SMALL['search'][name]}", text, flags=re.MULTILINE)
            assert found == 1
        study.write_text(text)
        make_small(study, "")  # what else takes time
    with few_points():
        printed = tellapart([*words, *SMALLER.get(words[0], "").split()], said)
    return None if words[0] in JUDGED else printed


@pytest.mark.parametrize("small", [True, pytest.param(False, marks=pytest.mark.slow)], ids=["small", "as it is"])
def test_every_command_prints_what_the_pages_say(small, tmp_path, monkeypatch):
    pytest.importorskip("fastapi")
    monkeypatch.chdir(tmp_path)
    reader = Reader(tmp_path, run_small if small else run, small)
    for page in PAGES:
        reader.read(page)
    with Path("data.csv").open() as table:
        columns = next(csv.reader(table))
    assert columns[:4] == ["participant", "block", "trial", "later"]
    assert {"response_seconds", "model"} <= set(columns)
    assert Path("money", "analysis-people.csv").is_file()
    check_sections("report", "run/report.html")
    check_sections("analysis", "analysis.html")


def check_sections(page, file):
    """The sections that a page of the tutorial says a reader will find are there; those of one row are separated by commas."""
    table = (ROOT / "docs" / "tutorial" / f"{page}.md").read_text().split("What you will find\n")[1].strip().split("\n\n")[0]
    headings = {html.unescape(heading).strip() for heading in re.findall(r"<h2[^>]*>([^<]*)", Path("money", file).read_text())}
    for name in (row.split("|")[1].strip() for row in table.splitlines()[2:]):
        assert name in headings or {*name.split(", ")} <= headings | {"the first sentences"}, name
