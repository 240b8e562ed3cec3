"""`window`: values go in one at a time, and each push returns the aggregate of the window.

What a window holds is one of the kinds of `windrow.windows.kinds`. A push checks everything first
(the time, the value, the user's functions) and changes the window last: what is refused leaves it
as it was, and so does a `combine` that raises on the way: the push can be repeated.
"""

from __future__ import annotations

import datetime
import itertools
import math
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Mapping
from typing import Any

from windrow.aggregations.base import Aggregation, check_aggregation, is_null
from windrow.aggregations.least import at_least
from windrow.aggregations.ordering import plain
from windrow.aggregations.together import Together
from windrow.algorithms import ALGORITHMS, aggregator, algorithm_class, choose
from windrow.algorithms.base import Aggregator
from windrow.errors import InvalidArgument, InvalidValue, whole_number
from windrow.windows import base
from windrow.windows.durations import NANOSECONDS
from windrow.windows.kinds import window_of
from windrow.windows.on import On
from windrow.windows.rows import Rows
from windrow.windows.sizes import NOW, UNBOUNDED, is_number, measure
from windrow.windows.span import Span
from windrow.windows.until import Until, leaving

NO_TIMES = "no times"
NUMBERS = "numbers"
WITH_ZONE = "times with a zone"
WITHOUT_ZONE = "times without a zone"
_EPOCH = datetime.datetime(1970, 1, 1)
_MEASURES = ("range", "delta", "lateness")  # the arguments that times are compared with
_UTC_EPOCH = _EPOCH.replace(tzinfo=datetime.UTC)


def window(
    aggregation: Aggregation | Mapping[str, Aggregation],
    *,
    rows: int | None = None,
    range: Any = None,
    delta: Any = None,
    until: Callable[[Any, Any], bool] | None = None,
    on: Callable[[Any], bool] | None = None,
    closed: str = "both",
    min_rows: int | None = None,
    lateness: Any = None,
    algorithm: str = "auto",
) -> Window:
    """Return a window to push values through; give one of `rows`, `range`, `delta`, `until`, `on`.

    - `rows=w`: the last w values.
    - `range=r`: those whose time `at` lies in [t − r, t], t being the newest time; `closed` as in
      pandas. `at` is a time and r a duration, or both are numbers.
    - `delta=d`: the same for numbers `at`.
    - `until=policy`: what ``policy(total, old)`` leaves, see `windrow.windows.until`.
    - `on=predicate`: all since the last value that satisfied it. A push answers None until one
      does, and that one's result is the last of its window.

    `min_rows=k` answers None until the window has k values that are not null.

    A value is late if its `at` is before the newest; an equal one is not. `lateness=` says how late
    it may be: within that it goes to its place in time, and beyond it is dropped. Without it a late
    value is an error, except with ``algorithm="fiba"`` or "flatfat", which take them all. A late
    value moves no window: where the current one does not reach back to it, it is dropped, too.
    Every value that is dropped is counted in `late`.

    >>> from datetime import datetime
    >>> from windrow import Max, Sum
    >>> peak = window(Max(), rows=2)
    >>> [peak.push(load) for load in (5, 3, 1)]
    [5, 5, 3]
    >>> hourly = window(Sum(), range="1 hour", lateness="10 minutes")
    >>> for minute, load in ((0, 1), (20, 2), (15, 4), (5, 8)):
    ...     print(hourly.push(load, at=datetime(2026, 1, 1, 12, minute)), hourly.late)
    1 0
    3 0
    7 0
    7 1
    """
    extent = window_of(
        "window",
        rows=rows if rows is None or isinstance(rows, tuple) else whole_number("rows", rows, 1),
        range=plain(range),
        delta=plain(delta),
        until=until,
        on=on,
        closed=closed,
    )
    if not extent.ends_now:
        (size,) = base.written(extent.arguments())[:1]
        raise InvalidArgument(
            f"window: {size} does not end with the newest value, whose result a push returns; take "
            f"rolling(…, {size}, state=RollingState()), whose results wait, or a query"
        )
    if isinstance(extent, Until | On) and lateness is not None:
        (name,) = extent.arguments()
        raise InvalidArgument(f"lateness={lateness!r} goes with times, and {name}= has none")
    if isinstance(aggregation, Mapping):
        aggregation = Together(**aggregation)
    check_aggregation(aggregation, "window")
    least = None if min_rows is None else whole_number("min_rows", min_rows, least=1)
    aggregation = at_least(aggregation, least)
    if isinstance(extent, Until):
        auto = "amta", "what a policy sends away is found by a search down its trees"
        return _UntilPolicy(extent, _aggregator(aggregation, algorithm, auto, "until"))
    if isinstance(extent, On):
        if not callable(on):
            raise InvalidArgument(f"on={on!r} must be a function of a value, true where it ends")
        auto = choose(aggregation)
        if aggregation.bounded:
            auto = "two_stacks", "nothing leaves before the window closes: 1 ⊕ a value"
        return _Punctuated(extent, _aggregator(aggregation, algorithm, auto))
    late = lateness is not None
    auto = choose(aggregation, out_of_order=late)
    swag = _aggregator(aggregation, algorithm, auto, "lateness" if late else "")
    if isinstance(extent, Span):
        return _WithinSpan(extent, swag, plain(lateness))
    return _LastRows(extent, swag, plain(lateness))


# What an argument of `window` needs of the algorithm.
_ABILITIES = {"lateness": "out_of_order", "until": "prefix_search"}


def _aggregator(
    aggregation: Aggregation, algorithm: str, auto: tuple[str, str], argument: str = ""
) -> Aggregator:
    """Return an aggregator; `auto` is the algorithm of that name, and why it is taken."""
    if algorithm == "auto":
        swag = aggregator(aggregation, auto[0])
        swag.why = auto[1]
        return swag
    ability = _ABILITIES.get(argument)
    if ability and not getattr(algorithm_class(algorithm), ability):
        able = [name for name in ALGORITHMS if getattr(algorithm_class(name), ability)]
        raise InvalidArgument(
            f"algorithm={algorithm!r} does not go with {argument}=; take {', '.join(able)} or auto"
        )
    return aggregator(aggregation, algorithm)


class Window(ABC):
    """A window that values are pushed through; `windrow.window` makes one."""

    def __init__(self, extent: base.Window, swag: Aggregator) -> None:
        self.extent = extent
        self.late = 0  # how many values came too late and were dropped
        self._swag = swag

    @abstractmethod
    def push(self, value: Any, at: Any = None) -> Any:
        """Insert `value`, slide, and return the result."""

    def query(self) -> Any:
        """Return the aggregate of the window as it is; costs what the algorithm's query costs."""
        return self._swag.query()

    def __len__(self) -> int:
        return len(self._swag)

    def explain(self) -> str:
        """Return what the window holds, what runs, and why.

        >>> from windrow import Max
        >>> print(window(Max(), rows=3).explain())
        the last 3 rows, an answer a row; late values are refused
        slick_deque: SlickDeque
        of Max(): commutative, selective, exact
        because its answer is always one of the values: fewer than 2 ⊕ a value
        """
        return f"{self.extent}\n{self._swag.explain()}"

    def __repr__(self) -> str:
        return (
            f"<window of {self._swag.aggregation!r}, {', '.join(base.written(self._arguments()))}, "
            f"by {self._swag.algorithm}: {len(self)} value(s)>"
        )

    def _arguments(self) -> dict[str, Any]:
        return self.extent.arguments()

    def _check(self) -> None:
        self._swag._check()


class _UntilPolicy(Window):
    """What a policy over aggregates leaves of the oldest values."""

    extent: Until

    def push(self, value: Any, at: Any = None) -> Any:
        """Insert `value`, evict what the policy sends away, and return the result.

        O(log n) ⊕; with amta O(1) on average.
        """
        _refuse_time(at, "until")
        gone = leaving(self._swag, self.extent.until, value)
        return self._swag.whole(self._slide, value, gone)

    def _slide(self, value: Any, gone: int) -> Any:
        """Insert `value`, evict the `gone` oldest, and return the result."""
        self._swag.insert(value)
        self._swag.evict(gone)
        return self._swag.query()


class _Punctuated(Window):
    """The values since the last one that closed a window."""

    extent: On

    def push(self, value: Any, at: Any = None) -> Any:
        """Insert `value`; return the result if it closes the window, else None. O(1) ⊕."""
        _refuse_time(at, "on")
        closes: Any = self.extent.on
        if not closes(value):
            self._swag.insert(value)
            return None
        result = self._swag.query_with(value)
        old = self._swag
        self._swag = _aggregator(old.aggregation, "auto", (old.algorithm, old.why))
        return result


class _LastRows(Window):
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
        self._timed = swag.out_of_order  # whether the structure is told the times
        self._kind: str | None = None  # of the times so far
        self._newest: Any = None
        self._newest_at: Any = None  # the same as it was given

    def push(self, value: Any, at: Any = None) -> Any:
        """Insert `value`, slide, and return the result; the ⊕ of the algorithm and no more."""
        kind, t = self._checked_time(at)
        if t is None or self._newest is None or t >= self._newest:
            result = self._append(value, t)
            self._kind, self._newest, self._newest_at = kind, t, at
        elif not self._swag.out_of_order:
            raise InvalidValue(
                f"push: at={at!r} is before the newest time, {self._newest_at!r}, and "
                f"{self._swag.algorithm} keeps values in the order of their arrival; give "
                f"lateness= (how late a value may be) or algorithm='fiba'"
            )
        elif _distance(t, self._newest, self._tolerance) > 0 or self._has_no_place(t):
            result = self.query()
            self.late += 1
        else:
            result = self._insert_late(value, t)
        return result

    def explain(self) -> str:
        """Return what the window holds, what becomes of late values, what runs, and why."""
        late = "late values are refused"
        if self._lateness:
            late = f"late values go to their place, up to {self._lateness['lateness']}"
        elif self._swag.out_of_order:
            late = "late values go to their place"
        return f"{self.extent}; {late}\n{self._swag.explain()}"

    def _append(self, value: Any, t: Any) -> Any:
        """Insert a value that is not late, slide, and return the result."""
        gone = max(0, len(self._swag) + 1 - self._rows)
        return self._swag.whole(self._slide, [value], t, gone)

    def _insert_late(self, value: Any, t: Any) -> Any:
        """Insert a late value at its place in the window, slide, and return the result."""
        return self._append(value, t)

    def _has_no_place(self, t: Any) -> bool:
        """Whether a late time is before the window."""
        return len(self._swag) == self._rows and t < self._swag.oldest_time

    def _slide(self, values: list[Any], t: Any, gone: int) -> Any:
        """Insert values of one time, evict the `gone` oldest, and return the result."""
        at = t if self._timed else None
        for value in values:
            self._swag.insert(value, at=at)
        self._swag.evict(gone)
        return self._swag.query()

    def _checked_time(self, at: Any) -> tuple[str, Any]:
        """Return the kind of `at` and its number; raise unless it goes with the others."""
        kind, t = (NO_TIMES, None) if at is None else _instant(at)
        for name, size in self._measures.items():
            if at is None:
                raise InvalidArgument(f"push: {name}= needs each value's time: push(value, at=…)")
            boundless = size in (UNBOUNDED, NOW)
            if not boundless and is_number(size) != (kind == NUMBERS):
                wanted = "a number" if is_number(size) else "a time"
                raise InvalidValue(f"push: {name}={size!r}, so at must be {wanted}, got {at!r}")
        if self._kind not in (None, kind):
            raise InvalidValue(
                f"push: at={at!r} does not go with the values so far, which came with {self._kind}"
            )
        return kind, t

    def _arguments(self) -> dict[str, Any]:
        return {**super()._arguments(), **self._lateness}


class _WithinSpan(_LastRows):
    """The values whose times lie within a size before the newest.

    Where the window is open at its end (`closed` left or neither), the values of the newest time
    wait outside of it until a newer one comes:

        times      t − r ……………………… t₁  t₂ │ t   t   t
                  [      the structure      ) │ `_waiting`

    The times lie in the structure where it keeps them, else in the queue `_times` beside it.
    """

    extent: Span

    def __init__(self, extent: Span, swag: Aggregator, lateness: Any) -> None:
        super().__init__(extent, swag, lateness)
        self._size = math.inf if extent.range == UNBOUNDED else 0
        if extent.bounded:
            self._size = extent.measure()
            extent.check_like("lateness", lateness)
        self._from_start = extent.closed in ("both", "left")
        self._to_end = extent.includes_now
        self._timed = swag.keeps_times
        self._times: deque[Any] = deque()
        self._waiting: deque[Any] = deque()
        self._waiting_swag = self._no_values()  # refuses what does not go with them

    def _no_values(self) -> Aggregator:
        return aggregator(self._swag.aggregation, "recalculate")

    def _append(self, value: Any, t: Any) -> Any:
        if not self._to_end:
            return self._wait(value, t)
        gone = self._leaving(t)
        result = self._swag.whole(self._slide, [value], t, gone)
        self._note_times(t, 1, gone)
        return result

    def _wait(self, value: Any, t: Any) -> Any:
        """Let `value` wait; if it is newer than those that do, let them in."""
        self._swag.admit(value)
        self._waiting_swag.admit(value)
        entering, waiting = self._waiting, self._waiting_swag
        if t == self._newest:
            entering = deque()
        else:
            waiting = self._no_values()
        gone = self._leaving(t)
        if gone == len(self._swag) and entering and self._is_before(self._newest, t):
            gone += len(entering)

        def slide_and_wait() -> Any:
            result = self._slide(list(entering), self._newest, gone)
            waiting.insert(value)
            return result

        result = self._swag.whole(slide_and_wait)
        self._note_times(self._newest, len(entering), gone)
        if waiting is not self._waiting_swag:
            self._waiting, self._waiting_swag = deque(), waiting
        self._waiting.append(value)
        return result

    def _insert_late(self, value: Any, t: Any) -> Any:
        self._waiting_swag.admit(value)
        return self._swag.whole(self._slide, [value], t, 0)

    def _leaving(self, newest: Any) -> int:
        """Return how many of the oldest values are before a window that ends at `newest`."""

        def goes(t: Any) -> bool:
            return self._is_before(t, newest)

        if self._timed:
            return self._swag.count_older(goes)
        return sum(1 for _ in itertools.takewhile(goes, self._times))

    def _note_times(self, t: Any, came: int, gone: int) -> None:
        """Note that so many values of time t came, and so many left, if the structure does not."""
        if not self._timed:
            self._times.extend([t] * came)
            for _ in range(gone):
                self._times.popleft()

    def _has_no_place(self, t: Any) -> bool:
        return self._is_before(t, self._newest)

    def _is_before(self, t: Any, newest: Any) -> bool:
        """Whether a time is before the window that ends at `newest`."""
        side = _distance(t, newest, self._size)
        return side > 0 or (side == 0 and not self._from_start)

    def _check(self) -> None:
        super()._check()
        times = list(self._times)
        assert len(times) == (0 if self._timed else len(self._swag)), (times, len(self._swag))
        assert times == sorted(times), times
        assert not self._leaving(self._newest), self._swag.oldest_time
        assert len(self._waiting) == len(self._waiting_swag), self._waiting
        assert bool(self._waiting) == (not self._to_end and self._newest is not None)
        assert self._to_end or all(t < self._newest for t in times), times


def _distance(at: Any, newest: Any, size: Any) -> int:
    """Return 1 if `at` lies further before `newest` than `size`, 0 if just so far, −1 if nearer.

    >>> _distance(3, 10, 5), _distance(5, 10, 5), _distance(9.5, 10, 5)
    (1, 0, -1)
    """
    # Whole numbers are exact both ways; floats round as they do in `rolling`.
    whole = isinstance(at, int) and isinstance(newest, int)
    a, b = (newest - at, size) if whole else (newest - size, at)
    return int(a > b) - int(a < b)


def _instant(at: Any) -> tuple[str, int | float]:
    """Return the kind of `at` and its number; for a time, nanoseconds from the epoch.

    >>> _instant(datetime.datetime(1970, 1, 1, 0, 0, 1))
    ('times without a zone', 1000000000)
    """
    if isinstance(at, datetime.datetime) and not is_null(at):
        zoned = at.utcoffset() is not None
        since = at - (_UTC_EPOCH if zoned else _EPOCH)
        seconds = since.days * 86400 + since.seconds
        small = since.microseconds * 1000 + getattr(since, "nanoseconds", 0)  # pandas has them
        return WITH_ZONE if zoned else WITHOUT_ZONE, seconds * NANOSECONDS["s"] + small
    at = plain(at)
    if is_number(at) and math.isfinite(at):
        return NUMBERS, at
    if type(at).__name__ == "datetime64" and at == at:  # NaT differs from itself
        return WITHOUT_ZONE, _numpy_instant(at)
    raise InvalidValue(f"push: at={at!r} is no time; give a datetime, datetime64 or finite number")


def _numpy_instant(at: Any) -> int:
    """Return a datetime64 as nanoseconds, also where NumPy's own would overflow."""
    import numpy as np

    unit, count = np.datetime_data(at.dtype)
    if unit in ("Y", "M"):
        at, unit, count = at.astype("datetime64[D]"), "D", 1
    scale = NANOSECONDS.get({"m": "min"}.get(unit, unit.lower()))
    if scale is None:
        raise InvalidValue(f"push: at={at!r} is finer than a nanosecond")
    count *= int(at.astype("int64"))
    return count * scale


def _refuse_time(at: Any, name: str) -> None:
    if at is not None:
        raise InvalidArgument(
            f"push: at={at!r} goes with rows=, range= or delta=; {name}= takes values in the order "
            f"of their arrival, and a time it needs is a part of the value"
        )


__all__ = ["Window", "window"]
