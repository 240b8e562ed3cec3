"""Max, Min and what follows from them: Range, MaxCount, MinCount, ArgMax, ArgMin."""

from __future__ import annotations

from typing import Any

from windrow.aggregations.kinds import Ordered, OrderedPairs
from windrow.aggregations.ordering import less, plain, same
from windrow.errors import InvalidValue


class Max(Ordered):
    """The largest value; NaN is larger than any number.

    >>> from windrow import aggregator
    >>> swag = aggregator(Max())
    >>> swag.insert(3); swag.insert(5); swag.evict(); swag.query()
    5
    """

    commutative = True
    selective = True

    def unit(self, value: Any) -> Any:
        return plain(value)

    def combine(self, a: Any, b: Any) -> Any:
        if a is None:
            return b
        if b is None:
            return a
        return b if less(a, b) else a

    def lower(self, state: Any) -> Any:
        return state


class Min(Max):
    """The smallest value; NaN only if there is nothing else."""

    def combine(self, a: Any, b: Any) -> Any:
        if a is None:
            return b
        if b is None:
            return a
        return b if less(b, a) else a


class Range(Ordered):
    """The largest value minus the smallest."""

    commutative = True

    def unit(self, value: Any) -> Any:
        value = plain(value)
        if isinstance(value, str | bytes):
            raise InvalidValue(f"{self!r} takes what can be subtracted, not {value!r}")
        return value, value

    def combine(self, a: Any, b: Any) -> Any:
        if a is None:
            return b
        if b is None:
            return a
        low = b[0] if less(b[0], a[0]) else a[0]
        high = b[1] if less(a[1], b[1]) else a[1]
        return low, high

    def lower(self, state: Any) -> Any:
        return None if state is None else state[1] - state[0]


class MaxCount(Ordered):
    """How often the largest value occurs."""

    commutative = True

    def unit(self, value: Any) -> Any:
        return plain(value), 1

    def combine(self, a: Any, b: Any) -> Any:
        if a is None:
            return b
        if b is None:
            return a
        if same(a[0], b[0]):
            return a[0], a[1] + b[1]
        return b if self.beats(b[0], a[0]) else a

    def beats(self, challenger: Any, holder: Any) -> bool:
        return less(holder, challenger)

    def lower(self, state: Any) -> Any:
        return None if state is None else state[1]


class MinCount(MaxCount):
    """How often the smallest value occurs."""

    def beats(self, challenger: Any, holder: Any) -> bool:
        return less(challenger, holder)


class ArgMax(OrderedPairs):
    """The argument that came with the largest measure; the first of them on ties.

    >>> from windrow import aggregator
    >>> longest = aggregator(ArgMax("length", "caller"))
    >>> longest.insert({"length": 12, "caller": "Ada"})
    >>> longest.insert({"length": 12, "caller": "Bob"})
    >>> longest.query()
    'Ada'
    """

    selective = True

    def unit(self, value: Any) -> Any:
        measure, argument = value
        return plain(measure), argument

    def combine(self, a: Any, b: Any) -> Any:
        if a is None:
            return b
        if b is None:
            return a
        return b if less(a[0], b[0]) else a

    def lower(self, state: Any) -> Any:
        return None if state is None else state[1]


class ArgMin(ArgMax):
    """The argument that came with the smallest measure; the first of them on ties."""

    def combine(self, a: Any, b: Any) -> Any:
        if a is None:
            return b
        if b is None:
            return a
        return b if less(b[0], a[0]) else a
