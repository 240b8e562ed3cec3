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
from windrow.errors import Unsupported

# So many pushes take the interpreter 0.1 s; to load a loop takes 0.2 s, to compile it first 2 s.
PUSHES = 10_000
PUSHES_IF_READY = 100  # if this process has the loop already, as from the window of another key
_ready: set[Any] = set()  # the loops that it has
# The algorithms whose loops lay values out otherwise than the interpreter, or, as FlatFIT, by what
# was queried: floats that are put together in another order may differ in their last bits.
OTHER_BITS = frozenset({"flatfat", "fiba", "flatfit", "sba"})
_EXACT = 2**53  # integers up to here have floats of their own
LARGEST = 2**62 - 1  # of integers and of times: the difference of any two is an int64
_LONGEST = 2**24  # values of a window by time, as far as sums of integers are compiled


def loops() -> Any:
    """Return the module of compiled loops, of a layer above: it is loaded when it is used."""
    return import_module("windrow.kernels.push")


def is_numeric(aggregation: Aggregation) -> bool:
    """Return whether an aggregation of the package makes a number of plain numbers.

    >>> from windrow import ArgMax, Collect, Max, Mean, Together
    >>> [is_numeric(a) for a in (Max(), Together(a=Max(), b=Mean()), Collect(), ArgMax())]
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


class PushedNumbers:
    """The numbers of a window, which are all floats or all integers, and its loop once it has one.

    The window is the last `rows`, or if that is 0, those within `size` of the newest time; with
    `from_start`, one just so far away is in it.
    """

    def __init__(self, swag: Aggregator, rows: int, size: Any, from_start: bool) -> None:
        self._aggregation = aggregation = swag.aggregation
        self._algorithm, self._orders = swag.algorithm, swag.out_of_order
        self._window = rows, size, from_start
        parts = (aggregation.parts or {"": aggregation}).values()
        summed = any(part.result in ("total", "mean") for part in parts)
        self._limit = _EXACT // (rows or _LONGEST) if summed else LARGEST
        self._longest = _LONGEST if summed and not rows else 0
        self.kind: type | None = None  # of the numbers so far
        self.time_kind: type | None = None  # of their times
        self.values: list[Any] = []  # all that came, until there is a loop
        self.times: list[Any] = []
        self.loop: Any = None
        self.in_step = self._is_in_step()
        self._due = min(PUSHES_IF_READY, PUSHES)

    def take(self, value: Any) -> bool:
        """Return whether a value is such a number, or null."""
        kind = type(value)
        if kind is float:
            return self.kind is float or self.kind is None
        if kind is int:
            if self.kind is float or (self._longest and len(self.loop or ()) >= self._longest):
                return False
            return bool(-self._limit <= value <= self._limit)
        return value is None

    def take_time(self, t: Any) -> bool:
        """Return whether the loop goes by such a time, or needs none."""
        kind = type(t)
        rows, size, _ = self._window
        if rows or self._orders:
            return t is None or not self._orders
        if self.time_kind not in (None, kind):
            return False
        whole = type(size) is int or size == math.inf
        return kind is float or (whole and -LARGEST <= t <= LARGEST)

    def take_all(self, column: Any, times: Any) -> bool:
        """Return whether all numbers of a column, and an array of their times, can be taken."""
        data = column.data
        kind = float if data.dtype.kind == "f" else int
        if self.kind not in (None, kind):
            return False
        if kind is int and data.size:
            ends = data.min(), data.max()
            if not all(self.take(int(end)) for end in ends) or (
                self._longest and len(self.loop or ()) + data.size >= self._longest
            ):
                return False
        return times is None or all(self.take_time(t) for t in times[[0, -1]].tolist())

    def note(self, value: Any, t: Any) -> None:
        """Note a number that came, and its time."""
        if self.kind is None and value is not None:
            self.kind = type(value)
            self.in_step = self._is_in_step()
        self.values.append(value)
        if t is not None:
            self.time_kind = type(t)
            self.times.append(t)

    def note_time(self, t: Any) -> None:
        """Note of what type the times are, if there are any."""
        if t is not None:
            self.time_kind = type(t)

    @property
    def pays(self) -> bool:
        """Return whether so many numbers have come that it is time for the loop."""
        count = len(self.values)
        if count < self._due:
            return False
        self._due = PUSHES
        return count >= PUSHES or self._loop in _ready

    @property
    def _loop(self) -> Any:
        """The key of the loop among those that this process has."""
        bounds = "rows" if self._window[0] else self.time_kind
        return self._aggregation, self._algorithm, self.kind, bounds

    @property
    def exact(self) -> bool:
        """Return whether results do not depend on how the numbers are put together."""
        whole = self.kind is int and self._aggregation.exact_on_integers
        return self._aggregation.exact or whole

    def _is_in_step(self) -> bool:
        """Return whether the interpreter puts them together as the loop does, evicting first."""
        return not self.exact and self._algorithm not in OTHER_BITS

    def compile(self, newest: Any, column: Any = None, times: Any = None) -> bool:
        """Make the loop, if there is one with the same results; return whether there is.

        It is for a column of numbers and an array of their times, or for numbers as they came;
        `newest` is the newest time, if there is any.
        """
        if column is not None:
            self.kind = float if column.data.dtype.kind == "f" else int
        if times is not None and times.dtype.kind == "f":
            self.time_kind = float
        module = loops()
        same = self.exact or self.in_step or not self.values
        has_loop = same and module.has_loop(self._algorithm, self._aggregation)
        if self.kind is None or not has_loop:
            return False
        self.time_kind = self.time_kind or int
        if newest is not None and type(newest) is not self.time_kind:
            return False
        entered = {"time_kind": self.time_kind, "many": column is not None}
        loop = (self._aggregation, self._algorithm, self.kind, *self._window)
        try:
            new = module.PushLoop(*loop, **entered)
        except Unsupported:  # by Numba; the interpreter goes on
            return False
        for value, t in zip(self.values, self.times or [None] * len(self.values), strict=True):
            new.push(value, t)
        self.loop, self.values, self.times = new, [], []
        _ready.add(self._loop)
        return True
