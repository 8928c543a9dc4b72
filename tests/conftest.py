"""Lets every test import the table of mistakes, wherever it lives; one thread for each process of a parallel run; long files first."""

import os
import sys
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before torch is imported: processes of a parallel run would fight over cores
sys.path.insert(0, str(Path(__file__).parent))

LONG = (
    "test_pages.py",
    "test_skipping.py",
    "groups/test_people.py",
    "search/test_amortized.py",
    "adaptive/test_worth.py",
    "contracts/test_contracts.py",
    "test_tutorial.py",
    "test_workers.py",
    "test_notebooks.py",
    "models/test_agents.py",
    "estimators/test_posterior.py",
    "validation/test_calibration.py",
    "server/test_browser.py",
    "test_testing.py",
    "validation/test_reader.py",
    "groups/test_commands.py",
    "server/test_robust.py",
    "adaptive/test_commands.py",
    "search/test_questions.py",
    "report/test_page.py",
)
"""Files that take more than half a minute, longest first."""


def pytest_collection_modifyitems(items):
    """Long files come first, so that in the end no process is left alone with one of them."""
    places = {Path(__file__).parent / name: place for place, name in enumerate(LONG)}
    items.sort(key=lambda item: places.get(item.path, len(LONG)))
