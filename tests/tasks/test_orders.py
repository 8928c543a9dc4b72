"""Orders of blocks: balanced, and going on as they began."""

from collections import Counter
from itertools import pairwise

import pytest

from tellapart.tasks.orders import orders_of_play, williams


def test_orders_as_published():
    """Williams' squares, written down."""
    assert [williams(blocks) for blocks in (1, 2, 3)] == [
        [(0,)],
        [(0, 1), (1, 0)],
        [(0, 1, 2), (1, 2, 0), (2, 0, 1), (2, 1, 0), (0, 2, 1), (1, 0, 2)],
    ]
    assert williams(4) == [(0, 1, 3, 2), (1, 2, 0, 3), (2, 3, 1, 0), (3, 0, 2, 1)]


@pytest.mark.parametrize("blocks", range(2, 10))
def test_each_block_is_equally_often_in_each_place_and_after_each_other(blocks):
    orders = williams(blocks)
    assert len(orders) == blocks * (1 + blocks % 2)
    assert len(set(orders)) == len(orders)
    places = Counter((place, block) for order in orders for place, block in enumerate(order))
    pairs = Counter(pair for order in orders for pair in pairwise(order))
    assert (len(places), len(set(places.values()))) == (blocks**2, 1)
    assert (len(pairs), len(set(pairs.values()))) == (blocks * (blocks - 1), 1)


@pytest.mark.parametrize(
    ("begun", "whole"),
    [
        ([(0, 1), (0,), ()], [(0, 1, 2, 3)] * 3),  # as designed
        ([(0, 1), (1,)], [(0, 1, 3, 2), (1, 2, 0, 3)]),  # counterbalanced
        ([(0, 1, 2), (1,)], [(0, 1, 2, 3), (1, 0, 2, 3)]),  # one as designed, one not: drawn
        ([(0, 2), (3,), ()], [(0, 2, 1, 3), (3, 0, 1, 2), (0, 1, 2, 3)]),
        ([(3, 0, 2, 1)], [(3, 0, 2, 1)]),
    ],
)
def test_orders_go_on_as_they_began(begun, whole):
    assert orders_of_play(begun, 4) == whole
