"""A slow and plain answer to any query, row by row, to hold the engines against."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from windrow import Query
from windrow.aggregations.base import Aggregation
from windrow.windows.kinds import On, Rows, Span, Until
from windrow.windows.sizes import NOW, UNBOUNDED

Row = dict[str, Any]


def order_key(value: Any) -> Any:
    """Null first, NaN last, as Spark orders."""
    if value is None:
        return (0, 0)
    return (2, 0) if value != value else (1, value)


def partitions(query: Query, rows: list[Row]) -> Iterator[list[int]]:
    """The rows of each key by their order, ties as they came."""
    keys: dict[Any, list[int]] = {}
    for i, row in enumerate(rows):
        name = tuple("NaN" if row[k] != row[k] else row[k] for k in query.partition_by)
        keys.setdefault(name, []).append(i)
    for members in keys.values():
        yield sorted(members, key=lambda i: [order_key(rows[i][o]) for o in query.order_by])


def value_of(part: Aggregation, rows: list[Row]) -> Any:
    """The result of one aggregation over some rows."""
    return part.lower(part.fold([part.identity, *(part.lift(row) for row in rows)]))


def of_windows(agg: Aggregation, rows: list[Any], *parts: tuple[Any, Any]) -> list[Any]:
    """The result of each window, whose rows are folded anew; of a window with a gap, two parts.

    A part has two arrays: where it begins in the rows, and where it ends.
    """
    states = [agg.lift(row) for row in rows]
    bounds = [list(zip(*(edge.tolist() for edge in part), strict=True)) for part in parts]
    return [
        agg.lower(agg.fold([state for lo, hi in window for state in states[lo:hi]]))
        for window in zip(*bounds, strict=True)
    ]


def per_row(query: Query, rows: list[Row]) -> list[dict[str, Any] | None]:
    """For each row its results; None where no window closes at it."""
    out: list[dict[str, Any] | None] = [None] * len(rows)
    for members in partitions(query, rows):
        for i, window in _windows(query, [rows[m] for m in members]):
            out[members[i]] = {n: value_of(p, window) for n, p in query.aggregations}
    return out


def hopping(query: Query, rows: list[Row], size: Any, slide: Any, offset: Any = 0) -> list[Row]:
    """The non-empty windows [start, start + size) of each key."""
    (order,) = query.order_by
    out = []
    for members in partitions(query, rows):
        placed = [rows[m] for m in members if order_key(rows[m][order])[0] == 1]
        starts = set()
        for row in placed:
            start = (row[order] - offset) // slide * slide + offset
            while start + size > row[order]:
                starts.add(start)
                start -= slide
        for start in sorted(starts):
            inside = [row for row in placed if start <= row[order] < start + size]
            keys = {k: placed[0][k] for k in query.partition_by}
            answers = {n: value_of(p, inside) for n, p in query.aggregations}
            out.append({**keys, "window_start": start, "window_end": start + size, **answers})
    return out


def _windows(query: Query, rows: list[Row]) -> Iterator[tuple[int, list[Row]]]:
    window = query.window
    if isinstance(window, Rows):
        for i in range(len(rows)):
            if window.slide is None or (i + 1) % window.slide == 0:
                first = 0 if window.rows is None else max(0, i + 1 - window.rows)
                yield i, rows[first : i + 1]
    elif isinstance(window, Span):
        (order,) = query.order_by
        for i, row in enumerate(rows):
            yield i, [other for other in rows if _within(window, other[order], row[order])]
    elif isinstance(window, On):
        last = 0
        for i, row in enumerate(rows):
            if window.on(row):  # type: ignore[operator]
                yield i, rows[last : i + 1]
                last = i + 1
    elif isinstance(window, Until):
        yield from _until(query, window, rows)


def _within(window: Span, other: Any, now: Any) -> bool:
    kinds = order_key(other)[0], order_key(now)[0]
    if window.range == UNBOUNDED:
        return order_key(other) <= order_key(now)
    if kinds[0] != kinds[1]:
        return False
    age = 0 if kinds[0] != 1 else now - other
    if window.range == NOW:
        return bool(age == 0)
    size = window.size
    start = age <= size if window.closed in ("both", "left") else age < size
    end = age >= 0 if window.closed in ("both", "right") else age > 0
    return bool(start and end)


def _until(query: Query, window: Until, rows: list[Row]) -> Iterator[tuple[int, list[Row]]]:
    from windrow.aggregations.together import Together

    together = Together(**query.parts)
    held: list[Row] = []
    for i, row in enumerate(rows):
        held.append(row)
        total = value_of(together, held)
        gone = 0
        while gone < len(held) and window.until(total, value_of(together, held[: gone + 1])):
            gone += 1
        held = held[gone:]
        yield i, held


def same(a: Any, b: Any) -> bool:
    """Whether two answers agree: floats to rounding, NaN with NaN."""
    if isinstance(a, float) and isinstance(b, float | int) and not isinstance(b, bool):
        if math.isnan(a) or math.isnan(b):
            return math.isnan(a) and math.isnan(b)
        return math.isclose(a, b, rel_tol=1e-9, abs_tol=1e-9)
    if isinstance(a, dict) and hasattr(b, "_asdict"):
        b = b._asdict()
    if isinstance(a, dict) and isinstance(b, dict):
        return list(a) == list(b) and all(same(a[k], b[k]) for k in a)
    if isinstance(a, list | tuple) and isinstance(b, list | tuple):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, bytes) and b is not None:
        return a == bytes(b)
    return bool(a == b)
