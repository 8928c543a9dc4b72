"""The wheel carries everything that tellapart needs: examples, pages, templates, migrations.

Outside of the default run, by `make wheel`: installed into an environment of its own, it works from any folder.
"""

import os
import shutil
import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
WRITTEN = ("pyproject.toml", "README.md", "LICENSE")
MADE = {".pyc", ".nbi", ".nbc"}
BRIEF = "steps = 300\nsurvey = 16\nsurvey_simulations = 200\nfinalists = 2\nfinalist_simulations = 1000\nbaselines = 4\n"


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """Built from a copy, so that nothing is left beside the source."""
    source, target = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("wheel")
    for name in WRITTEN:
        shutil.copy(ROOT / name, source)
    shutil.copytree(ROOT / "src", source / "src", ignore=shutil.ignore_patterns("__pycache__", "*.egg-info", "run"))
    pip = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "--wheel-dir", str(target), str(source)]
    built = subprocess.run(pip, capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stderr
    return next(target.glob("*.whl"))


def test_the_wheel_holds_every_file_of_the_package_and_nothing_else(wheel):
    files = {path for path in (ROOT / "src").rglob("*") if path.is_file() and path.suffix not in MADE and "run" not in path.parts}
    ours = {path.relative_to(ROOT / "src").as_posix() for path in files if not any(part.endswith(".egg-info") for part in path.parts)}
    with zipfile.ZipFile(wheel) as opened:
        held = {name for name in opened.namelist() if ".dist-info/" not in name}
    assert held == ours


@pytest.mark.parametrize(
    "part",
    [
        "examples/discounting/study.toml",
        "examples/data/bandit-people/subject 01.csv",
        "report/templates/page.html",
        "server/static/",
        "server/migrations/versions/",
        "server/texts.toml",
    ],
)
def test_the_parts_that_are_not_code_are_there(wheel, part):
    with zipfile.ZipFile(wheel) as opened:
        assert [name for name in opened.namelist() if name.startswith(f"tellapart/{part}")]


@pytest.mark.slow
def test_from_the_wheel_alone_a_study_is_made_checked_designed_and_reported(wheel, tmp_path):
    """In a new environment, from another folder. Minutes: torch is installed."""
    venv.create(tmp_path / "environment", with_pip=True)
    programs = tmp_path / "environment" / ("Scripts" if os.name == "nt" else "bin")
    elsewhere = tmp_path / "some where"
    elsewhere.mkdir()
    clean = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "PYTHONHOME")}

    def run(program, *arguments):
        done = subprocess.run([str(programs / program), *arguments], cwd=elsewhere, env=clean, capture_output=True, text=True, check=False)
        print(f"$ {program} {' '.join(arguments)}\n{done.stdout}{done.stderr[-2000:]}", flush=True)
        assert done.returncode == 0, done.stderr
        return done.stdout

    run("python", "-m", "pip", "install", "--quiet", "--constraint", str(ROOT / "constraints.txt"), str(wheel))
    run("tellapart", "new", "study", "--example", "discounting")
    with (elsewhere / "study" / "study.toml").open("a") as file:
        file.write(BRIEF)
    assert "is sound" in run("tellapart", "check", "study")
    assert "information" in run("tellapart", "design", "study")
    assert "The report is in" in run("tellapart", "report", "study")
    assert "<h1>study</h1>" in (elsewhere / "study" / "run" / "report.html").read_text("utf-8")
    assert str(programs.parent) in run("python", "-c", "import tellapart; print(tellapart.__file__)")
