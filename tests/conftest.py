"""Lets every test import the plain reference models and the table of mistakes, wherever it lives."""

import sys
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parent / "models"), str(Path(__file__).parent)]
