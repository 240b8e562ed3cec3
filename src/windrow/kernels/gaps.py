"""Aggregates of windows of which something is left out, from what is found for their parts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from windrow.aggregations.algebra import RowAlgebra
from windrow.aggregations.base import Aggregation
from windrow.aggregations.count import Count
from windrow.kernels.aggregate import Inputs, Nulls
from windrow.kernels.columns import Column, any_null
from windrow.kernels.current_row import WithoutRow
from windrow.kernels.gapped import Gapped
from windrow.kernels.named import Common, counts
from windrow.kernels.results import ResultArray, finished
from windrow.kernels.routes import Route, trace
from windrow.windows.arrays import Positions
from windrow.windows.gaps import Around
from windrow.windows.positions import Windows


def gapped(aggregation: Aggregation, column: Column, parts: Any, *more: Any) -> Gapped:
    """A question about windows that have such parts."""
    kind = WithoutRow if isinstance(parts, Around) else Gapped
    return kind(aggregation, column, parts, *more)


def knows_gaps(aggregation: Aggregation, way: Route, parts: int) -> bool:
    """Whether windows of so many parts can be answered on this way.

    A user's functions may fail, at a row that others can name.
    """
    if way.kernel is not None:
        return parts <= way.kernel.parts
    own = aggregation.functions is not None or isinstance(way.compiled, RowAlgebra)
    return way.compiled is not None and not own


def aggregate_parts(
    aggregation: Aggregation,
    columns: Sequence[NDArray[Any]],
    parts: Sequence[Windows],
    *,
    way: Route,
    nulls: Nulls = None,
    threads: int = 1,
    common: Common | None = None,
) -> ResultArray:
    """The aggregate of each window, which has such parts; as `aggregate`, O(1) a row.

    >>> from windrow import Max
    >>> from windrow.kernels.routes import route
    >>> parts = [Windows(np.array([0, 5]), rows=1, ahead=by) for by in (-1, 1)]
    >>> way = route(Max(), ["int64"])
    >>> aggregate_parts(Max(), [np.array([3, 1, 2, 5, 4])], parts, way=way).values
    array([1, 3, 5, 4, 5])
    """
    windows = parts.windows if isinstance(parts, Around) else parts[0]
    given = Inputs(aggregation, columns, nulls, windows.n)
    asked = given.columns[0] if given.columns else None
    if asked is None or (way.kernel is not None and way.kernel.positional):
        asked = given.anything()
    question = gapped(aggregation, asked, parts, threads, common, given.numbers[1:])
    trace(aggregation, way.name)
    if way.kernel is not None:
        made = way.kernel.run(question)
    else:
        assert way.compiled is not None
        kept = given.numbers
        data, gone = tuple(c.data for c in kept), any_null(kept)
        out, valid = question.by_states(way.compiled, data, gone)
        made = finished(aggregation, kept[0], out, valid)
    if aggregation.least < 2:
        return made
    few = few_in_parts(parts, given.absent(), aggregation.least, threads)
    return ResultArray(made.values, few)


def few_in_parts(
    parts: Sequence[Windows],
    nulls: NDArray[np.uint8] | None,
    least: int,
    threads: int = 1,
    common: Common | None = None,
) -> NDArray[np.bool_] | None:
    """Which windows have fewer values than `least` that are not null; None if none has.

    Others about the same column and parts may have the counts in `common`.
    """
    rows = Column(np.empty(0, np.int64), nulls, np.dtype(np.int64))
    question = gapped(Count("rows"), rows, parts, threads, common)
    if nulls is None:
        return question.shorter_than(least)
    few = np.asarray(counts.run(question).values < least)
    return few if few.any() else None


def few_rows_in_parts(parts: Sequence[Windows], least: int) -> Positions | None:
    """The few windows with fewer rows than `least`, in no order; None if many have fewer."""
    if isinstance(parts, Around):
        return parts.windows.few_shorter_than(least + 1)
    rows = Column(np.empty(0, np.int64), None, np.dtype(np.int64))
    whole = Gapped(Count("rows"), rows, parts, 1)
    return None if whole.whole is None else whole.whole.few_shorter_than(least + whole.gap)
