"""A progress bar for work that turns out to take long.

It goes to the error stream, so that results can be piped, and appears only once two seconds have passed.
"""

from __future__ import annotations

import threading
import time
from contextlib import contextmanager
from typing import Iterator, Protocol


class Progress(Protocol):
    """Is told how work goes on."""

    def __call__(self, done: int, total: int, stage: str = "", detail: str = "") -> None:
        """So much of so much is done, in any unit; what is being done, in a few words, and how it stands."""


ROOMY = 110
"""Columns of a terminal from which on there is room for a bar beside the words."""

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
    from rich import progress
    from rich.console import Console

    console, words = Console(stderr=True), [progress.TextColumn(text) for text in ("{task.description}", "{task.fields[words]}")]
    roomy = [words[0], progress.BarColumn(), progress.TimeElapsedColumn()] if console.width >= ROOMY else []  # else news are cut off
    columns = [*roomy, progress.TaskProgressColumn(), progress.TimeRemainingColumn(compact=True), words[1]]
    bar = progress.Progress(*columns, console=console, speed_estimate_period=3600.0)
    no_news = "" if roomy else label
    work = bar.add_task(label, total=None, words=no_news)

    def report(done: int, total: int, stage: str = "", detail: str = "") -> None:
        news = ": ".join(filter(None, (stage, detail)))
        bar.update(work, completed=done, total=total, words=news or no_news)
        if stage == PROVISIONAL:
            bar.console.print(news, markup=False, highlight=False, soft_wrap=True)

    timer = threading.Timer(after, bar.start)
    timer.daemon = True
    timer.start()
    try:
        yield report
        total = bar.tasks[0].total or 1
        bar.update(work, completed=total, total=total)  # all is done, whatever was expected
    finally:
        timer.cancel()
        timer.join()
        if bar.live.is_started:
            bar.stop()
