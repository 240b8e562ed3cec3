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

from windrow.aggregations.base import Aggregation, check_aggregation, is_null
from windrow.aggregations.count import Count
from windrow.errors import InvalidArgument, whole_number
from windrow.kernels.bulk import bulk_results
from windrow.kernels.columns import Column, any_null, column, nanoseconds_of
from windrow.kernels.interpreted import objects, over_windows, packed, without_columns
from windrow.kernels.named import Common, Question, check_sums, counts
from windrow.kernels.results import ResultArray, finished, in_place
from windrow.kernels.routes import BULK, FLATFIT, Route, route_over, trace
from windrow.kernels.window_loop import run_loop
from windrow.windows.arrays import between, widened
from windrow.windows.positions import Windows

Nulls = Sequence[NDArray[np.bool_] | None] | None

FEW = 4  # rows of their own in so many: with more of them, all windows go by their bounds
_FINER = ("ns", "ps", "fs", "as")  # than the times of Python


def aggregate(
    aggregation: Aggregation,
    columns: Sequence[NDArray[Any]],
    windows: Windows,
    *,
    nulls: Nulls = None,
    threads: int = 1,
    way: Route | None = None,
    common: Common | None = None,
) -> ResultArray:
    """The aggregate of each window, with nulls apart; O(1) a row for what compiles.

    `nulls` marks the values of each column that are null, besides NaT and None; a NaN is a value.
    An aggregation of pairs takes the measures alone and answers positions. The bits of the results
    depend neither on `threads` nor on how a segment is cut, if `windows` begin with a flip. `way`
    is what a plan has chosen; without one it is chosen here. Calls over the same column and windows
    find what they have in `common` once.

    >>> from windrow import ArgMax, Max
    >>> loads, windows = np.array([3, 1, 2, 5, 4]), Windows(np.array([0, 3, 5]), rows=2)
    >>> aggregate(Max(), [loads], windows).values
    array([3, 3, 2, 5, 5])
    >>> aggregate(ArgMax(), [loads], windows).values
    array([0, 0, 2, 3, 3])
    """
    if windows.go_back:
        options: dict[str, Any] = {"nulls": nulls, "threads": threads, "way": way}
        return _in_layers(aggregation, columns, windows, common, options)
    check_aggregation(aggregation, "aggregate")
    threads = whole_number("threads", threads, least=1)
    given = Inputs(aggregation, columns, nulls, windows.n)
    if way is None:
        way = route_over(aggregation, given.columns)
    if way.name == FLATFIT:
        from windrow.kernels.shared import aggregate_shared

        (results,) = aggregate_shared(aggregation, columns, [windows.bounds()], nulls=nulls)
        return results
    run = _shifted if windows.ahead else _traced
    made = run(aggregation, given, windows, threads, way, common)
    if aggregation.least < 2:
        return made
    return with_least(aggregation, made, given.absent(), windows, threads)


def _in_layers(
    aggregation: Aggregation,
    columns: Sequence[NDArray[Any]],
    windows: Windows,
    common: Common | None,
    options: dict[str, Any],
) -> ResultArray:
    """The aggregates of windows whose bounds may fall: of those at a time whose bounds do not."""
    made = []
    for i, (_, layer) in enumerate(windows.layers):
        if common is not None:
            options["common"] = Common(common.what, common.found.setdefault(f"layer {i}", {}))
        made.append(aggregate(aggregation, columns, layer, **options))
    return made[0] if len(made) == 1 else in_place(made, [numbers for numbers, _ in windows.layers])


def _traced(
    aggregation: Aggregation,
    given: Inputs,
    windows: Windows,
    threads: int,
    way: Route,
    common: Common | None = None,
) -> ResultArray:
    """Do what `_results` does, and let be known by which way."""
    trace(aggregation, way.name)
    return _results(aggregation, given, windows, threads, way, common)


def _results(
    aggregation: Aggregation,
    given: Inputs,
    windows: Windows,
    threads: int,
    way: Route,
    common: Common | None = None,
) -> ResultArray:
    """What a kernel, a loop or the interpreter makes of the windows."""
    if way.kernel is not None:
        asked = given.columns[0] if given.columns else None
        if asked is None or way.kernel.positional:
            asked = given.anything()
        others = given.numbers[1:]
        return way.kernel.run(Question(aggregation, asked, windows, threads, common, others))
    if way.compiled is not None:
        kept = given.numbers
        check_sums(aggregation, kept[0].data, kept[0].nulls, windows, threads)
        data = tuple(c.data for c in kept)
        out, valid = run_loop(aggregation, way.compiled, data, any_null(kept), windows, threads)
        return finished(aggregation, kept[0], out, valid)
    if way == BULK:
        known = given.columns[0]
        values, nulls = given.arrays[0] if known is None else known.data, given.nulls()
        return bulk_results(aggregation, values, nulls, *windows.bounds())
    answers = over_windows(without_columns(aggregation), given.values(), *windows.bounds())
    return packed(aggregation, answers)


def _shifted(
    aggregation: Aggregation,
    given: Inputs,
    windows: Windows,
    threads: int,
    way: Route,
    common: Common | None,
) -> ResultArray:
    """Windows of so many rows that do not end with their own row.

    They are the windows of other rows, for which kernels for the last rows are fastest, but for
    rows near the ends of segments:

        rows=(-1, 1)       a  a  a  a │ b  b  b
                          [·  ·  ·]   │            the last 3 rows of the third row are the second's
                               [·  ·] │            nothing is behind the fourth: one of its own

    What it has in `common` with others is found in the windows of the other rows, by all of them.
    """
    if way.kernel is None:
        return _traced(aggregation, given, windows.chosen(), threads, way)
    starts, first, ahead, count = windows.starts, windows.first, windows.ahead, len(windows)
    alone = rows_apart(starts, ahead) - first
    alone = alone[(alone >= 0) & (alone < count)]
    if alone.size * FEW > count:
        return _traced(aggregation, given, windows.chosen(), threads, way, common)
    if not way.kernel.in_blocks and common is None:
        windows = windows if given.absent() is None else windows.chosen()
        return _traced(aggregation, given, windows, threads, way)
    begin = max(0, first + min(ahead, 0))
    others = Windows(starts, windows.rows, begin)
    made = _traced(aggregation, given, others, threads, way, common)
    apart = _results(aggregation, given, windows.chosen(alone), threads, way)
    by, own = first + ahead - begin, common is None
    values, missing = _moved(made.values, apart.values, alone, by, count, own), None
    if made.missing is not None:
        missing = _moved(made.missing, apart.mask, alone, by, count, own)
    elif apart.missing is not None:
        missing = np.zeros(count, np.bool_)
        missing[alone] = apart.missing
    return ResultArray(values, missing)


def _moved(
    values: NDArray[Any],
    others: NDArray[Any],
    alone: NDArray[np.int64],
    by: int,
    count: int,
    own: bool,
) -> NDArray[Any]:
    """So many values from the by-th on (before the first, if it is negative), some replaced.

    They stay where they are if nobody else has them and their memory has room for more: to move
    them costs half of what a kernel does, and fresh memory as much as a kernel.
    """
    wide = widened(values, max(0, -by), max(0, by + count - values.size)) if own else None
    if wide is not None:
        made = wide[max(0, by) :][:count]
    elif own and by >= 0 and count <= values.size:
        values[: max(0, values.size - by)] = values[by:]
        made = values[:count]
    else:
        made = np.empty(count, values.dtype)
        moved = values[max(0, by) :][: count + min(0, by)]
        made[max(0, -by) :][: moved.size] = moved
    made[alone] = others
    return made


def rows_apart(starts: NDArray[np.int64], *ahead: int) -> NDArray[np.int64]:
    """The rows for which one of the rows that are so many ahead is not of their segment.

    >>> rows_apart(np.array([0, 4, 5]), 2), rows_apart(np.array([0, 4, 5]), -1, 1)
    (array([2, 3, 4]), array([0, 3, 4]))
    """
    begin, end = starts[:-1], starts[1:]
    early = np.minimum(begin - min(0, *ahead), end)
    late = np.maximum(end - max(0, *ahead), early)
    return between(*(np.stack(pair, axis=1).ravel() for pair in ((begin, late), (early, end))))


def with_least(
    aggregation: Aggregation,
    made: ResultArray,
    nulls: NDArray[np.uint8] | None,
    windows: Windows,
    threads: int = 1,
) -> ResultArray:
    """Results with null where a window has fewer values than the aggregation needs."""
    if aggregation.least < 2:
        return made
    return ResultArray(made.values, few_values(windows, nulls, aggregation.least, threads))


def few_values(
    windows: Windows, nulls: NDArray[np.uint8] | None, least: int, threads: int = 1
) -> NDArray[np.bool_] | None:
    """Which windows have fewer values than `least` that are not null; None if none has."""
    if nulls is None:
        return windows.shorter_than(least)
    if windows.go_back:
        before = np.concatenate([[0], np.cumsum(nulls == 0)])
        lo, hi = windows.bounds()
        counted = before[hi] - before[lo]
    else:
        rows = Column(np.empty(0, np.int64), nulls, np.dtype(np.int64))
        windows = windows.chosen() if windows.ahead else windows
        counted = counts.run(Question(Count("rows"), rows, windows, threads)).values
    few = np.asarray(counted < least)
    return few if few.any() else None


# -- what goes in --------------------------------------------------------------------------------


class Inputs:
    """The arrays that an aggregation is asked over, in the forms that each way takes.

    `columns` are those of the compiled ways, None for one of objects; of n rows each.
    """

    def __init__(
        self, aggregation: Aggregation, arrays: Sequence[NDArray[Any]], nulls: Nulls, n: int
    ) -> None:
        masks = [None] * len(arrays) if nulls is None else list(nulls)
        wanted = aggregation.inputs
        if len(arrays) != wanted and not (aggregation.counts_nulls and not arrays):
            raise InvalidArgument(f"{aggregation!r} takes {wanted} array(s), got {len(arrays)}")
        if len(masks) != len(arrays):
            raise InvalidArgument(f"nulls has {len(masks)} entries for {len(arrays)} columns")
        for what, several in (("columns", arrays), ("nulls", masks)):
            for i, given in enumerate(several):
                if given is not None and given.shape != (n,):
                    raise InvalidArgument(
                        f"{what}[{i}] has shape {given.shape}; the windows are over {n} rows"
                    )
        self.n, self.pairs = n, aggregation.takes == "ordered pair"
        if aggregation.takes == "timed":
            arrays = [arrays[0], nanoseconds_of(arrays[1], "columns[1]")]
        self.arrays, self.masks = arrays, masks
        self.columns = [
            column(array, mask, "value", f"columns[{i}]")
            for i, (array, mask) in enumerate(zip(arrays, masks, strict=True))
        ]

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
        return list(zip(values, range(len(values)), strict=True)) if self.pairs else values


def _fine_times(array: NDArray[Any]) -> NDArray[Any]:
    """Times finer than Python's as NumPy's own, which a list would have as whole numbers."""
    if array.dtype.kind not in "mM" or np.datetime_data(array.dtype)[0] not in _FINER:
        return array
    made = np.empty(array.size, object)
    made[:] = list(array)
    return made


def null_marks(array: NDArray[Any], given: NDArray[np.bool_] | None) -> NDArray[np.uint8] | None:
    """Which values are null, by themselves or as given; None if none is."""
    own = None
    if array.dtype.kind in "mM":
        own = np.isnat(array)
    elif array.dtype == object:
        own = np.fromiter(map(is_null, array), np.bool_, array.size)
    mask = own if given is None else given if own is None else own | given
    return None if mask is None or not mask.any() else mask.view(np.uint8)
