"""A question of `rolling` over a stream of batches: what comes is checked, and goes to rollers.

Each aggregation has a roller: the driver of tables behind a carried tail, or the loop of a named
algorithm.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from windrow.aggregations.base import Aggregation, check_aggregation
from windrow.aggregations.count import Count
from windrow.aggregations.ordering import plain
from windrow.algorithms import ALGORITHMS
from windrow.algorithms.sba import Cuts
from windrow.errors import InvalidArgument, InvalidValue, Unsupported, choice, whole_number
from windrow.kernels.aggregate import null_marks
from windrow.kernels.arrival import Arrival
from windrow.kernels.columns import Column, as_array, column, nanoseconds_of
from windrow.kernels.decided import Decided
from windrow.kernels.results import ResultArray, merged, merged_with_ends, spread, with_nulls
from windrow.kernels.stream_loop import Batch, Interpreted, Loop, measured_arrays, roller
from windrow.kernels.tail import Tail
from windrow.windows.arrays import ordinary
from windrow.windows.base import written
from windrow.windows.durations import nanoseconds
from windrow.windows.kinds import window_of
from windrow.windows.lengths import shorter_than
from windrow.windows.sizes import CLOSED, UNBOUNDED, Axis, is_number, measure
from windrow.windows.sorted_rows import SortedRows

Roller = Tail | Loop | Interpreted

_NO_TIMES: NDArray[Any] = np.empty(0, np.int64)
_CHOICES = {"closed": CLOSED, "algorithm": ("auto", *ALGORITHMS), "nan": ("value", "null")}


class RolledStream:
    """What is asked, and how far it has come: a roller for each aggregation."""

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
        min_rows: Any = None,
    ) -> None:
        self.parts = _parts(aggregation)
        self.many = (
            isinstance(aggregation, Mapping) or getattr(aggregation, "parts", None) is not None
        )
        _check_choices(closed=closed, algorithm=algorithm, nan=nan)
        rows, size, slide = sizes["rows"], sizes["range"], sizes["slide"]
        framed = isinstance(rows, tuple) or (isinstance(rows, str) and rows == UNBOUNDED)
        self.range = tuple(map(plain, size)) if isinstance(size, tuple) else plain(size)
        self.closed, self.algorithm, self.nan = closed, algorithm, nan
        if slide is not None and rows is None:
            raise InvalidArgument(f"rolling: slide={slide!r} goes with rows= only")
        self.slide = None if slide is None else whole_number("slide", slide, least=1)
        rows = rows if framed or rows is None else whole_number("rows", rows, least=1)
        sizes = {**sizes, "rows": rows, "range": self.range, "slide": self.slide}
        self.window = window_of("rolling", closed=closed, **sizes)
        self.timed = size is not None
        # how many rows a window has, where it is the last so many of every row
        self.rows = self.window.reach_rows if self.window.by_rows and self.window.ends_now else None
        # (rows, ahead) where it is the last rows of a row that is so many ahead
        self.shift = self.window.shift if algorithm == "auto" else None
        self.lateness = plain(lateness)
        decides = rows is None and not self.timed
        self.decided = self._decided() if decides else None
        self.arrival = None if lateness is None else self._arrival()
        self.least = None if min_rows is None else whole_number("min_rows", min_rows, least=1)
        self.counters: dict[int, Roller] = {}  # of values that are not null, by how many arrays
        self.late = 0  # values that came too late
        self.threads = whole_number("threads", threads, least=1)
        self.has_nulls = has_nulls
        self.rollers: list[Roller] | None = None
        self.position = 0  # rows that came
        self.answered = 0  # rows that were answered
        self.axis: Axis | None = None
        self.zoned = False  # whether times are instants, not what a clock shows
        self.times = _NO_TIMES  # from position `oldest` on
        self.oldest = 0
        self.begun = 0  # where the last window by the calendar begins
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
        if not (self.timed and self.window.ends_now) or not CLOSED[self.closed][1]:
            raise InvalidArgument(
                f"lateness={self.lateness!r} goes with range=, one size, and closed='both' or "
                f"'right'"
            )
        if self.algorithm not in ("auto", "fiba"):
            raise InvalidArgument(
                f"algorithm={self.algorithm!r} does not go with lateness=; take fiba or auto"
            )
        window: Any = self.window
        if window.go_back:
            raise InvalidArgument(
                f"lateness={self.lateness!r} does not go with range={self.range!r}, which the "
                f"calendar measures; push the values through window(…, lateness=…), or give days"
            )
        window.check_like("lateness", self.lateness)
        return Arrival(window.measure(), measure("lateness", self.lateness), self.closed == "both")

    @property
    def question(self) -> str:
        """What is asked, in words that are the same for the same thing."""
        given = {"closed": self.closed} | self.window.arguments()
        window = ", ".join(written(given if self.timed else self.window.arguments()))
        for name, value in (("min_rows", self.least), ("lateness", self.lateness)):
            window += "" if value is None else f", {name}={value!r}"
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
        if at is not None:
            self.zoned = self.zoned or _has_zone(at)
            at = as_array(at, name="at")
        lengths = {a.size for a in arrays}
        if len(lengths) > 1:
            raise InvalidArgument(f"the arrays of values differ in length: {sorted(lengths)}")
        n = lengths.pop()
        instant = self._instants(at, n)
        if not last:
            self.nothing = ([a[:0] for a in arrays], None if at is None else at[:0])
        if self.rollers is None:
            self.rollers = [self._roller(part, columns, arrays) for part in self.parts.values()]
        batch = shifted = Batch(columns, self.position, arrays, last)
        self.position += n
        self.touched = True
        if self.arrival is not None:
            batch.late, batch.row, batch.stop = True, self.answered, self.position
            batch.lo, batch.hi, late = self.arrival.bounds(instant)
            self.late += late
            self.answered = self.position
        elif self.decided is not None:
            return self._by_decision(self.decided, batch)
        elif self.slide is not None:
            batch = self._by_slide(batch, self.slide)
        elif self.rows is None:
            batch.at = instant if self.timed else None
            if self.shift is not None:
                shifted = replace(batch, row=batch.base, stop=self.position)
            if not all(map(_ahead, self.rollers)):
                batch = self._by_bounds(batch, instant, last)
        else:
            batch.row, batch.stop = self.answered, self.position
            self.answered = self.position
        answers = self._answers(batch, shifted)
        self.touched = False
        return answers

    def _roller(self, part: Aggregation, columns: list[Any], arrays: list[Any]) -> Roller:
        """The driver of tables behind a carried tail, or the named algorithm's own loop."""
        nulls = self.has_nulls or self.nan == "null"
        if self.arrival is not None:
            return roller(part, columns, arrays, None, "fiba", nulls, Cuts(), late=True)
        if self.algorithm == "auto":
            tail = Tail(part, columns, *self._last_rows, self.threads, nulls)
            if self.shift is None or tail.by_last_rows:
                return tail
            return Tail(part, columns, None, 0, self.threads, nulls)
        return roller(part, columns, arrays, self.rows, self.algorithm, nulls, self._cuts())

    @property
    def _last_rows(self) -> tuple[int | None, int]:
        """How many rows a window is the last ones of, and how far ahead; None: it has bounds."""
        return self.shift or (self.rows, 0)

    def _cuts(self) -> Cuts:
        """Where the boundary aggregators cut the window into chunks."""
        window, slide = self.window, self.slide or 1
        if not self.timed:
            rows, more = window.reach_rows, window.ahead_rows
            return Cuts() if rows is None or more is None else Cuts.by_rows(rows + more, slide)
        assert self.axis is not None
        size, ahead = window.reach(self.axis), window.ahead(self.axis)
        return Cuts.by_time(math.inf if size is None or ahead is None else size + ahead)

    def _by_decision(self, decided: Decided, batch: Batch) -> Any:
        """The results of the values that came, null where there is none."""
        arrays = [np.asarray(array) for array in batch.arrays]
        batch.lo, batch.hi, places = decided.bounds(batch.columns, arrays, batch.last)
        batch.row, batch.stop = self.answered, self.position
        n, places = self.position - self.answered, places - self.answered
        self.answered = self.position
        answers = self._answers(batch, batch, lambda made: spread(made, places, n))
        self.touched = False
        return answers

    def _instants(self, at: Any, n: int) -> Any:
        if not self.timed:
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
        for size in self.range if isinstance(self.range, tuple) else (self.range,):
            if size in (UNBOUNDED, 0):
                continue
            if not is_time and not is_number(size):
                raise InvalidArgument(
                    f"range={self.range!r}: `at` holds numbers, so range must be a number of the "
                    f"same unit"
                )
            if is_time and is_number(size):
                nanoseconds(size, "range")
        if self.window.go_back and at.dtype.kind == "m":
            raise InvalidArgument(
                f"range={self.range!r} is measured by the calendar, and `at` holds durations, "
                f"which have none; give '30 days' or the like"
            )
        axis = Axis(1 if is_time else None, instant.dtype == np.float64, zoned=self.zoned)
        if self.axis not in (None, axis):
            raise InvalidArgument("state: the times of this batch are of another type than before")
        self.axis = axis
        return instant

    def _few(self, batch: Batch) -> dict[int, NDArray[np.bool_]]:
        """Which results have windows of too few values, by how many arrays count."""
        if self.least is None:
            return {}
        wanted = {_measured(part, batch) for part in self.parts.values()}
        nulls = any(c is None or c.nulls is not None for c in batch.columns)
        if batch.late or not batch.last or self.counters or nulls:
            return {k: self._counted(batch, k) < self.least for k in wanted}
        if batch.lo is None or batch.hi is None:
            return {}
        return dict.fromkeys(wanted, shorter_than(batch.lo, batch.hi, self.least))

    def _few_at_ends(self, n: int) -> tuple[int, int]:
        """Before and from which of n results on windows of so many rows are cut off too short."""
        assert self.least is not None
        rows, ahead = self._last_rows
        rows = rows or n
        if min(n, rows) < self.least:
            return n, n
        return max(0, self.least - 1 - ahead), max(0, n + rows - ahead - self.least)

    def _counted(self, batch: Batch, arrays: int) -> NDArray[Any]:
        """How many values of each window are not null in any of the first so many arrays."""
        marks = [null_marks(a, None) for a in batch.arrays[:arrays]]
        marks += [None if c is None else c.nulls for c in batch.columns[:arrays]]
        mask = np.zeros(len(batch.arrays[0]), np.uint8)
        for mark in marks:
            if mark is not None:
                mask |= mark
        rows = Column(np.zeros(mask.size, np.int64), mask, np.dtype(np.int64))
        counted = replace(batch, columns=[rows], arrays=[rows.data])
        if arrays not in self.counters:
            count = Count("values")
            if self.arrival is None:
                tail = Tail(count, [rows], *self._last_rows, self.threads, True)
                self.counters[arrays] = tail
            else:
                self.counters[arrays] = self._roller(count, [rows], [rows.data])
        return self.counters[arrays].roll(counted).values

    def _by_slide(self, batch: Batch, slide: int) -> Batch:
        """Find the windows of the slides that are complete now."""
        slides = np.arange(self.answered, self.position // slide)
        batch.hi = (slides + 1) * slide
        rows = self.window.reach_rows
        batch.lo = np.zeros_like(batch.hi) if rows is None else np.maximum(batch.hi - rows, 0)
        batch.row, batch.stop = self.answered, self.answered + slides.size
        self.answered = batch.stop
        return batch

    def _by_bounds(self, batch: Batch, instant: Any, last: bool) -> Batch:
        """Find the windows of the rows that can be answered now.

        Where rows are counted their instants mean nothing, and only their number counts.
        """
        instant = instant if self.timed else np.empty(len(batch.arrays[0]), np.int64)
        times = np.concatenate([self.times, instant]) if self.times.size else instant
        ends = np.array([0, times.size])
        rows = SortedRows(
            ends,
            ends,
            times if self.timed else None,
            self.axis,
            over=None if last else np.zeros(1, np.bool_),
            fresh=slice(self.answered - self.oldest, times.size),
            now=None if last or not times.size or not self.timed else times[-1],
        )
        bounds = self.window.bounds(rows)
        lo, hi = bounds.windows.bounds()
        batch.row, batch.stop = self.answered, self.answered + lo.size
        batch.lo, batch.hi = (lo + self.oldest, hi + self.oldest) if self.oldest else (lo, hi)
        self.answered += lo.size
        if self.window.go_back:
            self._check_named(batch.lo)
            batch.reached = self.oldest
        if last:
            return batch
        keep = min(int(self.window.keeps(rows, bounds)[0]), self.answered - self.oldest)
        self.times, self.oldest = times[keep:].copy(), self.oldest + keep
        batch.reached = None if batch.reached is None else self.oldest
        return batch

    def _check_named(self, lo: NDArray[np.int64]) -> None:
        """Refuse a named algorithm where a window begins before the one before it."""
        lo = np.append(self.begun, lo)
        self.begun = int(lo[-1])
        if self.algorithm != "auto" and (lo[1:] < lo[:-1]).any():
            raise InvalidArgument(
                f"algorithm={self.algorithm!r} lets values go for good, and a window of "
                f"range={self.range!r} begins before an earlier one here, as 31 March, 8:00, less "
                f"a month is before 28 March, 20:00, less a month; leave algorithm= out"
            )

    def _answers(
        self,
        batch: Batch,
        shifted: Batch,
        placed: Callable[[ResultArray], ResultArray] = lambda made: made,
    ) -> Any:
        assert self.rollers is not None
        counted = batch if self.shift is None else shifted
        few = self._few(counted)
        found = [each.roll(shifted if _ahead(each) else batch) for each in self.rollers]
        if few:
            found = [
                with_nulls(result, few[_measured(part, batch)])
                for part, result in zip(self.parts.values(), found, strict=True)
            ]
        if self.least is not None and not few:
            answers = [merged_with_ends(each, *self._few_at_ends(counted.stop)) for each in found]
        else:
            answers = [merged(placed(result)) for result in found]
        return dict(zip(self.parts, answers, strict=True)) if self.many else answers[0]


def over_last_rows(values: NDArray[Any], aggregation: Aggregation, rows: int, threads: Any) -> Any:
    """Return the results of the last rows of one array, as a stream of one batch has them.

    The commonest question needs little of what a stream keeps: two thirds of the time of a call
    over a small array.
    """
    check_aggregation(aggregation, "rolling")
    columns = [column(values, None, "value", "values[0]")]
    rows, threads = whole_number("rows", rows, least=1), whole_number("threads", threads, least=1)
    tail = Tail(aggregation, columns, rows, 0, threads, nulls=False)
    return merged(tail.roll(Batch(columns, 0, [values], last=True, stop=values.size)))


def _has_zone(at: Any) -> bool:
    """Whether the times of an array of pandas, Polars or Arrow have a zone; NumPy's have none."""
    of = getattr(at, "type", None) if hasattr(at, "type") else getattr(at, "dtype", None)
    return any(getattr(of, name, None) is not None for name in ("tz", "time_zone"))


def _mask_of(array: Any) -> Any:
    return np.ma.getmaskarray(array) if isinstance(array, np.ma.MaskedArray) else None


def _ahead(roller: Roller) -> int:
    """How many rows behind the current one are in a window, where a roller knows of them."""
    return roller.ahead if isinstance(roller, Tail) else 0


def _measured(part: Aggregation, batch: Batch) -> int:
    """How many of the arrays have values that count; none where a null is one as well."""
    return 0 if part.counts_nulls else measured_arrays(part, len(batch.arrays))


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


def _check_choices(*, algorithm: str, **others: str) -> None:
    """Refuse a word that is no choice of its argument."""
    for name, word in {"algorithm": algorithm, **others}.items():
        choice(name, word, _CHOICES[name])
    if algorithm in ("foa", "ioa"):
        raise Unsupported(
            f"{algorithm} is a list of linked cells, which only the interpreter has: use "
            f"aggregator(…, algorithm={algorithm!r}), or daba here"
        )
