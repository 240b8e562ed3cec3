"""The last values that were pushed, by their number or within a size of the newest time."""

from __future__ import annotations

import itertools
import math
from collections import deque
from typing import Any

from windrow.aggregations.ordering import plain
from windrow.algorithms.base import Aggregator, Families
from windrow.errors import InvalidArgument, InvalidValue, WindrowError
from windrow.stores.encoding import check_storable
from windrow.windows import base
from windrow.windows.instants import (
    NO_TIMES,
    NUMBERS,
    distance,
    instant,
    number_of_times_like,
    time_of,
)
from windrow.windows.pushed import Window, emptied
from windrow.windows.pushed_numbers import LARGEST, PUSHES, PushedNumbers, is_numeric, loops
from windrow.windows.rows import Rows
from windrow.windows.sizes import NOW, UNBOUNDED, is_number, measure
from windrow.windows.span import Span

_MEASURES = ("range", "delta", "gap", "lateness")  # the arguments that times are compared with


class LastRows(Window):
    """The last values: by time where they have times, else by arrival; and they may be late."""

    extent: Rows | Span

    def __init__(self, extent: base.Window, swag: Aggregator, lateness: Any) -> None:
        super().__init__(extent, swag)
        self._lateness = {} if lateness is None else {"lateness": lateness}
        self._tolerance = math.inf if lateness is None else measure("lateness", lateness)
        self._measures = {
            name: value for name, value in self._arguments().items() if name in _MEASURES
        }
        rows = extent.rows if isinstance(extent, Rows) else None
        self._rows = rows or 0  # how many there may be, where that is the window
        self._every = (extent.slide if isinstance(extent, Rows) else None) or 1
        self._pushed = 0  # since the last result
        self._numbers = self._compilable()
        self._timed = swag.out_of_order  # whether the structure takes the times
        self._kind: str | None = None  # of the times so far
        self._coming = NO_TIMES  # the kind of the time that comes
        self._newest: Any = None
        self._newest_at: Any = None  # the same as it was given
        self._time_type: type | None = None  # of the times that `_time_number` makes numbers of
        self._time_number: Any = None

    def push(self, value: Any, at: Any = None) -> Any:
        """Insert `value`, slide, and return the result; the ⊕ of the algorithm and no more."""
        numbers = self._numbers
        if numbers is not None:
            if type(value) is not numbers.kind:
                value = plain(value)
            loop = numbers.loop
            # The most usual case has the shortest path.
            if loop is not None and (type(value) is float is numbers.kind or numbers.take(value)):
                if at is None and self._kind == NO_TIMES:
                    return loop.push(value)
                if type(at) is self._time_type:
                    t = self._time_number(at)
                    if t is not None and self._newest <= t < LARGEST:
                        result = loop.push(value, t)
                        self._newest, self._newest_at = t, at
                        return result
        kind, t = self._checked_time(at)
        if t is None or self._newest is None or t >= self._newest:
            self._coming = kind
            result = self._append(value, t) if numbers is None else self._append_number(value, t)
            self._kind, self._newest, self._newest_at = kind, t, at
            if t is not None and self._loop is not None:
                self._time_type, self._time_number = type(at), number_of_times_like(at)
        elif not self._swag.out_of_order:
            raise InvalidValue(
                f"push: at={at!r} is before the newest time, {self._newest_at!r}, and "
                f"{self._swag.algorithm} keeps values in the order of their arrival; give "
                f"lateness= (how late a value may be) or algorithm='fiba'"
            )
        elif distance(t, self._newest, self._tolerance) > 0 or self._has_no_place(t):
            result = self.query() if self._every == 1 else None
            self.late += 1
            return result
        else:
            result = self._insert_late(value, t)
        self._pushed = (self._pushed + 1) % self._every
        return result

    @property
    def _holds(self) -> str:
        late = "late values are refused"
        if self._lateness:
            late = f"late values go to their place, up to {self._lateness['lateness']}"
        elif self._swag.out_of_order:
            late = "late values go to their place"
        return f"{self.extent}; {late}"

    @property
    def _engine(self) -> str:
        if self._loop is not None:
            return f"compiled, for numbers of type {self._loop.kind.__name__}"
        if self._numbers is None:
            return super()._engine
        return f"{super()._engine}; compiled after {PUSHES:,} numbers of a type, or by push_many"

    def push_many(self, values: Any, at: Any = None) -> Any:
        """Push each of `values`; return an array of the results: compiled where there is a loop."""
        values = values if hasattr(values, "__len__") else list(values)
        at = at if at is None or hasattr(at, "__len__") else list(at)
        column = None if self._numbers is None else loops().numbers_in(values)
        if self._numbers is not None and column is not None:
            kind, times = self._checked_times(at, column.data.size)
            if kind is not None and self._numbers.take_all(column, times):
                results = self._push_numbers(column, kind, times)
                if results is not None:
                    return results
        return super().push_many(values, at)

    def query(self, at: Any = None) -> Any:
        """Return the aggregate of the window; with `at`, when time has gone on to that."""
        if at is not None:
            self.advance(at)
        return super().query() if self._loop is None else self._loop.result

    def __len__(self) -> int:
        return super().__len__() if self._loop is None else len(self._loop)

    def _append(self, value: Any, t: Any) -> Any:
        """Insert a value that is not late, slide, and return the result."""
        gone = self._leaving(t)
        result = self._swag.atomically(self._slide_to, [value], t, gone)
        self._note_times(t, 1, gone)
        return result

    def _slide_to(self, values: list[Any], t: Any, gone: int) -> Any:
        """Return `_slide(values, t, gone)`, and note for the store that t is the newest time."""
        result = self._slide(values, t, gone)
        self._note_beside(self._coming, t, (), (self._pushed + 1) % self._every)
        return result

    def _resume(self, kind: Any, newest: Any, waiting: Any, pushed: int = 0) -> None:
        self._kind, self._newest, self._newest_at = kind, newest, time_of(kind, newest)
        self._pushed = pushed

    def _leaving(self, newest: Any) -> int:
        """Return how many of the oldest values leave for one that comes at `newest`."""
        return max(0, len(self._swag) + 1 - self._rows)

    def _note_times(self, t: Any, came: int, gone: int) -> None:
        """Note that so many values of time t came, and so many left, if the structure does not."""

    # -- numbers, which may be compiled -----------------------------------------------------

    def _compilable(self) -> PushedNumbers | None:
        """Return what notes the numbers of a window that can be compiled."""
        return self._numbers_within(0, True)

    def _numbers_within(self, size: Any, from_start: bool) -> PushedNumbers | None:
        if self._lateness or self._stored is not None or self._every > 1:
            return None
        if not is_numeric(self._swag.aggregation):
            return None
        return PushedNumbers(self._swag, self._rows, size, from_start)

    @property
    def _loop(self) -> Any:
        """The compiled loop that runs; None if none does."""
        return None if self._numbers is None else self._numbers.loop

    def _append_number(self, value: Any, t: Any) -> Any:
        """Insert a value as `_append` does: compiled if that pays and the value is a number."""
        numbers = self._numbers
        assert numbers is not None
        if not (numbers.take(value) and numbers.take_time(t)):
            return self._append_other(value, t)
        if numbers.loop is None and numbers.pays and not self._compile():
            return self._append(value, t)
        if numbers.loop is not None:
            numbers.note_time(t)
            return numbers.loop.push(value, t)
        result = self._append_last(value, t) if numbers.in_step else self._append(value, t)
        numbers.note(value, t)
        return result

    def _append_last(self, value: Any, t: Any) -> Any:
        """Insert a value as `_append` does, but evict first, in the order of compiled loops."""
        swag, numbers, size = self._swag, self._numbers, len(self._swag)
        assert numbers is not None
        swag.admit(value)
        gone = self._leaving(t)
        try:
            swag.evict(gone)
            result = self._slide([value], t, 0)
        except BaseException:  # numbers do not fail, but somebody may interrupt this
            first = len(numbers.values) - size
            self._refill(numbers.values[first:], numbers.times[first:])
            raise
        self._note_times(t, 1, gone)
        return result

    def _push_numbers(self, column: Any, kind: str, times: Any) -> Any:
        """Push numbers through the compiled loop; return None if there is none."""
        assert self._numbers is not None
        if self._numbers.loop is None and not self._compile(column, None if self._rows else times):
            return None
        results = self._numbers.loop.push_many(column, None if self._rows else times)
        if column.data.size:
            self._kind = kind
            if times is not None:
                self._newest = times[-1].item()
                self._newest_at = time_of(kind, self._newest)
                self._numbers.note_time(self._newest)
        return results

    def _compile(self, column: Any = None, times: Any = None) -> bool:
        """Switch to the compiled loop if its results are the same; return whether it runs."""
        numbers = self._numbers
        assert numbers is not None
        newest = None if self._rows else self._newest
        if not numbers.compile(newest, column, times):
            self._numbers = None
            return False
        self._refill([], [])
        if newest is not None:
            numbers.loop.advance(newest)
        return True

    def _append_other(self, value: Any, t: Any) -> Any:
        """Switch back to the interpreter for good, and insert a value of another type."""
        numbers = self._numbers
        assert numbers is not None
        self._interpret()
        try:
            return self._append(value, t)
        except BaseException:
            self._numbers = numbers
            if numbers.loop is not None:
                self._refill([], [])
            raise

    def _interpret(self) -> None:
        """Switch back to the interpreter, with the values of the loop."""
        loop, self._numbers = self._loop, None
        if loop is not None:
            self._refill(*loop.contents())

    def _refill(self, values: list[Any], times: list[Any]) -> None:
        """Begin anew with these values."""
        self._swag = emptied(self._swag, self.extent)
        timed = self._timed or self._swag.cuts_by_time
        self._swag.extend(values, at=times if timed and times else None)

    # -- late values and times --------------------------------------------------------------

    def _insert_late(self, value: Any, t: Any) -> Any:
        """Insert a late value at its place in the window, slide, and return the result."""
        return self._append(value, t)

    def _has_no_place(self, t: Any) -> bool:
        """Return whether a late time is before the window."""
        return len(self._swag) == self._rows and t < self._swag.oldest_time

    def _slide(self, values: list[Any], t: Any, gone: int) -> Any:
        """Insert values of one time, evict the `gone` oldest, and return the result."""
        at = t if self._timed or self._swag.cuts_by_time else None
        for value in values:
            self._swag.insert(value, at=at)
        self._swag.evict(gone)
        return self._swag.query() if self._pushed + 1 == self._every else None

    def _checked_time(self, at: Any) -> tuple[str, Any]:
        """Return the kind of `at` and its number; raise unless it goes with the others."""
        kind, t = (NO_TIMES, None) if at is None else instant(at)
        if kind == self._kind:
            return kind, t
        for name, size in self._measures.items():
            if at is None:
                raise InvalidArgument(f"{name}= needs each value's time: push(value, at=…)")
            boundless = size in (UNBOUNDED, NOW)
            if not boundless and is_number(size) != (kind == NUMBERS):
                wanted = "a number" if is_number(size) else "a time"
                raise InvalidValue(f"{name}={size!r}, so at must be {wanted}, got {at!r}")
        if self._kind not in (None, kind):
            raise InvalidValue(
                f"at={at!r} does not go with the values so far, which came with {self._kind}"
            )
        return kind, t

    def _checked_times(self, at: Any, n: int) -> tuple[str | None, Any]:
        """Return the kind of n times and an array of their numbers, which must be in order.

        None for both says that one of them is wrong: who pushes one by one will come to it.
        """
        if at is None:
            return self._checked_time(None)
        if len(at) != n:
            return None, None
        if not n:
            return NO_TIMES, None
        times = loops().times_in(at)
        try:
            checked = [self._checked_time(t) for t in (at if times is None else at[:1])]
        except WindrowError:
            return None, None
        if times is None:
            times = loops().times_in([t for _, t in checked])
        kinds = {kind for kind, _ in checked}
        if times is None or len(kinds) > 1:
            return None, None
        newest = times[0] if self._newest is None else self._newest
        if times[0] < newest or (times[1:] < times[:-1]).any():
            return None, None
        return kinds.pop(), times

    def _arguments(self) -> dict[str, Any]:
        return {**super()._arguments(), **self._lateness}


class WithinSpan(LastRows):
    """The values whose times lie within a size before the newest.

    Where the window is open at its end (`closed` left or neither), the values of the newest time
    wait outside of it until a newer one comes:

        times      t − r ……………………… t₁  t₂ │ t   t   t
                  [      the structure      ) │ `_waiting`

    The times lie in the structure where it keeps them, else in the queue `_times` beside it.
    """

    extent: Span

    def __init__(self, extent: Span, swag: Aggregator, lateness: Any) -> None:
        self._size: Any = math.inf if extent.range == UNBOUNDED else 0
        self._from_start = extent.includes_start
        self._to_end = extent.includes_end
        if extent.bounded:
            self._size = extent.measure()
        super().__init__(extent, swag, lateness)
        if extent.bounded:
            extent.check_like("lateness", lateness)
        self._timed = swag.keeps_times
        self._times: deque[Any] = deque()
        self._waiting: list[Any] = []
        self._waiting_families: Families | None = None  # what goes with them

    def _append(self, value: Any, t: Any) -> Any:
        return super()._append(value, t) if self._to_end else self._wait([value], t)

    def query(self, at: Any = None) -> Any:
        """Return the aggregate of the window; with `at`, when time has gone on to that."""
        newest = self._newest
        if at is not None and newest is not None and self._checked_time(at)[1] < newest:
            raise InvalidValue(
                f"query: at={at!r} is before the newest time, {self._newest_at!r}, and values that "
                f"were in the window then may have left it"
            )
        return super().query(at)

    def advance(self, at: Any) -> None:
        """Let time go on to `at`, if it has not come to it."""
        kind, t = self._checked_time(at)
        if self._newest is not None and t <= self._newest:
            return
        if self._numbers is not None and not self._numbers.take_time(t):
            self._interpret()
        if self._loop is not None:
            self._loop.advance(t)
        else:
            self._coming = kind
            self._wait([], t)
        self._kind, self._newest, self._newest_at = kind, t, at

    @property
    def is_empty(self) -> bool:
        """Return whether no value is in the window, or waits to be."""
        return not len(self) and not self._waiting

    def _compilable(self) -> PushedNumbers | None:
        return self._numbers_within(self._size, self._from_start) if self._to_end else None

    def _refill(self, values: list[Any], times: list[Any]) -> None:
        super()._refill(values, times)
        self._times = deque(() if self._timed else times)

    def _resume(self, kind: Any, newest: Any, waiting: Any, pushed: int = 0) -> None:
        super()._resume(kind, newest, waiting, pushed)
        self._waiting = list(waiting)
        for value in waiting:
            self._waiting_families = self._swag.families_with(value, self._waiting_families)

    def _wait(self, values: list[Any], t: Any) -> Any:
        """Let a value of time t, or none, wait; if t is newer, insert those that waited."""
        swag, families = self._swag, self._waiting_families
        for value in values:
            if self._stored is not None:
                check_storable(value)
            swag.admit(value)
            families = swag.families_with(value, families)
        entering, still = [], self._waiting
        if t != self._newest:
            entering, still = still, []
            families = swag.families_with(values[0], None) if values else None
        gone = self._leaving(t)
        if gone == len(self._swag) and entering and self._is_before(self._newest, t):
            gone += len(entering)

        def slide_and_wait() -> Any:
            result = self._slide(entering, self._newest, gone)
            self._note_beside(self._coming, t, (*still, *values))
            return result

        result = self._swag.atomically(slide_and_wait)
        self._note_times(self._newest, len(entering), gone)
        self._waiting, self._waiting_families = [*still, *values], families
        return result

    def _insert_late(self, value: Any, t: Any) -> Any:
        self._swag.families_with(value, self._waiting_families)
        return self._swag.atomically(self._slide, [value], t, 0)

    def _leaving(self, newest: Any) -> int:
        """Return how many of the oldest values are before a window that ends at `newest`."""

        def goes(t: Any) -> bool:
            return self._is_before(t, newest)

        if self._timed:
            return self._swag.count_older(goes)
        return sum(1 for _ in itertools.takewhile(goes, self._times))

    def _note_times(self, t: Any, came: int, gone: int) -> None:
        if not self._timed:
            self._times.extend([t] * came)
            for _ in range(gone):
                self._times.popleft()

    def _has_no_place(self, t: Any) -> bool:
        return self._is_before(t, self._newest)

    def _is_before(self, t: Any, newest: Any) -> bool:
        """Return whether a time is before the window that ends at `newest`."""
        side = distance(t, newest, self._size)
        return side > 0 or (side == 0 and not self._from_start)

    def _check(self) -> None:
        super()._check()
        times = list(self._times)
        assert len(times) == (0 if self._timed else len(self._swag)), (times, len(self._swag))
        assert times == sorted(times), times
        assert not self._leaving(self._newest), self._swag.oldest_time
        assert not self._waiting or not self._to_end, self._waiting
        assert self._to_end or all(t < self._newest for t in times), times
