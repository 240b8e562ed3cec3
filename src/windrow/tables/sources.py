"""Queries over what becomes a table of Arrow, and results that go back to where it came from."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from windrow.queries.plan import Plan
from windrow.queries.query import Query
from windrow.queries.select import Select
from windrow.queries.shared import Shared
from windrow.tables.bind import Bound, SchemaColumns, bind_once
from windrow.tables.run import TableEngine, needed


@dataclass(frozen=True)
class Source:
    """A frame of which only the schema is known yet.

    `read(names)` gives these of its columns, all for None, and `back(table)` a result as a frame of
    the same kind.
    """

    schema: pa.Schema
    read: Callable[[list[str] | None], pa.Table]
    back: Callable[[pa.Table], Any]


@dataclass(frozen=True)
class SourceEngine:
    """Queries over frames that `open` makes sources of: they run over tables of Arrow.

    A query meets the schema before any row is read. Columns that are neither needed nor in the
    result are not read.
    """

    tables: TableEngine
    open: Callable[[Any], Source]

    def run(self, query: Query, frame: Any) -> Any:
        """The results of a query as a frame of the same kind."""
        return self.run_shared(Shared((query,)), frame)[0]

    def run_shared(self, shared: Shared, frame: Any) -> list[Any]:
        """The results of each query."""
        source = self.open(frame)
        return [
            source.back(table) for table in self.tables.run_shared(shared, _read(source, shared))
        ]

    def run_together(self, shared: Shared, frame: Any) -> Any:
        """The results of queries with a result a row, all beside the rows of one frame."""
        source = self.open(frame)
        return source.back(self.tables.run_together(shared, _read(source, shared)))

    def run_select(self, select: Select, frame: Any) -> Any:
        """The results of a statement of SQL, as a frame of the same kind."""
        source = self.open(frame)
        uses = select.steps(SchemaColumns(source.schema)).uses(source.schema.names)
        return source.back(self.tables.run_select(select, source.read(uses or None)))

    def read(self, queries: Sequence[Query], frame: Any) -> tuple[list[Bound], pa.Table]:
        """The queries as they fit the frame, and the columns that they need."""
        source = self.open(frame)
        bounds = [bind_once(query, source.schema) for query in queries]
        return bounds, source.read(needed(bounds) or None)

    def columns_of_frame(self, frame: Any) -> SchemaColumns:
        """The columns of a frame, as statements of SQL ask about them."""
        return SchemaColumns(self.open(frame).schema)

    def plans(self, queries: Sequence[Query], frame: Any) -> list[Plan]:
        """What will run for queries over a frame."""
        schema = self.open(frame).schema
        return [bind_once(query, schema).plan for query in queries]


def _read(source: Source, shared: Shared) -> pa.Table:
    """The columns of a source that are needed, or all if they ride along."""
    bounds = [bind_once(query, source.schema) for query in shared]
    return source.read(needed(bounds) if all(bound.own_rows for bound in bounds) else None)
