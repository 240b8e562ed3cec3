"""Several sizes of one window at once: `range=["1 hour", "7 days"]`, `rows=[10, 100]`."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from windrow.errors import InvalidArgument
from windrow.queries.frames import engine_of, plotted
from windrow.queries.query import Query, call_text, check_distinct
from windrow.queries.shared import Shared
from windrow.windows.durations import short
from windrow.windows.sizes import in_cql, is_number

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True, repr=False)
class Horizons(Shared):
    """A query over windows of several sizes, as `sliding` returns it for a list of them.

    It has a query for each size; they run together over rows that are sorted, shuffled and kept
    once. All results stand beside the rows of the frame: `peak_1h`, `peak_7d`.
    """

    arguments: tuple[tuple[str, Any], ...] = ()  # the arguments of `sliding`
    results: tuple[tuple[str, Any], ...] = ()  # and the results that it names

    def __call__(self, frame: Any) -> Any:
        """Return the results over `frame`, as a frame of the same kind."""
        return engine_of(frame).run_together(self, frame)

    def plot(self, frame: Any, key: Any = None) -> Figure:
        """Return a figure of Matplotlib, as that of a query, with the results of all sizes."""
        return plotted(self.queries, frame, key)

    def explain(self, frame: Any = None) -> str:
        """Return the explanation of the query of each size, one after the other."""
        from windrow.queries.explain import Explanation, explain

        plans = self._plans(frame)
        heading = "sizes share their rows: sorted, shuffled and kept once"
        return Explanation("\n\n".join([heading, *map(explain, plans)]), plans)

    def _pictures(self) -> list[str]:
        """Return the windows as a drawing in HTML: those of one row, one a size."""
        from windrow.queries.diagram import picture_of_sizes

        return [picture_of_sizes(self.queries)]

    def __repr__(self) -> str:
        return call_text(dict(self.arguments), self.results)


def horizons(
    size: str,
    sizes: Sequence[Any],
    names: Sequence[str] | None,
    queries: Sequence[Query],
) -> Horizons:
    """Return queries that differ in one size only as one; results are named after their sizes.

    >>> from windrow import Max, sliding
    >>> sliding(order_by="ts", range=["1 hour", "7 days"], peak=Max("load"))
    sliding(order_by='ts', range=['1 hour', '7 days'], peak=Max('load'))
    """
    if not sizes:
        raise InvalidArgument(f"{size}=[] has no size in it")
    endings = [_name(size, value) for value in sizes] if names is None else list(names)
    if len(endings) != len(sizes) or not all(isinstance(n, str) and n for n in endings):
        raise InvalidArgument(
            f"names={names!r} must have a name for each of the {len(sizes)} sizes of {size}="
        )
    for name in endings:
        if endings.count(name) > 1:
            raise InvalidArgument(f"two sizes of {size}={list(sizes)!r} are called {name!r}")
    for query in queries:
        if not query.window.per_row or query.having is not None or query.emit != "rstream":
            raise InvalidArgument(
                f"{size}={list(sizes)!r}: several sizes have a result a row, without slide=, "
                f"having= and emit=; choose among the rows that come back"
            )
    arguments = {**queries[0].arguments(), size: list(sizes)}
    if names is not None:
        arguments["names"] = endings
    renamed = tuple(
        query.replace(aggregations=tuple((f"{n}_{ending}", p) for n, p in query.aggregations))
        for query, ending in zip(queries, endings, strict=True)
    )
    check_distinct(name for query in renamed for name in query.parts)
    return Horizons(renamed, tuple(arguments.items()), queries[0].aggregations)


def _name(argument: str, size: Any) -> str:
    """Return the end of the names of results over windows of a size.

    >>> _name("range", "1 hour"), _name("rows", 10), _name("delta", 2.5)
    ('1h', '10', '2_5')
    """
    if is_number(size):
        return str(size).replace(".", "_").replace("-", "minus_")
    if isinstance(size, tuple):
        raise InvalidArgument(
            f"{argument}: {size!r} has two ends and no short name; give names=[…]"
        )
    if isinstance(size, datetime.timedelta):
        size = in_cql(size).lower()
    return short(str(size))
