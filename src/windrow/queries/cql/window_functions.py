"""The window functions of SQL that are no aggregations: expressions over rows counted and picked.

    ROW_NUMBER()    the rows up to the current one
    RANK()          1 + the rows of the groups of equal order before the current one's
    DENSE_RANK()    of the rows up to the current one and its peers, the first of each group
    CUME_DIST()     the rows up to the current one and its peers, of all
    LAG(x, 2)       the value of the frame that is the row 2 before
    FIRST_VALUE(x)  First(x), unless the first row's is null

A function writes its expression over the columns that an `Over` gives for what it counts or picks.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

from windrow.aggregations.base import Aggregation
from windrow.aggregations.count import Count
from windrow.aggregations.ends import First, Last, Nth
from windrow.aggregations.sums import Sum
from windrow.errors import InvalidArgument
from windrow.queries.cql.over import Frame, Ordered, Overs
from windrow.queries.expressions import as_column
from windrow.windows.sizes import UNBOUNDED


@dataclass(frozen=True)
class Over:
    """The window of one call in a statement."""

    statement: Overs
    rows: Ordered
    frame: Frame
    ignores_nulls: bool

    def result(self, part: Aggregation, kind: str, start: Any, end: Any) -> str:
        """Return the column of an aggregation over a frame of "rows", "range" or "groups"."""
        return self.statement.use(self.rows, Frame(kind, start, end), part)

    def framed(self, part: Aggregation) -> str:
        """Return the column of an aggregation over the frame that the call has."""
        return self.statement.use(self.rows, self.frame, part)

    def later(self, text: str) -> tuple[str, Over]:
        """Return an expression over results as a column, and the window over rows that have it."""
        rows = replace(self.rows, level=self.rows.level + 1)
        return self.statement.computed(text, rows.level), replace(self, rows=rows)

    def check_ordered(self) -> None:
        """Refuse a window without an order."""
        if not self.rows.order:
            raise InvalidArgument("this needs an order: write OVER (… ORDER BY …)")


# -- where a row stands -------------------------------------------------------------------------


def _row_number(over: Over) -> str:
    return over.result(Count(), "rows", UNBOUNDED, 0)


def _before(over: Over) -> str:
    """Return the rows of the groups of equal order that come before."""
    over.check_ordered()
    return over.result(Count(), "groups", UNBOUNDED, -1)


def _all(over: Over) -> str:
    return over.result(Count(), "rows", UNBOUNDED, UNBOUNDED)


def _rank(over: Over) -> str:
    return f"1 + {_before(over)}"


def _dense_rank(over: Over) -> str:
    first = f"CASE WHEN {_row_number(over)} = {_rank(over)} THEN 1 ELSE 0 END"
    name, then = over.later(first)
    return then.result(Sum(name), "range", UNBOUNDED, 0)


def _percent_rank(over: Over) -> str:
    before, rows = _before(over), _all(over)
    return f"CASE WHEN {rows} > 1 THEN {before} / ({rows} - 1) ELSE 0.0 END"


def _cume_dist(over: Over) -> str:
    over.check_ordered()
    return f"{over.result(Count(), 'range', UNBOUNDED, 0)} / {_all(over)}"


def _ntile(over: Over, k: Any) -> str:
    """Tiles of n // k rows, of which the first n % k have one more."""
    _check_whole("NTILE", k, least=1)
    row, rows = _row_number(over), _all(over)
    size, longer = f"FLOOR({rows} / {k})", f"{rows} % {k}"
    return (
        f"CASE WHEN {row} <= ({longer}) * ({size} + 1) THEN FLOOR(({row} - 1) / ({size} + 1)) + 1 "
        f"ELSE FLOOR(({row} - 1 - {longer}) / {size}) + 1 END"
    )


# -- what stands in other rows ------------------------------------------------------------------


def _shifted(
    name: str, sign: int, over: Over, text: str, rows: Any = 1, default: str | None = None
) -> str:
    """Return the value so many rows before or behind; `default` where there is no such row."""
    _check_whole(name, rows, least=1 if over.ignores_nulls else -(2**62))
    if over.ignores_nulls:
        ends = (UNBOUNDED, -1) if sign < 0 else (1, UNBOUNDED)
        value = over.result(Nth(text, n=sign * rows), "rows", *ends)
        return value if default is None else f"COALESCE({value}, {default})"
    at = sign * rows
    value = over.result(First(text), "rows", at, at)
    if default is None:
        return value
    there = over.result(Count(), "rows", at, at)
    return f"CASE WHEN {there} = 0 THEN {default} ELSE {value} END"


def _end_value(end: type[Aggregation], over: Over, text: str) -> str:
    """Return the value of the first or the last row of the frame."""
    value = over.framed(end(text))
    if over.ignores_nulls:
        return value
    return f"CASE WHEN NOT {over.framed(end(_is_null(text)))} THEN {value} END"


# What stands for a null of each family, so that every row has a value.
_BLANK = {
    "number": "0",
    "null": "0",
    "text": "''",
    "boolean": "FALSE",
    "time": "CAST('1970-01-01' AS DATE)",
    "duration": "INTERVAL '0' SECOND",
}


def _nth_value(over: Over, text: str, n: Any) -> str:
    _check_whole("NTH_VALUE", n, least=1)
    if over.ignores_nulls:
        return over.framed(Nth(text, n=n))
    blank = _BLANK.get(over.statement.family(text))
    if blank is None:
        raise InvalidArgument(
            "NTH_VALUE with nulls takes numbers, strings, booleans and times: write NTH_VALUE(…) "
            "IGNORE NULLS OVER …"
        )
    null = over.framed(Nth(_is_null(text), n=n))
    value = over.framed(Nth(f"COALESCE({as_column(text)}, {blank})", n=n))
    return f"CASE WHEN NOT {null} THEN {value} END"


def _is_null(text: str) -> str:
    return f"({as_column(text)}) IS NULL"


def _check_whole(name: str, value: Any, least: int) -> None:
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        least_words = f" of {least} or more" if least > 0 else ""
        raise InvalidArgument(f"{name} takes a whole number{least_words} here, not {value!r}")


class WindowFunction(NamedTuple):
    """What makes the expression, and how many arguments a call has at least and at most.

    If it looks at `values`, the first argument is a column; the second is a constant, and the third
    an expression. The others look at the order only, and take constants.
    """

    make: Callable[..., str]  # of an Over and the arguments
    least: int = 0
    most: int = 0
    values: bool = False


_FIRST, _LAST = (
    WindowFunction(partial(_end_value, end), 1, 1, values=True) for end in (First, Last)
)
FUNCTIONS = {
    "ROW_NUMBER": WindowFunction(_row_number),
    "RANK": WindowFunction(_rank),
    "DENSE_RANK": WindowFunction(_dense_rank),
    "PERCENT_RANK": WindowFunction(_percent_rank),
    "CUME_DIST": WindowFunction(_cume_dist),
    "NTILE": WindowFunction(_ntile, 1, 1),
    "LAG": WindowFunction(partial(_shifted, "LAG", -1), 1, 3, values=True),
    "LEAD": WindowFunction(partial(_shifted, "LEAD", 1), 1, 3, values=True),
    **dict.fromkeys(("FIRST_VALUE", "FIRST"), _FIRST),
    **dict.fromkeys(("LAST_VALUE", "LAST"), _LAST),
    "NTH_VALUE": WindowFunction(_nth_value, 2, 2, values=True),
}
