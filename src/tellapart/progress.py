"""A progress bar for work that turns out to take long.

It goes to the error stream, so that results can be piped, and appears only once two seconds have passed.
"""

from __future__ import annotations

import threading
from contextlib import contextmanager
from typing import Any, Callable, Iterator

Progress = Callable[[int, int], None]
"""Called with what is done and the total, in any unit."""


@contextmanager
def progress_bar(label: str, after: float = 2.0) -> Iterator[Progress]:
    """Give a function to report progress to; show a bar if the block takes longer than `after` seconds."""
    bar = _LateBar(label)
    timer = threading.Timer(after, bar.show)
    timer.daemon = True
    timer.start()
    try:
        yield bar.report
    finally:
        timer.cancel()
        timer.join()
        bar.close()


class _LateBar:
    """A rich progress bar that is made when it is first shown; `show` runs in the timer's thread."""

    def __init__(self, label: str) -> None:
        self._label = label
        self._done, self._total = 0, 0
        self._bar: Any = None

    def report(self, done: int, total: int) -> None:
        self._done, self._total = done, total
        if self._bar is not None:
            self._bar.update(0, completed=done, total=total)

    def show(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn

        columns = TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeElapsedColumn(), TimeRemainingColumn()
        bar = Progress(*columns, console=Console(stderr=True))
        bar.add_task(self._label, completed=self._done, total=self._total or None)
        bar.start()
        self._bar = bar

    def close(self) -> None:
        if self._bar is not None:
            self._bar.stop()
