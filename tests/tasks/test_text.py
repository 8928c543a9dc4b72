"""Designs as text, there and back."""

import numpy as np
import pytest
from spaces import SPACES, each_space

from tellapart import DesignError
from tellapart.tasks.sampling import sample
from tellapart.tasks.text import example_design, format_design, parse_design


@each_space
def test_written_and_read(space):
    for design in sample(space, 20, np.random.default_rng(3)):
        np.testing.assert_allclose(parse_design(space, format_design(space, design)), design, atol=0.002)
    parse_design(space, example_design(space))


def test_categories_have_names():
    text = "7,3,loss,10; 30,0,gain,1000"
    design = parse_design(SPACES["kinds"], text)
    np.testing.assert_array_equal(design[:, 2], [1, 0])
    assert format_design(SPACES["kinds"], design) == text


def test_spaces_and_a_last_semicolon_do_not_matter():
    np.testing.assert_array_equal(parse_design(SPACES["arms"], " 0, .5,1 ;1,0, 0.25; "), [[0, 0.5, 1], [1, 0, 0.25]])


def test_never_minus_zero():
    assert format_design(SPACES["real total"], [[-0.0001], [0.5], [1.0]]) == "0; 0.5; 1"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("7,3,gian,10; 7,3,gain,10", ["not made of numbers", "gian", "write it as"]),
        ("7,3,gain,10; 7,3,gain", ["different numbers of values", "4 values in every block", "blocks of 3 and 4 values"]),
        ("", ["not made of numbers"]),
    ],
)
def test_what_cannot_be_read(text, message):
    with pytest.raises(DesignError) as error:
        parse_design(SPACES["kinds"], text)
    assert all(words in str(error.value) for words in message), str(error.value)


def test_designs_that_do_not_fit_can_be_written_too():
    """Messages about wrong designs show them: values without a variable, and numbers that no category has, stay numbers."""
    assert format_design(SPACES["arms"], [[0.1, 0.2, 0.3, 0.45678]]) == "0.1,0.2,0.3,0.457"
    assert format_design(SPACES["kinds"], [[7, 3, 3, 10], [7, 3, -1, 10], [7, 3, 0.5, 10], [7, 3, 2, 10]]).split("; ") == [
        "7,3,3,10",
        "7,3,-1,10",
        "7,3,0.5,10",
        "7,3,mixed,10",
    ]
