"""Lets the tests of bandits import the plain reference models."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
