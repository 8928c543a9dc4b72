"""People on the page of an analysis are named so that a label is not taken for a number of people."""

from tellapart.report.analysis import _named


def test_a_label_is_not_a_count():
    assert _named([8]) == "1 participant: 8"
    assert _named(["007", "p2"]) == "2 participants: 007, p2"
    assert _named([]) == "nobody"
