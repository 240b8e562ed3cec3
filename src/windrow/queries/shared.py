"""Several queries over one stream: one set of slices, one structure (paper 002)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from windrow.errors import InvalidArgument, Unsupported
from windrow.queries.query import Query, engine_of
from windrow.windows.sharing import SharedWindows


@dataclass(frozen=True)
class Shared:
    """Queries that run together, each answered as if it ran alone; `shared` makes it.

    It is a value, as its queries are. Called with a frame it gives a list of results, one for each
    query, in their order.
    """

    queries: tuple[Query, ...]

    def __call__(self, frame: Any) -> Any:
        """The answers of each query over `frame`."""
        return engine_of(frame).run_shared(self, frame)

    def __iter__(self) -> Iterator[Query]:
        return iter(self.queries)

    def __len__(self) -> int:
        return len(self.queries)

    def stream(self) -> SharedWindows:
        """The queries one event at a time: `push` a row and get the answers that are due.

        All windows slide by rows, or all by time; there is one FlatFIT of the slices for all of
        them. Times are whole numbers: nanoseconds, if the queries give durations.

        >>> from windrow import Max, Mean, shared, sliding
        >>> both = shared(sliding(rows=4, slide=2, peak=Max("v")), sliding(rows=3, mean=Mean("v")))
        >>> stream = both.stream()
        >>> [(answer.query, answer.value) for answer in stream.push({"v": 5})]
        [(1, {'mean': 5.0})]
        """
        windows = [_window(query) for query in self.queries]
        return SharedWindows(windows, [query.parts for query in self.queries])

    def explain(self) -> str:
        """The shared plan, where there is one, and then the plan of each query."""
        from windrow.queries.explain import explain
        from windrow.queries.plan import plan_of, share

        lines = []
        try:
            lines.append(self.stream().explain())
        except Unsupported as error:
            lines.append(f"no shared slices: {error}")
        for i, plan in enumerate(share([plan_of(query) for query in self.queries])):
            lines.append(f"\nquery {i}\n{explain(plan)}")
        return "\n".join(lines)

    def __repr__(self) -> str:
        return f"shared({', '.join(map(repr, self.queries))})"


def shared(*queries: Query) -> Shared:
    """Run several queries over one stream with one set of slices and one structure.

    >>> from windrow import Max, Sum, shared, sliding
    >>> import pyarrow as pa
    >>> plugs = pa.table({"t": [1, 2, 3], "load": [5, 1, 2]})
    >>> peaks, sums = shared(
    ...     sliding(order_by="t", rows=2, peak=Max("load")),
    ...     sliding(order_by="t", range=2, slide=2, total=Sum("load")),
    ... )(plugs)
    >>> peaks.column("peak").to_pylist(), sums.column("total").to_pylist()
    ([5, 5, 2], [5, 3])
    """
    for query in queries:
        if not isinstance(query, Query):
            raise InvalidArgument(f"shared: {query!r} is not a query; make one by sliding(…)")
    if not queries:
        raise InvalidArgument("shared needs at least one query")
    return Shared(queries)


def _window(query: Query) -> tuple[int, int, int]:
    """A query's window as (range, slide, offset) in rows or nanoseconds."""
    if query.partition_by or query.where or query.having or query.emit != "rstream":
        raise Unsupported("a stream of events has neither keys, where, having nor istream")
    cut = query.window.slicing()
    if cut is None:
        raise Unsupported(f"{query.window} has no slices of a fixed length")
    return cut.range, cut.slide, cut.offset
