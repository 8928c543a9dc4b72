"""The tutorial, done: its commands run in the order of its pages in an empty folder, and print what the pages say. How: `pages.py`."""

import csv
import html
import re
import shlex
from contextlib import nullcontext
from pathlib import Path

import pytest
from pages import ROOT, Reader, few_points, tellapart

PAGES = [ROOT / "docs" / "tutorial" / f"{name}.md" for name in ("index", "design", "report", "people", "analysis")]


FEW = ("report", "analyse")
"""Commands of which the pages quote no numbers: what they draw is made less."""


def run(line, said):
    program, *words = shlex.split(line)
    if program != "tellapart":
        return None  # `pip` is on the list in test_pages.py
    with few_points() if words[0] in FEW else nullcontext():
        return tellapart(words, said)


def test_every_command_prints_what_the_pages_say(tmp_path, monkeypatch):
    pytest.importorskip("fastapi")
    monkeypatch.chdir(tmp_path)
    reader = Reader(tmp_path, run, small=False)
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
