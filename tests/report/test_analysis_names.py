"""People on the page of an analysis are named so that a label is not taken for a number of people."""

from types import SimpleNamespace

import numpy as np

from tellapart.behavior import Behavior, Field
from tellapart.groups.statistics import _of_choices
from tellapart.groups.words import assigned
from tellapart.report.analysis import _named, _rows_table
from tellapart.report.analysis_figures import people_figure


def test_a_label_is_not_a_count():
    assert _named([8]) == "1 participant: 8"
    assert _named(["007", "p2"]) == "2 participants: 007, p2"
    assert _named([]) == "nobody"


def test_people_are_counted_by_their_most_probable_model():
    found = SimpleNamespace(models=("a", "b"), probabilities=np.array([[0.99, 0.01], [0.6, 0.4], [0.02, 0.98], [np.nan, np.nan]]))
    assert assigned(found) == "The most probable model is a for 2, b for 1 of 3 people; for 2 of them its probability is 0.95 or more."


def test_columns_are_named_in_words_and_people_have_no_decimals():
    assert list(_rows_table([{"model": "a", "probability_larger": 0.5}], "").header) == ["model", "probability larger"]
    assert not people_figure(np.full((20, 2), 0.5), ("a", "b")).axes[0].get_xticks().size


def test_statistics_count_choices_from_1_as_they_count_blocks():
    values = np.array([[[0, 1, 1, 1]]])
    found = dict(_of_choices(Field("choice", "categorical", 2), values, Behavior({"choice": values}), []))
    assert found["share of choice 1"] == 0.25
    assert found["share of choice 2"] == 0.75
