"""Lets the tests of tables import the people whom they write down."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
