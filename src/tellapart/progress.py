"""A progress bar for work that turns out to take long.

It goes to the error stream, so that results can be piped, and appears only once two seconds have passed.
"""

from __future__ import annotations

import threading
import time
from contextlib import contextmanager
from typing import Any, Iterator, Protocol


class Progress(Protocol):
    """Is told how work goes on."""

    def __call__(self, done: int, total: int, stage: str = "", detail: str = "") -> None:
        """So much of so much is done, in any unit; what is being done, in a few words, and how it stands."""


PROVISIONAL = "provisional recommendation"
"""A stage whose detail is worth a line that stays."""


def unheard(done: int, total: int, stage: str = "", detail: str = "") -> None:
    """Progress that nobody listens to."""


class Clock:
    """Progress that is passed on, and how long each stage takes."""

    def __init__(self, listener: Progress | None = None) -> None:
        self.started = self._heard = time.time()
        self._seconds: dict[str, float] = {}
        self._stage, self._listener = "beginning", listener or unheard

    def __call__(self, done: int, total: int, stage: str = "", detail: str = "") -> None:
        self._count()
        self._stage = stage
        self._listener(done, total, stage, detail)

    @property
    def stages(self) -> dict[str, float]:
        """The seconds of each stage up to now."""
        self._count()
        return {stage: round(seconds, 3) for stage, seconds in self._seconds.items()}

    def _count(self) -> None:
        """Count the time since anything was last heard to the present stage."""
        now = time.time()
        self._seconds[self._stage] = self._seconds.get(self._stage, 0.0) + now - self._heard
        self._heard = now


@contextmanager
def progress_bar(label: str, after: float = 2.0) -> Iterator[Progress]:
    """Give a function to report progress to; show a bar if the block takes longer than `after` seconds."""
    bar = _LateBar(label)
    timer = threading.Timer(after, bar.show)
    timer.daemon = True
    timer.start()
    try:
        yield bar.report
        bar.complete()
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

    def report(self, done: int, total: int, stage: str = "", detail: str = "") -> None:
        self._done, self._total, self._words = done, total, ": ".join(filter(None, (stage, detail)))
        if stage == PROVISIONAL:
            self._print(f"{stage}: {detail}")
        if self._bar is not None:
            self._bar.update(0, completed=done, total=total, words=self._words)

    def complete(self) -> None:
        """All is done, whatever was expected."""
        self._done = self._total

    def show(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn

        words = TextColumn("{task.description}"), TextColumn("{task.fields[words]}")
        columns = BarColumn(), TaskProgressColumn(), TimeElapsedColumn(), TimeRemainingColumn()
        bar = Progress(words[0], *columns, words[1], console=Console(stderr=True), speed_estimate_period=3600.0)
        bar.add_task(self._label, completed=self._done, total=self._total or None, words=self._words)
        bar.start()
        self._bar = bar

    def _print(self, line: str) -> None:
        from rich.console import Console

        (self._bar.console if self._bar else Console(stderr=True)).print(line, markup=False, highlight=False, soft_wrap=True)

    def close(self) -> None:
        """The last look, also of a bar that was still being made when the work ended."""
        if self._bar is not None:
            if self._total:
                self._bar.update(0, completed=self._done, total=self._total)
            self._bar.stop()
