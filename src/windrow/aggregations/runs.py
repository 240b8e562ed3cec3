"""LongestRun: the longest stretch of rising values."""

from __future__ import annotations

from typing import Any, NamedTuple

from windrow.aggregations.kinds import OrderedPairs
from windrow.aggregations.ordering import less
from windrow.errors import InvalidValue


class Run(NamedTuple):
    """A rising run: where it starts and ends, how many values it has, how far it reaches."""

    start: Any
    end: Any
    length: int
    span: Any


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

    column_names = ("value", "at")
    result = {"start": "argument", "end": "argument", "length": "int64", "span": "span"}
    # Of a part of a window: its runs at both ends, the longest one, and the values at its edges.
    #
    #      ┌ head ┐      ┌── longest ──┐         ┌ tail ┐
    #     first …         …           …             … last
    fields = {
        "size": "int64",
        "first": "value",
        "last": "value",
        "head": "int64",
        "head_start": "argument",
        "head_end": "argument",
        "longest": "int64",
        "longest_start": "argument",
        "longest_end": "argument",
        "tail": "int64",
        "tail_start": "argument",
        "tail_end": "argument",
    }

    def checked(self, value: Any) -> Any:
        if isinstance(value[1], str | bytes):
            raise InvalidValue(f"{self!r}: a run's span needs times or numbers, not {value[1]!r}")
        return super().checked(value)

    @staticmethod
    def unit(value: Any, at: Any) -> Any:
        return 1, value, value, 1, at, at, 1, at, at, 1, at, at

    @staticmethod
    def plus(a: Any, b: Any) -> Any:
        head = (a[3], a[4], a[5])
        tail = (b[9], b[10], b[11])
        longest = (b[6], b[7], b[8]) if b[6] > a[6] else (a[6], a[7], a[8])
        if less(a[2], b[1]):
            across = (a[9] + b[3], a[10], b[5])
            if a[3] == a[0]:
                head = across
            if b[9] == b[0]:
                tail = across
            # a run of a's stays ahead of an equally long one across, and that of one of b's
            if across[0] > a[6] and across[0] >= b[6]:
                longest = across
        return (
            a[0] + b[0], a[1], b[2],
            head[0], head[1], head[2],
            longest[0], longest[1], longest[2],
            tail[0], tail[1], tail[2],
        )  # fmt: skip

    @staticmethod
    def answer(state: Any) -> Any:
        return state[7], state[8], state[6]

    def lower(self, state: Any) -> Any:
        if state is None:
            return None
        start, end, length = self.answer(state)
        return Run(start, end, length, end - start)
