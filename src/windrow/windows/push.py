"""`window`: values go in one at a time, and each push returns the aggregate of the window.

What a window holds is one of the kinds of `windrow.windows.kinds`. A push checks everything first
(the time, the value, the user's functions) and changes the window last: what is refused leaves it
as it was, and so does a `combine` that raises on the way: the push can be repeated.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any, overload

from windrow.aggregations.base import Aggregation, check_aggregation
from windrow.aggregations.least import AtLeast, AtLeastSeen, at_least, one_of
from windrow.aggregations.ordering import plain
from windrow.aggregations.together import Together
from windrow.algorithms import ALGORITHMS, aggregator, algorithm_class, choose
from windrow.algorithms.base import Aggregator
from windrow.errors import InvalidArgument, whole_number
from windrow.stores.base import Store
from windrow.windows import base
from windrow.windows.adwin import Adwin, AdwinWindow
from windrow.windows.kinds import window_of
from windrow.windows.on import On
from windrow.windows.partitions import Partitions
from windrow.windows.pushed import Window, emptied, options_of
from windrow.windows.pushed_calendar import WithinCalendar
from windrow.windows.pushed_rows import LastRows, WithinSpan
from windrow.windows.pushed_session import OpenSession
from windrow.windows.rows import Rows
from windrow.windows.session import Session
from windrow.windows.span import Span
from windrow.windows.until import PolicyWindow, Until, takes_window


@overload
def window(
    aggregation: Aggregation | Mapping[str, Aggregation],
    *,
    partition_by: None = None,
    **arguments: Any,
) -> Window: ...


@overload
def window(
    aggregation: Aggregation | Mapping[str, Aggregation],
    *,
    partition_by: bool | str | Sequence[str],
    **arguments: Any,
) -> Partitions: ...


def window(
    aggregation: Aggregation | Mapping[str, Aggregation],
    *,
    partition_by: bool | str | Sequence[str] | None = None,
    rows: int | None = None,
    range: Any = None,
    delta: Any = None,
    until: Callable[[Any, Any], bool] | None = None,
    on: Callable[[Any], bool] | None = None,
    gap: Any = None,
    closed: str = "both",
    slide: int | None = None,
    min_rows: int | None = None,
    lateness: Any = None,
    timezone: str | None = None,
    algorithm: str = "auto",
    store: Store | None = None,
    **options: Any,
) -> Window | Partitions:
    """Return a window to push values through.

    Give one of `rows`, `range`, `delta`, `until`, `on` and `gap`:

    - `rows=w`: the last w values. With `slide=s` every s-th push answers, and the others None.
    - `range=r`: those whose time `at` lies in [t − r, t], t being the newest time; `closed` as in
      pandas. `at` is a time and r a duration, or both are numbers. Months, as in "1 month", are
      those of the calendar, in UTC or the `timezone`; with one, days and weeks are, too.
    - `delta=d`: the same for numbers `at`.
    - `until=policy`: what ``policy(total, old)`` leaves, see `windrow.windows.until`.
    - `on=predicate`: all since the last value that satisfied it. A push answers None until one
      does, and that one's result is the last of its window.
    - `gap=g`: the session so far, the values that follow each other within g; one that comes later
      begins the next.

    `min_rows=k` answers None until the window has k values that are not null.

    A value is late if its `at` is before the newest; an equal one is not. `lateness=` says how late
    it may be: within that it goes to its place in time, and beyond it is dropped. Without it a late
    value is an error, except with ``algorithm="fiba"`` or "flatfat", which take them all. A late
    value moves no window: where the current one does not reach back to it, it is dropped, too.
    Every value that is dropped is counted in `late`.

    With `store=` the window lies there, its times included, under the name `window=` ("main"). It
    is opened again by it, and goes on where it was: see `close` and `flush`. `options` are those of
    `aggregator` with a store.

    With ``partition_by=True`` there is a window for each key, ``push(value, key=…)``; with the name
    of a column, or a list of them, the key is what a row has there. See `Partitions`.

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
    if options and store is None:
        raise InvalidArgument(
            f"window: {next(iter(options))}= is not known, or goes with store=, and there is none"
        )
    sizes = {"rows": rows, "range": plain(range), "delta": plain(delta), "until": until, "on": on}
    sizes |= {"gap": plain(gap), "closed": closed, "timezone": timezone, "slide": slide}
    if partition_by is not None:
        rest = {"min_rows": min_rows, "lateness": lateness, "algorithm": algorithm}
        make = functools.partial(window, aggregation, **sizes, **rest)
        return Partitions(partition_by, make, store, **options)
    if rows is not None and not isinstance(rows, tuple):
        sizes["rows"] = whole_number("rows", rows, least=1)
    extent = window_of("window", **sizes)
    _check_extent(extent, slide, lateness, stored=store is not None)
    if isinstance(aggregation, Mapping):
        aggregation = Together(**aggregation)
    check_aggregation(aggregation, "window")
    least = None if min_rows is None else whole_number("min_rows", min_rows, least=1)
    by_policy = isinstance(extent, Until)
    aggregation = at_least(aggregation, least, AtLeastSeen if by_policy else AtLeast)
    late, stored = lateness is not None, store is not None
    if stored:
        options["store"] = store
    if algorithm == "auto":
        name, why = _choose(extent, aggregation, late, stored)
    else:
        _check_algorithm(algorithm, extent, late, stored)
        name, why = algorithm, ""
    swag = aggregator(aggregation, name, **options, **options_of(name, extent))
    swag.why = why or swag.why
    pushed = _pushed(extent, swag, plain(lateness), has_least=least is not None)
    try:
        pushed.resume()
    except BaseException:
        pushed.close()
        raise
    return pushed


def _pushed(extent: base.Window, swag: Aggregator, lateness: Any, has_least: bool) -> Window:
    """Return the window of such an extent that values are pushed through."""
    if isinstance(extent, Until):
        return _UntilPolicy(extent, swag, has_least)
    if isinstance(extent, On):
        return _Punctuated(extent, swag)
    if isinstance(extent, Session):
        return OpenSession(extent, swag, lateness)
    if isinstance(extent, Span):
        return (WithinCalendar if extent.go_back else WithinSpan)(extent, swag, lateness)
    return LastRows(extent, swag, lateness)


def _check_extent(extent: base.Window, slide: Any, lateness: Any, stored: bool) -> None:
    """Raise unless values can be pushed through a window of such an extent."""
    if not extent.ends_now:
        (size,) = base.written(extent.arguments())[:1]
        raise InvalidArgument(
            f"window: {size} does not end with the newest value, whose result a push returns; take "
            f"rolling(…, {size}, state=RollingState()), whose results wait, or a query"
        )
    if slide is not None and not isinstance(extent, Rows):
        raise InvalidArgument(f"window: slide={slide!r} goes with rows= only")
    if isinstance(extent, Until | On) and lateness is not None:
        (name,) = extent.arguments()
        raise InvalidArgument(f"lateness={lateness!r} goes with times, and {name}= has none")
    if lateness is not None and stored:
        raise InvalidArgument(
            f"lateness={lateness!r} does not go with store=: it needs fiba or flatfat, which keep "
            f"their window in this process"
        )
    if isinstance(extent, Until) and stored and isinstance(extent.until, Adwin):
        raise InvalidArgument(
            f"until={extent.until!r} does not go with store=: its histogram lies in this "
            f"process; give a function of the aggregates"
        )
    if isinstance(extent, On) and not callable(extent.on):
        raise InvalidArgument(f"on={extent.on!r} must be a function of a value, true where it ends")


def _choose(
    extent: base.Window, aggregation: Aggregation, late: bool, stored: bool
) -> tuple[str, str]:
    """Return the algorithm that `auto` takes for such a window, and why."""
    if isinstance(extent, Until):
        return "amta", "what a policy sends away is found by a search down its trees"
    if late or stored:
        return choose(aggregation, out_of_order=late, stored=stored)
    if extent.go_back:
        return "amta", "months and local days differ in length, and it tells the newest alone"
    if isinstance(extent, On | Session) and aggregation.bounded:
        over = "window closes" if isinstance(extent, On) else "session is over"
        return "two_stacks", f"nothing leaves before the {over}: 1 ⊕ a value"
    return choose(aggregation)


def _check_algorithm(algorithm: str, extent: base.Window, late: bool, stored: bool) -> None:
    """Raise unless an algorithm has what the arguments of a window need."""
    needs = [("prefix_search", "until=", "")] if isinstance(extent, Until) else []
    if late:
        needs.append(("out_of_order", "lateness=", ""))
    if extent.go_back:
        size = f"range={extent.arguments()['range']!r}"
        needs.append(("keeps_times", size, ", as months and local days are not alike"))
    for ability, argument, why in needs:
        if not getattr(algorithm_class(algorithm, stored), ability):
            able = [name for name in ALGORITHMS if getattr(algorithm_class(name), ability)]
            raise InvalidArgument(
                f"algorithm={algorithm!r} does not go with {argument}{why}; take "
                f"{', '.join(able)} or auto"
            )


class _UntilPolicy(Window):
    """The values that a policy over aggregates leaves: it sends the oldest away.

    With `min_rows=`, the policy sees results that no push returns yet.
    """

    extent: Until

    def __init__(self, extent: base.Window, swag: Aggregator, has_least: bool) -> None:
        super().__init__(extent, swag)
        self._has_least, policy = has_least, self.extent.until
        self._policy: AdwinWindow | PolicyWindow
        if isinstance(policy, Adwin):
            self._policy = AdwinWindow(policy)
        else:
            self._policy = PolicyWindow(_OfSeen(policy) if has_least else policy)

    def push(self, value: Any, at: Any = None) -> Any:
        """Insert `value`, evict what the policy sends away, and return the result.

        O(log n) ⊕; with amta O(1) on average.
        """
        _refuse_time(at, "until")
        gone = self._policy.leaving(self._swag, value)
        result = self._swag.atomically(self._slide, value, gone)
        self._policy.accept()
        return result

    def query(self, at: Any = None) -> Any:
        """Return the aggregate of the window, None if it has too few values."""
        result = super().query(at)
        return one_of(result, "returned") if self._has_least else result

    def _slide(self, value: Any, gone: int) -> Any:
        """Insert `value`, evict the `gone` oldest, and return the result."""
        self._swag.insert(value)
        self._swag.evict(gone)
        return self.query()


class _OfSeen:
    """A policy that is called with the results to be `seen`, of `BothResults`."""

    def __init__(self, policy: Any) -> None:
        self._policy, self.of_window = policy, takes_window(policy)

    def __call__(self, *results: Any) -> object:
        return self._policy(*(one_of(result, "seen") for result in results))


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
        if self._stored is None:
            self._swag = emptied(self._swag, self.extent)
        else:
            self._stored.evict(len(self._stored))
        return result


def _refuse_time(at: Any, name: str) -> None:
    if at is not None:
        raise InvalidArgument(
            f"push: at={at!r} goes with rows=, range= or delta=; {name}= takes values in the order "
            f"of their arrival, and a time it needs is a part of the value"
        )


__all__ = ["Partitions", "Window", "window"]
