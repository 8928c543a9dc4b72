"""Independent evaluations on several cores.

A search hands over a list of pieces of work that do not depend on each other and gets their results in the same order.
Each piece runs on one thread, wherever it runs: small networks gain nothing from more, workers do not get in each
other's way, and results are the same bytes for any number of workers. joblib's backends are the seam: processes on this
machine now, a Dask cluster with the same `map`.
"""

from __future__ import annotations

import pickle
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Callable, Iterator, Sequence, TypeVar

from .errors import ModelError, StudyError, TellapartError
from .plugins import failed_in_user_code, load_again, loaded_files
from .threads import available_cores

R = TypeVar("R")


@dataclass(frozen=True)
class Workers:
    """Who does the work.

    Arguments:
        count: How many processes; 1 works in this process.
        backend: joblib's: "loky" for processes on this machine.
    """

    count: int = 1
    backend: str = "loky"

    def __post_init__(self) -> None:
        if isinstance(self.count, bool) or not isinstance(self.count, int) or self.count < 1:
            raise StudyError(
                "The number of workers must be a whole number.",
                expected=f"from 1 to {available_cores()}, the cores here",
                got=repr(self.count),
            )

    def map(self, function: Callable[..., R], pieces: Sequence[tuple[Any, ...]]) -> Iterator[R]:
        """`function(*piece)` for each piece, in order, each as soon as it and those before it are done."""
        if self.count == 1 and self.backend == "loky":
            return self._here(function, pieces)
        return self._elsewhere(function, pieces)

    def _here(self, function: Callable[..., R], pieces: Sequence[tuple[Any, ...]]) -> Iterator[R]:
        for piece in pieces:
            with one_thread():
                result = function(*piece)
            yield result

    def _elsewhere(self, function: Callable[..., R], pieces: Sequence[tuple[Any, ...]]) -> Iterator[R]:
        import cloudpickle
        import joblib

        files = loaded_files()
        limits = {"inner_max_num_threads": 1} if self.backend == "loky" else {}
        with joblib.parallel_config(self.backend, n_jobs=self.count, **limits):
            parallel = joblib.Parallel(return_as="generator", pre_dispatch="all", batch_size=1)
            yield from parallel(joblib.delayed(_work)(files, cloudpickle.dumps((function, piece))) for piece in pieces)


HERE = Workers()
"""One worker: this process."""

_present = [HERE]


def present_workers() -> Workers:
    """Who may help with the simulations of this process; in a worker, nobody."""
    return _present[-1]


@contextmanager
def simulating_with(workers: Workers) -> Iterator[None]:
    """Let slow models share out their participants in this block, whichever thread simulates them."""
    _present.append(workers)
    try:
        yield
    finally:
        _present.pop()


def _work(files: Sequence[tuple[Path, str]], work: bytes) -> Any:
    """Do one piece of work in a worker, which first loads the user's own model files under the names they have there."""
    for file, module in files:
        load_again(file, module)
    function, piece = pickle.loads(work)
    try:
        with one_thread():
            return function(*piece)
    except TellapartError:
        raise
    except Exception as error:  # the line of the user's code that failed is only known here
        place = failed_in_user_code(error)
        if place is None:
            raise
        got = f"{type(error).__name__}: {error}"
        raise ModelError("The study's own code failed.", where=place, got=got, fix="mend that line") from None


@contextmanager
def one_thread() -> Iterator[None]:
    """Let torch use one thread in this block. The order of floating point sums then never depends on the machine's cores."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
