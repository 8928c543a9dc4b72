"""Every command and every Python block of README and documentation is run, and prints what the page says.

How is said in `pages.py`; here is what is not run, and what a page takes for granted. The tutorial has a test of its own.
Studies are made small, so that minutes become seconds; then words are compared, and numbers are any.
"""

import ast
import importlib
import inspect
import re
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest
from pages import FEWER, ROOT, Reader, Small, blocks_of, commands_of, compare, make_small, run_python

PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "SECURITY.md", *sorted((ROOT / "docs").rglob("*.md"))]
SUMMARIES = ROOT / "docs" / "reference" / "commands.md"
"""Its blocks have brackets and capitals in the place of values; test_docs.py holds them to the program's options."""
TUTORIAL = ROOT / "docs" / "tutorial"
OTHERS = [page for page in PAGES if page != SUMMARIES and page.parent != TUTORIAL]
name_of = dict(ids=lambda path: str(path.relative_to(ROOT)))  # noqa: C408

INSTALLS = "it installs from the network; tests/test_wheel.py installs the wheel and tries it"
CONTAINER = "it needs a container engine, and builds an image of gigabytes"
CLUSTER = "it needs the machines of a cluster; tests/test_workers.py has a scheduler and workers on this one"
MUTANTS = "it takes an hour; tests/test_benchmarks.py tries what makes the mistakes"

INSTEAD = {
    "make study": ["tellapart design examples/bandit", "tellapart report examples/bandit"],
    'pip install --constraint constraints.txt ".[serve]"': INSTALLS,
    "docker build -t tellapart -f Containerfile .": CONTAINER,
    "docker run -d --restart unless-stopped -p 127.0.0.1:8000:8000 -v ./my-study:/study"
    ' -e TELLAPART_TOKEN="$(openssl rand -base64 24)" tellapart': CONTAINER,
    'tellapart serve my-study --database "postgresql://tellapart:secret@db.example.org/study?sslmode=verify-full"': "it needs that"
    " database; tests/server does the same with a PostgreSQL of its own",
    "dask scheduler --port 8786": CLUSTER,
    "dask worker tcp://10.0.0.5:8786 --nthreads 1": CLUSTER,
    "tellapart design my-study --dask tcp://10.0.0.5:8786": CLUSTER,
    'make mutants PARTS="information validation" SAMPLE=60 SEED=1': MUTANTS,
    "python benchmarks/mutants.py --each 20 --seed 2 --limit 40": MUTANTS,
    "python benchmarks/mutants.py information/estimate.py --only sqrt": MUTANTS,
}
"""What is not run as it is written: why not, or what is run in its place."""

UNSEEN = {
    "study.example.org {": "the configuration of Caddy",
    "location / {": "the configuration of nginx",
    "#!/bin/bash": "a job for SLURM; its form is checked",
    'import { Choice } from "./static/plugins.js";': "a screen; those of the examples are tried in a browser by tests/server",
}
"""Blocks that hold neither commands nor Python nor what these print, by their first line."""

NEW, DESIGN = "tellapart new my-study --example bandit", "tellapart design my-study"
EXAMPLES = ROOT / "examples"
BANDIT = (EXAMPLES / "bandit" / "study.toml").read_text()
SORTER = """\
import numpy as np
import tellapart as ta


@ta.agent(name="sorter", parameters={"beta": ta.Gamma(2, 3)})
class Sorter:
    def start(self, arms):
        return np.full(arms, 0.5)

    def choose(self, state):
        arms = len(state)
        worth = sorted(range(arms), key=lambda arm: state[arm])
        return ta.softmax(self.beta * np.array(worth))

    def learn(self, state, choice, reward):
        state[choice] += 0.5 * (reward - state[choice])
"""
SIGNALS = """\
[study]
[task]
use = "yes_no:Signals"
blocks = 2
[[models]]
use = "yes_no:steep"
[[models]]
use = "yes_no:flat"
[search]
steps = 8
"""
FILES = {
    "docs/how-to/adaptive.md": {
        "my-study/yes_no.py": (ROOT / "tests" / "adaptive" / "yes_no.py").read_text(),
        "my-study/study.toml": SIGNALS,
        "data.csv": "participant,block,trial,yes,design.signal\np07,0,0,1,0.5\n",
    },
    "docs/reference/agents.md": {"my-study/models.py": SORTER, "my-study/study.toml": BANDIT.replace('"gls"', '"models:Sorter"')},
    "docs/reference/study-files.md": {"my-study/study.toml": BANDIT.replace("trials =", "trails =")},
    "docs/reference/tables.md": {
        "my-study/study.toml": BANDIT.replace("arms = 3", "arms = 4"),
        "people.csv": "participant,trial,choice,reward\n" + "".join(f"{p},{t},{1 + t % 2},{t % 2}\n" for p in (1, 2) for t in range(60)),
    },
}
"""What a page takes to be there."""
BEFORE = {
    "docs/explanation/engine.md": [NEW, DESIGN],
    "docs/how-to/deploy.md": [NEW, DESIGN, "tellapart serve my-study --simulate 3"],
    "docs/how-to/own-model.md": ['tellapart simulate examples/own-model --design "0,0,0.6; 1,1,0" --n 6 --out data.csv'],
    "docs/how-to/paper.md": [NEW, DESIGN, "tellapart simulate my-study --n 12 --out data.csv"],
    "docs/how-to/serve.md": [NEW, DESIGN],
}
"""What a page takes to be done."""


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    return Small(tmp_path_factory.mktemp("runs"), INSTEAD)


@pytest.mark.parametrize("page", [page for page in OTHERS if {kind for kind, *_ in blocks_of(page)} & {"console", "python"}], **name_of)
def test_a_page_prints_what_it_says(page, small, tmp_path, monkeypatch):
    pytest.importorskip("fastapi")
    monkeypatch.chdir(tmp_path)
    shutil.copytree(ROOT / "examples", "examples", ignore=shutil.ignore_patterns("run"))
    name = str(page.relative_to(ROOT))
    for file, text in FILES.get(name, {}).items():
        Path(file).parent.mkdir(exist_ok=True)
        Path(file).write_text(text)
    for study in tmp_path.rglob("study.toml"):
        make_small(study, study.parent.name)
    for command in BEFORE.get(name, []):
        small(command)
    Reader(tmp_path, small, small=True).read(page)


def test_the_list_of_what_is_not_run_is_that_of_the_pages():
    commands = {re.split(r"\s# ", line)[0].strip() for page in PAGES for line, _ in all_commands(page)}
    assert {*INSTEAD} <= commands
    assert {command.split()[0] for command in commands - {*INSTEAD}} <= {"tellapart", "sqlite3"}
    assert {*FILES, *BEFORE} <= {str(page.relative_to(ROOT)) for page in OTHERS}


def all_commands(page):
    return [command for kind, body, _ in blocks_of(page) if kind == "console" for command in commands_of(body)]


def test_make_study_is_what_is_run_in_its_place():
    recipe = (ROOT / "Makefile").read_text().split("\nstudy: ")[1].split("\n\n")[0]
    assert [line.strip().replace("$(BIN)/", "") for line in recipe.splitlines()[1:]] == INSTEAD["make study"]


@pytest.mark.parametrize("page", PAGES, **name_of)
def test_every_block_is_of_a_kind_that_is_looked_at(page):
    """Commands are in blocks `console`, Python in blocks `python`; text is what the block before it prints."""
    before = None
    for kind, body, _ in blocks_of(page):
        first = body.partition("\n")[0]
        if kind == "bash":
            subprocess.run(["bash", "-n"], input=body, text=True, check=True)
        if kind == "toml":
            tomllib.loads(body)
        elif first not in UNSEEN:
            assert kind in ("console", "python", "text"), first
            assert kind != "text" or before in ("console", "python"), first
        before = kind
    bare = re.sub(r"^( *)```.*?^\1```", "", page.read_text(), flags=re.DOTALL | re.MULTILINE)
    assert not re.findall(r"^    (?:\$ )?(?:tellapart|make|pip|python|docker|import|from) .*", bare, re.MULTILINE)


def test_the_list_of_what_is_not_seen_is_that_of_the_pages():
    assert {*UNSEEN} <= {body.partition("\n")[0] for page in PAGES for _, body, _ in blocks_of(page)}


@pytest.mark.parametrize("module", FEWER)
def test_what_is_made_fewer_is_asked_for_when_it_is_needed(module):
    """A number that is the default of an argument is bound when the module is read, so that to change it later changes nothing."""
    whole = importlib.import_module(f"tellapart.{module}")
    functions = [node.args for node in ast.walk(ast.parse(inspect.getsource(whole))) if isinstance(node, ast.FunctionDef)]
    defaults = {node.id for one in functions for node in (*one.defaults, *one.kw_defaults) if isinstance(node, ast.Name)}
    assert not defaults & {*FEWER[module]}
    assert {*FEWER[module]} <= {*vars(whole)}


def test_what_is_wrong_is_seen():
    said = "design  1,2\n…\nnats  0.40 ± 0.01, 34 % of … in 30 runs\n"
    compare(said, "design  9,7\nnats  0.43 ± 0.02, 31 % of all 1,099 in 30 runs\n")
    compare(said, "design  9,7\na line\nand another\nnats  0.40 ± 0.02, 34 % of all in 30 runs\n")
    for wrong in ("0.45 ± 0.01, 34 % of a in 30", "0.40 ± 0.01, 39 % of a in 30", "0.40 ± 0.01, 34 % of a in 31", "0.40, 34 % of a in 30"):
        with pytest.raises(AssertionError):
            compare(said, f"design  1,2\nnats  {wrong} runs\n")


def test_any_number_is_still_a_number_between_the_same_words():
    said = "also good  1,2\n66,000 people\nabout 5 minutes\n"
    compare(said, "1,200,000 people\nabout 20 seconds\n", loose=True)
    for wrong in ("many people\nabout 5 minutes", "66,000 persons\nabout 5 minutes", "66,000 people\nabout 5 weeks"):
        with pytest.raises(AssertionError):
            compare(said, wrong, loose=True)


def test_a_comment_that_is_a_value_is_held_to_it():
    assert run_python("import numpy as np\nx = np.ones(3)  # (3,)\nx.sum()  # words\nprint(2)\n", {}) == "2\n"
    with pytest.raises(AssertionError):
        run_python("x = 1 + 1  # 3\n", {})
