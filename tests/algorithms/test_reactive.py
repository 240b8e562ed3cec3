"""The Reactive Aggregator's own: holes, the circular buffer and its sizes."""

from __future__ import annotations

from typing import Any

from windrow import Concat, Max, aggregator
from windrow.algorithms.base import NOTHING


def test_the_events_of_figure_5() -> None:
    """The buffer becomes inverted, and the result is still in the order of the window."""
    swag: Any = aggregator(Concat(), "flatfat")
    for digit in "4732":
        swag.insert(digit)
    swag.evict()
    assert swag.query() == "732"
    swag.insert("9")
    assert [swag._fat[slot] for slot in range(4)] == [("9",), ("7",), ("3",), ("2",)]
    assert swag.query() == "7329"


def test_grows_when_full_and_shrinks_below_a_quarter() -> None:
    swag: Any = aggregator(Max(), "flatfat")
    sizes = []
    for i in range(33):
        swag.insert(i)
        sizes.append(swag._fat.size)
    assert sorted(set(sizes)) == [4, 8, 16, 32, 64]
    assert sizes[:9] == [4, 4, 4, 4, 8, 8, 8, 8, 16]
    while len(swag) > 16:
        swag.evict()
    assert swag._fat.size == 64
    swag.evict()
    assert swag._fat.size == 32
    swag.evict(len(swag))
    assert swag._fat.size == 4


def test_compacts_a_full_buffer_with_holes() -> None:
    swag: Any = aggregator(Concat(), "flatfat")
    for at, letter in enumerate("abcdefgh"):
        swag.insert(letter, at=at)
    for at in (2, 3, 5):
        swag.evict(at=at)
    assert (swag._span, len(swag), swag._fat.size) == (8, 5, 8)
    swag.insert("i", at=9)
    assert (swag._span, len(swag), swag._fat.size) == (6, 6, 8)
    assert swag.query() == "abeghi"


def test_a_late_value_fills_a_hole_without_moving_the_rest() -> None:
    swag: Any = aggregator(Concat(), "flatfat")
    for at, letter in enumerate("abcd"):
        swag.insert(letter, at=at)
    swag.evict(at=1)
    assert swag._fat[1] is NOTHING
    swag.insert("B", at=0.5)
    assert swag._fat[1] == ("B",)
    assert swag.query() == "aBcd"


def test_extend_updates_the_tree_once() -> None:
    calls = 0

    def plus(a: int, b: int) -> int:
        nonlocal calls
        calls += 1
        return a + b

    from windrow import aggregation

    swag = aggregator(aggregation(lift=int, combine=plus, lower=int), "flatfat")
    swag.extend(range(64))
    assert calls <= 2 * 64
    assert swag.query() == sum(range(64))
