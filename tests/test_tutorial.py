"""The tutorial, done: its commands run in the order of its pages in an empty folder, and print what the pages say.

A block `console` holds commands, and a block `text` right after it what the last of them prints; `…` stands for anything, a line of it for
any lines. A block `toml` is
added to the end of the file that the line before it names. Words must be the same. Numbers are held to the noise that the tutorial states:
four times what stands after ±, 4 %, 0.05 for other decimals; whole numbers are exact, designs are any. On one kind of machine the same
seed gives the same numbers, so that nothing here fails by chance; the noise is for machines that round in other ways.
"""

import csv
import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tellapart.cli import app

PAGES = [Path(__file__).parents[1] / "docs" / "tutorial" / f"{name}.md" for name in ("index", "design", "report", "people", "analysis")]
BLOCK = re.compile(r"(?:end of `([^`\n]+)`[^\n]*\n\n)?^```(console|text|toml)\n(.*?)^```", re.DOTALL | re.MULTILINE)
NUMBER = r"[+-]?\d+(?:\.\d+)?"
ERRORS, PERCENT, DECIMAL = 4, 4, 0.05


def test_every_command_prints_what_the_pages_say(tmp_path, monkeypatch):
    pytest.importorskip("fastapi")
    monkeypatch.chdir(tmp_path)
    for page in PAGES:
        printed = None
        for file, kind, body in BLOCK.findall(page.read_text()):
            if kind == "toml":
                (tmp_path / file).write_text((tmp_path / file).read_text() + body)
            elif kind == "console":
                printed = [run(line) for line in body.splitlines()][-1]
            elif printed is not None:
                compare(body, printed)
                printed = None
    with Path("data.csv").open() as table:
        columns = next(csv.reader(table))
    assert columns[:4] == ["participant", "block", "trial", "later"]
    assert {"response_seconds", "model"} <= set(columns)
    assert all(Path("money", name).is_file() for name in ("run/report.html", "analysis.html", "analysis-people.csv"))


def run(line):
    """What a command prints to stdout."""
    program, *words = line.split()
    assert program == "tellapart"
    result = CliRunner().invoke(app, words)
    assert result.exit_code == 0, f"{line}: {result.output}"
    return result.stdout


def compare(said, printed):
    """What a page says against what is printed."""
    said, printed = said.strip(), printed.strip()
    pieces = re.split(f"({NUMBER}|\\n…\\n|…)", said)
    anything = {"…": ".*?", "\n…\n": r"\n(?:.*?\n)?"}
    pattern = (anything.get(piece) or (f"({NUMBER})" if re.fullmatch(NUMBER, piece) else re.escape(piece)) for piece in pieces)
    found = re.fullmatch("".join(pattern), printed, re.DOTALL)
    assert found, f"The page says\n{said}\nand printed is\n{printed}"
    for mine, number in zip(re.finditer(NUMBER, said), found.groups(), strict=True):
        line = said[said.rfind("\n", 0, mine.start()) + 1 : mine.end()]
        noise = noise_of(mine[0], line, said[mine.end() :])
        assert abs(float(mine[0]) - float(number)) <= noise, f"The page says {mine[0]}, printed is {number}:\n{printed}"


def noise_of(number, before, after):
    """How far a number may be from what a page says, by what stands before it on its line and after it."""
    if before.endswith(f"± {number}") or before.startswith(("design ", "also good ")):
        return float("inf")
    error = re.match(r" ± (\d+(?:\.\d+)?)", after)
    if error:
        return ERRORS * float(error[1])
    if re.match(r" ?%", after):
        return PERCENT
    return DECIMAL if "." in number else 0.0


def test_the_comparison_sees_what_is_wrong():
    said = "design  1,2\n…\nnats  0.40 ± 0.01, 34 % of … in 30 runs\n"
    compare(said, "design  9,7\nnats  0.43 ± 0.02, 31 % of all 1,099 in 30 runs\n")
    compare(said, "design  9,7\na line\nand another\nnats  0.40 ± 0.02, 34 % of all in 30 runs\n")
    for wrong in ("0.45 ± 0.01, 34 % of a in 30", "0.40 ± 0.01, 39 % of a in 30", "0.40 ± 0.01, 34 % of a in 31", "0.40, 34 % of a in 30"):
        with pytest.raises(AssertionError):
            compare(said, f"design  1,2\nnats  {wrong} runs\n")
