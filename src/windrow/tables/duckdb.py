"""Queries over DuckDB's relations.

Rows come and go as Arrow. The result is a relation of the same connection, so that it can be joined
with the connection's tables.
"""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from windrow.queries.frames import unknown_frame
from windrow.tables.arrow import tables
from windrow.tables.sources import Source, SourceEngine


def _source(relation: Any) -> Source:
    if not hasattr(relation, "limit"):  # a connection, for one
        raise unknown_frame(relation)

    def read(names: list[str] | None) -> pa.Table:
        chosen = relation if names is None else relation.select(*map(_quoted, names))
        return chosen.to_arrow_table()

    def back(windrow_result: pa.Table) -> Any:  # by this name DuckDB finds it
        return relation.query("windrow_rows", "SELECT * FROM windrow_result")

    return Source(relation.limit(0).to_arrow_table().schema, read, back)


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


_engine = SourceEngine(tables, _source)
run, run_shared, plans = _engine.run, _engine.run_shared, _engine.plans
run_together, run_select = _engine.run_together, _engine.run_select
columns_of_frame, read = _engine.columns_of_frame, _engine.read
