"""Lets the tests of groups import the exact reference beside them."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
