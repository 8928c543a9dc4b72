"""Lets every test import the table of mistakes, wherever it lives; one thread for each process of a parallel run."""

import os
import sys
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before torch is imported: processes of a parallel run would fight over cores
sys.path.insert(0, str(Path(__file__).parent))
