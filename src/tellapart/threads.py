"""Work on slices of arrays in threads, for compiled functions that release the interpreter's lock."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import NDArray


def available_cores() -> int:
    """How many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def in_threads(kernel: Any, n: int, arrays: tuple[NDArray[Any], ...]) -> None:
    """Call `kernel` on slices of `arrays`, whose first axis is N. What it computes does not depend on the slices."""
    pieces = min(available_cores(), max(1, n // 256))
    if pieces == 1:
        kernel(*arrays)
        return
    edges = np.linspace(0, n, 4 * pieces + 1).astype(int)
    with ThreadPoolExecutor(pieces) as pool:
        list(pool.map(lambda a, b: kernel(*(array[a:b] for array in arrays)), edges[:-1], edges[1:]))
