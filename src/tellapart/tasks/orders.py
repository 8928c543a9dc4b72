"""Orders in which the blocks of a design are played, where they can change places."""

from __future__ import annotations

from typing import Sequence


def williams(blocks: int) -> list[tuple[int, ...]]:
    """Orders in which each block is equally often in each place and equally often right after each other one (Williams 1949)."""
    first = [0]
    for i in range(1, blocks):
        first.append(blocks - i // 2 if i % 2 == 0 else (i + 1) // 2)
    square = [tuple((start + shift) % blocks for start in first) for shift in range(blocks)]
    mirrored = [] if blocks % 2 == 0 or blocks == 1 else [tuple(reversed(order)) for order in square]
    return list(dict.fromkeys(square + mirrored))


def orders_of_play(begun: Sequence[Sequence[int]], blocks: int) -> list[tuple[int, ...]]:
    """The order of all blocks of each participant, from those that they have begun.

    If everybody's blocks began as designed, they go on so; if everybody's began as one of the counterbalanced orders does, they go on as
    that one does. Else orders were drawn and what comes next is not known: the blocks that are left stand as designed.
    """
    for orders in ([tuple(range(blocks))], williams(blocks)):
        ways = [next((way for way in orders if way[: len(some)] == tuple(some)), None) for some in begun]
        if all(ways):
            return [way for way in ways if way]
    return [(*some, *(b for b in range(blocks) if b not in some)) for some in begun]
