"""Documentation that cannot fall behind: every command, option and public name is described. That what pages show runs: test_pages.py."""

import re
import shlex
from dataclasses import fields
from importlib import import_module
from pathlib import Path

import pytest
from typer.main import get_command
from typer.testing import CliRunner

import tellapart
from tellapart.cli import app

ROOT = Path(__file__).parents[1]
COMMANDS = get_command(app).commands
each_command = pytest.mark.parametrize("name", sorted(COMMANDS))
pages = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
each_page = pytest.mark.parametrize("path", pages, ids=lambda path: str(path.relative_to(ROOT)))


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


@each_page
def test_what_pages_build_on_is_public(path):
    """Code on pages imports `tellapart` and `tellapart.testing`, and nothing from inside."""
    inside = [
        line for block in code_blocks(path) for line in block.splitlines() if re.match(r"\s*(from|import) tellapart\.(?!testing\b)", line)
    ]
    assert not inside


@each_page
def test_commands_within_sentences_exist_with_their_options(path):
    """Those in blocks are run, by test_pages.py. Words in capitals, and what follows …, stand for something."""
    text = re.sub(r"^( *)```.*?^\1```", "", path.read_text(), flags=re.DOTALL | re.MULTILINE)
    for line in re.findall(r"`(tellapart [^`]+)`", text):
        _, name, *words = shlex.split(line.partition("…")[0])
        if not name.startswith("-"):
            assert {word for word in words if word.startswith("--")} <= options_of(name), line


@each_page
def test_what_sentences_tell_to_make_or_to_run_is_there(path):
    text = path.read_text()
    for folder, target in re.findall(r"`make(?: -C ([\w/]+))?(?: ([a-z][\w-]*))?[^`]*`", text):
        makefile = (ROOT / folder / "Makefile").read_text()
        assert not target or re.search(rf"^(?:STUDIES :=.*\b{target}\b|{target}:)", makefile, re.MULTILINE), target
    for program in re.findall(r"`(?:python\s+)?((?:benchmarks|docs|tests|src|examples|notebooks)/[\w/.-]+)", text):
        assert (ROOT / program).exists() or "yours" in program or "run" in program, program


@each_command
def test_the_summary_of_a_command_has_its_options_and_no_others(name):
    page = (ROOT / "docs" / "reference" / "commands.md").read_text()
    summary = re.search(rf"^tellapart {name}\b.*$", page, re.MULTILINE)[0]
    assert set(re.findall(r"--[\w-]+", summary)) == options_of(name) - {"--help"}


def options_of(name):
    return {option for parameter in COMMANDS[name].params for option in parameter.opts if option.startswith("--")} | {"--help"}


def test_settings_of_the_search_have_the_defaults_that_pages_say():
    page = (ROOT / "docs" / "reference" / "study-files.md").read_text().split("## Settings of the search")[1]
    search = tellapart.Amortized()
    for names, defaults in re.findall(r"^\| (`[^|]+`) \| ([\d.]+(?:, [\d.]+)*) \|", page, re.MULTILINE):
        said = dict(zip(re.findall(r"`(\w+)`", names), map(float, defaults.split(", ")), strict=True))
        assert said == {name: getattr(search, name) for name in said}
    models = tellapart.Question((tellapart.WSLTS(), tellapart.AEG()))
    least, two, five = (
        search.total_steps(tellapart.BernoulliBandit(), question)
        for question in (models, *(tellapart.Question((model,), "estimate") for model in (tellapart.AEG(), tellapart.GLS())))
    )
    each = (five - two) // 3  # AEG has two parameters, GLS five
    assert f"| `steps` | {least} to tell models apart, else {two - 2 * each} and {each} for each parameter |" in page
    sizes = (ROOT / "docs" / "explanation" / "sizes.md").read_text()
    assert f"| discriminate | {least:,} |" in sizes
    assert f"| estimate | {two - 2 * each:,}, and {each:,} for each parameter |" in sizes
    assert f"takes {least:,} steps of {search.batch} simulated participants, {least * search.batch / 1e6:.1f} million" in sizes


@pytest.mark.parametrize("file", sorted((ROOT / "src" / "tellapart" / "bandits" / "agents").glob("*.py")), ids=lambda file: file.stem)
def test_models_of_bandits_have_the_priors_and_options_that_the_page_says(file):
    page, module = (ROOT / "docs" / "reference" / "models.md").read_text(), import_module(f"tellapart.bandits.agents.{file.stem}")
    for model in (part() for part in vars(module).values() if isinstance(part, type) and issubclass(part, tellapart.Model)):
        priors = ", ".join(f"{name} {text_of(prior)}" for name, prior in model.parameters.items())
        assert f"| `{model.name}` | {priors} |" in page
        assert all(f"`{option.name}` ({getattr(model, option.name):g})" in page for option in fields(model))


def text_of(prior):
    """A prior as study files have it, its numbers in the order of its fields."""
    return f"{type(prior).__name__.lower()}({', '.join(f'{getattr(prior, number.name):g}' for number in fields(prior))})"


SPECIAL = ("nats", "nuisance", "contraction", "NWJ", "InfoNCE", "flow", "surveys?", "finalists?", "lower bounds?", "critics?", "exceedance")


@each_page
def test_special_words_lead_to_the_glossary_where_a_page_first_uses_them(path):
    if path.parent.name == "reference":  # where they are looked up
        return
    text = re.sub(r"^( *)```.*?^\1```|^#.*?$|!\[[^\]]*\]\([^)]*\)|`[^`\n]*`", "", path.read_text(), flags=re.DOTALL | re.MULTILINE)
    links = [link.span() for link in re.finditer(r"\[[^\]]*\]\([^)]*glossary\.md#[^)]*\)", text)]
    for word in SPECIAL:
        first = re.search(rf"\b{word}\b", text)
        assert first is None or any(start < first.start() < end for start, end in links), first[0]


def test_every_page_is_in_the_menu():
    menu = (ROOT / "mkdocs.yml").read_text()
    assert all(str(page.relative_to(ROOT / "docs")) in menu for page in (ROOT / "docs").rglob("*.md"))
