"""`rolling`: aggregates of sliding windows over arrays, at the speed of machine code."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from windrow.aggregations.base import Aggregation
from windrow.algorithms import ALGORITHMS
from windrow.errors import InvalidArgument, Unsupported
from windrow.kernels.rolled_stream import RolledStream, over_last_rows
from windrow.kernels.routes import warn_user

COMPILED = tuple(name for name in ALGORITHMS if name not in ("foa", "ioa"))


class LateWarning(UserWarning):
    """Values came later than `lateness` allows, or before the window, and were dropped."""


class RollingState:
    """What one call of `rolling` leaves to the next, so that a stream can come in batches.

    The results of the batches, one after the other, are those of one call, bit for bit; those of
    KLL and TDigest are as near as their errors are. In a window by time, rows of equal time see
    each other; so the rows of a batch's last time are answered with the next batch, or by `finish`.

    >>> import numpy as np
    >>> from windrow import Sum, rolling
    >>> state = RollingState()
    >>> rolling(np.array([1, 2, 3]), Sum(), rows=2, state=state)
    array([1, 3, 5])
    >>> rolling(np.array([4, 5]), Sum(), rows=2, state=state)
    array([7, 9])
    """

    def __init__(self) -> None:
        self._stream: RolledStream | None = None
        self._broken = False

    @property
    def late(self) -> int:
        """How many values came too late and were dropped."""
        return 0 if self._stream is None else self._stream.late

    def finish(self) -> Any:
        """The results that waited for more rows of the same time; then the stream is over."""
        if self._stream is None:
            raise InvalidArgument("finish: nothing has been rolled with this state yet")
        answers = self._stream.feed(*self._stream.nothing, last=True)
        self._stream = None
        return answers


def rolling(
    values: Any,
    aggregation: Aggregation | Mapping[str, Aggregation],
    *,
    rows: int | str | tuple[Any, Any] | None = None,
    range: Any = None,
    until: Any = None,
    on: Any = None,
    gap: Any = None,
    at: Any = None,
    closed: str = "both",
    slide: int | None = None,
    min_rows: int | None = None,
    lateness: Any = None,
    timezone: str | None = None,
    algorithm: str = "auto",
    threads: int = 1,
    nulls: Any = None,
    nan: str = "value",
    state: RollingState | None = None,
) -> Any:
    """The aggregate of the window that ends at each value, as an array as long as `values`.

    The window is the last `rows` values, the current one included, or those whose time in `at`
    lies within `range` before the current one's (`closed` as in pandas, both ends by default); or
    what the policy `until` leaves of the oldest, see `windrow.windows.until`; or all since the last
    value for which the function `on` was true, and only those values then have a result.
    `rows` and `range` may have two ends relative to the current value, `rows=(-3, 3)` or
    ``range=(0, "1 hour")``, and "unbounded" for one of them; the first or the last value is then
    the end. Months, as in ``range="1 month"``, are those of the calendar: 31 March less a month is
    the last day of February. With a `timezone` days and weeks are, too, for times that have a zone;
    those of a NumPy array have none, and are what a clock on the wall shows.
    `values` is an array, or a pair of them for an aggregation of pairs (ArgMax with one array
    answers positions). A dict of aggregations gives a dict of arrays. With `slide=s` and `rows`
    there is a result after every s values, as with `sliding`.

    Arrays may be NumPy's, or a Series or an array of pandas, Polars or Arrow, whose nulls are
    nulls. `nulls` marks further ones, ``nan="null"`` every NaN. A window of nulls only has NaN or
    NaT for a result, or is masked where the type has neither. Lists are the rows of the result,
    filled up in the same way.

    `min_rows=k` gives null until a window has k values that are not null, as pandas' `min_periods`.

    With `lateness` the values are in the order of their arrival, and their times may go back. Each
    result is that of the window as it then was, which ends at the newest time so far: what
    `windrow.window` answers when they are pushed. A value later than that, or before the window, is
    dropped; `state.late` counts them, and without a state they are warned of.

    `algorithm="auto"` takes what is fastest; a name runs that algorithm's own loop. `threads` cuts
    a long array into pieces. `state` goes on where the call before stopped.

    >>> import numpy as np
    >>> from windrow import Max, Mean, Sum, rolling
    >>> rolling(np.array([3, 1, 2, 5, 4]), Max(), rows=3)
    array([3, 3, 3, 5, 5])
    >>> rolling(np.array([3, 1, 2, 5, 4]), Max(), rows=3, slide=2)
    array([3, 5])
    >>> at = np.array(["2026-01-01T10:00", "2026-01-01T10:40", "2026-01-01T11:30"], "M8[s]")
    >>> rolling(np.array([1.0, 2.0, 6.0]), Mean(), range="1 hour", at=at)
    array([1. , 1.5, 4. ])
    >>> rolling(np.array([5, 1, 2]), Max(), range=3, at=np.array([0, 4, 2]), lateness=2)
    array([5, 1, 2])
    >>> rolling(np.array([2, 2, 3, 3, 4]), {"s": Sum()}, until=lambda window: window.s > 10)["s"]
    array([ 2,  4,  7, 10, 10])
    """
    if gap is not None:
        raise Unsupported(
            f"rolling: gap={gap!r}: a session has one result for many values; ask "
            f"sliding(gap=…) of a table, or push values through window(…, gap=…)"
        )
    if (
        range is until is on is at is slide is min_rows is lateness is timezone is nulls is None
        and state is None
        and closed == "both"
        and algorithm == "auto"
        and nan == "value"
        and type(values) is np.ndarray
        and type(rows) is int
        and isinstance(aggregation, Aggregation)
        and aggregation.parts is None
    ):
        return over_last_rows(values, aggregation, rows, threads)
    arrays = list(values) if isinstance(values, tuple) else [values]
    asked = nulls is not None
    sizes = {"rows": rows, "range": range, "until": until, "on": on, "slide": slide}
    sizes["timezone"] = timezone
    stream = RolledStream(
        aggregation, sizes, closed, algorithm, threads, asked, nan, lateness, min_rows
    )
    if state is not None:
        stream = _continued(state, stream)
    try:
        results = stream.feed(arrays, at, nulls=nulls, last=state is None)
        if state is None and stream.late:
            warn_user(
                f"rolling: {stream.late} of {stream.position} values came too late and were "
                f"dropped; state= counts them (state.late)",
                LateWarning,
            )
        return results
    except BaseException:
        if state is not None:
            state._broken = stream.touched
        raise


def _continued(state: RollingState, stream: RolledStream) -> RolledStream:
    """The stream of `state`, which must have been asked the same things."""
    if not isinstance(state, RollingState):
        raise InvalidArgument(f"state={state!r} must be a RollingState()")
    if state._broken:
        raise InvalidArgument("state: an earlier call failed half-way; start again with a new one")
    if state._stream is None:
        state._stream = stream
    elif state._stream.question != stream.question:
        raise InvalidArgument(
            f"state was made for {state._stream.question}; this call asks {stream.question}"
        )
    return state._stream


__all__ = ["COMPILED", "LateWarning", "RollingState", "rolling"]
