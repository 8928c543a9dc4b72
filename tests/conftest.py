"""Lets every test import the table of mistakes, wherever it lives; one thread for each process of a parallel run; long files first."""

import os
import sys
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before torch is imported: processes of a parallel run would fight over cores
sys.path.insert(0, str(Path(__file__).parent))

LONG = (
    "test_pages.py",
    "test_tutorial.py",
    "search/test_amortized.py",
    "contracts/test_contracts.py",
    "models/test_agents.py",
    "test_skipping.py",
    "test_notebooks.py",
    "validation/test_calibration.py",
    "estimators/test_posterior.py",
    "test_cli.py",
    "test_workers.py",
    "test_testing.py",
    "search/test_questions.py",
    "adaptive/test_worth.py",
    "adaptive/test_commands.py",
    "groups/test_people.py",
)
"""Files that take more than half a minute, longest first."""


def pytest_collection_modifyitems(items):
    """Long files come first, so that in the end no process is left alone with one of them."""
    places = {Path(__file__).parent / name: place for place, name in enumerate(LONG)}
    items.sort(key=lambda item: places.get(item.path, len(LONG)))
