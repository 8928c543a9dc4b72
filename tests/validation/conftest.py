"""What the tests of validation share; those of the report have the same, see its conftest."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from evidence import about_both, about_models, one_thread

__all__ = ["about_both", "about_models", "one_thread"]
