"""Run a query over the columns of a table in memory.

    where → sort by key and order → windows → each aggregation, compiled → having, istream → back
                                                                           to the rows' own order

The table's other columns are never touched: the result tells which rows of the table stand in it,
and the frame's own library picks them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
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
from windrow.tables.columns import as_arrow, from_numbers, rows_at
from windrow.tables.filters import Table, arrow_table, columns_of, satisfies, wanted
from windrow.tables.results import Aggregate, SortedColumns, WindowResults
from windrow.tables.row_sizes import sized_rows
from windrow.tables.rows import RowValues
from windrow.tables.sort import TableRows, rows_in_place, sort_rows
from windrow.tables.states import StateColumns
from windrow.windows.arrays import cores
from windrow.windows.positions import Windows
from windrow.windows.sorted_rows import Bounds

QUERY = "query"  # whose result a row is, where several queries have results for other rows


class TableResult(NamedTuple):
    """The result: rows of the table (None: all of them), and new columns as long as they are.

    Columns are arrays of Arrow, or a `NumberColumn` each.
    """

    rows: NDArray[Any] | None
    columns: dict[str, Any]

    @property
    def arrays(self) -> dict[str, pa.Array]:
        """The new columns as arrays of Arrow."""
        return {name: as_arrow(column) for name, column in self.columns.items()}


@dataclass(frozen=True)
class TableEngine:
    """Queries over the frames of one library, which says how they become tables, and back.

    `schema_of(frame)` gives the schema, or an error for what is no frame; `table_of(frame, names)`
    those columns as a table of Arrow or as `FrameColumns`; `joined(bound, result, frame)` the rows
    of the frame that are in the result, with the new columns. `selected(frame, rows, columns)`
    gives these rows, all for None, with these columns by their names: columns of the frame, or new
    ones of Arrow. `order_of(frame)` names what the frame's own rows are ordered by, if it says so.
    """

    schema_of: Callable[[Any], pa.Schema]
    table_of: Callable[[Any, list[str]], Table]
    joined: Callable[[Bound, TableResult, Any], Any]
    selected: Callable[[Any, NDArray[Any] | None, dict[str, Any]], Any]
    order_of: Callable[[Any], str | None] = lambda frame: None

    def run(self, query: Query, frame: Any) -> Any:
        """The results of a query as a frame of the same kind."""
        return self.run_shared((query,), frame)[0]

    def run_shared(self, shared: Iterable[Query], frame: Any) -> list[Any]:
        """The results of each query."""
        bounds, results = self.results(shared, frame)
        return [self.joined(b, r, frame) for b, r in zip(bounds, results, strict=True)]

    def results(
        self, queries: Iterable[Query], frame: Any
    ) -> tuple[list[Bound], list[TableResult]]:
        """The queries as they fit the frame, and the results of each."""
        bounds = self._bound(queries, frame)
        warn_of_interpreted(bounds)
        return bounds, run_queries(bounds, self.table_of(frame, needed(bounds)))

    def _bound(self, queries: Iterable[Query], frame: Any) -> list[Bound]:
        schema = self.schema_of(frame)
        return [
            bind_once(query, schema, None if query.order_by else self.order_of(frame))
            for query in queries
        ]

    def run_together(self, shared: Shared, frame: Any) -> Any:
        """The results of queries with a result a row, all beside the rows of one frame."""
        bounds, results = self.results(shared, frame)
        columns = {name: array for each in results for name, array in each.columns.items()}
        return self.joined(bounds[0], TableResult(results[0].rows, columns), frame)

    def run_select(self, select: Select, frame: Any) -> Any:
        """The results of a statement of SQL, as a frame of the same kind."""
        from windrow.tables.select import run_steps

        schema = self.schema_of(frame)
        steps = select.steps(SchemaColumns(schema))
        table = arrow_table(self.table_of(frame, steps.reads(schema.names)))
        return self.selected(frame, *run_steps(steps, table, schema.names))

    def read(self, queries: Sequence[Query], frame: Any) -> tuple[list[Bound], pa.Table]:
        """The queries as they fit the frame, and the columns that they need."""
        bounds = self._bound(queries, frame)
        return bounds, arrow_table(self.table_of(frame, needed(bounds)))

    def columns_of_frame(self, frame: Any) -> SchemaColumns:
        """The columns of a frame, as statements of SQL ask about them."""
        return SchemaColumns(self.schema_of(frame))

    def plans(self, queries: Sequence[Query], frame: Any) -> list[Plan]:
        """What will run for queries over a frame."""
        return [bound.plan for bound in self._bound(queries, frame)]


def needed(bounds: Iterable[Bound]) -> list[str]:
    """The columns of a frame that queries read."""
    return list(dict.fromkeys([name for bound in bounds for name in bound.needed]))


def told_apart(bounds: Sequence[Bound]) -> bool:
    """Whether results need a column `QUERY`: of several queries, one leaves out some rows."""
    return len(bounds) > 1 and any(b.filters or not b.query.window.per_row for b in bounds)


def run_queries(bounds: list[Bound], table: Table, threads: int | None = None) -> list[TableResult]:
    """The results of several queries; those over the same rows in the same order sort them once."""
    threads = threads or cores()
    if len(bounds) == 1:
        return _results(bounds, table, threads)
    results: dict[int, TableResult] = {}
    for members in _sorted_alike(bounds):
        together = _results([bounds[i] for i in members], table, threads)
        results.update(zip(members, together, strict=True))
    return [results[i] for i in range(len(bounds))]


def _sorted_alike(bounds: list[Bound]) -> Iterable[list[int]]:
    """The numbers of the queries, in groups that look at the same sorted rows."""
    alike: dict[Any, list[int]] = {}
    # windows that count rows look at those that were sorted for others, if there are some
    for i in sorted(range(len(bounds)), key=lambda i: not bounds[i].query.window.measured):
        sorting = _sorting(bounds[i])
        near = next((key for key in alike if key[:-1] == sorting[:-1]), sorting)
        alike.setdefault(sorting if sorting[-1] is not None else near, []).append(i)
    return alike.values()


def _sorting(bound: Bound) -> tuple[Any, ...]:
    """What two queries must have in common to look at the same sorted rows.

    The last of it is what rows are measured in along the order, and None where they are counted.
    """
    query = bound.query
    along = (bound.at_type, bound.by_groups) if query.window.measured else None
    return query.where, query.window.row_size, query.partition_by, query.order_by, along


def _results(bounds: list[Bound], table: Table, threads: int) -> list[TableResult]:
    """The results of queries over the same sorted rows."""
    query, kept = bounds[0].query, None
    if query.where is not None:
        kept = np.flatnonzero(satisfies(query.where, table))
        table = rows_at(arrow_table(table), kept)
    if query.window.row_size is not None:
        table, sized = sized_rows(bounds[0], arrow_table(table))
        if sized is not None:
            kept = sized if kept is None else kept[sized]
    column = columns_of(table)
    rows = sort_rows(bounds[0], column, table.num_rows, threads)
    columns = SortedColumns(column, rows, (*query.partition_by, *query.order_by))
    windows = [_windows(bound, rows, column, table) for bound in bounds]
    plans = share([bound.plan for bound in bounds]) if len(bounds) > 1 else [bounds[0].alone]
    call: Aggregate = aggregate
    if not all(bound.query.window.per_row for bound in bounds):
        call = _SharedSlices(zip(plans, [each.windows for each in windows], strict=True)).aggregate
    results = []
    for bound, plan, each in zip(bounds, plans, windows, strict=True):
        if each.every and not bound.filters:  # each result is moved to its row before the next
            new = new_columns(bound, columns, each, plan, call, rows.back)
            results.append(TableResult(kept, new))
            continue
        own = _rows_of(bound, rows)
        places, new = _arranged(
            bound, table, own, each, new_columns(bound, columns, each, plan, call)
        )
        results.append(TableResult(places if kept is None else kept[places], new))
    return results


class _SharedSlices:
    """Results over the windows of several queries: those that share slices are made together."""

    def __init__(self, queries: Iterable[tuple[Plan, Windows]]) -> None:
        # whose states tell a result over windows, and over which windows of its group it is made
        self._sources: dict[tuple[int, Aggregation], tuple[Aggregation, list[Windows]]] = {}
        self._made: dict[tuple[Aggregation, int], Any] = {}
        alike: dict[tuple[Any, Aggregation], list[Windows]] = {}
        for plan, windows in queries:
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
            shared = run(source, columns, [each.bounds() for each in alike], nulls=nulls)
            self._made.update({(source, id(w)): m for w, m in zip(alike, shared, strict=True)})
        results = self._made[source, id(windows)]
        if not tells:
            return results  # type: ignore[no-any-return]
        return derived_results(aggregation, source, columns, windows, results, nulls=nulls)


def _rows_of(bound: Bound, rows: TableRows) -> TableRows:
    """The sorted rows as windows of a query see them: without an order where they count rows."""
    if bound.query.window.measured or rows.at is None:
        return rows
    return replace(rows, starts=rows.keys, at=None, axis=None)


def _windows(bound: Bound, rows: TableRows, column: Callable[[str], Any], table: Table) -> Bounds:
    window, rows = bound.query.window, _rows_of(bound, rows)
    if window.asks_values:
        names = arrow_table(table).column_names
        rows = replace(rows, values=RowValues(bound.query, rows, column, names))
    return window.bounds(rows)


def new_columns(
    bound: Bound,
    columns: SortedColumns,
    windows: Bounds,
    plan: Plan | None = None,
    call: Aggregate = aggregate,
    back: Callable[[Any], Any] = as_arrow,
) -> dict[str, Any]:
    """The new columns of the result, as arrays of Arrow in the order of the windows.

    Or as `back` makes each of them, before the next one is computed.
    """
    new = window_columns(bound, windows) if bound.own_rows else {}
    over = WindowResults(columns, windows.windows, call, windows.parts)
    least, merged = bound.query.min_rows, []
    for result in (plan or bound.plan).results:
        name = result.name
        if windows.parts and not over.takes_parts(result):
            merged.append(name)
            continue
        new[name] = back(over.column(result, bound.types[name], least))
    if not merged:
        return new
    for name, array in _put_together(bound, merged, columns, windows.parts).items():
        new[name] = back(array)
    return {name: new[name] for name in (*window_columns(bound, windows), *bound.query.parts)}


def _put_together(
    bound: Bound, names: Sequence[str], columns: SortedColumns, parts: Sequence[Windows]
) -> dict[str, pa.Array]:
    """The results of windows of which something is left out: the states of their parts, merged."""
    query, k, n = bound.query, len(parts), len(parts[0])
    parts = [part.chosen() if part.ahead else part for part in parts]
    aggregations = [(name, query.parts[name]) for name in names]
    texts = {text for _, part in aggregations for text in part.columns}
    types = {text: columns.array(text).type for text in texts}
    states = StateColumns(aggregations, types, dict.fromkeys(names, query.min_rows))
    tables = [pa.table(states.make(WindowResults(columns, part))) for part in parts]
    in_turn = np.arange(k * n).reshape(k, n).T.ravel()  # the parts of a window, one by one
    table = pa.concat_tables(tables).take(pa.array(in_turn)).combine_chunks()
    rows, first = rows_in_place(k * n), np.arange(0, k * n, k)
    over = WindowResults(
        SortedColumns(table.column, rows), Windows(rows.starts, lo=first, hi=first + k)
    )
    return states.results(over, {name: bound.types[name] for name in names})


def window_columns(bound: Bound, windows: Bounds) -> dict[str, pa.Array]:
    """The columns with the start and the end of each window, where results have own rows."""
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
    bound: Bound, table: Table, rows: TableRows, windows: Bounds, new: dict[str, pa.Array]
) -> tuple[NDArray[Any], dict[str, pa.Array]]:
    """The rows of the result, in the table's order (windows with their own: in that of keys)."""
    beside = rows.rows(windows.places(rows))
    chosen = np.arange(beside.size)
    if bound.filters:
        keys = windows.keys(rows)
        passed, _ = wanted(bound.query, lambda: rows_at(arrow_table(table), beside), keys, new)
        chosen = np.flatnonzero(passed)
    if bound.own_rows:
        chosen = chosen[np.argsort(_first_seen(rows)[windows.keys(rows)[chosen]], kind="stable")]
    elif rows.order is not None:
        chosen = chosen[np.argsort(beside[chosen], kind="stable")]
    return beside[chosen], {name: array.take(pa.array(chosen)) for name, array in new.items()}


def _first_seen(rows: TableRows) -> NDArray[np.int64]:
    """For each key, the first row of the table that has it."""
    filled = np.flatnonzero(np.diff(rows.keys))
    seen = np.zeros(rows.keys.size - 1, np.int64)
    if filled.size:
        places = rows.rows(np.arange(rows.size))
        seen[filled] = np.minimum.reduceat(places, rows.keys[filled])
    return seen
