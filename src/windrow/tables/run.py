"""Run a query over the columns of a table in memory.

    where → sort by key and order → windows → each aggregation, compiled → having, istream → back
                                                                           to the rows' own order

The table's other columns are never touched: the result tells which rows of the table stand in it,
and the frame's own library picks them.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.types as pt
from numpy.typing import NDArray

from windrow.kernels.aggregate import aggregate
from windrow.kernels.sort import scatter
from windrow.tables.bind import WINDOW_COLUMNS, Bound
from windrow.tables.columns import from_numbers, nulls_of, numbers
from windrow.tables.filters import columns_of, satisfies, wanted
from windrow.tables.policies import Policed, closing_rows
from windrow.tables.pool import Pool
from windrow.tables.results import Aggregate, Answerer, SortedColumns
from windrow.tables.sort import Asked, Layout, lay_out, windows_of
from windrow.windows.kinds import On, Span, Until


@dataclass(frozen=True)
class Outcome:
    """The result: rows of the table (None: all of them), and new columns as long as they are."""

    rows: NDArray[Any] | None
    columns: dict[str, pa.Array]


def answer(bound: Bound, table: pa.Table, threads: int | None = None) -> Outcome:
    """The answers of a bound query over `table`, which has at least the columns it needs."""
    (outcome,) = answer_all([bound], table, threads)
    return outcome


def answer_all(bounds: list[Bound], table: pa.Table, threads: int | None = None) -> list[Outcome]:
    """The answers of several queries; those over the same rows in the same order sort them once."""
    threads = threads or len(os.sched_getaffinity(0))
    alike: dict[Any, list[int]] = {}
    for i, bound in enumerate(bounds):
        alike.setdefault(_sorting(bound), []).append(i)
    outcomes: dict[int, Outcome] = {}
    for members in alike.values():
        made = _together([bounds[i] for i in members], table, threads)
        outcomes.update(zip(members, made, strict=True))
    return [outcomes[i] for i in range(len(bounds))]


def _sorting(bound: Bound) -> Any:
    """What two queries must have in common to look at the same sorted rows."""
    query = bound.query
    spans = isinstance(query.window, Span)
    times = (bound.hop_type if bound.hops else bound.order_type) if spans else None
    return query.where, query.partition_by, query.order_by, times


def _together(bounds: list[Bound], table: pa.Table, threads: int) -> list[Outcome]:
    """The answers of queries over the same sorted rows."""
    kept = None
    if bounds[0].query.where is not None:
        kept = np.flatnonzero(satisfies(bounds[0].query.where, table))
        table = table.take(pa.array(kept))
    column = columns_of(table)
    laid = lay_out(bounds[0], column, table.num_rows, threads)
    columns = SortedColumns(column, laid)
    asked = [_asked(bound, table, laid, column) for bound in bounds]
    pool = Pool([(b.query, a.windows) for b, a in zip(bounds, asked, strict=True)])
    outcomes = []
    for bound, windows in zip(bounds, asked, strict=True):
        made = answers(bound, columns, windows, pool.aggregate)
        rows, made = _arranged(bound, table, laid, windows, made)
        if kept is not None:
            rows = kept if rows is None else kept[rows]
        outcomes.append(Outcome(rows, made))
    return outcomes


def answers(
    bound: Bound, columns: SortedColumns, asked: Asked, call: Aggregate = aggregate
) -> dict[str, pa.Array]:
    """The columns of the result that are new, in the order of the windows."""
    answerer = Answerer(columns, asked.windows, call)
    made = spans(bound, asked) if bound.hops else {}
    for name, part in bound.query.aggregations:
        made[name] = answerer.answer(part, bound.types[name])
    return made


def _asked(bound: Bound, table: pa.Table, laid: Layout, column: Callable[[str], Any]) -> Asked:
    window = bound.query.window
    if isinstance(window, Until):
        return Policed(bound.query, window.until).windows(laid, column)
    closes = None
    if isinstance(window, On):
        closes = closing_rows(window, table.column_names, laid, column)
    return windows_of(bound, laid, closes=closes)


def spans(bound: Bound, asked: Asked) -> dict[str, pa.Array]:
    """The columns that tell where hopping windows start and end."""
    assert asked.opens is not None
    ends = (asked.opens, asked.opens + asked.opens.dtype.type(bound.hop_sizes()[0]))
    return {
        name: from_numbers(values, None, bound.hop_type)
        for name, values in zip(WINDOW_COLUMNS, ends, strict=True)
    }


# -- from the order of the windows to that of the result ----------------------------------------


def _arranged(
    bound: Bound, table: pa.Table, laid: Layout, asked: Asked, made: dict[str, pa.Array]
) -> tuple[NDArray[Any] | None, dict[str, pa.Array]]:
    """The rows of the result, in the table's order (hopping windows: in that of their keys)."""
    if asked.closing is None and not bound.filters and not bound.hops:
        if laid.order is not None:
            made = {name: _scattered(array, laid) for name, array in made.items()}
        return None, made
    rows = laid.rows(asked.beside(laid))
    place = np.arange(rows.size)
    if bound.filters:
        keys = asked.keys(laid)
        chosen, _ = wanted(bound.query, lambda: table.take(pa.array(rows)), keys, made)
        place = np.flatnonzero(chosen)
    if bound.hops:
        place = place[np.argsort(_first_seen(laid)[asked.keys(laid)[place]], kind="stable")]
    elif laid.order is not None:
        place = place[np.argsort(rows[place], kind="stable")]
    return rows[place], {name: array.take(pa.array(place)) for name, array in made.items()}


def _scattered(array: pa.Array, laid: Layout) -> pa.Array:
    """Answers of the sorted rows, back in the table's order."""
    assert laid.order is not None
    values, nulls = numbers(array), nulls_of(array)
    if values is None or pt.is_boolean(array.type):
        inverse = scatter(np.arange(laid.size, dtype=laid.order.dtype), laid.order)
        return array.take(pa.array(inverse))
    if nulls is not None:
        nulls = scatter(nulls, laid.order, threads=laid.threads)
    return from_numbers(scatter(values, laid.order, threads=laid.threads), nulls, array.type)


def _first_seen(laid: Layout) -> NDArray[np.int64]:
    """For each key, the first row of the table that has it."""
    filled = np.flatnonzero(np.diff(laid.keys))
    seen = np.zeros(laid.keys.size - 1, np.int64)
    if filled.size:
        rows = laid.rows(np.arange(laid.size))
        seen[filled] = np.minimum.reduceat(rows, laid.keys[filled])
    return seen
