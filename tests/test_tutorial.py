"""The tutorial, done: its commands run in the order of its pages in an empty folder, and print what the pages say. How: `pages.py`."""

import csv
import shlex
from pathlib import Path

import pytest
from pages import ROOT, Reader, tellapart

PAGES = [ROOT / "docs" / "tutorial" / f"{name}.md" for name in ("index", "design", "report", "people", "analysis")]


def run(line, said):
    program, *words = shlex.split(line)
    return tellapart(words, said) if program == "tellapart" else None  # `pip` is on the list in test_pages.py


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
    assert all(Path("money", name).is_file() for name in ("run/report.html", "analysis.html", "analysis-people.csv"))
