"""LongestRun: the longest stretch of rising values."""

from __future__ import annotations

from typing import Any, NamedTuple

from windrow.aggregations.kinds import OrderedPairs
from windrow.aggregations.ordering import less, plain
from windrow.errors import InvalidValue


class Run(NamedTuple):
    """A rising run: where it starts and ends, how many values it has, how far it reaches."""

    start: Any
    end: Any
    length: int
    span: Any


class _Part(NamedTuple):
    """A part of a window: its runs at both ends, the longest one, and the values at its edges.

    A run here is (length, start, end).

         ┌ head ┐      ┌── longest ──┐         ┌ tail ┐
        first …         …           …             … last
    """

    size: int
    first: Any
    last: Any
    head: tuple[int, Any, Any]
    longest: tuple[int, Any, Any]
    tail: tuple[int, Any, Any]


class LongestRun(OrderedPairs):
    """The longest run of strictly rising values, the first of them on ties.

    Takes pairs (value, at): `at` is a time or a position, and tells where the run starts and
    ends.

    >>> from windrow import aggregator
    >>> swag = aggregator(LongestRun())
    >>> for at, value in enumerate([3, 1, 4, 5, 2]): swag.insert((value, at))
    >>> swag.query()
    Run(start=1, end=3, length=3, span=2)
    """

    def unit(self, value: Any) -> Any:
        measure, at = plain(value[0]), value[1]
        if isinstance(at, str | bytes):
            raise InvalidValue(f"{self!r}: a run's span needs times or numbers, not {at!r}")
        run = (1, at, at)
        return _Part(1, measure, measure, run, run, run)

    def combine(self, a: Any, b: Any) -> Any:
        if a is None:
            return b
        if b is None:
            return a
        head, tail = a.head, b.tail
        longest = b.longest if b.longest[0] > a.longest[0] else a.longest
        if less(a.last, b.first):
            across = (a.tail[0] + b.head[0], a.tail[1], b.head[2])
            if a.head[0] == a.size:
                head = across
            if b.tail[0] == b.size:
                tail = across
            # a run of a's stays ahead of an equally long one across, and that of one of b's
            if across[0] > a.longest[0] and across[0] >= b.longest[0]:
                longest = across
        return _Part(a.size + b.size, a.first, b.last, head, longest, tail)

    def lower(self, state: Any) -> Any:
        if state is None:
            return None
        length, start, end = state.longest
        return Run(start, end, length, end - start)
