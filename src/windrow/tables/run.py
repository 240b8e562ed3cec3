"""Run a query over the columns of a table in memory.

    where → sort by key and order → windows → each aggregation, compiled → having, istream → back
                                                                           to the rows' own order

The table's other columns are never touched: the result tells which rows of the table stand in it,
and the frame's own library picks them.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.types as pt
from numpy.typing import NDArray

from windrow.aggregations.base import Aggregation
from windrow.kernels.aggregate import aggregate
from windrow.kernels.results import ResultArray
from windrow.kernels.routes import FLATFIT, Route
from windrow.kernels.shared import aggregate_shared, derived_results, shared_states
from windrow.queries.plan import Plan, share
from windrow.queries.query import Query
from windrow.queries.select import Select
from windrow.queries.shared import Shared
from windrow.tables.bind import Bound, SchemaColumns, bind_once, warn_of_interpreted
from windrow.tables.columns import from_numbers, null_places, nulls_of, numbers, with_nulls_at
from windrow.tables.filters import columns_of, satisfies, wanted
from windrow.tables.results import Aggregate, SortedColumns, WindowResults
from windrow.tables.row_sizes import sized_rows
from windrow.tables.rows import RowValues
from windrow.tables.sort import TableRows, rows_in_place, sort_rows
from windrow.tables.states import StateColumns
from windrow.windows.arrays import memory_from
from windrow.windows.positions import Windows
from windrow.windows.sorted_rows import Bounds

_MANY = 8  # nulls among so many rows are moved one by one
QUERY = "query"  # whose result a row is, where several queries have results for other rows


@dataclass(frozen=True)
class TableResult:
    """The result: rows of the table (None: all of them), and new columns as long as they are."""

    rows: NDArray[Any] | None
    columns: dict[str, pa.Array]


@dataclass(frozen=True)
class TableEngine:
    """Queries over the frames of one library, which says how they become tables, and back.

    `schema_of(frame)` gives the schema, or an error for what is no frame; `table_of(frame, names)`
    those columns as a table of Arrow; `joined(bound, outcome, frame)` the rows of the frame that
    are in the result, with the new columns. `selected(frame, rows, columns)` gives these rows, all
    for None, with these columns by their names: columns of the frame, or new ones of Arrow.
    `order_of(frame)` names what the frame's own rows are ordered by, if it says so.
    """

    schema_of: Callable[[Any], pa.Schema]
    table_of: Callable[[Any, list[str]], pa.Table]
    joined: Callable[[Bound, TableResult, Any], Any]
    selected: Callable[[Any, NDArray[Any] | None, dict[str, Any]], Any]
    order_of: Callable[[Any], str | None] = lambda frame: None

    def run(self, query: Query, frame: Any) -> Any:
        """The results of a query as a frame of the same kind."""
        (bound,), (outcome,) = self.results((query,), frame)
        return self.joined(bound, outcome, frame)

    def run_shared(self, shared: Shared, frame: Any) -> list[Any]:
        """The results of each query."""
        bounds, outcomes = self.results(shared, frame)
        return [self.joined(b, o, frame) for b, o in zip(bounds, outcomes, strict=True)]

    def results(
        self, queries: Iterable[Query], frame: Any
    ) -> tuple[list[Bound], list[TableResult]]:
        """The queries as they fit the frame, and the results of each."""
        bounds = self._bound(queries, frame)
        warn_of_interpreted(bounds)
        return bounds, run_queries(bounds, self.table_of(frame, needed(bounds)))

    def _bound(self, queries: Iterable[Query], frame: Any) -> list[Bound]:
        schema, order = self.schema_of(frame), self.order_of(frame)
        return [bind_once(query, schema, order) for query in queries]

    def run_together(self, shared: Shared, frame: Any) -> Any:
        """The results of queries with a result a row, all beside the rows of one frame."""
        bounds, outcomes = self.results(shared, frame)
        columns = {name: array for each in outcomes for name, array in each.columns.items()}
        return self.joined(bounds[0], TableResult(outcomes[0].rows, columns), frame)

    def run_select(self, select: Select, frame: Any) -> Any:
        """The results of a statement of SQL, as a frame of the same kind."""
        from windrow.tables.select import run_steps

        schema = self.schema_of(frame)
        steps = select.steps(SchemaColumns(schema))
        table = self.table_of(frame, steps.reads(schema.names))
        return self.selected(frame, *run_steps(steps, table, schema.names))

    def read(self, queries: Sequence[Query], frame: Any) -> tuple[list[Bound], pa.Table]:
        """The queries as they fit the frame, and the columns that they need."""
        bounds = self._bound(queries, frame)
        return bounds, self.table_of(frame, needed(bounds))

    def columns_of_frame(self, frame: Any) -> SchemaColumns:
        """The columns of a frame, as statements of SQL ask about them."""
        return SchemaColumns(self.schema_of(frame))

    def plan(self, query: Query, frame: Any) -> Plan:
        """What will run for a query over a frame."""
        return self._bound([query], frame)[0].plan


def needed(bounds: Iterable[Bound]) -> list[str]:
    """The columns of a frame that queries read."""
    return list(dict.fromkeys(name for bound in bounds for name in bound.needed))


def told_apart(bounds: Sequence[Bound]) -> bool:
    """Whether `QUERY` tells of which query a row of the result is: some have none for some rows."""
    return len(bounds) > 1 and any(b.filters or not b.query.window.per_row for b in bounds)


def run_queries(
    bounds: list[Bound], table: pa.Table, threads: int | None = None
) -> list[TableResult]:
    """The results of several queries; those over the same rows in the same order sort them once."""
    threads = threads or len(os.sched_getaffinity(0))
    with memory_from(pa.allocate_buffer):
        return _run_queries(bounds, table, threads)


def _run_queries(bounds: list[Bound], table: pa.Table, threads: int) -> list[TableResult]:
    if len(bounds) == 1:
        return _together(bounds, table, threads)
    alike: dict[Any, list[int]] = {}
    # windows that count rows look at those that were sorted for others, if there are some
    for i in sorted(range(len(bounds)), key=lambda i: not bounds[i].query.window.measured):
        sorting = _sorting(bounds[i])
        near = next((key for key in alike if key[:-1] == sorting[:-1]), sorting)
        alike.setdefault(sorting if sorting[-1] is not None else near, []).append(i)
    outcomes: dict[int, TableResult] = {}
    for members in alike.values():
        made = _together([bounds[i] for i in members], table, threads)
        outcomes.update(zip(members, made, strict=True))
    return [outcomes[i] for i in range(len(bounds))]


def _sorting(bound: Bound) -> tuple[Any, ...]:
    """What two queries must have in common to look at the same sorted rows.

    The last of it is what rows are measured in along the order, and None where they are counted.
    """
    query = bound.query
    along = (bound.at_type, bound.by_groups) if query.window.measured else None
    return query.where, query.window.row_size, query.partition_by, query.order_by, along


def _together(bounds: list[Bound], table: pa.Table, threads: int) -> list[TableResult]:
    """The results of queries over the same sorted rows."""
    kept = None
    if bounds[0].query.where is not None:
        kept = np.flatnonzero(satisfies(bounds[0].query.where, table))
        table = table.take(pa.array(kept))
    table, sized = sized_rows(bounds[0], table)
    if sized is not None:
        kept = sized if kept is None else kept[sized]
    column = columns_of(table)
    rows = sort_rows(bounds[0], column, table.num_rows, threads)
    of = [
        rows
        if bound.query.window.measured or rows.at is None
        else replace(rows, starts=rows.keys, at=None, axis=None)
        for bound in bounds
    ]
    query = bounds[0].query
    columns = SortedColumns(column, rows, (*query.partition_by, *query.order_by))
    windows = [_windows(bound, each, column, table) for bound, each in zip(bounds, of, strict=True)]
    many = len(bounds) > 1
    plans = share([bound.plan for bound in bounds]) if many else [bounds[0].alone]
    call: Aggregate = aggregate
    if any(plan.slicing is not None for plan in plans):
        asked = [(plan, each.windows) for plan, each in zip(plans, windows, strict=True)]
        call = _Pool(asked).aggregate
    outcomes = []
    for bound, plan, each, own in zip(bounds, plans, windows, of, strict=True):
        place = partial(_back, rows=own) if _beside_all(bound, each) else _as_made
        made = new_columns(bound, columns, each, plan, call, place)
        places, made = _arranged(bound, table, own, each, made)
        if kept is not None:
            places = kept if places is None else kept[places]
        outcomes.append(TableResult(places, made))
    return outcomes


class _Pool:
    """Results over the windows of several queries: those that share slices are made together."""

    def __init__(self, asked: Sequence[tuple[Plan, Windows]]) -> None:
        # whose states tell a result over windows, and over which windows of its group it is made
        self._sources: dict[tuple[int, Aggregation], tuple[Aggregation, list[Windows]]] = {}
        self._made: dict[tuple[Aggregation, int], Any] = {}
        alike: dict[tuple[Any, Aggregation], list[Windows]] = {}
        for plan, windows in asked:
            for result in plan.results if plan.slicing is not None else ():
                source = result.source or result.aggregation
                others = alike.setdefault((plan.group, source), [])
                if not any(each is windows for each in others):
                    others.append(windows)
                self._sources[id(windows), result.aggregation] = source, others

    def aggregate(
        self,
        aggregation: Aggregation,
        columns: Sequence[Any],
        windows: Windows,
        *,
        nulls: Any,
        threads: int,
        way: Route,
        common: Any = None,
    ) -> ResultArray:
        """As `aggregate` of the kernels; the other queries' results are kept for them."""
        source, alike = self._sources.get((id(windows), aggregation), (aggregation, []))
        if way.name != FLATFIT or not alike:
            return aggregate(
                aggregation, columns, windows, nulls=nulls, threads=threads, way=way, common=common
            )
        tells = any(of == source != one for (_, one), (of, _) in self._sources.items())
        if (source, id(windows)) not in self._made:
            run: Any = shared_states if tells else aggregate_shared
            made = run(source, columns, [each.bounds() for each in alike], nulls=nulls)
            self._made.update({(source, id(w)): m for w, m in zip(alike, made, strict=True)})
        found = self._made[source, id(windows)]
        if not tells:
            return found  # type: ignore[no-any-return]
        return derived_results(aggregation, source, columns, windows, found, nulls=nulls)


def _windows(
    bound: Bound, rows: TableRows, column: Callable[[str], Any], table: pa.Table
) -> Bounds:
    window = bound.query.window
    if window.asks_values:
        rows = replace(rows, values=RowValues(bound.query, rows, column, table.column_names))
    return window.bounds(rows)


def _as_made(array: pa.Array) -> pa.Array:
    return array


def new_columns(
    bound: Bound,
    columns: SortedColumns,
    windows: Bounds,
    plan: Plan | None = None,
    call: Aggregate = aggregate,
    place: Callable[[pa.Array], pa.Array] = _as_made,
) -> dict[str, pa.Array]:
    """The columns of the result that are new, in the order of the windows.

    Or in that to which `place` brings each of them, before the next one is made.
    """
    made = window_columns(bound, windows) if bound.own_rows else {}
    over = WindowResults(columns, windows.windows, call, windows.parts)
    least = bound.query.min_rows
    merged = []
    for result in (plan or bound.plan).results:
        if windows.parts and not over.knows_gaps(result):
            merged.append(result.name)
        else:
            made[result.name] = place(over.run(result, bound.types[result.name], least))
    if not merged:
        return made
    for name, array in _put_together(bound, merged, columns, windows.parts).items():
        made[name] = place(array)
    return {name: made[name] for name in (*window_columns(bound, windows), *bound.query.parts)}


def _put_together(
    bound: Bound, names: Sequence[str], columns: SortedColumns, parts: Sequence[Windows]
) -> dict[str, pa.Array]:
    """The results of windows of which something is left out: the states of their parts, merged."""
    query, k, n = bound.query, len(parts), len(parts[0])
    parts = [part.chosen() if part.ahead else part for part in parts]
    asked = [(name, query.parts[name]) for name in names]
    texts = {text for _, part in asked for text in part.columns}
    types = {text: columns.array(text).type for text in texts}
    states = StateColumns(asked, types, dict.fromkeys(names, query.min_rows))
    each = [pa.table(states.make(WindowResults(columns, part))) for part in parts]
    in_turn = np.arange(k * n).reshape(k, n).T.ravel()  # the parts of a window, one by one
    table = pa.concat_tables(each).take(pa.array(in_turn)).combine_chunks()
    rows, first = rows_in_place(k * n), np.arange(0, k * n, k)
    over = WindowResults(
        SortedColumns(table.column, rows), Windows(rows.starts, lo=first, hi=first + k)
    )
    return states.results(over, {name: bound.types[name] for name in names})


def window_columns(bound: Bound, windows: Bounds) -> dict[str, pa.Array]:
    """The columns that tell where windows start and end, if results are rows of their own."""
    return {
        name: from_numbers(values, None, bound.at_type)
        for name, values in zip(bound.own_rows, windows.ends or (), strict=True)
    }


def with_columns(table: pa.Table, schema: pa.Schema, values: Mapping[str, Any]) -> pa.Table:
    """All columns of a schema: a value for all rows, the table's own column, or else nulls."""
    columns = []
    for field in schema:
        if field.name in values:
            value = pa.scalar(values[field.name], field.type)
            columns.append(pa.repeat(value, table.num_rows))
        elif field.name in table.column_names:
            columns.append(table.column(field.name).cast(field.type))
        else:
            columns.append(pa.nulls(table.num_rows, field.type))
    return pa.table(columns, schema=schema)


# -- from the order of the windows to that of the result ----------------------------------------


def _arranged(
    bound: Bound, table: pa.Table, rows: TableRows, windows: Bounds, made: dict[str, pa.Array]
) -> tuple[NDArray[Any] | None, dict[str, pa.Array]]:
    """The rows of the result, in the table's order (windows with their own: in that of keys)."""
    if _beside_all(bound, windows):
        return None, made
    beside = rows.rows(windows.places(rows))
    place = np.arange(beside.size)
    if bound.filters:
        keys = windows.keys(rows)
        chosen, _ = wanted(bound.query, lambda: table.take(pa.array(beside)), keys, made)
        place = np.flatnonzero(chosen)
    if bound.own_rows:
        place = place[np.argsort(_first_seen(rows)[windows.keys(rows)[place]], kind="stable")]
    elif rows.order is not None:
        place = place[np.argsort(beside[place], kind="stable")]
    return beside[place], {name: array.take(pa.array(place)) for name, array in made.items()}


def _beside_all(bound: Bound, windows: Bounds) -> bool:
    """Whether each row of the table has its result, and each result is moved to its row."""
    return windows.every and not bound.filters


def _back(array: pa.Array, rows: TableRows) -> pa.Array:
    """Results of the sorted rows, back in the table's order."""
    order = rows.order
    if order is None:
        return array
    values = numbers(array)
    if values is None or pt.is_boolean(array.type):
        return array.take(pa.array(order.places))
    placed = order.back(values, threads=rows.threads)
    if 0 < array.null_count < rows.size // _MANY and not pt.is_decimal(array.type):
        places = order.rows[null_places(array)]
        return with_nulls_at(from_numbers(placed, None, array.type), places)
    nulls = nulls_of(array)
    if nulls is not None:
        nulls = order.back(nulls, threads=rows.threads)
    return from_numbers(placed, nulls, array.type)


def _first_seen(rows: TableRows) -> NDArray[np.int64]:
    """For each key, the first row of the table that has it."""
    filled = np.flatnonzero(np.diff(rows.keys))
    seen = np.zeros(rows.keys.size - 1, np.int64)
    if filled.size:
        places = rows.rows(np.arange(rows.size))
        seen[filled] = np.minimum.reduceat(places, rows.keys[filled])
    return seen
