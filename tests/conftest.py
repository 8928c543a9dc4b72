"""Lets every test import the table of mistakes, wherever it lives; one thread for each process of a parallel run; long files first."""

import gc
import os
import sys
from contextlib import suppress
from pathlib import Path

import pytest

os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # what dozens of processes import is translated once
os.environ.setdefault("OMP_NUM_THREADS", "1")  # before torch is imported: processes of a parallel run would fight over cores
sys.path.insert(0, str(Path(__file__).parent))

LONG = (
    "contracts/test_contracts.py",
    "test_tutorial.py",
    "models/test_agents.py",
    "server/test_browser.py",
    "test_pages.py",
    "test_skipping.py",
    "groups/test_people.py",
    "search/test_amortized.py",
    "test_workers.py",
    "test_testing.py",
    "paper/test_bayesopt.py",
    "validation/test_calibration.py",
    "server/test_simulated.py",
    "adaptive/test_continuations.py",
    "report/test_page.py",
    "adaptive/test_worth.py",
    "server/test_api.py",
    "server/test_robust.py",
    "estimators/test_posterior.py",
    "contracts/test_where_parts_come_from.py",
    "test_cli.py",
    "test_mistakes.py",
)
"""Files that take more than 20 seconds, longest first; but the first one compiles what `test_pages.py` uses too."""


@pytest.fixture
def by_cores(monkeypatch):
    """What a function gives on a machine with so many cores, for each of a few numbers."""

    def results(function, counts):
        for count in counts:
            monkeypatch.setattr("tellapart.threads.available_cores", lambda count=count: count)
            yield function()

    return results


def pytest_collection_finish():
    """What has been imported stays, and is not looked through for garbage again and again."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 50)


def pytest_collection_modifyitems(items):
    """Long files come first, so that in the end no process is left alone with one of them."""
    places = {Path(__file__).parent / name: place for place, name in enumerate(LONG)}
    items.sort(key=lambda item: places.get(item.path, len(LONG)))


@pytest.fixture(autouse=True)
def threads_of_torch():
    """No test leaves torch with more threads: on busy cores two of them take ten times as long as one."""

    def count():
        return sys.modules["torch"].get_num_threads() if "torch" in sys.modules else int(os.environ["OMP_NUM_THREADS"])

    before = count()
    yield
    assert count() <= before


@pytest.fixture(autouse=True)
def files_as_on_windows(monkeypatch):
    """No file is replaced while this process has it open or mapped into memory: on Windows that fails."""
    replace, maps = os.replace, Path("/proc/self/maps")

    def in_use(path):
        for descriptor in os.listdir("/proc/self/fd"):
            with suppress(OSError):  # closed since it was listed
                if os.readlink(f"/proc/self/fd/{descriptor}") == path:
                    return True
        return f" {path}\n" in maps.read_text()

    def replace_if_free(source, target):
        if in_use(os.path.realpath(target)):
            raise PermissionError(f"{target} is in use, as Windows would say")
        replace(source, target)

    if maps.exists():
        monkeypatch.setattr(os, "replace", replace_if_free)
