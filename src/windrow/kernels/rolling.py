"""`rolling`: aggregates of sliding windows over arrays, at the speed of machine code."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from windrow.aggregations.base import Aggregation, check_aggregation
from windrow.aggregations.ordering import plain
from windrow.algorithms import ALGORITHMS
from windrow.algorithms.sba import Cuts
from windrow.errors import (
    InvalidArgument,
    InvalidValue,
    Unsupported,
    did_you_mean,
    whole_number,
)
from windrow.kernels.arrival import Arrival
from windrow.kernels.columns import as_array, column, nanoseconds_of
from windrow.kernels.decided import Decided
from windrow.kernels.results import ResultArray, merged, spread
from windrow.kernels.routes import warn_user
from windrow.kernels.stream_loop import Batch, Interpreted, Loop, roller
from windrow.kernels.tail import Tail
from windrow.windows.arrays import ordinary
from windrow.windows.base import written
from windrow.windows.durations import nanoseconds
from windrow.windows.kinds import window_of
from windrow.windows.positions import SortedRows
from windrow.windows.sizes import Axis, is_number, measure
from windrow.windows.span import CLOSED

Roller = Tail | Loop | Interpreted
COMPILED = tuple(name for name in ALGORITHMS if name not in ("foa", "ioa"))


class LateWarning(UserWarning):
    """Values came later than `lateness` allows, or before the window, and were dropped."""


class RollingState:
    """What one call of `rolling` leaves to the next, so that a stream can come in batches.

    The results of the batches, one after the other, are those of one call, bit for bit. In a
    window by time, rows of equal time see each other; so the rows of a batch's last time are
    answered with the next batch, or by `finish`.

    >>> import numpy as np
    >>> from windrow import Sum, rolling
    >>> state = RollingState()
    >>> rolling(np.array([1, 2, 3]), Sum(), rows=2, state=state)
    array([1, 3, 5])
    >>> rolling(np.array([4, 5]), Sum(), rows=2, state=state)
    array([7, 9])
    """

    def __init__(self) -> None:
        self._stream: _Stream | None = None
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
    rows: int | None = None,
    range: Any = None,
    until: Any = None,
    on: Any = None,
    at: Any = None,
    closed: str = "both",
    slide: int | None = None,
    lateness: Any = None,
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
    `values` is an array, or a pair of them for an aggregation of pairs (ArgMax with one array
    answers positions). A dict of aggregations gives a dict of arrays. With `slide=s` and `rows`
    there is a result after every s values, as with `sliding`.

    Arrays may be NumPy's, or a Series or an array of pandas, Polars or Arrow, whose nulls are
    nulls. `nulls` marks further ones, ``nan="null"`` every NaN. A window of nulls only has NaN or
    NaT for a result, or is masked where the type has neither. Lists are the rows of the result,
    filled up in the same way.

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
    arrays = list(values) if isinstance(values, tuple) else [values]
    asked = nulls is not None
    sizes = {"rows": rows, "range": range, "until": until, "on": on, "slide": slide}
    stream = _Stream(aggregation, sizes, closed, algorithm, threads, asked, nan, lateness)
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


def _continued(state: RollingState, stream: _Stream) -> _Stream:
    """The stream of `state`, which must have been asked the same things."""
    if state._broken:
        raise InvalidArgument("state: an earlier call failed half-way; start again with a new one")
    if state._stream is None:
        state._stream = stream
    elif state._stream.question != stream.question:
        raise InvalidArgument(
            f"state was made for {state._stream.question}; this call asks {stream.question}"
        )
    return state._stream


class _Stream:
    """A query over a stream of batches: checks what comes in and feeds it to the rollers."""

    def __init__(
        self,
        aggregation: Any,
        sizes: dict[str, Any],
        closed: str,
        algorithm: str,
        threads: Any,
        has_nulls: bool,
        nan: str,
        lateness: Any = None,
    ) -> None:
        self.parts = _parts(aggregation)
        self.many = (
            isinstance(aggregation, Mapping) or getattr(aggregation, "parts", None) is not None
        )
        _check_choices(closed, algorithm, nan)
        rows = sizes["rows"]
        self.rows = None if rows is None else whole_number("rows", rows, least=1)
        self.range, self.closed = plain(sizes["range"]), closed
        self.algorithm, self.nan = algorithm, nan
        slide = sizes["slide"]
        if slide is not None and rows is None:
            raise InvalidArgument(f"rolling: slide={slide!r} goes with rows= only")
        self.slide = None if slide is None else whole_number("slide", slide, least=1)
        sizes = {**sizes, "rows": self.rows, "range": self.range, "slide": self.slide}
        self.window = window_of("rolling", closed=closed, **sizes)
        self.lateness = plain(lateness)
        decides = self.rows is None and self.range is None
        self.decided = self._decided() if decides else None
        self.arrival = None if lateness is None else self._arrival()
        self.late = 0  # values that came too late
        self.threads = whole_number("threads", threads, least=1)
        self.has_nulls = has_nulls
        self.rollers: list[Roller] | None = None
        self.position = 0  # rows that came
        self.answered = 0  # rows that were answered
        self.axis: Axis | None = None
        self.times: NDArray[Any] = np.empty(0, np.int64)  # from position `oldest` on
        self.oldest = 0
        self.touched = False
        self.nothing: tuple[list[Any], Any] = ([], None)  # a batch without rows, of the same types

    def _decided(self) -> Decided:
        """What finds the windows that a function decides about; raise unless it can."""
        ((name, function),) = self.window.arguments().items()
        if not callable(function):
            raise InvalidArgument(f"{name}={function!r} must be a function of a value")
        if self.algorithm != "auto" or self.lateness is not None:
            beside = "lateness=" if self.algorithm == "auto" else "algorithm="
            raise InvalidArgument(f"{beside} goes with rows= and range=, not with {name}=")
        return Decided(self.window, self.parts)

    def _arrival(self) -> Arrival:
        """What finds the windows of late values; raise unless they can be."""
        if self.rows is not None or self.closed not in ("both", "right"):
            raise InvalidArgument(
                f"lateness={self.lateness!r} goes with range= and closed='both' or 'right'"
            )
        if self.algorithm not in ("auto", "fiba"):
            raise InvalidArgument(
                f"algorithm={self.algorithm!r} does not go with lateness=; take fiba or auto"
            )
        window: Any = self.window
        window.check_like("lateness", self.lateness)
        return Arrival(window.measure(), measure("lateness", self.lateness), self.closed == "both")

    @property
    def question(self) -> str:
        """What is asked, in words that are the same for the same thing."""
        window = ", ".join(written(self.window.arguments()))
        if self.decided is None and self.rows is None:
            window = f"range={self.range!r}, closed={self.closed!r}"
        if self.lateness is not None:
            window += f", lateness={self.lateness!r}"
        return (
            f"{self.parts}, {window}, algorithm={self.algorithm!r}, nan={self.nan!r}, "
            f"nulls={self.has_nulls}"
        )

    def feed(self, arrays: list[Any], at: Any, *, nulls: Any = None, last: bool) -> Any:
        """Take a batch and return the results that are ready."""
        names = [f"values[{i}]" for i in range(len(arrays))]
        arrays = [as_array(a, nulls, name, not last) for a, name in zip(arrays, names, strict=True)]
        if len(arrays) > 1 and any(part.takes == "timed" for part in self.parts.values()):
            arrays[1] = as_array(nanoseconds_of(arrays[1], names[1]), _mask_of(arrays[1]))
        columns = [column(a, None, self.nan, name) for a, name in zip(arrays, names, strict=True)]
        at = None if at is None else as_array(at, name="at")
        lengths = {a.size for a in arrays}
        if len(lengths) > 1:
            raise InvalidArgument(f"the arrays of values differ in length: {sorted(lengths)}")
        n = lengths.pop()
        instant = self._instants(at, n)
        self.nothing = ([a[:0] for a in arrays], None if at is None else at[:0])
        if self.rollers is None:
            self.rollers = [self._roller(part, columns, arrays) for part in self.parts.values()]
        batch = Batch(columns, self.position, arrays, last)
        self.position += n
        self.touched = True
        if self.arrival is not None:
            batch.late, batch.row, batch.stop = True, self.answered, self.position
            batch.lo, batch.hi, late = self.arrival.bounds(instant)
            self.late += late
            self.answered = self.position
        elif self.decided is not None:
            return self._by_decision(self.decided, batch)
        elif self.rows is None:
            batch.at = instant
            batch = self._by_time(batch, instant, last)
        elif self.slide is not None:
            batch = self._by_slide(batch)
        else:
            batch.row, batch.stop = self.answered, self.position
            self.answered = self.position
        answers = self._answers(batch)
        self.touched = False
        return answers

    def _roller(self, part: Aggregation, columns: list[Any], arrays: list[Any]) -> Roller:
        """The driver of tables behind a carried tail, or the named algorithm's own loop."""
        nulls = self.has_nulls or self.nan == "null"
        rows = self.rows if self.slide is None else None  # with a slide, windows have bounds
        if self.arrival is not None:
            return roller(part, columns, arrays, None, "fiba", nulls, Cuts(), late=True)
        if self.algorithm == "auto":
            return Tail(part, columns, rows, self.threads, nulls)
        return roller(part, columns, arrays, rows, self.algorithm, nulls, self._cuts())

    def _cuts(self) -> Cuts:
        """Where the boundary aggregators cut the window into chunks."""
        if self.rows is not None:
            return Cuts.by_rows(self.rows, self.slide or 1)
        assert self.axis is not None
        size = self.window.reach(self.axis)
        return Cuts.by_time(math.inf if size is None else size)

    def _by_decision(self, decided: Decided, batch: Batch) -> Any:
        """The results of the values that came, null where there is none."""
        arrays = [np.asarray(array) for array in batch.arrays]
        batch.lo, batch.hi, places = decided.bounds(batch.columns, arrays, batch.last)
        batch.row, batch.stop = self.answered, self.position
        n, places = self.position - self.answered, places - self.answered
        self.answered = self.position
        answers = self._answers(batch, lambda made: spread(made, places, n))
        self.touched = False
        return answers

    def _instants(self, at: Any, n: int) -> Any:
        if self.range is None:
            if at is not None:
                raise InvalidArgument("at= goes with range=; other windows need no times")
            return None
        if at is None:
            raise InvalidArgument("range= needs at=, the time of each value")
        instant = _instants(at)
        if instant.size != n:
            raise InvalidArgument(f"at has {instant.size} times for {n} values")
        if self.arrival is None:
            _check_order(instant, self.times[-1] if self.times.size else None)
        is_time = at.dtype.kind in "mM"
        if not is_time and not is_number(self.range):
            raise InvalidArgument(
                f"range={self.range!r}: `at` holds numbers, so range must be a number of the same "
                f"unit"
            )
        if is_time and is_number(self.range):
            nanoseconds(self.range, "range")
        axis = Axis(1 if is_time else None, instant.dtype == np.float64)
        if self.axis not in (None, axis):
            raise InvalidArgument("state: the times of this batch are of another type than before")
        self.axis = axis
        return instant

    def _by_slide(self, batch: Batch) -> Batch:
        """Find the windows of the slides that are complete now."""
        assert self.rows is not None and self.slide is not None
        slides = np.arange(self.answered, self.position // self.slide)
        batch.hi = (slides + 1) * self.slide
        batch.lo = np.maximum(batch.hi - self.rows, 0)
        batch.row, batch.stop = self.answered, self.answered + slides.size
        self.answered = batch.stop
        return batch

    def _by_time(self, batch: Batch, instant: NDArray[Any], last: bool) -> Batch:
        """Find the windows of the rows that can be answered now."""
        times = np.concatenate([self.times, instant]) if self.times.size else instant
        ends = np.array([0, times.size])
        rows = SortedRows(
            ends,
            ends,
            times,
            self.axis,
            fresh=slice(self.answered - self.oldest, times.size),
            now=None if last or not times.size else times[-1],
        )
        bounds = self.window.bounds(rows)
        lo, hi = bounds.windows.bounds()
        batch.row, batch.stop = self.answered, self.answered + lo.size
        batch.lo, batch.hi = (lo + self.oldest, hi + self.oldest) if self.oldest else (lo, hi)
        self.answered += lo.size
        if last:
            return batch
        keep = min(int(self.window.keeps(rows, bounds)[0]), self.answered - self.oldest)
        self.times, self.oldest = times[keep:].copy(), self.oldest + keep
        return batch

    def _answers(
        self, batch: Batch, placed: Callable[[ResultArray], ResultArray] = lambda made: made
    ) -> Any:
        assert self.rollers is not None
        answers = [merged(placed(each.roll(batch))) for each in self.rollers]
        return dict(zip(self.parts, answers, strict=True)) if self.many else answers[0]


def _mask_of(array: Any) -> Any:
    return np.ma.getmaskarray(array) if isinstance(array, np.ma.MaskedArray) else None


def _instants(at: NDArray[Any]) -> NDArray[Any]:
    """Times or numbers as int64 (nanoseconds for times) or float64."""
    if isinstance(at, np.ma.MaskedArray):
        if at.mask.any():
            raise InvalidValue(f"at[{int(at.mask.argmax())}] is null, which has no place in time")
        at = at.data
    if at.dtype.kind in "mM":
        if np.isnat(at).any():
            raise InvalidValue(f"at[{int(np.isnat(at).argmax())}] is not a time (NaT)")
        at = at.astype(f"{at.dtype.kind}8[ns]").view(np.int64)
    elif at.dtype.kind in "iub":
        at = at.astype(np.int64)
    elif at.dtype.kind == "f":
        at = at.astype(np.float64)
        if np.isnan(at).any():
            raise InvalidValue(
                f"at[{int(np.isnan(at).argmax())}] is NaN, which has no place in time"
            )
    else:
        raise InvalidValue(f"at must be times or numbers, not {at.dtype}")
    return ordinary(at)


def _check_order(at: NDArray[Any], previous: Any = None) -> None:
    """Refuse times that go back; equal ones are fine, whatever their order."""
    if previous is not None and at.size and at[0] < previous:
        raise InvalidValue(
            "at[0] is before the last time of the batch before; sort the stream first"
        )
    back = np.flatnonzero(at[1:] < at[:-1])
    if back.size:
        i = int(back[0]) + 1
        raise InvalidValue(
            f"at[{i}] is before at[{i - 1}]: windows by time need times in order; "
            f"sort both arrays by np.argsort(at, kind='stable') first"
        )


def _parts(aggregation: Any) -> dict[str, Aggregation]:
    if isinstance(aggregation, Aggregation) and aggregation.parts is not None:
        return dict(aggregation.parts)
    parts = dict(aggregation) if isinstance(aggregation, Mapping) else {"": aggregation}
    for part in parts.values():
        check_aggregation(part, "rolling")
    if not parts:
        raise InvalidArgument("rolling: an empty dict of aggregations asks nothing")
    return parts


def _check_choices(closed: str, algorithm: str, nan: str) -> None:
    for name, given, known in (
        ("closed", closed, CLOSED),
        ("algorithm", algorithm, ("auto", *ALGORITHMS)),
        ("nan", nan, ("value", "null")),
    ):
        if given not in known:
            raise InvalidArgument(f"{name}={given!r} is unknown; {did_you_mean(str(given), known)}")
    if algorithm in ("foa", "ioa"):
        raise Unsupported(
            f"{algorithm} is a list of linked cells, which only the interpreter has: use "
            f"aggregator(…, algorithm={algorithm!r}), or daba here"
        )


__all__ = ["COMPILED", "LateWarning", "RollingState", "rolling"]
