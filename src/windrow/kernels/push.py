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
from windrow.kernels.generate import CURSORS, Kernel, dtype_of, push_loop_of
from windrow.kernels.growth import grown
from windrow.kernels.interpreted import objects, packed
from windrow.kernels.results import finished, merged
from windrow.kernels.stream_loop import NO_BOUNDS, loop_name
from windrow.kernels.window_loop import capacity_for

_PRESENT, _NULL = np.zeros(1, np.uint8), np.ones(1, np.uint8)
_DTYPES = {float: "float64", int: "int64"}


def has_loop(algorithm: str, aggregation: Aggregation) -> bool:
    """Whether an algorithm has a loop that values can be pushed through one by one."""
    name = loop_name(algorithm, aggregation)
    return name != "pba" and find_spec(f"windrow.kernels.loops.{name}") is not None


class _Part:
    """One aggregation of a window: its loop, and the array that this works in."""

    def __init__(
        self, name: str, aggregation: Aggregation, algorithm: str, dtype: str, bounds: str
    ) -> None:
        self.name, self.aggregation = name, aggregation
        self._asked = loop_name(algorithm, aggregation), dtype, bounds
        self._compile()
        self.empty()
        self.out = np.zeros(1, dtype_of(self._kernel.monoid.outputs[0]))
        self.valid = np.ones(1, np.uint8)

    def _compile(self) -> None:
        algorithm, dtype, bounds = self._asked
        monoid = compiled_state(self.aggregation, [dtype], algorithm == "subtract_on_evict")
        assert isinstance(monoid, Monoid), "it is asked for where there is one"
        self._kernel: Kernel = push_loop_of(algorithm, self.aggregation, monoid, dtype, bounds)
        self.run = self._kernel.run

    def empty(self) -> None:
        """Begin with an empty window."""
        self.arena = _joined(*self._kernel.start(capacity_for(1)))

    def make_room(self, longest: int, most: int) -> int:
        """Let there be room for windows of so many values; return how many there is room for."""
        old = int(self.arena[2])
        if longest <= old:
            return old
        capacity = capacity_for(longest) if self._kernel.rounded else min(2 * longest, most)
        cursors, buffers = _apart(self._kernel, self.arena)
        grown(self._kernel, buffers, cursors, capacity)
        self.arena = _joined(cursors, buffers)
        return capacity

    def __getstate__(self) -> dict[str, Any]:
        return {name: it for name, it in vars(self).items() if name not in ("run", "_kernel")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._compile()


def _arrays(buffers: list[Any]) -> list[NDArray[Any]]:
    """The arrays of buffers: one for each field of the states, and those of indices."""
    return [each for it in buffers for each in (it if isinstance(it, tuple) else (it,))]


def _joined(cursors: NDArray[np.int64], buffers: list[Any]) -> NDArray[np.int64]:
    """Cursors and buffers in one array."""
    return np.concatenate([cursors, *(array.view(np.int64) for array in _arrays(buffers))])


def _apart(kernel: Kernel, arena: NDArray[np.int64]) -> tuple[NDArray[np.int64], list[Any]]:
    """What `_joined` was given."""
    buffers, at = kernel.buffers(int(arena[2])), CURSORS
    for array in _arrays(buffers):
        array.view(np.int64)[:] = arena[at : at + array.size]
        at += array.size
    return arena[:CURSORS].copy(), buffers


class _Kept:
    """The values of a window and their times, which the interpreter could go on with.

    ┌─────┬──────────────────────┬───────┐
    │ old │        window        │ spare │      of each array
    └─────┴──────────────────────┴───────┘
          ↑ first                ↑ past
    """

    def __init__(self, dtype: str) -> None:
        self.values = np.zeros(16, dtype)
        self.nulls = np.zeros(16, np.uint8)
        self.times: NDArray[Any] = np.zeros(16, np.int64)
        self.first = self.past = 0

    def __len__(self) -> int:
        return self.past - self.first

    def make_room(self, n: int) -> None:
        """Let there be room for n values more, without the old ones. Amortised O(1) a value.

        There is no null in what is spare.
        """
        size = len(self)
        capacity = max(16, 2 * (size + n))
        for name in ("values", "nulls", "times"):
            old = getattr(self, name)
            new = np.zeros(capacity, old.dtype)
            new[:size] = old[self.first : self.past]
            setattr(self, name, new)
        self.first, self.past = 0, size

    def extend(self, values: Any, nulls: Any, times: Any) -> None:
        """Keep the values of arrays, for which there must be room."""
        here = slice(self.past, self.past + values.size)
        self.values[here], self.nulls[here] = values, nulls
        if times is not None:
            self.times[here] = times
        self.past = here.stop

    def window(self) -> tuple[NDArray[Any], NDArray[np.uint8], NDArray[Any]]:
        """What is in the window: values, which of them are null, and times."""
        here = slice(self.first, self.past)
        return self.values[here], self.nulls[here], self.times[here]


class PushLoop:
    """A window of numbers of one type: the last `rows`, or those within `size` of the newest time.

    With `from_start`, one just so far away is among them.
    """

    def __init__(
        self,
        aggregation: Aggregation,
        algorithm: str,
        kind: type,
        rows: int = 0,
        size: Any = 0,
        from_start: bool = True,
    ) -> None:
        self.aggregation, self.kind = aggregation, kind
        self._rows, self._size = rows, size
        self._open = not from_start
        self._side: Any = "right" if self._open else "left"  # of the oldest time that is in it
        bounds = "rows" if rows else "range"
        parts = (aggregation.parts or {"": aggregation}).items()
        self._parts = [_Part(*part, algorithm, _DTYPES[kind], bounds) for part in parts]
        self._one = None if aggregation.parts else self._parts[0]
        self._value = np.zeros(1, _DTYPES[kind])
        self._lo = NO_BOUNDS if rows else np.zeros(1, np.int64)
        self._hi = NO_BOUNDS if rows else np.zeros(1, np.int64)
        self._end = 0  # how many values came
        self._room = 0  # how many may have come before the loops must have more room
        self._kept = _Kept(_DTYPES[kind])
        self.result: Any = self._result([None] * len(self._parts))  # of the window as it is

    def __len__(self) -> int:
        return len(self._kept)

    def contents(self) -> tuple[list[Any], list[Any]]:
        """The values of the window, and their times where it goes by them."""
        values, nulls, times = self._kept.window()
        return objects([values], [nulls]), [] if self._rows else times.tolist()

    def push(self, value: Any, t: Any = None) -> Any:
        """Insert a number or None, slide, and return the result."""
        kept, row, one = self._kept, self._end, self._one
        if row >= self._room:
            self._make_room(len(kept) + 1)
        if kept.past == kept.values.size:
            kept.make_room(1)
        first, past = kept.first, kept.past
        try:
            nulls = _PRESENT
            if value is None:
                nulls, kept.nulls[past] = _NULL, 1
            else:
                self._value[0] = kept.values[past] = value
            kept.past, self._end = past + 1, row + 1
            if not self._rows:
                if not row:
                    kept.times = kept.times.astype(_DTYPES[type(t)])
                kept.times[past] = t
                self._slide_to(t)
            elif past - first == self._rows:
                kept.first = first + 1
            if one is None:
                return self._entered(row, nulls)
            # What `_entered` does, without what it takes for several: half of the time of a push.
            result = one.run(
                row, row + 1, self._rows, self._lo, self._hi, self._value, nulls,
                one.arena, one.out, one.valid,
            )  # fmt: skip
            if result is None:
                result = one.aggregation.empty
            self.result = result
            return result
        except BaseException:
            self._begin_again(first, past)
            raise

    def advance(self, t: Any) -> None:
        """Let time go on to t."""
        first, past = self._kept.first, self._kept.past
        try:
            self._slide_to(t)
            self._entered(self._end, _PRESENT)
        except BaseException:
            self._begin_again(first, past)
            raise

    def push_many(self, numbers: Column, times: NDArray[Any] | None) -> Any:
        """Push numbers; return an array of results, or a dict of them for several aggregations."""
        kept, n = self._kept, numbers.data.size
        nulls = np.zeros(n, np.uint8) if numbers.nulls is None else numbers.nulls
        if not self._end and times is not None:
            kept.times = kept.times.astype(times.dtype)
        lo, hi = (NO_BOUNDS, NO_BOUNDS) if times is None else self._bounds(times)
        self._make_room(int((hi - lo).max(initial=1)) if lo.size else self._end + n)
        size = len(kept) + n  # of the window then
        if self._rows:
            size = min(self._rows, size)
        elif n:
            size = self._end + n - int(lo[-1])
        new = slice(max(0, n - size), None)
        if kept.past + n > kept.values.size:
            kept.make_room(min(n, size))
        first, past = kept.first, kept.past
        try:
            outs = self._run(numbers.data, nulls, lo, hi)
            kept.extend(numbers.data[new], nulls[new], None if times is None else times[new])
            kept.first = kept.past - size
        except BaseException:
            self._begin_again(first, past)
            raise
        results = {
            part.name: merged(finished(part.aggregation, numbers, (out,), valid))
            for part, (out, valid) in zip(self._parts, outs, strict=True)
        }
        return results if self.aggregation.parts else results[""]

    def _run(self, values: Any, nulls: Any, lo: Any, hi: Any) -> list[tuple[Any, Any]]:
        """Enter the loops for the values of an array; return their results, and which are there."""
        n, last, outs = values.size, [], []
        for part in self._parts:
            outs.append((np.zeros(n, part.out.dtype), np.ones(n, np.uint8)))
            if n:
                rows = self._end, self._end + n, self._rows, lo, hi
                last.append(part.run(*rows, values, nulls, part.arena, *outs[-1]))
        self._end += n
        if n:
            self.result = self._result(last)
        return outs

    def _entered(self, row: int, nulls: NDArray[np.uint8]) -> Any:
        """Enter the loop of each aggregation for one row, and return the result."""
        bounds = row, row + 1, self._rows, self._lo, self._hi
        results = [
            part.run(*bounds, self._value, nulls, part.arena, part.out, part.valid)
            for part in self._parts
        ]
        self.result = result = self._result(results)
        return result

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
        kept.first, kept.past = first, past
        for part in self._parts:
            part.empty()
        self._end = self._room = 0
        self._make_room(len(kept))
        values, nulls, _ = kept.window()
        hi = np.arange(values.size) + 1
        lo, hi = (NO_BOUNDS, NO_BOUNDS) if self._rows else (np.zeros_like(hi), hi)
        self._run(values, nulls, lo, hi)

    def _slide_to(self, t: Any) -> None:
        """Drop what is before a window that ends at t: O(log k) for k values."""
        kept, oldest = self._kept, t - self._size
        first, past, times = kept.first, kept.past, kept.times
        if first < past:
            head = times.item(first)
            if head < oldest or (head == oldest and self._open):
                first += 1  # most often it is only one
                if first < past and times.item(first) <= oldest:
                    first += int(np.searchsorted(times[first:past], oldest, self._side))
                kept.first = first
        self._lo[0], self._hi[0] = self._end - (past - first), self._end

    def _bounds(self, times: NDArray[Any]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The windows that end at each of further values."""
        before = self._kept.window()[2]
        end = self._end + np.arange(times.size) + 1
        if self._size == np.inf:
            return np.full(times.size, self._end - before.size), end
        every = np.concatenate([before, times])
        lo = np.searchsorted(every, times - self._size, self._side)
        return lo + (self._end - before.size), end

    def _make_room(self, longest: int) -> None:
        """Let the loops have room for windows of so many values."""
        most = self._rows or sys.maxsize
        longest = min(longest, most)
        capacity = min(part.make_room(longest, most) for part in self._parts)
        self._room = sys.maxsize if capacity >= most else self._end - len(self) + capacity


def numbers_in(values: Any) -> Column | None:
    """The numbers of an array or a list, None or masked for nulls; None if they are something else.

    >>> numbers_in([1.5, None]).nulls, numbers_in(["a"]), numbers_in([1, 2.5])
    (array([0, 1], dtype=uint8), None, None)
    """
    if isinstance(values, list | tuple):
        kinds = set(map(type, values)) - {type(None)}
        if len(kinds) != 1 or not kinds <= _DTYPES.keys():
            return None
        nulls = [value is None for value in values] if None in values else None
        try:
            data = np.array([0 if v is None else v for v in values], _DTYPES[kinds.pop()])
        except OverflowError:
            return None
        return column(data, nulls, "value")
    if not _is_array(values):
        return None
    array = as_array(values)
    return column(array, None, "value") if array.dtype.kind in "fiu" else None


def _is_array(values: Any) -> bool:
    """Whether values are an array or a series of some library."""
    return hasattr(values, "dtype") or hasattr(values, "null_count")


def times_in(at: Any) -> NDArray[Any] | None:
    """Times or finite numbers of a list or an array, as int64 (nanoseconds) or float64.

    None if they are something else, or of two types.

    >>> times_in([1, 2]), times_in([1, 2.5])
    (array([1, 2]), None)
    """
    if isinstance(at, list):
        kinds = set(map(type, at))
        if len(kinds) != 1 or not kinds <= _DTYPES.keys():
            return None
        try:
            at = np.array(at, _DTYPES[kinds.pop()])
        except OverflowError:
            return None
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
