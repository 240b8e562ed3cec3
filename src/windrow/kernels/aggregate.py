"""Aggregates of windows over many segments at once: the rows of all keys, one key after another.

Rows are sorted by key and, within a key, by their order. A segment is the rows of one key, and no
window reaches over its ends; so the windows of all segments, one segment after another, begin and
end at positions that never fall, and one pass answers them all, without a call for each key.

    key          a a a a b c c c c c c d d
    starts       0       4 5           11      13
    windows      ╞═╡ ╞═══╡ ╞═════╡     ╞═╡
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from windrow.aggregations.algebra import RowAlgebra
from windrow.aggregations.base import Aggregation, check_aggregation, is_null
from windrow.aggregations.count import Count
from windrow.errors import InvalidArgument, whole_number
from windrow.kernels.bulk import bulk_results
from windrow.kernels.columns import Column, any_null, column, nanoseconds_of
from windrow.kernels.current_row import question_about
from windrow.kernels.interpreted import objects, over_windows, packed, without_columns
from windrow.kernels.named import Common, Question, check_sums, counts
from windrow.kernels.results import ResultArray, finished, in_place
from windrow.kernels.routes import BULK, FLATFIT, Route, route_over, trace
from windrow.kernels.window_loop import run_loop
from windrow.windows.arrays import Positions, moved
from windrow.windows.exclude import Around
from windrow.windows.positions import FEW, Windows, rows_apart

Nulls = Sequence[NDArray[np.bool_] | None] | None

_FINER = ("ns", "ps", "fs", "as")  # than the times of Python


def aggregate(
    aggregation: Aggregation,
    columns: Sequence[NDArray[Any]],
    windows: Windows | Sequence[Windows],
    *,
    nulls: Nulls = None,
    threads: int = 1,
    way: Route | None = None,
    common: Common | None = None,
) -> ResultArray:
    """Return the aggregate of each window, with nulls apart; O(1) a row for what compiles.

    Windows of which something is left out come as their parts, if the route `takes_parts`.
    `nulls` marks the values of each column that are null, besides NaT and None; a NaN is a value.
    An aggregation of pairs takes the measures alone and answers positions. The bits of the results
    depend neither on `threads` nor on how a segment is cut, if `windows` begin with a flip. `way`
    is the route that a plan has chosen; without one it is chosen here. Calls over the same column
    and windows find what they have in `common` once.

    >>> from windrow import ArgMax, Max
    >>> loads, windows = np.array([3, 1, 2, 5, 4]), Windows(np.array([0, 3, 5]), rows=2)
    >>> aggregate(Max(), [loads], windows).values
    array([3, 3, 2, 5, 5])
    >>> aggregate(ArgMax(), [loads], windows).values
    array([0, 0, 2, 3, 3])
    >>> around = [Windows(np.array([0, 5]), rows=1, ahead=by) for by in (-1, 1)]
    >>> aggregate(Max(), [loads], around).values
    array([1, 3, 5, 4, 5])
    """
    if isinstance(windows, Windows) and windows.go_back:
        options: dict[str, Any] = {"nulls": nulls, "threads": threads, "way": way}
        return _in_layers(aggregation, columns, windows, common, options)
    if way is None:  # no plan has seen the aggregation yet
        check_aggregation(aggregation, "aggregate")
        threads = whole_number("threads", threads, least=1)
    if isinstance(windows, Windows):
        whole = windows
    else:  # parts around the current rows are not told before they are asked for
        whole = windows.windows if isinstance(windows, Around) else windows[0]
    inputs = Inputs(aggregation, columns, nulls, whole.n)
    if way is None:
        way = route_over(aggregation, inputs.columns)
    if way.name == FLATFIT and windows is whole:
        from windrow.kernels.shared import aggregate_shared

        (results,) = aggregate_shared(aggregation, columns, [whole.bounds()], nulls=nulls)
        return results
    trace(aggregation, way.name)
    if windows is whole and whole.ahead:
        results = _shifted(aggregation, inputs, whole, threads, way, common)
    else:
        results = _results(aggregation, inputs, windows, threads, way, common)
    if aggregation.least < 2:
        return results
    return with_least(aggregation, results, inputs.absent(), windows, threads)


def _in_layers(
    aggregation: Aggregation,
    columns: Sequence[NDArray[Any]],
    windows: Windows,
    common: Common | None,
    options: dict[str, Any],
) -> ResultArray:
    """The aggregates of windows whose bounds may fall: of those at a time whose bounds do not."""
    parts = []
    for i, (_, layer) in enumerate(windows.layers):
        if common is not None:
            options["common"] = Common(common.what, common.found.setdefault(f"layer {i}", {}))
        parts.append(aggregate(aggregation, columns, layer, **options))
    if len(parts) == 1:
        return parts[0]
    return in_place(parts, [numbers for numbers, _ in windows.layers])


def takes_parts(aggregation: Aggregation, way: Route, parts: int) -> bool:
    """Whether windows that are so many parts can be answered on this way.

    A user's functions may fail, at a row that others can name.
    """
    if way.kernel is not None:
        return parts <= way.kernel.parts
    own = aggregation.functions is not None or isinstance(way.compiled, RowAlgebra)
    return way.compiled is not None and not own


def _results(
    aggregation: Aggregation,
    inputs: Inputs,
    windows: Windows | Sequence[Windows],
    threads: int,
    route: Route,
    common: Common | None = None,
) -> ResultArray:
    """The aggregate of each window, by the kernel, the loop or the interpreter of the route."""
    if route.kernel is not None:
        first = inputs.columns[0] if inputs.columns else None
        if first is None or route.kernel.positional:
            first = inputs.anything()
        others = inputs.numbers[1:] if len(inputs.columns) > 1 else ()
        return route.kernel.run(
            question_about(windows, aggregation, first, threads, common, others)
        )
    if route.compiled is not None:
        columns = inputs.numbers
        data, nulls = tuple(c.data for c in columns), any_null(columns)
        if isinstance(windows, Windows):
            check_sums(aggregation, columns[0].data, columns[0].nulls, windows, threads)
            out, valid = run_loop(aggregation, route.compiled, data, nulls, windows, threads)
        else:
            parts: Any = question_about(windows, aggregation, columns[0], threads)
            out, valid = parts.by_states(route.compiled, data, nulls)
        return finished(aggregation, columns[0], out, valid)
    assert isinstance(windows, Windows), f"{aggregation!r} does not take parts"
    if route == BULK:
        known = inputs.columns[0]
        values = inputs.arrays[0] if known is None else known.data
        return bulk_results(aggregation, values, inputs.nulls(), *windows.bounds())
    results = over_windows(without_columns(aggregation), inputs.values(), *windows.bounds())
    return packed(aggregation, results)


def _shifted(
    aggregation: Aggregation,
    inputs: Inputs,
    windows: Windows,
    threads: int,
    route: Route,
    common: Common | None,
) -> ResultArray:
    """The aggregates of windows of so many rows that do not end with their own row.

    They are the windows of other rows, for which kernels for the last rows are fastest, but for
    rows near the ends of segments:

        rows=(-1, 1)       a  a  a  a │ b  b  b
                          [·  ·  ·]   │            the last 3 rows of the third row are the second's
                               [·  ·] │            nothing is behind the fourth: one of its own

    What it has in `common` with others is found in the windows of the other rows, by all of them.
    """
    if route.kernel is None:
        return _results(aggregation, inputs, windows.chosen(), threads, route)
    starts, first, ahead, count = windows.starts, windows.first, windows.ahead, len(windows)
    alone = rows_apart(starts, ahead) - first
    alone = alone[(alone >= 0) & (alone < count)]
    if alone.size * FEW > count:
        return _results(aggregation, inputs, windows.chosen(), threads, route, common)
    if not route.kernel.in_blocks and common is None:
        windows = windows if inputs.absent() is None else windows.chosen()
        return _results(aggregation, inputs, windows, threads, route)
    begin = max(0, first + min(ahead, 0))
    of_others = Windows(starts, windows.rows, begin)
    shifted = _results(aggregation, inputs, of_others, threads, route, common)
    by, own = first + ahead - begin, common is None
    dtype = shifted.values.dtype
    if ahead < 0 and aggregation.empty is None:  # nothing of the segment is so far before them
        nothing = np.full(1, None) if dtype.hasobject else np.zeros(1, dtype)
        apart = ResultArray(nothing, np.ones(1, np.bool_))
    else:
        apart = _results(aggregation, inputs, windows.chosen(alone), threads, route)
    values = moved(shifted.values, apart.values, alone, by, count, own)
    if shifted.missing is not None:
        return ResultArray(values, moved(shifted.missing, apart.mask, alone, by, count, own))
    if apart.missing is None:
        return ResultArray(values)
    missing = np.zeros(count, np.bool_)
    missing[alone] = apart.missing
    return ResultArray(values, missing, alone if apart.missing.all() else None)


def with_least(
    aggregation: Aggregation,
    results: ResultArray,
    nulls: NDArray[np.uint8] | None,
    windows: Windows | Sequence[Windows],
    threads: int = 1,
) -> ResultArray:
    """Results with null where a window has fewer values than the aggregation needs."""
    if aggregation.least < 2:
        return results
    return ResultArray(results.values, few_values(windows, nulls, aggregation.least, threads))


def few_values(
    windows: Windows | Sequence[Windows],
    nulls: NDArray[np.uint8] | None,
    least: int,
    threads: int = 1,
    common: Common | None = None,
) -> NDArray[np.bool_] | None:
    """Which windows have fewer values than `least` that are not null; None if none has.

    Others about the same column may have the counts in `common`, unless windows end `ahead`: what
    these have in common is that of the windows of other rows.
    """
    if nulls is None:
        return _rows_in(windows).shorter_than(least)
    if isinstance(windows, Windows) and windows.go_back:
        before = np.concatenate([[0], np.cumsum(nulls == 0)])
        lo, hi = windows.bounds()
        counted = before[hi] - before[lo]
    else:
        if isinstance(windows, Windows) and windows.ahead:
            windows, common = windows.chosen(), None
        counted = counts.run(_rows_in(windows, nulls, threads, common)).values
    few = np.asarray(counted < least)
    return few if few.any() else None


def few_rows(windows: Windows | Sequence[Windows], least: int) -> Positions | None:
    """The few windows with fewer rows than `least`, in no order; None if many have fewer."""
    return _rows_in(windows).few_shorter_than(least)


def _rows_in(
    windows: Windows | Sequence[Windows],
    nulls: NDArray[np.uint8] | None = None,
    threads: int = 1,
    common: Common | None = None,
) -> Question:
    """The question how many rows windows have, of those that are not null."""
    rows = Column(np.empty(0, np.int64), nulls, np.dtype(np.int64))
    return question_about(windows, Count("rows"), rows, threads, common)


# -- what goes in --------------------------------------------------------------------------------


class Inputs:
    """The arrays that an aggregation is asked over, in the forms that each route takes.

    `columns` are those of kernels and loops, None for one of objects; of n rows each.
    """

    def __init__(
        self, aggregation: Aggregation, arrays: Sequence[NDArray[Any]], nulls: Nulls, n: int
    ) -> None:
        masks = (None,) * len(arrays) if nulls is None else nulls
        wanted = aggregation.inputs
        if len(arrays) != wanted and not (aggregation.counts_nulls and not arrays):
            raise InvalidArgument(f"{aggregation!r} takes {wanted} array(s), got {len(arrays)}")
        if len(masks) != len(arrays):
            raise InvalidArgument(f"nulls has {len(masks)} entries for {len(arrays)} columns")
        self.n, self.takes = n, aggregation.takes
        self.arrays, self.masks = arrays, masks
        if self.takes == "timed":
            self.arrays = arrays = [arrays[0], nanoseconds_of(arrays[1], "columns[1]")]
        self.columns: list[Column | None] = []
        names = aggregation.columns or [f"columns[{i}]" for i in range(len(arrays))]
        for i, (name, array) in enumerate(zip(names, arrays, strict=False)):
            mask = masks[i]
            if array.shape != (n,):
                raise _wrong_shape(f"columns[{i}]", array, n)
            if mask is not None and mask.shape != (n,):
                raise _wrong_shape(f"nulls[{i}]", mask, n)
            self.columns.append(column(array, mask, "value", name))

    @property
    def numbers(self) -> list[Column]:
        """The columns, none of which is of objects."""
        return [c for c in self.columns if c is not None]

    def nulls(self, i: int = 0) -> NDArray[np.uint8] | None:
        """Which rows have a null in the i-th column; None if none has."""
        return null_marks(self.arrays[i], self.masks[i]) if self.arrays else None

    def absent(self) -> NDArray[np.uint8] | None:
        """Which rows have no value for the aggregation; None if all have."""
        return any_null(self.numbers) if len(self.arrays) > 1 else self.nulls()

    def anything(self) -> Column:
        """The first column, whatever it holds, for a kernel that looks at no value."""
        values = self.arrays[0] if self.arrays else np.empty(0, np.int64)
        return Column(values, self.nulls(), values.dtype)

    def values(self) -> list[Any]:
        """The rows as values of Python's own; pairs are measures and positions."""
        marks = [self.nulls(i) for i in range(len(self.arrays))]
        values = objects([_fine_times(array) for array in self.arrays], marks)
        pairs = self.takes == "ordered pair"
        return list(zip(values, range(len(values)), strict=True)) if pairs else values


def _wrong_shape(name: str, array: NDArray[Any], n: int) -> InvalidArgument:
    return InvalidArgument(f"{name} has shape {array.shape}; the windows are over {n} rows")


def _fine_times(array: NDArray[Any]) -> NDArray[Any]:
    """Times finer than Python's as NumPy's own, which a list would have as whole numbers."""
    if array.dtype.kind not in "mM" or np.datetime_data(array.dtype)[0] not in _FINER:
        return array
    times = np.empty(array.size, object)
    times[:] = list(array)
    return times


def null_marks(array: NDArray[Any], mask: NDArray[np.bool_] | None) -> NDArray[np.uint8] | None:
    """Which values are null, by themselves or by the mask `given`; None if none is."""
    own = None
    if array.dtype.kind in "mM":
        own = np.isnat(array)
    elif array.dtype == object:
        own = np.fromiter(map(is_null, array), np.bool_, array.size)
    both = own if mask is None else mask if own is None else own | mask
    return None if both is None or not both.any() else both.view(np.uint8)
