"""When a window of numbers is compiled: once it has had so many that it pays, or for an array.

Until then they are aggregated in the interpreter, and noted. The compiled loop begins with what was
noted, so that it stands where it would had it run from the first number on. Its results are those
of the interpreter, bit for bit: it is taken only where an aggregation is exact, or its algorithm
puts the same values together in both.
"""

from __future__ import annotations

import math
from importlib import import_module
from typing import Any

from windrow.aggregations.base import Aggregation
from windrow.algorithms.base import Aggregator

# After so many pushes, the interpreter has taken about as long as it takes to compile a loop.
PUSHES = 10_000
_EXACT = 2**53  # integers up to here have floats of their own
_LARGEST = 2**62  # the difference of integers up to here is an int64
_LONGEST = 2**24  # values of a window by time, as far as sums of integers are compiled


def loops() -> Any:
    """Return the module of compiled loops, of a layer above: it is loaded when it is used."""
    return import_module("windrow.kernels.push")


def is_numeric(aggregation: Aggregation) -> bool:
    """Return whether an aggregation of the package makes a number of plain numbers.

    >>> from windrow import ArgMax, Collect, Max, Mean, Together
    >>> [is_numeric(each) for each in (Max(), Together(a=Max(), b=Mean()), Collect(), ArgMax())]
    [True, True, False, False]
    """
    if aggregation.parts is not None:
        return all(map(is_numeric, aggregation.parts.values()))
    if aggregation.columns or aggregation.sql_name is None or aggregation.functions is not None:
        return False
    if aggregation.inputs != 1 or aggregation.takes in ("integer", "boolean"):
        return False
    algebra = aggregation.algebra("float64")
    return (
        algebra is not None
        and not algebra.positioned
        and len(algebra.outputs) == 1
        and type(aggregation).lift is Aggregation.lift
    )


class Numbers:
    """The numbers of a window, which are all floats or all integers, and its loop once it has one.

    The window is the last `rows`, or if that is 0, those within `size` of the newest time; with
    `from_start`, one just so far away is in it.
    """

    def __init__(self, swag: Aggregator, rows: int, size: Any, from_start: bool) -> None:
        self._aggregation = aggregation = swag.aggregation
        self._algorithm, self._orders = swag.algorithm, swag.out_of_order
        self._window = rows, size, from_start
        parts = (aggregation.parts or {"": aggregation}).values()
        summed = any(part.summed for part in parts)
        self._largest = _EXACT // (rows or _LONGEST) if summed else _LARGEST
        self._longest = _LONGEST if summed and not rows else 0
        self.kind: type | None = None  # of the numbers so far
        self._time_kind: type | None = None
        self.values: list[Any] = []  # all that came, until there is a loop
        self.times: list[Any] = []
        self.loop: Any = None

    def take(self, value: Any) -> bool:
        """Return whether a value is such a number, or null."""
        kind = type(value)
        if kind is float:
            return self.kind is float or self.kind is None
        if kind is int:
            if self.kind is float or (self._longest and len(self.loop or ()) >= self._longest):
                return False
            return bool(-self._largest <= value <= self._largest)
        return value is None

    def take_time(self, t: Any) -> bool:
        """Return whether the loop goes by such a time, or needs none."""
        rows, size, _ = self._window
        if rows:
            return t is None or not self._orders
        kind = type(t)
        if self._orders or self._time_kind not in (None, kind):
            return False
        whole = type(size) is int or size == math.inf
        return kind is float or (whole and -_LARGEST <= t <= _LARGEST)

    def take_all(self, column: Any, times: Any) -> bool:
        """Return whether all numbers of a column, and an array of their times, can be taken."""
        data = column.data
        kind = float if data.dtype.kind == "f" else int
        if self.kind not in (None, kind):
            return False
        if kind is int and data.size:
            ends = data.min(), data.max()
            if not all(self.take(int(each)) for each in ends) or (
                self._longest and len(self.loop or ()) + data.size >= self._longest
            ):
                return False
        return times is None or all(self.take_time(t) for t in times[[0, -1]].tolist())

    def note(self, value: Any, t: Any) -> None:
        """Note a number that came, and its time."""
        if value is not None:
            self.kind = type(value)
        self.values.append(value)
        if t is not None:
            self._time_kind = type(t)
            self.times.append(t)

    @property
    def exact(self) -> bool:
        """Return whether results do not depend on how the numbers are put together."""
        whole = self.kind is int and self._aggregation.exact_on_integers
        return self._aggregation.exact or whole

    def compile(self, kind: type | None = None) -> bool:
        """Make the loop, if there is one with the same results; return whether there is.

        `kind` is the type of the numbers to come, if none has come yet.
        """
        self.kind = self.kind or kind
        module = loops()
        same = self.exact or not self.values or self._algorithm not in module.OTHER_BITS
        found = same and module.has_loop(self._algorithm, self._aggregation)
        if self.kind is None or not found:
            return False
        loop = module.PushLoop(self._aggregation, self._algorithm, self.kind, *self._window)
        if self.values:
            loop.push_many(module.numbers_in(self.values), module.times_in(self.times))
        self.loop, self.values, self.times = loop, [], []
        return True
