"""Several queries over one stream: one set of slices, one structure (paper 002)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from windrow.aggregations.least import at_least
from windrow.errors import InvalidArgument, Unsupported
from windrow.queries.frames import engine_of
from windrow.queries.query import Query
from windrow.windows.durations import nanoseconds
from windrow.windows.shared_plan import SharedPlan
from windrow.windows.sharing import SharedWindows
from windrow.windows.sizes import is_number

if TYPE_CHECKING:
    from windrow.queries.plan import Plan


@dataclass(frozen=True)
class Shared:
    """Queries that run together, each with the results that it has alone; `shared` returns it.

    It is a value, as its queries are. Called with a frame it returns a list of results, one for
    each query, in their order.
    """

    queries: tuple[Query, ...]

    def __call__(self, frame: Any) -> Any:
        """Return the results of each query over `frame`."""
        return engine_of(frame).run_shared(self, frame)

    def __iter__(self) -> Iterator[Query]:
        return iter(self.queries)

    def __len__(self) -> int:
        return len(self.queries)

    def stream(self) -> SharedWindows:
        """Return a stream of the queries: `push` a row and get the results that are due.

        All windows slide by rows, or all by time; there is one FlatFIT of the slices for all of
        them. Times are whole numbers: nanoseconds, if the queries give durations. With a
        `lateness`, the same for all, values wait for their turn, and answers until they are final;
        values that come after their turn are dropped and counted in `late`.

        >>> from windrow import Max, Mean, shared, sliding
        >>> both = shared(sliding(rows=4, slide=2, peak=Max("v")), sliding(rows=3, mean=Mean("v")))
        >>> stream = both.stream()
        >>> [(answer.query, answer.value) for answer in stream.push({"v": 5})]
        [(1, {'mean': 5.0})]
        """
        windows = [_window(query) for query in self.queries]
        parts = [
            {name: at_least(part, query.min_rows) for name, part in query.aggregations}
            for query in self.queries
        ]
        return SharedWindows(windows, parts, lateness=_lateness(self.queries))

    def explain(self, frame: Any = None) -> str:
        """Return in words which slices queries share, and then the plan of each query.

        With a frame, it is the plan over its columns; without one, over columns of floats.
        """
        from windrow.queries.explain import Explanation, explain

        lines, plans = [self._shared_slices()], self._plans(frame)
        for i, plan in enumerate(plans):
            lines.append(f"\nquery {i}\n{explain(plan)}")
        return Explanation("\n".join(lines), plans)

    def _plans(self, frame: Any = None) -> list[Plan]:
        """Return the plans of the queries, which run together."""
        from windrow.queries.plan import plan_of, share

        if frame is None:
            return share([plan_of(query) for query in self.queries])
        return share(engine_of(frame).plans(self.queries, frame))

    def _shared_slices(self) -> str:
        """Return in words which queries share slices, and what that saves."""
        from windrow.queries.plan import groups_of

        try:
            return self.stream().explain()
        except Unsupported as error:
            alone = str(error)
        lines = []
        for group in groups_of(self.queries):
            if not group.why:
                continue
            windows = [self.queries[i].window.slicing() for i in group.members]
            plan = SharedPlan([cut for cut in windows if cut is not None])
            lines.append(f"plan of {group}\n{plan.explain()}\n")
        return "\n".join(lines).rstrip() or f"no shared slices: {alone}"

    def _repr_html_(self) -> str:
        """Return what notebooks show: the call, the windows of each query, and the plans."""
        from windrow.queries.diagram import page

        return page(repr(self), self._pictures(), self._plans())

    def _pictures(self) -> list[str]:
        """Return the windows as drawings in HTML: those of each query."""
        from windrow.queries.diagram import pictures

        return pictures(self.queries)

    def __repr__(self) -> str:
        return f"shared({', '.join(map(repr, self.queries))})"


def shared(*queries: Query) -> Shared:
    """Return several queries as one, which runs them over one set of slices.

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


def _lateness(queries: tuple[Query, ...]) -> int | None:
    """Return how late a value may be, in nanoseconds; None if no query says so."""
    written = {query.lateness for query in queries} - {None}
    if not written:
        return None
    times = {nanoseconds(lateness, "lateness") for lateness in written}
    if len(times) > 1:
        raise Unsupported(f"queries over one stream need the same lateness, got {written}")
    for window in (query.window for query in queries):
        if not window.measured or is_number(window.arguments()[window.measured]):
            raise Unsupported(f"lateness={written.pop()!r} is a time, and {window} counts none")
    return times.pop()


def _window(query: Query) -> tuple[int, int, int]:
    """Return a query's window as (range, slide, offset) in rows or nanoseconds."""
    filtered = query.where or any(part.condition for part in query.parts.values())
    if query.partition_by or filtered or query.having or query.emit != "rstream":
        raise Unsupported("a stream of events has neither keys, where, having nor istream")
    cut = query.window.slicing()
    if cut is None:
        raise Unsupported(f"{query.window} has no slices of a fixed length")
    return cut.range, cut.slide, cut.offset
