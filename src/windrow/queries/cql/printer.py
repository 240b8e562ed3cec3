"""From a query to a text of CQL, in one way of writing it."""

from __future__ import annotations

from typing import Any

from windrow.aggregations.base import Aggregation
from windrow.errors import Unsupported
from windrow.queries.cql.functions import FUNCTIONS
from windrow.queries.expressions import as_column, normal
from windrow.queries.query import Query
from windrow.queries.syntax import identifier
from windrow.windows.sizes import in_cql, quoted

_SOURCE = "stream"


def to_sql(query: Query) -> str:
    """Return the query as a text of CQL, which `sql` reads back.

    `Unsupported` is raised for what CQL cannot say.

    >>> from windrow import Max, sliding
    >>> print(to_sql(sliding(rows=3, where="load > 0", peak=Max("load"))))
    SELECT MAX(load) AS peak
    FROM stream [ROWS 3]
    WHERE load > 0
    """
    items = [f"{_call(part)} AS {identifier(name)}" for name, part in query.aggregations]
    begin, end = ("SELECT ISTREAM(", ")") if query.emit == "istream" else ("SELECT ", "")
    lines = [begin + f",\n{' ' * len(begin)}".join(items) + end]
    lines.append(f"FROM {identifier(query.source or _SOURCE)} [{_bracket(query)}]")
    if query.where is not None:
        lines.append(f"WHERE {normal(query.where, 'where')}")
    if query.having is not None:
        lines.append(f"HAVING {normal(query.having, 'having')}")
    return "\n".join(lines)


def _bracket(query: Query) -> str:
    words = []
    for clause, columns in (("PARTITION", query.partition_by), ("ORDER", query.order_by)):
        if columns:
            words.append(f"{clause} BY {', '.join(identifier(c) for c in columns)}")
    if query.lateness is not None:
        words.append(f"LATENESS {in_cql(query.lateness)}")
    if query.min_rows is not None:
        words.append(f"MIN_ROWS {query.min_rows}")
    conditions = query.window.conditions().items()
    written = [f"{name.upper()} {normal(text, name)}" for name, text in conditions]
    return " ".join([*words, *query.window.cql(), *written])


# -- calls and names -------------------------------------------------------------------------


def _call(part: Aggregation) -> str:
    kind = part.sql_name
    if kind is None:
        raise Unsupported(f"{part!r} is an aggregation of your own, which CQL has no name for")
    where = "" if part.condition is None else f" FILTER (WHERE {normal(part.condition, 'where')})"
    columns = part.columns if part.written is None else part.written
    if not columns:
        return f"{kind}(*){where}"
    words = [as_column(text) for text in columns]
    needed = FUNCTIONS[kind].needed
    for name, value in part.parameters().items():
        words.append(f"{'' if name in needed else name + ' => '}{_constant(value)}")
    return f"{kind}({', '.join(words)}){where}"


def _constant(value: Any) -> str:
    if isinstance(value, tuple | list):
        return f"ARRAY({', '.join(_constant(v) for v in value)})"
    return quoted(value) if isinstance(value, str) else str(value)
