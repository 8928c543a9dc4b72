"""A bar appears for slow work only, and on the error stream."""

import time

from tellapart.progress import progress_bar


def test_quick_work_shows_nothing(capsys):
    with progress_bar("quick") as report:
        report(1, 1)
    assert capsys.readouterr() == ("", "")


def test_slow_work_shows_a_bar(capsys):
    with progress_bar("slow", after=0.01) as report:
        report(1, 4)
        time.sleep(0.3)
        report(3, 4)
    out, err = capsys.readouterr()
    assert out == ""
    assert "slow" in err
    assert "75%" in err


def test_slow_work_that_reports_nothing(capsys):
    with progress_bar("silent", after=0.01):
        time.sleep(0.3)
    assert "silent" in capsys.readouterr().err
