"""Aggregates of windows over many segments at once: the rows of all keys, one key after another.

Rows are sorted by key and, within a key, by their order. A segment is the rows of one key, and no
window reaches over its ends; so the windows of all segments, one segment after another, begin and
end at positions that never fall, and one pass answers them all, without a call for each key.

    key          a a a a b c c c c c c d d
    starts       0       4 5           11      13
    windows      ╞═╡ ╞═══╡ ╞═════╡     ╞═╡
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from windrow.aggregations.base import Aggregation, check_aggregation, is_null
from windrow.aggregations.count import Count
from windrow.errors import InvalidArgument, whole_number
from windrow.kernels.columns import Column, column
from windrow.kernels.interpreted import objects, over_windows, packed
from windrow.kernels.named import Question, counts
from windrow.kernels.overflow import check_sums
from windrow.kernels.results import ResultArray
from windrow.kernels.routes import FLATFIT, Route, route_over, trace
from windrow.kernels.window_loop import loop_answers
from windrow.windows.positions import Windows

Masks = list[NDArray[np.bool_] | None]

_FINER = ("ns", "ps", "fs", "as")  # than the times of Python


def aggregate(
    aggregation: Aggregation,
    columns: Sequence[NDArray[Any]],
    windows: Windows,
    *,
    nulls: Sequence[NDArray[np.bool_] | None] | None = None,
    threads: int = 1,
    way: Route | None = None,
) -> ResultArray:
    """The aggregate of each window, with nulls apart; O(1) a row for what compiles.

    `nulls` marks the values of each column that are null, besides NaT and None; a NaN is a value.
    An aggregation of pairs takes the measures alone and answers positions. The bits of the answers
    depend neither on `threads` nor on how a segment is cut, if `windows` begin with a flip. `way`
    is what a plan has chosen; without one it is chosen here.

    >>> from windrow import ArgMax, Max
    >>> loads, windows = np.array([3, 1, 2, 5, 4]), Windows(np.array([0, 3, 5]), rows=2)
    >>> aggregate(Max(), [loads], windows).values
    array([3, 3, 2, 5, 5])
    >>> aggregate(ArgMax(), [loads], windows).values
    array([0, 0, 2, 3, 3])
    """
    check_aggregation(aggregation, "aggregate")
    threads = whole_number("threads", threads, least=1)
    masks: Masks = [None] * len(columns) if nulls is None else list(nulls)
    _check_columns(aggregation, columns, masks, windows)
    given = [
        column(array, mask, "value", f"columns[{i}]")
        for i, (array, mask) in enumerate(zip(columns, masks, strict=True))
    ]
    if way is None:
        way = route_over(aggregation, given, by_rows=windows.rows is not None)
    if way.name == FLATFIT:
        from windrow.kernels.shared import aggregate_shared

        (results,) = aggregate_shared(aggregation, columns, [windows.bounds()], nulls=nulls)
        return results
    trace(aggregation, way.name)
    if way.kernel is not None:
        asked = given[0] if given else None
        if asked is None or way.kernel.positional:
            asked = _positional(columns, masks, windows.n)
        made = way.kernel.run(Question(aggregation, asked, windows, threads))
    elif way.compiled is not None:
        kept = [c for c in given if c is not None]
        check_sums(aggregation, kept[0].data, kept[0].nulls, windows, threads)
        made = loop_answers(aggregation, way.compiled, kept, windows, threads)
    else:
        made = _interpreted(aggregation, columns, masks, windows)
    return with_least(aggregation, made, mask_of(columns, masks), windows, threads)


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
    if nulls is None:
        few = windows.shorter_than(aggregation.least)
    else:
        rows = Column(np.empty(0, np.int64), nulls, np.dtype(np.int64))
        counted = counts.run(Question(Count("rows"), rows, windows, threads)).values
        few = counted < aggregation.least
    return ResultArray(made.values, few if few.any() else None)


# -- the ways ------------------------------------------------------------------------------------


def _positional(columns: Sequence[NDArray[Any]], masks: Masks, n: int) -> Column:
    """A column of anything, for a kernel that looks at no value."""
    if not columns:
        return Column(np.empty(0, np.int64), None, np.dtype(np.int64))
    values = columns[0]
    return Column(values, null_marks(values, masks[0]), values.dtype)


def mask_of(columns: Sequence[NDArray[Any]], masks: Masks) -> NDArray[np.uint8] | None:
    """Which rows have a null in the first column; None if none has."""
    return null_marks(columns[0], masks[0]) if columns else None


def _interpreted(
    aggregation: Aggregation, columns: Sequence[NDArray[Any]], masks: Masks, windows: Windows
) -> ResultArray:
    """The algorithm in the interpreter, on values of Python's own."""
    unbound = copy.copy(aggregation)
    unbound.columns = ()  # it gets the values themselves
    gone = [null_marks(a, m) for a, m in zip(columns, masks, strict=True)]
    values = objects([_fine_times(array) for array in columns], gone)
    if aggregation.takes == "ordered pair":
        values = list(zip(values, range(len(values)), strict=True))
    return packed(aggregation, over_windows(unbound, values, *windows.bounds()))


def _fine_times(array: NDArray[Any]) -> NDArray[Any]:
    """Times finer than Python's as NumPy's own, which a list would have as whole numbers."""
    if array.dtype.kind not in "mM" or np.datetime_data(array.dtype)[0] not in _FINER:
        return array
    made = np.empty(array.size, object)
    made[:] = list(array)
    return made


# -- what goes in --------------------------------------------------------------------------------


def _check_columns(
    aggregation: Aggregation, columns: Sequence[Any], masks: Masks, windows: Windows
) -> None:
    wanted = 1 if aggregation.takes == "ordered pair" else aggregation.arity
    if len(columns) != wanted and not (aggregation.counts_nulls and not columns):
        raise InvalidArgument(f"{aggregation!r} takes {wanted} array(s), got {len(columns)}")
    if len(masks) != len(columns):
        raise InvalidArgument(f"nulls has {len(masks)} entries for {len(columns)} columns")
    for i, (array, mask) in enumerate(zip(columns, masks, strict=True)):
        for what, given in (("columns", array), ("nulls", mask)):
            if given is not None and given.shape != (windows.n,):
                raise InvalidArgument(
                    f"{what}[{i}] has shape {given.shape}; the windows are over {windows.n} rows"
                )


def null_marks(array: NDArray[Any], given: NDArray[np.bool_] | None) -> NDArray[np.uint8] | None:
    """Which values are null, by themselves or as given; None if none is."""
    own = None
    if array.dtype.kind in "mM":
        own = np.isnat(array)
    elif array.dtype == object:
        own = np.fromiter(map(is_null, array), np.bool_, array.size)
    mask = own if given is None else given if own is None else own | given
    return None if mask is None or not mask.any() else mask.view(np.uint8)
