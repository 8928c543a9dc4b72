"""Documentation that cannot fall behind: every command and public name is described, and the README's code runs."""

import re
import shlex
from pathlib import Path

import pytest
from typer.main import get_command
from typer.testing import CliRunner

import tellapart
from tellapart.cli import app

ROOT = Path(__file__).parents[1]
COMMANDS = get_command(app).commands
each_command = pytest.mark.parametrize("name", sorted(COMMANDS))


@each_command
def test_every_command_has_help_with_an_example(name):
    text = CliRunner().invoke(app, [name, "--help"]).stdout
    assert f"tellapart {name} " in text.split("Example:")[1]
    assert "--json" in text
    assert "--seed" in text or name == "doctor"  # which draws nothing


@each_command
def test_every_command_is_documented_with_all_its_options(name):
    page = (ROOT / "docs" / "reference" / "commands.md").read_text()
    assert f"## {name}\n" in page
    section = page.split(f"## {name}\n")[1].split("\n## ")[0]
    options = re.findall(r"^  (--\w+)", CliRunner().invoke(app, [name, "--help"]).stdout, re.MULTILINE)
    missing = [option for option in options if option not in ("--help", "--json", "--seed") and option not in section]
    assert not missing


def test_every_public_name_is_in_the_reference():
    page = (ROOT / "docs" / "reference" / "python.md").read_text()
    documented = set(re.findall(r"^::: tellapart\.(?:\w+\.)*(\w+)$", page, re.MULTILINE))
    assert set(tellapart.__all__) <= documented


def code_blocks(path):
    return re.findall(r"```python\n(.*?)```", path.read_text(), re.DOTALL)


@pytest.mark.parametrize("path", [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))], ids=lambda path: path.name)
def test_python_examples_run(path, monkeypatch):
    monkeypatch.chdir(ROOT)
    names = {"__name__": path.stem}
    for block in code_blocks(path):
        exec(block, names)  # our own text, run as a reader would


@pytest.mark.parametrize("path", [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))], ids=lambda path: path.name)
def test_what_pages_build_on_is_public(path):
    """Code on pages imports `tellapart` and `tellapart.testing`, and nothing from inside."""
    inside = [
        line for block in code_blocks(path) for line in block.splitlines() if re.match(r"\s*(from|import) tellapart\.(?!testing\b)", line)
    ]
    assert not inside


@pytest.mark.parametrize("path", [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))], ids=lambda path: path.name)
def test_commands_on_pages_exist_with_their_options(path):
    """Those of the tutorial are also run, by test_tutorial.py; summaries with brackets are held to the options by the test above."""
    lines = [
        line.removeprefix("$ ") for block in re.findall(r"```console\n(.*?)```", path.read_text(), re.DOTALL) for line in block.splitlines()
    ]
    for line in lines:
        if line.startswith("tellapart ") and "[" not in line and "(" not in line:
            _, name, *words = shlex.split(line, comments=True)
            COMMANDS[name].make_context(name, words)  # raises for what it does not know


def test_every_page_is_in_the_menu():
    menu = (ROOT / "mkdocs.yml").read_text()
    assert all(str(page.relative_to(ROOT / "docs")) in menu for page in (ROOT / "docs").rglob("*.md"))
