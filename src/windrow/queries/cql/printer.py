"""From a query to a text of CQL, in one way of writing it."""

from __future__ import annotations

import re
from typing import Any

from windrow.aggregations.base import Aggregation
from windrow.errors import InvalidArgument, Unsupported
from windrow.queries.cql.functions import FUNCTIONS
from windrow.queries.expressions import is_expression, normal
from windrow.queries.query import Query
from windrow.queries.syntax import identifier
from windrow.windows.durations import NANOSECONDS, nanoseconds
from windrow.windows.kinds import NOW, UNBOUNDED, On, Rows, Span, Until, Window, is_number, named

_SOURCE = "stream"
_WORDS = ("week", "day", "hour", "minute", "second", "millisecond", "microsecond", "nanosecond")
_UNITS = dict(zip(_WORDS, sorted(NANOSECONDS.values(), reverse=True), strict=True))
_INTERVAL = re.compile(r"\d+(\.\d+)? [a-z]+( \d+(\.\d+)? [a-z]+)*")


def printed(query: Query) -> str:
    """The text of a query; an `Unsupported` error names what CQL has no words for."""
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
    late = [] if query.lateness is None else [f"LATENESS {_size(query.lateness)}"]
    return " ".join([*words, *late, *_window(query.window)])


def _window(window: Window) -> list[str]:
    """The clauses of the window itself."""
    if isinstance(window, Until):
        raise Unsupported(f"until={named(window.until)} is a function, which CQL has no words for")
    if isinstance(window, On):
        if callable(window.on):
            raise Unsupported(f"on={named(window.on)} is a function, which CQL has no words for")
        return [f"ON {normal(window.on, 'on')}"]
    if isinstance(window, Rows):
        size = "UNBOUNDED" if window.rows is None else str(window.rows)
        return [f"ROWS {size}", *([] if window.slide is None else [f"SLIDE {window.slide}"])]
    assert isinstance(window, Span)
    if window.range == NOW:
        return ["NOW"]
    size = "UNBOUNDED" if window.range == UNBOUNDED else _size(window.size)
    words = [f"{window.name.upper()} {size}"]
    for clause in ("slide", "offset"):
        if getattr(window, clause) is not None:
            words.append(f"{clause.upper()} {_size(getattr(window, clause))}")
    return words if window.closed == "both" else [*words, f"CLOSED {window.closed.upper()}"]


def _size(value: Any) -> str:
    """A number, or a duration: in words if `sql` makes the same of them, else in quotes."""
    if is_number(value):
        return str(value)
    if not isinstance(value, str):
        value = _words(value)
    sign, text = ("-", value[1:]) if value.startswith("-") else ("", value)
    return sign + (text.upper() if _INTERVAL.fullmatch(text) else _string(text))


def _words(value: Any) -> str:
    """A timedelta in the coarsest unit that holds it."""
    sign, value = ("-", -value) if value < type(value)(0) else ("", value)
    size = nanoseconds(value, "size")
    unit, word = next((n, word) for word, n in _UNITS.items() if size % n == 0)
    return f"{sign}{size // unit} {word}{'s' if size > unit else ''}"


# -- calls and names -------------------------------------------------------------------------


def _call(part: Aggregation) -> str:
    kind = part.sql_name
    if kind is None:
        raise Unsupported(f"{part!r} is an aggregation of your own, which CQL has no name for")
    if not part.columns:
        return f"{kind}(*)"
    words = [_column(text) for text in part.columns]
    needed = FUNCTIONS[kind].needed
    for name, value in part.parameters().items():
        words.append(f"{'' if name in needed else name + ' => '}{_constant(value)}")
    return f"{kind}({', '.join(words)})"


def _constant(value: Any) -> str:
    if isinstance(value, tuple | list):
        return f"ARRAY({', '.join(_constant(v) for v in value)})"
    return _string(value) if isinstance(value, str) else str(value)


def _string(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _column(text: str) -> str:
    """A column or an expression; what is no expression is the name of a column."""
    if is_expression(text):
        try:
            return normal(text, "column")
        except InvalidArgument:
            pass
    return identifier(text)
