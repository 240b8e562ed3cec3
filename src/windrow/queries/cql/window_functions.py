"""The window functions of SQL that are no aggregations: expressions over rows counted and picked.

    ROW_NUMBER()    the rows up to the current one
    RANK()          1 + the rows of the groups of equal order before the current one's
    DENSE_RANK()    of the rows up to the current one and its peers, the first of each group
    CUME_DIST()     the rows up to the current one and its peers, of all
    LAG(x, 2)       the value of the frame that is the row 2 before
    FIRST_VALUE(x)  First(x), unless the first row's is null

An `Over` is asked for what is counted or picked, and gives the column that will hold it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol

from windrow.aggregations.base import Aggregation
from windrow.aggregations.count import Count
from windrow.aggregations.ends import First, Last, Nth
from windrow.aggregations.sums import Sum
from windrow.errors import InvalidArgument
from windrow.queries.expressions import as_column
from windrow.windows.sizes import UNBOUNDED


class Over(Protocol):
    """The window of a call, and what can be asked about it."""

    ignores_nulls: bool

    def result(self, part: Aggregation, kind: str, start: Any, end: Any) -> str:
        """The column of an aggregation over a frame of this kind, "rows", "range" or "groups"."""

    def framed(self, part: Aggregation) -> str:
        """The column of an aggregation over the frame that the call has."""

    def later(self, text: str) -> tuple[str, Over]:
        """An expression over results as a column, and the same window over rows that have it."""

    def family(self, text: str) -> str:
        """The family of types that an expression is of."""

    def ordered(self) -> None:
        """Refuse a window without an order."""


# -- where a row stands -------------------------------------------------------------------------


def _row_number(over: Over, given: Sequence[Any]) -> str:
    return over.result(Count(), "rows", UNBOUNDED, 0)


def _before(over: Over) -> str:
    """The rows of the groups of equal order that come before."""
    over.ordered()
    return over.result(Count(), "groups", UNBOUNDED, -1)


def _all(over: Over) -> str:
    return over.result(Count(), "rows", UNBOUNDED, UNBOUNDED)


def _rank(over: Over, given: Sequence[Any]) -> str:
    return f"1 + {_before(over)}"


def _dense_rank(over: Over, given: Sequence[Any]) -> str:
    first = f"CASE WHEN {_row_number(over, ())} = {_rank(over, ())} THEN 1 ELSE 0 END"
    name, then = over.later(first)
    return then.result(Sum(name), "range", UNBOUNDED, 0)


def _percent_rank(over: Over, given: Sequence[Any]) -> str:
    before, rows = _before(over), _all(over)
    return f"CASE WHEN {rows} > 1 THEN {before} / ({rows} - 1) ELSE 0.0 END"


def _cume_dist(over: Over, given: Sequence[Any]) -> str:
    over.ordered()
    return f"{over.result(Count(), 'range', UNBOUNDED, 0)} / {_all(over)}"


def _ntile(over: Over, given: Sequence[Any]) -> str:
    """Tiles of n // k rows, of which the first n % k have one more."""
    (k,) = given
    _check_whole("NTILE", k, least=1)
    row, rows = _row_number(over, ()), _all(over)
    size, longer = f"FLOOR({rows} / {k})", f"{rows} % {k}"
    return (
        f"CASE WHEN {row} <= ({longer}) * ({size} + 1) THEN FLOOR(({row} - 1) / ({size} + 1)) + 1 "
        f"ELSE FLOOR(({row} - 1 - {longer}) / {size}) + 1 END"
    )


# -- what stands in other rows ------------------------------------------------------------------


def _lag(over: Over, given: Sequence[Any]) -> str:
    return _shifted("LAG", over, -1, *given)


def _lead(over: Over, given: Sequence[Any]) -> str:
    return _shifted("LEAD", over, 1, *given)


def _shifted(
    name: str, over: Over, sign: int, text: str, rows: Any = 1, default: str | None = None
) -> str:
    """The value so many rows before or behind; `default` where there is no such row."""
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


def _first_value(over: Over, given: Sequence[Any]) -> str:
    return _end_value(over, First, *given)


def _last_value(over: Over, given: Sequence[Any]) -> str:
    return _end_value(over, Last, *given)


def _end_value(over: Over, end: type[Aggregation], text: str) -> str:
    value = over.framed(end(text))
    if over.ignores_nulls:
        return value
    return f"CASE WHEN NOT {over.framed(end(_is_null(text)))} THEN {value} END"


# What stands for a null of each family, so that every row has a value.
_BLANK = {"number": "0", "null": "0", "text": "''", "boolean": "FALSE"}


def _nth_value(over: Over, given: Sequence[Any]) -> str:
    text, n = given
    _check_whole("NTH_VALUE", n, least=1)
    if over.ignores_nulls:
        return over.framed(Nth(text, n=n))
    blank = _BLANK.get(over.family(text))
    if blank is None:
        raise InvalidArgument(
            "NTH_VALUE with nulls takes numbers, strings and booleans: write NTH_VALUE(…) IGNORE "
            "NULLS OVER …"
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

    make: Callable[[Over, Sequence[Any]], str]
    least: int = 0
    most: int = 0
    values: bool = False


FUNCTIONS = {
    "ROW_NUMBER": WindowFunction(_row_number),
    "RANK": WindowFunction(_rank),
    "DENSE_RANK": WindowFunction(_dense_rank),
    "PERCENT_RANK": WindowFunction(_percent_rank),
    "CUME_DIST": WindowFunction(_cume_dist),
    "NTILE": WindowFunction(_ntile, 1, 1),
    "LAG": WindowFunction(_lag, 1, 3, values=True),
    "LEAD": WindowFunction(_lead, 1, 3, values=True),
    **dict.fromkeys(("FIRST_VALUE", "FIRST"), WindowFunction(_first_value, 1, 1, values=True)),
    **dict.fromkeys(("LAST_VALUE", "LAST"), WindowFunction(_last_value, 1, 1, values=True)),
    "NTH_VALUE": WindowFunction(_nth_value, 2, 2, values=True),
}
