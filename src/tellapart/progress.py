"""A progress bar for work that turns out to take long.

It goes to the error stream, so that results can be piped, and appears only once two seconds have passed.
"""

from __future__ import annotations

import threading
from contextlib import contextmanager
from typing import Any, Callable, Iterator, Protocol

Progress = Callable[[int, int], None]
"""Called with what is done and the total, in any unit."""


class Report(Protocol):
    """A `Progress` that also takes a few words on how things stand."""

    def __call__(self, done: int, total: int, words: str = "") -> None: ...


@contextmanager
def progress_bar(label: str, after: float = 2.0) -> Iterator[Report]:
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
        self._done, self._total, self._words = 0, 0, ""
        self._bar: Any = None

    def report(self, done: int, total: int, words: str = "") -> None:
        self._done, self._total, self._words = done, total, words
        if self._bar is not None:
            self._bar.update(0, completed=done, total=total, words=words)

    def show(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn

        words = TextColumn("{task.description}"), TextColumn("{task.fields[words]}")
        columns = BarColumn(), TaskProgressColumn(), TimeElapsedColumn(), TimeRemainingColumn()
        bar = Progress(words[0], *columns, words[1], console=Console(stderr=True), speed_estimate_period=3600.0)
        bar.add_task(self._label, completed=self._done, total=self._total or None, words=self._words)
        bar.start()
        self._bar = bar

    def close(self) -> None:
        if self._bar is not None:
            self._bar.stop()
