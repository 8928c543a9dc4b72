"""The tests of the report share estimators with those of validation."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "validation"))

from evidence import about_both, one_thread

__all__ = ["about_both", "one_thread"]
