"""Independent evaluations on several cores, or on several machines.

A search hands over a list of pieces of work that do not depend on each other and gets their results in the same order.
Each piece runs on one thread, wherever it runs: small networks gain nothing from more, workers do not get in each
other's way, and results are the same bytes for any number of workers. The workers are processes of this machine, by way
of joblib, or a Dask cluster, which gives the work of a worker that dies to another.
"""

from __future__ import annotations

import os
import pickle
import sys
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from itertools import starmap
from pathlib import Path
from typing import Any, Callable, Iterator, Sequence, TypeVar

from .errors import ModelError, RunError, StudyError, TellapartError
from .parts import UserFile, load_again, loaded_files, place_in_user_code
from .threads import available_cores

R = TypeVar("R")


@dataclass(frozen=True)
class Workers:
    """Who does the work.

    Arguments:
        count: How many processes; 1 works in this process.
        client: The client of a Dask cluster, if it is to do the work; see `dask_workers`.
    """

    count: int = 1
    client: Any = None

    def __post_init__(self) -> None:
        if isinstance(self.count, bool) or not isinstance(self.count, int) or self.count < 1:
            raise StudyError(
                "The number of workers must be a whole number.",
                expected=f"from 1 to {available_cores()}, the cores here",
                got=repr(self.count),
            )

    @classmethod
    def of(cls, workers: int | Workers) -> Workers:
        """A number of processes of this machine, or workers as they are."""
        return workers if isinstance(workers, Workers) else cls(workers)

    def map(self, function: Callable[..., R], pieces: Sequence[tuple[Any, ...]]) -> Iterator[R]:
        """`function(*piece)` for each piece, in order, each as soon as it and those before it are done."""
        if self.client is not None:
            return self._on_cluster(function, pieces)
        return starmap(one_thread()(function), pieces) if self.count == 1 else self._elsewhere(function, pieces)

    def _elsewhere(self, function: Callable[..., R], pieces: Sequence[tuple[Any, ...]]) -> Iterator[R]:
        import cloudpickle
        import joblib

        files = loaded_files()
        with joblib.parallel_config("loky", n_jobs=self.count, inner_max_num_threads=1):
            parallel = joblib.Parallel(return_as="generator", pre_dispatch="all", batch_size=1)
            yield from parallel(joblib.delayed(_work)(files, b"", cloudpickle.dumps((function, piece))) for piece in pieces)

    def _on_cluster(self, function: Callable[..., R], pieces: Sequence[tuple[Any, ...]]) -> Iterator[R]:
        """What all pieces begin with, often a network, is sent once, as a task of its own: should its keeper die, it is sent again."""
        import cloudpickle
        from distributed import KilledWorker

        files, same = loaded_files(), _same(pieces)
        common = self.client.submit(bytes, cloudpickle.dumps(pieces[0][:same] if pieces else ()), pure=False)
        packed = [cloudpickle.dumps((function, piece[same:])) for piece in pieces]
        futures = [self.client.submit(_work, files, common, work, pure=False) for work in packed]
        try:
            for i, future in enumerate(futures):
                yield future.result()
                futures[i] = None
        except KilledWorker as error:
            raise RunError(
                "A piece of work has ended several Dask workers.",
                got=str(error).splitlines()[0],
                fix="give workers more memory (--memory-limit), or look into their logs; the same command goes on from here",
            ) from None
        finally:
            self.client.cancel([future for future in futures if future is not None])


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


@contextmanager
def dask_workers(address: str) -> Iterator[Workers]:
    """The workers of a Dask cluster.

    Arguments:
        address: Of its scheduler, for example "tcp://10.0.0.5:8786"; "local:4" starts four processes here; or the path of a
            scheduler file.
    """
    from distributed import Client, LocalCluster

    kind, _, number = address.partition(":")
    if kind == "local" and not (number.isdigit() and int(number) > 0):
        raise StudyError("The number of local Dask workers must be a whole number.", expected='"local:2"', got=f'"{address}"')
    if kind == "local":
        with LocalCluster(n_workers=int(number), threads_per_worker=1, dashboard_address=None) as cluster, Client(cluster) as client:
            yield Workers(max(2, int(number)), client)
        return
    try:
        if address.endswith(".json") and not Path(address).is_file():
            raise FileNotFoundError("no such file")
        client = Client(scheduler_file=address, timeout=10) if address.endswith(".json") else Client(address, timeout=10)
    except (OSError, ValueError, TypeError) as error:
        raise StudyError(
            "There is no Dask scheduler at this address.",
            where=address,
            expected='an address such as "tcp://10.0.0.5:8786", a scheduler file (.json), or "local:2"',
            got=str(error) or type(error).__name__,
            fix="start one with `dask scheduler`, and workers with `dask worker ADDRESS --nthreads 1`",
        ) from None
    with client:
        count = sum(client.nthreads().values())
        yield Workers(max(2, count), client)  # a cluster may still be growing, so that it is never taken for this process


def _same(pieces: Sequence[tuple[Any, ...]]) -> int:
    """How many things all pieces begin with: the very same objects."""
    return next((i for i, column in enumerate(zip(*pieces, strict=False)) if any(one is not column[0] for one in column)), 0)


def _work(files: Sequence[UserFile], common: bytes, work: bytes) -> Any:
    """Do one piece of work in a worker, which first loads the user's own model files under the names they have there."""
    for file in files:
        load_again(file)
    function, piece = pickle.loads(work)
    piece = (*pickle.loads(common), *piece) if common else piece
    # torch takes seconds to import, and who only simulates does not need it; processes of this machine have one thread by their environment
    limited = "torch" not in sys.modules and os.environ.get("OMP_NUM_THREADS") == "1"
    try:
        with nullcontext() if limited else one_thread():
            return function(*piece)
    except TellapartError:
        raise
    except Exception as error:  # the line of the user's code that failed is only known here
        place = place_in_user_code(error)
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
