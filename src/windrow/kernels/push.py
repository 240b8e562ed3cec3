"""Numbers that are pushed through a window, by the compiled loop of the window's algorithm.

The loop is that of `rolling(…, algorithm=…)`, so the results have the same bits. It is entered for
one value, or for the values of an array at once. `windrow.windows.push` takes it where it pays.
"""

from __future__ import annotations

import sys
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray

from windrow.aggregations.base import Aggregation
from windrow.aggregations.together import Record
from windrow.kernels.columns import Column, as_array, column
from windrow.kernels.compiled_states import Monoid, compiled_state
from windrow.kernels.generate import CURSORS, CompiledLoop, dtype_of, push_loop_of
from windrow.kernels.growth import arrays_of, grown
from windrow.kernels.interpreted import objects, packed
from windrow.kernels.pushed_values import (
    ADVANCE,
    BEFORE,
    END,
    FIRST,
    FOLLOW,
    PAST,
    PAST_BEFORE,
    PUSH,
    PushedValues,
)
from windrow.kernels.results import finished, merged
from windrow.kernels.stream_loop import NO_BOUNDS, loop_name
from windrow.kernels.window_loop import capacity_for
from windrow.windows.pushed_numbers import LARGEST

_DTYPES = {float: "float64", int: "int64"}
_FOREVER = 2 * LARGEST + 1  # further than any time from another


def has_loop(algorithm: str, aggregation: Aggregation) -> bool:
    """Whether an algorithm has a loop that values can be pushed through one by one."""
    name = loop_name(algorithm, aggregation)
    return name != "pba" and find_spec(f"windrow.kernels.loops.{name}") is not None


class _Part:
    """One aggregation of a window: its loop, and the array that this works in.

    The loop is compiled for the values of an array, and for one value at a time; each when it is
    first used. Both work in the same array.
    """

    def __init__(
        self, name: str, aggregation: Aggregation, algorithm: str, dtype: str, bounds: str
    ) -> None:
        self.name, self.aggregation = name, aggregation
        self._loop = loop_name(algorithm, aggregation), dtype, bounds
        self._kernels: dict[str | None, CompiledLoop] = {}
        self.arena = NO_BOUNDS

    def kernel(self, times: str | None) -> CompiledLoop:
        """The loop for one value whose time is of this type; for an array if that is None."""
        return self._kernels.get(times) or self._compiled(times)

    def _compiled(self, times: str | None) -> CompiledLoop:
        algorithm, dtype, bounds = self._loop
        monoid = compiled_state(self.aggregation, [dtype], algorithm == "subtract_on_evict")
        assert isinstance(monoid, Monoid), "windows of such numbers only are compiled"
        kernel = push_loop_of(algorithm, self.aggregation, monoid, dtype, bounds, times)
        self._kernels[times] = kernel
        return kernel

    @property
    def _any_kernel(self) -> CompiledLoop:
        """The loop in one of its forms, for what they have in common."""
        return next(iter(self._kernels.values()), None) or self._compiled(None)

    def run(self, window: tuple[Any, ...], values: Any, nulls: Any) -> tuple[Any, Any]:
        """Run the loop over the values of an array; return their results, and which are there."""
        kernel = self.kernel(None)
        out = np.zeros(values.size, dtype_of(kernel.monoid.outputs[0]))
        valid = np.ones(values.size, np.uint8)
        row, stop, *bounds = window
        memory = self.arena[:CURSORS], *kernel.buffers_in(self.arena)
        kernel.run(row, stop, row, *bounds, (values,), nulls, *memory, (out,), valid)
        return out, valid

    def empty(self) -> None:
        """Begin with an empty window."""
        self.arena = _joined(*self._any_kernel.start(capacity_for(1)))

    def make_room(self, longest: int, most: int) -> int:
        """Let there be room for windows of so many values; return how many there is room for."""
        old, kernel = int(self.arena[2]), self._any_kernel
        if longest <= old:
            return old
        capacity = capacity_for(longest) if kernel.rounded else min(2 * longest, most)
        cursors, buffers = self.arena[:CURSORS].copy(), kernel.buffers_in(self.arena)
        grown(kernel, buffers, cursors, capacity)
        self.arena = _joined(cursors, buffers)
        return capacity

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_kernels": {}}


def _joined(cursors: NDArray[np.int64], buffers: list[Any]) -> NDArray[np.int64]:
    """Cursors and buffers in one array."""
    arrays = (array.view(np.int64) for buffer in buffers for array in arrays_of(buffer))
    return np.concatenate([cursors, *arrays])


class PushLoop:
    """A window of numbers of one type: the last `rows`, or those within `size` of the newest time.

    With `from_start`, one just so far away is among them. Times are of the type `time_kind`. The
    loops are entered for `many` values at first, or for one.
    """

    def __init__(
        self,
        aggregation: Aggregation,
        algorithm: str,
        kind: type,
        rows: int = 0,
        size: Any = 0,
        from_start: bool = True,
        *,
        time_kind: type = int,
        many: bool = True,
    ) -> None:
        self.aggregation, self.kind, self._rows = aggregation, kind, rows
        time_kind = int if rows else time_kind
        self._size = size if time_kind is float else min(size, _FOREVER)
        self._side: Any = "left" if from_start else "right"  # of the oldest time that is in it
        dtype, self._times = _DTYPES[kind], _DTYPES[time_kind]
        parts = (aggregation.parts or {"": aggregation}).items()
        bounds = "rows" if rows else "range"
        self._parts = [_Part(*part, algorithm, dtype, bounds) for part in parts]
        for part in self._parts:
            part.kernel(None if many else self._times)
            part.empty()
        self._kept = PushedValues(dtype, self._times, rows or self._size, not from_start)
        self._came = 0  # how many values
        self._left = 0  # how many may be pushed one by one before there must be more room
        self._null, self._no_time = kind(), time_kind()
        self.result: Any = self._result([None] * len(self._parts))  # of the window as it is

    def __len__(self) -> int:
        return len(self._kept)

    def contents(self) -> tuple[list[Any], list[Any]]:
        """The values of the window, and their times where it goes by them."""
        values, nulls, times = self._kept.window()
        return objects([values], [nulls]), [] if self._rows else times.tolist()

    def push(self, value: Any, t: Any = None) -> Any:
        """Insert a number or None, slide, and return the result."""
        if not self._left:
            self._make_room_for_one()
        self._left -= 1
        null, came = value is None, self._came
        if null:
            value = self._null
        if t is None or self._rows:
            t = self._no_time
        try:
            result = self._step(value, null, t, PUSH)
            self._came = came + 1
            self.result = result
            return result
        except BaseException:
            if self._kept.array[END] != came:
                self._begin_again(*self._kept.array[[BEFORE, PAST_BEFORE]].tolist())
            raise

    def advance(self, t: Any) -> None:
        """Let time go on to t."""
        before = self._kept.array[[FIRST, PAST]].tolist()
        try:
            self.result = self._step(self._null, True, t, ADVANCE)
        except BaseException:
            self._begin_again(*before)
            raise

    def push_many(self, numbers: Column, times: NDArray[Any] | None) -> Any:
        """Push numbers; return an array of results, or a dict of them for several aggregations."""
        kept, n = self._kept, numbers.data.size
        nulls = np.zeros(n, np.uint8) if numbers.nulls is None else numbers.nulls
        lo, hi = (NO_BOUNDS, NO_BOUNDS) if times is None else self._bounds(times)
        self._make_room(int((hi - lo).max(initial=1)) if lo.size else self._came + n)
        size = len(kept) + n  # of the window then
        if self._rows:
            size = min(self._rows, size)
        elif n:
            size = self._came + n - int(lo[-1])
        new = slice(max(0, n - size), None)
        if kept.spare < n:
            kept.make_room(min(n, size))
        self._left, before = 0, kept.array[[FIRST, PAST]].tolist()
        try:
            outs = self._run(numbers.data, nulls, lo, hi)
            kept.extend(numbers.data[new], nulls[new], None if times is None else times[new])
            kept.array[FIRST] = kept.array[PAST] - size
        except BaseException:
            self._begin_again(*before)
            raise
        results = {
            part.name: merged(finished(part.aggregation, numbers, (out,), valid))
            for part, (out, valid) in zip(self._parts, outs, strict=True)
        }
        return results if self.aggregation.parts else results[""]

    def _run(self, values: Any, nulls: Any, lo: Any, hi: Any) -> list[tuple[Any, Any]]:
        """Run the loops over the values of an array; return their results, and which are there."""
        window = self._came, self._came + values.size, self._rows, lo, hi
        outs = [part.run(window, values, nulls) for part in self._parts]
        self._came += values.size
        self._kept.array[END] = self._came
        if values.size:
            self.result = self._result(
                [out[-1].item() if valid[-1] else None for out, valid in outs]
            )
        return outs

    def _step(self, value: Any, null: bool, t: Any, step: int) -> Any:
        """Run the loop of each aggregation for one value or time, and return the result."""
        kept, first = self._kept.array, self._parts[0]
        result = first.kernel(self._times).run(kept, first.arena, value, null, t, step)
        if self.aggregation.parts is None:
            return first.aggregation.empty if result is None else result
        rest = [
            part.kernel(self._times).run(kept, part.arena, value, null, t, FOLLOW)
            for part in self._parts[1:]
        ]
        return self._result([result, *rest])

    def _result(self, results: list[Any]) -> Any:
        """The results of all aggregations together, and what an empty window has for None."""
        if None in results:
            pairs = zip(results, self._parts, strict=True)
            results = [part.aggregation.empty if each is None else each for each, part in pairs]
        if self.aggregation.parts is None:
            return results[0]
        return Record(zip(self.aggregation.parts, results, strict=True))

    def _begin_again(self, first: int, past: int) -> None:
        """Make the window what it was, after somebody interrupted what was being done."""
        kept = self._kept
        kept.array[[FIRST, PAST]] = first, past
        for part in self._parts:
            part.empty()
        self._came = self._left = 0
        self._make_room(len(kept))
        values, nulls, _ = kept.window()
        hi = np.arange(values.size) + 1
        lo, hi = (NO_BOUNDS, NO_BOUNDS) if self._rows else (np.zeros_like(hi), hi)
        self._run(values, nulls, lo, hi)

    def _bounds(self, times: NDArray[Any]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The windows that end at each of further values."""
        before = self._kept.window()[2]
        end = self._came + np.arange(times.size) + 1
        newest = times
        if times.dtype == np.int64:  # no time is before -LARGEST, and no difference overflows
            newest = np.maximum(times, self._size - LARGEST - 1)
        every = np.concatenate([before, times])
        lo = np.searchsorted(every, newest - self._size, self._side)
        return lo + (self._came - before.size), end

    def _make_room(self, longest: int) -> int:
        """Let the loops have room for windows of so many values; return for how many they have."""
        most = self._rows or sys.maxsize
        longest = min(longest, most)
        capacity = min(part.make_room(longest, most) for part in self._parts)
        return sys.maxsize if capacity >= most else capacity

    def _make_room_for_one(self) -> None:
        """Let there be room for one value, and a quarter more than there are. Amortised O(1)."""
        size = len(self)
        if not self._kept.spare:
            self._kept.make_room(1)
        capacity = self._make_room(size + max(1, size // 4))
        self._left = min(self._kept.spare, capacity - size)


def numbers_in(values: Any) -> Column | None:
    """The numbers of an array or a list, None or masked for nulls; None if they are something else.

    >>> numbers_in([1.5, None]).nulls, numbers_in(["a"]), numbers_in([1, 2.5])
    (array([0, 1], dtype=uint8), None, None)
    """
    if isinstance(values, list | tuple):
        there = _plain_array([value for value in values if value is not None])
        if there is None:
            return None
        nulls = np.array([value is None for value in values])
        data = np.zeros(nulls.size, there.dtype)
        data[~nulls] = there
        return column(data, nulls if nulls.any() else None, "value")
    if not _is_array(values):
        return None
    array = as_array(values)
    return column(array, None, "value") if array.dtype.kind in "fiu" else None


def _is_array(values: Any) -> bool:
    """Whether values are an array or a series of some library."""
    return hasattr(values, "dtype") or hasattr(values, "null_count")


def _plain_array(values: list[Any]) -> NDArray[Any] | None:
    """Floats, or integers, as an array; None if there are none, others, or too large ones."""
    kinds = set(map(type, values))
    if len(kinds) != 1 or not kinds <= _DTYPES.keys():
        return None
    try:
        return np.array(values, _DTYPES[kinds.pop()])
    except OverflowError:
        return None


def times_in(at: Any) -> NDArray[Any] | None:
    """Times or finite numbers of a list or an array, as int64 (nanoseconds) or float64.

    None if they are something else, or of two types.

    >>> times_in([1, 2]), times_in([1, 2.5])
    (array([1, 2]), None)
    """
    if isinstance(at, list):
        at = _plain_array(at)
    if not isinstance(at, np.ndarray) or at.ndim != 1:
        return None
    if at.dtype.kind == "M":
        times = at.astype("M8[ns]")
        return times.view(np.int64) if (times == at).all() else None  # NaT, or too far away
    if at.dtype.kind == "f":
        return at.astype(np.float64) if np.isfinite(at).all() else None
    return at.astype(np.int64) if at.dtype.kind == "i" else None


def values_of(values: Any) -> list[Any]:
    """The values of an array or of anything else as Python's own."""
    if not _is_array(values):
        return list(values)
    array = as_array(values)
    if array.dtype.kind in "mM":  # a nanosecond has no type in Python
        return list(array)
    nulls = np.ma.getmaskarray(array).view(np.uint8) if np.ma.isMaskedArray(array) else None
    return objects([np.ma.getdata(array)], [nulls])


def result_array(aggregation: Aggregation, results: list[Any]) -> Any:
    """An array of results that came one by one, or a dict of arrays for several aggregations."""
    if aggregation.parts is None:
        return merged(packed(aggregation, results))
    return {
        name: merged(packed(part, [result[name] for result in results]))
        for name, part in aggregation.parts.items()
    }
