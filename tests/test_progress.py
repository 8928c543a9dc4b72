"""A bar appears for slow work only, and on the error stream; stages are timed."""

import time

import rich.progress

from tellapart.progress import Clock, progress_bar


def test_quick_work_shows_nothing(capsys):
    with progress_bar("quick") as report:
        report(1, 1)
    assert capsys.readouterr() == ("", "")


def test_slow_work_shows_a_bar(capsys):
    with progress_bar("slow", after=0.01) as report:
        report(1, 4)
        time.sleep(0.3)
        report(3, 4)  # fewer than expected: what is over is over
    out, err = capsys.readouterr()
    assert out == ""
    assert "slow" in err
    assert "100%" in err


def test_slow_work_that_reports_nothing(capsys):
    with progress_bar("silent", after=0.01):
        time.sleep(0.3)
    shown = capsys.readouterr().err
    assert "silent" in shown
    assert "100%" in shown


def test_a_bar_says_the_stage_and_how_it_stands(capsys):
    with progress_bar("slow", after=0.01) as report:
        report(1, 4, "training", "information 0.5")
        time.sleep(0.3)
    assert "training: information 0.5" in capsys.readouterr().err


def test_a_clock_passes_on_what_it_is_told_and_times_each_stage(monkeypatch):
    now, told = [100.0], []
    monkeypatch.setattr(time, "time", lambda: now[0])
    clock = Clock(lambda *news: told.append(news))
    for seconds, stage in ((1.0, "training"), (2.0, "training"), (4.0, "estimating"), (8.0, "training")):
        now[0] += seconds
        clock(1, 2, stage, "well")
    now[0] += 16.0
    assert clock.stages == {"beginning": 1.0, "training": 2.0 + 4.0 + 16.0, "estimating": 8.0}
    assert told == [(1, 2, stage, "well") for stage in ("training", "training", "estimating", "training")]


def test_a_bar_that_is_late_ends_at_100_percent_too(capsys, monkeypatch):
    """It is still being made when the work ends, as happens on a busy machine."""
    show = rich.progress.Progress.start

    def slowly(bar):
        time.sleep(0.3)
        show(bar)

    monkeypatch.setattr(rich.progress.Progress, "start", slowly)
    with progress_bar("late", after=0.0) as report:
        report(1, 4)
        time.sleep(0.1)
    assert "100%" in capsys.readouterr().err
